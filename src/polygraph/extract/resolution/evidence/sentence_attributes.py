"""Attributes from a sentence of the text that mentions the name, as an extractor without a model gives it."""

import re
from functools import lru_cache

from polygraph.extract.lexicon import (
    OCCUPATIONS,
    TITLES,
    TYPE_OF_NOUN,
    UNMARRIED_TITLES,
)
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.names.name_parts import SUFFIXES, NameParts, gender_of
from polygraph.extract.resolution.names.spelling import without_legal_form

_CRAFT_ENDINGS = ("master", "mistress", "keeper", "maker", "builder", "wright", "smith", "monger", "founder")
_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
# A verb behind a comma is that of an earlier name: ``Thomas, the son of Robert, became a doctor``.
_APPOSITION = re.compile(
    r"^(?:,?\s+who\s+(?:is|was|became)\b|,(?!\s+(?:is|was|became)\b)|\s+(?:is|was|became)\b)"
    r"\s*((?:[^\W\d_][\w’'-]*[ ]?){1,6})"
)
_FUNCTION_WORDS = "of at in and who from for to by with on that which"
_APPOSITION_ENDS = frozenset(_FUNCTION_WORDS.split())
_SUFFIX_AFTER_NAME = re.compile(r"^,?\s+(?:the\s+(elder|younger)\b|(junior|senior|jun|sen|jr|sr)\b\.?)", re.I)
_NAMESAKE = re.compile(
    r"\b(?:[Tt]he other [A-Z]|also (?:called|named)|[Nn]amesakes?\b|not related|no relation"
    r"|another (?:person|man|woman)\b|of (?:the|that) same name|share (?:a|the) name)"
)
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
HAS_YEAR = re.compile(r"\d\d\d\d")  # a pattern that begins with one character is looked for much faster
"""What all patterns of years need; most sentences do not have it."""
_DASH = re.compile(r"[-–—]")
_BORN = re.compile(r"^[^.]{0,30}?\b(?:born|b\.)\s[^.;)]{0,30}?\b(\d{4})\b")
_DIED = re.compile(r"^[^.]{0,60}?\b(?:died|d\.)\s[^.;)]{0,30}?\b(\d{4})\b")
_SHIP_PREFIX = re.compile(r"\b(?:S\.?S|H\.?M\.?S|M\.?V|R\.?M\.?S|U\.?S\.?S)\.?\s*$")
_ABOARD = re.compile(r"\b(?:aboard|on board)\s+(?:the\s+)?$", re.I)
_TITLES_OF_WIVES = frozenset(["mrs", "frau", "madame"])


def mentions_namesake(description: str) -> bool:
    """Return whether a text refers to several entities of one name.

    >>> mentions_namesake("It was meant for the other Silas Threave."), mentions_namesake("Silas Threave was there.")
    (True, False)
    """
    return _NAMESAKE.search(description) is not None


def extract_attributes(name: NameParts, written: str, type_: str, description: str) -> Attributes:
    """Extract the attributes of one mention from its name and description.

    Args:
        name: the parts of the name.
        written: the name as it stands in the text.
        type_: type given by the extractor; only people have personal attributes.
        description: a sentence that mentions the name.

    >>> from polygraph.extract.resolution.names.name_parts import split_name
    >>> text = "They asked Thomas Quill, the old harbour-master, about it."
    >>> extract_attributes(split_name("Thomas Quill"), "Thomas Quill", "person", text).occupations
    frozenset({'harbour-master'})
    """
    if not name.titles and not name.is_lower_case and without_legal_form(name.key) != name.key:
        return Attributes(kind="organization")
    found = Attributes(suffix=name.suffix, titles=name.titles)
    may_be_person = type_ in ("", "person")
    if may_be_person:
        found.gender = gender_of(name)
    at = description.find(written) if written else -1
    if type_ == "ship":
        found.kind = "ship"
    if at >= 0:
        before = description[max(0, at - 60) : at]
        after = description[at + len(written) : at + len(written) + 120]
        _add_from_context(found, may_be_person, before, after)
    if found.kind == "ship":
        return Attributes(kind="ship")
    if found.titles or found.occupations or found.suffix:
        found.kind = "person"
    if "widow" in found.occupations or found.titles & _TITLES_OF_WIVES:
        found.married = "yes"
    elif found.titles & UNMARRIED_TITLES:
        found.married = "no"
    return found


def _add_from_context(found: Attributes, may_be_person: bool, before: str, after: str) -> None:
    """Add the attributes that the text before and after the name states."""
    suffix = _SUFFIX_AFTER_NAME.match(after)
    if suffix and may_be_person:
        word = (suffix.group(1) or suffix.group(2)).lower()
        found.suffix = SUFFIXES.get(word, word)
        after = after[suffix.end() :]
    end = before.rstrip()
    previous = "" if end.endswith((",", ".", ";", ":")) else _last_word(end.lower())
    # Each pattern is preceded by a cheap test of what it needs.
    if (
        TYPE_OF_NOUN.get(previous) == "ship"
        or (end.endswith(("S", "V", "S.", "V.")) and _SHIP_PREFIX.search(before))
        or (previous.endswith(("board", "the")) and _ABOARD.search(before))
    ):
        found.kind = "ship"
        return
    if not may_be_person:
        return
    if previous in TITLES:
        found.titles |= {previous}
    if occupation(previous):
        found.occupations |= {occupation(previous)}
    match = _APPOSITION.match(after)
    if match:
        for word in match.group(1).lower().split():
            if word in _APPOSITION_ENDS:
                break
            if occupation(word):
                found.occupations |= {occupation(word)}
    if not HAS_YEAR.search(after):
        return
    opening = after.find("(", 0, 40)
    brackets = after[opening : after.find(")", opening) + 1] if opening >= 0 else ""
    years = _YEAR.findall(brackets)
    if len(years) == 2 and _DASH.search(brackets):
        found.born, found.died = int(years[0]), int(years[1])
        return
    born, died = _BORN.match(after), _DIED.match(after)
    found.born = int(born.group(1)) if born else 0
    found.died = int(died.group(1)) if died else 0


def _last_word(text: str) -> str:
    """Return the last word of a text, which mostly stands behind its last space; empty if there is none."""
    words = _WORD.findall(text, text.rfind(" ") + 1) or _WORD.findall(text)
    return words[-1] if words else ""


# The words before and after names, and those that begin descriptions, recur.
@lru_cache(maxsize=4_096)
def occupation(word: str) -> str:
    """Return the word without punctuation if it names an occupation, else an empty string.

    >>> occupation("harbour-master"), occupation("keeper,"), occupation("tide")
    ('harbour-master', 'keeper', '')
    """
    word = word.strip(".,;:()’'")
    plain = word.replace("-", "")
    if (
        word in OCCUPATIONS
        or plain in OCCUPATIONS
        or any(plain.endswith(craft) and len(plain) > len(craft) + 2 for craft in _CRAFT_ENDINGS)
    ):
        return word
    return ""
