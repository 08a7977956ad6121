"""Names of other scripts in Latin letters, and phonetic keys that every transcription of a name shares."""

import re
from functools import lru_cache

from anyascii import anyascii

_GROUPS = re.compile("tsch|tch|sch|sh|ch|kh|zh|ts|tz|ph|th|dh|gh|ck|qu|ou|oy|oe|ue|ae|[a-z]")
_SOUNDS = {
    **dict.fromkeys(("tsch", "tch", "ch"), "C"),
    **dict.fromkeys(("sch", "sh"), "s"),
    **dict.fromkeys(("ts", "tz"), "c"),
    **dict.fromkeys(("kh", "g", "h", "k", "q", "ck", "qu", "c"), "k"),
    **dict.fromkeys(("ou", "oy"), "u"),
    "zh": "z",
    "ph": "f",
    "th": "t",
    "dh": "d",
    "gh": "k",
    "oe": "o",
    "ue": "u",
    "ae": "a",
    "w": "v",
    "y": "i",
    "j": "i",
    "x": "ks",
}
_ENOUGH = 3
"""Consonants that tell two words to be one where all of them agree."""
_HANGUL_NAME = re.compile("[\uac00-\ud7a3]{3}")
_KOREAN_SURNAMES = {
    "박": "park", "이": "lee", "최": "choi", "조": "cho", "강": "kang", "윤": "yoon", "장": "jang", "임": "lim",
    "오": "oh", "서": "seo", "신": "shin", "권": "kwon", "안": "ahn", "유": "yoo", "문": "moon", "백": "baek",
    "허": "hur", "심": "shim", "노": "roh", "구": "koo", "우": "woo", "정": "jung", "김": "kim",
}  # fmt: skip
"""Surnames as Koreans write them, which is not as they are transliterated."""
_GREEK = re.compile("[\u0370-\u03ff]")
_DIPHTHONG = re.compile("([αεάέ])[υύ](?=([θκξπστφχψ])|[βγδζλμνραεηιοωάέήίόώ])")
_ABJAD = re.compile("[\u0590-\u05ff\u0600-\u06ff\u0750-\u077f]")
_ARTICLE = re.compile(r"\bال(?=..)|\b[ae][lrsdntz](?:sh)?-(?=\w)|\b(?:al|el) (?=\w)")
_LATIN = re.compile("[a-z\u00df-\u024f\u1e00-\u1eff]")


def is_other_script(name: str) -> bool:
    """Return whether a name in lower case has letters, and none of them is Latin.

    >>> is_other_script("сергей бубка"), is_other_script("žižek"), is_other_script("1871")
    (True, False, False)
    """
    return not name.isascii() and any(map(str.isalpha, name)) and not _LATIN.search(name)


def is_abjad(name: str) -> bool:
    """Return whether a name is in a script that leaves vowels out.

    >>> is_abjad("محمد"), is_abjad("сергей")
    (True, False)
    """
    return _ABJAD.search(name) is not None


def _said(diphthong: re.Match[str]) -> str:
    """Return a Greek diphthong with upsilon as it is said: f before a voiceless consonant, else v."""
    return ("α" if diphthong[1] in "αά" else "ε") + ("φ" if diphthong[2] else "β")


@lru_cache(maxsize=4_096)
def sounds(name: str) -> str:
    """Return a name in Latin letters, one for each sound that transcriptions write in several ways.

    >>> sounds("чайковский"), sounds("tchaikovsky"), sounds("serhij") == sounds("sergii")
    ('Caikovskii', 'Caikovski', True)
    """
    if _HANGUL_NAME.fullmatch(name) and (surname := _KOREAN_SURNAMES.get(name[0])):
        text = surname + anyascii(name[1:]).lower()
    elif _GREEK.search(name):
        text = anyascii(_DIPHTHONG.sub(_said, name)).lower()
    else:
        text = anyascii(name).lower()
    return "".join(_SOUNDS.get(group, group) for group in _GROUPS.findall(text))


# A name is compared with several others.
@lru_cache(maxsize=16_384)
def consonants(name: str, *, abjad: bool = False) -> str:
    """Return the consonants of `sounds`, none twice in a row.

    Args:
        name: in lower case.
        abjad: also leave out what scripts without vowels write for long vowels, and Arabic articles.

    >>> consonants("сергей бубка") == consonants("serhij bubka"), consonants("محمد") == consonants("muhammad")
    (True, True)
    >>> consonants("الرياض", abjad=True) == consonants("riyadh", abjad=True)
    True
    """
    # The ending of feminine names is read as a vowel.
    found = sounds(_ARTICLE.sub("", name.replace("ة", "ا"))) if abjad else sounds(name)
    silent = "[aeiouv]" if abjad else "[aeiou]"
    return re.sub(r"(.)\1+", r"\1", re.sub(silent, "", found))


@lru_cache(maxsize=16_384)
def phonetic_key(name: str) -> str:
    """Return `sounds` without repeated letters.

    >>> phonetic_key("вронский") == phonetic_key("vronsky")
    True
    """
    return re.sub(r"(.)\1+", r"\1", sounds(name))


def sound_alike(a: str, b: str) -> bool:
    """Return whether two words have one phonetic key, or the same consonants, at least three.

    >>> sound_alike("sofia", "sophia"), sound_alike("mohamed", "muhammad"), sound_alike("ada", "ida")
    (True, True, False)
    """
    if a == b or phonetic_key(a) == phonetic_key(b):
        return True
    consonants_of_a = consonants(a)
    return len(consonants_of_a) >= _ENOUGH and consonants_of_a == consonants(b)
