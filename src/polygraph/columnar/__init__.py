"""Rows of many documents as arrays: what is read from each document once, and worked on for all of them together.

A hundred thousand chunks give some millions of rows; as objects they would fill the memory, and reading them from
the tables would take longer than working on them. Here each table is a few arrays, ordered by document, strings are
numbers in pools, and texts lie in one stretch of bytes. Documents can be taken out and put in. All of it lies in a few
files, and only what a step asks for is in memory, while it is asked for.

```
names      what one window calls something: a row for each name of each window
mentions   entity rows; `places` are their chunks, in the order of the mentions
links      relation rows; `link_places` are their chunks, in the order of the links
texts      descriptions, each once for a document
```
References between tables count from the first row of the document.
"""

from polygraph.columnar.builder import Gathering
from polygraph.columnar.dataset import Columns
from polygraph.columnar.group_sort import blocks, by_group, running, whole_groups
from polygraph.columnar.memmap import Column, Spill, claim, room
from polygraph.columnar.tables import (
    POOLS,
    TABLES,
    Array,
    Draft,
    Mapped,
    Place,
    Table,
    append,
    cumulated,
    interleaved,
    mapped,
    row_type,
)
from polygraph.columnar.text_scores import Qualities, known_qualities, text_hash

__all__ = [
    "POOLS",
    "TABLES",
    "Array",
    "Column",
    "Columns",
    "Draft",
    "Gathering",
    "Mapped",
    "Place",
    "Qualities",
    "Spill",
    "Table",
    "append",
    "blocks",
    "by_group",
    "claim",
    "cumulated",
    "interleaved",
    "known_qualities",
    "mapped",
    "room",
    "row_type",
    "running",
    "text_hash",
    "whole_groups",
]
