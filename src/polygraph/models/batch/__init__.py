"""Batch files: requests written out, replies read back."""
