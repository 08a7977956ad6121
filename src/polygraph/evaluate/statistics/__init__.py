"""Intervals, tests and rankings over the results of several methods."""
