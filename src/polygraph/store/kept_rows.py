"""The extraction rows of an index as columns, and the former graph, from which the next one is made.

They lie in ``derived/rows-VERSION``, where VERSION is that of the graph which the tables show; `index.sqlite` notes
it, and the documents whose rows changed since, in the same transactions as the changes themselves. So what is kept
can be trusted after any crash, and if it is missing or damaged everything is read from the tables again.
"""

import json
import shutil
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from polygraph.columns import Columns, Gathering, Qualities, known_qualities
from polygraph.extract.decisions import Decisions
from polygraph.extract.mentioned import read_names
from polygraph.extract.resolution import Mention
from polygraph.graph.former import FormerGraph
from polygraph.graph.merging import Merged
from polygraph.graph.rows import read_rows
from polygraph.records import Extraction, digest
from polygraph.store.files import damage, write_folder
from polygraph.store.sqlite import ROWS, Store

READING = "2"
"""Names how rows become columns; raised whenever `read_names`, `read_rows` or `quality` may give something else."""
_MARKS = "marks.npz"
_ABOUT = "about.json"


_ARRAYS = (
    "entity_marks",
    "sources",
    "targets",
    "relation_marks",
    "triple_sources",
    "triple_targets",
    "triple_predicates",
    "triple_marks",
)


def rows_of(
    store: Store, apart: Collection[tuple[str, str]], language: str, *, again: bool = False
) -> tuple[Columns, FormerGraph | None]:
    """The rows of all documents, and the graph that the tables show, if it is known.

    Args:
        store: open for writing.
        apart: the user's decisions, which reading the names follows.
        language: of the documents.
        again: read everything from the tables, whatever was kept.
    """
    decisions = Decisions(apart)
    about = _about(apart, language)
    folder = _folder(store)
    if (
        again
        or folder is None
        or damage(folder, thorough=True)
        or _text(folder / _ABOUT).get("about") != about
    ):
        return _gathered(store, None, decisions, language), None
    columns = Columns.load(folder)
    changed = store.reread()
    if changed:
        columns = columns.replaced(changed, _gathered(store, changed, decisions, language))
    return columns, _former(folder)


def write_rows(
    store: Store,
    version: str,
    columns: Columns,
    merged: Merged | None,
    apart: Collection[tuple[str, str]],
    language: str,
) -> None:
    """Keep what the next build needs; it counts once `keep_rows` was called.

    Args:
        store: open for writing.
        version: of the graph.
        columns: from `rows_of`.
        merged: what the tables will show; None if they will show something else.
        apart: as for `rows_of`.
        language: the same.
    """

    def fill(place: Path) -> None:
        columns.save(place)
        about: dict[str, object] = {"about": _about(apart, language), "graph": merged is not None}
        if merged is not None:
            former = FormerGraph.of(merged)
            np.savez(place / _MARKS, **{name: getattr(former, name) for name in _ARRAYS})
            about |= {"ids": former.ids, "predicates": former.predicates}
        (place / _ABOUT).write_text(json.dumps(about), encoding="utf-8")

    write_folder(_place(store, version), fill, sealed=True)


def keep_rows(store: Store, version: str) -> None:
    """Note, in the transaction that changes the tables, which rows belong to them."""
    store.set_meta(ROWS, version)
    store.forget_reread()


def sweep_rows(store: Store) -> None:
    """Delete the rows of former graphs; no reader looks at them."""
    folder = _folder(store)
    for old in (store.folder / "derived").glob("rows-*"):
        if folder is None or old.name != folder.name:
            shutil.rmtree(old, ignore_errors=True)


def _about(apart: Collection[tuple[str, str]], language: str) -> str:
    return digest(READING, language, *(f"{a}\n{b}" for a, b in sorted(apart)))


def _folder(store: Store) -> Path | None:
    version = store.meta(ROWS)
    return None if version is None else _place(store, version)


def _place(store: Store, version: str) -> Path:
    return store.folder / "derived" / f"rows-{version[:12]}"


def _text(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _former(folder: Path) -> FormerGraph | None:
    about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    if not about["graph"]:
        return None
    with np.load(folder / _MARKS) as arrays:
        return FormerGraph(
            ids=about["ids"], predicates=about["predicates"], **{name: arrays[name] for name in _ARRAYS}
        )


def qualities(store: Store, apart: Collection[tuple[str, str]], language: str) -> Qualities | None:
    """How well texts read by themselves, as far as it is known."""
    folder = _folder(store)
    # Of other rows than the present ones it would be as true.
    if folder is None or damage(folder) or _text(folder / _ABOUT).get("about") != _about(apart, language):
        return None
    return known_qualities(folder)


def _gathered(
    store: Store, documents: Collection[str] | None, decisions: Decisions, language: str
) -> Columns:
    """Read the rows of some documents or of all, one document at a time."""
    gathering = Gathering()
    for document, group in groupby(store.extractions(documents), key=itemgetter(0)):
        extractions = [extraction for _, extraction in group]
        slots, names = read_names(document, list(_mentions(document, extractions)), decisions)
        numbers = {slot: i for i, slot in enumerate(slots)}
        draft, texts = read_rows(extractions, numbers, store.chunks_in(document), language)
        gathering.add(document, {**draft, "names": names}, texts)
    return gathering.columns()


def _mentions(document: str, extractions: list[Extraction]) -> Iterator[Mention]:
    for extraction in extractions:
        for row in extraction.entities:
            yield Mention(
                document=document,
                window=extraction.window,
                name=row.name,
                type=row.type,
                description=row.description,
                chunks=tuple(dict.fromkeys(span.chunk for span in row.spans)),
            )
