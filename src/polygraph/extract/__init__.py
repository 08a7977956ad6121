"""From windows of text to extraction rows, and from rows to entities.

`llm` reads with a language model, `nlp` without one; both hand over the same rows. `locate` finds where a
name stands in the text, `resolve` decides which names are one entity.
"""
