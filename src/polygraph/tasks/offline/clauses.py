"""Clauses of a sentence, and the words that decide what they state: whole names, compounds and verbs."""

import re

from polygraph.text.words import STOP_WORDS, stem, words

TOKEN = re.compile(r"[^\W_]+(?:[-‐\u2011'’][^\W_]+|(?<=\d)[.,](?=\d)[^\W_]+)*")
"""A word with its apostrophes, a compound, a code or a number."""
_HYPHEN = re.compile(r"[-‐\u2011]")
_SPACED_SUFFIX = re.compile(r"(?<=\d) (?=[A-Z]\b(?!['’]))")
"""The space in ``QT-450 S``."""
_LIGHT_VERBS = {
    form: verb
    for verb, forms in {
        "use": "use uses used using",
        "have": "have has had having",
        "get": "get gets got getting",
        "give": "give gives gave given giving",
        "make": "make makes made making",
        "take": "take takes took taken taking",
        "go": "go goes went gone going",
        "without": "without",
    }.items()
    for form in forms.split()
}
"""Words that are no content elsewhere and decide what a question asks, by form."""
NEGATION = re.compile(
    r"\b(?:not|never|no|nor|neither|nobody|none|nothing|cannot|refused|declined|rejected|denied|forbidden|"
    r"prohibited|failed|stopped|ceased|refuses|declines|rejects|denies|fails)\b|n['’]t\b",
    re.IGNORECASE,
)
LIMITED = re.compile(
    r"\b(?:if|unless|except|only|until|hardly|rarely|seldom|partly|sometimes|perhaps|maybe|might|probably|likely|"
    r"whether|said|says|claim(?:s|ed)?|believ(?:e|es|ed)|allege[ds]?|reported(?:ly)?|rumou?r\w*|supposed(?:ly)?|planned|"
    r"plans|expected|expects|intend\w*|propos\w*|almost|nearly|former(?:ly)?|provided|as long as|would)\b|[?“”\"]",
    re.IGNORECASE,
)
"""Words that make a statement hold only in part, or for somebody only."""
_CLAUSE = re.compile(
    r";|,?\s+(?:but|although|though|while|whereas|because|since|so that|however|and then)\s+|"
    r",\s+(?:and|which|who|where|so)\s+"
)
SUBCLAUSE = re.compile(r",?\s+(?:and|or)\s+")


def terms(text: str) -> list[str]:
    """Return the content words of a text as stems, in order; a compound or a code is one word, and keeps its endings.

    >>> terms("The QT-450S is a deep-sea pump, used by Ana's firm.")
    ['qt450s', 'deepsea', 'pump', 'use', 'ana', 'firm']
    """
    found = []
    for match in TOKEN.finditer(_SPACED_SUFFIX.sub("", text)):
        token = _HYPHEN.sub("", match.group().casefold())
        word = words(token)[0] if token.endswith(("'s", "’s")) else token
        if verb := _LIGHT_VERBS.get(word):
            found.append(verb)
        elif word not in STOP_WORDS:
            found.append(word if has_digit(word) else stem(word))
    return found


def has_digit(term: str) -> bool:
    """Return whether a term is a number or a code."""
    return any(map(str.isdigit, term))


def is_statement(text: str) -> bool:
    """Return whether a text ends like a statement: headings and fragments state nothing."""
    return not text.startswith("#") and text.rstrip("\"'”’)] ").endswith((".", "!", "。"))


def clauses(text: str) -> list[str]:
    """Return the clauses of a sentence, as conjunctions and semicolons part them.

    >>> clauses("The lamp is old, but the tower is new.")
    ['The lamp is old', 'the tower is new.']
    """
    return [clause for clause in _CLAUSE.split(text) if clause and clause.strip()]
