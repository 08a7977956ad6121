"""Coverage of gold answers by the graph: an upper bound for methods that read nothing else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polygraph.errors import MissingLayer
from polygraph.evaluate.metrics.answer_match import normalise_answer, normalise_passage
from polygraph.evaluate.metrics.relevance import is_searchable
from polygraph.evaluate.questions.file import Question
from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Numbers of questions by where in the graph an answer occurs. Each level includes the one above it."""

    n: int
    """Questions with an answer that could be a name; excludes yes and no, option letters and null questions."""
    named: int
    """An answer is the name or an alias of an entity."""
    within: int
    """An answer is part of such a name: "Stanley" in "Stanley, North Dakota"."""
    described: int
    """An answer occurs in a name, a description or a predicate."""
    absent: tuple[str, ...]
    """Ids of the questions whose answers occur nowhere in the graph, in order."""

    @property
    def share(self) -> float | None:
        """Share of questions with an answer among the names (65.8% for HotpotQA in 2502.11371); None if n is 0."""
        return self.named / self.n if self.n else None


def answer_coverage(questions: Sequence[Question], index: Snapshot) -> Coverage:
    """Search the graph of an index for the gold answers.

    "RAG vs. GraphRAG" (2502.11371), section 4.2, counts the answer entities in the graph but does not say how they are
    matched; here names and aliases are matched by SQuAD's normalisation.

    Raises:
        MissingLayer: if the index has no graph.
    """
    if "graph" not in index.layers:
        raise MissingLayer("graphrag-local", {"graph"}, index.place)
    entities = list(index.store.graph.all_entities())
    spellings = dict.fromkeys(
        name for e in entities for name in map(normalise_answer, (e.name, *e.aliases)) if name
    )
    names = _join(spellings)
    relations = index.store.graph.all_relations()
    texts = [
        *(d.text for e in entities for d in e.descriptions),
        *(text for r in relations for text in (*r.predicates, *(d.text for d in r.descriptions))),
    ]
    described = _join(map(normalise_passage, dict.fromkeys(texts)))
    counts = {"n": 0, "named": 0, "within": 0, "described": 0}
    absent = []
    for question in questions:
        answers = [a for a in map(normalise_answer, question.answers) if is_searchable(a)]
        if question.null or not answers:
            continue
        named = any(a in spellings for a in answers)
        within = named or any(f" {a} " in names for a in answers)
        anywhere = within or any(f" {a} " in described for a in answers)
        counts["n"] += 1
        counts["named"] += named
        counts["within"] += within
        counts["described"] += anywhere
        if not anywhere:
            absent.append(question.id)
    return Coverage(**counts, absent=tuple(absent))


def _join(texts: Iterable[str]) -> str:
    """Join normalised texts, for one search over all, by a character that none of them contains."""
    return "".join(f" {text} |" for text in texts)
