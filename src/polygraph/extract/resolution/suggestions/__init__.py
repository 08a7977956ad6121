"""Pairs of names that no rule merges and that a model or a reader is asked about.

`corpus_pairs` and `text_pairs` leave pairs undecided by rules: those whose names are alike (`similar_names`), and those
that one text suggests. `name_lists` asks a reader of lists; `name_blocks` puts names that may be one into one list.
"""
