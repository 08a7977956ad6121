"""The Python API: an index with its models.

- `index`: the class `Index`, with the verbs of the command line as methods.
- `asking`: how it retrieves and answers.
- `entities`: entities, why names are one, and corrections.
- `places`: folders, databases and published indexes by name.
- `method_plan`: what an estimate knows of a method.
- `per_document`: a question asked of each document by itself.
- `graph_map`, `graph_picture`: the graph laid out, and as an image.
- `json_views`: records as plain values for JSON.
"""

from polygraph.retrieve.stream import Event
from polygraph.workspace.index import Index

__all__ = ["Event", "Index"]
