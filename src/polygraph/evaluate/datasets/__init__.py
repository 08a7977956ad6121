"""Public data sets and corpora, read from the files in which they are published."""
