"""The mentions of all documents, ordered by base name: the table that all stages of resolution read."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from polygraph.columnar import Array, Columns, blocks, by_group, room, row_type, whole_groups
from polygraph.columnar.memory import let_go
from polygraph.extract.resolution.attributes import Attributes
from polygraph.extract.resolution.constraints import ConstraintKey, Constraints
from polygraph.extract.resolution.name_parts import NameParts, split_typed_name
from polygraph.extract.resolution.records import RULES, Rule

_FREQUENT = 0.2
"""A name in more than this share of the documents (and in more than three) is no context name."""
_CACHED_WINDOWS = 1_024
"""Windows whose context names are cached, since they are needed several times."""
_WINDOWS_AT_ONCE = 1 << 12
"""Windows whose names are looked up at once."""
_ROWS_BETWEEN_RELEASES = 1 << 16
"""Rows that are read before the pages of the mapped columns are released."""


class MentionTable:
    """The table ``names`` in the order of (base name, document, window, name), rows without a base name last.

    The rows of one base name are adjacent. The columns are memory-mapped; memory holds the pages read recently and
    a few numbers for each distinct name.

    Args:
        columns: the tables of all documents.
        constraints: of the user.
        folder: for temporary files, as for `polygraph.columnar.room`.
    """

    def __init__(self, columns: Columns, constraints: Constraints, folder: Path | None = None) -> None:
        table = columns["names"]
        self.constraints = constraints
        self.documents, self._offsets = columns.documents, table.offsets
        self.strings, self.types = columns.pools["names"], columns.pools["types"]
        self._folder, self._n, self._n_read = folder, len(table), 0
        self._attributes: dict[int, Attributes] = {}
        self._attributes_json = columns.pools["evidence"]
        self._table_bases, self._is_context = table["base"], table["near"]
        """In the order of the table, where the names of one window are adjacent."""
        self._window_starts = self._starts_of_windows(table["window"])
        self._context: dict[int, frozenset[str]] = {}
        self._frequent = self._frequent_names()

        self.bases, rank = self._sorted_bases()
        """Each base name once, ascending."""
        self.ends, self._positions = by_group(
            lambda: ((rank[self._table_bases[rows]], rows) for rows in self._row_blocks()),
            len(self.bases) + 1,
            row_type(self._n),
            folder,
        )
        """Where the rows of each base name start, then the rows without one, then the end of the table."""
        self.rows = room(self._n, row_type(self._n), folder)
        """All row numbers, ascending; those of one base name may be reordered."""
        for rows in self._row_blocks():
            self.rows[rows] = rows
        self.written = self._reordered(table["written"])
        self.type = self._reordered(table["type"])
        self.attribute_ids = self._reordered(table["told"])
        """For `attributes`; -1 if no attribute is known."""
        self.has_namesake = self._reordered(table["several"])
        """Whether the description refers to another entity of the same name."""
        self.rule = self._reordered(table["rule"])
        self.score = self._reordered(table["score"])
        """Updated by `record_merge`, like `rule`."""
        self._is_lower_case = self._strings_without_capitals()

    def __len__(self) -> int:
        return self._n

    def positions(self, rows: Array) -> Array:
        """Return the positions of rows in the table ``names``."""
        return np.asarray(self._positions[rows])

    def document(self, rows: Array | int) -> Array:
        """Return the document numbers of rows, or of one row."""
        return np.searchsorted(self._offsets, self._positions[rows], side="right") - 1

    def base(self, row: int) -> str:
        """Return the base name of a row that has one."""
        return self.bases[int(np.searchsorted(self.ends, row, side="right")) - 1]

    def name(self, row: int) -> NameParts:
        """Return the parts of the name of a row."""
        return split_typed_name(self.strings[self.written[row]], self.types[self.type[row]])

    def attributes(self, number: int) -> Attributes:
        """Return attributes by their number in `attribute_ids`; they are shared and must not be changed."""
        found = self._attributes.get(number)
        if found is None:
            found = Attributes.from_json(self._attributes_json[number]) if number >= 0 else Attributes()
            self._attributes[number] = found
        return found

    def constraint_keys(self, row: int) -> frozenset[ConstraintKey]:
        """Return the keys of the user's constraints that a row matches."""
        if not self.constraints:
            return frozenset()
        return self.constraints.keys(self.name(row).key, self.documents[int(self.document(row))])

    def record_merge(self, rows: Array, rule: Rule, score: float, *, at_most: bool = False) -> None:
        """Set the rule by which rows were merged, and its score.

        Args:
            rows: the merged rows.
            rule: of the merge.
            score: in (0, 1].
            at_most: keep lower scores of earlier merges.
        """
        self.rule[rows] = RULES.index(rule)
        self.score[rows] = np.minimum(self.score[rows], score) if at_most else score
        self.count_reads(len(rows))

    def type_counts(self, rows: Array) -> Counter[str]:
        """Count the types of rows."""
        self.count_reads(len(rows))
        if len(rows) < 16:  # counting by arrays takes longer
            return Counter([self.types[number] for number in self.type[rows].tolist()])
        counts = np.bincount(self.type[rows], minlength=len(self.types))
        return Counter({self.types[number]: int(counts[number]) for number in np.flatnonzero(counts)})

    def first_of_each_spelling(self, rows: Array) -> list[int]:
        """Return the first row of each name as written, in the order of `rows`."""
        _, first = np.unique(self.written[rows], return_index=True)
        return [int(row) for row in rows[np.sort(first)]]

    def all_lower_case(self, rows: Array) -> bool:
        """Return whether none of the names has a capital."""
        return bool(self._is_lower_case[self.written[rows]].all())

    def context_names(self, row: int) -> frozenset[str]:
        """Return the base names that co-occur in the window of a row, without names that are frequent everywhere."""
        window = int(self._windows_of(row))
        found = self._context.get(window)
        if found is None:
            found = frozenset(self.strings[base] for base in self._names_in(np.array([window])).tolist())
            if len(self._context) >= _CACHED_WINDOWS:
                self._context.clear()
            self._context[window] = found
        return found

    def context_ids(self, rows: Array) -> Array:
        """Return the context names of rows of one base name, without that name, as ascending numbers."""
        if not len(rows):
            return np.zeros(0, dtype=np.int32)
        found = self._names_in(np.unique(self._windows_of(rows)))
        return np.asarray(found[found != self._table_bases[self._positions[rows[0]]]])

    def count_reads(self, n: int) -> None:
        """Count `n` rows as read; release the pages of the columns from time to time."""
        self._n_read += n
        if self._n_read > _ROWS_BETWEEN_RELEASES:
            self._n_read = 0
            let_go(self._positions, self.rows, self.written, self.type, self.attribute_ids, self.has_namesake)
            let_go(self.rule, self.score, self._table_bases, self._is_context)

    # --- building the table -------------------------------------------------------------------------

    def _row_blocks(self) -> Iterator[Array]:
        for rows in blocks(self._n):
            yield rows
            let_go(self._table_bases, self._is_context)

    def _starts_of_windows(self, window: Array) -> Array:
        """Return where each window starts in the table, then its end; windows are numbered from 0 per document."""
        found: list[Array] = [self._offsets[:-1][np.diff(self._offsets) > 0], np.array([self._n])]
        for rows in blocks(self._n):
            part = window[max(int(rows[0]) - 1, 0) : int(rows[-1]) + 1]
            found.append(np.flatnonzero(np.diff(part)) + int(rows[-1]) + 2 - len(part))
            let_go(window)
        return np.unique(np.concatenate(found).astype(np.int64))

    def _sorted_bases(self) -> tuple[list[str], Array]:
        """Return the base names, and the rank of each string among them (strings that are none rank last)."""
        used = np.zeros(len(self.strings) + 1, dtype=np.bool_)  # the last one for rows without a base name
        for rows in self._row_blocks():
            used[self._table_bases[rows]] = True
        numbers = sorted(np.flatnonzero(used[:-1]).tolist(), key=self.strings.__getitem__)
        rank = np.full(len(used), len(numbers), dtype=np.int32)
        rank[numbers] = np.arange(len(numbers))
        return [self.strings[number] for number in numbers], rank

    def _reordered(self, column: Array) -> Array:
        """Return a column of the table in the order of the rows."""
        found = room(self._n, column.dtype, self._folder)
        for rows in blocks(self._n):
            found[rows] = column[self._positions[rows]]
            let_go(found, column, self._positions)
        return found

    def _windows_of(self, rows: Array | int) -> Array:
        return np.searchsorted(self._window_starts, self._positions[rows], side="right") - 1

    def _names_in(self, windows: Array) -> Array:
        found = np.zeros(0, dtype=np.int32)
        for at in range(0, len(windows), _WINDOWS_AT_ONCE):
            some = windows[at : at + _WINDOWS_AT_ONCE]
            begin = self._window_starts[some]
            sizes = self._window_starts[some + 1] - begin
            rows = np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
            bases = self._table_bases[rows]
            found = np.union1d(found, bases[self._is_context[rows] != 0])
            self.count_reads(len(rows))
        return np.setdiff1d(found, self._frequent, assume_unique=True)

    def _frequent_names(self) -> Array:
        counts, n_documents = np.zeros(len(self.strings), dtype=np.int64), 0
        for first, last in whole_groups(self._offsets):
            part = slice(int(self._offsets[first]), int(self._offsets[last]))
            base, is_context = self._table_bases[part], self._is_context[part] != 0
            document = np.repeat(np.arange(last - first), np.diff(self._offsets[first : last + 1]))
            n_documents += len(np.unique(document[base >= 0]))
            pairs = np.unique(base[is_context] * np.int64(last - first) + document[is_context])
            counts += np.bincount(pairs // (last - first), minlength=len(counts))
            let_go(self._table_bases, self._is_context)
        return np.flatnonzero(counts > max(3, _FREQUENT * n_documents))

    def _strings_without_capitals(self) -> Array:
        return np.array([not any(c.isupper() for c in string) for string in self.strings], dtype=np.bool_)
