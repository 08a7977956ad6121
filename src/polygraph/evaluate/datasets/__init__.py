"""Public data sets and corpora, read from their published files."""
