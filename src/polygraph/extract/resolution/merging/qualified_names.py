"""Things under several names across documents: with and without a place or a common noun, in another order or language.

The form only proposes a pair. Two names merge if the text of the shorter one names the place of the longer one, or if
both have something in common (`Merger.evidence`); other pairs stay apart and are listed as undecided.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from polygraph.extract.lexicon import TYPE_OF_NOUN
from polygraph.extract.resolution.clusters.merger import Merger
from polygraph.extract.resolution.merging.candidates import ENOUGH, kinds_of_each_name, merge_with_one
from polygraph.extract.resolution.names.spelling import names_conflict, plain_form, without_legal_form
from polygraph.extract.resolution.vocabulary.kinds import CLASS_OF_NOUN
from polygraph.extract.resolution.vocabulary.regions import COUNTRY_OF_ADJECTIVE
from polygraph.text.normalize import fold

_NOUNS_WORDS = """
lake river mount mt sea bay cape island isle loch valley forest park castle fort fortress palace villa abbey hotel
sanatorium station peak hill stream creek see fluss berg insel schloss burg bahnhof kloster lac rivière fleuve mont île
château gare lago río rio monte isla castillo estación fiume isola castello stazione fjord elv ø
озеро река гора остров замок вокзал станция
"""
_NOUNS_OF_PLACES = frozenset(_NOUNS_WORDS.split())
_NOUNS_OF_FIRMS_WORDS = """
group company corporation industries systems microsystems technologies technology software electronics motors motor
pharmaceuticals pharma airlines airways records press publishing publishers laboratories labs studios stores foods
brewery gruppe konzern werke motoren groupe grupo gruppo
"""
_NOUNS_OF_FIRMS = frozenset(_NOUNS_OF_FIRMS_WORDS.split())
_NOUNS_OF_INSTITUTIONS_WORDS = """
hospital school college university church cathedral theatre theater museum library bank club hospice clinic infirmary
krankenhaus klinik schule kirche museum hôpital école église hospital escuela iglesia ospedale scuola chiesa
"""
_NOUNS_OF_INSTITUTIONS = frozenset(_NOUNS_OF_INSTITUTIONS_WORDS.split())
_FORMAL = re.compile(
    r"(?:kingdom|republic|federal republic|federation|commonwealth|principality|grand duchy|sultanate|organi[sz]ation"
    r"|königreich|republik|bundesrepublik|royaume|république|organisation|reino|república|organización|regno"
    r"|repubblica|organizzazione)(?: of the| of| der| des| de las| de los| de la| de| du| d| delle| di) (.+)"
)
_LITTLE_WORDS = """
of the a an in at for s de la le les des du d l der die das dem den des von vom für im del della di el los las do da
dos av af van het no nr nº num number on and
"""
_LITTLE = frozenset(_LITTLE_WORDS.split()) | frozenset(map(fold, _LITTLE_WORDS.split()))
_GENERIC = (
    frozenset(CLASS_OF_NOUN)
    | frozenset(TYPE_OF_NOUN)
    | {"board", "office", "service", "hall", "road", "line"}
)
_MAX_BLOCK = 30
"""Names per block; larger ones share something too common to say much."""
_COGNATE = 0.5
"""Share of the letters at the beginning of a word that a word of another language repeats."""
_MORE_DOUBT = 1.25
"""Evidence for one of a form that differs in more than a place or a noun."""
_MIN_NUMERONYM = 5
"""Letters of a word that is abbreviated by their number."""
_DIGITS = re.compile(r"\d+")

_JOINTS = ("of the", "of", "in", "at", "von", "de", "di", "à")

_Longer = Mapping[str, list[tuple[str, str]]]
_Kinds = Mapping[str, frozenset[str]]
_NOT_THINGS = frozenset(["person"])


def merge_qualified_names(merger: Merger) -> None:
    """Merge clusters of things whose names are forms of one name, unless something conflicts."""
    if not merger.table.by_model:
        return
    kinds = {base: found - _NOT_THINGS for base, found in kinds_of_each_name(merger).items()}
    kinds = {base: found for base, found in kinds.items() if found}
    _merge_longer(merger, _with_place(kinds), least=ENOUGH)
    _merge_longer(merger, _with_noun(kinds), least=ENOUGH)
    _merge_longer(merger, _with_genus(kinds), least=ENOUGH, certain=True)
    _merge_longer(merger, _numeronyms(kinds), least=ENOUGH)
    _merge_reordered(merger, kinds)
    _merge_longer(merger, _abridged(kinds), least=_MORE_DOUBT)
    _merge_longer(merger, _cognate(kinds), least=_MORE_DOUBT)


def _with_place(kinds: _Kinds) -> _Longer:
    """Return the longer names that begin with a place or end with a whole, each with that place."""
    longer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with_noun: dict[str, list[str]] = defaultdict(list)
    for base in sorted(kinds):
        rest, _, noun = base.rpartition(" ")
        if noun in _NOUNS_OF_PLACES:
            with_noun[rest].append(base)
    for long, of_long in sorted(kinds.items()):
        words = long.split()
        shared = of_long & {"organization", "place"}
        if not shared or not 1 < len(words) < 9:
            continue
        found = []
        for n in (1, 2):
            # One word is left of an organization only (``Real Betis``), and no general noun.
            is_word = len(words) - n == 1
            place, rest = " ".join(words[:n]), " ".join(words[n:])
            if len(words) - n > 1 or (is_word and "organization" in shared and words[-1] not in _GENERIC):
                found.append((rest, place))
            found += ((short, place) for short in with_noun.get(rest, ()) if rest and short != long)
        if formal := _FORMAL.fullmatch(long):
            found.append((formal.group(1), ""))
        for joint in _JOINTS:
            short, is_joined, rest = long.partition(f" {joint} ")
            if is_joined and " " in short:
                found.append((short, rest))
        for short, place in found:
            if shared & kinds.get(short, frozenset()):
                longer[short].append((long, place))
    return longer


def _with_noun(kinds: _Kinds) -> _Longer:
    """Return the longer names that add a common noun: ``Lake Ladoga``, ``Sun Microsystems``."""
    longer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for long, of_long in sorted(kinds.items()):
        words = without_legal_form(long).split()
        if len(words) < 2:
            continue
        for noun, others in ((words[0], words[1:]), (words[-1], words[:-1])):
            # ``St Brigid's Hospital``: the short name has lost its possessive.
            rest = others[:-1] if others[-1] == "s" and len(others) > 1 else others
            fitting = of_long & kinds.get(" ".join(rest), frozenset())
            is_noun = ("place" in fitting and noun in _NOUNS_OF_PLACES) or (
                "organization" in fitting and noun in _NOUNS_OF_FIRMS | _NOUNS_OF_INSTITUTIONS
            )
            if is_noun and not _GENERIC.issuperset(rest):
                longer[" ".join(rest)].append((long, ""))
    return longer


def _with_genus(kinds: _Kinds) -> _Longer:
    """Return the species whose genus a name abbreviates: ``E. coli``."""
    by_rest: dict[str, list[str]] = defaultdict(list)
    for base in kinds:
        first, _, rest = base.partition(" ")
        if rest and kinds[base] & {"creature", "disease"} and first.isalpha():
            by_rest[rest].append(base)
    longer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for bases in by_rest.values():
        for short in bases:
            if len(short.split()[0]) == 1:
                longer[short] += [(long, "") for long in bases if long != short and long[0] == short[0]]
    return longer


def _numeronyms(kinds: _Kinds) -> _Longer:
    """Return the words that a number of letters between the first and the last stands for: ``k8s``."""
    by_form: dict[str, list[str]] = defaultdict(list)
    for base in sorted(kinds):
        if base.isalpha() and len(base) > _MIN_NUMERONYM:
            by_form[f"{base[0]}{len(base) - 2}{base[-1]}"].append(base)
    return {short: [(long, "") for long in by_form[short]] for short in sorted(kinds) if short in by_form}


def _abridged(kinds: _Kinds) -> _Longer:
    """Return the longer names that have all words of a shorter one and its last one: ``James Webb Telescope``.

    Not those that are named after it (``Friends of the James Webb Telescope``).
    """
    blocks: dict[str, list[str]] = defaultdict(list)
    for base in kinds:
        if " " in base:
            blocks[base.split()[-1]].append(base)
    longer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in _pairs(blocks):
        short, long = sorted(pair, key=lambda base: (len(base), base))
        rest = iter(long.split())
        if (
            all(word in rest for word in short.split())
            and not _is_named_after(long, short)
            and not names_conflict(short, long, of_people=False)
            and not _GENERIC.issuperset(short.split())
            and (kinds[short] & kinds[long]) - {""}
        ):
            longer[short].append((long, ""))
    return longer


def _is_named_after(long: str, short: str) -> bool:
    """Return whether a name is another noun, a preposition and a shorter name."""
    before = long.removesuffix(short).split()
    return len(before) > 1 and long.endswith(short) and before[-1] in _LITTLE


def _cognate(kinds: _Kinds) -> _Longer:
    """Return names whose words begin alike, in the order of another language: ``Institut für Chemie``."""
    blocks: dict[str, list[str]] = defaultdict(list)
    words = {base: _content_words(base) for base in kinds}
    for base, some in words.items():
        if len(some) > 1:
            blocks[f"{len(some)} {some[0][:4]}"].append(base)
    longer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for first, second in _pairs(blocks):
        if not (kinds[first] & kinds[second]) - {""}:
            continue
        differing = [(a, b) for a, b in zip(words[first], words[second], strict=True) if a != b]
        alike = differing and all(_begin_alike(a, b) for a, b in differing)
        if alike and not names_conflict(first, second):
            longer[first].append((second, ""))
    return longer


def _content_words(base: str) -> list[str]:
    return [word for word in fold(base).replace("-", " ").split() if word not in _LITTLE]


def _begin_alike(a: str, b: str) -> bool:
    """Return whether two words may be one word in two languages."""
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return n >= 4 and n >= _COGNATE * max(len(a), len(b))


def _pairs(blocks: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    for names in blocks.values():
        if 1 < len(names) <= _MAX_BLOCK:
            yield from combinations(sorted(names), 2)


def _merge_reordered(merger: Merger, kinds: _Kinds) -> None:
    """Merge names with the same words in another order: ``Ministry of Health``, ``Sinfonie Nr. 3``.

    Names that differ in order only are common (``University of Miami``, ``Miami University``), so they need
    something in common. A number in the name, such as a year, leaves no doubt.
    """
    by_words: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for base in kinds:
        plain = (COUNTRY_OF_ADJECTIVE.get(word, word) for word in plain_form(base).split())
        words = tuple(sorted(word for word in plain if word not in _LITTLE))
        if len(words) > 1:
            by_words[words].append(base)
    for words, bases in by_words.items():
        if 1 < len(bases) <= _MAX_BLOCK:
            certain = any(_DIGITS.fullmatch(word) for word in words)
            for first, second in combinations(sorted(bases), 2):
                is_joined = not _LITTLE.isdisjoint(first.split()) or not _LITTLE.isdisjoint(second.split())
                if kinds[first] & kinds[second] and (certain or is_joined):
                    _merge_longer(merger, {first: [(second, "")]}, least=ENOUGH, certain=certain)


def _merge_longer(merger: Merger, longer: _Longer, *, least: float, certain: bool = False) -> None:
    """Merge names with the longer one that stands near, or that they have most in common with."""
    for short in sorted(longer):
        for n in merger.roots([short]):
            beside = {merger.table.bases[i] for i in merger.clusters[n].context_ids().tolist()}
            beside |= set(merger.clusters[n].attributes.within)
            near: dict[int, str] = {}
            candidates = []
            for long, place in longer[short]:
                for m in merger.roots([long]):
                    if m not in candidates and merger.same_kind(n, m) and not merger.side_by_side(n, m):
                        candidates.append(m)
                        if place and place in beside:
                            near[m] = f"beside {place}"
            merge_with_one(merger, n, sorted(candidates), certain=certain, near=near, least=least)
