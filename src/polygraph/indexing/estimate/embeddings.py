"""The cost of embeddings, where the embedder is an endpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

from polygraph.graph.embedding_texts import RECIPES
from polygraph.graph.merge.view import GraphView
from polygraph.indexing.estimate.graph_size import GraphSize, report_lengths
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.indexing.estimate.ranges import ZERO, Line, Range, priced_line
from polygraph.models import Embedder, TextKind
from polygraph.models.embedding_cache import BATCH, block_size, vector_keys
from polygraph.models.retry import is_local

_SMALL_REPORT_TOKENS = 35
"""Mean of 90 reports without a model on communities of two entities (the sample collection)."""


def embedding_lines(state: EstimateState, needed: Sequence[str], size: GraphSize) -> list[Line]:
    """Return a line for each layer of vectors that an endpoint will make."""
    lines = []
    if "chunk_vectors" in needed and not is_local(state.models.embedder):
        lines.append(_chunk_line(state, state.models.embedder))
    embedder = state.models.name_embedder
    if is_local(embedder):
        return lines
    if "report_vectors" in needed:
        lines.append(_report_line(state, embedder, size))
    if size.simulated is None:
        return lines
    texts: dict[str, tuple[str, list[str], TextKind]]
    texts = {"resolution": ("graph", list(size.simulated.embedded), "name")}
    rows = _rows(size.simulated.view)
    for layer, (kind_of_row, text) in RECIPES.items():
        if kind_of_row != "reports":  # not written yet
            texts[layer] = (layer, [text(row) for row in rows[kind_of_row]], "document")
    growth = size.entity_growth
    for stage, (layer, some, kind) in texts.items():
        if layer not in needed or not some:
            continue
        calls, tokens, free = _calls(state, embedder, some, kind)
        n_calls = Range(*(max(calls > 0, calls * g) for g in growth))
        lines.append(
            priced_line(stage, embedder.name, state.price(embedder), n_calls, growth * tokens, ZERO,
                        free=round(free * size.entity_share), basis="entities of a simulated graph")
        )  # fmt: skip
    return lines


def _chunk_line(state: EstimateState, embedder: Embedder) -> Line:
    texts = [state.plan.chunk_text(w.title, c.text) for w in state.corpus.windows for c in w.chunks]
    calls, tokens, free = _calls(state, embedder, texts, "document")
    return priced_line(
        "chunk_vectors", embedder.name, state.price(embedder), Range.exactly(calls), Range.exactly(tokens), ZERO,
        free=free, basis="every passage, counted",
    )  # fmt: skip


def _report_line(state: EstimateState, embedder: Embedder, size: GraphSize) -> Line:
    length = (state.report_lengths or report_lengths(state, 0))[1]
    mean = length.tokens(size.context_tokens or 500.0)
    n_by_model = size.reports.mid + size.free * size.report_share
    if n_by_model:
        # Communities about which the model is not asked have a sentence or two.
        share = min(1.0, n_by_model / max(1.0, size.communities.mid))
        mean = share * mean * state.report_text_share + (1 - share) * _SMALL_REPORT_TOKENS
    mean = min(mean, embedder.max_tokens)
    calls = size.communities.map(lambda n: -(-n // block_size(embedder)))
    return priced_line(
        "report_vectors", embedder.name, state.price(embedder), calls, size.communities * mean, ZERO,
        basis="communities of a simulated graph",
    )  # fmt: skip


def _rows(view: GraphView) -> Mapping[str, Sequence[Any]]:
    return {
        "entities": view.entities,
        "names": [entity.name for entity in view.entities],
        "relations": view.relations,
        "triples": view.triples,
        "predicates": sorted({triple.predicate for triple in view.triples}),
    }


def _calls(
    state: EstimateState, embedder: Embedder, texts: Sequence[str], kind: TextKind
) -> tuple[int, int, int]:
    """Return calls, tokens, and the number of texts whose vector is stored."""
    keys = dict(zip(vector_keys(embedder.name, kind, texts), texts, strict=True))
    stored = set(state.plan.stored_vectors(list(keys)))
    missing = [text for key, text in keys.items() if key not in stored]
    divide = getattr(embedder, "batches", None)
    calls, size = 0, block_size(embedder)
    for at in range(0, len(missing), size):
        block = missing[at : at + size]
        calls += len(divide(block)) if divide else -(-len(block) // BATCH)
    return calls, sum(embedder.count(missing)), len(stored)
