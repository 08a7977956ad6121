"""Who holds an office: sentences that state a name beside it, as lists, minutes and signatures do.

The cross-encoder was trained on whole sentences and rates "Treasurer: Ana Ruiz" or "Ana Ruiz, our treasurer, spoke"
barely as answers to "Who is the treasurer?".
"""

import re
from collections.abc import Callable

from polygraph.tasks.offline.sentences import Candidate
from polygraph.text.words import content_stems

_ASKS = re.compile(
    r"\W*who(?:['’]s|\s+(?:is|was|are|were))\s+(?:currently\s+)?"
    r"(?:(?:the|our|your|a|an)\s+|(?P<whose>(?:the\s+)?\w[\w\s-]{0,40}?)['’]s\s+)?"
    r"(?P<role>[a-z][\w-]*(?:\s+[a-z][\w-]*){0,3}?)"
    r"(?:\s+(?P<rest>(?:of|for|in|at|on|by|under|during|since|responsible)\s.{1,120}?))?\s*\?*\s*$",
    re.IGNORECASE,
)
_WORD_OF_NAME = r"[^\W\d_a-z][\w'’.-]*"
_NAME = (
    rf"{_WORD_OF_NAME}(?: (?:(?:de|da|di|du|van|von|der|den|la|le|al|bin|of) ){{0,2}}{_WORD_OF_NAME}){{1,3}}"
)
"""Two to four capitalised words."""


def role_test(question: str) -> Callable[[Candidate], bool] | None:
    """Return a test of whether a sentence states who holds the office asked for; None for other questions.

    The office stands directly beside a name: ``Treasurer: Ana Ruiz``, ``Ana Ruiz (treasurer)``, ``the treasurer, Ana
    Ruiz,``, ``Ana Ruiz, our treasurer,``. What the question says besides has to stand in the sentence, in the one
    before it, or in the title.

    >>> role_test("Who paid the treasurer?") is None
    True
    """
    asks = _ASKS.match(question)
    if asks is None or not content_stems(asks["role"]):
        return None
    role = r"\s+".join(re.escape(word) for word in asks["role"].split())
    # Capitals count in the name only.
    role = rf"(?i:\b{role}\b)"
    article = r"(?i:the|our|its|their|as|a|an|acting|honorary|new|then)"
    beside = re.compile(
        rf"{role}\s*(?:\([^()]{{0,40}}\)\s*)?(?:[:–—=-]|\s-)\s*{_NAME}"
        rf"|{_NAME}\s*(?:[-–—:]\s*|\s-\s*){role}"
        rf"|{_NAME}\s*\((?:{article}\s+)*{role}"
        rf"|{_NAME},\s*(?:{article}\s+)*{role}\s*(?:[,.;)]|$)"
        rf"|{role},?\s+{_NAME}"
    )
    others = set(content_stems(f"{asks['whose'] or ''} {asks['rest'] or ''}"))
    return lambda candidate: others <= candidate.terms and bool(beside.search(candidate.quoted.text))
