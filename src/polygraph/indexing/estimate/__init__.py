"""What indexing and asking will cost, before anything is paid.

`estimate` works the stages out in the order of the build: documents are loaded and chunked, requests for extraction
are rendered and counted, and what ``calls.sqlite`` answers already is free. How much a model will extract and write
comes from what it wrote before (`model_profile`, `transfer`, `pilot`), and makes the range. The size of the graph is
found by simulation (`simulated_graph`). `run` does it for an index in a folder, and `reconcile` compares the estimate
with what was spent.
"""
