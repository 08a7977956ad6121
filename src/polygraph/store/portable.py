"""The tables of an index as plain rows, by which an index moves from one store to another.

A store whose tables look different presents these ones. Values are text, numbers and None; lists and objects are JSON.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

PortableTable: TypeAlias = Literal[
    "meta",
    "documents",
    "unread",
    "chunks",
    "tables",
    "passage_lengths",
    "windows",
    "entity_rows",
    "relation_rows",
    "reread",
    "same_answers",
    "name_lists",
    "entity_decisions",
    "merges",
    "name_pairs",
    "lost_relations",
    "entities",
    "names",
    "relations",
    "triples",
    "summaries",
    "written_summaries",
    "communities",
    "members",
    "reports",
    "written",
]
PORTABLE_TABLES: tuple[PortableTable, ...] = get_args(PortableTable)
"""Every table but that of layers, which a store keeps together with their files (`Store.put_layer`)."""

PortableRow: TypeAlias = tuple[Any, ...]
"""The values of a row, in the order of `columns_of`."""

COLUMNS: Mapping[PortableTable, tuple[str, str]] = {
    "meta": ("key", "value"),
    "documents": ("id", "root source title text metadata hash"),
    "unread": ("path", "root reason"),
    "chunks": ("id", "n document ordinal start end text n_tokens metadata"),
    "tables": ("document ordinal", "title columns rows spans"),
    "passage_lengths": ("chunk", "n_tokens"),
    "windows": ("id", "document ordinal first last extractor status problem raw"),
    "entity_rows": ("window seq", "name type description spans"),
    "relation_rows": ("window seq", "source target predicate keywords description strength chunks"),
    "reread": ("document", ""),
    "same_answers": ("key", "same"),
    "name_lists": ("key", "groups"),
    "entity_decisions": ("n", "kind a b"),
    "merges": ("entity name document rule other", "score evidence"),
    "name_pairs": ("entity other name other_name", "decision rule score evidence"),
    "lost_relations": ("window seq", "reason entity"),
    "entities": ("n", "id name type aliases descriptions chunks degree"),
    "names": ("name entity", ""),
    "relations": ("n", "source target predicates keywords descriptions weight chunks"),
    "triples": ("n", "source target predicate weight chunks"),
    "summaries": ("kind n", "text"),
    "written_summaries": ("key", "text written_by chunks"),
    "communities": ("id", "level parent entities chunks"),
    "members": ("entity community", ""),
    "reports": ("community", "level title summary findings rating chunks weight written_by"),
    "written": ("key", "value"),
}
"""The columns of each table, separated by spaces: those by which rows are ordered, and the others."""


def columns_of(table: PortableTable) -> list[str]:
    """Return the columns of a table, in the order of the values of its rows.

    >>> columns_of("summaries")
    ['kind', 'n', 'text']
    """
    return " ".join(COLUMNS[table]).split()
