"""Extraction by a language model: request, reply formats, parsing."""
