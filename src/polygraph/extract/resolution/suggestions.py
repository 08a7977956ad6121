"""Pairs of names that no rule compares and that may still be one entity: left undecided, for a model or a reader.

Names of another script whose sound says nothing (kanji beside a Latin name, a translated name), and names that share
half of their words. Both entities must be of one kind and have something in common.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from polygraph.extract.resolution.blocking import names_conflict, plain_form
from polygraph.extract.resolution.candidates import ENOUGH, kind_of_each_name
from polygraph.extract.resolution.kinds import CLASS_OF_NOUN
from polygraph.extract.resolution.merger import Merger
from polygraph.extract.resolution.name_parts import fold
from polygraph.extract.resolution.romanize import is_other_script

_MAX_BLOCK = 30
"""Names that share a context name or a word; larger blocks say too little."""
_MAX_SUGGESTIONS = 2
"""Pairs for one name, those with most in common first."""
_KINDS = frozenset({"person", "organization", "place", "work", "software", "substance", "disease", "ship"})
_MIN_SHARED_WORDS = 0.5


def suggest_pairs(merger: Merger) -> None:
    """Leave pairs undecided that no rule compares: of two scripts, or with half of their words in common."""
    if not merger.table.by_model:
        return
    kinds = kind_of_each_name(merger)
    found: dict[tuple[int, int], tuple[float, str]] = {}
    for a, b in (*_of_other_scripts(merger, kinds), *_with_shared_words(kinds)):
        for x in merger.roots([a]):
            for y in merger.roots([b]):
                if x == y or not merger.same_kind(x, y) or merger.side_by_side(x, y):
                    continue
                strength, text = merger.evidence(x, y)
                if strength >= ENOUGH and not merger.conflict(x, y)[0]:
                    found[min(x, y), max(x, y)] = (strength, text)
    n_of: dict[int, int] = defaultdict(int)
    for (x, y), (_, text) in sorted(found.items(), key=lambda item: (-item[1][0], item[0])):
        if max(n_of[x], n_of[y]) < _MAX_SUGGESTIONS:
            n_of[x] += 1
            n_of[y] += 1
            merger.leave_undecided(x, y, "short name", text)


def _are_of_one_kind(kinds: Mapping[str, str], a: str, b: str) -> bool:
    return kinds[a] in _KINDS and kinds[a] == kinds[b]


def _of_other_scripts(merger: Merger, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield names of one kind and different scripts that share a context name."""
    in_other_script = frozenset(filter(is_other_script, merger.numbers))
    if not in_other_script:
        return
    with_context: dict[int, set[str]] = defaultdict(set)
    for base, numbers in merger.numbers.items():
        for n in numbers:
            for context in merger.clusters[merger.root(n)].context_ids().tolist():
                with_context[merger.same_as(context)].add(base)
    for names in with_context.values():
        if len(names) > _MAX_BLOCK or names.isdisjoint(in_other_script):
            continue
        for other in sorted(names & in_other_script):
            for base in sorted(names - in_other_script):
                if _are_of_one_kind(kinds, other, base):
                    yield other, base


def _with_shared_words(kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield names of one kind that share half of the words of the longer one, not only common nouns."""
    words = {base: frozenset(fold(plain_form(base)).split()) for base in kinds if " " in base}
    blocks: dict[str, list[str]] = defaultdict(list)
    for base in sorted(words):
        for word in words[base]:
            if len(word) > 3 and word not in CLASS_OF_NOUN:
                blocks[word].append(base)
    pairs: dict[tuple[str, str], None] = {}
    for _, names in sorted(blocks.items()):
        if 1 < len(names) <= _MAX_BLOCK:
            pairs |= dict.fromkeys(combinations(names, 2))
    for a, b in pairs:
        if not _are_of_one_kind(kinds, a, b):
            continue
        n_shared = len(words[a] & words[b])
        is_person = kinds[a] == "person"
        if is_person and fold(a)[0] != fold(b)[0]:
            continue
        is_close = n_shared >= _MIN_SHARED_WORDS * max(len(words[a]), len(words[b]))
        if is_close and not names_conflict(a, b, of_people=is_person):
            yield a, b
