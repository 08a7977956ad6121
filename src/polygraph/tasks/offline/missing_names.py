"""Names of a question that no passage has: what they are the names of is not what the passages are about."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import islice

from polygraph.tasks.offline.sentences import ROW, Candidate, Passage
from polygraph.text.language import detect_question_language
from polygraph.text.quantities import is_time
from polygraph.text.words import STOP_WORDS, question_names, stem, words

_SPELLING_RATIO = 0.84
"""Two words this similar (difflib ratio) count as spellings of one name."""
_HYPHEN_IN_WORD = re.compile(r"(?<=[^\W_])[-‐\u00ad](?=[^\W_])")
_LONG_NAME = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){2,}")
"""Three capitalised words or more, one after the other."""
_COMMON_CAPITALS = frozenset(["ok", "pc", "pcs", "tv", "id", "asap", "am", "pm"])
"""Words in capitals that documents write in other words, or not at all."""
_NUMBERED = re.compile(r"(?<![\w-])([^\W\d_]{3,}) (\d{1,3})(?![\w%]|[.,:/-]\d)")
"""A noun with a number behind it, as in *Year 7* or *room 12*. A number of four digits may be a year."""
_VERSION = re.compile(r"(?<![\w.,-])(?!\d\d?\.\d\d?\.\d{2}(?:\d{2})?\b)\d+(?:\.\d+){2,}(?![\w-]|\.\w)")
"""Three numbers or more with dots between them that are not a date."""
_MAX_NUMBERED = 20
"""Such nouns, and versions, of a question that are looked for: a table that is pasted as a question has hundreds."""
_WINDOW = 40
"""Characters behind such a noun that may have further numbers: "Years 1, 3 and 5"."""
_RANGE = re.compile(r"(\d+)\s?(?:[-–—]|to|through|until)\s?(?:[^\W\d_]+\s)?(\d+)", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|since|after|above|over)\s+(?:the\s)?$", re.IGNORECASE)
_UP_TO = re.compile(r"\b(?:to|until|before|below|under)\s+(?:the\s)?$", re.IGNORECASE)
_OR_MORE = re.compile(
    r"\d+\s?(?:\+|(?:and|or)\s(?:above|over|up|upwards|older|higher|later|newer)|onwards?|upwards?)",
    re.IGNORECASE,
)


def missing_names(question: str, passages: Sequence[Passage]) -> list[str]:
    """Return the names in the question that no passage has, not even in a similar spelling.

    Of a long name, such as that of a war or a treaty, half of the words are enough: documents say the rest otherwise.
    """
    asked = _asked_names(question)
    texts = [f"{p.title}\n{p.chunk.metadata.get('section', '')}\n{p.chunk.text}" for p in passages]
    numbered = [*_missing_numbered(question, texts), *_missing_versions(question, texts)]
    if not asked:
        return numbered
    held = {stem(w) for p in passages for w in _plain_words(f"{p.title} {p.chunk.text}")}

    def is_missing(name: str) -> bool:
        parts = [stem(w) for w in _plain_words(name) if w not in STOP_WORDS]
        return bool(parts) and not any(_occurs(part, held) for part in parts)

    missing = [name for name in asked if is_missing(name)]
    for run in _LONG_NAME.findall(question) if missing else ():
        parts = [word for word in run.split() if word.casefold() not in STOP_WORDS]
        if len(parts) > 2 and 2 * sum(map(is_missing, parts)) <= len(parts):
            missing = [name for name in missing if name not in parts]
    return [*missing, *numbered]


def rows_of_others(question: str, candidates: Sequence[Candidate]) -> list[bool]:
    """Return whether each candidate is a row of a table that has no name of the question, nor has what stands above it.

    Beside the fees of other plans, that of a *Lighthouse* plan is not stated, whatever else the documents call so.
    """
    parts = [stem(w) for name in _asked_names(question) for w in _plain_words(name) if w not in STOP_WORDS]

    def is_of_another(candidate: Candidate) -> bool:
        if not parts or not ROW.match(candidate.quoted.text):
            return False
        held = {stem(w) for w in _plain_words(candidate.context)}
        return not any(_occurs(part, held) for part in parts)

    return [is_of_another(candidate) for candidate in candidates]


def _asked_names(question: str) -> list[str]:
    """Return the names in a question that documents about them have to write out."""
    # A year may be meant, and not be written out in the text; nor is Sunday in "open daily", or March in "2024-03-05".
    names = [
        name
        for name in question_names(question)
        if not is_time(name) and name.casefold() not in _COMMON_CAPITALS
    ]
    if detect_question_language(question) == "de":
        # Every noun has a capital; a code or an abbreviation is a name all the same.
        return [name for name in names if not name.isalpha() or name[1:] != name[1:].lower()]
    return names


def _missing_numbered(question: str, texts: Sequence[str]) -> list[str]:
    """Return what the question gives a number that no text has, although texts number the same thing.

    Where texts write *Year 3* and *Years 4 to 6*, nothing in them is about *Year 7*, however well it fits otherwise.
    """
    missing = []
    for match in islice(_NUMBERED.finditer(question), _MAX_NUMBERED):
        if match[1].casefold() in STOP_WORDS or is_time(match[1]):
            continue
        noun = match[1].casefold().removesuffix("s")  # which the patterns allow behind it
        # A capital shows that the number is part of a name: "Room 4", but not "costs 7 euros".
        is_numbered = re.compile(rf"\b{re.escape(noun.capitalize())}s?:? \d{{1,3}}(?![\d.,%])").search
        if any(map(is_numbered, texts)) and not any(_has_number(text, noun, int(match[2])) for text in texts):
            missing.append(match[0])
    return missing


def _has_number(text: str, noun: str, number: int) -> bool:
    """Return whether a text has a noun with a number, in a list or a range with it, or beyond a bound that it sets."""
    # A word may stand between: "Room number: 12".
    for match in re.finditer(
        rf"\b{re.escape(noun)}s?\b(?: [^\W\d_]+)?\W{{0,3}}(?=(\d{{1,9}}))", text, re.IGNORECASE
    ):
        window = re.split(r"[;\n]", text[match.end() : match.end() + _WINDOW], maxsplit=1)[0]
        numbers = [int(found) for found in re.findall(r"\d+", window)]
        before, first = text[max(0, match.start() - _WINDOW) : match.start()], int(match[1])
        if (
            number in numbers
            or any(int(low) <= number <= int(high) for low, high in _RANGE.findall(window))
            or (number >= first and (_FROM.search(before) or _OR_MORE.match(window)))
            or (number <= first and _UP_TO.search(before))
        ):
            return True
    return False


def _missing_versions(question: str, texts: Sequence[str]) -> list[str]:
    """Return the versions in a question that no text has, nor the first two of their numbers alone."""
    missing = []
    for version in _VERSION.findall(question)[:_MAX_NUMBERED]:
        first, second, *rest = map(re.escape, version.split("."))
        after = "".join(rf"\.{number}" for number in rest)
        stands_in = re.compile(rf"(?<![\w.]){first}\.(?:x|{second}(?:\.[x0]|{after})?)(?![\w-]|\.\w)").search
        if not any(map(stands_in, texts)):
            missing.append(version)
    return missing


def _plain_words(text: str) -> set[str]:
    """Return the words of a text in plain characters (`CO₂` as `co2`); words with hyphens also in one (`Wi-Fi`)."""
    plain = unicodedata.normalize("NFKC", text)
    return {*words(plain), *words(_HYPHEN_IN_WORD.sub("", plain))}


def _occurs(part: str, held: set[str]) -> bool:
    if part in held:
        return True
    if len(part) < 5 or part.isdigit():
        return False
    return any(
        abs(len(part) - len(word)) <= 2
        and word[0] == part[0]
        and SequenceMatcher(None, part, word).ratio() >= _SPELLING_RATIO
        for word in held
        if word
    )
