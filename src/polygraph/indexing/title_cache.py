"""Incremental update of the title matches of changed documents.

The result lies in the folder of the layer `names`, so it is as sound as that layer. A document is recognised by a
fingerprint of all that its passages are made of; titles that came or went since decide which of the others must be
read again.
"""

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from polygraph.arrays import Array, look_up
from polygraph.extract.titles.find_titles import DocumentTitles, TitleFinder, find_document_titles, title_key
from polygraph.extract.titles.title_table import Keys, TitleTable
from polygraph.records import digest
from polygraph.revisions import TITLES
from polygraph.store.protocol import Store


def refresh_titles(store: Store, chunker: str, previous: TitleTable | None) -> TitleTable:
    """Find the names in the passages of an index.

    Args:
        store: open.
        chunker: identifies how documents are cut.
        previous: what was found before, in whatever documents. The result is the same without it.
    """
    # Read row by row, and several times: of all documents only the titles are in memory.
    titles = TitleFinder(title for _, _, title in store.documents.chunked())
    settings = digest(TITLES, chunker)
    fingerprints = np.fromiter(
        (_fingerprint(settings, i, content) for i, content, _ in store.documents.chunked()), dtype=np.uint64
    )
    places = np.full(len(fingerprints), -1) if previous is None else _reusable(previous, titles, fingerprints)

    def read() -> Iterator[tuple[int, int, DocumentTitles]]:
        documents = zip(store.documents.chunked(), fingerprints.tolist(), places.tolist(), strict=True)
        for (document, _, title), fingerprint, place in documents:
            if place < 0:
                texts = [chunk.text for chunk in store.documents.chunks_of(document)]
                yield fingerprint, title_key(title), find_document_titles(texts, titles)

    found = TitleTable.of(read())
    if previous is None:
        return found
    return previous.select(found, np.where(places < 0, len(previous) + np.cumsum(places < 0) - 1, places))


def _reusable(previous: TitleTable, titles: TitleFinder, fingerprints: Keys) -> Array:
    """Return the number of each document in the previous table, -1 for one that must be read."""
    before = previous.titles
    now = np.fromiter(titles.words, dtype=np.uint64)
    new = np.setdiff1d(now, before).tolist()
    gone = np.setdiff1d(before[before != 0], now).tolist()
    affected = previous.affected(gone, [titles.words[key] for key in new])
    order = np.argsort(previous.fingerprints, kind="stable")
    order = order[~affected[order]]
    return look_up(previous.fingerprints[order], order, fingerprints, missing=-1)


def _fingerprint(settings: str, document: str, content: str) -> int:
    text = f"{settings}\n{content}\n{document}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
