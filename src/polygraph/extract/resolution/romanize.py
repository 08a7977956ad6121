"""Names of other scripts in Latin letters, and what of them is heard in every transcription."""

import re
from functools import lru_cache

from anyascii import anyascii

_GROUPS = re.compile("tsch|tch|sch|sh|ch|kh|zh|ts|tz|ph|th|ck|qu|ou|oy|oe|ue|ae|[a-z]")
_SOUNDS = {
    **dict.fromkeys(("tsch", "tch", "ch"), "C"),
    **dict.fromkeys(("sch", "sh"), "s"),
    **dict.fromkeys(("ts", "tz"), "c"),
    **dict.fromkeys(("kh", "g", "h", "k", "q", "ck", "qu", "c"), "k"),
    **dict.fromkeys(("ou", "oy"), "u"),
    "zh": "z",
    "ph": "f",
    "th": "t",
    "oe": "o",
    "ue": "u",
    "ae": "a",
    "w": "v",
    "y": "i",
    "j": "i",
    "x": "ks",
}
_LATIN = re.compile("[a-z\u00df-\u024f\u1e00-\u1eff]")


def is_other_script(name: str) -> bool:
    """Return whether a name in lower case has letters, and none of them is Latin.

    >>> is_other_script("сергей бубка"), is_other_script("žižek"), is_other_script("1871")
    (True, False, False)
    """
    return not name.isascii() and any(map(str.isalpha, name)) and not _LATIN.search(name)


@lru_cache(maxsize=4_096)
def sounds(name: str) -> str:
    """Return a name in Latin letters, one for each sound that transcriptions write in several ways.

    >>> sounds("чайковский"), sounds("tchaikovsky"), sounds("serhij") == sounds("sergii")
    ('Caikovskii', 'Caikovski', True)
    """
    text = anyascii(name).lower()
    return "".join(_SOUNDS.get(group, group) for group in _GROUPS.findall(text))


def consonants(name: str) -> str:
    """Return the consonants of `sounds`, none twice in a row.

    >>> consonants("сергей бубка") == consonants("serhij bubka"), consonants("محمد") == consonants("muhammad")
    (True, True)
    """
    return re.sub(r"(.)\1+", r"\1", re.sub("[aeiou]", "", sounds(name)))
