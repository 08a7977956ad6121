"""LightRAG: entities by low-level keywords, relations by high-level keywords, and the passages of both.

Guo et al. (2024), arXiv:2410.05779, section 3.2. Low-level keywords name the details of a question, high-level keywords
its themes. The published code has changed much since the paper: ``merge="weave"`` is version 1.5.7, with one budget for
everything; ``merge="join"`` is version 1.0.0, which the papers measured. Differences from both: results of unordered
sets come in the order in which they were first seen, a level without keywords uses those of the other (`fill_empty`),
and relations rank passages that entities mention, too (`pick`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar, Literal, TypeAlias

from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import AnswerForm, Cut, Entity, Relation, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.dual_level import (
    Level,
    RelationReader,
    deduplicate,
    fit_tables,
    passages_of_relations,
    rerank_passages,
    search_high_level,
    search_low_level,
)
from polygraph.retrieve.evidence import (
    nothing_found,
    ordered_rows,
    scores_as_json,
)
from polygraph.retrieve.linked_passages import (
    MANY_PASSAGES,
    PassageCosines,
    assign_to_first,
    consider_passages,
    pick_by_quota,
    rank_by_statements,
)
from polygraph.retrieve.pack import Block, fitting, pack
from polygraph.retrieve.row_texts import RowTexts
from polygraph.retrieve.steps import (
    RANKED,
    RankedPassages,
    embed_at_once,
    relations_per_chunk,
    retrieved,
    round_robin,
    sources_of,
)
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.offline.question_scope import is_global_question
from polygraph.tasks.questions.keywords import Keywords, question_keywords

Mode: TypeAlias = Literal["local", "global", "hybrid", "mix"]


@dataclass(frozen=True, slots=True)
class _Selection:
    """The rows and passages for the context, before packing."""

    entities: Sequence[Entity]
    relations: Sequence[Relation]
    whys: Mapping[str, str]
    """Reasons of entities and relations by id."""
    passages: Sequence[tuple[str, str]]
    """Chunk ids with reasons, best first."""
    n_packed: int
    """Number of passages that may go into the context; all are in the ranking."""
    cuts: tuple[Cut, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LightRAG:
    """Search entities and relations by keywords of two levels, merge them, and add their passages."""

    needs: ClassVar[frozenset[str]] = frozenset(
        {"chunks", "chunk_vectors", "graph", "entity_vectors", "relation_vectors"}
    )
    calls: ClassVar[str] = "2"

    mode: Mode = "mix"
    """What is searched: `local` the low level, `global` the high level, `hybrid` both, `mix` both and passages."""
    fill_empty: bool = True
    """A level without keywords uses those of the other (ours; the code finds nothing on it)."""
    short_question: int = 50
    """A question without keywords that is shorter, in characters, is its own low-level keyword (code 1.5.7: 50)."""
    top_k: int = 40
    """Entities, and relations, per search (code 1.5.7: 40; 1.0.0: 60)."""
    threshold: float = 0.2
    """Lowest cosine of a hit (code: 0.2)."""
    merge: Literal["weave", "join"] = "weave"
    """`weave`: interleave the levels, low level first, then truncate (1.5.7). `join`: truncate each level on its own,
    high level first, and nothing after that (1.0.0)."""
    entity_tokens: int = 6_000
    """Budget of entities (code 1.5.7: 6,000; 1.0.0: 4,000 per level)."""
    relation_tokens: int = 8_000
    """Budget of relations (code 1.5.7: 8,000; 1.0.0: 4,000 per level)."""
    tables_share: float = 0.5
    """Largest share of `max_tokens` for entities and relations together: with a small budget both shrink in
    proportion, so that passages remain (ours; no effect at the code's 30,000)."""
    passage_tokens: int = 0
    """With `join`: budget of each level's passages (code 1.0.0: 4,000); 0 for whatever is left."""
    related_chunks: int = 5
    """Passages per row: with `quota` this many for the first row, else half as many per row in total
    (code 1.5.7: 5)."""
    pick: Literal["statements", "similarity", "quota"] = "statements"
    """Which passages of the rows are read: those of which the rows say most of the question's words, entities and
    relations each for themselves (ours); those nearest to the question (code 1.5.7), or a quota per row (code 1.5.7, by
    choice), each passage for an entity before a relation."""
    chunk_k: int = 20
    """Passages that go into the context, and that the search of `mix` finds (code 1.5.7: 20)."""
    rerank: int = 0
    """Passages that the cross-encoder reorders, the first ones; 0 for none (code 1.5.7: 20 if it has one)."""
    max_tokens: int = 30_000
    """Budget of the context (code 1.5.7: 30,000, including prompt and question)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; every ranking breaks ties by row."""
        name = f"lightrag-{self.mode}"
        require(index, name, self.needs, models)
        # 1. Keywords on two levels.
        words = self._keywords(question, models, name)
        # 2. Low-level keywords find entities and their relations; high-level keywords find relations and their ends.
        weaves = self.merge == "weave"
        vectors = embed_at_once(
            [
                [", ".join(words.low)] if words.low and self.mode != "global" else [],
                [", ".join(words.high)] if words.high and self.mode != "local" else [],
            ],
            models,
            question=question if weaves else None,
        )
        reader = RelationReader(index)
        low, high = (
            search(
                part, index, reader, k=self.top_k, threshold=self.threshold, most_chunks=self._most_chunks()
            )
            if len(part)
            else Level()
            for search, part in ((search_low_level, vectors[0]), (search_high_level, vectors[1]))
        )
        # 3. Merge the levels within the budget of the tables, and pick the passages of their rows.
        texts = RowTexts(index, question)
        if weaves:
            found = self._combine_levels(question, vectors[2][0], (low, high), reader, index, models, texts)
        else:
            found = self._join(low, high, reader, index, texts)
        trace = (
            Step(name="keywords", value={"details": list(words.low), "themes": list(words.high)}),
            *low.steps,
            *high.steps,
            *found.steps,
        )
        # LightRAG's own questions are about whole collections (section 4.1). Without a model, sentences answer better.
        broad = models.chat is not None and is_global_question(question)
        return self._packed(question, name, found, index, texts, trace, "overview" if broad else "cited")

    def _keywords(self, question: str, models: Models, name: str) -> Keywords:
        words = question_keywords(question, models, method=name)
        if not words.low and not words.high and len(question) < self.short_question:
            words = Keywords(high=(), low=(question,))
        if self.fill_empty:
            words = Keywords(high=words.high or words.low, low=words.low or words.high)
        return words

    def _most_chunks(self) -> int | None:
        """Return how many chunks of an entity are read: those of the published code need all, see `pick`."""
        return None if self.merge == "join" or self.pick == "quota" else MANY_PASSAGES + 1

    # --- merging ------------------------------------------------------------------------------------

    def _combine_levels(
        self,
        question: str,
        vector: Vectors,
        levels: tuple[Level, Level],
        reader: RelationReader,
        index: Snapshot,
        models: Models,
        texts: RowTexts,
    ) -> _Selection:
        """Version 1.5.7: interleave the levels and truncate; interleave their passages with those near the question."""
        low, high = levels
        merged = Level(_interleave(low.entities, high.entities), round_robin([low.relations, high.relations]))
        level, cuts = self._truncate(merged, texts, reader)
        relations = reader.read(level.relations)
        whys = _reasons((low, high), level.relations, relations)
        near: list[tuple[str, str]] = []
        cosines = PassageCosines(vector, index)
        if self.mode == "mix":
            # One search for these and for the passages of hubs.
            cosines = PassageCosines.searched(vector, index, self.chunk_k)
            hits = [h for h in cosines.nearest().hits(self.chunk_k) if h.score >= self.threshold]
            near = [
                (c.id, f"cosine {h.score:.3f} with the question")
                for h, c in zip(hits, index.chunks([h.n for h in hits]), strict=True)
            ]
        of_entities = self._pick_passages(level.entities, cosines, texts)
        # The code takes from relations what entities have, so that theirs are the passages that nothing else chose.
        # A ranking of their own tells what relations say; a passage of both is counted once when they are interleaved.
        taken: Collection[str] = () if self.pick == "statements" else {c for c, _ in of_entities}
        of_relations = self._pick_passages(relations, cosines, texts, exclude=taken)
        streams = (near, of_entities, of_relations)
        linked: dict[str, str] = {}
        for chunk, why in (pair for stream in streams for pair in stream):
            linked[chunk] = _join_reasons(linked.get(chunk), why)
        ids = round_robin([[c for c, _ in stream] for stream in streams])
        steps: tuple[Step, ...] = (
            *_tables(level.entities, relations),
            Step(name="passages near the question", value=[c for c, _ in near]),
            Step(name="passages of the entities", value=[c for c, _ in of_entities[:RANKED]]),
            Step(name="passages of the relations", value=[c for c, _ in of_relations[:RANKED]]),
        )
        if self.rerank and models.reranker is not None:
            scored = rerank_passages(question, ids, index, models, self.rerank)
            ids = [i for i, _ in scored]
            steps = (*steps, Step(name="reranked", value=scores_as_json(scored[: self.rerank])))
        passages = [(i, linked[i]) for i in ids]
        return _Selection(level.entities, relations, whys, passages, self.chunk_k, cuts, steps)

    def _join(
        self, low: Level, high: Level, reader: RelationReader, index: Snapshot, texts: RowTexts
    ) -> _Selection:
        """Version 1.0.0: truncate each level to budgets of its own, then put the high level before the low level."""
        n_levels = 1 if self.mode in ("local", "global") else 2
        kept_high, cuts_high = self._truncate(high, texts, reader, n_levels)
        kept_low, cuts_low = self._truncate(low, texts, reader, n_levels)
        of_relations = passages_of_relations(reader.read(kept_high.relations))
        # The order of these counts truncated relations, too.
        counts = relations_per_chunk(reader.read(low.relations))
        of_entities = [(e.id, e.why) for e in sources_of(kept_low.entities, counts, index)]
        entities = deduplicate(chain(kept_high.entities, kept_low.entities))
        rows = list(dict.fromkeys((*kept_high.relations, *kept_low.relations)))
        relations = reader.read(rows)
        # Passages beyond a level's budget stay in the ranking, after those of both levels within it.
        n, m = self._n_within_budget(of_relations, index), self._n_within_budget(of_entities, index)
        within, beyond = [*of_relations[:n], *of_entities[:m]], [*of_relations[n:], *of_entities[m:]]
        passages: dict[str, str] = {}
        for chunk, why in [*within, *beyond]:
            passages[chunk] = _join_reasons(passages.get(chunk), why)
        steps = (
            *_tables(entities, relations),
            Step(name="passages of the relations", value=[c for c, _ in of_relations[:RANKED]]),
            Step(name="passages of the entities", value=[c for c, _ in of_entities[:RANKED]]),
        )
        n_packed = len({c for c, _ in within})
        return _Selection(
            entities,
            relations,
            _reasons((kept_high, kept_low), rows, relations),
            list(passages.items()),
            n_packed,
            (*cuts_high, *cuts_low),
            steps,
        )

    def _truncate(
        self, level: Level, texts: RowTexts, reader: RelationReader, n_levels: int = 1
    ) -> tuple[Level, tuple[Cut, ...]]:
        """Truncate the rows of a level to the budgets of the tables, at least one of each."""
        wanted = n_levels * (self.entity_tokens + self.relation_tokens)
        scale = min(1.0, self.tables_share * self.max_tokens / wanted)
        entities, relations, cuts = fit_tables(
            level.entities,
            level.relations,
            reader,
            texts,
            int(self.entity_tokens * scale),
            int(self.relation_tokens * scale),
        )
        return replace(level, entities=entities, relations=relations), cuts

    def _pick_passages(
        self,
        rows: Sequence[Entity | Relation],
        cosines: PassageCosines,
        texts: RowTexts,
        exclude: Collection[str] = (),
    ) -> list[tuple[str, str]]:
        """Pick passages of ranked rows, each with the first row that cites it as the reason."""
        entities = [row for row in rows if isinstance(row, Entity)]
        if entities and self.pick != "quota":
            cited = consider_passages(entities, cosines)
        else:
            cited = [row.chunks for row in rows]
        whys: dict[str, str] = {}
        # From the last row on, so that of several rows of a passage the first one remains.
        for row, chunks in zip(reversed(rows), reversed(cited), strict=True):
            why = f"mentions {row.name}" if isinstance(row, Entity) else f"states {row.id}"
            whys.update(dict.fromkeys(chunks, why))
        for chunk in exclude:
            whys.pop(chunk, None)
        if self.pick == "quota":
            assigned = assign_to_first(cited, exclude)
            return [(c, whys[c]) for c in pick_by_quota(assigned, self.related_chunks)]
        n = max(1, self.related_chunks * len(rows) // 2)
        said = rows if self.pick == "statements" else []
        ranked = rank_by_statements(list(whys), said, cosines, texts, n)
        return [(p.chunk, f"{whys[p.chunk]}; cosine {p.cosine:.3f} with the question") for p in ranked]

    def _n_within_budget(self, passages: Sequence[tuple[str, str]], index: Snapshot) -> int:
        """Count the passages of a level that fit its budget; all if it has none."""
        if not self.passage_tokens:
            return len(passages)
        texts = index.store.documents.texts_of([c for c, _ in passages[:RANKED]])
        return fitting([texts[c] for c, _ in passages[:RANKED]], self.passage_tokens)

    # --- the context --------------------------------------------------------------------------------

    def _packed(
        self,
        question: str,
        name: str,
        found: _Selection,
        index: Snapshot,
        texts: RowTexts,
        trace: tuple[Step, ...],
        answer_form: AnswerForm,
    ) -> Retrieval:
        """Pack entities, relations, then passages, which get what the tables leave unused."""
        entities, relations = ordered_rows(found.entities, found.relations, found.whys, index, texts)
        whys = dict(found.passages[:RANKED])
        ranked = RankedPassages(whys, index)
        passages = ranked[: found.n_packed]
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
                Block(
                    heading="## Sources",
                    items=passages,
                    share=1 - self.tables_share,
                    counts=index.passage_tokens([passage.id for passage in passages]),
                ),
            ],
            max_tokens=self.max_tokens,
        )
        if not entities and not relations and not passages:
            searched = {"local": "entity", "global": "relation"}.get(self.mode, "entity or relation")
            return nothing_found(
                question, name, f"no {searched} is near the keywords of the question", index, trace
            )
        return retrieved(
            question,
            name,
            packed,
            ranking=ranked.ids,
            cuts=(*found.cuts, *packed.cuts),
            trace=(*trace, Step(name="passages", value=[[i, whys[i]] for i in ranked.ids])),
            max_tokens=self.max_tokens,
            answer_form=answer_form,
        )


def _interleave(first: Sequence[Entity], second: Sequence[Entity]) -> list[Entity]:
    """Interleave the entities of two rankings, each once."""
    by_id = {row.id: row for row in chain(first, second)}
    return [by_id[i] for i in round_robin([[row.id for row in first], [row.id for row in second]])]


def _join_reasons(one: str | None, other: str | None) -> str:
    """Join reasons, each part of them once: several rows give the same cosine of a passage."""
    if not one or not other:
        return one or other or ""
    return "; ".join(dict.fromkeys([*one.split("; "), *other.split("; ")]))


def _reasons(levels: Sequence[Level], rows: Sequence[int], relations: Sequence[Relation]) -> dict[str, str]:
    """Join the reasons of two levels, by id: of all their entities, and of some relations with their rows."""
    first, second = levels
    found = {i: _join_reasons(first.whys.get(i), second.whys.get(i)) for i in {**first.whys, **second.whys}}
    for n, relation in zip(rows, relations, strict=True):
        found[relation.id] = _join_reasons(first.reason(n, relation), second.reason(n, relation))
    return found


def _tables(entities: Sequence[Entity], relations: Sequence[Relation]) -> tuple[Step, Step]:
    return (
        Step(name="entities", value=[e.id for e in entities]),
        Step(name="relations", value=[r.id for r in relations]),
    )
