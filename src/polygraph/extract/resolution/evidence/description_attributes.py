"""Attributes from a description that a model wrote: all of it is said of the entity, also without its name.

A description begins with what the entity is (``Danish cartographer who ...``, ``City in Illinois``) or with a verb.
Only the noun phrase at its beginning says what the entity is; names and trades further on may be those of others.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from string import ascii_lowercase

from polygraph.extract.lexicon import (
    ENGLISH_OCCUPATION,
    FEMALE_TITLES,
    MALE_TITLES,
    MORE_OCCUPATIONS,
    OCCUPATION_IN_CLAUSE,
    OCCUPATIONS,
    TITLES,
    TITLES_OF_PEOPLE,
    UNMARRIED_TITLES,
)
from polygraph.extract.resolution.evidence.attributes import STEM, Attributes
from polygraph.extract.resolution.evidence.other_names import says_name
from polygraph.extract.resolution.evidence.sentence_attributes import HAS_YEAR, extract_attributes, occupation
from polygraph.extract.resolution.names.name_parts import (
    SUFFIX_OF_NUMBER,
    SUFFIXES,
    NameParts,
    gender_of,
)
from polygraph.extract.resolution.vocabulary.kinds import (
    CLASS_OF_NOUN,
    kind_of_class,
    kind_of_type,
    kinds_conflict,
)
from polygraph.extract.resolution.vocabulary.regions import COUNTRY_OF_ADJECTIVE
from polygraph.text.language import FUNCTION_WORDS
from polygraph.text.normalize import fold, normalize_name
from polygraph.text.words import ascii_splitter, memory_of_words

_TOKEN = re.compile(r"[^\W_]+(?:[-’'.&][^\W_]+)*|[,;:.()]")
_COPULAS = [
    "is",
    "was",
    "ist",
    "war",
    "est",
    "était",
    "fut",
    "es",
    "fue",
    "era",
    "è",
    "é",
    "foi",
    "er",
    "var",
    "är",
]
_COPULA_WORDS = frozenset(_COPULAS)
_COPULA = re.compile(
    rf"^(?:.{{0,60}}?\s)?(?:{'|'.join(_COPULAS)})\s+(?:also\s+)?"
    r"(?:(?:an?|the|one of the|ein|eine|einer|der|die|das|une?|le|la|el|il|um|uma|en|ett?)\s+)+",
    re.I,
)
_ARTICLES_WORDS = """
a an the ein eine der die das un une le la el il lo um uma o en et ett
"""
_ARTICLES = frozenset(_ARTICLES_WORDS.split())
_BEFORE_OFFICES = _ARTICLES | frozenset(
    ["late", "former", "retired", "acting", "onetime", "sometime", "then"]
)
"""Words after which the capital of an office begins no name: ``Late Harbour-Master``."""
_IN_OFFICE = re.compile(
    r"\b(?:predecessor|successor|succeeded|preceded|replaced|followed|served|works?|worked)\b"
    r"[^.;:]{0,60}? as (?:an? |the )?([a-z]+(?:-[a-z]+)*)",
    re.I,
)
_STOPS_WORDS = """
who whom whose which that where when whose with without from for to by on at against between under after before until
since during near and der die das dem den des wo mit ohne von vom für zu zum zur bei nach vor seit qui que dont avec
sans pour dans sur par a con sin para por donde cuyo che con per som med uten for til fra på efter который которая he
she his her its their the a an
"""
_STOPS = frozenset(_STOPS_WORDS.split()) - {"and"}
_IN_WORDS = """
in of im aus en de du des dans à di del da do na no i av af ved в из within from
"""
_IN = frozenset(_IN_WORDS.split())
_WOMEN_WORDS = """
daughter wife widow mother sister aunt niece girl woman queen princess nun lady actress waitress granddaughter
grandmother stepmother bride godmother heiress housewife tochter frau witwe mutter schwester tante nichte mädchen
königin ehefrau fille femme épouse veuve mère sœur reine hija esposa mujer viuda madre hermana reina figlia moglie
sorella filha irmã mãe datter kone enke mor søster dotter syster дочь жена вдова мать сестра 妹 姉 娘 妻 母 女
"""
_WOMEN = frozenset(_WOMEN_WORDS.split())
_MEN_WORDS = """
son husband widower father brother uncle nephew boy man king prince monk gentleman grandson grandfather stepfather
bridegroom godfather sohn mann ehemann witwer vater bruder onkel neffe junge könig fils mari père frère roi hijo
marido esposo padre hermano rey figlio marito fratello filho irmão pai sønn søn mann far bror son bror сын муж отец
брат 弟 兄 息子 夫 父 男
"""
_MEN = frozenset(_MEN_WORDS.split())
_MARRIED_WORDS = """
wife widow witwe ehefrau épouse veuve esposa viuda moglie kone enke жена вдова 妻
"""
_MARRIED = frozenset(_MARRIED_WORDS.split())
_OF_WIVES = frozenset(["mrs", "frau", "madame", "mme", "widow", "enken", "witwe", "veuve", "viuda", "vedova"])
_MADE_BY = re.compile(r"\b(?:by|von|par|av|af|di|de) ((?:[A-Z]\w+[ .]+){1,2}[A-Z]\w+)")
_WIFE_OF = re.compile(
    r"(?:\w+ )?(?:Frau|Femme|Mujer|Kona|Konen|Kone) (?:des|der|von|de|du|del|til|av|af)\b", re.I
)
_HER_HUSBAND = re.compile(
    r"\b(?:her husband|ihre[mnr]? (?:Mann|Gatten)|son mari|su marido|suo marito|mannen sin)\b", re.I
)
_HIS_WIFE = re.compile(
    r"\b(?:his (?:wife|widow|bride)|seiner? (?:Frau|Witwe)|sa femme|su esposa|sua moglie|kona si)\b", re.I
)
_YEAR = re.compile(r"(?<![\d.,])[12]\d{3}(?![\d.,]?\d)")
_LIFE = re.compile(
    r"\(\s*(?:c\.? ?)?(\d{4})\s*[-–—]\s*(?:c\.? ?)?(\d{4})\s*\)|\b(?:lived|lebte|vécut|vivió|visse"
    r"|levde)\s+(?:from|von|de|dal|fra)"
    r"\s+(\d{4})\s+(?:to|bis|à|a|al|til)\s+(\d{4})",
    re.I,
)
_DAY = r"(?:\d{1,2}(?:\.|st|nd|rd|th|er|º)?,? (?:(?:of|de) )?(?:[^\W\d_]{3,9}\.?,? (?:de )?)?)?"
"""A day and perhaps its month, before a year. Not ``14 passengers in``."""
_BORN = re.compile(
    r"(?:\bborn|\bb\.|\bgeboren|\bnée?|\bnacid[oa]|\bnació|\bnat[oa]|\bnascid[oa]|\bfødt|\bfödd|родил\w*|\*|γεννήθηκε)"
    rf"[^.;)\d]{{0,30}}{_DAY}(\d{{4}})\b",
    re.I,
)
_DIED = re.compile(
    r"(?:\bdied|\bd\.|\bdeath|\bgestorben|\bstarb|\bmort[eo]?|\bmurió|\bmorreu|\bmorì|\bdøde?|\bdog|умер\w*|†|πέθανε)"
    rf"[^.;)\d]{{0,30}}{_DAY}(\d{{4}})\b",
    re.I,
)
_BEGUN = re.compile(
    r"(?:^|[,;] |\b(?:was|were|is|wurde|fut|fue) )(?:founded|established|launched|built|opened|incorporated|completed"
    r"|inaugurated|gegründet|erbaut|eröffnet|fondée?|construite?|inaugurée?|fundad[oa]|construid[oa]|inaugurad[oa])"
    r" (?:in|im jahre?|en|em|nel) (\d{4})\b",
    re.I,
)
_ENDED = re.compile(
    r"\b(?:sunk|wrecked|torpedoed|scuttled|scrapped|demolished|dissolved|versenkt|abgerissen|aufgelöst|coulée?|démolie?"
    r"|dissoute?|hundid[oa]|demolid[oa]|disuelt[oa])\b[^.;\d]{0,30}\b(\d{4})\b",
    re.I,
)
_OF_OTHERS = re.compile(
    r"\b(?:sister|brother|wife|widow|husband|son|daughter|father|mother|aunt|uncle|niece|nephew|cousin|friend|servant"
    r"|assistant|secretary|housekeeper|maid|clerk|successor|predecessor|rival|enemy) (?:of|to) (?:the |an? )?"
    r"([^\W\d_]+)|\b([^\W\d_]+)[’']s\b",
    re.I,
)
_HAS_TRADE = TITLES_OF_PEOPLE | OCCUPATIONS
_GENERAL_WORDS = frozenset().union(*FUNCTION_WORDS.values())
_LETTERS = re.compile(r"[^\W\d_]+")
_ascii_words = ascii_splitter(ascii_lowercase)
_MAX_CHARS = 600
_BEGINNING = 80
"""Characters of a description in which `_COPULA` finds its verb, and some more."""
_STEMS = 10
_SHORTEST = 4
"""Letters of a word that has a stem."""


def describe(name: NameParts, written: str, type_: str, description: str) -> Attributes:
    """Extract the attributes of one mention from its name, type and description.

    >>> from polygraph.extract.resolution.names.name_parts import split_name
    >>> where = "City in Massachusetts where basketball was invented."
    >>> found = describe(split_name("Springfield"), "Springfield", "place", where)
    >>> sorted(found.classes), sorted(found.within)
    (['city'], ['massachusetts'])
    >>> text = "Told the judge that she had retired."
    >>> describe(split_name("Carla Voss"), "Carla Voss", "person", text).occupations
    frozenset()
    """
    read = _read(description)
    text = read.text
    kind = kind_of_type(type_)
    if written and written in text:
        found = extract_attributes(name, written, "person" if kind == "person" else type_, text)
        found.kind_is_stated = found.kind == "ship"
        if kind and not found.kind_is_stated:
            found.kind = kind
    else:
        found = Attributes(kind=kind)
    head = [*_head(name.apposition), *read.head] if name.apposition else [*read.head]
    known_person = found.kind == "person"
    if known_person or not found.kind:
        _describe_person(found, name, head, text, sure=known_person)
    if not known_person:
        _describe_thing(found, type_, head, text)
    if name.apposition and found.kind != "person" and name.apposition[0].isupper():
        found.within |= {fold(normalize_name(name.apposition))}
    found.years = frozenset()
    if name.apposition or read.has_year:
        _add_years(
            found,
            f"({name.apposition}) {text}" if name.apposition else text,
            is_person=found.kind == "person",
        )
    found.words = frozenset(_first_stems(read, name.words))
    if name.titles:
        found.words |= {title[:STEM] for title in name.titles - MALE_TITLES - FEMALE_TITLES}
    return found


@dataclass(frozen=True, slots=True)
class _Text:
    """What a description says whichever name it describes."""

    text: str
    head: tuple[str, ...]
    """Words of the noun phrase at its beginning."""
    has_year: bool
    words: Sequence[str]
    """Case-folded."""
    of_others: Set[str]
    """Those that are said of others."""


# A sentence describes every name in it.
@lru_cache(maxsize=256)
def _read(description: str) -> _Text:
    text = " ".join(description.split())[:_MAX_CHARS]
    folded = text.casefold()
    words: list[str] = _ascii_words(folded) if folded.isascii() else _LETTERS.findall(folded)
    of_others = frozenset[str]() if _HAS_TRADE.isdisjoint(words) else _said_of_others(text)
    return _Text(text, tuple(_head(text)), HAS_YEAR.search(text) is not None, words, of_others)


def _describe_person(found: Attributes, name: NameParts, head: list[str], text: str, *, sure: bool) -> None:
    found.titles |= name.titles
    found.suffix = name.suffix or found.suffix
    if not found.suffix and len(name.words) > 2:
        found.suffix = SUFFIX_OF_NUMBER.get(name.words[-1], "")
    found.gender = gender_of(name) or found.gender
    folded = [word.casefold() for word in head]
    trades = {_trade(ENGLISH_OCCUPATION.get(word, word)) for word in folded} - {""}
    if not text.isascii():
        clause = re.split(r"[。,,、.;]", text, maxsplit=1)[0]
        trades |= {trade for word, trade in OCCUPATION_IN_CLAUSE.items() if word in clause}
    if sure and " as " in text and (office := _IN_OFFICE.search(text)):
        trades |= {_trade(office.group(1).casefold())} - {""}
    women, men = _WOMEN.intersection(folded), _MEN.intersection(folded)
    if not sure and not (trades or women or men or name.titles):
        return
    found.occupations |= frozenset(trades)
    found.titles |= TITLES.intersection(folded) - MALE_TITLES - FEMALE_TITLES - frozenset(trades)
    stated = bool(trades or women or men)
    if any(word.endswith("in") and word in ENGLISH_OCCUPATION for word in folded):
        women |= {"frau"}
    if not found.gender and bool(women) != bool(men):
        found.gender = "f" if women else "m"
    if not found.gender and bool(_HER_HUSBAND.search(text)) != bool(_HIS_WIFE.search(text)):
        found.gender = "f" if _HER_HUSBAND.search(text) else "m"
    if not found.suffix:
        found.suffix = next((SUFFIXES[w] for w in folded if w in ("junior", "senior")), "")
    wife = _WIFE_OF.match(text) is not None
    found.gender = found.gender or ("f" if wife else "")
    if found.gender == "f" and (wife or _MARRIED.intersection(folded) or _OF_WIVES & name.titles):
        found.married = "yes"
    elif name.titles & UNMARRIED_TITLES:
        found.married = "no"
    found.kind, found.kind_is_stated = "person", stated or bool(name.titles & (MALE_TITLES | FEMALE_TITLES))


def _trade(word: str) -> str:
    """Return an English word if it names an occupation, else an empty string."""
    return word if word in MORE_OCCUPATIONS else occupation(word)


def _describe_thing(found: Attributes, type_: str, head: list[str], text: str) -> None:
    folded = [word.casefold() for word in head]
    classes = {CLASS_OF_NOUN[noun] for noun in (*_nouns_of_type(type_), *folded) if noun in CLASS_OF_NOUN}
    kinds = {kind for kind in map(kind_of_class, classes) if kind}
    if found.kind:
        classes = {c for c in classes if not kinds_conflict(found.kind, kind_of_class(c))}
        found.kind_is_stated = any(kind_of_class(c) == found.kind for c in classes)
    if found.kind in ("", "object") and len(kinds) == 1 and type_ not in ("concept", "event", "date"):
        found.kind, found.kind_is_stated = kinds.pop(), True
    found.classes = frozenset(classes)
    if found.kind in ("work", "software") and (maker := _MADE_BY.search(text)):
        found.creators = frozenset([fold(normalize_name(maker.group(1)))])
    # ``Former English name of the city`` does not lie in England.
    adjectives = () if says_name(text) else folded
    nationality = {COUNTRY_OF_ADJECTIVE[word] for word in adjectives if word in COUNTRY_OF_ADJECTIVE}
    where = {*_places_in_head(text), *_place_before_noun(text)} if classes else set()
    found.within = frozenset(nationality | where)


@lru_cache(maxsize=1_024)
def _nouns_of_type(type_: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in type_.replace("_", " ").split())


def _head(text: str) -> Iterator[str]:
    """Yield the words of the noun phrase at the beginning of a description."""
    # Looking for the words takes a fraction of the time of the pattern, which tries each place.
    if not (text.isascii() and _COPULA_WORDS.isdisjoint(text[:_BEGINNING].lower().split())):
        text = _COPULA.sub("", text, count=1)
    # Most phrases end after a few words.
    is_first = True
    for match in islice(_TOKEN.finditer(text), 14):
        token = match.group()
        word = token.casefold()
        if is_first and word in _BEFORE_OFFICES:
            continue
        if word in _STOPS or word in _IN or token in (".", ";", ":", "(", ")"):
            return
        if not is_first and token[0].isupper() and text.isascii() and word not in COUNTRY_OF_ADJECTIVE:
            return
        is_first = False
        if token not in (",",):
            yield token


def _places_in_head(text: str) -> Iterator[str]:
    """Yield the first capitalised name after a preposition in the first clause: ``City in Illinois with ...``."""
    clause = re.split(
        r"[.;:(]|, (?!and )| (?:who|which|that|where|wo|die|der|qui|que|som) ", text, maxsplit=1
    )[0]
    words = clause.split()
    for n in range(1, len(words)):
        if words[n - 1].casefold() in _IN or (
            words[n - 1].casefold() == "the" and words[n - 2].casefold() in _IN
        ):
            name = []
            for part in words[n:]:
                if not part[:1].isupper():
                    break
                name.append(part.strip(",.;:"))
            if name:
                yield fold(" ".join(name).casefold())


def _place_before_noun(text: str) -> Iterator[str]:
    """Yield the capitalised words that begin a description before common nouns: ``Manchester station with ...``."""
    words = re.split(r"[.,;:(]", text, maxsplit=1)[0].split()
    n = next((n for n, word in enumerate(words) if not word[0].isupper()), len(words))
    if 0 < n < min(len(words), 4) and words[0].casefold() not in {*CLASS_OF_NOUN, *_ARTICLES}:
        yield fold(" ".join(words[:n]).casefold())


def _add_years(found: Attributes, text: str, *, is_person: bool) -> None:
    years = {int(year) for year in _YEAR.findall(text)}
    if is_person and (life := _LIFE.search(text)):
        first, last = (int(year) for year in life.groups() if year)
        found.born, found.died = found.born or first, found.died or last
        years -= {first, last}
    elif is_person:
        for event, pattern in (("born", _BORN), ("died", _DIED)):
            if match := pattern.search(text):
                setattr(found, event, getattr(found, event) or int(match.group(1)))
                years.discard(int(match.group(1)))
    else:
        for event, pattern in (("born", _BEGUN), ("died", _ENDED)):
            if match := pattern.search(text):
                setattr(found, event, int(match.group(1)))
    found.years = frozenset(sorted(years)[:4])


def _said_of_others(text: str) -> frozenset[str]:
    """Return the trades and titles in a description that are those of others.

    >>> sorted(_said_of_others("Inspector of harbours, sister of the coxswain"))
    ['coxswain']
    >>> sorted(_said_of_others("Coxswain's clerk")), sorted(_said_of_others("Sister of the winter"))
    (['coxswain'], [])
    """
    return _HAS_TRADE & {word.casefold() for match in _OF_OTHERS.findall(text) for word in match}


def _first_stems(read: _Text, name: Collection[str]) -> Iterable[str]:
    """Return the stems of the first words that say something, each once.

    Args:
        read: a description.
        name: words of the name that it describes, which say nothing of it.
    """
    stems: dict[str, None] = {}
    for word in read.words:
        if (stem := _stem(word)) and word not in name and word not in read.of_others:
            stems[stem] = None
            if len(stems) == _STEMS:
                break
    return stems


def _stem_of(word: str) -> str:
    """Return the stem of a case-folded word, or an empty string for a short or general one."""
    return "" if len(word) < _SHORTEST or word in _GENERAL_WORDS else fold(word)[:STEM]


_stem = memory_of_words(_stem_of, 4_096)
