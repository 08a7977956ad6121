"""Formats of other programs' graphs that an index is made from."""
