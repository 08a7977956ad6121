"""Polygraph: every GraphRAG method over one index, and an honest test of which one to trust."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polygraph.records import Answer, Citation, Document, Evidence, Retrieval, Usage
    from polygraph.workspace.index import Index

__version__ = "0.1.0"

__all__ = ["Answer", "Citation", "Document", "Evidence", "Index", "Retrieval", "Usage", "__version__"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `import polygraph` and `polygraph --help` stay quick.
    if name == "Index":
        from polygraph.workspace.index import Index

        return Index
    if name in __all__:
        from polygraph import records

        return getattr(records, name)
    raise AttributeError(f"module 'polygraph' has no attribute {name!r}")
