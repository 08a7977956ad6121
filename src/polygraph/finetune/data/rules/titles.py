"""Titles by which a question names a document."""

import re
from collections import Counter

from polygraph.store.snapshot import Snapshot

_MIN, _MAX = 5, 140
"""Characters."""
_ODD = re.compile(r"[\"“”<>|{}\[\]]")


def unique_titles(index: Snapshot) -> dict[str, str]:
    """Return titles by document id, of documents that have one of a usable length that no other document has."""
    titles = {i: " ".join(title.split()) for i, title, _ in index.store.documents.headers()}
    counts = Counter(title.casefold() for title in titles.values())
    return {
        i: title
        for i, title in titles.items()
        if counts[title.casefold()] == 1 and _MIN <= len(title) <= _MAX and not _ODD.search(title)
    }
