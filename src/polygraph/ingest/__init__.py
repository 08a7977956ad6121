"""Files to documents to chunks.

`find_files` finds the files of a path; `read_documents` reads their documents one by one, `load_documents` all at once.
A file or record that cannot be read is listed with its reason, and the rest is read. Each family of formats has a
module of `readers`; `formats` says which reads which. `layout` turns tables and pages into text. `chunk` cuts documents
in chunks and windows.
"""

from polygraph.ingest.discover import SourceFile, Unread, path_text
from polygraph.ingest.formats import FORMATS
from polygraph.ingest.ignore import EVERYTHING, Selection, select
from polygraph.ingest.load import (
    Documents,
    DocumentStream,
    Loaded,
    ReadText,
    SourceFiles,
    find_files,
    find_sources,
    load_documents,
    read_documents,
    read_source,
    read_sources,
)

__all__ = [
    "EVERYTHING",
    "FORMATS",
    "DocumentStream",
    "Documents",
    "Loaded",
    "ReadText",
    "Selection",
    "SourceFile",
    "SourceFiles",
    "Unread",
    "find_files",
    "find_sources",
    "load_documents",
    "path_text",
    "read_documents",
    "read_source",
    "read_sources",
    "select",
]
