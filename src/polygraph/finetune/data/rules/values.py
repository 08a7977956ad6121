"""Questions for the values in a sentence: days, years, times, ages, amounts of money and numbers."""

import re
from collections.abc import Iterator

from polygraph.finetune.data.rules.asking import AskedStatement, placed, replaced
from polygraph.finetune.data.rules.statements import Statement
from polygraph.text.quantities import NUMBER_WORDS
from polygraph.text.words import STOP_WORDS

_MONTH = (
    "January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|"
    "Aug|Sept|Sep|Oct|Nov|Dec"
)
_ONES = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_SCALE = "hundred|thousand|million|billion|trillion|dozen"
_WORDS = f"{_ONES}|{_SCALE}"
_DIGITS = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?)(?: (?:{_SCALE}))?"
_NUMBER = rf"(?:{_DIGITS}|(?:{_ONES})(?:(?:-and-|-| | and )(?:{_WORDS}))*)"
_FREE = r"(?<![\w£$€.,-])"
"""Not inside a number, an amount or a word with a hyphen."""
_DATE = re.compile(
    rf"\b(?P<on>[Oo]n )(?P<value>(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\.?(?:,? \d{{4}})?|"
    rf"(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:, \d{{4}})?)(?![\w-]| (?:and|or|to|until) (?:the )?(?:\d|{_MONTH}))"
)
_YEAR = re.compile(
    r"\b(?P<on>(?:[Ii]n|[Ss]ince|[Uu]ntil|(?:spring|summer|autumn|winter|end|beginning) of|"
    rf"(?:[Ii]n|[Ss]ince) (?:{_MONTH})) )(?P<value>1\d\d\d|20\d\d)(?![\w'’-]|[.,]\d)"
)
_SMALL = rf"(?:{_ONES})(?:-(?:{_ONES}))?"
_CLOCK = rf"(?:half past|(?:a )?quarter (?:past|to|before)|{_SMALL}(?: minutes)? (?:past|to|before)) {_SMALL}"
_TIME = re.compile(
    rf"\b(?P<on>[Aa]t )(?P<value>{_CLOCK}|\d{{1,2}}[.:]\d{{2}}(?: ?[ap]\.?m\.?)?|{_SMALL} o['’]clock)(?![\w-]|[.:]\d)"
)
_MONEY = re.compile(
    rf"{_FREE}(?P<value>[£$€](?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?: (?:{_SCALE}))?|"
    rf"{_NUMBER} (?:pounds|guineas|shillings|dollars|euros|francs|pence))(?![\w-]|[.,]\d| \d)",
    re.IGNORECASE,
)
_AGE = re.compile(rf"\b(?P<on>at )(?P<cut>the age of (?P<value>{_NUMBER}))(?![\w-])", re.IGNORECASE)
_COUNT = re.compile(
    rf"{_FREE}(?P<value>{_NUMBER}) (?P<noun>(?:[a-z]+ )?[a-z]{{3,}}(?:s|men|persons|people|children))\b"
    r"(?! (?:and|or|to|past|before) )",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(
    r"\b(?P<on>[Oo]n )(?P<value>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)"
    r"(?![\w-]| (?:and|or|to|last|next|night|morning|afternoon|evening)\b)"
)
_ONLY_MONTH = re.compile(rf"\b(?P<on>[Ii]n )(?P<value>{_MONTH})(?![\w.-]| \d| (?:of|and|or|to|last|next)\b)")
_SEASON = re.compile(
    r"\b(?P<on>[Ii]n )(?P<cut>(?:the )?(?P<value>spring|summer|autumn|winter))(?![\w-]| (?:of|and|or)\b)"
)
_VALUES = (
    (_DATE, "which day"),
    (_WEEKDAY, "which day of the week"),
    (_ONLY_MONTH, "which month"),
    (_SEASON, "which season"),
    (_YEAR, "which year"),
    (_TIME, "what time"),
    (_AGE, "what age"),
    (_MONEY, "how much"),
    (_COUNT, "how many"),
)
_MOST_ALIKE = 3
"""Values of one kind in a sentence; in a longer list it is not clear which one is asked for."""
_MAX_MOVED = 100
"""Characters of a sentence to whose end "in which year" is moved; in a longer one it seems to be about the end."""
_NOT_COUNTED_WORDS = """
    is was has does this his its us less pounds guineas shillings dollars euros francs pence past minutes others
"""
_NOT_COUNTED = frozenset(_NOT_COUNTED_WORDS.split())
_DETERMINER_WORDS = """
    the a an this that these those another other others her his its their my our your no any every each first second
    third last next same past only between nearly about almost over under than least most one quarter
"""
_DETERMINERS = frozenset(_DETERMINER_WORDS.split())
"""Words before a number after which "how many" does not fit."""
_ARTICLES = frozenset(("a", "an", "the"))
_AFTER_AMOUNT = frozenset(
    ("per", "apiece", "annually", "yearly", "plus", "last", "next", "across", "toward", "towards")
)


def value_questions(statement: Statement) -> Iterator[AskedStatement]:
    """Ask for the days, years, times, ages, amounts of money and numbers in a sentence."""
    text = statement.text
    for pattern, words in _VALUES:
        found = [m for m in pattern.finditer(text) if not words.startswith("how") or _is_free(text, m)]
        if len(found) > _MOST_ALIKE:
            continue
        for match in found:
            groups = match.groupdict()
            if match.start() == 0 and groups.get("on", "").casefold() in ("in ", "on ", "at "):
                # "In 1871 the lamp was lit." asks as "The lamp was lit in which year?".
                rest = text[match.end() :].lstrip(", ").rstrip(".! ")
                if len(rest) > _MAX_MOVED:
                    continue
                question = f"{rest[:1].upper()}{rest[1:]} {match['on'].lower()}{words}?"
            elif match.start() == 0:
                continue
            else:
                of = "of " if pattern is _YEAR and groups["on"].split()[-1] in _MONTH.split("|") else ""
                question = replaced(text, match.span("cut" if groups.get("cut") else "value"), f"{of}{words}")
            asked = placed(statement, question, match["value"].removeprefix("the "), None)
            if asked is not None:
                yield asked


def _is_free(text: str, found: re.Match[str]) -> bool:
    """Return whether a number is no part of a range, a ratio or a phrase with an article."""
    words = re.findall(r"[\w'’-]+", text[: found.start()])
    before = words[-1].casefold() if words else ""
    noun = found.groupdict().get("noun")
    if before.endswith(("'s", "’s", "s'", "s’")) or (
        len(words) > 1 and words[-2].casefold() in _ARTICLES and not noun
    ):
        return False
    after = re.match(r" ([a-z][\w'’-]*)", text[found.end() :])
    # "its £5 share": an amount that tells a noun of which kind it is
    if not noun and after is not None and after[1] not in STOP_WORDS and after[1] not in _AFTER_AMOUNT:
        return False
    year = re.fullmatch(r"1[5-9]\d\d|20\d\d", found["value"])
    if (
        year
        or before in _DETERMINERS
        or before in NUMBER_WORDS
        or (noun and noun.split()[-1] in _NOT_COUNTED)
    ):
        return False
    left, right = text[: found.start()].rstrip(), text[found.end() :].lstrip()
    ranged = re.search(rf"(?:{_NUMBER}|years?|months?) (?:to|or|and|past|before|from)$", left, re.IGNORECASE)
    return ranged is None and not re.match(rf"(?:to|or|and|out of|past|before) (?:{_NUMBER})\b|or ", right)
