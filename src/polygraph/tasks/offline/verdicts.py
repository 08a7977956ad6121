"""Yes or no, and which of two, decided by rule from single sentences; without a clear case there is no verdict.

A verdict is yes or no only if one clause holds at least three quarters of the words of the question, its first word and
all its names and numbers among them, if it speaks of the same time, and if nothing in its sentence limits it (if,
unless, only, said ...). Its negation decides. Two things
are compared only if one clause for each states one date or one quantity of the kind asked for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polygraph.tasks.offline.sentences import ROW, Candidate, QuotedSentence
from polygraph.text.quantities import NUMBER_WORDS, Date, Quantity, dates, quantities
from polygraph.text.words import STOP_WORDS, content_stems, question_names, stem, words


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


MIN_SHARE = 0.75
"""Share of the question's words that the clause of a verdict holds."""
_YES_NO = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|should|will|would)\b(?!\s+(?:who|what|which))",
    re.IGNORECASE,
)
_AUXILIARY = _word_set("go going able allowed possible really still currently yet already ever actually both")
"""Words of a question whose absence from a clause changes nothing."""
_NEGATION = re.compile(
    r"\b(?:not|never|no|nor|neither|nobody|none|nothing|cannot|without|refused|declined|rejected|denied|forbidden|"
    r"prohibited|failed|stopped|ceased|refuses|declines|rejects|denies|fails)\b|n['’]t\b",
    re.IGNORECASE,
)
_LIMITED = re.compile(
    r"\b(?:if|unless|except|only|until|hardly|rarely|seldom|partly|sometimes|perhaps|maybe|might|probably|likely|"
    r"whether|said|says|claim(?:s|ed)?|believ(?:e|es|ed)|allege[ds]?|reported(?:ly)?|rumou?r\w*|supposed(?:ly)?|planned|"
    r"plans|expected|expects|intend\w*|propos\w*|almost|nearly|former(?:ly)?|provided|as long as|would)\b|[?“”\"]",
    re.IGNORECASE,
)
"""Words that make a statement hold only in part, or for somebody only."""
_ABSOLUTE = re.compile(r"\b(?:all|every|each|always|any|only|most|not|never|no|or)\b|n['’]t\b", re.IGNORECASE)
"""Words of a question that ask for more than one clause states."""
_MUTUAL = re.compile(
    r"\b(?:related|married|engaged|divorced|connected|linked|friends|neighbours|cousins|siblings)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r";|,?\s+(?:but|although|though|while|whereas|because|since|so that|however|and then)\s+|"
    r",\s+(?:and|which|who|where|so)\s+"
)
_SUBCLAUSE = re.compile(r",?\s+(?:and|or)\s+")
_FUTURE = re.compile(r"\b(?:will|shall|going to|to be)\b", re.IGNORECASE)
_PRESENT = re.compile(r"\W*(?:is|are|do|does|can|may|must|should)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|had|did|used to)\b", re.IGNORECASE)
_EARLIER = _word_set("earlier first before older oldest earliest sooner")
_LATER = _word_set("later after younger youngest latest last newer")
_LARGER = _word_set(
    "more larger bigger longer higher taller heavier greater farther deeper wider faster largest longest highest most "
    "expensive louder stronger"
)
_SMALLER = _word_set(
    "less fewer smaller shorter lower lighter nearer cheaper slower fewest lowest smallest shortest least quieter"
)
_GENERAL = _word_set("came out person thing happen occur took plac")
"""Stems of a question that say nothing beyond its comparative."""
_DIMENSION = {
    "m": _word_set("longer shorter higher taller lower farther deeper wider longest shortest highest"),
    "kg": _word_set("heavier lighter"),
    "s": _word_set("longer shorter longest shortest"),
    "money": _word_set("expensive cheaper"),
}
"""Comparatives that ask for quantities of one dimension."""
_CHOICE = re.compile(
    r"[,:]\s*(?:the\s+)?(?P<a>[^,:?]{2,80}?),?\s+or\s+(?:the\s+)?(?P<b>[^,:?]{2,80}?)\s*\?*\s*$",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\W*(?:was|were|did|is|do|does)\s+(?P<a>.{3,120}?)\s+(?:before or after|earlier or later than)\s+"
    r"(?P<b>.{3,120}?)\s*\?*\s*$",
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
    return bool(_YES_NO.match(question) or _CHOICE.search(question))


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
    if _YES_NO.match(question):
        return _yes_or_no(question, candidates)
    return None


def _yes_or_no(question: str, candidates: Sequence[Candidate]) -> Verdict | None:
    if _ABSOLUTE.search(question):
        return None
    asked = [term for term in content_stems(question) if term not in _AUXILIARY]
    names = [
        stem(word) for name in question_names(question) for word in words(name) if word not in STOP_WORDS
    ]
    if len(asked) < 2:
        return None
    found: list[tuple[bool, QuotedSentence]] = []
    for candidate in candidates:
        text = candidate.quoted.text
        if ROW.match(text) or not _is_statement(text):
            continue
        for clause in _clauses(text):
            held = set(content_stems(clause))
            if sum(term in held for term in asked) < MIN_SHARE * len(asked) or not {asked[0], *names} <= held:
                continue
            numbers = [term for term in asked if any(map(str.isdigit, term))]
            if (
                not set(numbers) <= held
                or _LIMITED.search(text)
                or not (_same_order(names, clause) or _is_mutual(question, clause))
                or _counts_differ(question, clause)
                or not _same_time(question, clause)
            ):
                return None  # a case that is close, and not clear
            # A negating verb that the question has too is what is asked about.
            negations = sum(stem(word.casefold()) not in asked for word in _NEGATION.findall(clause))
            if negations > 1:
                return None
            found.append((negations == 0, candidate.quoted))
    if not found or len({verdict for verdict, _ in found}) > 1:
        return None
    verdict, sentence = found[0]
    return Verdict(text="Yes" if verdict else "No", sentences=(sentence,))


def _is_statement(text: str) -> bool:
    """Return whether a text ends like a statement: headings and fragments state nothing."""
    return not text.startswith("#") and text.rstrip("\"'”’)] ").endswith((".", "!", "。"))


def _same_time(question: str, clause: str) -> bool:
    """Return whether a clause speaks of the time that the question asks about: present, past or future."""
    future = [bool(_FUTURE.search(text)) for text in (question, clause)]
    is_past = bool(_PAST.search(clause))
    return future[0] == future[1] and not (is_past and _PRESENT.match(question))


def _clauses(text: str) -> list[str]:
    return [clause for clause in _CLAUSE.split(text) if clause and clause.strip()]


def _same_order(names: Sequence[str], clause: str) -> bool:
    """Return whether names stand in the order of the question, so that who did what to whom is the same."""
    order = [stem(word) for word in words(clause)]
    places = [order.index(name) for name in dict.fromkeys(names) if name in order]
    return places == sorted(places)


def _is_mutual(question: str, clause: str) -> bool:
    """Return whether both speak of a relation that holds in either direction: who is named first does not matter."""
    return bool(
        {w.casefold() for w in _MUTUAL.findall(question)} & {w.casefold() for w in _MUTUAL.findall(clause)}
    )


def _counts_differ(question: str, clause: str) -> bool:
    """Return whether a clause counts what the question counts, and with other numbers only."""
    asked, stated = _counted(question), _counted(clause)
    return any(noun in stated and number not in stated[noun] for noun in asked for number in asked[noun])


def _counted(text: str) -> dict[str, set[str]]:
    """Return the numbers directly before each word, by its stem, as they are written; four digits are a year."""
    found: dict[str, set[str]] = {}
    for word, after in pairwise(words(text)):
        if word in NUMBER_WORDS or (word.isdecimal() and len(word) != 4):
            found.setdefault(stem(after), set()).add(word)
    return found


def _which_of_two(ask: str, a: str, b: str, candidates: Sequence[Candidate]) -> Verdict | None:
    asked = set(words(ask))
    own = [set(content_stems(a)), set(content_stems(b))]
    if not own[0] or not own[1] or own[0] & own[1] == own[0] | own[1]:
        return None
    by_time = bool(asked & (_EARLIER | _LATER))
    by_size = bool(asked & (_LARGER | _SMALLER))
    if by_time == by_size:
        return None
    comparatives = {stem(word) for word in _EARLIER | _LATER | _LARGER | _SMALLER}
    about = {term for term in content_stems(ask) if term not in comparatives} - own[0] - own[1]
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
    first, second = (_event_date(set(content_stems(each)), candidates) for each in (a, b))
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
        if _LIMITED.search(text) or _NEGATION.search(text) or ROW.match(text):
            continue
        for clause in [part for each in _clauses(text) for part in _SUBCLAUSE.split(each)]:
            own = dates(clause)
            held = set(content_stems(clause))
            if len(own) == 1 and sum(term in held for term in wanted) >= MIN_SHARE * len(wanted):
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
        if ROW.match(sentence.text) or _LIMITED.search(sentence.text) or not _is_statement(sentence.text):
            continue
        first = _clauses(sentence.text)[:1]
        for clause in first:
            own = content_stems(clause)
            if name <= set(own[: len(name)]) and about <= set(own) and not _NEGATION.search(clause):
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
    digits = {float(term) for term in name if term.isdecimal()}
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
