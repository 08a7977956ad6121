"""Yes or no, decided by rule from one clause.

The clause holds all content words of the question, its main verb, names and numbers among them; it speaks of the same
time, and nothing in its sentence limits it (if, unless, only, said ...). Its negation decides.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from polygraph.tasks.offline.clauses import (
    LIMITED,
    NEGATION,
    SUBCLAUSE,
    TOKEN,
    clauses,
    has_digit,
    is_statement,
    terms,
)
from polygraph.tasks.offline.sentences import ROW, Candidate, QuotedSentence
from polygraph.text.language import detect_language
from polygraph.text.quantities import NUMBER_WORDS
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import question_names, stem, word_set, words

YES_NO = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|should|will|would)\b(?!\s+(?:who|what|which))",
    re.IGNORECASE,
)
_AUXILIARY = word_set("able allowed possible really still currently yet already ever actually both")
"""Words of a question whose absence from a clause changes nothing."""
_IDIOM = re.compile(
    r"\b(?:going to|used to(?= (?:be|have|live|work|stand|belong)\b)|(?:have|has|had) to)\b", re.IGNORECASE
)
"""Verbs that state a time or a duty here, and no deed."""
_DOUBTFUL = re.compile(
    r"\b(?:when|whenever|where|wherever|in case|otherwise|instead|rather than|avoid\w*|impossible|unable|unsuitable|"
    r"exclud\w+|exempt\w*|except\w*|lack\w*|without|attempt\w*|tried|tries|want\w*|hope[sd]?|wish\w*|prevent\w*|too|"
    r"most|some|few|several|many|half|certain|(?:more|less|fewer|longer|later) than|at (?:most|least|no)|up to|with no|"
    r"not only|depend\w*|subject to)\b",
    re.IGNORECASE,
)
"""Words of a clause that make yes or no doubtful unless the question has them too."""
_BOUND = re.compile(r"\b(?:after|before|during|while|within|between|once)\b", re.IGNORECASE)
"""The same where the question asks what holds in general."""
_DUTY = re.compile(
    r"\b(?:must|should|shall|(?:have|has|had) to|need(?:s|ed)?|required?|obliged|necessary)\b|\bneedn['’]t\b",
    re.IGNORECASE,
)
_NO_DUTY = re.compile(
    r"\b(?:need not|needn['’]t|(?:not|n['’]t|never) (?:\w+ )?(?:have to|need|required?|obliged|necessary)|"
    r"no need)\b|n['’]t (?:have to|need)\b",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"\b(?:can|could|may|must|should|shall|cannot|allowed|permitted|possible|free to|able)\b|\bcan['’]t\b",
    re.IGNORECASE,
)
_ASKS_LEAVE = re.compile(r"\W*(?:can|could|may)\s+(?:i|we|you|one|people)\b|\W*am\s+i\b", re.IGNORECASE)
_PERSONAL = re.compile(r"\W*\w+\s+(?:i|we|you|one|he|she|it|they|there|people)\b", re.IGNORECASE)
"""A question whose subject is a pronoun."""
_MAY_BE = re.compile(r"\b(?:may|could)\b")
_REFERS_BACK = re.compile(r"\W*(?:he|she|it|they)\b", re.IGNORECASE)
"""A sentence whose subject is that of the sentence before it."""
_ABSOLUTE = re.compile(r"\b(?:all|every|each|always|any|only|most|not|never|no|or)\b|n['’]t\b", re.IGNORECASE)
"""Words of a question that ask for more than one clause states."""
_MUTUAL = re.compile(
    r"\b(?:related|married|engaged|divorced|connected|linked|friends|neighbours|cousins|siblings)\b",
    re.IGNORECASE,
)
_FUTURE = re.compile(r"\b(?:will|shall|going to|to be)\b", re.IGNORECASE)
_PRESENT = re.compile(r"\W*(?:is|are|do|does|can|may|must|should)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|had|did|used to)\b", re.IGNORECASE)
_CODE_LETTERS = re.compile(r"[^\W\d_]+(?=\d)")


def yes_or_no(question: str, candidates: Sequence[Candidate]) -> tuple[bool, QuotedSentence] | None:
    """Decide a question for yes or no; None if no clause is clear, or if two contradict each other.

    Args:
        question: one that `YES_NO` matches.
        candidates: in the order of the passages.

    Returns:
        True for yes, and the sentence that decides.
    """
    if _ABSOLUTE.search(question):
        return None
    asked = _asked_terms(question)
    names = [term for name in question_names(question) for term in terms(name)]
    names += [term for term in asked if has_digit(term) and term not in names]
    if len(asked) < 2:
        return None
    found: list[tuple[bool, QuotedSentence]] = []
    for candidate in candidates:
        text = candidate.quoted.text
        if ROW.match(text) or not is_statement(text) or not _hold(asked, terms(text)):
            continue
        for clause, held in _clauses_in_context(text, names):
            if (
                not _hold(asked, held)
                or _has_similar_code(asked, held)
                or _is_narrower(question, clause, asked, names)
            ):
                continue
            if (
                LIMITED.search(text)
                or _adds_doubt(question, clause)
                or not (_same_order(question, asked, names, held) or _is_mutual(question, clause))
                or _counts_differ(question, clause)
                or not _same_time(question, clause)
            ):
                return None  # a case that is close, and not clear
            # A negating verb that the question has too is what is asked about.
            own = {stem(word) for word in words(question)}
            negations = sum(stem(word.casefold()) not in own for word in NEGATION.findall(clause))
            plain = [term for term in asked if term not in names]
            if (
                negations > 1
                or (negations and not _negates(clause, plain))
                or not _same_mood(question, clause, is_negated=negations > 0)
            ):
                return None
            found.append((negations == 0, candidate.quoted))
    if not found or len({verdict for verdict, _ in found}) > 1:
        return None
    # In German, "was" begins no question for yes or no.
    return found[0] if _is_english(found[0][1].span.document, candidates) else None


def _is_english(document: str, candidates: Sequence[Candidate]) -> bool:
    texts = [c.quoted.text for c in candidates if c.quoted.span.document == document]
    return detect_language("\n".join(texts)) in ("", "en")


def _asked_terms(question: str) -> list[str]:
    """Return the terms of a question for yes or no, without its first word and others that change nothing."""
    rest = question.split(maxsplit=1)[1:]
    found = terms(_IDIOM.sub(" ", rest[0] if rest else ""))
    return [term for term in dict.fromkeys(found) if term not in _AUXILIARY]


def _has_similar_code(asked: Sequence[str], held: Sequence[str]) -> bool:
    """Return whether a clause has a code that the question lacks and that begins like one of it: QT-450S, QT-450."""
    begins = {match[0] for term in asked if (match := _CODE_LETTERS.match(term))}
    return any((match := _CODE_LETTERS.match(term)) and match[0] in begins for term in set(held) - set(asked))


def _is_narrower(question: str, clause: str, asked: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a clause is about one kind of what the question asks about: "guide dogs" for "dogs".

    That is the subject of the question, or its last word if the subject is a pronoun: "Can I wash the filter?"
    """
    is_personal = bool(_PERSONAL.match(question))
    thing = asked[-1 if is_personal else 0]
    if thing in names:
        return False
    tokens = [(match, (terms(match.group()) or [""])[0]) for match in TOKEN.finditer(clause)]
    for n, (match, term) in enumerate(tokens):
        if term != thing:
            continue
        beside = [n - 1] if n else []
        beside += [n + 1] if is_personal and n + 1 < len(tokens) else []
        for m in beside:
            other, word = tokens[m]
            first, second = sorted((match.span(), other.span()))
            is_beside = clause[first[1] : second[0]].strip(" ") == ""
            if is_beside and word and word not in asked and not word.endswith("ly"):
                return True
    return False


def _hold(asked: Sequence[str], held: Sequence[str]) -> bool:
    """Return whether all terms are among others, written in one word or in two."""
    there = {*held, *_in_one_word(held)}
    in_one = {n + i for n, word in enumerate(_in_one_word(asked)) if word in there for i in (0, 1)}
    return all(term in there or n in in_one for n, term in enumerate(asked))


def _in_one_word(found: Sequence[str]) -> list[str]:
    """Return each two neighbouring terms as the term of one word: "salt" and "water" as that of "saltwater"."""
    return [stem("".join(pair)) for pair in pairwise(found)]


def _clauses_in_context(text: str, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the clauses of each sentence of a text with their terms.

    A pronoun at the beginning of a sentence holds the names that the sentence before it begins with.
    """
    before: list[str] = []
    for start, end in sentence_spans(text):
        for n, clause in enumerate(clauses(text[start:end])):
            own = terms(clause)
            if n == 0 and _REFERS_BACK.match(clause):
                yield clause, [*_subject(before, names), *own]
            else:
                yield clause, own
        before = terms(text[start:end])


def _subject(sentence: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names that a sentence begins with."""
    return list(takewhile(names.__contains__, sentence))


def _adds_doubt(question: str, clause: str) -> bool:
    """Return whether a clause has a word that makes yes or no doubtful and that the question lacks."""
    asked = set(words(question))
    patterns = [_DOUBTFUL, *([_BOUND] if _PRESENT.match(question) else [])]
    if any(not set(words(found)) <= asked for each in patterns for found in each.findall(clause)):
        return True
    return bool(_MAY_BE.search(clause)) and not _MODAL.search(question)


def _negates(clause: str, asked: Sequence[str]) -> bool:
    """Return whether the part of a clause that has the negation holds all terms: "it can be dried and not washed"."""
    return any(NEGATION.search(part) and _hold(asked, terms(part)) for part in SUBCLAUSE.split(clause))


def _same_mood(question: str, clause: str, *, is_negated: bool) -> bool:
    """Return whether a clause says of a duty, a leave or a deed what the question asks of it."""
    if _DUTY.search(question):
        return bool(_DUTY.search(clause))
    if _NO_DUTY.search(clause):
        return False
    return is_negated or not _ASKS_LEAVE.match(question) or bool(_MODAL.search(clause))


def _same_time(question: str, clause: str) -> bool:
    """Return whether a clause speaks of the time that the question asks about: present, past or future."""
    future = [bool(_FUTURE.search(text)) for text in (question, clause)]
    is_past = bool(_PAST.search(clause))
    return future[0] == future[1] and not (is_past and _PRESENT.match(question))


def _same_order(question: str, asked: Sequence[str], names: Sequence[str], held: Sequence[str]) -> bool:
    """Return whether names stand in the order of the question, so that who did what to whom is the same.

    So do its first and its last word, unless its subject is a pronoun: "Can I wash it?", "It can be washed".
    """
    orders = [list(dict.fromkeys(names))]
    if not _PERSONAL.match(question):
        orders.append([asked[0], asked[-1]])
    for order in orders:
        places = [held.index(term) for term in order if term in held]
        if places != sorted(places):
            return False
    return True


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
