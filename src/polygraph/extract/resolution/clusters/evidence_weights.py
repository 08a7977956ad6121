"""How much speaks for two clusters being one entity: what they have in common, each with a weight."""

from collections.abc import Sequence, Set
from math import log2

from polygraph.extract.lexicon import (
    ENGLISH_OCCUPATION,
    FEMALE_TITLES,
    FIELD_OF_OCCUPATION,
    MALE_TITLES,
    UNMARRIED_TITLES,
)
from polygraph.extract.resolution.evidence.attributes import STEM, TITLE_IN_FULL, Attributes

_COURTESY = MALE_TITLES | FEMALE_TITLES


def weigh_evidence(
    left: Attributes,
    right: Attributes,
    *,
    rare: Sequence[str],
    common: Sequence[str],
    listed: bool,
    size: int,
) -> tuple[float, str]:
    """Return the amount of evidence that two clusters are one entity, 0 for none, and a text that names it.

    Args:
        left: what is known of one.
        right: what is known of the other.
        rare: context names of both that few documents have, ascending.
        common: context names of both that many documents have, ascending.
        listed: whether one window names both. Its names and words are those of both, one entity or not.
        size: mentions of the larger cluster. Much is said of it, some of it by chance the same.
    """
    ours, theirs = _offices(left), _offices(right)
    offices = (ours & theirs) - _COURTESY
    if not offices and (
        _are_officer_and_miss(left, right, theirs) or _are_officer_and_miss(right, left, ours)
    ):
        return 0.0, ""
    if offices:
        trade = 3.0
    elif _is_said_of(left, right) or _is_said_of(right, left):
        trade = 2.0
    else:
        trade = 1.5 * (not _fields(ours).isdisjoint(_fields(theirs)))
    places = (left.within | left.regions) & (right.within | right.regions)
    years = left.years & right.years
    near = bool(left.years and right.years) and min(abs(x - y) for x in left.years for y in right.years) <= 2
    words: frozenset[str] = frozenset() if listed else left.words & right.words
    said = 2.0 * min(len(rare), 3) + 0.5 * min(len(common), 3) + min(len(words), 3)
    score = (
        said / (1 + 0.5 * log2(size))
        + trade
        + 2 * bool(places)
        + bool(left.classes & right.classes)
        + 2 * (left.married == right.married == "yes")
        + (1.5 if years else 0.75 * near)
    )
    found = [
        *[*rare, *common][:3],
        *sorted(offices)[:2],
        *sorted(places)[:2],
        *map(str, sorted(years)[:2]),
        *sorted(words)[:3],
    ]
    if found:
        return score, "both with " + ", ".join(found)
    reasons = {
        "years close to each other": near,
        "both married": left.married == right.married == "yes",
        "of one occupation": trade,
        "of one class": left.classes & right.classes,
    }
    return score, next((text for text, holds in reasons.items() if holds), "")


def _are_officer_and_miss(a: Attributes, b: Attributes, offices: Set[str]) -> bool:
    """Return whether `a` has an office before the name, and `b`, with these `offices`, is a Miss without one."""
    return not b.titles.isdisjoint(UNMARRIED_TITLES) and not a.titles <= _COURTESY and offices <= _COURTESY


def _is_said_of(a: Attributes, b: Attributes) -> bool:
    """Return whether a title of `a` occurs in what is said of `b`."""
    return any(title[:STEM] in b.words for title in a.titles if title not in _COURTESY)


def _fields(offices: Set[str]) -> Set[str]:
    """Return the fields of titles and occupations."""
    return {field for word in offices if (field := FIELD_OF_OCCUPATION.get(word, ""))} if offices else offices


def _offices(attributes: Attributes) -> Set[str]:
    """Return titles and occupations in English."""
    words = attributes.titles | attributes.occupations
    return {TITLE_IN_FULL.get(word, ENGLISH_OCCUPATION.get(word, word)) for word in words} if words else words
