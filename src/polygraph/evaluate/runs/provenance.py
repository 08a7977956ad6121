"""What a measured result rests on, part by part, so that a later run can tell what has changed since."""

import inspect
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from polygraph.records import digest
from polygraph.retrieve.base import Method

_DIGITS = 12
"""Hexadecimal digits of a part: enough to tell one state from another."""
_ELSEWHERE = frozenset({"cli", "estimate", "exchange", "sample", "testing"})
"""Parts of the package that no result rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Digests of all that the result of one question and method depends on."""

    question: str
    """Its text and gold."""
    method: str
    """Its name and parameters."""
    index: str
    """Versions of the layers that the method reads, which follow documents, settings and embedders."""
    models: str
    """That write or order: chat model and cross-encoder."""
    options: str
    """Filter, budget, depth."""
    code: str
    """Of Polygraph, and of the method where it is your own."""

    @property
    def key(self) -> str:
        """One digest of them all."""
        return digest(*self.as_dict().values())

    def as_dict(self) -> dict[str, str]:
        """By name, for a line of the file."""
        return asdict(self)


NAMES = tuple(f.name for f in fields(Grounds))
"""Of the parts, in the order in which they are told."""


def short(*parts: str) -> str:
    """A digest of a part."""
    return digest(*parts)[:_DIGITS]


def code_of(method: Method) -> str:
    """Digest of the code that a method runs on: the release alone would not tell of a change within it."""
    return short(_package(), _own(type(method)))


def code_under(root: Traversable) -> str:
    """Digest of the modules and prompts of a package, by path; parts that no result rests on are left out."""
    return digest(*(part for name, text in _texts(root, "") for part in (name, text)))


def _texts(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        name = f"{path}{each.name}"
        if each.is_dir():
            if name not in _ELSEWHERE:
                yield from _texts(each, f"{name}/")
        elif name.endswith((".py", ".md")):
            yield name, each.read_text(encoding="utf-8")


@cache
def _package() -> str:
    return code_under(files("polygraph"))


@cache
def _own(method: type) -> str:
    """Text of the module of a method that is not ours; empty where there is none, as at a prompt."""
    if method.__module__.startswith("polygraph."):
        return ""
    try:
        return Path(inspect.getfile(method)).read_text(encoding="utf-8", errors="replace")
    except (OSError, TypeError):
        return ""
