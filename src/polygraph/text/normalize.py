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
_LETTERS = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ß": "ss", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
_DIGRAPHS = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae"}
"""How letters are written where a keyboard lacks them."""
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


def fold(text: str) -> str:
    """Return a text in lower case without accents.

    >>> fold("garcía márquez"), fold("øresund")
    ('garcia marquez', 'oresund')
    """
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text).translate(_LETTERS)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


def with_digraphs(key: str) -> str:
    """Return a normalised name with two letters for each letter that a keyboard may lack.

    >>> with_digraphs("müller"), with_digraphs("øystein bråten")
    ('mueller', 'oeystein braaten')
    """
    return key if key.isascii() else "".join(_DIGRAPHS.get(letter, letter) for letter in key)


def typed_forms(name: str) -> tuple[str, ...]:
    """Return the forms in which a name may be typed, normalised: as it is, without accents, with digraphs.

    Two names may mean the same if they share a form.

    >>> typed_forms("Müller"), typed_forms("MUELLER")
    (('müller', 'muller', 'mueller'), ('mueller',))
    """
    key = normalize_name(name)
    return tuple(dict.fromkeys((key, fold(key), fold(with_digraphs(key)))))


def same_when_typed(a: str, b: str) -> bool:
    """Return whether two names have one of their `typed_forms` in common.

    >>> same_when_typed("Zurich", "Zürich"), same_when_typed("Zuerich", "Zürich"), same_when_typed("Bern", "Zürich")
    (True, True, False)
    """
    return not set(typed_forms(a)).isdisjoint(typed_forms(b))
