"""A few real calls, to learn how this model reads and writes these documents."""

from collections.abc import Sequence

import numpy as np

from polygraph.errors import UnusableReply
from polygraph.extract.llm import extractor as llm
from polygraph.indexing.estimate.simulated_graph import SimulatedGraph
from polygraph.models import Models
from polygraph.records import Extraction, Window
from polygraph.store.manifest import Manifest
from polygraph.tasks.indexing import report as report_task
from polygraph.text.tokens import count_tokens

_CALLS_PER_REPORT = 4
"""Calls of a pilot for each that writes a report."""
_SEED = 7


def divide_calls(n_calls: int, manifest: Manifest, *, reports: bool) -> tuple[int, int]:
    """Return how many windows to read and how many reports to write.

    Args:
        n_calls: in all, repair rounds not counted.
        manifest: whose gleaning settings bound the calls of a window.
        reports: whether a model will write reports.
    """
    n_reports = max(1, n_calls // _CALLS_PER_REPORT) if reports and n_calls > 1 else 0
    settings = manifest.extractor_settings
    gleaning, rounds = settings.get("gleaning", "none"), int(settings.get("max_gleanings", 1))
    per_window = 1 if gleaning == "none" else 2 * rounds + (gleaning == "trial")
    return max(1, (n_calls - n_reports) // per_window), n_reports


def run_pilot(windows: Sequence[Window], n: int, models: Models, manifest: Manifest) -> dict[str, Extraction]:
    """Extract some windows with the model, spread evenly over the corpus from a seeded start; replies are kept.

    Args:
        windows: that are still to be read.
        n: how many to read.
        models: with a chat model; its caps hold here as anywhere.
        manifest: with the extractor's settings.

    Returns:
        Rows by window.
    """
    n = min(n, len(windows))
    if not n:
        return {}
    start = np.random.default_rng(_SEED).random()
    chosen = [windows[int((i + start) * len(windows) / n)] for i in range(n)]
    settings = manifest.extractor_settings
    extracted = llm.extract(
        chosen,
        models,
        entity_types=tuple(settings["entity_types"]),
        gleaning=settings["gleaning"],
        max_gleanings=int(settings["max_gleanings"]),
    )
    return {e.window: e for e in extracted}


def write_pilot_reports(
    graph: SimulatedGraph, n: int, models: Models, *, max_words: int
) -> list[tuple[int, int, int]]:
    """Have reports written on communities of the known windows, from small to large.

    These replies teach the length of reports. The build uses them only where a community of the whole index turns out
    the same, which is rare; the other calls of a pilot are never wasted.

    Returns:
        Tokens of the context, of the reply, and of the report in it, without the form of the reply.
    """
    texts = sorted({context.text for context in graph.contexts}, key=lambda text: (len(text), text))
    n = min(n, len(texts))
    # The largest first, since the whole index has larger ones still; then evenly downwards.
    chosen = [texts[-1 - i * len(texts) // n] for i in range(n)]

    def write(text: str) -> tuple[int, int, int] | None:
        last = ""

        def parse(reply: str) -> report_task.ParsedReport:
            nonlocal last
            last = reply
            return report_task.parse_report(reply)

        if models.chat is None:
            return None
        try:
            request = report_task.report_request(text, max_words=max_words)
            found = models.calls.ask(models.chat, request, parse, stage="reports")
        except UnusableReply:
            return None
        parts = [found.summary, *(part for finding in found.findings for part in finding)]
        report = "\n".join([found.title, *(part.text for part in parts)])
        return count_tokens(text), count_tokens(last), count_tokens(report)

    return [counts for counts in models.calls.map(write, chosen) if counts is not None]
