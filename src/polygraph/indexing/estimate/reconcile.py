"""The estimate that is kept beside an index, compared with what was spent since."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from polygraph.indexing.estimate.ranges import Estimate
from polygraph.models.calls import LedgerRow

FILE_NAME = "estimate.json"
_FORMAT = 1
_COUNTS = ("calls", "prompt_tokens", "completion_tokens")
_FIGURES = (*_COUNTS, "cost")
_Key: TypeAlias = tuple[str, str, str]
"""Stage, method and model of a row of the ledger."""


def save_estimate(folder: Path, estimate: Estimate, ledger: Sequence[LedgerRow]) -> None:
    """Write an estimate into the folder of an index, with what had been spent when it was made.

    It is written under another name and renamed, so that a reader sees the old file or the new one.
    """
    values = {
        "format": _FORMAT,
        "estimate": estimate.as_dict(),
        "ledger": [row.as_dict() for row in ledger],
    }
    path = folder / FILE_NAME
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    temporary.replace(path)


def load_estimate(folder: Path, ledger: Sequence[LedgerRow]) -> list[dict[str, Any]]:
    """Compare the estimate of a folder with what was spent since.

    Returns:
        Rows by stage, method and model, in the order of the estimate and then of the ledger: estimated `calls`,
        `prompt_tokens`, `completion_tokens` and `cost`, each as ``{"low", "mid", "high"}`` or None, and the
        `actual` ones as numbers, or None. For a question the actual figures are those of every call made for the
        method since, and `questions`, else None, is the number of questions it answered. Empty if there is no
        estimate, or it cannot be read.
    """
    try:
        values = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        if values["format"] != _FORMAT:
            return []
        planned = [*values["estimate"]["lines"], *values["estimate"]["questions"]]
        before = {(r["stage"], r["method"], r["model"]): r for r in values["ledger"]}
        return _compare(planned, before, ledger)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []  # a convenience; the next estimate writes it again


def _compare(
    planned: Sequence[dict[str, Any]], before: Mapping[_Key, dict[str, Any]], ledger: Sequence[LedgerRow]
) -> list[dict[str, Any]]:
    rows = []
    matched: set[_Key] = set()
    since = {(r.stage, r.method, r.model): _spent_since(r, before) for r in ledger}
    since = {key: spent for key, spent in since.items() if spent["calls"]}
    for line in planned:
        if line["stage"] == "question":
            keys = [k for k in since if k[1] == line["method"]]
        else:
            keys = [k for k in since if k[0] == line["stage"] and k[2] == line["model"]]
        matched.update(keys)
        row = {name: line[name] for name in ("stage", "method", "model", *_FIGURES)}
        row["actual"] = _sum([since[k] for k in keys])
        answered = sum(since[k]["calls"] for k in keys if k[0] == "answer")
        row["questions"] = answered if line["stage"] == "question" else None
        rows.append(row)
    for key, spent in since.items():
        if key not in matched and (spent["prompt_tokens"] or spent["completion_tokens"]):
            row = dict(zip(("stage", "method", "model"), key, strict=True))
            rows.append(row | dict.fromkeys(_FIGURES) | {"actual": spent, "questions": None})
    return rows


def _spent_since(row: LedgerRow, before: Mapping[_Key, dict[str, Any]]) -> dict[str, Any]:
    old = before.get((row.stage, row.method, row.model), {})
    earlier = sum(old.get(name, 0) for name in ("ok", "failed", "repaired"))
    known = row.cost is not None and old.get("cost", 0.0) is not None
    return {
        "calls": row.attempts - earlier,
        "prompt_tokens": row.prompt_tokens - old.get("prompt_tokens", 0),
        "completion_tokens": row.completion_tokens - old.get("completion_tokens", 0),
        "cost": (row.cost or 0.0) - old.get("cost", 0.0) if known else None,
    }


def _sum(spent: Sequence[dict[str, Any]]) -> dict[str, Any]:
    totals: dict[str, Any] = {name: sum(s[name] for s in spent) for name in _COUNTS}
    costs = [s["cost"] for s in spent]
    return totals | {"cost": None if None in costs else float(sum(costs))}
