"""Questions about single sentences: the order of words stays, and question words stand for the answer.

"The Halcyon struck the Grey Reef in the fog." becomes "The Halcyon struck which place in the fog?", so that no grammar
is needed and a question is as true as its sentence. A question that names nothing by which its passage is found names
the document instead.
"""

import re
from dataclasses import dataclass

from polygraph.finetune.data.rules.nouns import TITLES
from polygraph.finetune.data.rules.statements import Statement, proper_names
from polygraph.records import Entity
from polygraph.text.words import STOP_WORDS, content_stems

_MIN_STEMS, _MIN_STEMS_WITHIN = 4, 2
"""Content words of a question about the whole collection, and of one about a document."""
_COMMON_SUBJECT = re.compile(
    r"(?:The|(?:In|On|At|By|After|Before|During|From|Until|Since|For|Near|Under|With|Upon|Between) [^,]{3,80},? the)"
    r" [a-z]"
)
"""A sentence whose subject, or first noun after a phrase, is a common noun with an article."""
_OF_ITS_DOCUMENT = re.compile(
    r"\b(?:now|today|tonight|yesterday|tomorrow|at present|ago|yet|hitherto|last|next|(?:is|are) to|present|already|"
    r"still|currently|recently|so far|[Tt]he (?:company|firm|film|movie|series|album|song|show|book|novel|game|club|"
    r"team|band|group|organi[sz]ation|agency|university|school|city|town|village|country|property|building|ship|vessel|"
    r"man|woman|author|report|study|project|programme|program|committee|council|board|trust|site|season|event))\b"
)
"""Words whose meaning depends on when a document was written and on what stands before them."""


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


def placed(
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
    always = always or _COMMON_SUBJECT.match(statement.text) is not None
    if always or not left or n_stems < _MIN_STEMS or _OF_ITS_DOCUMENT.search(question):
        if not statement.title or n_stems < _MIN_STEMS_WITHIN + bool(left):
            return None
        question = within(statement, question)
    own = {answer, *also, *((entity.name, *entity.aliases) if entity is not None else ())}
    if capitals(question) & (capitals(" ".join(own)) - STOP_WORDS - TITLES):
        return None
    return AskedStatement(question=question, answer=answer, asked=entity, also=also)


def within(statement: Statement, question: str) -> str:
    """Ask a question of the document of a sentence."""
    first, space, rest = question.partition(" ")
    if first.casefold() in STOP_WORDS:
        first = first.casefold()
    return f'According to the document "{statement.title}", {first}{space}{rest}'


def replaced(text: str, span: tuple[int, int], words: str) -> str:
    """Replace a part of a sentence by question words, and end it with a question mark."""
    question = f"{text[: span[0]]}{words}{text[span[1] :]}".rstrip(".! ")
    return f"{question[:1].upper()}{question[1:]}?"


def capitals(text: str) -> set[str]:
    """Return the capitalised words of a text in lower case."""
    return {word.casefold() for word in re.findall(r"[A-Z][\w-]+", text)}
