"""Provenance of a result: digests of everything it depends on, so that a later run detects what has changed."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from polygraph.records import digest
from polygraph.retrieve.base import Method

_DIGITS = 12
"""Hexadecimal digits of a part's digest."""
_UNRELATED = frozenset({"cli", "indexing/estimate", "indexing/exchange", "sample", "testing"})
"""Sub-packages that no result depends on."""


def part_digest(*texts: str) -> str:
    """Return the digest of one part."""
    return digest(*texts)[:_DIGITS]


def code_digest(method: Method) -> str:
    """Return the digest of the code that a method runs; the version alone would miss changes within a release."""
    return part_digest(polygraph_digest(), own_source(type(method)))


def parameters_text(method: Method) -> str:
    """Return the parameters of a method as text that is the same in every process, whatever the order of sets."""
    listed = fields(method)  # type: ignore[arg-type]
    return repr([(f.name, _ordered(getattr(method, f.name))) for f in listed])


def _ordered(value: object) -> object:
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, Mapping):
        return sorted((repr(k), repr(_ordered(v))) for k, v in value.items())
    if isinstance(value, tuple | list):
        return [_ordered(item) for item in value]
    return value


def package_digest(root: Traversable) -> str:
    """Return the digest of the modules and prompts of a package, by path, without unrelated sub-packages."""
    return digest(*(part for name, text in _texts(root, "") for part in (name, text)))


def _texts(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        name = f"{path}{each.name}"
        if each.is_dir():
            if name not in _UNRELATED:
                yield from _texts(each, f"{name}/")
        elif name.endswith((".py", ".md")):
            yield name, each.read_text(encoding="utf-8")


@cache
def polygraph_digest() -> str:
    """Return the digest of the installed package."""
    return package_digest(files("polygraph"))


@cache
def own_source(method: type) -> str:
    """Return the source of the module of a user's method; empty if there is none, as in an interactive session."""
    if method.__module__.startswith("polygraph."):
        return ""
    try:
        return Path(inspect.getfile(method)).read_text(encoding="utf-8", errors="replace")
    except (OSError, TypeError):
        return ""
