r"""Export to CSV for ``neo4j-admin database import``: documents, chunks, entities, communities and their relationships.

Labels, relationship types and columns are constants, so text of documents cannot change what is imported. Every text is
quoted, and quotes in it are doubled. Texts are not made safe for spreadsheets: a name that begins with ``=`` stays as
it is, so do not open these files in one.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from polygraph.indexing.exchange.exporters.folder import write_export
from polygraph.indexing.exchange.exporters.records import Row, described, finished_layers, rows
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import StoreReader

LIST_SEPARATOR = "\x1f"
"""Between the items of a list; no text holds it. The option is ``--array-delimiter=U+001F``."""

Cell: TypeAlias = "str | int | float | list[str]"
Stream: TypeAlias = Callable[[str], Iterator[Row]]

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


def export_neo4j(store: StoreReader, manifest: Manifest, output: Path) -> dict[str, int]:
    """Write a CSV file with a typed header for each kind of node and of relationship.

    Control characters other than tab and line feed are left out of texts.
    """
    layers = finished_layers(store, manifest)

    def stream(kind: str) -> Iterator[Row]:
        return rows(store, kind, layers)

    def fill(place: Path) -> dict[str, int]:
        counts = {}
        for name, (header, lines) in _FILES.items():
            counts[name] = 0
            with (place / name).open("w", encoding="utf-8", newline="") as file:
                file.write(f"{header}\n")
                for cells in lines(stream):
                    file.write(csv_line(cells))
                    counts[name] += 1
        return counts

    return write_export(output, "neo4j", fill, {})


def csv_line(cells: Iterable[Cell]) -> str:
    r"""Return a line of CSV: every text quoted, numbers bare, lists joined by `LIST_SEPARATOR`.

    >>> csv_line(['=1+1', 'the "Wren" sank', 2, ["a;b", "c\x1f"]])
    '"=1+1","the ""Wren"" sank",2,"a;b\x1fc"\n'
    """
    return ",".join(_cell(cell) for cell in cells) + "\n"


def _cell(cell: Cell) -> str:
    if isinstance(cell, list):
        return _quoted(LIST_SEPARATOR.join(_plain(item) for item in cell))
    return _quoted(_plain(cell)) if isinstance(cell, str) else repr(cell)


def _plain(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""'))


def _documents(stream: Stream) -> Iterator[list[Cell]]:
    for d in stream("documents"):
        yield [d["id"], d["title"], json.dumps(d["metadata"], ensure_ascii=False, sort_keys=True)]


def _chunks(stream: Stream) -> Iterator[list[Cell]]:
    for c in stream("chunks"):
        yield [c["id"], c["ordinal"], c["start"], c["end"], c["n_tokens"], c["text"]]


def _entities(stream: Stream) -> Iterator[list[Cell]]:
    for e in stream("entities"):
        yield [e["id"], e["name"], e["type"], e["aliases"], e["degree"], described(e)]


def _communities(stream: Stream) -> Iterator[list[Cell]]:
    reports = stream("reports")  # in the order of communities, as those are
    report = next(reports, None)
    for c in stream("communities"):
        while report is not None and report["community"] < c["id"]:
            report = next(reports, None)
        if report is None or report["community"] != c["id"]:
            yield [c["id"], c["level"], "", "", [], 0.0]
            continue
        findings = [f"{f['summary']} {f['explanation']}".strip() for f in report["findings"]]
        yield [c["id"], c["level"], report["title"], report["summary"], findings, float(report["rating"])]


def _relations(stream: Stream) -> Iterator[list[Cell]]:
    for r in stream("relations"):
        yield [
            r["source"], r["target"], float(r["weight"]), r["predicates"], r["keywords"], described(r), r["chunks"]
        ]  # fmt: skip


def _parts(stream: Stream) -> Iterator[list[Cell]]:
    for c in stream("chunks"):
        yield [c["id"], c["document"]]


def _mentions(stream: Stream) -> Iterator[list[Cell]]:
    for e in stream("entities"):
        for chunk in e["chunks"]:
            yield [e["id"], chunk]


def _members(stream: Stream) -> Iterator[list[Cell]]:
    for c in stream("communities"):
        for entity in c["entities"]:
            yield [entity, c["id"]]


def _parents(stream: Stream) -> Iterator[list[Cell]]:
    for c in stream("communities"):
        if c["parent"]:
            yield [c["id"], c["parent"]]


_FILES: Mapping[str, tuple[str, Callable[[Stream], Iterator[list[Cell]]]]] = {
    "documents.csv": ("id:ID(Document),title,metadata", _documents),
    "chunks.csv": ("id:ID(Chunk),ordinal:long,start:long,end:long,n_tokens:long,text", _chunks),
    "entities.csv": ("id:ID(Entity),name,type,aliases:string[],degree:long,description", _entities),
    "communities.csv": (
        "id:ID(Community),level:long,title,summary,findings:string[],rating:double",
        _communities,
    ),
    "relations.csv": (
        ":START_ID(Entity),:END_ID(Entity),weight:double,predicates:string[],keywords:string[],description,"
        "chunks:string[]",
        _relations,
    ),
    "part_of.csv": (":START_ID(Chunk),:END_ID(Document)", _parts),
    "mentioned_in.csv": (":START_ID(Entity),:END_ID(Chunk)", _mentions),
    "member_of.csv": (":START_ID(Entity),:END_ID(Community)", _members),
    "within.csv": (":START_ID(Community),:END_ID(Community)", _parents),
}
