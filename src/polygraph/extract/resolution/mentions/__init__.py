"""Mentions with their features: what the stages of resolution read.

`document_features` works on one document: base names, aliases within the document (`aliases`), attributes, statements,
context names. Its results are kept while the document is the same. `mention_table` holds those of all documents.
"""
