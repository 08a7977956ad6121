"""Extraction without a language model: names, noun phrases and dependency triples."""
