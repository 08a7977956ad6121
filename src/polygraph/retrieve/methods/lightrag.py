"""LightRAG: entities by the details of a question, relations by its themes, and the passages behind both.

Guo et al. (2024), arXiv:2410.05779, section 3.2. The published code has changed much since: ``merge="weave"`` is
version 1.5.7, with one budget over all; ``merge="join"`` is version 1.0.0, which the papers measured. Differences
from both: what came out of an unordered set comes in the order in which it was first seen, and a level for which
the question has no keywords uses those of the other (`fill_empty`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar, Literal, TypeAlias, TypeVar

from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Cut, Entity, Relation, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.dual_level import Level, by_details, by_themes, reranked, stated, within
from polygraph.retrieve.evidence import as_json, entity_line, nothing, ordered_rows, relation_line
from polygraph.retrieve.linked_passages import by_quota, by_similarity, owned
from polygraph.retrieve.pack import Block, fitting, pack
from polygraph.retrieve.steps import (
    RANKED,
    embed_question,
    ordered_chunks,
    retrieved,
    round_robin,
    sources_of,
)
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.question import Keywords, question_keywords

Mode: TypeAlias = Literal["local", "global", "hybrid", "mix"]
R = TypeVar("R", Entity, Relation)


@dataclass(frozen=True, slots=True)
class _Gathered:
    """What goes into the context, before it is packed."""

    level: Level
    passages: Sequence[tuple[str, str]]
    """Chunk ids with reasons, best first."""
    n_packed: int
    """So many passages may go into the context; all are in the ranking."""
    cuts: tuple[Cut, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LightRAG:
    """Search entities and relations by keywords of two levels; merge; add the passages that they rest on."""

    needs: ClassVar[frozenset[str]] = frozenset(
        {"chunks", "chunk_vectors", "graph", "entity_vectors", "relation_vectors"}
    )
    calls: ClassVar[str] = "2"

    mode: Mode = "mix"
    """Levels that are searched: `local` the details, `global` the themes, `hybrid` both, `mix` both and passages."""
    fill_empty: bool = True
    """A level without keywords takes those of the other (ours; the code finds nothing on it)."""
    short_question: int = 50
    """A question without keywords and shorter than so many characters is a detail itself (code 1.5.7: 50)."""
    top_k: int = 40
    """Entities, and relations, that a search finds (code 1.5.7: 40; 1.0.0: 60)."""
    threshold: float = 0.2
    """Cosine that a hit must reach (code: 0.2)."""
    merge: Literal["weave", "join"] = "weave"
    """`weave`: the levels in turn, details first, then cut (1.5.7). `join`: each level is cut on its own, themes
    stand before details, and nothing is cut again (1.0.0)."""
    entity_tokens: int = 6_000
    """Budget of entities (code 1.5.7: 6,000; 1.0.0: 4,000 for each level)."""
    relation_tokens: int = 8_000
    """Budget of relations (code 1.5.7: 8,000; 1.0.0: 4,000 for each level)."""
    tables_share: float = 0.5
    """Entities and relations together take at most so much of `max_tokens`: with a small budget both shrink alike,
    so that passages remain (ours; it changes nothing at the code's 30,000)."""
    passage_tokens: int = 0
    """Budget of each level's passages with `join` (code 1.0.0: 4,000); 0 for what is left."""
    related_chunks: int = 5
    """Passages for a row: half as many per row are picked in all by similarity, so many for the first by `quota`
    (code 1.5.7: 5)."""
    pick: Literal["similarity", "quota"] = "similarity"
    """Which passages of the rows: nearest to the question, or a quota for each row (code 1.5.7: similarity)."""
    chunk_k: int = 20
    """Passages that go into the context, and that a search of `mix` finds (code 1.5.7: 20)."""
    rerank: int = 0
    """First so many passages are ordered anew by the cross-encoder; 0 for none (code 1.5.7: 20 if it has one)."""
    max_tokens: int = 30_000
    """Budget of the context (code 1.5.7: 30,000, prompt and question included)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; every ranking breaks ties by row."""
        name = f"lightrag-{self.mode}"
        require(index, name, self.needs, models)
        # 1. Keywords on two levels.
        words = self._keywords(question, models, name)
        # 2. Details find entities, and by them relations; themes find relations, and by them entities.
        details = self._details(words.low, index, models) if self.mode != "global" else Level()
        themes = self._themes(words.high, index, models) if self.mode != "local" else Level()
        # 3. Merge the levels within the budget of the tables, and pick the passages that the rows rest on.
        if self.merge == "weave":
            found = self._weave(question, details, themes, index, models)
        else:
            found = self._join(details, themes, index)
        trace = (
            Step(name="keywords", value={"details": list(words.low), "themes": list(words.high)}),
            *details.steps,
            *themes.steps,
            *found.steps,
        )
        return self._packed(question, name, found, index, trace)

    def _keywords(self, question: str, models: Models, name: str) -> Keywords:
        words = question_keywords(question, models, method=name)
        if not words.low and not words.high and len(question) < self.short_question:
            words = Keywords(high=(), low=(question,))
        if self.fill_empty:
            words = Keywords(high=words.high or words.low, low=words.low or words.high)
        return words

    # --- the two levels -----------------------------------------------------------------------------

    def _details(self, keywords: Sequence[str], index: Snapshot, models: Models) -> Level:
        if not keywords:
            return Level()
        return by_details([", ".join(keywords)], index, models, k=self.top_k, threshold=self.threshold)

    def _themes(self, keywords: Sequence[str], index: Snapshot, models: Models) -> Level:
        if not keywords:
            return Level()
        return by_themes([", ".join(keywords)], index, models, k=self.top_k, threshold=self.threshold)

    # --- merging ------------------------------------------------------------------------------------

    def _weave(
        self, question: str, details: Level, themes: Level, index: Snapshot, models: Models
    ) -> _Gathered:
        """Version 1.5.7: the levels in turn, then cut; passages of the rows, in turn with those near the question."""
        merged = Level(
            _in_turn(details.entities, themes.entities),
            _in_turn(details.relations, themes.relations),
            {i: _both(details.whys.get(i), themes.whys.get(i)) for i in {**details.whys, **themes.whys}},
        )
        level, cuts = self._within(merged)
        vector = embed_question(question, models)
        near: list[tuple[str, str]] = []
        if self.mode == "mix":
            hits = [h for h in index.search_chunks(vector, self.chunk_k) if h.score >= self.threshold]
            near = [
                (c.id, f"cosine {h.score:.3f} with the question")
                for h, c in zip(hits, index.chunks([h.n for h in hits]), strict=True)
            ]
        of_entities = self._picked(
            [(e.name, e.chunks) for e in level.entities], "mentions", (), vector, index
        )
        taken = {c for c, _ in of_entities}
        of_relations = self._picked(
            [(r.id, r.chunks) for r in level.relations], "states", taken, vector, index
        )
        streams = (near, of_entities, of_relations)
        whys: dict[str, str] = {}
        for chunk, why in (pair for stream in streams for pair in stream):
            whys[chunk] = _both(whys.get(chunk), why)
        ids = round_robin([[c for c, _ in stream] for stream in streams])
        steps: tuple[Step, ...] = (
            *_tables(level),
            Step(name="passages near the question", value=[c for c, _ in near]),
            Step(name="passages of the entities", value=[c for c, _ in of_entities[:RANKED]]),
            Step(name="passages of the relations", value=[c for c, _ in of_relations[:RANKED]]),
        )
        if self.rerank and models.reranker is not None:
            scored = reranked(question, ids, index, models, self.rerank)
            ids = [i for i, _ in scored]
            steps = (*steps, Step(name="reranked", value=as_json(scored[: self.rerank])))
        return _Gathered(level, [(i, whys[i]) for i in ids], self.chunk_k, cuts, steps)

    def _join(self, details: Level, themes: Level, index: Snapshot) -> _Gathered:
        """Version 1.0.0: each level within budgets of its own, then one behind the other, themes first."""
        n_levels = 1 if self.mode in ("local", "global") else 2
        wide, cuts_of_themes = self._within(themes, n_levels)
        deep, cuts_of_details = self._within(details, n_levels)
        broad = stated(wide.relations)
        # Here relations count that the budget has cut.
        near = [(e.id, e.why) for e in sources_of(deep.entities, details.relations, index)]
        whys = {i: _both(wide.whys.get(i), deep.whys.get(i)) for i in {**wide.whys, **deep.whys}}
        level = Level(
            list({e.id: e for e in (*wide.entities, *deep.entities)}.values()),
            list({r.id: r for r in (*wide.relations, *deep.relations)}.values()),
            whys,
        )
        # Passages that a level's budget cuts stay in the ranking, behind those of both levels that it keeps.
        kept_broad, kept_near = self._affordable(broad, index), self._affordable(near, index)
        ordered = [*broad[:kept_broad], *near[:kept_near], *broad[kept_broad:], *near[kept_near:]]
        passages: dict[str, str] = {}
        for chunk, why in ordered:
            passages[chunk] = _both(passages.get(chunk), why)
        n_kept = len({c for c, _ in (*broad[:kept_broad], *near[:kept_near])})
        steps = (
            *_tables(level),
            Step(name="passages of the relations", value=[c for c, _ in broad[:RANKED]]),
            Step(name="passages of the entities", value=[c for c, _ in near[:RANKED]]),
        )
        return _Gathered(level, list(passages.items()), n_kept, (*cuts_of_themes, *cuts_of_details), steps)

    def _within(self, level: Level, n_levels: int = 1) -> tuple[Level, tuple[Cut, ...]]:
        """The first rows of a level that fit the budgets of the tables, at least one of each."""
        wanted = n_levels * (self.entity_tokens + self.relation_tokens)
        scale = min(1.0, self.tables_share * self.max_tokens / wanted)
        entities, no_entities = within(
            level.entities,
            [entity_line(e) for e in level.entities],
            int(self.entity_tokens * scale),
            "entity",
        )
        relations, no_relations = within(
            level.relations,
            [relation_line(r) for r in level.relations],
            int(self.relation_tokens * scale),
            "relation",
        )
        return replace(level, entities=entities, relations=relations), (*no_entities, *no_relations)

    def _picked(
        self,
        rows: Sequence[tuple[str, Sequence[str]]],
        how: str,
        taken: Collection[str],
        vector: Vectors,
        index: Snapshot,
    ) -> list[tuple[str, str]]:
        """Passages of ranked rows (name, chunk ids), each with the first row that cites it."""
        mine = owned([chunks for _, chunks in rows], taken)
        owner = {c: f"{how} {name}" for (name, _), chunks in zip(rows, mine, strict=True) for c in chunks}
        if self.pick == "quota":
            return [(c, owner[c]) for c in by_quota(mine, self.related_chunks)]
        n = max(1, self.related_chunks * len(rows) // 2)
        ranked = by_similarity(list(owner), vector, index)[:n]
        return [(c, f"{owner[c]}; cosine {cosine:.3f} with the question") for c, cosine in ranked]

    def _affordable(self, passages: Sequence[tuple[str, str]], index: Snapshot) -> int:
        """How many passages of a level fit its budget; all where it has none."""
        if not self.passage_tokens:
            return len(passages)
        texts = index.store.documents.texts_of([c for c, _ in passages[:RANKED]])
        return fitting([texts[c] for c, _ in passages[:RANKED]], self.passage_tokens)

    # --- the context --------------------------------------------------------------------------------

    def _packed(
        self, question: str, name: str, found: _Gathered, index: Snapshot, trace: tuple[Step, ...]
    ) -> Retrieval:
        """Entities, relations, then passages; what the tables leave is for the passages."""
        level = found.level
        entities, relations = ordered_rows(level.entities, level.relations, level.whys, index)
        whys = dict(found.passages[:RANKED])
        chunks = index.chunks_by_id(list(whys))
        passages = ordered_chunks(chunks, whys, index)[: found.n_packed]
        tables = self.entity_tokens + self.relation_tokens
        packed = pack(
            [
                Block(
                    heading="## Entities",
                    items=entities,
                    share=self.tables_share * self.entity_tokens / tables,
                ),
                Block(
                    heading="## Relations",
                    items=relations,
                    share=self.tables_share * self.relation_tokens / tables,
                ),
                Block(heading="## Sources", items=passages, share=1 - self.tables_share),
            ],
            max_tokens=self.max_tokens,
        )
        if not entities and not relations and not passages:
            searched = {"local": "entity", "global": "relation"}.get(self.mode, "entity or relation")
            return nothing(
                question, name, f"no {searched} is near the keywords of the question", index, trace
            )
        return retrieved(
            question,
            name,
            packed,
            ranking=[c.id for c in chunks],
            cuts=(*found.cuts, *packed.cuts),
            trace=(*trace, Step(name="passages", value=[[c.id, whys[c.id]] for c in chunks])),
            max_tokens=self.max_tokens,
        )


def _in_turn(first: Sequence[R], second: Sequence[R]) -> list[R]:
    """Rows of two rankings in turn, each once."""
    by_id = {row.id: row for row in chain(first, second)}
    return [by_id[i] for i in round_robin([[row.id for row in first], [row.id for row in second]])]


def _both(one: str | None, other: str | None) -> str:
    """Two reasons as one."""
    return "; ".join(reason for reason in dict.fromkeys((one, other)) if reason)


def _tables(level: Level) -> tuple[Step, Step]:
    return (
        Step(name="entities", value=[e.id for e in level.entities]),
        Step(name="relations", value=[r.id for r in level.relations]),
    )
