"""The extraction rows of an index as columns, and the former graph, from which the next one is made.

They lie in ``derived/rows-VERSION`` and ``derived/former-VERSION``, where VERSION is that of the graph which the tables
show; `index.sqlite` notes it, and the documents whose rows changed since, in the same transactions as the changes
themselves. So what is kept can be trusted after any crash, and if it is missing or damaged everything is read from
the tables again.
"""

import json
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from polygraph.columnar import Columns, Gathering, Qualities, append, known_qualities, mapped
from polygraph.columnar.memory import let_go
from polygraph.extract.resolution.constraints import Constraints
from polygraph.extract.resolution.document_features import extract_features
from polygraph.extract.resolution.records import Mention
from polygraph.graph.merge.diff import FormerGraph
from polygraph.graph.merge.merge import Merged
from polygraph.graph.merge.row_columns import read_rows
from polygraph.records import Extraction, digest
from polygraph.store.atomic_files import damage, write_folder
from polygraph.store.database import ROWS
from polygraph.store.protocol import Store

READING = "3"
"""Names how rows become columns; raised whenever these may hold something else, or are written another way."""
_ROWS, _FORMER = "rows", "former"
_MARKS = "marks.bin"
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


@dataclass(frozen=True, slots=True)
class Rows:
    """What the next graph is made of."""

    version: str
    """Of the graph."""
    columns: Columns
    """The rows of all documents."""
    former: FormerGraph | None
    """The graph that the tables show, if it is known."""


def rows_of(
    store: Store, version: str, apart: Collection[tuple[str, str]], language: str, *, again: bool = False
) -> Rows:
    """Bring the kept rows in step with the tables; they count once `keep_rows` was called.

    Args:
        store: open for writing.
        version: of the graph that is to be made.
        apart: the user's decisions, which reading the names follows.
        language: of the documents.
        again: read everything from the tables, whatever was kept.
    """
    constraints, about = Constraints(apart), _about(apart, language)
    before, target = _folder(store), _place(store, version)
    kept = not again and before is not None and not damage(before, thorough=True)
    kept = kept and before is not None and _text(before / _ABOUT).get("about") == about
    changed = store.extractions.changed_documents() if kept else None
    former = _former(store) if kept else None
    if before == target:
        if kept and not changed:
            return Rows(version, Columns.load(target), former)
        # Whatever happens from here on, what takes the place of these rows must not be taken for them.
        with store.transaction():
            store.set_meta(ROWS, None)

    def fill(place: Path) -> None:
        (place / _ABOUT).write_text(json.dumps({"about": about}), encoding="utf-8")
        with TemporaryDirectory(dir=target.parent, prefix=f"{_ROWS}-", ignore_cleanup_errors=True) as scratch:
            new = _gathered(store, Path(scratch), changed, constraints, language)
            if kept and before is not None:
                Columns.load(before).replaced(changed or (), new, place)
            else:
                new.save(place)

    target.parent.mkdir(parents=True, exist_ok=True)
    write_folder(target, fill, sealed=True)
    return Rows(version, Columns.load(target), former)


def write_former(store: Store, rows: Rows, merged: Merged | None) -> None:
    """Keep of a graph what the next one is compared with.

    Args:
        store: open for writing.
        rows: what it was made of.
        merged: the graph; None if the tables will show something else than what was merged.
    """

    def fill(place: Path) -> None:
        about: dict[str, object] = {}
        if merged is not None:
            former, begins = FormerGraph.of(merged), {}
            with (place / _MARKS).open("wb") as file:
                for name in _ARRAYS:
                    column = getattr(former, name)
                    begins[name] = (append(file, [column]), str(column.dtype), len(column))
                    let_go(column)
            about |= {"ids": former.ids, "predicates": former.predicates, "columns": begins}
        (place / _ABOUT).write_text(json.dumps(about), encoding="utf-8")

    write_folder(_place(store, rows.version, _FORMER), fill, sealed=True)


def keep_rows(store: Store, rows: Rows) -> None:
    """Note, in the transaction that changes the tables, which rows belong to them."""
    store.set_meta(ROWS, rows.version)
    store.extractions.clear_changed()


def sweep_rows(store: Store) -> None:
    """Delete the rows of former graphs; no reader looks at them."""
    for kind in (_ROWS, _FORMER):
        kept = _folder(store, kind)
        for old in (store.folder / "derived").glob(f"{kind}-*"):
            if kept is None or old.name != kept.name:
                shutil.rmtree(old, ignore_errors=True)


def _about(apart: Collection[tuple[str, str]], language: str) -> str:
    return digest(READING, language, *(f"{a}\n{b}" for a, b in sorted(apart)))


def _folder(store: Store, kind: str = _ROWS) -> Path | None:
    version = store.meta(ROWS)
    return None if version is None else _place(store, version, kind)


def _place(store: Store, version: str, kind: str = _ROWS) -> Path:
    return store.folder / "derived" / f"{kind}-{version[:12]}"


def _text(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _former(store: Store) -> FormerGraph | None:
    folder = _folder(store, _FORMER)
    if folder is None or damage(folder, thorough=True):
        return None
    about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    if "columns" not in about:
        return None
    arrays = {
        name: mapped((folder / _MARKS, begin, np.dtype(dtype), n))
        for name, (begin, dtype, n) in about["columns"].items()
    }
    return FormerGraph(ids=about["ids"], predicates=about["predicates"], **arrays)


def qualities(store: Store, apart: Collection[tuple[str, str]], language: str) -> Qualities | None:
    """How well texts read by themselves, as far as it is known."""
    folder = _folder(store)
    # Of other rows than the present ones it would be as true.
    if folder is None or damage(folder) or _text(folder / _ABOUT).get("about") != _about(apart, language):
        return None
    return known_qualities(folder)


def _gathered(
    store: Store, scratch: Path, documents: Collection[str] | None, constraints: Constraints, language: str
) -> Columns:
    """Read the rows of some documents or of all (None), one document at a time."""
    gathering = Gathering(scratch)
    for document, group in groupby(store.extractions.iterate(documents), key=itemgetter(0)):
        extractions = [extraction for _, extraction in group]
        slots, names = extract_features(document, list(_mentions(document, extractions)), constraints)
        numbers = {slot: i for i, slot in enumerate(slots)}
        draft, texts = read_rows(extractions, numbers, store.documents.chunk_ordinals(document), language)
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
            )
