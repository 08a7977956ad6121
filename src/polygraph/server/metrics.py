"""Figures of the server in the text format of Prometheus."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from polygraph.records import Usage

BUCKETS_S = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
"""Upper bounds of the histogram of seconds."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counts requests by route and status, their seconds by route, and answers with what they cost."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._answers: Counter[tuple[str, str]] = Counter()
        self._paid: defaultdict[str, float] = defaultdict(float)
        self._lock = threading.Lock()

    def request(self, scope: Mapping[str, Any], status: int, seconds: float) -> None:
        """Count a request; in the event loop.

        Paths that no route has count as one, and so do methods that a client has invented, so that the number of
        series is bounded.
        """
        route = getattr(scope.get("route"), "path", "(none)")
        method = scope["method"] if scope["method"] in _METHODS else "(other)"
        self._requests[route, method, status] += 1
        for bound in BUCKETS_S:
            if seconds <= bound:
                self._buckets[route, bound] += 1
        self._seconds[route] += seconds

    def answer(self, method: str, usage: Usage, *, refused: bool) -> None:
        """Count an answer and what it cost; from any thread."""
        with self._lock:
            self._answers[method, "refused" if refused else "answered"] += 1
            self._paid["calls"] += usage.calls
            self._paid["cached_calls"] += usage.cached_calls
            self._paid["prompt_tokens"] += usage.prompt_tokens
            self._paid["completion_tokens"] += usage.completion_tokens
            self._paid["cost_dollars"] += usage.cost or 0.0

    def text(self, gauges: Iterable[tuple[str, str, Mapping[str, str], float]]) -> str:
        """Return all figures.

        Args:
            gauges: name, help, labels and value of further figures; those of one name follow each other.
        """
        lines = _head("polygraph_http_requests_total", "Requests by route, method and status.", "counter")
        for (route, method, status), n in sorted(self._requests.items()):
            which = _labels({"route": route, "method": method, "status": str(status)})
            lines.append(f"polygraph_http_requests_total{which} {n}")
        name = "polygraph_http_request_seconds"
        lines += _head(name, "Seconds from the head of a request to the end of its response.", "histogram")
        totals: Counter[str] = Counter()
        for (route, _, _), n in self._requests.items():
            totals[route] += n
        for route, n in sorted(totals.items()):
            for bound in BUCKETS_S:
                which = _labels({"route": route, "le": f"{bound:g}"})
                lines.append(f"{name}_bucket{which} {self._buckets[route, bound]}")
            lines.append(f"{name}_bucket{_labels({'route': route, 'le': '+Inf'})} {n}")
            lines.append(f"{name}_sum{_labels({'route': route})} {self._seconds[route]:.6f}")
            lines.append(f"{name}_count{_labels({'route': route})} {n}")
        with self._lock:
            answers, paid = sorted(self._answers.items()), sorted(self._paid.items())
        lines += _head("polygraph_answers_total", "Answers by method and outcome.", "counter")
        for (method, outcome), n in answers:
            lines.append(f"polygraph_answers_total{_labels({'method': method, 'outcome': outcome})} {n}")
        for what, amount in paid:
            lines += _head(f"polygraph_model_{what}_total", "Paid to answer questions.", "counter")
            lines.append(f"polygraph_model_{what}_total {amount:g}")
        last = ""
        for gauge, help, labels, value in gauges:
            if gauge != last:
                lines += _head(gauge, help, "counter" if gauge.endswith("_total") else "gauge")
                last = gauge
            lines.append(f"{gauge}{_labels(labels)} {value:g}")
        return "\n".join(lines) + "\n"


def _head(name: str, help: str, kind: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
