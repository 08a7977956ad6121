"""The mentions of all documents, ordered by base name: the table that all stages of resolution read."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from polygraph.arrays import Array, Table, distinct, group_order, members
from polygraph.extract.resolution.constraints import ConstraintKey, Constraints
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.evidence.statements import APART
from polygraph.extract.resolution.names.name_parts import NameParts, is_capitalized, split_typed_name

_FREQUENT = 0.2
"""A name in more than this share of the documents (and in more than three) is no context name."""
_COMMON = 0.05
"""A name in more than this share of the documents (and in more than three) is weak evidence."""
_CACHED_WINDOWS = 1_024
"""Windows whose context names are cached, since they are needed several times."""


class MentionTable:
    """The names of all windows in the order of (base name, document, window, name), rows without a base name last.

    The rows of one base name are adjacent.

    Args:
        documents: ids, ascending.
        features: of these documents, with the columns `document_features.COLUMNS`.
        constraints: of the user.
        by_model: whether a language model wrote the rows, whose types and relations count.
    """

    def __init__(
        self, documents: Sequence[str], features: Table, constraints: Constraints, *, by_model: bool
    ) -> None:
        self.constraints, self.by_model = constraints, by_model
        self.documents, self._offsets = documents, features.offsets
        self.strings, self.types = features.strings["written"], features.strings["type"]
        self._attributes: dict[int, Attributes] = {}
        self._attributes_json = features.strings["attributes"]
        names = features.strings["base"]
        order = sorted(range(len(names)), key=names.__getitem__)
        self.bases = [names[number] for number in order]
        """Each base name once, ascending."""
        rank = np.full(
            len(names) + 1, len(names), dtype=np.int32
        )  # the last one for rows without a base name
        rank[order] = np.arange(len(names))
        bases = rank[features["base"]]
        starts = self._starts_of_windows(features["window"])
        is_context = features["is_context"] != 0
        is_context &= ~self._frequent_names(bases, is_context)[bases]
        # In the order of the features, where the names of one window are adjacent.
        self._context_bases = bases[is_context]
        self._context_starts = np.append(0, np.cumsum(is_context))[starts]
        """Where the context names of each window start, then their end."""
        self._context: dict[int, frozenset[str]] = {}

        self.ends, self._positions = group_order(bases, len(names) + 1)
        """Where the rows of each base name start, then the rows without one, then the end of the table."""
        self._window = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))[self._positions]
        self.rows = np.arange(len(features), dtype=np.int32)
        """All row numbers, ascending; those of one base name may be reordered."""
        self.written = features["written"][self._positions]
        self.type = features["type"][self._positions]
        self.attribute_ids = features["attributes"][self._positions]
        """For `attributes`; -1 if no attribute is known."""
        self.has_namesake = features["has_namesake"][self._positions]
        """Whether the description refers to another entity of the same name."""
        self.rule = features["rule"][self._positions]
        """By which the document's names gave each row its base name; `score` is that of the rule."""
        self.score = features["score"][self._positions]
        self._row_at: Array | None = None
        """The row of each position among the features, when first asked for."""
        self.links = self._read_links(features)
        """Pairs of rows that a text equates or keeps apart: first row, second row, which, predicate; by row."""
        self.apart_rows: dict[int, set[int]] = defaultdict(set)
        """For a row, those that are kept apart from it."""
        for first, second, link, _ in self.links:
            if link == APART:
                self.apart_rows[first].add(second)
                self.apart_rows[second].add(first)
        self._is_lower_case = np.array(
            [not is_capitalized(string) for string in self.strings], dtype=np.bool_
        )

    def __len__(self) -> int:
        return len(self.rows)

    def positions(self, rows: Array) -> Array:
        """Return the positions of rows among the features."""
        return np.asarray(self._positions[rows])

    def document(self, rows: Array | int) -> Array:
        """Return the document numbers of rows, or of one row."""
        return np.searchsorted(self._offsets, self._positions[rows], side="right") - 1

    def rows_of(self, document: int) -> Array:
        """Return the rows of a document by its number, in its order."""
        if self._row_at is None:
            self._row_at = np.empty(len(self.rows), dtype=np.int32)
            self._row_at[self._positions] = self.rows
        return self._row_at[self._offsets[document] : self._offsets[document + 1]]

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
        document, type_ = self.documents[int(self.document(row))], self.types[self.type[row]]
        own = self.constraints.keys(self.name(row).key, document, type_)
        # An alias stands for a name of its document, and follows it when that name is split.
        return own | self.constraints.split_keys(self.base(row), document, type_)

    def type_counts(self, rows: Array) -> Counter[str]:
        """Count the types of rows."""
        if len(rows) < 16:  # counting by arrays takes longer
            return Counter([self.types[number] for number in self.type[rows].tolist()])
        counts = np.bincount(self.type[rows], minlength=len(self.types))
        return Counter({self.types[number]: int(counts[number]) for number in np.flatnonzero(counts)})

    def first_of_each_spelling(self, rows: Array) -> list[int]:
        """Return the first row of each name as written, in the order of `rows`."""
        # Most entities have few rows, for which arrays take several times as long.
        first: dict[int, int] = {}
        for name, row in zip(self.written[rows].tolist(), rows.tolist(), strict=True):
            first.setdefault(name, row)
        return list(first.values())

    def all_lower_case(self, rows: Array) -> bool:
        """Return whether none of the names has a capital."""
        return bool(self._is_lower_case[self.written[rows]].all())

    def any_lower_case(self, rows: Array) -> bool:
        """Return whether one of the names has no capital."""
        return bool(self._is_lower_case[self.written[rows]].any())

    def context_names(self, rows: Array) -> list[frozenset[str]]:
        """Return the base names that co-occur in the window of each row, without names that are frequent everywhere."""
        return [self._context_of(window) for window in self._window[rows].tolist()]

    def _context_of(self, window: int) -> frozenset[str]:
        found = self._context.get(window)
        if found is None:
            found = frozenset(self.bases[base] for base in self._names_in(np.array([window])).tolist())
            if len(self._context) >= _CACHED_WINDOWS:
                self._context.clear()
            self._context[window] = found
        return found

    def context_ids(self, rows: Array) -> Array:
        """Return the context names of rows of one base name, without that name, as ascending numbers."""
        if not len(rows):
            return np.zeros(0, dtype=np.int32)
        found = self._names_in(distinct(self._window[rows]))
        return np.asarray(found[found != np.searchsorted(self.ends, rows[0], side="right") - 1])

    def windows(self, rows: Array) -> Array:
        """Return the numbers of the windows of rows, ascending."""
        return distinct(self._window[rows])

    # --- building the table -------------------------------------------------------------------------

    def _starts_of_windows(self, window: Array) -> Array:
        """Return where each window starts in the features, then their end; windows are numbered per document."""
        changed = np.ones(len(window) + 1, dtype=np.bool_)
        changed[1:-1] = np.diff(window) != 0
        changed[self._offsets] = True
        return np.flatnonzero(changed)

    def _read_links(self, features: Table) -> list[tuple[int, int, str, str]]:
        numbered = np.flatnonzero(features["links"] >= 0)
        if not len(numbered):
            return []
        row_at = np.empty(len(self.rows), dtype=np.int64)
        row_at[self._positions] = self.rows
        document = np.searchsorted(self._offsets, numbered, side="right") - 1
        found = []
        for position, first in zip(numbered.tolist(), self._offsets[document].tolist(), strict=True):
            for other, link, predicate in json.loads(features.strings["links"][features["links"][position]]):
                found.append((int(row_at[position]), int(row_at[first + other]), link, predicate))
        return sorted(found)

    def _names_in(self, windows: Array) -> Array:
        starts = self._context_starts
        if len(windows) == 1:  # as of most names
            return distinct(self._context_bases[starts[windows[0]] : starts[windows[0] + 1]])
        return distinct(self._context_bases[members(starts, windows)[0]])

    def _frequent_names(self, bases: Array, is_context: Array) -> Array:
        """Return whether each base name is a context name so often that it tells nothing, by number.

        Args:
            bases: number of the base name of each row, in the order of the features.
            is_context: whether that is a context name.
        """
        n = len(self.documents)
        document = np.repeat(np.arange(n), np.diff(self._offsets))
        n_named = len(distinct(document[bases < len(self.bases)]))
        pairs = distinct(bases[is_context].astype(np.int64) * n + document[is_context])
        counts = np.bincount(pairs // max(n, 1), minlength=len(self.bases) + 1)
        self.is_common = counts > max(3, _COMMON * n_named)
        """Whether a base name is a context name in several documents, so that sharing it says little; by number."""
        return np.asarray(counts > max(3, _FREQUENT * n_named))
