"""How many of the gold answers are in the graph at all: the ceiling of methods that read nothing but the graph."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polygraph.errors import MissingLayer
from polygraph.evaluate.metrics.relevance import can_stand_in_text
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.tokens_of_answers import normalised
from polygraph.records import Entity
from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Questions by where an answer stands in the graph."""

    n: int
    """Questions with an answer that could be the name of something; yes and no, letters and null are left out."""
    named: int
    """An answer is the name of an entity, or one of its other spellings."""
    within: int
    """An answer is that, or a part of such a name: "Stanley" of "Stanley, North Dakota"."""
    described: int
    """An answer is one of these, or stands in a name, a description or a predicate of the graph."""
    absent: tuple[str, ...]
    """Ids of the questions whose answers are nowhere in the graph, in order."""

    @property
    def share(self) -> float | None:
        """Share of questions with an answer among the names (65.8 % for HotpotQA in 2502.11371); None without any."""
        return self.named / self.n if self.n else None


def answer_coverage(questions: Sequence[Question], index: Snapshot) -> Coverage:
    """Look for the gold answers in the graph of an index.

    "RAG vs. GraphRAG" (2502.11371), section 4.2, counts the answer entities that exist in the graph, without saying how
    they are matched; here by SQuAD's normalisation, against names and other spellings.

    Raises:
        MissingLayer: if the index has no graph.
    """
    if "graph" not in index.layers:
        raise MissingLayer("graphrag-local", {"graph"}, str(index.folder))
    entities = list(index.store.all_entities())
    spellings = dict.fromkeys(name for e in entities for name in map(normalised, _spellings(e)) if name)
    names = _one_text(spellings)
    relations = index.store.all_relations()
    texts = [
        *(d.text for e in entities for d in e.descriptions),
        *(text for r in relations for text in (*r.predicates, *(d.text for d in r.descriptions))),
    ]
    described = _one_text(map(normalised, dict.fromkeys(texts)))
    counts = {"n": 0, "named": 0, "within": 0, "described": 0}
    absent = []
    for question in questions:
        answers = [a for a in map(normalised, question.answers) if can_stand_in_text(a)]
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


def _spellings(entity: Entity) -> tuple[str, ...]:
    return (entity.name, *entity.aliases)


def _one_text(texts: Iterable[str]) -> str:
    """All texts in one, parted by what no normalised text holds, so that one search looks through all."""
    return "".join(f" {text} |" for text in texts)
