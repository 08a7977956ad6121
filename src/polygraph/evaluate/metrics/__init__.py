"""Scores of answers and rankings against a gold standard."""
