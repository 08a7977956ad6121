"""The four tools of Graph-CoT: find a node, read its features, count its neighbours, list its edges.

Jin et al. (2024), arXiv:2404.07103, section 3. Their graphs have typed nodes and edges; here the type of an edge is the
predicate of a triple, or the type of the entity at its other end. Everything a tool shows is numbered evidence.
Evidence beyond the budget is not shown, so the agent never knows more than it can cite.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from polygraph.models import Models
from polygraph.prompts import FENCES, neutralize, one_line
from polygraph.records import Entity, Evidence, Triple
from polygraph.retrieve.evidence import row_evidence, spans_of_rows, triple_evidence
from polygraph.retrieve.pack import HEAD_TOKENS
from polygraph.retrieve.row_texts import RowTexts, fact_statements
from polygraph.retrieve.steps import chunk_evidence, embed_names
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.agent import AgentAction
from polygraph.text.normalize import normalize_name
from polygraph.text.prose import count_noun
from polygraph.text.tokens import count_tokens
from polygraph.text.words import StemCounts, content_stems

FEATURES = ("description", "type", "aliases", "sources")
_LABELS = FENCES["transcript"]
_MAX_ITEMS = 999
"""Numbers in brackets up to this one may become those of items that are shown later."""
_ANY = frozenset({"", "any", "all", "*"})
_KINDS_NAMED = 20
"""Edge types that an error message lists."""
_MANY_SOURCES = 250
"""Passages of a node that are read to rank them."""
_MANY_TRIPLES = 2_000
"""Triples of a node that an action chooses from: of more the strongest, ties by row."""


class _Edges(NamedTuple):
    """The triples of a node that an action reads."""

    node: str
    """Its id."""
    triples: list[Triple]
    n_unread: int
    """Number of others that it has."""


class GraphTools:
    """Runs the agent's actions and keeps what it was shown.

    Args:
        question: ranks the sources of a node.
        index: the graph.
        models: embed the searches.
        k: nodes shown per search.
        exact_names: a search looks for the exact name before the vector.
        neighbours: triples shown per `NeighbourCheck`.
        sources: passages shown per look at the sources.
        max_tokens: budget of everything shown.
    """

    def __init__(
        self,
        question: str,
        index: Snapshot,
        models: Models,
        *,
        k: int,
        exact_names: bool,
        neighbours: int,
        sources: int,
        max_tokens: int,
    ) -> None:
        self._asked = StemCounts(content_stems(question))
        self._found: dict[str, list[tuple[Entity, float, str]]] = {}
        self._index = index
        self._texts = RowTexts(index, question)
        self._models = models
        self._k, self._exact_names = k, exact_names
        self._neighbours, self._sources = neighbours, sources
        self._room = max_tokens
        self._numbers: dict[tuple[str, str], int] = {}
        self.shown: list[Evidence] = []
        """Evidence ``n``, counted from 1, is ``shown[n - 1]``."""
        self.triples: list[Triple] = []
        """Triples that `NeighbourCheck` listed, in order."""
        self.n_withheld = 0
        """Items that did not fit the budget."""
        self._tools: Mapping[str, Callable[[AgentAction, str], str]] = {
            "RetrieveNode": self._retrieve,
            "NodeFeature": self._feature,
            "NodeDegree": self._degree,
            "NeighbourCheck": self._check,
        }

    def find(self, text: str) -> list[tuple[Entity, float, str]]:
        """Find nodes by exact name, then by cosine with name and description; at most `k`, with score and reason."""
        self.find_each([text])
        return self._found[text]

    def find_each(self, texts: Sequence[str]) -> None:
        """Find the nodes of several texts with one search, for `find`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._found]
        if not new:
            return
        named = self._index.entities_named(new) if self._exact_names else {}
        near = self._index.search_each("entity_vectors", embed_names(new, self._models), [self._k] * len(new))
        for text, hits in zip(new, near, strict=True):
            found = dict.fromkeys(named.get(text, []), (1.0, "bears this name"))
            for hit in hits:
                found.setdefault(hit.n, (hit.score, f"cosine {hit.score:.3f}"))
            entities = zip(self._entities(list(found)), found.values(), strict=True)
            self._found[text] = [(e, score, reason) for e, (score, reason) in entities if e.chunks][: self._k]

    def run(self, act: AgentAction, step: int) -> str:
        """Run one action and return the observation, which also reports errors."""
        tool = self._tools.get(act.tool)
        if tool is None:
            return f"error: there is no tool {act.tool!r}; tools are {', '.join((*self._tools, 'Finish'))}"
        return tool(act, f"step {step}, {act}")

    # --- the tools ----------------------------------------------------------------------------------

    def _retrieve(self, act: AgentAction, why: str) -> str:
        """Find nodes by name or description."""
        text = act.argument or act.node
        if not text:
            return "error: RetrieveNode needs an argument, the name or description of what is looked for"
        found = self.find(text)
        if not found:
            return "error: the graph has no node"
        known = spans_of_rows([e for e, _, _ in found], self._index)
        self._texts.entities([e for e, _, _ in found])
        return self._show(
            [
                row_evidence(e, score, f"{why}: {reason}", self._index, self._texts, known)
                for e, score, reason in found
            ],
            [f"node {e.id!r}" for e, _, _ in found],
        )

    def _feature(self, act: AgentAction, why: str) -> str:
        """Show a feature of a node."""
        node = self._node(act.node)
        if isinstance(node, str):
            return node
        _, entity = node
        feature = act.argument.casefold() or "description"
        if feature == "description":
            return self._show([row_evidence(entity, 1.0, why, self._index, self._texts)])
        if feature == "type":
            return one_line(entity.type) or "unknown"
        if feature == "aliases":
            # It is not known which documents an alias comes from, so a filter hides them all.
            return one_line(", ".join(entity.aliases)) if not self._index.scope and entity.aliases else "none"
        if feature in ("sources", "source"):
            return self._show(self._sources_of(entity, why))
        return f"error: there is no feature {act.argument!r}; features are {', '.join(FEATURES)}"

    def _degree(self, act: AgentAction, _: str) -> str:
        """Count the neighbours of a node."""
        found = self._edges(act)
        if isinstance(found, str):
            return found
        n = len({t.target if t.source == found.node else t.source for t in found.triples})
        return f"{'at least ' if found.n_unread else ''}{count_noun(n, 'neighbour')}"

    def _check(self, act: AgentAction, why: str) -> str:
        """List what joins a node with its neighbours, by weight: each triple with what its passages say."""
        found = self._edges(act, most=self._neighbours)
        if isinstance(found, str):
            return found
        ordered = sorted(found.triples, key=lambda t: (-t.weight, t.id))[: self._neighbours]
        self.triples += ordered
        known = spans_of_rows(ordered, self._index)
        items = [
            triple_evidence(t, t.weight, f"{why}: weight {t.weight:g}", self._index, known=known, text=said)
            for t, said in zip(ordered, fact_statements(ordered, self._index, brief=True), strict=True)
        ]
        labels = [f"node {t.target if t.source == found.node else t.source!r}" for t in ordered]
        cut = len(found.triples) - len(ordered) + found.n_unread
        return self._show(items, labels) + (f"\n({cut} more are not listed)" if cut else "")

    # --- lookup -------------------------------------------------------------------------------------

    def _entities(self, rows: Sequence[int]) -> list[Entity]:
        """Read nodes with as many of their passages as can be shown."""
        return self._index.entities(rows, most_chunks=_MANY_SOURCES + 1)

    def _node(self, name: str) -> tuple[int, Entity] | str:
        """Look up a node by id, or else by an unambiguous name; return an error message if there is none."""
        rows = list(self._index.entity_rows([name, normalize_name(name)]).values())
        rows = rows or self._index.entities_named([name]).get(name, [])
        found = [(n, e) for n, e in zip(rows, self._entities(rows), strict=True) if e.chunks]
        if not found:
            return f"error: there is no node {name!r}; find one with RetrieveNode"
        if len({n for n, _ in found}) > 1:
            return (
                f"error: {name!r} may be {' or '.join(repr(e.id) for _, e in found[:5])}; name one by its id"
            )
        return found[0]

    def _edges(self, act: AgentAction, most: int | None = None) -> "_Edges | str":
        """Look up the triples at a node with the requested edge type; return an error message if there is none.

        Args:
            act: names the node and the type.
            most: of triples of any type, only these many are needed, the strongest; ties by id.
        """
        node = self._node(act.node)
        if isinstance(node, str):
            return node
        row, entity = node
        arrays = self._index.arrays
        rows = arrays.triples_at([row])
        # A filter may hide the strongest, and how many others there are.
        unread = 0 if self._index.scope else max(0, len(rows) - _MANY_TRIPLES)
        if unread:
            rows = arrays.strongest_triples(rows, _MANY_TRIPLES)
        kind = act.argument.casefold().strip()
        if kind in _ANY and most is not None and not self._index.scope:
            needed = arrays.with_strongest_triples(rows, most)
            unread += len(rows) - len(needed)
            rows = needed
        triples = self._index.triples(rows.tolist())
        every = list(triples.values())
        if kind in _ANY:
            return _Edges(entity.id, every, unread) if every else f"error: {entity.id!r} has no neighbours"
        chosen = [t for t in every if t.predicate.casefold() == kind]
        if not chosen:
            sides = arrays.triple_ends(list(triples))
            others = {n: target if source == row else source for n, source, target in sides}
            ends = sorted(set(others.values()))
            types = {n: e.type for n, e in zip(ends, self._index.entities(ends, most_chunks=1), strict=True)}
            chosen = [t for n, t in triples.items() if types[others[n]] == kind]
        if chosen:
            return _Edges(entity.id, chosen, unread)
        kinds = Counter(t.predicate for t in every)
        listed = one_line(", ".join(sorted(kinds, key=lambda p: (-kinds[p], p))[:_KINDS_NAMED])) or "none"
        return f"error: {entity.id!r} has no edge of the kind {act.argument!r}; it has: {listed}"

    def _sources_of(self, entity: Entity, why: str) -> list[Evidence]:
        """Rank the passages that mention a node by number of words shared with the question, then in their order.

        Of a node in more than `_MANY_SOURCES` passages, those are ranked that its descriptions come from and the first
        of the others.
        """
        cited = entity.chunks
        if len(cited) > _MANY_SOURCES:
            said = dict.fromkeys(d.chunk for d in entity.descriptions)
            cited = tuple(dict.fromkeys([*said, *cited[:_MANY_SOURCES]]))
        texts = self._index.store.documents.texts_of(cited)
        shared = dict(zip(texts, self._asked.of(list(texts.values())), strict=True))
        best = sorted(shared, key=lambda chunk: -shared[chunk])[: self._sources]  # sorting is stable
        n_asked = len(self._asked.stems)
        chunks = self._index.chunks_by_id(best)
        return list(
            chunk_evidence(
                chunks,
                [float(shared[chunk]) for chunk in best],
                [f"{why}: holds {shared[chunk]} of the question's {n_asked} words" for chunk in best],
                self._index.headings([c.document for c in chunks]),
            )
        )

    # --- observations -------------------------------------------------------------------------------

    def _show(self, items: Sequence[Evidence], labels: Sequence[str] = ()) -> str:
        """Number new items that fit the budget and write them down; mention how many do not fit."""
        lines: list[str] = []
        withheld = 0
        for i, item in enumerate(items):
            label = f"{neutralize(labels[i], _LABELS)}: " if labels else ""
            n = self._numbers.get((item.kind, item.id))
            if n is not None:
                lines.append(f"{label}[{n}] as above")
                continue
            cost = count_tokens(item.text) + HEAD_TOKENS
            # The packed context shortens a first item that is too long rather than leaving it out.
            if self.shown and cost > self._room:
                withheld += 1
                continue
            self._room -= cost
            self.shown.append(item)
            n = self._numbers[item.kind, item.id] = len(self.shown)
            lines.append(f"{label}[{n}] {neutralize(item.text, _LABELS, n_items=_MAX_ITEMS)}")
        if withheld:
            self.n_withheld += withheld
            lines.append(f"({withheld} more are not shown: the budget of the evidence is used up)")
        return "\n".join(lines) or "nothing"
