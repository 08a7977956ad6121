"""What a document says of the names in it, as a model is shown it that decides which names are one entity."""

from collections.abc import Sequence


def descriptions_by_name(rows: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """Return what a document says of each name that it describes.

    The rows of a name hold parts of one description, each with the passage that it rests on. Those of the first window
    that describes the name are joined again.

    Args:
        rows: window, name and description of each entity row of the document, in their order.

    >>> descriptions_by_name([("d@0", "Lind", "A clerk;"), ("d@0", "Lind", "left in 1890."), ("d@1", "Lind", "Rich.")])
    {'Lind': 'A clerk; left in 1890.'}
    """
    first: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    for window, name, text in rows:
        if (said := text.strip()) and first.setdefault(name, window) == window:
            parts.setdefault(name, []).append(said)
    return {name: " ".join(some) for name, some in parts.items()}
