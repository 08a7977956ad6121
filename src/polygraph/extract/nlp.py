"""Extraction without a language model (signature settled; being written)."""

from collections.abc import Callable, Iterator, Sequence

from polygraph.records import Extraction, Window


def extract(
    windows: Sequence[Window],
    *,
    language: str = "en",
    processes: int = 0,
    on_done: Callable[[int], None] | None = None,
    notes: list[str] | None = None,
) -> Iterator[Extraction]:
    """Read windows without a language model, in their order."""
    for window in windows:
        if on_done is not None:
            on_done(1)
        yield Extraction(window=window.id)
