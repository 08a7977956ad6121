"""Names of one thing in several scripts and languages."""

from collections import defaultdict
from collections.abc import Mapping

from polygraph.extract.full_names import is_full_name
from polygraph.extract.lexicon import MEN, TYPE_OF_NOUN, WOMEN
from polygraph.extract.resolution.clusters.merger import Merger
from polygraph.extract.resolution.merging.candidates import ENOUGH, kind_of_each_name
from polygraph.extract.resolution.names.given_names import are_translated
from polygraph.extract.resolution.names.romanize import consonants, is_abjad, is_other_script, sounds
from polygraph.extract.resolution.names.spelling import codes_differ, similarity
from polygraph.extract.resolution.vocabulary.international import body_in_english, is_acronym_of_body
from polygraph.extract.resolution.vocabulary.kinds import CLASS_OF_NOUN, kinds_conflict
from polygraph.extract.resolution.vocabulary.regions import institution_in_english, place_in_english
from polygraph.text.normalize import fold

_MAX_BLOCK = 100
"""Names per block; larger ones are not compared."""
_SOUNDS_ALIKE = 0.8
_TRANSCRIPTION = 0.1
"""Transcriptions of one name are that much less alike than the best at most."""
_LONG_KEY = 3
"""Consonants that are enough where all of them agree."""
_COMMON = frozenset(CLASS_OF_NOUN) | frozenset(TYPE_OF_NOUN)
_SHORT_NAME = 4
"""Letters of a name that is compared with its vowels."""


def merge_transliterations(merger: Merger) -> None:
    """Merge names with their transcriptions, and the names that languages have for one place."""
    if merger.table.by_model:
        kinds = kind_of_each_name(merger)
        _merge_exonyms(merger, kinds)
        _merge_scripts(merger, kinds)
        _merge_given_names(merger, kinds)
        _merge_transcriptions(merger, kinds)


def _merge_exonyms(merger: Merger, kinds: Mapping[str, str]) -> None:
    """Merge the names that languages have for one place (``Munich``, ``München``)."""
    by_english: dict[str, list[str]] = defaultdict(list)
    for base, kind in kinds.items():
        if kind in ("place", "organization"):
            body = body_in_english(base) if kind == "organization" else ""
            by_english[body or institution_in_english(base) or place_in_english(base)].append(base)
    for english, bases in by_english.items():
        main = english if english in bases else bases[0]
        for base in bases:
            if base != main:
                least = ENOUGH if is_acronym_of_body(base) or is_acronym_of_body(main) else 0.0
                text = f"{english} in another language"
                _merge_names(merger, main, base, 0.9, text, least=least)


def _merge_scripts(merger: Merger, kinds: Mapping[str, str]) -> None:
    """Merge names of other scripts with their transcriptions, long names before short ones."""
    others = [base for base in kinds if is_other_script(base)]
    if not others:
        return
    by_consonants: dict[str, list[str]] = defaultdict(list)
    for base, kind in kinds.items():
        if not is_other_script(base) and len(base) > 3 and kind:
            for abjad in (False, True):
                by_consonants[consonants(base, abjad=abjad)].append(base)
    for base in sorted(others, key=lambda name: (-len(consonants(name)), name)):
        abjad = is_abjad(base)
        key, heard = consonants(base, abjad=abjad), sounds(base)
        block = dict.fromkeys(by_consonants.get(key, ())[:_MAX_BLOCK]) if key else {}
        alike = [
            (similarity(heard, sounds(latin)), latin)
            for latin in block
            if not kinds_conflict(kinds[base], kinds[latin])
            and (not abjad or _same_in_each_word(base, latin))
        ]
        best = max((score for score, _ in alike), default=0.0)
        # Scripts without vowels are alike in consonants only.
        limit = 0.0 if abjad else max(_SOUNDS_ALIKE, best - _TRANSCRIPTION)
        for score, latin in sorted(alike, key=lambda pair: (-pair[0], pair[1])):
            if score < limit:
                continue
            is_long = len(key) >= _LONG_KEY or (not abjad and score == 1.0 and len(heard) >= _SHORT_NAME)
            least = 0.0 if is_long else ENOUGH
            _merge_names(merger, base, latin, 0.85, f"sounds like {latin}", least=least)


def _same_in_each_word(base: str, latin: str) -> bool:
    """Return whether names with as many words as each other have the same consonants in each."""
    words = [name.replace("-", " ").split() for name in (base, latin)]
    return len(words[0]) != len(words[1]) or all(
        consonants(x, abjad=True) == consonants(y, abjad=True) for x, y in zip(*words, strict=True)
    )


def _merge_given_names(merger: Merger, kinds: Mapping[str, str]) -> None:
    """Merge people with one surname whose given names are one name in two languages (``Лев``, ``Leo``)."""
    by_surname: dict[str, list[str]] = defaultdict(list)
    for base, kind in kinds.items():
        words = base.split()
        if kind == "person" and len(words) > 1 and is_full_name(words):
            by_surname[consonants(words[-1])].append(base)
    for key, bases in by_surname.items():
        if len(key) < 2 or not 1 < len(bases) <= _MAX_BLOCK:
            continue
        for n, first in enumerate(bases):
            for second in bases[n + 1 :]:
                a, b = first.split(), second.split()
                alike = similarity(sounds(a[-1]), sounds(b[-1])) >= _SOUNDS_ALIKE
                if alike and are_translated(a[0], b[0]):
                    text = f"{a[0].title()} is {b[0].title()} in another language"
                    # A surname in another script that sounds alike is evidence enough.
                    least = ENOUGH if is_other_script(first) == is_other_script(second) else 0.0
                    _merge_names(merger, first, second, 0.8, text, least=least)


def _merge_transcriptions(merger: Merger, kinds: Mapping[str, str]) -> None:
    """Merge names in Latin letters that transcribe one name in two ways, if they have something in common."""
    blocks: dict[str, list[str]] = defaultdict(list)
    for base, kind in kinds.items():
        is_name = " " in base or (kind == "place" and base not in _COMMON)
        if kind in ("person", "place", "organization") and is_name and not is_other_script(base):
            key = consonants(base)
            if len(key) >= _LONG_KEY:
                blocks[f"{fold(base)[0]} {len(base.split())} {key}"].append(base)
    for bases in blocks.values():
        if not 1 < len(bases) <= _MAX_BLOCK:
            continue
        for n, first in enumerate(bases):
            for second in bases[n + 1 :]:
                differing = [(x, y) for x, y in zip(first.split(), second.split(), strict=True) if x != y]
                is_name = any(x in MEN | WOMEN and y in MEN | WOMEN for x, y in differing)
                equal = sounds(first) == sounds(second)
                alike = similarity(sounds(first), sounds(second)) >= _SOUNDS_ALIKE
                listed = any(
                    merger.side_by_side(x, y) for x in merger.roots([first]) for y in merger.roots([second])
                )
                if is_name or not alike or listed or kinds[first] != kinds[second]:
                    continue
                if codes_differ(first, second):
                    continue
                accented = equal and not (first + second).isascii()
                long = len(consonants(first)) > _LONG_KEY
                if accented or long:
                    least = 0.0 if accented else ENOUGH
                    _merge_names(
                        merger,
                        first,
                        second,
                        0.8,
                        "transcriptions of one name",
                        least=least,
                    )


def _merge_names(merger: Merger, first: str, second: str, score: float, text: str, *, least: float) -> None:
    """Merge the clusters of two base names that fit each other only, or that have most in common.

    Args:
        merger: of the clusters.
        first: a base name.
        second: another one.
        score: of the merge.
        text: evidence for readers.
        least: evidence that a pair needs.
    """
    ours, theirs = merger.roots([first]), merger.roots([second])
    fitting = [
        (x, y)
        for x in ours
        for y in theirs
        if x != y and merger.same_kind(x, y) and not merger.conflict(x, y, unrelated=True)[0]
    ]
    ranked = sorted(
        ((merger.evidence(x, y)[0], x, y) for x, y in fitting), key=lambda item: (-item[0], *item[1:])
    )
    taken: set[int] = set()
    for strength, x, y in ranked:
        rivals = sum(x in pair or y in pair for pair in fitting) - 1
        if x not in taken and y not in taken and strength >= (max(least, ENOUGH) if rivals else least):
            taken |= {x, y}
            merger.merge(x, y, "transliteration", score, text)
