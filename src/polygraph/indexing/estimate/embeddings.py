"""What embeddings will take, where the embedder is an endpoint."""

import hashlib
from collections.abc import Sequence

from polygraph.graph.embedding_texts import RECIPES
from polygraph.indexing.estimate.graph_size import Graph, report_habits
from polygraph.indexing.estimate.plan import Facts
from polygraph.indexing.estimate.ranges import ZERO, Line, Range, line, three
from polygraph.models import Embedder
from polygraph.models.retry import is_local
from polygraph.records import digest

_EMBEDDED_AT_ONCE = 512


def embeddings(facts: Facts, needed: Sequence[str], graph: Graph) -> list[Line]:
    """Return a line for each layer of vectors that an endpoint will make."""
    plan, models = facts.plan, facts.models
    lines = []
    if "chunk_vectors" in needed and not is_local(models.embedder):
        texts = [plan.chunk_text(w.title, c.text) for w in facts.corpus.windows for c in w.chunks]
        calls, tokens, free = _embedded(facts, models.embedder, texts, "document")
        lines.append(
            line("chunk_vectors", models.embedder.name, facts.price(models.embedder), Range.exactly(calls),
                 Range.exactly(tokens), ZERO, free=free, basis="every passage, counted")
        )  # fmt: skip
    if "report_vectors" in needed and not is_local(models.name_embedder):
        habits = (facts.report_habits or report_habits(facts, 0))[1]
        mean = min(habits.tokens(graph.material or 500.0), models.name_embedder.max_tokens)
        counts = three(graph.communities)
        lines.append(
            line("report_vectors", models.name_embedder.name, facts.price(models.name_embedder),
                 Range(*(-(-n // 256) for n in counts)), Range(*(n * mean for n in counts)), ZERO,
                 free=0, basis="communities of a rehearsed graph")
        )  # fmt: skip
    if graph.last is None or is_local(models.name_embedder):
        return lines
    view, embedder = graph.last.view, models.name_embedder
    jobs = {"resolution": ("graph", list(graph.last.embedded), "name")}
    rows = {
        "entities": view.entities,
        "relations": view.relations,
        "triples": view.triples,
        "predicates": sorted({triple.predicate for triple in view.triples}),
    }
    for layer, (kind_of_row, text) in RECIPES.items():
        if kind_of_row == "reports":
            continue  # not written yet
        jobs[layer] = (layer, [text(row) for row in rows[kind_of_row]], "document")
    for stage, (layer, texts, kind) in jobs.items():
        if layer not in needed or not texts:
            continue
        calls, tokens, free = _embedded(facts, embedder, texts, kind)
        spread = [graph.entity_share * v / max(graph.entities.mid, 1) for v in three(graph.entities)]
        lines.append(
            line(stage, embedder.name, facts.price(embedder),
                 Range(*(max(calls > 0, calls * s) for s in spread)), Range(*(tokens * s for s in spread)), ZERO,
                 free=round(free * graph.entity_share), basis="entities of a rehearsed graph")
        )  # fmt: skip
    return lines


def _embedded(facts: Facts, embedder: Embedder, texts: Sequence[str], kind: str) -> tuple[int, int, int]:
    """Calls, tokens and texts that have their vector already."""
    prefix = digest("vector", embedder.name, kind).encode()
    keys = {hashlib.sha256(prefix + t.encode("utf-8", "surrogatepass")).digest()[:16]: t for t in texts}
    have = set(facts.plan.vectors(list(keys)))
    todo = [text for key, text in keys.items() if key not in have]
    cut = getattr(embedder, "batches", None)
    calls = 0
    for at in range(0, len(todo), _EMBEDDED_AT_ONCE):
        part = todo[at : at + _EMBEDDED_AT_ONCE]
        calls += len(cut(part)) if cut else -(-len(part) // 256)
    return calls, sum(embedder.count(todo)), len(have)
