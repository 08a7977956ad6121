"""GraphRAG local search: entities near the question, with their reports, relations and source texts.

Edge et al. (2024), arXiv:2404.16130. As in the published code, the question is embedded as a whole; no model extracts
entities from it. Differences: the recommended variant also seeds the entities that the question names (`seed_names`),
ahead of the others, and orders source texts by the question (`order`); all relations of a pair are one row, because the
shared graph merges them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from polygraph.arrays import find_sorted
from polygraph.models import Models
from polygraph.records import Entity, Evidence, Relation, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import (
    nothing_found,
    report_evidence,
    row_evidence,
    spans_of_rows,
)
from polygraph.retrieve.linked_passages import (
    MANY_PASSAGES,
    PassageCosines,
    consider_passages,
    rank_by_statements,
)
from polygraph.retrieve.pack import HEAD_TOKENS, Block, fitting_counts, pack
from polygraph.retrieve.question_names import entities_in_question
from polygraph.retrieve.row_texts import ROW_TOKENS, RowTexts
from polygraph.retrieve.steps import RANKED, RankedPassages, embed_at_once, retrieved, sources_of
from polygraph.store.snapshot import Snapshot
from polygraph.text.prose import count_noun
from polygraph.text.tokens import count_tokens

SourceOrder: TypeAlias = Literal["question", "relations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRAGLocal:
    """Match entities and add their reports, relations and source texts, each within its share of the budget."""

    calls: ClassVar[str] = "1"

    k: int = 10
    """Entities before oversampling (code: 10)."""
    oversample: int = 2
    """`oversample` times `k` entities are matched and kept (code: 2; the result is never reduced to `k`)."""
    seed_names: bool = True
    """Also seed entities that the question names, ahead of the others (ours)."""
    order: SourceOrder = "question"
    """Order of the entities' source texts. `question`: by words of the question in their description of an entity or
    relation of the context, then by cosine (ours); `relations`: those of the first entity by number of relations, then
    of the second (code)."""
    reports_share: float = 0.15
    """Share of the budget for reports (code: 0.15)."""
    tables_share: float = 0.35
    """Share for entities and relations (code: 0.35); the rest, 0.5, is for source texts."""
    relations_per_entity: int = 10
    """Most relations per entity that lead out of the selection (code: 10)."""
    max_tokens: int = 12_000
    """Budget of the context (code: 12,000)."""

    @property
    def needs(self) -> frozenset[str]:
        """The graph with reports, and the vectors of chunks if they decide the order of source texts."""
        vectors = {"chunk_vectors"} if self.order == "question" else set()
        return frozenset({"chunks", "graph", "entity_vectors", "communities", "reports", *vectors})

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; every ranking breaks ties by row."""
        require(index, "graphrag-local", self.needs, models)
        # 1. Entities: named in the question first, then by vector.
        named = entities_in_question(question, index) if self.seed_names else []
        whole = self.order == "relations"
        (vector,), *others = embed_at_once([[question]], models, question=None if whole else question)
        similar = index.search_entities(vector, self.k * self.oversample)
        whys = {n: f"named in the question as {text!r}" for text, n in named}
        for hit in similar:
            whys.setdefault(hit.n, f"cosine {hit.score:.3f} with the question")
        rows = list(whys)[: self.k * self.oversample]
        entities = index.entities(rows, most_chunks=None if whole else MANY_PASSAGES + 1)
        kept = [(n, e) for n, e in zip(rows, entities, strict=True) if e.chunks]
        rows, entities = [n for n, _ in kept], [e for _, e in kept]
        if not entities:
            return nothing_found(
                question, "graphrag-local", "no entity of the graph matches the question", index
            )
        # 2. Reports of their communities, by number of matched entities, then rating.
        reports, report_tokens = self._reports(entities, index)
        # 3. Add entities one at a time with their relations, until the tables are full.
        texts = RowTexts(index, question)
        shown, relations = self._tables(rows, entities, whys, index, texts)
        # 4. Source texts of the entities.
        sources: Sequence[Evidence]
        if self.order == "question":
            cosines = PassageCosines(others[0][0], index)
            source_whys = self._source_whys(entities, relations, cosines, texts)
            sources = ranked = RankedPassages(source_whys, index)
            source_ids = ranked.ids
        else:
            edges = [e.n for e in index.relations_at(rows)]
            sources = sources_of(entities, index.relations_per_chunk(edges), index)
            source_whys = {source.id: source.why for source in sources}
            source_ids = tuple(source_whys)
        packed = pack(
            [
                Block(heading="## Reports", items=reports, share=self.reports_share, counts=report_tokens),
                Block(heading="## Entities", items=shown, share=self.tables_share),
                Block(heading="## Relations", items=_relation_rows(relations, index, texts), share=0.0),
                Block(
                    heading="## Sources",
                    items=sources,
                    share=1 - self.reports_share - self.tables_share,
                    counts=index.passage_tokens(source_ids),
                    ids=source_ids,
                ),
            ],
            max_tokens=self.max_tokens,
        )
        return retrieved(
            question,
            "graphrag-local",
            packed,
            ranking=source_ids,
            trace=(
                Step(name="entities", value=[[e.id, whys[n]] for n, e in zip(rows, entities, strict=True)]),
                Step(name="reports", value=[[r.id, r.score] for r in reports]),
                Step(name="relations", value=[r.id for r in relations]),
                Step(name="sources", value=[[i, source_whys[i]] for i in source_ids[:RANKED]]),
            ),
            max_tokens=self.max_tokens,
        )

    def _reports(
        self, entities: Sequence[Entity], index: Snapshot
    ) -> tuple[tuple[Evidence, ...], dict[str, int]]:
        """Rank the reports of the entities' communities; return them with the tokens of each."""
        matched = Counter(community for _, community in index.communities_of([e.id for e in entities]))
        reports = index.reports(sorted(matched))
        ordered = sorted(reports, key=lambda r: (-matched[r.community], -r.rating, r.community))
        # Communities of two levels may have the same members, and so the same report.
        ordered = list({r.text: r for r in reversed(ordered)}.values())[::-1][:RANKED]
        # A report rests on hundreds of passages: those of reports that cannot be packed are not read.
        tokens = index.report_tokens(ordered)
        budget = int(self.reports_share * self.max_tokens)
        n = max(1, fitting_counts((tokens[r.community] for r in ordered), budget))
        return tuple(
            report_evidence(
                r,
                float(matched[r.community]),
                f"holds {matched[r.community]} of the entities; rating {r.rating:.1f}",
                index,
                traced=i < n,
            )
            for i, r in enumerate(ordered)
        ), tokens

    def _source_whys(
        self,
        entities: Sequence[Entity],
        relations: Sequence[Relation],
        cosines: PassageCosines,
        texts: RowTexts,
    ) -> dict[str, str]:
        """Rank source texts for the question, see `rank_by_statements`; return their ids with the reasons.

        What a relation says counts as what an entity's description says: a model describes what a thing is, and states
        in a relation what it did.

        Args:
            entities: best first.
            relations: of the context.
            cosines: with the question.
            texts: of the question.
        """
        considered = consider_passages(entities, cosines)
        first: dict[str, str] = {}
        # From the last row on, so that of several rows of a passage the first one remains.
        for relation in reversed(relations):
            first.update(dict.fromkeys([d.chunk for d in relation.descriptions], f"states {relation.id}"))
        for entity, chunks in zip(reversed(entities), reversed(considered), strict=True):
            first.update(dict.fromkeys(chunks, f"mentions {entity.name}"))
        ranked = rank_by_statements(list(first), [*entities, *relations], cosines, texts, RANKED)
        return {
            p.chunk: f"{first[p.chunk]}; {_shared(p.n_words)} with the question; "
            f"cosine {p.cosine:.3f} with the question"
            for p in ranked
        }

    def _tables(
        self,
        rows: Sequence[int],
        entities: Sequence[Entity],
        whys: dict[int, str],
        index: Snapshot,
        texts: RowTexts,
    ) -> tuple[tuple[Evidence, ...], list[Relation]]:
        budget = int(self.tables_share * self.max_tokens)
        ends = RelationEnds(rows, index)
        chosen: list[Evidence] = []
        best: list[Relation] = []
        read: dict[int, Relation] = {}
        costs: dict[str, int] = {}
        cost = entity_tokens = 0
        while len(chosen) < len(entities):
            # As many entities at once as fit if they cost what those so far did, at first as much as they can: each
            # reading of the index costs as much as some rows.
            n = len(chosen)
            an_entity = cost / n if n else (1 + self.relations_per_entity) * (ROW_TOKENS + HEAD_TOKENS)
            more = entities[n : n + 1 + max(0, int((budget - cost) / an_entity))]
            states = ends.best_rows(range(n + 1, n + 1 + len(more)), self.relations_per_entity)
            new = index.relations(list(dict.fromkeys(r for state in states for r in state if r not in read)))
            read |= new
            costs |= {
                r.id: count_tokens(line) + HEAD_TOKENS
                for r, line in zip(new.values(), texts.relations(new.values()), strict=True)
            }
            texts.entities(more)
            spans = spans_of_rows(more, index)
            for i, (entity, state) in enumerate(zip(more, states, strict=True), n):
                row = row_evidence(entity, float(len(entities) - i), whys[rows[i]], index, texts, spans)
                entity_tokens += count_tokens(row.text) + HEAD_TOKENS
                picked = [read[r] for r in state if r in read]
                cost = entity_tokens + sum(costs[r.id] for r in picked)
                if cost > budget:
                    picked = texts.without_repeats(picked)
                    cost = entity_tokens + sum(costs[r.id] for r in picked)
                if cost > budget and chosen:
                    # The previous state is the result.
                    return tuple(chosen), texts.without_repeats(best)
                chosen.append(row)
                best = picked
        return tuple(chosen), texts.without_repeats(best)


class RelationEnds:
    """The relations of some entities, to be ranked for each beginning of their list.

    Args:
        rows: the entities, best first.
        index: the snapshot.
    """

    def __init__(self, rows: Sequence[int], index: Snapshot) -> None:
        self._index = index
        self._sources, self._targets, _ = index.graph.edges_of(rows)
        graph = index.graph
        self._ranks = graph.degrees_of(self._sources) + graph.degrees_of(self._targets)
        ends, place = np.unique(np.concatenate([self._sources, self._targets]), return_inverse=True)
        # Where each end stands in the list of entities; behind its end if it does not.
        order = np.full(len(ends), len(rows))
        places, known = find_sorted(ends, np.asarray(rows))
        with_edges = np.flatnonzero(known)
        order[places[with_edges]] = with_edges
        self._n_ends = len(ends)
        self._source, self._target = np.split(place.reshape(-1), 2)
        self._source_order, self._target_order = order[self._source], order[self._target]

    def best(self, n: int, most: int) -> list[int]:
        """Rank the relations of the first `n` entities: those between them by rank, then `most` others.

        The rank of a relation is the number of neighbours of its ends. The others are ranked by the number of links of
        their outer end to the entities, then by rank. Ties by the rows of the ends.

        Returns:
            Positions among all relations of the entities.
        """
        from_source, from_target = self._source_order < n, self._target_order < n
        inside = np.flatnonzero(from_source & from_target)
        outside = np.flatnonzero(from_source ^ from_target)
        outer = np.where(from_source[outside], self._target[outside], self._source[outside])
        links = np.bincount(outer, minlength=self._n_ends)[outer]
        inside = inside[np.argsort(-self._ranks[inside], kind="stable")]
        # One key, so that what cannot be among the first is dropped before sorting.
        key = links * (int(self._ranks.max(initial=0)) + 1) + self._ranks[outside]
        if 0 < most < len(key):
            kept = np.flatnonzero(key >= np.partition(key, len(key) - most)[len(key) - most])
            outside, key = outside[kept], key[kept]
        outside = outside[np.argsort(-key, kind="stable")][:most]
        return [*inside.tolist(), *outside.tolist()]

    def best_rows(self, ns: Iterable[int], most: int) -> list[list[int]]:
        """Return for some numbers of entities the rows of their best relations, `most` others for each entity."""
        ranked = [self.best(n, most * n) for n in ns]
        places = list(dict.fromkeys(place for some in ranked for place in some))
        pairs = zip(self._sources[places].tolist(), self._targets[places].tolist(), strict=True)
        rows = dict(zip(places, self._index.arrays.relations_between(list(pairs)), strict=True))
        return [[rows[place] for place in some] for some in ranked]


def _relation_rows(relations: Sequence[Relation], index: Snapshot, texts: RowTexts) -> tuple[Evidence, ...]:
    spans = spans_of_rows(relations, index)
    whys = (f"joins matched entities; weight {r.weight:.1f}" for r in relations)
    return tuple(
        row_evidence(r, r.weight, why, index, texts, spans) for r, why in zip(relations, whys, strict=True)
    )


def _shared(n_words: int) -> str:
    if n_words:
        return f"a description there shares {count_noun(n_words, 'word')}"
    return "no description there shares a word"
