"""Blocking: candidate pairs of names with similar spelling, found without comparing all pairs."""

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, pairwise, repeat

import numpy as np

from polygraph.arrays import Array
from polygraph.extract.lexicon import ALL_COMPANY_FORMS, DOTTED_COMPANY_FORMS, MEN, WOMEN

MAX_BLOCK = 30
"""Names per block; larger blocks share something too common to be informative and are skipped."""

_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
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
_DIGRAPHS = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae"}
"""How letters are written where a keyboard lacks them."""
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


def with_digraphs(key: str) -> str:
    """Return a name with two letters for each letter that a keyboard may lack.

    >>> with_digraphs("müller"), with_digraphs("øystein bråten")
    ('mueller', 'oeystein braaten')
    """
    return key if key.isascii() else "".join(_DIGRAPHS.get(letter, letter) for letter in key)


def names_conflict(a: str, b: str, *, of_people: bool = True) -> bool:
    """Return whether two names differ in a word that is never a spelling variant.

    Such words are numbers, years, Roman numerals, ordinals, opposites (``north``, ``south``), given names and
    words with a negating prefix.

    Args:
        a: a normalised name.
        b: another one.
        of_people: whether given names distinguish.

    >>> names_conflict("henry iv", "henry v"), names_conflict("gale of 1871", "gale of 1872")
    (True, True)
    >>> names_conflict("marion vane", "marian vane"), names_conflict("fezziwig ball", "fezziwigg ball")
    (True, False)
    """
    if sorted(_NUMBER.findall(a)) != sorted(_NUMBER.findall(b)):
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
    return 1.0 if not longest else 1.0 - _edit_distance()(a, b) / longest


@cache
def _edit_distance() -> Callable[[str, str], int]:
    """Load the optimal string alignment distance."""
    from rapidfuzz.distance import OSA

    return OSA.distance


def same_form_pairs(keys: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that differ only in hyphens, spaces, accents, plural or legal form.

    Args:
        keys: normalised names; true for phrases, whose plural may match their singular.
    """
    by_form: dict[str, list[str]] = defaultdict(list)
    for key in sorted(keys):
        form = plain_form(disease_form(without_legal_form(singular(key) if keys[key] else key)))
        # Digits separated by a hyphen (``1-2`` and ``12``) are different numbers.
        numbers = " ".join(_NUMBER.findall(form))
        for spelling in dict.fromkeys((skeleton(form), skeleton(with_digraphs(form)))):
            by_form[f"{spelling}\0{numbers}"].append(key)
    for form, group in by_form.items():
        if form[0] != "\0":
            # Names that differ in accents and hyphens only come first.
            group.sort(key=lambda key: (skeleton(key), key))
            yield from pairwise(group)


def one_edit_pairs(keys: Iterable[str], *, min_length: int = 7) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that differ by one edit in one long word, in order.

    An edit is an insertion, deletion, substitution or transposition. Blocks come from shared deletions (Garbe, 2012):
    each name is indexed under itself with one letter of a long word left out, and only names that share an
    entry are compared.

    Args:
        keys: normalised names.
        min_length: shortest word that may differ; short words are similar by chance.

    >>> list(one_edit_pairs(["ebenezer fezziwig", "ebenezer fezziwigg", "anna vane", "anne vane"]))
    [('ebenezer fezziwig', 'ebenezer fezziwigg')]
    """
    ordered = sorted({key for key in keys if len(key) <= 60})
    # There are about ten forms per name, and nearly all belong to one name only: hashes instead of strings.
    forms, owners = array("q"), array("i")
    for n, key in enumerate(ordered):
        some = dict.fromkeys(_deletions(key, min_length))
        forms.extend(map(hash, some))
        owners.extend(repeat(n, len(some)))
    pairs: set[tuple[str, str]] = set()
    distance = _edit_distance()
    for group in _shared(np.asarray(forms), np.asarray(owners)):
        if len(group) <= MAX_BLOCK:
            for pair in combinations([ordered[n] for n in group], 2):
                if pair not in pairs and distance(*pair) == 1 and _differ_in_long_word(*pair, min_length):
                    pairs.add(pair)
    yield from sorted(pairs)


def _deletions(key: str, min_length: int) -> list[str]:
    """Return a name with each letter of its long words left out once, then the name; nothing without long words."""
    found: list[str] = []
    at = 0
    for word in key.split(" "):
        end = at + len(word)
        if len(word) >= min_length:
            found += [key[:i] + key[i + 1 :] for i in range(at, end) if i == at or key[i] != key[i - 1]]
        at = end + 1
    return [*found, key] if found else found


def _shared(values: Array, owners: Array) -> Iterator[list[int]]:
    """Yield the owners, ascending, of each value that has several."""
    order = np.lexsort((owners, values))
    values = values[order]
    same = np.flatnonzero(values[1:] == values[:-1])
    begins = same[np.diff(same, prepend=-2) > 1]
    ends = same[np.diff(same, append=len(values) + 1) > 1] + 2
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        yield owners[order[begin:end]].tolist()


def _differ_in_long_word(a: str, b: str, min_length: int) -> bool:
    left, right = a.split(" "), b.split(" ")
    if len(left) != len(right):
        return False
    differing = [(x, y) for x, y in zip(left, right, strict=True) if x != y]
    return len(differing) == 1 and min(map(len, differing[0])) >= min_length


def shared_word_pairs(keys: Iterable[str], *, min_similarity: float = 0.8) -> Iterator[tuple[str, str]]:
    """Yield pairs of similar names that share a rare word or a rare prefix, in order.

    Args:
        keys: normalised names.
        min_similarity: smallest `similarity`.
    """
    blocks: dict[str, list[str]] = defaultdict(list)
    for key in sorted(set(keys)):
        words = key.split()
        for word in {w for w in words if len(w) > 3}:
            blocks[word].append(key)
        blocks[f"\0{skeleton(key)[:5]}"].append(key)
    pairs: set[tuple[str, str]] = set()
    for group in blocks.values():
        if 1 < len(group) <= MAX_BLOCK:
            for a, b in combinations(group, 2):
                if (a, b) in pairs or abs(len(a) - len(b)) > (1 - min_similarity) * max(len(a), len(b)):
                    continue
                if similarity(a, b) >= min_similarity:
                    pairs.add((a, b))
    yield from sorted(pairs)
