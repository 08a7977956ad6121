"""Implementations of the model protocols."""
