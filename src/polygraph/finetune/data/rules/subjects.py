"""Questions for the subject of a sentence, and for what it said."""

import re
from dataclasses import dataclass

from polygraph.finetune.data.rules.asking import AskedStatement, placed, within
from polygraph.finetune.data.rules.nouns import ANY_OFFICE, ANY_TITLE, is_office, noun_of
from polygraph.finetune.data.rules.statements import ANY_FINITE, FINITE, Statement
from polygraph.records import Entity
from polygraph.text.words import STOP_WORDS, content_stems

_MIN_STEMS_OF_NOUN = 3
"""Content words of a question for a common noun."""
MAX_ANSWER = 160
"""Characters of what somebody said."""
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
_NEXT_CLAUSE = re.compile(
    r" [—–] (?!.*[—–])|"
    r"(?:,|,? (?:and|but)) (?=(?:it|he|she|they|there|(?:the|an?) (?:[a-z'’-]+ ){0,2}?[a-z'’-]+(?: of [a-z]+)?) "
    rf"(?:{ANY_FINITE}|[a-z]+ed)\b)|"
    rf", (?:and|but) (?=[A-Z][\w'’-]+(?: [\w'’-]+){{0,4}}? (?:{ANY_FINITE}|[a-z]+ed)\b)"
)
"""Where a clause with a subject of its own begins."""


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
        head = rf"(?P<the>The )?(?P<head>(?:(?i:{ANY_TITLE})\.? )*{re.escape(spelling.removeprefix('The '))})"
        found = re.match(rf"{head}{_ASIDE} (?P<rest>{_VERB}\b.*)[.!]$", statement.text)
    if found is None or not _is_verb(found["verb"], found["rest"]):
        entity = None
        head = rf"(?P<the>The )(?P<head>{ANY_OFFICE})"
        found = re.match(rf"{head}{_ASIDE} (?P<rest>{_VERB}\b.*)[.!]$", statement.text)
    if found is None or not _is_verb(found["verb"], found["rest"]):
        return _read_noun(statement.text)
    head, aside = found["head"], found["aside"] or ""
    noun = noun_of(entity, head, trusted=statement.trusted) if entity is not None else ""
    he = re.search(r"\b(?:he|she|his|her|who)\b", found["rest"][:60]) and not noun
    words = "Who" if noun == "person" or is_office(head) or he else f"Which {noun}" if noun else "Who or what"
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


def subject_question(statement: Statement, subject: Subject) -> AskedStatement | None:
    """Ask for the subject of a sentence; None if the rest does not say enough or names it."""
    question = f"{subject.words} {subject.rest}?"
    if subject.entity is None and not is_office(subject.spelling):
        enough = len(content_stems(subject.rest)) >= _MIN_STEMS_OF_NOUN
        return placed(statement, question, subject.shown, None, always=True) if enough else None
    # "X is a town in Y" does not say that it is the only one.
    one_of_many = (
        re.match(r"(?:is|was|are|were) (?:also )?(?:an?|one|any|some|among)\b", subject.rest) is not None
    )
    office = is_office(subject.spelling)
    # A name says more than an office.
    answer, *also = sorted((subject.spelling, *subject.also), key=is_office)
    entity = None if office else subject.entity
    return placed(statement, question, answer, entity, also=tuple(also), always=office or one_of_many)


def said_question(statement: Statement, subject: Subject, document: str) -> AskedStatement | None:
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
    # "..., and disallowed the question" is said of the subject again.
    if re.search(r", and (?:[a-z]+ed|was|were|is|had|has) (?!been)", answer):
        return None
    again = (
        rf"(?:{re.escape(subject.spelling)}{_ASIDE}|\b(?:He|She|They))\s+(?:{_ADVERB}\s+)?{subject.verb}\b"
    )
    if len(answer) > MAX_ANSWER or len(content_stems(answer)) < 3 or len(re.findall(again, document)) != 1:
        return None
    do = "does" if subject.verb.endswith("s") else "did"
    question = within(statement, f"what {do} {subject.shown} {base}?")
    return AskedStatement(question=question, answer=answer)


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
    past = verb.endswith("ed") and len(verb) > 4
    if not _is_verb(verb, rest):
        return None
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
    if rest.startswith(f"{word} by ") or re.match(
        r"(?:is|was|are|were) (?:whether|that|to|how|what|why)\b", rest
    ):
        return False
    if word in FINITE or word in _SAID or (word.endswith("ed") and len(word) > 4):
        return True
    after = rest.partition(f"{word} ")[2].partition(" ")[0]
    third = word.endswith("s") and not word.endswith(("ss", "'s", "’s", "us")) and len(word) > 3
    return third and word not in STOP_WORDS and after not in FINITE and not after.endswith("ed")
