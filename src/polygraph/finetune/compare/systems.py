"""The systems that GRAFT compares: two retrievals, each with a plain and a tuned reader."""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.evaluate.records import TUNED_MARK, is_tuned, method_of

_PAPER_NAMES = {
    "naive:graft": "RAG",
    f"naive:graft{TUNED_MARK}": "RAFT",
    "graft:paper": "GraphRAG",
    f"graft:paper{TUNED_MARK}": "GRAFT",
}
"""Three passages by cosine, and one community summary (Jin, Yu and Kokoromyti, sections 4.2 and 5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Two systems that differ in one part."""

    a: str
    b: str
    part: str
    """What differs."""


def name_of(system: str) -> str:
    """Return the name that the paper gives a system; else the method and the reader.

    >>> name_of("graft:paper+tuned"), name_of("bm25+tuned"), name_of("bm25")
    ('GRAFT', 'bm25, tuned', 'bm25, plain')
    """
    return _PAPER_NAMES.get(system, f"{method_of(system)}, {'tuned' if is_tuned(system) else 'plain'}")


def systems_of(methods: Sequence[str]) -> tuple[str, ...]:
    """Return each method with the plain reader, then with the tuned one."""
    return tuple(name for method in methods for name in (method, method + TUNED_MARK))


def contrasts_of(methods: Sequence[str]) -> tuple[Contrast, ...]:
    """Return the pairs that differ in the reader alone, then those that differ in the retrieval alone."""
    readers = [Contrast(a=m + TUNED_MARK, b=m, part="reader") for m in methods]
    retrievals = [
        Contrast(a=b + mark, b=a + mark, part="retrieval")
        for mark in ("", TUNED_MARK)
        for i, a in enumerate(methods)
        for b in methods[i + 1 :]
    ]
    return (*readers, *retrievals)
