"""The graph: merged view of the extraction rows, arrays to walk on, communities and their reports."""
