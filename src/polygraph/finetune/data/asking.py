"""Questions about single sentences: a name, date, amount or number is asked for, or what somebody said.

"The Halcyon struck the Grey Reef in the fog." becomes "Which ship struck the Grey Reef in the fog?" and "The Halcyon
struck which place in the fog?". The order of words stays, so that no grammar is needed and a question is as true as its
sentence. A question that names nothing by which its passage is found names the document instead.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from polygraph.finetune.data.nouns import OFFICES, TITLES, is_office, is_time, noun_of
from polygraph.finetune.data.statements import FINITE, Statement, proper_names
from polygraph.records import Entity
from polygraph.text.quantities import NUMBER_WORDS
from polygraph.text.words import STOP_WORDS, content_stems

_MIN_STEMS, _MIN_STEMS_WITHIN, _MIN_STEMS_OF_NOUN = 4, 2, 3
"""Content words of a question about the whole collection, of one about a document, and of one for a common noun."""
MAX_ANSWER = 160
"""Characters of what somebody said."""
_MONTH = (
    "January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|"
    "Aug|Sept|Sep|Oct|Nov|Dec"
)
_WORDS = "|".join(sorted((*NUMBER_WORDS, "hundred", "thousand", "million", "dozen"), key=len, reverse=True))
_NUMBER = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d+|(?:{_WORDS})(?:(?:-and-|-| | and )(?:{_WORDS}))*)"
_FREE = r"(?<![\w£$€.,-])"
"""Not inside a number, an amount or a word with a hyphen."""
_DATE = re.compile(
    rf"\b(?P<on>[Oo]n )(?P<value>(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\.?(?:,? \d{{4}})?|"
    rf"(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:, \d{{4}})?)(?![\w-])"
)
_YEAR = re.compile(
    r"\b(?P<on>(?:[Ii]n|[Ss]ince|[Uu]ntil|(?:spring|summer|autumn|winter|end|beginning) of|"
    rf"(?:[Ii]n|[Ss]ince) (?:{_MONTH})) )(?P<value>1[0-9]{3}|20[0-9]{2})(?![\w'’-]|[.,]\d)"
)
_SMALL = rf"(?:{_WORDS})(?:-(?:{_WORDS}))?"
_CLOCK = rf"(?:half past|(?:a )?quarter (?:past|to|before)|{_SMALL}(?: minutes)? (?:past|to|before)) {_SMALL}"
_TIME = re.compile(
    rf"\b(?P<on>[Aa]t )(?P<value>{_CLOCK}|\d{{1,2}}[.:]\d{{2}}(?: ?[ap]\.?m\.?)?|{_SMALL} o['’]clock)(?![\w-]|[.:]\d)"
)
_MONEY = re.compile(
    rf"{_FREE}(?P<value>[£$€]\d{{1,3}}(?:,\d{{3}})*(?:\.\d+)?(?: million| billion)?|[£$€]\d+(?:\.\d+)?|"
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
_NAME_FOLLOWS = """
    of to at in from by for with near on upon against about into through under over across along toward towards that
    whether than struck bought left met told gave sold won lost saw built led sent taught beat caught fought drew made
    called named asked thanked received beyond off round around outside inside beside
"""
_BEFORE_NAME = frozenset(_NAME_FOLLOWS.split())
"""Words before a name, or before its article, after which "which person" fits."""
_SAID = {
    "said": "say", "reported": "report", "stated": "state", "observed": "observe", "objected": "object",
    "moved": "move", "replied": "reply", "answered": "answer", "complained": "complain", "added": "add",
    "declared": "declare", "explained": "explain", "remarked": "remark", "believed": "believe", "thought": "think",
    "suggested": "suggest", "proposed": "propose", "recommended": "recommend", "agreed": "agree", "ruled": "rule",
    "announced": "announce", "warned": "warn", "hoped": "hope", "feared": "fear", "noted": "note", "denied": "deny",
    "admitted": "admit", "claimed": "claim", "argued": "argue", "asked": "ask", "resolved": "resolve",
    "decided": "decide", "found": "find", "insisted": "insist", "promised": "promise", "concluded": "conclude",
    "says": "say", "reports": "report", "believes": "believe", "thinks": "think", "expects": "expect",
    "hopes": "hope", "states": "state", "argues": "argue", "claims": "claim",
}  # fmt: skip
"""Base form by form of a verb after which a clause says what was said or thought."""
_ADVERB = r"(?:also|never|often|now|always|once|still|first|later|then|[a-z]+ly)"
_VERB = rf"(?:{_ADVERB} )?(?P<verb>[a-z][a-z'’-]*)"
_ASIDE = r"(?:, (?P<aside>[^,]{3,80}),)?"
_TITLE = "|".join(sorted(TITLES))
_OFFICE = "|".join(sorted(OFFICES, key=len, reverse=True))
_FINITE = "|".join(sorted(FINITE))
_NEXT_CLAUSE = re.compile(
    r"(?:,|,? (?:and|but)) (?=(?:it|he|she|they|there|(?:the|an?) (?:[a-z'’-]+ ){0,2}?[a-z'’-]+(?: of [a-z]+)?) "
    rf"(?:{_FINITE}|[a-z]+ed)\b)"
)
"""Where a clause with a subject of its own begins."""
_OF_ITS_TIME = re.compile(
    r"\b(?:now|today|tonight|yesterday|tomorrow|at present|ago|yet|hitherto|last|next|(?:is|are) to|present)\b",
    re.IGNORECASE,
)
"""Words whose meaning depends on when the document was written."""
_IS = r"(?P<verb>is|was|are|were)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedStatement:
    """A question about a sentence."""

    question: str
    answer: str
    """As the sentence spells it."""
    asked: Entity | None = None
    """The entity that is the answer, if it is one."""
    also: tuple[str, ...] = ()
    """Other correct answers that the sentence holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A sentence that begins with its subject, a name or an office."""

    words: str
    """Question words that ask for the subject."""
    spelling: str
    """Without the article."""
    shown: str
    """With the article, as inside a sentence."""
    verb: str
    rest: str
    """From the verb on, without the full stop."""
    entity: Entity | None
    also: tuple[str, ...] = ()
    """What else the sentence calls it."""


def read_subject(statement: Statement) -> Subject | None:
    """Return the subject of a sentence if it is a name or an office and its verb follows; an aside is left out."""
    found, entity = None, None
    if statement.names:
        spelling, entity = statement.names[0]
        head = rf"(?P<the>The )?(?P<head>(?:(?i:{_TITLE})\.? )*{re.escape(spelling.removeprefix('The '))})"
        found = re.match(rf"{head}{_ASIDE} (?P<rest>{_VERB}\b.*)[.!]$", statement.text)
    if found is None or not _is_verb(found["verb"], found["rest"]):
        entity = None
        head = rf"(?P<the>The )(?P<head>{_OFFICE})"
        found = re.match(rf"{head}{_ASIDE} (?P<rest>{_VERB}\b.*)[.!]$", statement.text)
    if found is None or not _is_verb(found["verb"], found["rest"]):
        return _read_noun(statement.text)
    head, aside = found["head"], found["aside"] or ""
    noun = noun_of(entity, head, trusted=statement.trusted) if entity is not None else ""
    words = "Who" if noun == "person" or is_office(head) else f"Which {noun}" if noun else "Who or what"
    name = re.match(r"(?:the )?(?:late )?(?P<name>[A-Z][\w.'’ -]+|[a-z-]+)$", aside)
    called = name is not None and (name["name"][0].isupper() or is_office(name["name"]))
    return Subject(
        words=words,
        spelling=head,
        shown=f"the {head}" if found["the"] else head,
        verb=found["verb"],
        rest=_NEXT_CLAUSE.split(found["rest"], maxsplit=1)[0],
        entity=entity,
        also=(name["name"],) if name is not None and called else (),
    )


def who(statement: Statement, subject: Subject) -> AskedStatement | None:
    """Ask for the subject of a sentence; None if the rest does not say enough or names it."""
    question = f"{subject.words} {subject.rest}?"
    if subject.entity is None and not is_office(subject.spelling):
        enough = len(content_stems(subject.rest)) >= _MIN_STEMS_OF_NOUN
        return _placed(statement, question, subject.shown, None, always=True) if enough else None
    office = is_office(subject.spelling)
    # A name says more than an office.
    answer, *also = sorted((subject.spelling, *subject.also), key=is_office)
    entity = None if office else subject.entity
    return _placed(statement, question, answer, entity, also=tuple(also), always=office)


def what_was_said(statement: Statement, subject: Subject, document: str) -> AskedStatement | None:
    """Ask what the subject of a sentence said, asked or thought; only if the document has it say one thing.

    Args:
        statement: the sentence.
        subject: of it.
        document: text of its document.
    """
    base = _SAID.get(subject.verb)
    if subject.entity is None and not is_office(subject.spelling):
        return None
    clause = re.match(
        rf"{re.escape(subject.verb)},? (?:that (?P<that>.+)|(?P<asked>(?:whether|why|what|how|when|where) .+))$",
        subject.rest,
    )
    if base is None or clause is None or not statement.title:
        return None
    answer = clause["that"] or clause["asked"]
    again = (
        rf"(?:{re.escape(subject.spelling)}{_ASIDE}|\b(?:He|She|They))\s+(?:{_ADVERB}\s+)?{subject.verb}\b"
    )
    if len(answer) > MAX_ANSWER or len(content_stems(answer)) < 3 or len(re.findall(again, document)) != 1:
        return None
    do = "does" if subject.verb.endswith("s") else "did"
    question = _within(statement, f"what {do} {subject.shown} {base}?")
    return AskedStatement(question=question, answer=answer)


def names(statement: Statement) -> Iterator[AskedStatement]:
    """Ask for the names of a sentence where they stand, by nouns; not for its subject, nor inside longer phrases."""
    for spelling, entity in statement.names:
        named = rf"(?P<name>(?:(?i:{_TITLE})\.? )*(?<![\w'’-]){re.escape(spelling.removeprefix('The '))})"
        pattern = rf"(?P<the>[Tt]he )?{named}(?P<whose>['’]s)?(?!['’-]?\w)"
        found = list(re.finditer(pattern, statement.text))
        if len(found) != 1 or not _stands_alone(statement.text, found[0]):
            continue
        noun = noun_of(entity, found[0]["name"], trusted=statement.trusted)
        if not noun:
            continue
        question = _asked(statement.text, found[0].span(), f"which {noun}{found[0]['whose'] or ''}")
        asked = _placed(statement, question, found[0]["name"], entity)
        if asked is not None:
            yield asked


def values(statement: Statement) -> Iterator[AskedStatement]:
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
                question = f"{rest[:1].upper()}{rest[1:]} {match['on'].lower()}{words}?"
            elif match.start() == 0:
                continue
            else:
                question = _asked(text, match.span("cut" if groups.get("cut") else "value"), words)
            asked = _placed(statement, question, match["value"].removeprefix("the "), None)
            if asked is not None:
                yield asked


def descriptions(statement: Statement) -> Iterator[tuple[AskedStatement, Entity]]:
    """Ask who or what a name stands for, if the sentence says so: "X is a ...", or "X, the ...," anywhere.

    Yields:
        Each question with the entity that it is about.
    """
    for spelling, entity in statement.names:
        if is_office(spelling):
            continue
        head = rf"(?P<head>(?:The |the )?(?:(?i:{_TITLE})\.? )*(?<![\w'’-]){re.escape(spelling)})"
        is_a = re.match(rf"{head} {_IS} (?P<what>(?:the|an?) [^;:,]{{8,120}})[.!]$", statement.text)
        apposed = re.search(
            rf"(?<!and ){head}, (?P<what>(?:the|an?) [^,;:.]{{8,100}})(?:, [a-z]|[.!]$)", statement.text
        )
        found = is_a or apposed
        if (
            found is None
            or len(content_stems(found["what"])) < 2
            or re.search(r"[A-Z]\S+ (?:and|or) ", found["what"])
        ):
            continue
        noun = noun_of(entity, found["head"].removeprefix("The "), trusted=statement.trusted)
        # "He met Mr. Lund at noon, the hour agreed on" describes no place by its name.
        if is_a is None and noun != "person":
            continue
        name = found["head"]
        name = f"the {name[4:]}" if name.startswith("The ") else name
        verb = found["verb"] if is_a else "was"
        question = f"{'Who' if noun == 'person' else 'What'} {verb} {name}?"
        yield AskedStatement(question=question, answer=found["what"]), entity


def holders(text: str, title: str) -> Iterator[AskedStatement]:
    """Ask who held an office that a sentence puts beside a name, as in "Mr. Bask, Clerk;", within its document.

    Args:
        text: any sentence, a list of those present included.
        title: of its document; empty if other documents have it too.
    """
    name = rf"(?P<name>(?:(?i:{_TITLE})\.? )?[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){{0,2}})"
    office = rf"(?P<office>(?:(?i:acting|deputy|vice|town) )?(?i:{_OFFICE}))"
    for pattern in (
        rf"(?<!and )(?<!late )\b{name}, (?:the )?{office}(?=[,;.]|$)",
        rf"(?<!and )(?<!late )\b{name} \({office}\)",
        rf"\b[Tt]he {office}, {name}(?=[,;.]|$)",
    ):
        for found in re.finditer(pattern, text) if title else ():
            who_held, held = found["name"], found["office"]
            if is_office(who_held) or is_time(who_held) or " " not in who_held:
                continue
            question = f'According to the document "{title}", who was the {held}?'
            if not _capitals(who_held) & _capitals(title):
                yield AskedStatement(question=question, answer=who_held)


# --- parts ----------------------------------------------------------------------------------------------


def _read_noun(text: str) -> Subject | None:
    """Return the subject of a sentence if it is a common noun with an article: "The memorial was ordered ..."."""
    noun = r"(?:[a-z][a-z'’-]* ){0,2}?[a-z][a-z'’-]*"
    found = re.match(
        rf"(?P<np>(?:The|An?) {noun}(?: of (?:the |an? )?{noun})?) (?P<rest>{_VERB}\b.*)[.!]$", text
    )
    if found is None:
        return None
    verb, words = found["verb"], found["np"].split()
    rest = _NEXT_CLAUSE.split(found["rest"], maxsplit=1)[0]
    past = verb.endswith("ed") and len(verb) > 4 and not rest.startswith(f"{verb} by ")
    # In "The bell raised by Mr. Lund was ..." the verb comes later.
    later = re.split(
        r",|\b(?:that|which|who|and|but|when|where|whether|what|as|until|if)\b", rest, maxsplit=1
    )[0]
    if verb not in FINITE and (not past or any(word in FINITE for word in later.split()[1:])):
        return None
    if any(w in FINITE or w in STOP_WORDS - {"the", "a", "an", "of"} for w in (w.casefold() for w in words)):
        return None
    spelling = f"{found['np'][0].lower()}{found['np'][1:]}"
    return Subject(words="Who or what", spelling=spelling, shown=spelling, verb=verb, rest=rest, entity=None)


def _is_verb(word: str, rest: str) -> bool:
    """Return whether a word after a subject is its verb: by a list, by its ending, or as the third person."""
    if word in FINITE or word in _SAID or (word.endswith("ed") and len(word) > 4):
        return True
    after = rest.partition(f"{word} ")[2].partition(" ")[0]
    third = word.endswith("s") and not word.endswith(("ss", "'s", "’s", "us")) and len(word) > 3
    return third and word not in STOP_WORDS and after not in FINITE and not after.endswith("ed")


def _stands_alone(text: str, found: re.Match[str]) -> bool:
    """Return whether a name can be replaced by "which person": no part of a phrase, list or apposition."""
    before, after = text[: found.start()], text[found.end() :]
    word = re.search(r"([\w'’-]+) $", before)
    if word is None or not (word[1] in _BEFORE_NAME or (word[1].endswith("ed") and word[1].islower())):
        return False
    # "of Salt Quay, the widow", "of Mara and Tobin", "of Orme of Salt Quay", "of Skerry Light Street"
    return not re.match(
        r",? (?:and|or) |, (?:the|an?|late|formerly|[A-Z])|"
        r" (?:of |de |von |van )?(?:the )?[A-Z]| (?:of|who|whose|which|where|the)\b|-| &|\.[ \w]",
        after,
    )


def _is_free(text: str, found: re.Match[str]) -> bool:
    """Return whether a number is no part of a range, a ratio or a phrase with an article."""
    words = re.findall(r"[\w'’-]+", text[: found.start()])
    before = words[-1].casefold() if words else ""
    noun = found.groupdict().get("noun")
    if before in _DETERMINERS or before in NUMBER_WORDS or (noun and noun.split()[-1] in _NOT_COUNTED):
        return False
    left, right = text[: found.start()].rstrip(), text[found.end() :].lstrip()
    ranged = re.search(rf"(?:{_NUMBER}|years?|months?) (?:to|or|and|past|before|from)$", left, re.IGNORECASE)
    return ranged is None and not re.match(rf"(?:to|or|and|out of|past|before) (?:{_NUMBER})\b|or ", right)


def _placed(
    statement: Statement,
    question: str,
    answer: str,
    entity: Entity | None,
    *,
    also: tuple[str, ...] = (),
    always: bool = False,
) -> AskedStatement | None:
    """Return a question if it is specific and does not hold its answer; asked of its document if it must be.

    Args:
        statement: that it is about.
        question: about the whole collection.
        answer: to it.
        entity: that the answer is, if it is one.
        also: other correct answers.
        always: whether it must be asked of the document.
    """
    n_stems = len(content_stems(question))
    left = proper_names(statement, entity.id if entity is not None else "")
    if always or not left or n_stems < _MIN_STEMS or _OF_ITS_TIME.search(question):
        if not statement.title or n_stems < _MIN_STEMS_WITHIN + bool(left):
            return None
        question = _within(statement, question)
    own = {answer, *also, *((entity.name, *entity.aliases) if entity is not None else ())}
    if _capitals(question) & (_capitals(" ".join(own)) - STOP_WORDS - TITLES):
        return None
    return AskedStatement(question=question, answer=answer, asked=entity, also=also)


def _within(statement: Statement, question: str) -> str:
    """Ask a question of the document of a sentence."""
    first, space, rest = question.partition(" ")
    if first.casefold() in STOP_WORDS:
        first = first.casefold()
    return f'According to the document "{statement.title}", {first}{space}{rest}'


def _capitals(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"[A-Z][\w-]+", text)}


def _asked(text: str, span: tuple[int, int], words: str) -> str:
    """Replace a part of a sentence by question words, and end it with a question mark."""
    question = f"{text[: span[0]]}{words}{text[span[1] :]}".rstrip(".! ")
    return f"{question[:1].upper()}{question[1:]}?"
