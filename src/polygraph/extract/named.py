"""The names of all windows, as the steps of resolution work on them."""

from collections import Counter

import numpy as np

from polygraph.columns import Array, Columns
from polygraph.extract.decisions import Decisions
from polygraph.extract.evidence import Evidence, Name
from polygraph.extract.mentioned import evidence_from_text, name_of
from polygraph.extract.resolution import RULES, Rule, Side

_COMMON = 0.2
"""A name in more than this share of the documents (and in more than three) is nobody's company."""
_MANY = 1000
"""So many windows are looked through quicker by arrays."""
_HELD = 8_192
"""Windows whose names are held as strings, since they are asked for several times."""


class Names:
    """The table ``names`` with what follows from it; rows are in the order of (document, window, name)."""

    def __init__(self, columns: Columns, decisions: Decisions) -> None:
        table = columns["names"]
        self.documents = columns.documents
        self.document = table.document()
        self.strings, self.types = columns.pools["names"], columns.pools["types"]
        self.written, self.type, self.base = table["written"], table["type"], table["base"]
        self.rule, self.score = table["rule"].copy(), table["score"].copy()
        """Changed as names meet."""
        self.told, self.several = table["told"], table["several"]
        self.decisions = decisions
        self._evidence: dict[int, Evidence] = {}
        self._evidence_texts = columns.pools["evidence"]
        self._near = table["near"].astype(np.bool_)
        self.low = self._written_low()
        # Windows are numbered in each document from 0.
        first = np.ones(len(table), dtype=np.bool_)
        first[1:] = (np.diff(self.document) != 0) | (np.diff(table["window"]) != 0)
        self._window = np.cumsum(first, dtype=np.int32) - 1
        self._window_starts = np.append(np.flatnonzero(first), len(table))
        self._company: dict[int, frozenset[str]] = {}
        self._common = self._find_common()

    def __len__(self) -> int:
        return len(self.base)

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
        return self.decisions.sides(self.name(row).key, self.documents[self.document[row]])

    def meet(self, rows: Array, rule: Rule, score: float, *, at_most: bool = False) -> None:
        """Note by which rule some rows met others, and how certain that is (`at_most`: or less, as it was)."""
        self.rule[rows] = RULES.index(rule)
        self.score[rows] = np.minimum(self.score[rows], score) if at_most else score

    def type_counts(self, rows: Array) -> Counter[str]:
        """How often each type occurs among some rows."""
        if len(rows) < 16:  # where counting by arrays takes longer
            return Counter([self.types[number] for number in self.type[rows].tolist()])
        counts = np.bincount(self.type[rows], minlength=len(self.types))
        return Counter({self.types[number]: int(counts[number]) for number in np.flatnonzero(counts)})

    def first_of_each_name(self, rows: Array) -> list[int]:
        """The first row of each name as written, in the order of `rows`."""
        _, first = np.unique(self.written[rows], return_index=True)
        return [int(row) for row in rows[np.sort(first)]]

    def company(self, row: int) -> frozenset[str]:
        """Names that stand in the window of a row, without those that stand nearly everywhere."""
        return self._in_window(int(self._window[row]))

    def company_of(self, rows: Array) -> set[str]:
        """The same for some rows together."""
        windows = np.unique(self._window[rows])
        if len(windows) < _MANY:
            return set().union(*(self._in_window(int(window)) for window in windows))
        mark = np.zeros(len(self._window_starts) - 1, dtype=np.bool_)
        mark[windows] = True
        return self._strings_of(np.unique(self.base[mark[self._window] & self._near]))

    def _in_window(self, window: int) -> frozenset[str]:
        found = self._company.get(window)
        if found is None:
            rows = slice(int(self._window_starts[window]), int(self._window_starts[window + 1]))
            found = frozenset(self._strings_of(self.base[rows][self._near[rows]]))
            if len(self._company) >= _HELD:
                self._company.clear()
            self._company[window] = found
        return found

    def _strings_of(self, bases: Array) -> set[str]:
        return {self.strings[base] for base in bases.tolist() if base not in self._common}

    def _find_common(self) -> set[int]:
        pairs = np.unique(
            self.base[self._near].astype(np.int64) * len(self.documents) + self.document[self._near]
        )
        if not len(pairs):
            return set()
        counts = np.bincount(pairs // len(self.documents))
        n_documents = len(np.unique(self.document[self.base >= 0]))
        return {int(base) for base in np.flatnonzero(counts > max(3, _COMMON * n_documents))}

    def _written_low(self) -> Array:
        # The same for every type, so that each spelling is looked at once.
        used = np.zeros(len(self.strings), dtype=np.bool_)
        used[self.written] = True
        low = np.zeros(len(self.strings), dtype=np.bool_)
        for number in np.flatnonzero(used):
            low[number] = not any(c.isupper() for c in self.strings[number])
        return low[self.written]
