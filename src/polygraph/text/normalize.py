"""Normalisation of entity names: the key that all spellings of a name share."""

import re
import unicodedata
from functools import lru_cache

_DETERMINER = re.compile(r"^(?:the|a|an|this|that|these|those|his|her|its|their|our|my|your)\s+", re.I)
_POSSESSIVE = re.compile(r"[’']s?$")
_NOT_WORD = re.compile(r"[^\w&+#%/.-]+")
_MAX_CACHED = 200
"""Characters of a text that is cached; a name is shorter."""
_EDGE = ' .,;:!?()[]{}"“”‘«»*_-–—'


def normalize_name(name: str) -> str:
    """Return the normalised form of a name.

    Steps: Unicode NFKC, case folding, removal of a leading determiner and a trailing possessive, of punctuation at the
    edges and of repeated white space. Letters of every script are kept, and so are accents, which distinguish names in
    many languages.

    >>> normalize_name("The  Halcyon's")
    'halcyon'
    >>> normalize_name("«Øresund»  Bridge")
    'øresund bridge'
    >>> normalize_name("Mr. J. R. Vane")
    'mr j r vane'
    """
    return _normalized(name) if len(name) <= _MAX_CACHED else _normalized.__wrapped__(name)


# A name is written many times: by several windows, at both ends of relations.
@lru_cache(maxsize=16_384)
def _normalized(name: str) -> str:
    text = unicodedata.normalize("NFKC", name).strip(_EDGE)
    text = _DETERMINER.sub("", text, count=1)
    text = _POSSESSIVE.sub("", text)
    words = _NOT_WORD.sub(" ", text.casefold()).split()
    return " ".join(word for word in (w.strip("./-") for w in words) if word)
