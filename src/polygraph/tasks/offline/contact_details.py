"""E-mail addresses and telephone numbers: what a sentence has to hold if one is asked for."""

import re
from dataclasses import dataclass

from polygraph.tasks.offline.sentences import Candidate
from polygraph.text.words import content_stems

_ASKS = re.compile(r"\W*(?:what|which)\b", re.IGNORECASE)
_KINDS = (
    (
        "an e-mail address",
        re.compile(r"\be-?mail address(?:es)?\b|\be-?mail of\b|['’]s e-?mail\b", re.IGNORECASE),
        re.compile(r"[\w.+-]@\w"),
    ),
    (
        "a telephone number",
        re.compile(r"\b(?:tele)?phone numbers?\b|\b(?:mobile|fax) numbers?\b", re.IGNORECASE),
        # Six digits or more, apart from dates with a time behind them.
        re.compile(r"(?<![\d:.,£$€-])(?!\d{4}-\d\d|\d{4} \d\d:)\+?(?:\(?\d\)?[\s/.-]{0,2}){6,}(?![:\d])"),
    ),
)
_OWN_WORDS = frozenset(
    content_stems("e-mail email mail address addresses telephone phone mobile fax number numbers")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactDetail:
    """The kind of contact detail that a question asks for."""

    name: str
    form: re.Pattern[str]
    """How it is written."""
    others: frozenset[str]
    """Stems of the question that say whose it is."""

    def is_in(self, candidate: Candidate) -> bool:
        """Tell whether a sentence holds one."""
        return self.form.search(candidate.quoted.text) is not None

    def is_stated_in(self, candidate: Candidate) -> bool:
        """Tell whether a sentence holds one, and with its context all words that say whose it is."""
        return self.is_in(candidate) and bool(self.others) and self.others <= candidate.terms


def asked_contact_detail(question: str) -> ContactDetail | None:
    """Return the kind of contact detail that a question asks for; None for other questions.

    >>> asked_contact_detail("What is the phone number of the porter?").name
    'a telephone number'
    >>> asked_contact_detail("Who has a phone number?") is None
    True
    """
    if not _ASKS.match(question):
        return None
    for name, words, form in _KINDS:
        if words.search(question):
            return ContactDetail(name=name, form=form, others=frozenset(content_stems(question)) - _OWN_WORDS)
    return None
