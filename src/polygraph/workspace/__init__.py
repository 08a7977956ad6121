"""The Python API: an index with its models."""

from polygraph.retrieve.stream import Event
from polygraph.workspace.index import Index

__all__ = ["Event", "Index"]
