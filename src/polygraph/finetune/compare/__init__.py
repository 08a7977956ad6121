"""Comparison of a plain and a tuned reader behind the same retrievals."""
