"""Judges, protocols, judgements and their agreement."""
