"""Normalisation of entity names: the key that all spellings of a name share."""

import re
import unicodedata
from functools import lru_cache

_DETERMINER = re.compile(r"^(?:the|a|an|this|that|these|those|his|her|its|their|our|my|your)\s+", re.I)
_POSSESSIVE = re.compile(r"[’']s?$")
_NOT_WORD = re.compile(r"[^\w&+#%/.-]+")
_MAX_CACHED = 200
"""Characters of a text that is cached; a name is shorter."""
_MARK = "M"
"""First letter of the Unicode categories of vowel signs and accents, which belong to the letter before them."""
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
    >>> normalize_name("İzmir"), normalize_name("दिल्ली")
    ('izmir', 'दिल्ली')
    """
    return _normalized(name) if len(name) <= _MAX_CACHED else _normalized.__wrapped__(name)


# A name is written many times: by several windows, at both ends of relations.
@lru_cache(maxsize=16_384)
def _normalized(name: str) -> str:
    text = unicodedata.normalize("NFKC", name).strip(_EDGE)
    text = _DETERMINER.sub("", text, count=1)
    text = _POSSESSIVE.sub("", text)
    folded = text.casefold()
    if folded.isascii():
        words = _NOT_WORD.sub(" ", folded).split()
    else:
        # Case folding leaves a dot above the `i` of a Turkish capital.
        folded = unicodedata.normalize("NFC", folded.replace("i\u0307", "i"))
        words = _NOT_WORD.sub(_marks, folded).split()
    return " ".join(word for word in (w.strip("./-") for w in words) if word)


def _marks(match: re.Match[str]) -> str:
    """Return the marks that begin a match; what follows them is white space."""
    text = match.group()
    end = next((i for i, c in enumerate(text) if unicodedata.category(c)[0] != _MARK), len(text))
    return text[:end] if end == len(text) else text[:end] + " "
