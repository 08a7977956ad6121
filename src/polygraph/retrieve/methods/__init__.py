"""One file for each retrieval method."""
