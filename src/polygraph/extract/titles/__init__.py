"""Titles and other names of documents, and the passages that mention them."""
