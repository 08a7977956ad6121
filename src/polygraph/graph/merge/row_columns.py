"""Extraction rows of one document as columns: what merging needs of them, read once."""

from collections.abc import Iterable, Mapping
from json import dumps
from math import nan
from typing import Any, TypeAlias

from polygraph.columnar import Draft
from polygraph.graph.reports.sentence_quality import pieces, quality
from polygraph.records import Extraction

Slots: TypeAlias = Mapping[tuple[str, str], int]
"""Number of a name, by ``(window id, name as written)``."""


def read_rows(
    extractions: Iterable[Extraction], slots: Slots, chunks: Mapping[str, int], language: str = ""
) -> tuple[Draft, list[str]]:
    """Turn rows into columns.

    An entity row without spans rests on the chunks of its relations in the same window, else on every chunk
    that the window's rows name.

    Args:
        extractions: of one document, each window once, in any order.
        slots: rows of the table ``names``; the relations of a name that is not among them lead nowhere.
        chunks: number of each chunk in its document.
        language: of the texts; if it is given, they are judged as sentences for reports.

    Returns:
        The tables ``mentions``, ``places``, ``links`` and ``link_places`` (see `columns.TABLES`), the column `quality`
        of the texts, and these.

    Raises:
        KeyError: if a row names a chunk that `chunks` lacks.
    """
    reader = _Reader(slots, chunks)
    for extraction in extractions:
        reader.read(extraction)
    texts = list(reader.texts)
    if language:
        reader.draft["texts"] = {"quality": [_quality(text, language) for text in texts]}
    return reader.draft, texts


def _quality(text: str, language: str) -> float:
    """Of a text that is one tidy sentence; others are judged piece by piece."""
    return quality(text, language) if pieces(text, language) == [text] else nan


class _Reader:
    def __init__(self, slots: Slots, chunks: Mapping[str, int]) -> None:
        self._slots, self._chunks = slots, chunks
        self.texts: dict[str, int] = {}
        self._mentions: dict[str, list[Any]] = {c: [] for c in ("name", "type", "n", "start", "text")}
        self._places: dict[str, list[Any]] = {c: [] for c in ("mention", "chunk")}
        self._links: dict[str, list[Any]] = {
            c: [] for c in ("source", "target", "predicate", "keywords", "strength", "text")
        }
        self._link_places: dict[str, list[Any]] = {c: [] for c in ("link", "chunk")}
        self.draft: Draft = {
            "mentions": self._mentions,
            "places": self._places,
            "links": self._links,
            "link_places": self._link_places,
        }

    def read(self, extraction: Extraction) -> None:
        window, number = extraction.window, self._chunks
        by_name: dict[str, set[int]] = {}
        everywhere: set[int] = set()
        if any(not row.spans for row in extraction.entities):
            for relation in extraction.relations:
                for name in (relation.source, relation.target):
                    by_name.setdefault(name, set()).update(number[chunk] for chunk in relation.chunks)
        if by_name or any(not relation.chunks for relation in extraction.relations):
            everywhere.update(number[span.chunk] for row in extraction.entities for span in row.spans)
            everywhere.update(number[chunk] for relation in extraction.relations for chunk in relation.chunks)

        for row in extraction.entities:
            slot = self._slots.get((window, row.name), -1)
            start = 0
            if row.spans:
                chunks = {number[span.chunk] for span in row.spans}
                _, start = min([(number[span.chunk], span.start) for span in row.spans])
            else:
                chunks = by_name.get(row.name) or everywhere
            mentions = self._mentions
            _place(self._places, "mention", len(mentions["name"]), chunks)
            mentions["name"].append(slot)
            mentions["type"].append(row.type or None)
            mentions["n"].append(len(row.spans) or 1)
            mentions["start"].append(start)
            mentions["text"].append(self._text(row.description))

        for relation in extraction.relations:
            links = self._links
            chunks = {number[chunk] for chunk in relation.chunks} or everywhere
            _place(self._link_places, "link", len(links["source"]), chunks)
            links["source"].append(self._slots.get((window, relation.source), -1))
            links["target"].append(self._slots.get((window, relation.target), -1))
            links["predicate"].append(relation.predicate or None)
            links["keywords"].append(dumps(relation.keywords) if relation.keywords else None)
            links["strength"].append(relation.strength)
            links["text"].append(self._text(relation.description))

    def _text(self, text: str) -> int:
        text = text.strip()
        return self.texts.setdefault(text, len(self.texts)) if text else -1


def _place(places: dict[str, list[Any]], of: str, row: int, chunks: set[int]) -> None:
    places[of] += [row] * len(chunks)
    places["chunk"] += sorted(chunks)
