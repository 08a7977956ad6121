"""Formats an index is written to."""
