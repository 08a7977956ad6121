"""What the answers of studies in tests were made with."""

from polygraph.evaluate.records import MadeWith

MADE_WITH = MadeWith(
    chat="",
    embedder="e",
    name_embedder="n",
    reranker="",
    temperature=0.0,
    settings="s",
    max_tokens=None,
    version="1",
    layers={"chunks": "c1", "lexical": "l1"},
)
