"""Questions without a model: rules for sentences, tables and the graph."""
