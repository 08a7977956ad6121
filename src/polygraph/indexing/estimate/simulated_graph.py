"""The graph, communities and report contexts that rows of some windows lead to, by the code of the build itself.

What several windows share, and that the number of communities grows more slowly than the text, is so counted and not
guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.extract.resolution.records import Mention, Resolution
from polygraph.extract.resolution.resolve import resolve
from polygraph.extract.resolution.suggestions.name_lists import Suggest
from polygraph.graph.communities import communities
from polygraph.graph.csr import Graph
from polygraph.graph.merge.view import GraphView, merge
from polygraph.graph.reports.context import ContextBuilder, ReportContext
from polygraph.graph.reports.members import Members
from polygraph.graph.reports.write import MIN_SIZE
from polygraph.indexing.estimate.model_profile import ReportLength
from polygraph.indexing.row_cache import name_relations
from polygraph.models.protocols import Vectors
from polygraph.records import Community, Extraction, Report, Window
from polygraph.store.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedGraph:
    """The graph as it might be."""

    view: GraphView
    communities: tuple[Community, ...]
    contexts: tuple[ReportContext, ...]
    """The context of each report that a model writes."""
    embedded: tuple[str, ...]
    """Names whose vectors resolution asks for."""


def simulate_graph(
    windows: Sequence[Window],
    rows: Iterable[Extraction],
    *,
    manifest: Manifest,
    max_context: int,
    report: ReportLength,
    contexts: bool = True,
) -> SimulatedGraph:
    """Resolve, merge and divide rows, and write the contexts of the reports.

    Args:
        windows: whose chunks the rows name.
        rows: of each window.
        manifest: settings of the build.
        max_context: tokens of a report's context.
        report: length of a report, which stands for a part of a larger community.
        contexts: False to leave contexts out.
    """
    extractions = list(rows)
    embedded: list[str] = []
    view = simulate_view(windows, extractions, manifest, embedded)
    divided = tuple(
        communities(
            _weighted_graph(view, manifest),
            [e.id for e in view.entities],
            [e.chunks for e in view.entities],
            max_size=manifest.community_size,
        )
    )
    texts = {c.id: c.text for w in windows for c in w.chunks}
    written = _contexts(divided, view, texts, max_context, report) if contexts else {}
    return SimulatedGraph(
        view=view,
        communities=divided,
        contexts=tuple(written[c.id] for c in divided if c.id in written and len(c.entities) >= MIN_SIZE),
        embedded=tuple(embedded),
    )


def simulate_view(
    windows: Iterable[Window],
    extractions: Sequence[Extraction],
    manifest: Manifest,
    embedded: list[str] | None = None,
) -> GraphView:
    """Resolve and merge rows, without communities; `embedded` gets the names whose vectors resolution asks for."""
    windows = list(windows)
    order = {c.id: n for n, c in enumerate(c for w in windows for c in w.chunks)}
    return merge(extractions, resolve_simulated(windows, extractions, manifest, embedded).entity_of, order)


def resolve_simulated(
    windows: Iterable[Window],
    extractions: Sequence[Extraction],
    manifest: Manifest,
    embedded: list[str] | None = None,
    *,
    asks: bool = False,
    suggest: Suggest | None = None,
) -> Resolution:
    """Resolve rows as the build does, but without vectors.

    Args:
        windows: of the rows.
        extractions: the rows.
        manifest: settings of the build.
        embedded: gets the names whose vectors are asked for.
        asks: as for `resolve`. Without it, names that the rules take for one are merged, as they are in the build
            unless the model parts them.
        suggest: as for `resolve`.
    """

    def no_vectors(names: Sequence[str]) -> Vectors:
        # Zeros are similar to nothing: names that only vectors would join stay apart.
        if embedded is not None:
            embedded.extend(names)
        return np.zeros((len(names), 1), dtype=np.float32)

    return resolve(
        mentions_of(windows, extractions),
        embed=no_vectors,
        relations=name_relations(extractions),
        by_model=manifest.by_model,
        asks=asks,
        suggest=suggest,
    )


def _weighted_graph(view: GraphView, manifest: Manifest) -> Graph:
    """Return the graph with relations weighted as for the communities of the build."""
    graph = view.graph()
    if manifest.community_weight == "strength":
        return graph
    edges = [(a, b) for a, b, _ in view.edges()]
    return Graph.from_edges(
        graph.n, [a for a, _ in edges], [b for _, b in edges], [len(r.chunks) for r in view.relations]
    )


def mentions_of(windows: Iterable[Window], extractions: Iterable[Extraction]) -> list[Mention]:
    """Return the entity rows of some windows as they are resolved, in the order of the extractions."""
    document = {w.id: w.document for w in windows}
    return [
        Mention(
            document=document[e.window],
            window=e.window,
            name=row.name,
            type=row.type,
            description=row.description,
        )
        for e in extractions
        for row in e.entities
    ]


def _contexts(
    divided: Sequence[Community],
    view: GraphView,
    texts: Mapping[str, str],
    max_context: int,
    length: ReportLength,
) -> dict[str, ReportContext]:
    """Write the context of every report, the finest level first, with stand-ins for the reports on parts."""
    builder = ContextBuilder(
        Members(divided, view), lambda ids: {i: texts[i] for i in ids if i in texts}, max_context
    )
    contexts: dict[str, ReportContext] = {}
    reports: dict[str, Report] = {}
    for community in sorted(divided, key=lambda c: -c.level):
        context = contexts[community.id] = builder.build(community, reports.get)
        # The length is what matters: it decides how many parts of a larger community fit.
        n_words = round(length.tokens(len(context.text) / 4))
        reports[community.id] = Report(
            community=community.id,
            level=community.level,
            title="",
            summary="word " * n_words,
            findings=(),
            rating=5.0,
            chunks=community.chunks[:1],
        )
    return contexts
