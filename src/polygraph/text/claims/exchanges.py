"""Statements in which two numbers or two names of the text cited have changed places."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations

from polygraph.text.claims.folding import MAX_TEXTS, fold_all, plain
from polygraph.text.claims.numbers import FoundNumber, found_numbers, is_ordinal, is_year
from polygraph.text.claims.repeats import stems
from polygraph.text.language import first_language
from polygraph.text.words import STOP_WORDS, root_of, stem

_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n")
_BETWEEN = re.compile(
    r"[,;:|]\s|\b(?:and|but|to|while|whereas|against|versus|vs|instead of|rather than|und|aber|statt|gegenüber|et|mais|"
    r"contre|y|pero|frente a|e|ma|contro)\b"
)
"""What separates what is said of one number from what is said of the next."""
_FROM_TO = re.compile(r"\b(?:from|von|de|desde|da|di)\b[^.;]{0,30}?$")
_TO = re.compile(r"^[^.;]{0,30}?\b(?:to|auf|à|a)\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_GAP_END = re.compile(r"[;:]|, (?:and|but|who|which)")
_MAX_PAIRS = 10
_NAME = re.compile(r"\b[^\W\d_a-z][\w'’\-]*(?: (?:(?:de|von|van|del|di|da) )?[^\W\d_a-z][\w'’\-]*)*")
_SYMMETRIC = re.compile(
    r"\b(?:and|with|marr\w+|met|cousin\w*|partner\w*|between|drew|merg\w+|related|border\w*|und|et|y|e|or|nor)\b|['’]s\b"
)
_TURNED = re.compile(r"\b(?:by|of|par|por|da|dal|du)\b")
"""Words that turn a statement round: "was beaten by", "the owner of"."""


def exchanged(claim: str, shown: Sequence[str]) -> str:
    """Return what has changed places between a claim and the texts it cites; empty if nothing has.

    >>> exchanged("It grew from 4.1% to 2.7%", ["It was cut from 2.7% to 4.1%"])
    'the order of 4.1 and 2.7'
    >>> exchanged("Crane owed Merrick thirty pounds", ["For years Merrick owed Crane thirty pounds."])
    'who is who between Crane and Merrick'
    """
    return _exchanged_numbers(claim, shown) or _exchanged_names(claim, shown)


# --- numbers -----------------------------------------------------------------------------------------------


def _exchanged_numbers(claim: str, shown: Sequence[str]) -> str:
    claimed = [n for n in _in_order(found_numbers(claim)) if not is_ordinal(n.written)]
    if len(claimed) < 2:
        return ""
    pairs = [
        (a, b)
        for a, b in combinations(claimed, 2)
        if a.number.value != b.number.value and is_year(a.number, a.written) == is_year(b.number, b.written)
    ]
    if not pairs:
        return ""
    sentences = list(chain.from_iterable(map(_with_numbers, shown)))
    for a, b in pairs[:_MAX_PAIRS]:
        if _reversed_range(claim, a, b, sentences):
            return f"the order of {a.written} and {b.written}"
        if a.number.unit != b.number.unit:
            continue
        of_a, of_b = _apart(claim, a, b)
        if not of_a or not of_b:
            continue
        there = [set[str](), set[str]()]
        for sentence, found in sentences:
            in_a = [n for n in found if n.number.value == a.number.value]
            in_b = [n for n in found if n.number.value == b.number.value]
            if in_a and in_b:
                first, second = (in_a[0], in_b[0])
                is_ordered = first.start < second.start
                left, right = _apart(sentence, *((first, second) if is_ordered else (second, first)))
                there[0] |= left if is_ordered else right
                there[1] |= right if is_ordered else left
            elif in_a:
                there[0] |= stems(sentence)
            elif in_b:
                there[1] |= stems(sentence)
        numbers = {a.written, b.written}
        of_a, of_b = of_a - numbers, of_b - numbers
        if of_a & there[1] and of_b & there[0] and not of_a & there[0] and not of_b & there[1]:
            return f"the order of {a.written} and {b.written}"
    return ""


@lru_cache(maxsize=MAX_TEXTS)
def _with_numbers(text: str) -> tuple[tuple[str, Sequence[FoundNumber]], ...]:
    """Return the sentences of a text that have numbers, with these in their order."""
    return tuple(
        (sentence, _in_order(found))
        for sentence in _SENTENCE.split(text)
        if (found := found_numbers(sentence))
    )


def _in_order(found: Iterable[FoundNumber]) -> list[FoundNumber]:
    return sorted(found, key=lambda number: number.start)


def _reversed_range(
    claim: str, a: FoundNumber, b: FoundNumber, sentences: Iterable[tuple[str, Sequence[FoundNumber]]]
) -> bool:
    """Return whether a claim says "from a to b" and the text "from b to a"."""
    if not _is_range(claim, a, b):
        return False
    ranges = [
        (x.written, y.written)
        for sentence, found in sentences
        for x, y in combinations(found, 2)
        if _is_range(sentence, x, y)
    ]
    pair = (a.written, b.written)
    return pair[::-1] in ranges and pair not in ranges


def _is_range(text: str, a: FoundNumber, b: FoundNumber) -> bool:
    return bool(_FROM_TO.search(text[: a.start]) and _TO.search(text[a.end : b.start]))


def _apart(text: str, a: FoundNumber, b: FoundNumber) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that are said of each of two numbers alone; both empty if nothing separates them."""
    gaps = list(_BETWEEN.finditer(text, a.end, b.start))
    if not gaps:
        return frozenset(), frozenset()
    rest = text[: a.start] + text[a.end : gaps[-1].start()], text[gaps[-1].end() : b.start] + text[b.end :]
    left, right = stems(rest[0]), stems(rest[1])
    return left - right, right - left


# --- names -------------------------------------------------------------------------------------------------


def _exchanged_names(claim: str, shown: Sequence[str]) -> str:
    for first, between, second in _neighbours(claim):
        a, b = plain(first.split()[-1]), plain(second.split()[-1])
        said = _verbs(between)
        if not said or a == b:
            continue
        verb = plain(root_of(min(said)))
        near = (
            sentence
            for text in shown
            for sentence, folded in _folded_sentences(text)
            if a in folded and b in folded and verb in folded
        )
        if _is_reversed(a, b, said, between, near):
            if first_language((claim, *shown)) == "de":  # nouns look like names
                return ""
            return f"who is who between {first} and {second}"
    return ""


@lru_cache(maxsize=MAX_TEXTS)
def _folded_sentences(text: str) -> tuple[tuple[str, str], ...]:
    found = _SENTENCE.split(text)
    return tuple(zip(found, fold_all(found), strict=True))


def _is_reversed(a: str, b: str, said: set[str], between: str, sentences: Iterable[str]) -> bool:
    """Return whether sentences have two names the other way round, and none has them as a claim does.

    Args:
        a: last word of the first name.
        b: last word of the second one.
        said: stem of the verb between them.
        between: what the claim has between them.
        sentences: that have parts of words equal to both.
    """
    verb = root_of(min(said))
    found = False
    for sentence in sentences:
        for one, gap, other in _neighbours(sentence):
            if verb not in gap.casefold():
                continue
            x, y = {plain(w) for w in one.split()}, {plain(w) for w in other.split()}
            is_same = a in x and b in y
            if not is_same and not (b in x and a in y):
                continue
            if not said & _verbs(gap) or bool(_TURNED.search(between)) != bool(_TURNED.search(gap)):
                continue
            if is_same:
                return False
            found = True
    return found


def _neighbours(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each two names that follow each other in a text, with what stands between them."""
    names = [m for m in _NAME.finditer(text) if m.group()[0].isupper()]
    for i, first in enumerate(names):
        for second in names[i + 1 : i + 4]:
            between = text[first.end() : second.start()]
            if len(between) > 80 or _GAP_END.search(between):
                break
            yield first.group(), between, second.group()


def _verbs(between: str) -> set[str]:
    """Return the first word that says what one of two names does to the other."""
    if _SYMMETRIC.search(between) or "," in between:
        return set()
    words = [w.casefold() for w in _LETTERS.findall(between)]
    first = next((w for w in words if len(w) > 2 and w not in STOP_WORDS), "")
    return {stem(first)} - {""}
