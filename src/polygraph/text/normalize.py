"""Names of entities as keys: which spellings are the same name."""

import re
import unicodedata

_DETERMINER = re.compile(r"^(?:the|a|an|this|that|these|those|his|her|its|their|our|my|your)\s+", re.I)
_POSSESSIVE = re.compile(r"[’']s?$")
_NOT_WORD = re.compile(r"[^\w&+#%/.-]+")
_EDGE = ' .,;:!?()[]{}"“”‘«»*_-–—'


def normalise(name: str) -> str:
    """Reduce a name to the key under which its spellings meet.

    Unicode NFKC, case folded, a leading determiner and a trailing possessive dropped, punctuation at the
    edges and runs of white space removed. Letters of every script are kept; accents too, since they tell
    names apart in many languages.

    >>> normalise("The  Halcyon's")
    'halcyon'
    >>> normalise("«Øresund»  Bridge")
    'øresund bridge'
    >>> normalise("Mr. J. R. Vane")
    'mr j r vane'
    """
    text = unicodedata.normalize("NFKC", name).strip(_EDGE)
    text = _DETERMINER.sub("", text, count=1)
    text = _POSSESSIVE.sub("", text)
    words = _NOT_WORD.sub(" ", text.casefold()).split()
    return " ".join(word for word in (w.strip("./-") for w in words) if word)
