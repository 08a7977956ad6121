"""Intervals, tests, agreement and rankings over the results of several methods."""
