"""What the API shows of retrieval evaluations: the output of `polygraph eval retrieval --json`, as a table."""

import json
import math
import re
from pathlib import Path
from typing import Any

from polygraph.server.problems import Problem, unknown

_MAX_SIZE = 20_000_000
_COSTS = ("ms_per_question", "calls_per_question", "tokens_per_question", "cost_per_question")
_WHERE = "/api/v1/evaluations"


def evaluation_list(folder: Path) -> list[dict[str, Any]]:
    """Return the retrieval evaluations of a folder by name; files of another kind are left out."""
    if not folder.is_dir():
        return []
    found = []
    for file in sorted(folder.glob("*.json")):
        try:
            view = evaluation_view(folder, file.stem)
        except Problem:
            continue
        found.append(
            {
                "name": view["name"],
                "metric": view["metric"],
                "questions": view["questions"]["asked"],
                "methods": [method["name"] for method in view["methods"]],
            }
        )
    return found


def evaluation_view(folder: Path, name: str) -> dict[str, Any]:
    """Return the table of a retrieval evaluation: methods in the order given, metrics with 95% intervals.

    Args:
        folder: of all evaluations.
        name: of the file, without ``.json``; a name is never a path.

    Raises:
        Problem: 404 for an unknown file, 422 for one that is not a retrieval evaluation.
    """
    if not re.fullmatch(r"\w[\w. -]{0,99}", name):
        raise unknown("evaluation", name, _WHERE)
    file = folder / f"{name}.json"
    if not file.is_file():
        raise unknown("evaluation", name, _WHERE)
    try:
        if file.stat().st_size > _MAX_SIZE:
            raise ValueError("too large")
        return {"name": name} | _table(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Problem(
            422,
            "not-an-evaluation",
            f"{name}.json is not a retrieval evaluation of at most {_MAX_SIZE // 1_000_000} MB. Write one with: "
            "polygraph eval retrieval --json",
        ) from error


def _table(report: dict[str, Any]) -> dict[str, Any]:
    """Take from a report what the table shows, with every value of its expected type."""
    methods = [_method(name, values) for name, values in report["methods"].items()]
    metric = str(report["metric"])
    if not methods or any(metric not in method["metrics"] for method in methods):
        raise ValueError("no method was measured by the metric of comparison")
    questions = report["questions"]
    return {
        "metric": metric,
        "metrics": list(dict.fromkeys(m for method in methods for m in method["metrics"])),
        "questions": {"asked": int(questions["asked"]), "total": int(questions["total"])},
        "methods": methods,
        "differences": [_difference(each) for each in report["comparisons"]],
        "conclusions": [str(each) for each in report["conclusions"]],
        "notes": [str(each) for each in report["notes"]],
    }


def _method(name: str, values: dict[str, Any]) -> dict[str, Any]:
    metrics = {
        metric: {"mean": _number(values[metric]), "low": _number(low), "high": _number(high)}
        for metric, (low, high) in values["intervals"].items()
    }
    costs = {cost: None if values[cost] is None else _number(values[cost]) for cost in _COSTS}
    return {
        "name": name,
        "n": int(values["n"]),
        "n_failed": int(values["n_failed"]),
        "metrics": metrics,
    } | costs


def _difference(values: dict[str, Any]) -> dict[str, Any]:
    low, high = values["interval"]
    return {
        "better": str(values["better"]),
        "worse": str(values["worse"]),
        "decision": str(values["decision"]),
        "difference": _number(values["difference"]),
        "low": _number(low),
        "high": _number(high),
        "p_holm": _number(values["p_holm"]),
        **{key: int(values[key]) for key in ("n", "wins", "ties", "losses")},
    }


def _number(value: Any) -> float:
    """Return a finite number; JSON of Python may contain NaN, which browsers do not read."""
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{value!r} is not a finite number")
    return number
