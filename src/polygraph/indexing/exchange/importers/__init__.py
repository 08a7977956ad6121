"""Formats that an index is made from: our own export, and graphs of other programs.

`detect` finds the format of a folder. Each format of a graph has a reader, which gives a `SourceGraph`;
`align_text_units` and `convert` turn that into documents, chunks and rows of an index. `jsonl` reads an export.
"""

IMPORTED_ROOT = "<imported>"
"""Stored in place of the folder of imported documents, which no import names."""
