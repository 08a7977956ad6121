"""The names of all windows, as the steps of resolution work on them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from polygraph.columnar import Array, Columns, blocks, by_group, room, row_type, whole_groups
from polygraph.columnar.memory import let_go
from polygraph.extract.resolution.attributes import Evidence, Name
from polygraph.extract.resolution.constraints import Decisions
from polygraph.extract.resolution.document_features import evidence_from_text, name_of
from polygraph.extract.resolution.records import RULES, Rule, Side

_COMMON = 0.2
"""A name in more than this share of the documents (and in more than three) is nobody's company."""
_HELD = 1_024
"""Windows whose names are held as strings, since they are asked for several times."""
_WINDOWS = 1 << 12
"""Windows whose names are looked up at once."""
_READ = 1 << 16
"""Rows after which what was read of the columns is let go."""


class Names:
    """The table ``names`` with what follows from it.

    Rows come in the order of (base, document, window, name), those without a base last. So what a step needs of one
    name lies together; the columns are in files, and in memory is what was read lately, with some numbers for each
    different name.

    Args:
        columns: the tables.
        decisions: of the user.
        folder: for the files, as for `spill.room`.
    """

    def __init__(self, columns: Columns, decisions: Decisions, folder: Path | None = None) -> None:
        table = columns["names"]
        self.decisions = decisions
        self.documents, self._offsets = columns.documents, table.offsets
        self.strings, self.types = columns.pools["names"], columns.pools["types"]
        self._folder, self._n, self._n_read = folder, len(table), 0
        self._evidence: dict[int, Evidence] = {}
        self._evidence_texts = columns.pools["evidence"]
        self._bases, self._near = table["base"], table["near"]
        """In the order of the table, in which names of one window lie together."""
        self._window_starts = self._starts(table["window"])
        self._company: dict[int, frozenset[str]] = {}
        self._common = self._find_common()

        self.bases, rank = self._ranked()
        """Each base once, ascending."""
        self.ends, self._place = by_group(
            lambda: ((rank[self._bases[rows]], rows) for rows in self._blocks()),
            len(self.bases) + 1,
            row_type(self._n),
            folder,
        )
        """Where the rows of each base begin, of those without one, and where the last ones end."""
        self.rows = room(self._n, row_type(self._n), folder)
        """All of them, ascending; those of one base may be put in another order."""
        for rows in self._blocks():
            self.rows[rows] = rows
        self.written = self._in_order(table["written"])
        self.type = self._in_order(table["type"])
        self.told = self._in_order(table["told"])
        self.several = self._in_order(table["several"])
        self.rule = self._in_order(table["rule"])
        self.score = self._in_order(table["score"])
        """Changed as names meet, as `rule` is."""
        self._low = self._without_capitals()

    def __len__(self) -> int:
        return self._n

    def place(self, rows: Array) -> Array:
        """Where some rows stand in the table."""
        return np.asarray(self._place[rows])

    def document(self, rows: Array | int) -> Array:
        """Numbers of the documents of some rows, or of one."""
        return np.searchsorted(self._offsets, self._place[rows], side="right") - 1

    def base(self, row: int) -> str:
        """The base of a row that has one."""
        return self.bases[int(np.searchsorted(self.ends, row, side="right")) - 1]

    def name(self, row: int) -> Name:
        """The name of a row, taken apart."""
        return name_of(self.strings[self.written[row]], self.types[self.type[row]])

    def evidence(self, number: int) -> Evidence:
        """Evidence by its number in the column `told`; shared, so it must not be changed."""
        found = self._evidence.get(number)
        if found is None:
            found = evidence_from_text(self._evidence_texts[number]) if number >= 0 else Evidence()
            self._evidence[number] = found
        return found

    def sides(self, row: int) -> frozenset[Side]:
        """Sides of the user's decisions that a row matches."""
        if not self.decisions:
            return frozenset()
        return self.decisions.sides(self.name(row).key, self.documents[int(self.document(row))])

    def meet(self, rows: Array, rule: Rule, score: float, *, at_most: bool = False) -> None:
        """Note by which rule some rows met others, and how certain that is (`at_most`: or less, as it was)."""
        self.rule[rows] = RULES.index(rule)
        self.score[rows] = np.minimum(self.score[rows], score) if at_most else score
        self.rest(len(rows))

    def type_counts(self, rows: Array) -> Counter[str]:
        """How often each type occurs among some rows."""
        self.rest(len(rows))
        if len(rows) < 16:  # where counting by arrays takes longer
            return Counter([self.types[number] for number in self.type[rows].tolist()])
        counts = np.bincount(self.type[rows], minlength=len(self.types))
        return Counter({self.types[number]: int(counts[number]) for number in np.flatnonzero(counts)})

    def first_of_each_name(self, rows: Array) -> list[int]:
        """The first row of each name as written, in the order of `rows`."""
        _, first = np.unique(self.written[rows], return_index=True)
        return [int(row) for row in rows[np.sort(first)]]

    def low(self, rows: Array) -> bool:
        """Whether none of some names has a capital."""
        return bool(self._low[self.written[rows]].all())

    def company(self, row: int) -> frozenset[str]:
        """Names that stand in the window of a row, without those that stand nearly everywhere."""
        window = int(self._windows_of(row))
        found = self._company.get(window)
        if found is None:
            found = frozenset(self.strings[base] for base in self._in_windows(np.array([window])).tolist())
            if len(self._company) >= _HELD:
                self._company.clear()
            self._company[window] = found
        return found

    def company_of(self, rows: Array) -> Array:
        """The same for rows of one base together, as numbers, ascending; without the base."""
        if not len(rows):
            return np.zeros(0, dtype=np.int32)
        found = self._in_windows(np.unique(self._windows_of(rows)))
        return np.asarray(found[found != self._bases[self._place[rows[0]]]])

    def rest(self, n: int) -> None:
        """Note that `n` rows were read; what was read lately is let go from time to time."""
        self._n_read += n
        if self._n_read > _READ:
            self._n_read = 0
            let_go(self._place, self.rows, self.written, self.type, self.told, self.several, self.rule)
            let_go(self.score, self._bases, self._near)

    # --- parts --------------------------------------------------------------------------------------

    def _blocks(self) -> Iterator[Array]:
        for rows in blocks(self._n):
            yield rows
            let_go(self._bases, self._near)

    def _starts(self, window: Array) -> Array:
        """Where each window begins in the table, and the last one ends; in each document they count from 0."""
        found: list[Array] = [self._offsets[:-1][np.diff(self._offsets) > 0], np.array([self._n])]
        for rows in blocks(self._n):
            part = window[max(int(rows[0]) - 1, 0) : int(rows[-1]) + 1]
            found.append(np.flatnonzero(np.diff(part)) + int(rows[-1]) + 2 - len(part))
            let_go(window)
        return np.unique(np.concatenate(found).astype(np.int64))

    def _ranked(self) -> tuple[list[str], Array]:
        """Bases, and of each string its number among them, as many as there are for one that is none."""
        used = np.zeros(len(self.strings) + 1, dtype=np.bool_)  # the last one for no base
        for rows in self._blocks():
            used[self._bases[rows]] = True
        numbers = sorted(np.flatnonzero(used[:-1]).tolist(), key=self.strings.__getitem__)
        rank = np.full(len(used), len(numbers), dtype=np.int32)
        rank[numbers] = np.arange(len(numbers))
        return [self.strings[number] for number in numbers], rank

    def _in_order(self, column: Array) -> Array:
        """A column of the table in the order of the rows."""
        found = room(self._n, column.dtype, self._folder)
        for rows in blocks(self._n):
            found[rows] = column[self._place[rows]]
            let_go(found, column, self._place)
        return found

    def _windows_of(self, rows: Array | int) -> Array:
        return np.searchsorted(self._window_starts, self._place[rows], side="right") - 1

    def _in_windows(self, windows: Array) -> Array:
        found = np.zeros(0, dtype=np.int32)
        for at in range(0, len(windows), _WINDOWS):
            some = windows[at : at + _WINDOWS]
            begin = self._window_starts[some]
            sizes = self._window_starts[some + 1] - begin
            rows = np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
            bases = self._bases[rows]
            found = np.union1d(found, bases[self._near[rows] != 0])
            self.rest(len(rows))
        return np.setdiff1d(found, self._common, assume_unique=True)

    def _find_common(self) -> Array:
        counts, n_documents = np.zeros(len(self.strings), dtype=np.int64), 0
        for first, last in whole_groups(self._offsets):
            part = slice(int(self._offsets[first]), int(self._offsets[last]))
            base, near = self._bases[part], self._near[part] != 0
            document = np.repeat(np.arange(last - first), np.diff(self._offsets[first : last + 1]))
            n_documents += len(np.unique(document[base >= 0]))
            pairs = np.unique(base[near] * np.int64(last - first) + document[near])
            counts += np.bincount(pairs // (last - first), minlength=len(counts))
            let_go(self._bases, self._near)
        return np.flatnonzero(counts > max(3, _COMMON * n_documents))

    def _without_capitals(self) -> Array:
        # The same for every type, so that each spelling is looked at once.
        return np.array([not any(c.isupper() for c in string) for string in self.strings], dtype=np.bool_)
