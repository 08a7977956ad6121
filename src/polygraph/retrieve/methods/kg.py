"""KG-GraphRAG: triples around the names in a question, alone or with the passages that state them.

"RAG vs. GraphRAG", arXiv:2502.11371, section 3.2, which builds on the knowledge-graph index of LlamaIndex (Liu 2022).
The presets reproduce that index. The recommended variants fix three of its weaknesses: it follows triples from subject
to object only, finds a name only by exact match, and takes the first triples rather than the best.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Entity, Evidence, Retrieval, Step, Triple
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found, triple_evidence
from polygraph.retrieve.linked_passages import best_passages
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.question_names import (
    entities_in_question,
    in_names_of_graph,
    other_names_in_question,
)
from polygraph.retrieve.row_texts import names_as_asked
from polygraph.retrieve.steps import RANKED, chunk_evidence, embed_names, embed_question, retrieved
from polygraph.retrieve.triple_traversal import ReachedTriple, traverse_triples
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.keywords import graph_keywords
from polygraph.text.normalize import normalize_name
from polygraph.text.words import STOP_WORDS

_NEAREST = 1_000
"""Triples nearest to the question, of which those at a hub are followed."""
_MANY_PASSAGES = 500
"""Passages of an entity beyond which it tells nothing about each of them."""


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity from which triples are followed."""

    n: int
    entity: Entity
    why: str


@dataclass(frozen=True, slots=True)
class _Fact:
    """A triple that was found."""

    triple: Triple
    hop: int
    """Distance from the seed; 0 if it was found by similarity alone."""
    cosine: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeGraph:
    """Look up the names in the question, follow triples from there, and read the passages that state them."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "graph", "name_vectors", "fact_vectors"})
    calls: ClassVar[str] = "2"

    text: bool = False
    """Read the passages, too (Triplets+Text); otherwise triples only."""
    max_keywords: int = 10
    """Keywords that are looked up (code: 10)."""
    seed_names: bool = True
    """Also seed entities that the question names, ahead of those of the keywords, and compare the question with triples
    in the names that the graph has for them (ours)."""
    match: Literal["cascade", "exact"] = "cascade"
    """`exact`: entities with that name; `cascade`: or else with that alias, or else with the nearest name (ours)."""
    threshold: float = 0.8
    """Lowest cosine of the nearest name (ours)."""
    split: Literal["unmatched", "always"] = "unmatched"
    """Keywords that are also looked up word by word: those that match nothing (ours), or all (code)."""
    direction: Literal["both", "out"] = "both"
    """`out` follows triples from subject to object only (code; reported there as issue 743)."""
    depth: int = 2
    """Hops from an entity (code: 2)."""
    per_node: int = 30
    """Triples followed from one entity (code: 30)."""
    similar_triples: int = 10
    """Triples added only for their cosine with the question (code: 2 if it has vectors of triples)."""
    order: Literal["similarity", "walk"] = "similarity"
    """Order of triples: by cosine with the question (ours), which also decides what `per_node` keeps, or as reached
    (code)."""
    max_triples: int = 30
    """Triples that are kept (code: 30 if it has vectors of triples, otherwise all); 0 for all."""
    chunks_per_keyword: int = 3
    """With `counted="ends"`: first passages of each seed, which count once more (code: 3)."""
    counted: Literal["weights", "ends"] = "weights"
    """How passages are scored. `ends`: by the number of ends of triples they mention (code). `weights`: each triple
    gives its cosine to every passage that states it, and divides its cosine once for each end among the passages that
    mention that end (ours)."""
    chunks_top: int = 10
    """Passages that go into the context (code: 10)."""
    text_share: float = 0.75
    """Share of the budget for passages, which come first; what they leave unused is for triples (ours)."""
    max_tokens: int = 6_000
    """Budget of the context (ours; the code has none)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; ties by row."""
        name = "kg-text" if self.text else "kg-triplets"
        require(index, name, self.needs, models)
        # 1. Keywords, and the entities they match.
        keywords = graph_keywords(question, models, method=name)[: self.max_keywords]
        seeds = self.find_seeds(question, keywords, index, models)
        # 2. Triples around them; those that the filter hides score -inf.
        called = other_names_in_question(question, index) if self.seed_names else {}
        asked = in_names_of_graph(question, called, index)
        scores = _FactScores(embed_question(asked, models, names=True), index)
        reached = traverse_triples(
            [s.n for s in seeds],
            index,
            scores,
            near=scores.nearest,
            depth=self.depth,
            per_node=self.per_node,
            direction=self.direction,
            best_first=self.order == "similarity",
        )
        facts = self._facts(reached, seeds, scores, index)
        ends = list(dict.fromkeys(end for f in facts for end in (f.triple.source, f.triple.target)))
        numbers = index.entity_rows(ends)
        most = _MANY_PASSAGES + 1 if self.counted == "weights" else None
        entities = {e.id: e for e in index.entities(list(numbers.values()), most_chunks=most)}
        # 3. Passages by the triples they state and the ends they mention.
        counts = self._count(facts, seeds, entities)
        if not self.text:
            # A passage that states no triple contributes nothing to a context of triples.
            stated = {c for f in facts for c in f.triple.chunks}
            counts = {c: count for c, count in counts.items() if c in stated}
        ranked = [chunk for chunk, _ in best_passages(counts, index, max(RANKED, self.chunks_top))]
        trace = (
            Step(name="keywords", value=list(keywords)),
            Step(name="seeds", value=[[s.entity.id, s.why] for s in seeds]),
            Step(
                name="triples",
                value=[[f.triple.id, f.hop, round(f.cosine, 6)] for f in facts[: 3 * RANKED]],
            ),
            Step(name="passages", value=[[c, counts[c]] for c in ranked[:RANKED]]),
        )
        if not facts:
            return nothing_found(question, name, self._why_nothing(keywords, seeds), index, trace)
        # 4. Pack: passages first, then triples.
        names = names_as_asked(list(entities), index, called)
        triples = tuple(
            triple_evidence(f.triple, float(len(facts) - i), f.why, index, names) for i, f in enumerate(facts)
        )
        passages = self._passages(ranked, counts, facts, index) if self.text else ()
        packed = pack(
            [
                Block(heading="## Sources", items=passages, share=self.text_share),
                Block(heading="## Statements", items=triples, share=1 - self.text_share),
            ],
            max_tokens=self.max_tokens,
        )
        return retrieved(
            question,
            name,
            packed,
            ranking=ranked,
            trace=trace,
            max_tokens=self.max_tokens,
        )

    def _why_nothing(self, keywords: Sequence[str], seeds: Sequence[Seed]) -> str:
        listed = [s.entity.name for s in seeds] or keywords
        asked = ", ".join(f"“{text}”" for text in listed[:5]) or "the question"
        if not seeds:
            return f"the graph has no entity by the name of {asked}"
        return f"no statement of the graph {'leads from' if self.direction == 'out' else 'is about'} {asked}"

    # --- seeds --------------------------------------------------------------------------------------

    def find_seeds(
        self, question: str, keywords: Sequence[str], index: Snapshot, models: Models
    ) -> list[Seed]:
        """Find the seeds in the order of the keywords, each entity once, with how it was matched."""
        whys: dict[int, str] = {}
        if self.seed_names:
            whys = {
                n: f"{text!r} stands in the question" for text, n in entities_in_question(question, index)
            }
        by_name = self._named(keywords, index)
        for keyword in keywords:
            for n, how in by_name.get(keyword, ()):
                whys.setdefault(n, f"keyword {keyword!r}: {how}")
        unmatched = [k for k in keywords if k not in by_name]
        if self.match == "cascade":
            near = self._nearest(unmatched, index, models)
            for keyword, (n, cosine) in near.items():
                whys.setdefault(n, f"keyword {keyword!r}: nearest name, cosine {cosine:.3f}")
            unmatched = [k for k in unmatched if k not in near]
        split = keywords if self.split == "always" else unmatched
        words = {
            w: k for k in reversed(split) for w in k.split() if w.casefold() not in STOP_WORDS and w != k
        }
        by_word = self._named(list(words), index)
        for keyword in split:
            for word in keyword.split():
                for n, how in by_word.get(word, ()):
                    whys.setdefault(n, f"word {word!r} of keyword {words[word]!r}: {how}")
        entities = index.entities(list(whys), most_chunks=max(1, self.chunks_per_keyword))
        return [Seed(n, e, whys[n]) for n, e in zip(whys, entities, strict=True) if e.chunks]

    def _named(self, texts: Sequence[str], index: Snapshot) -> Mapping[str, Sequence[tuple[int, str]]]:
        """Look up entities by name, as row and manner: those with that name, or else those with that alias."""
        found = index.entities_named(list(texts))
        rows = sorted({n for ns in found.values() for n in ns})
        entities = {n: e for n, e in zip(rows, index.entities(rows, most_chunks=1), strict=True) if e.chunks}
        result: dict[str, Sequence[tuple[int, str]]] = {}
        for text, ns in found.items():
            key = normalize_name(text)
            exact = [n for n in ns if n in entities and normalize_name(entities[n].name) == key]
            other = [n for n in ns if n in entities] if self.match == "cascade" else []
            if exact or other:
                how = "its name" if exact else "another spelling of it"
                result[text] = [(n, how) for n in exact or other]
        return result

    def _nearest(
        self, keywords: Sequence[str], index: Snapshot, models: Models
    ) -> Mapping[str, tuple[int, float]]:
        """Find the entity with the nearest name for each keyword, if it reaches the threshold."""
        if not keywords:
            return {}
        vectors = embed_names(keywords, models)
        hits = index.search_each("name_vectors", vectors, [1] * len(vectors))
        return {
            keyword: (hit.n, hit.score)
            for keyword, near in zip(keywords, hits, strict=True)
            for hit in near
            if hit.score >= self.threshold
        }

    # --- triples ------------------------------------------------------------------------------------

    def _facts(
        self,
        reached: Sequence[ReachedTriple],
        seeds: Sequence[Seed],
        scores: "_FactScores",
        index: Snapshot,
    ) -> list[_Fact]:
        """Put triples in order and truncate them to `max_triples`."""
        met = {r.n: r for r in reached}
        similar = scores.nearest[: self.similar_triples]
        rows = list(dict.fromkeys([*met, *similar]))
        cosines = dict(zip(rows, scores(rows), strict=True))
        if self.order == "similarity":
            rows.sort(key=lambda n: (-cosines[n], met[n].hop if n in met else 0, n))
        elif self.max_triples:
            # Triples that were added for their similarity are not truncated.
            others = [n for n in rows if n not in similar]
            kept = {*similar, *others[: max(0, self.max_triples - len(similar))]}
            rows = [n for n in rows if n in kept]
        if self.max_triples:
            rows = rows[: self.max_triples]
        triples = index.triples(rows)
        whys = {s.n: s.why for s in seeds}
        on_paths = sorted({n for r in rows if r in met for n in met[r].path})
        names = dict(zip(on_paths, (e.name for e in index.entities(on_paths, most_chunks=1)), strict=True))
        facts = []
        for n in rows:
            cosine = cosines[n]
            why = "among the statements nearest to the question"
            if n in met:
                path = " → ".join(names[p] for p in met[n].path)
                why = f"{whys[met[n].seed]}; hop {met[n].hop} from {path}"
            facts.append(
                _Fact(triples[n], met[n].hop if n in met else 0, cosine, f"{why}; cosine {cosine:.3f}")
            )
        return facts

    # --- passages -----------------------------------------------------------------------------------

    def _count(
        self, facts: Sequence[_Fact], seeds: Sequence[Seed], entities: Mapping[str, Entity]
    ) -> dict[str, float]:
        """Score passages by the triples they state and the ends they mention.

        With weights, an end in more than `_MANY_PASSAGES` passages would give each next to nothing, and gives nothing.
        """
        counts: dict[str, float] = defaultdict(float)
        weighted = self.counted == "weights"
        at_ends: dict[str, float] = defaultdict(float)
        for fact in facts:
            weight = max(fact.cosine, 0.0) if weighted else 1.0
            for end in (fact.triple.source, fact.triple.target):
                at_ends[end] += weight
            for chunk in fact.triple.chunks if weighted else ():
                counts[chunk] += weight
        for end, weight in at_ends.items():
            mentions = entities[end].chunks
            if weighted and len(mentions) > _MANY_PASSAGES:
                continue
            for chunk in mentions:
                counts[chunk] += weight / len(mentions) if weighted else weight
        for seed in seeds if not weighted else ():
            for chunk in seed.entity.chunks[: self.chunks_per_keyword]:
                counts[chunk] += 1.0
        return {chunk: round(count, 6) for chunk, count in counts.items()}

    def _passages(
        self, ranked: Sequence[str], counts: Mapping[str, float], facts: Sequence[_Fact], index: Snapshot
    ) -> tuple[Evidence, ...]:
        stated = Counter(chunk for f in facts for chunk in f.triple.chunks)
        unit = (
            "their weight" if self.counted == "weights" else "ends of statements and names that it mentions:"
        )
        chunks = index.chunks_by_id(ranked[: self.chunks_top])
        return chunk_evidence(
            chunks,
            [counts[c.id] for c in chunks],
            [f"states {stated[c.id]} of the statements; {unit} {counts[c.id]:.4g}" for c in chunks],
            index.headings([c.document for c in chunks]),
        )


class _FactScores:
    """Cosines of triples with the question, each computed once.

    Args:
        vector: the question, embedded like the triples, shape ``(dimension,)``.
        index: with `fact_vectors`.
    """

    def __init__(self, vector: Vectors, index: Snapshot) -> None:
        self._vector, self._index = vector, index
        self._known: dict[int, float] = {}

    @cached_property
    def nearest(self) -> list[int]:
        """Rows of the `_NEAREST` triples that are nearest to the question, best first; ties by row."""
        hits = self._index.search_facts(self._vector, _NEAREST)
        self._known |= {hit.n: hit.score for hit in hits}
        return [hit.n for hit in hits]

    def __call__(self, rows: Sequence[int]) -> list[float]:
        """Return the cosines of some triples; ``-inf`` outside the filter."""
        missing = [n for n in rows if n not in self._known]
        if missing:
            found = self._index.fact_similarities(self._vector, missing).tolist()
            # As `top` writes scores, so that equal ones are equal.
            self._known |= {n: round(score, 6) for n, score in zip(missing, found, strict=True)}
        return [self._known[n] for n in rows]
