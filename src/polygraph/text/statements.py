"""Predicates of relations written as sentences."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

_INFLECTED: Mapping[str, str] = MappingProxyType({"be": "is", "have": "has", "do": "does"})
"""The parser's predicates are lemmas."""


def statement(source: str, predicate: str, target: str) -> str:
    """Write subject, predicate and object one after the other.

    >>> statement("Mara Quill", "be keeper of", "Skerry Light")
    'Mara Quill is keeper of Skerry Light'
    """
    first, space, rest = predicate.partition(" ")
    return f"{source} {_INFLECTED.get(first, first)}{space}{rest} {target}"


def statements(predicates: Sequence[str], source: str, target: str) -> str:
    """Write predicates as sentences; those of the other direction begin with ``<-``.

    >>> statements(["<-is father of", "be"], "Honora Vane", "Papa")
    'Papa is father of Honora Vane. Honora Vane is Papa.'
    """
    written = []
    for predicate in predicates:
        if predicate.startswith("<-"):
            written.append(f"{statement(target, predicate.removeprefix('<-'), source)}.")
        else:
            written.append(f"{statement(source, predicate, target)}.")
    return " ".join(dict.fromkeys(written))
