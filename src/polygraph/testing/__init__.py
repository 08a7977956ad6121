"""Helpers for tests: ours, and yours.

`scripted_chat` is a language model that plays every task of ours from the text of the request alone, and
`check_method` tells whether a retrieval method, also one of your own, keeps to what all methods promise.
`WordEmbedder` makes vectors that can be worked out by hand.
"""

from polygraph.testing.check_method import check_method
from polygraph.testing.scripted_model import REPLIES, scripted_chat
from polygraph.testing.scripts.indexing import scripted_extraction
from polygraph.testing.word_embedder import WordEmbedder

__all__ = ["REPLIES", "WordEmbedder", "check_method", "scripted_chat", "scripted_extraction"]
