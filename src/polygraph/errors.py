"""All errors that Polygraph raises on purpose, in one tree.

```
PolygraphError
├── UserError                  the user can fix it: one sentence with the fix, exit code 2
│   ├── BadInput               a path, question, option or file that cannot be used
│   ├── UnknownMethod          no method of that name
│   ├── MissingLayer           the index lacks a layer that a method needs
│   ├── IndexUnreadable        there is no index, or it cannot be opened
│   ├── IndexMismatch          the index was built with other settings or models
│   ├── IndexLocked            another process is writing to the index
│   ├── MissingExtra           an optional dependency is not installed
│   ├── ModelRefused           the endpoint rejects the key, the model's name or the request
│   └── StorageFailed          disk full or folder not writable
├── WorkFailed                 the work failed, exit code 1
│   ├── NothingExtracted       a build extracted nothing from any text
│   ├── ModelUnavailable       the model did not answer after all retries
│   ├── WorkerLost             a worker of a cluster ended during its work
│   ├── BudgetReached          the cap on tokens or cost was reached; finished work is kept
│   └── UnusableReply          a reply could not be used, even after the repair round
└── RequestsWaiting            requests in batch files wait for replies, exit code 3
```

Every message says what happened, the value seen, and the fix. Attributes hold the data.
"""

import re
import shlex
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

_CLOSE = 0.8
"""Similarity (difflib ratio) of a misspelt name to the one that was meant."""


def quoted(argument: object) -> str:
    """Return an argument as it must be typed into a shell, for the commands that messages name.

    >>> quoted("handbook.index"), quoted("my files/handbook.index")
    ('handbook.index', "'my files/handbook.index'")
    """
    text = str(argument)
    if sys.platform != "win32":
        return shlex.quote(text)
    # Both shells there take double quotes, and one of them no other.
    return f'"{text}"' if re.search(r"[\s&()';,=]", text) else text


def other_format(what: str, found: object, known: int, fix: str) -> str:
    """Return the message about something whose format is not the one that this version reads.

    Args:
        what: has the format.
        found: its format, unchecked.
        known: the format that is read.
        fix: what to do if `found` is not a higher number, after which an upgrade helps.

    >>> other_format("the study", 1, 3, "Start another with --output")
    'the study has format 1, and this version of Polygraph reads format 3. Start another with --output'
    >>> other_format("the study", 4, 3, "Start another with --output")
    'the study has format 4, and this version of Polygraph reads format 3. Upgrade with: pip install -U polygraph-rag'
    """
    if isinstance(found, int) and found > known:
        fix = "Upgrade with: pip install -U polygraph-rag"
    return f"{what} has format {str(found)[:20]}, and this version of Polygraph reads format {known}. {fix}"


class PolygraphError(Exception):
    """Base class of all errors that Polygraph raises on purpose."""

    exit_code = 1


class UserError(PolygraphError):
    """The user can fix it; the message says how."""

    exit_code = 2


class BadInput(UserError):
    """A path, question, option or file that cannot be used."""


class UnknownMethod(UserError):
    """There is no method of that name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(sorted(known))
        bases = ", ".join(other for other in self.known if ":" not in other)
        close = get_close_matches(name, self.known, n=1, cutoff=_CLOSE)
        meant = f"Did you mean {close[0]}? " if close else ""
        super().__init__(
            f"there is no method {name!r}. {meant}Choose one of: {bases}; or a preset from: polygraph methods --full"
        )


class MissingLayer(UserError):
    """The index lacks a layer that a method needs."""

    def __init__(self, method: str, missing: Iterable[str], index: str) -> None:
        self.method = method
        self.missing = tuple(sorted(missing))
        layers = ", ".join(self.missing)
        super().__init__(
            f"{method} needs {layers}, which this index does not have (or has out of date). "
            f"Add it with: polygraph index --index {quoted(index)} --for {method}"
        )


class IndexUnreadable(UserError):
    """There is no index at a path, or it cannot be opened."""


class IndexMismatch(UserError):
    """The index was built with other settings or models than the current ones."""


class IndexLocked(UserError):
    """Another process is writing to the index."""


class MissingExtra(UserError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what = what
        self.extra = extra
        super().__init__(
            f'{what} needs the extra {extra!r}. Install it with: pip install "polygraph-rag[{extra}]"'
        )


class ModelRefused(UserError):
    """The endpoint rejects the key, the model's name or the request; retrying cannot help."""


class StorageFailed(UserError):
    """The disk is full or the folder cannot be written."""


class WorkFailed(PolygraphError):
    """The work failed."""


class NothingExtracted(WorkFailed):
    """A build extracted nothing from any text."""


class ModelUnavailable(WorkFailed):
    """The model did not answer after all retries."""


class WorkerLost(WorkFailed):
    """A worker of a cluster ended during its work; the work can be repeated."""


class BudgetReached(WorkFailed):
    """The cap on tokens or cost was reached; finished work is kept."""


class UnusableReply(WorkFailed):
    """A model's reply could not be used, even after the repair round.

    Attributes:
        problem: what is wrong with it, phrased so that the model can act on it.
        raw: the reply as received.
        instruction: what the repair round tells the model to write instead; empty if the problem says it.
    """

    def __init__(self, problem: str, raw: str = "", *, instruction: str = "") -> None:
        self.problem = problem
        self.raw = raw
        self.instruction = instruction
        super().__init__(
            f"the model's reply could not be used: {problem}. Try again, or use another model (POLYGRAPH_CHAT_MODEL)"
        )


class RequestsWaiting(PolygraphError):
    """Requests in batch files wait for replies. Nothing failed; the same command continues when replies have arrived.

    Attributes:
        files: files written by this command, in order.
        written: number of requests in them.
        earlier: number of requests that wait in files of earlier rounds.
    """

    exit_code = 3

    def __init__(
        self,
        message: str = "a request waits for its reply",
        *,
        files: Iterable[Path] = (),
        written: int = 0,
        earlier: int = 0,
    ) -> None:
        self.files = tuple(files)
        self.written = written
        self.earlier = earlier
        super().__init__(message)
