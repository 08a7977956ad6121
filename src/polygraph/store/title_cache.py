"""What documents say, read again only where it may have changed.

It lies in the folder of the layer `names`, so it is as sound as that layer. A document is known again by a mark of all
that its passages are made of; titles that came or went since tell which of the others must be read again.
"""

from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.columnar.memmap import room
from polygraph.extract.titles.find_titles import Keys, Said, Titles, read_document, title_key
from polygraph.extract.titles.title_table import Sayings
from polygraph.records import digest
from polygraph.revisions import TITLES
from polygraph.store.protocol import Store


def say(store: Store, chunker: str, former: Sayings | None, folder: Path | None = None) -> Sayings:
    """What the documents of an index say.

    Args:
        store: open.
        chunker: identifies how documents are cut.
        former: what was found before, in whatever documents. The result is the same without it.
        folder: for the files where the result lies, as for `Spill`.
    """
    # Read row by row, and several times: of all documents only the titles are in memory.
    titles = Titles(title for _, _, title in store.documents.chunked())
    settings = digest(TITLES, chunker)
    marks = np.fromiter((_mark(settings, i, h) for i, h, _ in store.documents.chunked()), dtype=np.uint64)
    places = np.full(len(marks), -1) if former is None else _kept(former, titles, marks)

    def anew() -> Iterator[tuple[int, int, Said]]:
        for (document, _, title), mark, place in zip(store.documents.chunked(), marks, places, strict=True):
            if place < 0:
                texts = [chunk.text for chunk in store.documents.chunks_of(document)]
                yield int(mark), title_key(title), read_document(texts, titles)

    read = Sayings.of(anew(), folder)
    if former is None:
        return read
    numbers = np.where(places < 0, np.cumsum(places < 0) - 1, places).tolist()
    order = [("", int(place < 0), n) for place, n in zip(places.tolist(), numbers, strict=True)]
    return former.with_those(read, order, partial(room, folder=folder))


def _kept(former: Sayings, titles: Titles, marks: Keys) -> NDArray[np.int64]:
    """Where each document stands among the former; -1 for one that must be read."""
    before = former.titles
    now = np.fromiter(titles.words, dtype=np.uint64)
    new = np.setdiff1d(now, before).tolist()
    gone = np.setdiff1d(before[before != 0], now).tolist()
    touched = former.touched(gone, [titles.words[key] for key in new])
    order = np.argsort(former.marks, kind="stable")
    order = order[~touched[order]]
    if not len(order):
        return np.full(len(marks), -1)
    place = order[np.minimum(np.searchsorted(former.marks[order], marks), len(order) - 1)]
    return np.where(former.marks[place] == marks, place, -1)


def _mark(settings: str, document: str, content: str) -> int:
    told = f"{settings}\n{content}\n{document}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(told, digest_size=8).digest(), "little")
