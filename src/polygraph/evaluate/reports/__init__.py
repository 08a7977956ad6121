"""Reports of studies and of retrieval: summaries, conclusions in sentences, tables, charts, pages."""
