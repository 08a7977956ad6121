"""FG-RAG: for each entity of the question, expand the search, ask what must be known, and summarize with that in view.

Hong, Li, Zhang and Shao (2025), FG-RAG: Enhancing Query-Focused Summarization with Context-Aware Fine-Grained Graph
RAG. Where the paper leaves details open, we follow the published code: the whole question counts as one more entity;
names are compared with descriptions; the strong context is searched with all names of the weak context as one text.
Our variant does not let one hub fill the expansion (`per_entity`), collects nothing twice (`share_visited`), gives each
description to one part only (`share_notes`), takes weak and strong context in turns (`interleave`), asks nothing about
dates and generic nouns (`skip_generic`) and limits what a summary reads (`entity_tokens`). Our notes carry the dates of
their documents, and our summaries cite their sources; those of the paper do neither.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import AnswerForm, Cut, Evidence, Json, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.entity_expansion import (
    CollectedDescription,
    EntityReader,
    ExpansionLimits,
    VisitedEntity,
    expand_entities,
    sample,
)
from polygraph.retrieve.evidence import nothing_found, passages_of, spans_of
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.steps import embed_names, retrieved, round_robin
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit
from polygraph.tasks.evidence.summarise import Summary, extractive_summaries, summarise_notes
from polygraph.tasks.questions.aspects import aspects, question_parts
from polygraph.text.prose import count_noun
from polygraph.text.quantities import located_dates, located_quantities
from polygraph.text.tokens import count_many
from polygraph.text.words import content_stems

_NOTE_TOKENS = 8
"""Upper bound for the number and line break of a note."""
_SHOWN = 6
"""Seeds named in the reason of a piece of evidence."""
_LAYERS: Mapping[str, Literal["entity_vectors", "name_vectors", "description_vectors"]] = MappingProxyType(
    {"descriptions": "description_vectors", "names": "name_vectors", "both": "entity_vectors"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One entity of the question, and what was found for it."""

    subject: str
    label: str
    """Its name in evidence and trace."""
    weak: Sequence[Hit]
    """Weak context: entities matched with the subject."""
    strong: Sequence[Hit]
    """Strong context: entities matched with the names of the weak context."""
    found: Sequence[CollectedDescription]
    """Descriptions collected by the expansion, within `entity_tokens`."""
    visits: Sequence[VisitedEntity]
    cut: Cut | None
    """What was truncated to fit `entity_tokens`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FGRAG:
    """Match entities, match again with their names, expand from both, and summarize for each."""

    max_entities: int = 9
    """Most entities of the question; of more, a sample is taken (code: 9)."""
    include_question: bool = True
    """Treat the whole question as one more entity (code; the paper does not say)."""
    n: int = 20
    """Entities matched in each of the two steps (code: 20)."""
    skip_generic: bool = True
    """Leave out dates, and single lower-case words beside names: their neighbours are half of the graph (ours)."""
    match_by: Literal["descriptions", "names", "both"] = "both"
    """What a name is compared with: an entity's descriptions (code), its name, or both (ours)."""
    strong: Literal["joint", "each"] = "joint"
    """Second step: one search with all names of the first step (code), or one per name, interleaved (eq. 7)."""
    first: int = 75
    """Descriptions collected from the weak context (code: 75)."""
    total: int = 150
    """Descriptions collected from both contexts (code: 150)."""
    per_entity: int = 8
    """Descriptions taken at one entity of the graph; 0 for no limit (code: none)."""
    share_visited: bool = True
    """The second pass skips what the first has visited (code: starts afresh)."""
    share_notes: bool = True
    """A description that several parts collect is read for the one that found it first (code: for each of them)."""
    interleave: bool = True
    """Weak and strong context take turns, so that `entity_tokens` truncates both (code: weak first, no limit)."""
    entity_tokens: int = 4_000
    """Tokens of descriptions that one summary reads (paper: no limit)."""
    max_questions: int = 10
    """Questions about each entity of the question (code: 10)."""
    without: Literal["", "expansion", "summaries"] = ""
    """Ablations of section 4.4. `expansion`: descriptions of the matched entities alone, without second step and
    expansion (eq. 5). `summaries`: descriptions go into the context as they are, without steps 4 and 6."""
    answer_form: AnswerForm = "overview"
    """`short`: one word or name, or that the evidence is insufficient (section 4.1, multi-hop questions)."""
    seed: int = 0
    """Seed of all samples."""
    max_tokens: int = 12_000
    """Budget of the context (paper: none)."""

    @property
    def needs(self) -> frozenset[str]:
        """The graph, and the vectors of `match_by`."""
        return frozenset({"chunks", "graph", _LAYERS[self.match_by]})

    @property
    def calls(self) -> str:
        """Depends on m, the entities of the question about which the graph has descriptions."""
        return (
            "2"
            if self.without == "summaries"
            else "at most 2m + 4 for m entities of the question, at most 22"
        )

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; entities of the question in their order, matches by score, then row."""
        require(index, "fg-rag", self.needs, models)
        # 1. The entities of the question (eq. 8), and the question itself.
        named = question_parts(question, models, method="fg-rag")
        specific = specific_parts(named) if self.skip_generic else named
        chosen = sample(specific, self.max_entities, self.seed, question)
        subjects = [*([question] if self.include_question and question not in chosen else []), *chosen]
        # 2., 3. Weak and strong context. 5. The expansion from both (eq. 6, 7, 9).
        parts = self._expanded(question, subjects, index, models)
        trace = [Step(name="question_entities", value=list(chosen)), *_traced(parts, index)]
        parts = [part for part in parts if part.found]
        if not parts:
            return nothing_found(question, "fg-rag", "nothing is described in the graph", index, tuple(trace))
        if self.without == "summaries":
            items = _descriptions(parts, index)
        else:
            # 4. Questions about each entity (eq. 10). 6. A summary for each (eq. 11).
            asked, summaries = self._summaries(question, named, parts, index, models)
            pairs = list(zip(parts, summaries, strict=True))
            trace += [
                Step(name="questions", value=[[p.label, list(a)] for p, a in zip(parts, asked, strict=True)]),
                Step(name="summaries", value=[[p.label, list(s.notes)] for p, s in pairs]),
            ]
            items = tuple(
                _evidence(p, s, float(len(pairs) - i), index) for i, (p, s) in enumerate(pairs) if s.text
            )
            if not items:
                reason = "nothing that the graph says of the question's entities helps to answer it"
                return nothing_found(question, "fg-rag", reason, index, tuple(trace))
        # 7. The summaries are the context of the answer.
        packed = pack([Block(heading="", items=items)], max_tokens=self.max_tokens)
        return retrieved(
            question,
            "fg-rag",
            packed,
            ranking=rank_passages(question, parts, items),
            cuts=(*(part.cut for part in parts if part.cut), *packed.cuts),
            trace=trace,
            answer_form=self.answer_form,
            max_tokens=self.max_tokens,
        )

    # --- retrieval ----------------------------------------------------------------------------------

    def _expanded(
        self, question: str, subjects: Sequence[str], index: Snapshot, models: Models
    ) -> list[_Part]:
        expands = self.without != "expansion"
        limits = ExpansionLimits(
            first=self.first if expands else self.total,
            total=self.total,
            per_entity=self.per_entity,
            edges=expands,
            share_visited=self.share_visited,
            seed=self.seed,
        )
        reader = EntityReader(index)
        weak = self._match(embed_names(subjects, models), index)
        reader.read([hit.n for hits in weak for hit in hits])
        strong: list[list[Hit]] = [[] for _ in subjects]
        if expands:
            strong = self._second([[reader.entity(h.n).name for h in hits] for hits in weak], index, models)
        reader.read([hit.n for hits in strong for hit in hits])
        expanded = [
            expand_entities({"weak": [h.n for h in near], "strong": [h.n for h in far]}, reader, limits)
            for near, far in zip(weak, strong, strict=True)
        ]
        collected = [self._ordered(found) for found, _ in expanded]
        if self.share_notes and self.without != "summaries":
            collected = _each_once(collected)
        parts = []
        for i, subject in enumerate(subjects):
            n = self._n_that_fit(collected[i])
            parts.append(
                _Part(
                    subject=subject,
                    label="the question" if subject == question and self.include_question else subject,
                    weak=weak[i],
                    strong=strong[i],
                    found=collected[i][:n],
                    visits=expanded[i][1],
                    cut=self._cut(collected[i][n:]),
                )
            )
        return parts

    def _ordered(self, found: Sequence[CollectedDescription]) -> list[CollectedDescription]:
        if not self.interleave:
            return list(found)
        passes = dict.fromkeys(c.pass_name for c in found)
        return round_robin([[c for c in found if c.pass_name == name] for name in passes])

    def _match(self, vectors: Vectors, index: Snapshot) -> list[list[Hit]]:
        return index.search_each(_LAYERS[self.match_by], vectors, [self.n] * len(vectors))

    def _second(self, names: Sequence[Sequence[str]], index: Snapshot, models: Models) -> list[list[Hit]]:
        """Search the strong context of each entity of the question with the names of its weak context."""
        if self.strong == "joint":
            vectors = embed_names(["\n".join(some) for some in names], models)
            found = iter(self._match(vectors[[bool(some) for some in names]], index))
            return [next(found) if some else [] for some in names]
        flat = embed_names([name for some in names for name in some], models)
        chosen, at = [], 0
        for some in names:
            hits = self._match(flat[at : at + len(some)], index)
            at += len(some)
            best: dict[int, Hit] = {}
            for hit in (hit for ranking in hits for hit in ranking):
                best[hit.n] = max(best.get(hit.n, hit), hit, key=lambda h: h.score)
            rows = round_robin([[hit.n for hit in ranking] for ranking in hits])
            chosen.append([best[n] for n in rows[: self.n]])
        return chosen

    def _n_that_fit(self, found: Sequence[CollectedDescription]) -> int:
        if self.without == "summaries":
            return len(found)
        left = self.entity_tokens
        for i, n_tokens in enumerate(count_many([c.dated_note for c in found])):
            left -= n_tokens + _NOTE_TOKENS
            if left < 0:
                return i
        return len(found)

    def _cut(self, left: Sequence[CollectedDescription]) -> Cut | None:
        if not left:
            return None
        n_tokens = sum(count_many([c.dated_note for c in left]))
        return Cut(kind=left[0].kind, n_items=len(left), n_tokens=n_tokens, budget=self.entity_tokens)

    # --- summaries ----------------------------------------------------------------------------------

    def _summaries(
        self, question: str, named: Sequence[str], parts: Sequence[_Part], index: Snapshot, models: Models
    ) -> tuple[list[tuple[str, ...]], list[Summary]]:
        chat = models.chat
        if chat is None:
            chosen = extractive_summaries(
                question,
                [part.subject for part in parts],
                # A model does not repeat the name in what it says of an entity, so that the name belongs to it.
                [[(c.note, c.chunk) for c in part.found] for part in parts],
                lambda chunks: passages_of(chunks, index),
                models,
            )
            return [() for _ in parts], chosen

        def write(part: _Part) -> tuple[tuple[str, ...], Summary]:
            try:
                asked = aspects(
                    question, part.subject, named, models, chat, most=self.max_questions, method="fg-rag"
                )
            except UnusableReply:  # kept in quarantine; the summary then answers the question itself
                asked = ()
            notes = [c.dated_note for c in part.found]
            return asked, summarise_notes(question, part.subject, asked, notes, models, chat, method="fg-rag")

        written = models.calls.map(write, parts)
        return [asked for asked, _ in written], [summary for _, summary in written]


def specific_parts(named: Sequence[str]) -> tuple[str, ...]:
    """Leave out the parts of a question that are too general for a summary of their own; if none is left, keep all.

    These are dates and numbers, and single lower-case words if another part is a name or a phrase.

    >>> specific_parts(["sum", "Constancy", "insurance", "1881", "Culverness Mutual"])
    ('Constancy', 'Culverness Mutual')
    >>> specific_parts(["trade", "agriculture"])
    ('trade', 'agriculture')
    """
    undated = [part for part in named if not _is_date_or_number(part)]
    distinctive = [part for part in undated if part != part.casefold() or len(part.split()) > 1]
    return tuple(distinctive or undated or named)


def _is_date_or_number(part: str) -> bool:
    spans = [(start, end) for _, start, end in (*located_dates(part), *located_quantities(part))]
    rest = "".join(c for i, c in enumerate(part) if not any(start <= i < end for start, end in spans))
    return bool(spans) and not content_stems(rest)


def _each_once(collected: Sequence[Sequence[CollectedDescription]]) -> list[list[CollectedDescription]]:
    """Give each description to the part in whose order it comes first; of equal places the first part has it."""
    owner: dict[str, tuple[int, int]] = {}
    for i, found in enumerate(collected):
        for place, c in enumerate(found):
            owner[c.text] = min(owner.get(c.text, (place, i)), (place, i))
    return [[c for c in found if owner[c.text][1] == i] for i, found in enumerate(collected)]


def rank_passages(question: str, parts: Sequence[_Part], items: Sequence[Evidence]) -> list[str]:
    """Rank passages: those that the summaries cite, then the others read, each by words of the question.

    The words in all notes of a passage count, each once: a model spreads over several what one sentence says. Ties are
    in turns over the entities of the question.
    """
    asked = set(content_stems(question))
    words: dict[str, set[str]] = {}
    for c in (c for part in parts for c in part.found):
        words.setdefault(c.chunk, set()).update(asked & set(content_stems(c.note)))
    cited = round_robin([[s.chunk for s in item.spans] for item in items])
    read = round_robin([[c.chunk for c in part.found] for part in parts])
    # Sorting is stable.
    return [c for some in (cited, read) for c in sorted(some, key=lambda chunk: -len(words.get(chunk, ())))]


def _evidence(part: _Part, summary: Summary, score: float, index: Snapshot) -> Evidence:
    spans = summary.spans or spans_of([part.found[n - 1].chunk for n in summary.notes], index)
    kinds = Counter(c.kind for c in {c.id: c for c in part.found}.values())
    passes = Counter(c.pass_name for c in part.found)
    scores = {h.n: h.score for h in (*part.strong, *part.weak)}
    seeds = list(dict.fromkeys(c.path[0] for c in part.found))
    rows = index.entity_rows(seeds[:_SHOWN])
    nearest = ", ".join(f"{seed} {scores[rows[seed]]:.3f}" for seed in seeds[:_SHOWN])
    rests_on = (
        f"{len(summary.notes)} of them cited"
        if summary.notes
        else f"{count_noun(len(spans), 'sentence')} chosen"
    )
    left_out = f"; {part.cut.n_items} more cut at {part.cut.budget:,} tokens" if part.cut else ""
    return Evidence(
        kind="summary",
        id=part.label,
        text=summary.text if part.label != part.subject else f"{part.subject}: {summary.text}",
        score=score,
        spans=spans,
        why=(
            f"{count_noun(len(part.found), 'description')} ({passes['weak']} by weak, {passes['strong']} by strong "
            f"context) of {count_noun(kinds['entity'], 'entity')} and {count_noun(kinds['relation'], 'relation')}, "
            f"{rests_on}{left_out}; "
            f"seeds by cosine: {nearest}{f' and {len(seeds) - _SHOWN} more' if len(seeds) > _SHOWN else ''}"
        ),
    )


def _descriptions(parts: Sequence[_Part], index: Snapshot) -> tuple[Evidence, ...]:
    """Make evidence of the descriptions; the entities of the question take turns, each text once."""
    chunks = {c.chunk for part in parts for c in part.found}
    spans = {span.chunk: span for span in spans_of(sorted(chunks), index)}
    scores = [{h.n: h.score for h in (*part.strong, *part.weak)} for part in parts]
    numbered = [[(i, n) for n in range(len(part.found))] for i, part in enumerate(parts)]
    rows = index.entity_rows(sorted({c.path[0] for part in parts for c in part.found}))
    once: dict[str, Evidence] = {}
    for i, n in round_robin(numbered):
        found = parts[i].found[n]
        score = scores[i].get(rows[found.path[0]], 0.0)
        once.setdefault(
            found.text,
            Evidence(
                kind=found.kind,
                id=found.id,
                text=found.dated_note,
                score=score,
                spans=(spans[found.chunk],),
                why=(
                    f"for {parts[i].label}: {found.pass_name} context, cosine {score:.3f}; "
                    f"{' → '.join(found.path)}"
                ),
            ),
        )
    return tuple(once.values())


def _traced(parts: Sequence[_Part], index: Snapshot) -> list[Step]:
    def matched(hits: Sequence[Hit]) -> list[Json]:
        ids = index.ids_by_row([h.n for h in hits])
        return [[ids[h.n], round(h.score, 6)] for h in hits]

    return [
        Step(name="weak", value=[[p.label, matched(p.weak)] for p in parts]),
        Step(name="strong", value=[[p.label, matched(p.strong)] for p in parts]),
        Step(
            name="visits",
            value=[
                [p.label, [[v.pass_name, v.entity, v.hops, v.own, v.edges] for v in p.visits]] for p in parts
            ],
        ),
        Step(
            name="descriptions",
            value=[[p.label, len(p.found), p.cut.n_items if p.cut else 0] for p in parts],
        ),
    ]
