"""Runs: studies of answers, and measurements of retrieval."""
