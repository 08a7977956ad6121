"""Yes or no, and which of two, decided by rule from single sentences; without a clear case there is no verdict.

Two things are compared only if one clause for each states one date or one quantity of the kind asked for. Names and
codes are compared as a whole: QT-450 is not QT-450S.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polygraph.tasks.offline.clauses import (
    LIMITED,
    NEGATION,
    SUBCLAUSE,
    clauses,
    has_digit,
    is_statement,
    terms,
)
from polygraph.tasks.offline.sentences import ROW, Candidate, QuotedSentence
from polygraph.tasks.offline.yes_no import YES_NO, yes_or_no
from polygraph.text.quantities import Date, Quantity, dates, quantities
from polygraph.text.words import stem, word_set, words

MIN_SHARE = 0.75
"""Share of the words of an event that the clause with its date holds."""
_EARLIER = word_set("earlier first before older oldest earliest sooner")
_LATER = word_set("later after younger youngest latest last newer")
_LARGER = word_set(
    "more larger bigger longer higher taller heavier greater farther deeper wider faster largest longest highest most "
    "expensive louder stronger"
)
_SMALLER = word_set(
    "less fewer smaller shorter lower lighter nearer cheaper slower fewest lowest smallest shortest least quieter"
)
_GENERAL = frozenset(map(stem, ["came", "out", "person", "thing", "happen", "occur", "take", "place"]))
"""Stems of a question that say nothing beyond its comparative."""
_DIMENSION = {
    "m": word_set("longer shorter higher taller lower farther deeper wider longest shortest highest"),
    "kg": word_set("heavier lighter"),
    "s": word_set("longer shorter longest shortest"),
    "money": word_set("expensive cheaper"),
}
"""Comparatives that ask for quantities of one dimension."""
# Quantifiers of white space are possessive, so that long runs of it are read in linear time.
_CHOICE = re.compile(
    r"[,:]\s*+(?:the\s++)?(?P<a>[^,:?]{1,80}?),?\s++or\s++(?:the\s++)?(?P<b>[^,:?]{2,80}?)\s*+\?*+\s*+$",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\W*+(?:was|were|did|is|do|does)\s++(?P<a>.{3,120}?)\s++(?:before or after|earlier or later than)\s++"
    r"(?P<b>.{3,120}?)\s*+\?*+\s*+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A decision with the sentences that it rests on."""

    text: str
    """``Yes``, ``No``, ``Before``, ``After``, or the name of one of two things."""
    sentences: tuple[QuotedSentence, ...]


def asks_for_verdict(question: str) -> bool:
    """Return whether a question asks for yes or no, or which of two.

    >>> asks_for_verdict("Is alcohol reimbursed?"), asks_for_verdict("Who paid?")
    (True, False)
    """
    return bool(YES_NO.match(question) or _CHOICE.search(question))


def find_verdict(question: str, candidates: Sequence[Candidate]) -> Verdict | None:
    """Decide a question by rule; None if it is of another form, or if no clear case is found.

    Args:
        question: any text.
        candidates: in the order of the passages.
    """
    if order := _ORDER.match(question):
        return _before_or_after(order["a"], order["b"], candidates)
    if choice := _CHOICE.search(question):
        return _which_of_two(question[: choice.start()], choice["a"], choice["b"], candidates)
    if YES_NO.match(question):
        if (decided := yes_or_no(question, candidates)) is None:
            return None
        is_so, sentence = decided
        return Verdict(text="Yes" if is_so else "No", sentences=(sentence,))
    return None


def _which_of_two(ask: str, a: str, b: str, candidates: Sequence[Candidate]) -> Verdict | None:
    asked = set(words(ask))
    own = [set(terms(a)), set(terms(b))]
    if not own[0] or not own[1] or own[0] & own[1] == own[0] | own[1]:
        return None
    by_time = bool(asked & (_EARLIER | _LATER))
    by_size = bool(asked & (_LARGER | _SMALLER))
    if by_time == by_size:
        return None
    comparatives = {stem(word) for word in _EARLIER | _LATER | _LARGER | _SMALLER}
    about = {term for term in terms(ask) if term not in comparatives} - own[0] - own[1]
    about -= _GENERAL
    if asked & {"older", "younger", "oldest", "youngest"}:
        about = {"born"}
    if by_time:
        stated = [_stated_date(each, about, candidates) for each in own]
        first, second = stated
        if first is None or second is None:
            return None
        earlier = bool(asked & _EARLIER)
        if first[0].before(second[0]):
            wins = a if earlier else b
        elif second[0].before(first[0]):
            wins = b if earlier else a
        else:
            return None
        return Verdict(text=wins.strip(), sentences=_distinct(first[1], second[1]))
    sizes = [_stated_quantity(each, about, _dimensions(asked), candidates) for each in own]
    one, other = sizes
    if (
        one is None
        or other is None
        or one[0].dimension != other[0].dimension
        or one[0].value == other[0].value
    ):
        return None
    larger = bool(asked & _LARGER) and not asked & {"less"}
    wins = a if (one[0].value > other[0].value) == larger else b
    return Verdict(text=wins.strip(), sentences=_distinct(one[1], other[1]))


def _before_or_after(a: str, b: str, candidates: Sequence[Candidate]) -> Verdict | None:
    first, second = (_event_date(set(terms(each)), candidates) for each in (a, b))
    if first is None or second is None:
        return None
    if first[0].before(second[0]):
        return Verdict(text="Before", sentences=_distinct(first[1], second[1]))
    if second[0].before(first[0]):
        return Verdict(text="After", sentences=_distinct(first[1], second[1]))
    return None


def _distinct(*sentences: QuotedSentence) -> tuple[QuotedSentence, ...]:
    return tuple(dict.fromkeys(sentences))


def _event_date(wanted: set[str], candidates: Sequence[Candidate]) -> tuple[Date, QuotedSentence] | None:
    """Return the date of the clause that holds most words of an event; None if clauses disagree."""
    found: list[tuple[Date, QuotedSentence]] = []
    for candidate in candidates:
        text = candidate.quoted.text
        if LIMITED.search(text) or NEGATION.search(text) or ROW.match(text):
            continue
        for clause in [part for each in clauses(text) for part in SUBCLAUSE.split(each)]:
            own = dates(clause)
            held = set(terms(clause))
            codes = {term for term in wanted if has_digit(term)}
            n_held = sum(term in held for term in wanted)
            if len(own) == 1 and n_held >= MIN_SHARE * len(wanted) and codes <= held:
                found.append((own[0], candidate.quoted))
    return _agreed_date(found)


def _stated_date(
    name: set[str], about: set[str], candidates: Sequence[Candidate]
) -> tuple[Date, QuotedSentence] | None:
    found: list[tuple[Date, QuotedSentence]] = []
    for text, sentence in _statements_on(name, about, candidates):
        own = dates(text)
        if len(own) > 1:
            return None
        if own:
            found.append((own[0], sentence))
    return _agreed_date(found)


def _statements_on(
    name: set[str], about: set[str], candidates: Sequence[Candidate]
) -> Iterator[tuple[str, QuotedSentence]]:
    """Yield the clauses that begin with a name and hold all words that the question says of it.

    A clause that names it later is about something else: the next peak is 10 km from it.
    """
    for candidate in candidates:
        sentence = candidate.quoted
        if ROW.match(sentence.text) or LIMITED.search(sentence.text) or not is_statement(sentence.text):
            continue
        first = clauses(sentence.text)[:1]
        for clause in first:
            own = terms(clause)
            if name <= set(own[: len(name)]) and about <= set(own) and not NEGATION.search(clause):
                yield clause, sentence


def _agreed_date(found: Sequence[tuple[Date, QuotedSentence]]) -> tuple[Date, QuotedSentence] | None:
    if not found:
        return None
    date = max((each for each, _ in found), key=lambda each: (each.first == each.last, each.first))
    if any(each.before(date) or date.before(each) for each, _ in found):
        return None
    return next(pair for pair in found if pair[0] == date)


def _dimensions(asked: set[str]) -> set[str] | None:
    """Return the dimensions that a comparative asks for; None if any will do."""
    found = {dimension for dimension, comparatives in _DIMENSION.items() if asked & set(comparatives)}
    if not found:
        return None
    return (found - {"money"}) | ({"£", "$", "€"} if "money" in found else set())


def _stated_quantity(
    name: set[str], about: set[str], dimensions: set[str] | None, candidates: Sequence[Candidate]
) -> tuple[Quantity, QuotedSentence] | None:
    digits = {float(number) for term in name for number in re.findall(r"\d+", term)}
    found: list[tuple[Quantity, QuotedSentence]] = []
    for clause, sentence in _statements_on(name, about, candidates):
        own = [
            q
            for q in quantities(clause)
            if (q.dimension in dimensions if dimensions else q.value not in digits)
        ]
        if len(own) > 1:
            return None
        if own:
            found.append((own[0], sentence))
    values = {(q.value, q.dimension) for q, _ in found}
    return found[0] if len(values) == 1 else None
