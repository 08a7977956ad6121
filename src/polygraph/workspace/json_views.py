"""Results as plain values: the JSON that commands print with `--json` and that the server sends."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from polygraph.retrieve import describe
from polygraph.retrieve import method as method_named
from polygraph.retrieve.catalogue import Group
from polygraph.retrieve.overlap import found_alone, overlap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polygraph.indexing.estimate.ranges import Estimate
    from polygraph.indexing.progress import BuildReport
    from polygraph.models.call_store import QuestionUsage
    from polygraph.records import Answer, Retrieval
    from polygraph.retrieve.fact_paths import FactPath
    from polygraph.store.protocol import EntityOverview
    from polygraph.workspace.entities import EntityChange

_NEEDS: Mapping[Group | None, str] = {
    "Passages": "one fact",
    "Facts": "several steps",
    "Entities": "several steps",
    "Overviews": "overview",
    "Combinations": "other",
}
_PASSAGES_FOR_SEVERAL_STEPS = {"rq-rag", "walk"}
"""Methods that search passages and are made for questions of several steps."""


def answer_json(found: Answer, paths: Sequence[FactPath] | None = None) -> dict[str, Any]:
    """Return an answer as the JSON of `ask`; `paths` only if they were asked for."""
    chains = {} if paths is None else {"paths": [{**asdict(path), "text": path.text} for path in paths]}
    return {
        "text": found.text,
        "refused": found.refused,
        "citations": [asdict(c) for c in found.citations],
        "nearest": [asdict(c) for c in found.nearest],
        "evidence": [
            {"kind": e.kind, "id": e.id, "document": e.document, "score": e.score, "text": e.text}
            for e in found.retrieval.evidence
        ],
        "method": found.method,
        "usage": asdict(found.usage),
        "extractive": found.extractive,
        "notes": list(found.notes),
        **chains,
    }


def compared_json(found: Sequence[Answer]) -> list[dict[str, Any]]:
    """Return the answers as the JSON of `ask`, each with what other methods share and what it alone has.

    ``shared`` and ``only`` are ids of passages; ``alone`` are numbers of evidence, counted from 1.
    """
    held = overlap([a.retrieval for a in found])
    alone = found_alone([a.retrieval for a in found])
    return [
        answer_json(a)
        | {
            "shared": [h.chunk for h in held if h.positions[i] is not None and h.n > 1],
            "only": [h.chunk for h in held if h.positions[i] is not None and h.n == 1],
            "alone": alone[i],
        }
        for i, a in enumerate(found)
    ]


def retrieval_json(found: Retrieval) -> dict[str, Any]:
    """Return a retrieval as the JSON of `explain`: evidence, context, what was truncated, and the trace."""
    return asdict(found)


def build_report_json(report: BuildReport, place: str) -> dict[str, Any]:
    """Return what a build did as the JSON of `index`, `remove` and the like."""
    return asdict(report) | {"index": place}


def entity_change_json(found: EntityChange) -> dict[str, Any]:
    """Return what a decision changed as the JSON of `entities merge` and the like."""
    values = asdict(found) | {"entities": [entity_overview_json(each) for each in found.entities]}
    values["self_loops"] = values.pop("report")["counts"].get("self-loops", 0)
    return values


def entity_overview_json(found: EntityOverview) -> dict[str, Any]:
    """Return an entity of a list as the JSON of `entities list`."""
    return {name: value for name, value in found._asdict().items() if name != "row"}


def estimate_json(found: Estimate) -> dict[str, Any]:
    """Return an estimate as the JSON of `estimate`."""
    return found.as_dict()


def methods_json(names: Sequence[str], usage: Mapping[str, QuestionUsage]) -> list[dict[str, Any]]:
    """Return methods as the JSON of `methods`.

    Args:
        names: in the order of the result.
        usage: measured for questions to an index, by method.
    """
    return [
        {
            "name": name,
            "needs": sorted(m.needs),
            "source": about.source,
            "calls": m.calls,
            "summary": about.summary,
            "tokens": about.tokens,
            "form": about.form,
            "good": about.good,
            "bad": about.bad,
            "max_tokens": m.max_tokens,
            "measured": _measured_json(usage.get(name)),
        }
        for name, m, about in ((name, method_named(name), describe(name)) for name in names)
    ]


def need_of(name: str) -> str:
    """Return which kind of question a method is for: `one fact`, `several steps`, `overview` or `other`.

    >>> need_of("bm25:rograg"), need_of("walk"), need_of("graft")
    ('one fact', 'several steps', 'overview')
    """
    base = name.partition(":")[0]
    return "several steps" if base in _PASSAGES_FOR_SEVERAL_STEPS else _NEEDS[describe(name).group]


def _measured_json(found: QuestionUsage | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"questions": found.n, "calls": found.calls / found.n, "tokens": found.tokens / found.n}
