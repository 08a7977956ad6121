"""The spelling of names: forms that all spellings of a name share, and words that are never a spelling variant."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from polygraph.extract.lexicon import ALL_COMPANY_FORMS, DOTTED_COMPANY_FORMS, MEN, WOMEN
from polygraph.text.words import STOP_WORDS

_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b(?!-\d)")
"""A number; letters before a hyphen and a digit (`C-30`) are part of a code and no Roman numeral."""
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_MAX_CODE_LETTERS = 3
"""Letters of the longest word before a number that is read as the beginning of a code (`QT 450`)."""
_FOREIGN_STOP_WORDS = "nr de du di da von vom der die das den la le les el et und im am"
_NO_CODE_LETTERS = frozenset(word for word in STOP_WORDS if len(word) > 1) | frozenset(
    _FOREIGN_STOP_WORDS.split()
)
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth"
_CONTRASTS = """
north south east west northern southern eastern western upper lower inner outer old new great little big small
male female men women man woman boy girl senior junior elder younger major minor internal external left right
hyper hypo pre post pro anti intra inter national international direct indirect black white red blue green
spring summer autumn winter january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday morning evening first last
"""
_OPPOSITES = frozenset((_CONTRASTS + _ORDINALS).split())
_DISTINGUISHING = _OPPOSITES | MEN | WOMEN
_PREFIXES = ("un", "in", "im", "non", "anti", "hyper", "hypo", "pre", "post", "inter", "intra", "dis")
_ABBREVIATIONS = {
    "st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort", "gebr": "gebrüder", "univ": "university",
    "inst": "institute",
}  # fmt: skip
_SHORT_WORDS = {
    "univ": "university", "inst": "institute", "intl": "international", "natl": "national", "dept": "department",
    "assn": "association", "assoc": "association", "bros": "brothers", "govt": "government", "cttee": "committee",
    "mfg": "manufacturing", "acad": "academy", "rly": "railway", "rwy": "railway", "stn": "station",
    "olg": "oberlandesgericht", "bgh": "bundesgerichtshof", "lg": "landgericht", "ovg": "oberverwaltungsgericht",
    "vg": "verwaltungsgericht", "ogh": "oberster gerichtshof",
}  # fmt: skip
"""Abbreviations that stand for one word wherever they are in a name of two words or more."""
_ROUND_VERSION = re.compile(r"(?<=^\d)\.0$|(?<=^\d\d)\.0$")
_VERSION = re.compile(r"v(?=\d+(?:\.\d+)*$)")
_CONJUNCTIONS = {"und": "and", "et": "and", "y": "and", "og": "and", "och": "and"}
_ROMAN_NUMERALS = "v 5 x 10 ii 2 iii 3 iv 4 vi 6 vii 7 viii 8 ix 9 xi 11 xii 12 xiii 13 xiv 14 xv 15 xvi 16"
_ROMAN = _ROMAN_NUMERALS.split()
_ROMAN_VALUES = dict(zip(_ROMAN[::2], _ROMAN[1::2], strict=True))
_ORDINAL_VALUES = {word: str(n) for n, word in enumerate(_ORDINALS.split(), 1)}
_AMERICAN = {
    "isation": "ization",
    "centre": "center",
    "theatre": "theater",
    "harbour": "harbor",
    "labour": "labor",
    "defence": "defense",
    "colour": "color",
    "programme": "program",
}
_BRITISH = re.compile("|".join(_AMERICAN))
_CLUB_FORMS = frozenset(["fc", "cf", "afc", "sc", "fk", "ff", "bk"])
_FORMS = ALL_COMPANY_FORMS | _CLUB_FORMS
_JOINTS = frozenset(["&", "and", "und", "et", "y", "e", "og", "och"])
_ATTACHED_FORM = re.compile(
    r"^(?:株式会社|有限会社|合同会社|\(?株\)?(?= )|주식회사)|(?:株式会社|有限会社|合同会社|股份有限公司|有限责任公司"
    r"|有限責任公司|有限公司|公司|주식회사)$"
)
"""Legal forms that stand before or after a name without a space."""
_SHIP_PREFIXES_WORDS = """
rms ss hms mv uss s.s h.m.s m.v r.m.s u.s.s
"""
_SHIP_PREFIXES = frozenset(_SHIP_PREFIXES_WORDS.split())
_NAMED_DISEASE = re.compile(
    r"(?:morbus|maladie de|enfermedad de|malattia di|doença de|s[iyí]ndrom[ea] (?:de|di)) ([\w-]+)"
    r"|([\w]+?)(?:[’' ]?s)? (?:disease|syndrome)|([\w]+?)-?(?:krankheit|syndrom)"
)
_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ß": "ss", "ł": "l", "đ": "d", "ð": "d", "þ": "th"})


def skeleton(key: str) -> str:
    """Return the letters and digits of a normalised name, without accents.

    >>> skeleton("counting-house") == skeleton("counting house"), skeleton("øresund bro")
    (True, 'oresundbro')
    """
    text = key if key.isascii() else unicodedata.normalize("NFKD", key).translate(_LETTERS)
    return text if text.isalnum() else "".join(filter(str.isalnum, text))


def singular(key: str) -> str:
    """Return a phrase with its last word in the singular, by the common English rules.

    >>> singular("old lighthouses"), singular("bodies"), singular("glass"), singular("gas")
    ('old lighthouse', 'body', 'glass', 'gas')
    """
    if (
        len(key) < 5
        or not key.endswith("s")
        or key.endswith(("ss", "us", "is", "'s", "’s", "ous", "ics", "news"))
    ):
        return key
    if key.endswith("ies"):
        return key[:-3] + "y" if len(key) > 5 else key
    if key.endswith(("sses", "shes", "ches", "xes", "zes")):
        return key[:-2]
    return key[:-1]


def without_legal_form(key: str) -> str:
    """Return a company's name without its legal form.

    >>> without_legal_form("acme ltd"), without_legal_form("ltd")
    ('acme', 'ltd')
    >>> [without_legal_form(name) for name in ("ohlsen gmbh & co kg", "brasas s l", "ソニー株式会社")]
    ['ohlsen', 'brasas', 'ソニー']
    """
    if not key.isascii():
        key = _ATTACHED_FORM.sub("", key).strip() or key
    words = key.split()
    while len(words) > 1:
        last = words[-1].replace(".", "")
        if last in _FORMS or ("." in words[-1] and last in DOTTED_COMPANY_FORMS):
            words.pop()
        elif n := next((n for n in (2, 3) if _is_spaced_form(words[-n:]) and n < len(words)), 0):
            del words[-n:]  # ``C. F.``
        elif last in _JOINTS and len(words) < len(key.split()):
            words.pop()  # ``& Co. KG``
        else:
            break
    if len(words) > 1 and words[0] in _CLUB_FORMS:
        del words[0]
    if len(words) > 2 and words[0] == "messrs":
        del words[0]
    if len(words) > 1 and words[0] in _SHIP_PREFIXES:
        del words[0]
    return " ".join(words)


def _is_spaced_form(letters: Sequence[str]) -> bool:
    return all(len(letter) == 1 for letter in letters) and "".join(letters) in _FORMS | DOTTED_COMPANY_FORMS


def disease_form(key: str) -> str:
    """Return the English form of a disease that bears a name.

    >>> disease_form("morbus crohn"), disease_form("crohn s disease"), disease_form("maladie de crohn")
    ('crohn disease', 'crohn disease', 'crohn disease')
    """
    match = _NAMED_DISEASE.fullmatch(key)
    if not match:
        return key
    name = next(filter(None, match.groups()))
    return f"{name} {'syndrome' if 'ndrom' in key else 'disease'}"


def plain_form(key: str) -> str:
    """Return a name with abbreviations, numerals and British spellings in one form.

    >>> plain_form("smith & sons"), plain_form("st mary"), plain_form("henry the fourth") == plain_form("henry iv")
    ('smith and sons', 'saint mary', True)
    >>> plain_form("st-aubin-sur-mer"), plain_form("lumen v2.4")
    ('saint-aubin-sur-mer', 'lumen 2.4')
    >>> plain_form("olg celle"), plain_form("lumen 3.0")
    ('oberlandesgericht celle', 'lumen 3')
    """
    words = key.replace("&", " and ").split()
    first, hyphen, rest = words[0].partition("-") if words else ("", "", "")
    found = [_ABBREVIATIONS.get(first, first) + hyphen + rest] if words else []
    for word in words[1:]:
        if word in _ORDINAL_VALUES and found[-1] == "the":
            found[-1] = _ORDINAL_VALUES[word]
        else:
            found.append(_ROMAN_VALUES.get(word, _CONJUNCTIONS.get(word, _VERSION.sub("", word))))
    if len(found) > 1:
        found = [_ROUND_VERSION.sub("", _SHORT_WORDS.get(word, word)) for word in found]
    return _BRITISH.sub(lambda match: _AMERICAN[match.group()], " ".join(found))


def numbers_in(key: str) -> list[str]:
    """Return the numbers of a name as they stand there, Roman ones included."""
    return _NUMBER.findall(key)


def codes_differ(a: str, b: str) -> bool:
    """Return whether two normalised names differ in a code, such as that of a model, a version, a room or a trial.

    A code is a word with digits and its letters. A single letter behind it belongs to it, and a short word before it
    may do so (``QT 450 S``).

    >>> codes_differ("qt-450", "qt-450s"), codes_differ("t 31", "u 31"), codes_differ("room 12", "room 12 b")
    (True, True, True)
    >>> codes_differ("pump qt 450 s", "qt-450s"), codes_differ("loan due 2031", "loan 2031")
    (False, False)
    """
    if skeleton(a) == skeleton(b):
        return False
    codes, others = _codes_in(a), _codes_in(b)
    for code in codes:
        same = next((other for other in others if code.is_same(other)), None)
        if same is None:
            return True
        others.remove(same)
    return bool(others)


class _Code(NamedTuple):
    """A word with digits, in letters and digits only, without and with the short word before it."""

    alone: str
    joined: str

    def is_same(self, other: "_Code") -> bool:
        if self.joined == other.joined:
            return True
        is_joined = [code.joined != code.alone for code in (self, other)]
        # ``QT 450`` is QT450, and may be the pump 450, but is not the PT 450.
        return not all(is_joined) and (other.alone in (self.alone, self.joined) or self.alone == other.joined)


def _codes_in(key: str) -> list[_Code]:
    words = key.split()
    found = []
    for n, word in enumerate(words):
        if not any(map(str.isdigit, word)):
            continue
        before, after = words[n - 1] if n else "", words[n + 1] if n + 1 < len(words) else ""
        code = _ORDINAL.sub(r"\1", skeleton(_VERSION.sub("", word)))
        if code[-1].isdigit() and len(after) == 1 and after.isalpha():
            code += after
        is_short = before.isalpha() and len(before) <= _MAX_CODE_LETTERS and before not in _NO_CODE_LETTERS
        found.append(_Code(code, before + code if is_short and code[0].isdigit() else code))
    return found


def names_conflict(a: str, b: str, *, of_people: bool = True, with_codes: bool = True) -> bool:
    """Return whether two names differ in a word that is never a spelling variant.

    Such words are numbers, years, Roman numerals, ordinals, codes (``QT-450``, ``QT-450S``), opposites (``north``,
    ``south``), given names and words with a negating prefix.

    Args:
        a: a normalised name.
        b: another one.
        of_people: whether given names distinguish.
        with_codes: whether codes distinguish.

    >>> names_conflict("henry iv", "henry v"), names_conflict("gale of 1871", "gale of 1872")
    (True, True)
    >>> names_conflict("qt-450", "qt-450s"), names_conflict("pump qt 450", "pumps qt-450")
    (True, False)
    >>> names_conflict("marion vane", "marian vane"), names_conflict("fezziwig ball", "fezziwigg ball")
    (True, False)
    """
    if sorted(numbers_in(a)) != sorted(numbers_in(b)):
        return True
    if with_codes and codes_differ(a, b):
        return True
    left, right = set(a.split()), set(b.split())
    only_left, only_right = left - right, right - left
    distinguishing = _DISTINGUISHING if of_people else _OPPOSITES
    if only_left & distinguishing or only_right & distinguishing:
        return True
    if any(len(x) == 1 for x in only_left) and any(len(y) == 1 for y in only_right):
        return True  # ``hepatitis A`` and ``hepatitis B``
    return any(
        x == prefix + y or y == prefix + x
        for x in sorted(only_left)
        for y in sorted(only_right)
        for prefix in _PREFIXES
    )


def similarity(a: str, b: str) -> float:
    """Return one minus the edit distance (with transpositions) divided by the longer length.

    >>> round(similarity("fezziwig", "fezzwig"), 3), similarity("ab", "ba")
    (0.875, 0.5)
    """
    longest = max(len(a), len(b))
    return 1.0 if not longest else 1.0 - edit_counter()(a, b) / longest


@cache
def edit_counter() -> Callable[[str, str], int]:
    """Return the function that counts edits between two texts: optimal string alignment, loaded when first used."""
    from rapidfuzz.distance import OSA

    return OSA.distance
