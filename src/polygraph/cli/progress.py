"""Progress on standard error: bars with count, time left and cost, or lines where there is no terminal."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from polygraph.cli.render.answer import err
from polygraph.indexing.progress import stage_name
from polygraph.records import Usage

EVERY_S = 10.0
"""Seconds between lines, without a terminal."""
SILENT_S = 60.0
"""Seconds after which the last line is printed again while nothing is done, as in a document of many megabytes."""


class Bars:
    """One bar per stage on a terminal; elsewhere, as in a log, a line every few seconds; nothing if `quiet` is set.

    A command that ends before the first line is due prints none.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        spent: Callable[[], Usage] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quiet = quiet or not err.is_terminal
        self._lines = not quiet and not err.is_terminal
        self._spent, self._clock = spent, clock
        self._printed = clock()
        self._last: tuple[str, int, int] | None = None
        self._ended = threading.Event()
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if not self._quiet:
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeRemainingColumn,
            )

            self._bars = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[money]}"),
                console=err,
            )
            self._bars.start()
        if self._lines:
            threading.Thread(target=self._repeat, name="progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Update the bar of a stage."""
        self._last = stage, done, total
        if self._lines and self._clock() >= self._printed + EVERY_S:
            self._print(stage, f"{done:,} of {total:,}", self._money(done, total))
        if self._bars is None:
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage_name(stage), total=total, money="")
        self._bars.update(self._tasks[stage], completed=done, total=total, money=self._money(done, total))

    def repeat_if_silent(self) -> None:
        """Print the last line again if nothing was done for long, so that a log tells work from a halt."""
        if self._last is not None and self._clock() >= self._printed + SILENT_S:
            stage, done, total = self._last
            self._print(stage, f"{done:,} of {total:,}" if done < total else "done", "still at work")

    def _repeat(self) -> None:
        while not self._ended.wait(EVERY_S):
            self.repeat_if_silent()

    def _print(self, stage: str, count: str, more: str) -> None:
        self._printed = self._clock()
        err.print("; ".join(part for part in (f"{stage_name(stage)}: {count}", more) if part))

    def _money(self, done: int, total: int) -> str:
        usage = self._spent() if self._spent is not None else None
        if usage is None or not usage.calls:
            return ""
        if usage.cost is None:
            return f"{usage.prompt_tokens + usage.completion_tokens:,} tokens"
        left = usage.cost * (total - done) / done if done else 0.0
        return f"${usage.cost:.2f} spent, about ${left:.2f} left"
