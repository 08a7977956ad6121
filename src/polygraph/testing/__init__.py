"""Helpers for tests: ours, and yours.

`check_method` checks that a retrieval method, also one of your own, keeps the contract of all methods. `scripted_chat`
is a chat model that replies to every task by plain rules, from the text of the request alone. `WordEmbedder` makes
vectors that can be worked out by hand, and `hashed_models` needs no downloads.
"""

from polygraph.testing.check_method import check_method
from polygraph.testing.scripted_model import REPLIES, scripted_chat
from polygraph.testing.scripts.indexing import scripted_extraction
from polygraph.testing.small_indexes import hashed_models
from polygraph.testing.word_embedder import WordEmbedder

__all__ = [
    "REPLIES",
    "WordEmbedder",
    "check_method",
    "hashed_models",
    "scripted_chat",
    "scripted_extraction",
]
