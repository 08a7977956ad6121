"""The words of a text around a name."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stem_set, is_word_character

_END = re.compile(r"[.!?] |[。！？]")
"""End of a sentence on one line, but not of a heading in bold that stands before one."""
_SHORTEST_STEM = 4
"""Letters at the beginning of a word that cases leave as they are; they change at most the last two."""
_MAX_CHARS = 240
"""Characters that are kept, without the marks of a cut."""
_LEAST_SHARED = 2
"""Words that a sentence has in common with what is said of a name, to be about it."""


def around(text: str, name: str, *, longer: Iterable[str] = (), max_chars: int = _MAX_CHARS) -> str:
    """Return what a text says around the first place of a name, on one line and cut between words.

    It begins with the sentence of the name, if the name stands in the first two thirds of what is kept.

    Args:
        text: a passage.
        name: as written; white space and case do not matter, nor do endings if the name does not occur otherwise.
        longer: names of which it is a part; where the text has only those, the first of them is its place.
        max_chars: characters that are kept, without the marks of a cut.

    Returns:
        The words, or an empty string if the text does not have the name.

    >>> around("It rained. The mill of Anna Vane burned down. She left.", "anna  vane", max_chars=34)
    'The mill of Anna Vane burned down. …'
    >>> around("It rained on Anna Vane. Vane left.", "Vane", longer=["Anna Vane"], max_chars=12)
    'Vane left.'
    >>> around("It rained.", "Anna Vane"), around("Er kam aus der Mühle von Omsk.", "Mühlen Omsk")
    ('', '')
    >>> around("Врач больницы имени Боткина.", "больница имени Боткина")
    'Врач больницы имени Боткина.'
    """
    flat, words = _on_one_line(text), name.split()
    if not words:
        return ""
    place = _place(_without(flat, longer), words) or _place(flat, words)
    if place is None:
        return ""
    first, last = place
    begin, is_cut = 0, False
    if len(flat) > max_chars:
        begin = _sentence_start(flat, first)
        if last - begin > max_chars * 2 // 3:
            begin, is_cut = flat.find(" ", max(0, first - max_chars // 3)) + 1, True
    return ("… " if is_cut else "") + _cut(flat, begin, last, max_chars)


def around_description(text: str, name: str, description: str) -> str:
    """Return what a text says where it has most words of a description, as `around` does.

    For names that do not stand in the text as they are written.

    Args:
        text: a passage.
        name: as written.
        description: what is said of it.

    Returns:
        The words from the sentence on that has most words of the name and the description, the first of equals; an
        empty string if none has two.

    >>> around_description("It rained. The taproom has an old mirror.", "Mirror of the taproom", "Old and cracked.")
    'The taproom has an old mirror.'
    >>> around_description("It rained.", "Mirror of the taproom", "Old and cracked.")
    ''
    """
    flat, wanted = _on_one_line(text), content_stem_set(f"{name} {description}")
    starts = _sentence_starts(flat)
    shared = [
        len(wanted & content_stem_set(flat[begin:end]))
        for begin, end in zip(starts, [*starts[1:], len(flat)], strict=True)
    ]
    most = max(shared)
    if most < _LEAST_SHARED:
        return ""
    begin = starts[shared.index(most)]
    return _cut(flat, begin, begin, _MAX_CHARS)


def _sentence_start(flat: str, at: int) -> int:
    starts = _sentence_starts(flat)
    return starts[bisect_right(starts, at) - 1]


def _cut(flat: str, begin: int, least: int, max_chars: int) -> str:
    """Return a text from `begin` on, cut between words but not before `least`."""
    end = begin + max_chars
    if end < len(flat):
        end = max(flat.rfind(" ", begin, end + 1), least)
    return flat[begin:end].rstrip() + (" …" if end < len(flat) else "")


# Several names of a text are looked for one after the other.
@lru_cache(maxsize=1)
def _on_one_line(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=1)
def _sentence_starts(flat: str) -> list[int]:
    ends = {end.end() for end in _END.finditer(flat)}
    return [0, *(start for start, _ in sentence_spans(flat) if start in ends)]


def _without(flat: str, names: Iterable[str]) -> str:
    """Return a text of equal length without some names."""
    for name in sorted(names, key=len, reverse=True):
        pattern = " ".join(map(re.escape, name.split()))
        flat = re.sub(pattern, lambda found: "_" * len(found[0]), flat, flags=re.IGNORECASE)
    return flat


def _place(flat: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Return where a text on one line first has some words: whole, else in other words, else with other endings."""
    exact = " ".join(words)
    stems = [word[: max(_SHORTEST_STEM, len(word) - 2)] for word in words]
    if flat.isascii() and exact.isascii():
        # Compiling a pattern takes several times as long as this.
        lower, exact = flat.lower(), exact.lower()
        first = at = lower.find(exact)
        while at >= 0:
            end = at + len(exact)
            if not (is_word_character(lower[at - 1 : at]) or is_word_character(lower[end : end + 1])):
                return at, end
            at = lower.find(exact, at + 1)
        if first >= 0:
            return first, first + len(exact)
        if any(stem.lower() not in lower for stem in stems):
            return None
        patterns = [rf"(?<!\w){_inflected(stems)}"]
    else:
        escaped = re.escape(exact)
        patterns = [rf"(?<!\w){escaped}(?!\w)", escaped, rf"(?<!\w){_inflected(stems)}"]
    found = next((found for each in patterns if (found := re.search(each, flat, re.I))), None)
    return found.span() if found else None


def _inflected(stems: Sequence[str]) -> str:
    """Return a pattern for words with other endings."""
    return " ".join(re.escape(stem) + r"\w{0,4}" for stem in stems)
