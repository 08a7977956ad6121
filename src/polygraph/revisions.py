"""Revisions of the code that derives data from documents.

A layer's version includes the revision of the code that builds it (`store.layers.versions`). Raise a revision whenever
the code gives another result for the same input: layers that were built before are then stale, and are built again.
The constants stand apart from that code so that an index can be opened without loading it.
"""

CHUNKS = "5"
"""Revision of `ingest.chunk` and `text.sentences`: where chunks end. Imported graphs keep the chunks that they have."""

TITLES = "titles-capitals-1"
"""Revision of `extract.titles`: which names a document has, and which titles it mentions."""

EXTRACTION_PROMPT = "3"
"""Revision of `extract.llm`: the text of a window, and what stands around it beside the prompt, which is hashed."""

EXTRACTION_ROWS = "6"
"""Revision of `extract.llm.extractor.to_rows`: how records of a reply become rows, and on which chunks they rest."""

RESOLUTION = "18"
"""Revision of `extract.resolution` and `graph.merge`: which names are one entity, and what is shown and said of it."""

KNOWN_NAMES = "known-names-2"
"""Revision of `extract.known_names`: in which passages the names of a model's entities are found."""

EMBEDDING_TEXTS = "3"
"""Revision of `graph.embedding_texts`: what is embedded of entities, relations, triples, predicates and reports."""

DESCRIPTIONS = "1"
"""Revision of `graph.descriptions`: which statements stand for descriptions that outgrow the budget."""

SYNONYMS = "2"
"""Revision of `graph.synonyms`: which names are compared, and how."""

SYNONYM_COSINE = 0.8
"""Least cosine of an edge between two names (arXiv:2502.14802, appendix: 0.8)."""

SYNONYM_NEIGHBOURS = 100
"""Edges that one name may begin, the nearest first (authors' code: about 100)."""

EXTRACTIVE_REPORTS = "6"
"""Revision of `graph.reports.extractive`: which sentences make up a report."""
