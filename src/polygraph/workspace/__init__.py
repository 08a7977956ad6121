"""The Python API: an index with its models."""

from polygraph.workspace.index import Event, Index

__all__ = ["Event", "Index"]
