"""Whether a question is about the whole collection or about particular things, by its words."""

import re

from polygraph.text.words import STOP_WORDS, question_names, stem, words

_GLOBAL_WORDS = """
    main major overall recurring recur keep coming common theme themes topic topics trend pattern across
    throughout collection document documents paper papers source sources summarise summarize summary
    overview general kind kinds way ways run whole back important key corpus text texts archive thing
    things subject
"""
_GLOBAL_STEMS = frozenset(stem(word) for word in _GLOBAL_WORDS.split())
_GLOBAL = re.compile(
    r"\b(?:themes?|trends?|overview|overall|recurring|recur|throughout|summari[sz]e|in general|keeps? coming|"
    r"(?:main|major|common|key|important|central) (?:topics?|subjects?|points?|issues?|ideas?|events?|people|things)|"
    r"(?:the|these|this|those|all|whole) (?:papers|documents|collection|sources|corpus|archive|texts))\b",
    re.IGNORECASE,
)


def is_global_question(question: str) -> bool:
    """Return whether a question is about the whole collection: it names nothing and asks for themes or an overview.

    >>> is_global_question("What are these papers about?"), is_global_question("Who was Scrooge's partner?")
    (True, False)
    """
    return bool(_GLOBAL.search(question)) and not question_names(question)


def subject_words(question: str) -> str:
    """Return the words of a global question that say what it is about; empty if it asks for the whole only.

    >>> subject_words("What disputes over money recur throughout these papers?")
    'disputes money'
    """
    return " ".join(w for w in words(question) if w not in STOP_WORDS and stem(w) not in _GLOBAL_STEMS)
