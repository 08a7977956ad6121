"""ROGRAG's dual-level retrieval: fuzzy matching of entities and relations, with large budgets.

Wang et al. (2025), arXiv:2503.06474, sections 3.2 and 6.1: LightRAG's two levels with few, high-scoring rows. The
published code searches with the raw question; the paper, and this implementation, search with keywords. The recommended
variant differs in two ways: entities that the question names come first (`seed_names`), and passages are ranked by
cosine (`order`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from polygraph.models import Models
from polygraph.records import Cut, Entity, Relation, Retrieval, Step
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
from polygraph.retrieve.evidence import nothing_found, ordered_rows
from polygraph.retrieve.linked_passages import (
    MANY_PASSAGES,
    PassageCosines,
    consider_passages,
    rank_by_statements,
)
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.question_names import entities_in_question
from polygraph.retrieve.row_texts import RowTexts
from polygraph.retrieve.steps import (
    RANKED,
    embed_at_once,
    embed_question,
    ordered_chunks,
    relations_per_chunk,
    retrieved,
    sources_of,
)
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.keywords import Keywords, question_keywords

Matching: TypeAlias = Literal["joined", "exact"]
Order: TypeAlias = Literal["statements", "graph"]
NEEDS = frozenset({"chunks", "chunk_vectors", "graph", "entity_vectors", "relation_vectors"})
"""Layers for the two levels and for the ranking of passages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RogragDual:
    """Match low-level keywords with entities and high-level keywords with relations, merge, and add passages."""

    needs: ClassVar[frozenset[str]] = NEEDS
    calls: ClassVar[str] = "2"

    entities: int = 6
    """Entities found by low-level keywords (code: 6)."""
    relations: int = 5
    """Relations found by high-level keywords (code: 5)."""
    threshold: float = 0.2
    """Lowest cosine of a hit (code: 0.2)."""
    expand: bool = True
    """Search entities with the high-level keywords, too: the paper's expanded low-level keys (0.690 to 0.695, table
    5)."""
    matching: Matching = "joined"
    """`joined`: one search with all keywords; `exact`: one per keyword, which was worse (0.635, table 5)."""
    seed_names: bool = True
    """Entities that the question names come first, in addition to those found (ours)."""
    entity_tokens: int = 8_000
    """Budget of entities (code: 8,000); the three budgets shrink in proportion if `max_tokens` is below their sum."""
    relation_tokens: int = 8_000
    """Budget of relations (code: 8,000)."""
    chunk_tokens: int = 12_000
    """Budget of passages (code: 12,000)."""
    order: Order = "statements"
    """Order of passages. `statements`: by words of the question in the description there, then by cosine (ours);
    `graph`: those of the high level's relations, then those of the low level's entities (code)."""
    rerank: int = 10
    """Passages that the cross-encoder reorders, the first ones, if there is one; 0 for none (code: 10)."""
    max_tokens: int = 28_000
    """Budget of the context (paper: 28k; its baseline was 4 points lower, table 5)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; every ranking breaks ties by row."""
        require(index, "rograg-dual", self.needs, models)
        # 1. Keywords on two levels.
        return self.retrieve(
            question, question_keywords(question, models, method="rograg-dual"), index, models
        )

    def retrieve(self, question: str, keywords: Keywords, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve with keywords that are already known."""
        # 2. Entities by low-level (and high-level) keywords, relations by high-level keywords.
        low_keywords = tuple(dict.fromkeys((*keywords.low, *keywords.high))) if self.expand else keywords.low
        named = self._named(question, index)
        most_chunks = None if self.order == "graph" else MANY_PASSAGES + 1
        queries = embed_at_once([self._queries(low_keywords), self._queries(keywords.high)], models)
        reader, texts = RelationReader(index), RowTexts(index, question)
        low = search_low_level(
            queries[0],
            index,
            reader,
            k=self.entities,
            threshold=self.threshold,
            seeds=named,
            most_chunks=most_chunks,
        )
        high = search_high_level(
            queries[1],
            index,
            reader,
            k=self.relations,
            threshold=self.threshold,
            most_chunks=most_chunks,
        )
        # 3. Merge: named entities first, then the high level, then the low level, each row once.
        first = low.entities[: len(named)]
        whys = {**low.whys, **high.whys, **{e.id: low.whys[e.id] for e in first}}
        entities = deduplicate([*first, *high.entities, *low.entities])
        rows = list(dict.fromkeys((*high.relations, *low.relations)))
        # 4. Passages: those of the high level's relations, then those that mention the entities.
        passages = self._passages(question, entities, low, high, reader, index, models, texts)
        trace = (
            Step(name="keywords", value={"details": list(low_keywords), "themes": list(keywords.high)}),
            Step(name="named", value=list(named.values())),
            *low.steps,
            *high.steps,
            Step(name="entities", value=[e.id for e in entities]),
            Step(name="relations", value=[r.id for r in reader.read(rows[:RANKED])]),
            Step(name="passages", value=[[c, why] for c, why in passages.items()]),
        )
        if not entities and not rows:
            reason = f"nothing in the graph resembles the keywords by a cosine of {self.threshold:g}"
            return nothing_found(question, "rograg-dual", reason, index, trace)
        kept_entities, kept_rows, cuts = self._truncate(entities, rows, reader, texts)
        relations = reader.read(kept_rows)
        whys |= {
            r.id: high.reason(n, r) or low.reason(n, r) for n, r in zip(kept_rows, relations, strict=True)
        }
        found = kept_entities, relations, list(passages)
        return self._packed(question, found, {**whys, **passages}, index, texts, trace, cuts)

    def _queries(self, keywords: Sequence[str]) -> list[str]:
        if self.matching == "exact":
            return list(keywords)
        return [", ".join(keywords)] if keywords else []

    def _passages(
        self,
        question: str,
        entities: Sequence[Entity],
        low: Level,
        high: Level,
        reader: RelationReader,
        index: Snapshot,
        models: Models,
        texts: RowTexts,
    ) -> dict[str, str]:
        """Rank passages; return reasons by id."""
        themes = reader.read(high.relations)
        whys = dict(passages_of_relations(themes))
        if self.order == "graph":
            for item in sources_of(low.entities, relations_per_chunk(reader.read(low.relations)), index):
                whys.setdefault(item.id, item.why)
        else:
            cosines = PassageCosines(embed_question(question, models), index)
            for entity, chunks in zip(entities, consider_passages(entities, cosines), strict=True):
                for chunk in chunks:
                    whys.setdefault(chunk, f"mentions {entity.name}")
            ranked = rank_by_statements(list(whys), [*entities, *themes], cosines, texts, RANKED)
            whys = {p.chunk: f"{whys[p.chunk]}; cosine {p.cosine:.3f} with the question" for p in ranked}
        if self.rerank and models.reranker is not None:
            scored = rerank_passages(question, list(whys)[:RANKED], index, models, self.rerank)
            whys = {
                c: f"{whys[c]}; reranked, {score:.3f}" if i < self.rerank else whys[c]
                for i, (c, score) in enumerate(scored)
            }
        return dict(list(whys.items())[:RANKED])

    def _named(self, question: str, index: Snapshot) -> dict[int, str]:
        """Find the entities that the question names, as rows with the reason."""
        if not self.seed_names:
            return {}
        # A single lower-case word is more often a common term than a name.
        found = {
            n: text
            for text, n in entities_in_question(question, index)
            if text != text.lower() or " " in text
        }
        rows = list(found)
        visible = [n for n, e in zip(rows, index.entities(rows, most_chunks=1), strict=True) if e.chunks]
        return {n: f"named in the question as {found[n]!r}" for n in visible[: self.entities]}

    @property
    def _wanted_tokens(self) -> int:
        """The three budgets together."""
        return self.entity_tokens + self.relation_tokens + self.chunk_tokens

    def _truncate(
        self, entities: Sequence[Entity], rows: Sequence[int], reader: RelationReader, texts: RowTexts
    ) -> tuple[Sequence[Entity], Sequence[int], tuple[Cut, ...]]:
        """Truncate entities and relations, given by row, to their budgets."""
        scale = min(1.0, self.max_tokens / self._wanted_tokens)
        return fit_tables(
            entities,
            rows,
            reader,
            texts,
            int(self.entity_tokens * scale),
            int(self.relation_tokens * scale),
        )

    def _packed(
        self,
        question: str,
        found: tuple[Sequence[Entity], Sequence[Relation], list[str]],
        whys: Mapping[str, str],
        index: Snapshot,
        texts: RowTexts,
        trace: tuple[Step, ...],
        cuts: tuple[Cut, ...],
    ) -> Retrieval:
        entities, relations, passages = found
        wanted = self._wanted_tokens
        chunks = index.chunks_by_id(passages)
        tables = ordered_rows(entities, relations, whys, index, texts)
        packed = pack(
            [
                Block(
                    heading="## Entities",
                    items=tables[0],
                    share=self.entity_tokens / wanted,
                ),
                Block(
                    heading="## Relations",
                    items=tables[1],
                    share=self.relation_tokens / wanted,
                ),
                Block(
                    heading="## Sources",
                    items=ordered_chunks(chunks, whys, index),
                    share=self.chunk_tokens / wanted,
                ),
            ],
            max_tokens=min(self.max_tokens, wanted),
        )
        return retrieved(
            question,
            "rograg-dual",
            packed,
            ranking=[c.id for c in chunks],
            cuts=(*cuts, *packed.cuts),
            trace=trace,
            max_tokens=self.max_tokens,
        )
