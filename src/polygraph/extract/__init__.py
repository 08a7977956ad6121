"""From windows of text to extraction rows, and from rows to entities.

`llm` extracts with a language model, `nlp` without one; both return the same rows. `locate` finds the spans of a
name in the text. `resolution` decides which mentions are one entity. `titles` finds the passages that mention the
title of a document.
"""
