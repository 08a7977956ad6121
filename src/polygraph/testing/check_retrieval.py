"""The rules for a retrieval and its answer on any index, and the expected number of model calls.

`check_method` applies them on small indexes; tests and benchmarks apply them on real documents.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from polygraph.records import Answer, Retrieval
from polygraph.retrieve.base import Method
from polygraph.retrieve.methods.fgrag import FGRAG
from polygraph.retrieve.methods.graphcot import GraphCoT
from polygraph.retrieve.methods.graphrag_drift import GraphRAGDrift
from polygraph.retrieve.methods.graphrag_global import GraphRAGGlobal
from polygraph.retrieve.methods.rograg.logic_form import RogragLogic
from polygraph.retrieve.methods.rograg.rograg import Rograg
from polygraph.retrieve.methods.rqrag import RQRAG
from polygraph.store.snapshot import Snapshot
from polygraph.text.tokens import count_tokens

# --- rules ----------------------------------------------------------------------------------------------


def faults_of_retrieval(found: Retrieval, index: Snapshot, *, max_tokens: int | None = None) -> Iterator[str]:
    """Yield the faults of a retrieval as sentences, in the order of its parts.

    Args:
        found: result of any method.
        index: the snapshot that it was retrieved from.
        max_tokens: budget of the context; None to skip the check.
    """
    if not found.method:
        yield "the retrieval names no method"
    if bool(found.evidence) == bool(found.empty_because):
        yield f"there are {len(found.evidence)} pieces of evidence and empty_because is {found.empty_because!r}"
    if bool(found.evidence) != bool(found.context):
        yield "only one of context and evidence is empty"
    at = 0
    for n, item in enumerate(found.evidence, 1):
        block = f"[{n}] {item.text}"
        position = found.context.find(block, at)
        if position < 0:
            yield f"block {n} of the context is not evidence {n} ({item.text[:60]!r})"
        else:
            at = position + len(block)
        if not math.isfinite(item.score):
            yield f"evidence {n} has the score {item.score}"
        if not item.why.strip():
            yield f"evidence {n} ({item.kind} {item.id!r}) gives no reason (`why`)"
        if not item.spans:
            yield f"evidence {n} ({item.kind} {item.id!r}) has no spans"
        for span in item.spans:
            if not _resolves(span.document, span.chunk, span.start, span.end, index):
                yield f"{span} of evidence {n} lies outside of its chunk"
    ids = [chunk.id for chunk in index.chunks_by_id(found.ranking)]
    if ids != list(found.ranking):
        yield "the ranking holds a chunk that does not exist"
    if len(set(found.ranking)) < len(found.ranking):
        yield "the ranking holds a chunk twice"
    if not all(cut.n_items > 0 and cut.n_tokens >= 0 for cut in found.cuts):
        yield "a cut names no items"
    if max_tokens is not None:
        n_tokens = count_tokens(found.context)
        if max(n_tokens, found.n_tokens) > max_tokens:
            yield f"the context has {n_tokens} tokens, n_tokens is {found.n_tokens}; the budget was {max_tokens}"
    try:
        json.dumps([[step.name, step.value] for step in found.trace], allow_nan=False)
    except (TypeError, ValueError) as error:
        yield f"the trace cannot be written as JSON: {error}"


def faults_of_answer(given: Answer, index: Snapshot) -> Iterator[str]:
    """Yield the faults of an answer: no text, no reason for a refusal, a citation that does not resolve.

    Nearest passages are checked as citations are; there are some only below a refusal.
    """
    found = given.retrieval
    if not given.text.strip():
        yield "the answer is empty"
    if not found.evidence and not given.refused:
        yield "there is an answer without evidence"
    if not found.evidence and found.empty_because not in given.text:
        yield "the refusal gives no reason"
    if given.nearest and not given.refused:
        yield "there are nearest passages below an answer"
    for citation in (*given.citations, *given.nearest):
        document = index.store.documents.get(citation.document)
        text = document.text[citation.start : citation.end] if document else None
        if text != citation.quote or not text:
            yield f"the citation {citation} does not quote its document"
        if not 1 <= citation.n <= len(found.evidence) or not any(
            span.chunk == citation.chunk for span in found.evidence[citation.n - 1].spans
        ):
            yield f"the citation [{citation.n}] is not part of evidence {citation.n}"


def _resolves(document: str, chunk: str, start: int, end: int, index: Snapshot) -> bool:
    whole = index.store.documents.get(document)
    found = index.chunks_by_id([chunk])
    if whole is None or not found or found[0].document != document:
        return False
    inside = found[0].start <= start < end <= found[0].end
    return inside and whole.text[found[0].start : found[0].end] == found[0].text


# --- calls ----------------------------------------------------------------------------------------------


def expected_calls(method: Method, found: Retrieval) -> int:
    """Return the number of model calls that a retrieval and its answer make, by the formula of the method.

    The variables of the formula (entities of the question, batches, steps) are read from the trace. Without evidence,
    no answer is written.

    Raises:
        ValueError: if ``method.calls`` is not a number and the method has no formula here.
    """
    formula = _FORMULAS.get(type(method))
    if formula is not None:
        return formula(found)
    if not method.calls.isdigit():
        raise ValueError(
            f"{type(method).__name__}.calls is {method.calls!r}: pass n_calls, which returns the number for a retrieval"
        )
    return int(method.calls) - (not found.evidence)


def _steps(found: Retrieval) -> dict[str, Any]:
    return {step.name: step.value for step in found.trace}


def _of_global(found: Retrieval) -> int:
    """One for each rating, each batch of reports and the answer."""
    steps = _steps(found)
    rated = sum(n_ratings for *_, n_ratings in steps.get("rated", ()))
    return int(rated + steps.get("batches", 0) + bool(found.evidence))


def _of_fg_rag(found: Retrieval) -> int:
    """One for the entities, two for each entity that the graph holds something about, one for the answer."""
    steps = _steps(found)
    return 1 + len(steps.get("questions", ())) + len(steps.get("summaries", ())) + bool(found.evidence)


def _of_drift(found: Retrieval) -> int:
    """One for the hypothetical answer, each fold, each follow-up question and the answer."""
    steps = _steps(found)
    followed = sum(len(value) for name, value in steps.items() if name.startswith("round"))
    return ("hyde" in steps) + len(steps.get("primer", ())) + followed + bool(found.evidence)


def _of_agent(found: Retrieval) -> int:
    """The calls in the trace, of which the last may have written the answer; otherwise one more."""
    return int(_steps(found)["calls"]) + (not found.draft and bool(found.evidence))


def _of_logic(found: Retrieval) -> int:
    """The plans, the steps that called the model, and the answer."""
    steps = _steps(found)
    asked = sum(step["calls"] for step in steps.get("steps", ()))
    return int(steps["plan"]["calls"] + asked + bool(found.evidence))


def _of_rograg(found: Retrieval) -> int:
    """Intent, keywords, logic form, check and answer; after a failed check, the keywords once more."""
    steps = _steps(found)
    n = (steps.get("intent") in ("question", "greeting", "identity", "undefined")) + ("keywords" in steps)
    if "plan" in steps:
        n += _of_logic(found) - bool(found.evidence)
    if "verified" in steps:
        n += steps["verified"]["calls"] + (not steps["verified"]["holds"])
    return int(n + (bool(found.evidence) and not found.draft))


_FORMULAS: Mapping[type, Callable[[Retrieval], int]] = MappingProxyType(
    {
        FGRAG: _of_fg_rag,
        GraphCoT: _of_agent,
        GraphRAGDrift: _of_drift,
        GraphRAGGlobal: _of_global,
        RQRAG: _of_agent,
        Rograg: _of_rograg,
        RogragLogic: _of_logic,
    }
)
