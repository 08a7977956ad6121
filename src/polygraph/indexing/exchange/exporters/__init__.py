"""Formats that an index is exported to."""
