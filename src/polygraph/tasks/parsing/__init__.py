"""Tolerant parsers for replies: short texts, JSON also if broken, lists of texts, citations."""
