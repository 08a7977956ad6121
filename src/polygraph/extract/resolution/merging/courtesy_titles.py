"""Texts that give people a courtesy title with their full names, and one person the full name alone.

Such a text, like a prize list or the minutes of a school, tells a child or a pupil apart by leaving ``Mr.`` out, so
that the ``Mr.`` of another text is hardly the same person. Newspapers that write the full name first and ``Mr.`` with
the surname later are no such texts: they give no title with full names.
"""

from polygraph.arrays import Array
from polygraph.extract.resolution.mentions.mention_table import MentionTable

_WORDS = """
mr mrs herr hr herrn frau fru monsieur madame mme señor senor señora senora signor signore signora senhor senhora don
doña dona meneer mijnheer mevrouw
"""
COURTESY_TITLES = frozenset(_WORDS.split())
_MIN_TITLED = 3
"""People whom a text calls by such a title and their full name."""


def is_title_left_out(table: MentionTable, rows: Array) -> bool:
    """Return whether each text that mentions a full name leaves out a courtesy title that it gives to others.

    Args:
        table: of all mentions.
        rows: of one full name.
    """
    if any(table.name(row).titles for row in table.first_of_each_spelling(rows)):
        return False
    documents = sorted(set(table.document(rows).tolist()))
    return all(_n_titled(table, document) >= _MIN_TITLED for document in documents)


def _n_titled(table: MentionTable, document: int) -> int:
    """Return how many people a text calls by a courtesy title and a full name."""
    names = [table.name(row) for row in table.first_of_each_spelling(table.rows_of(document))]
    return len({name.base for name in names if len(name.words) > 1 and name.titles & COURTESY_TITLES})
