"""Who holds an office or has a task: sentences that state a name beside it, as lists, minutes and signatures do.

The cross-encoder was trained on whole sentences and rates "Treasurer: Ana Ruiz" or "Ana Ruiz, our treasurer, spoke"
barely as answers to "Who is the treasurer?".
"""

import re
from collections.abc import Callable

from polygraph.tasks.offline.sentences import Candidate
from polygraph.text.quantities import is_time
from polygraph.text.words import content_stems

# Quantifiers of white space are possessive, so that long runs of it are read in linear time.
_END = (
    r"(?:,?\s++(?:now|today|nowadays|currently|at present|at the moment|these days))?"
    r"\s*+\?*+\s*+$"
)
_ASKS = re.compile(
    r"\W*+who(?:['’]s|\s++(?:is|was|are|were))\s++(?:currently\s++)?"
    r"(?:(?:the|our|your|a|an)\s++|(?P<whose>(?:the\s++)?\w[\w\s-]{0,40}?)['’]s\s++)?"
    r"(?P<role>[a-z][\w-]*(?:\s++[a-z][\w-]*){0,3}?)"
    r"(?:\s++(?P<rest>(?:of|for|in|at|on|by|under|during|since|responsible)\s.{1,120}?))?"
    rf"{_END}",
    re.IGNORECASE,
)
_ASKS_FOR_TASK = re.compile(
    r"\W*+who(?:\s++(?:currently|usually|normally))?(?:"
    r"(?:['’]s|\s++(?:is|was|are|were))\s++(?:currently\s++)?(?:in charge of|responsible for|looking after|"
    r"(?:the|our|your)\s++(?:person\s++)?(?:contact|responsible)\s++(?:person\s++)?for)"
    r"|\s++(?:runs|manages|leads|heads|handles|oversees|organi[sz]es|coordinates|deals with|looks after|takes care of)"
    rf")\s++(?P<task>.{{2,120}}?){_END}",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:in charge of|responsible for|looks? after|takes? care of|manages?|handles?|oversees?|organi[sz]es?|"
    r"coordinates?|deals? with|(?:runs?|leads?|heads?) (?:the|our|this|its)|"
    r"(?:handled|managed|overseen|organi[sz]ed|looked after|run|led) by)\b",
    re.IGNORECASE,
)
"""Words of a sentence that say whose task something is."""
_WORD_OF_NAME = r"[^\W\d_a-z][\w'’.-]*"
_NAME = (
    rf"{_WORD_OF_NAME}(?: (?:(?:de|da|di|du|van|von|der|den|la|le|al|bin|of) ){{0,2}}{_WORD_OF_NAME}){{1,3}}"
)
"""Two to four capitalised words."""
_ARTICLE = r"(?i:the|our|its|their|as|a|an|acting|honorary|new|then)"
_ELECTED = r"(?i:(?:re-?)?elected|(?:re-?)?appointed|made|named|chosen|confirmed)"
_IS = r"(?i:is|was|becomes|became|has become|remains|remained)"
_DEFINES = r"(?i:the|hereinafter|hereafter|referred to as|called|each|an?)"
_QUOTE = r"[\"“„«‘'*]{1,3}"
_CELL = re.compile(r"(?:^|;)\s*[^;:]{1,80}:\s*([^;]+)")
_ONLY_NAME = re.compile(rf"{_NAME}\.?\s*")


def role_test(question: str) -> Callable[[Candidate], bool] | None:
    """Return a test of whether a sentence states who holds the office asked for; None for other questions.

    The office stands directly beside a name: ``Treasurer: Ana Ruiz``, ``Ana Ruiz (treasurer)``, ``the treasurer, Ana
    Ruiz,``, ``Ana Ruiz was elected treasurer``; behind it as a contract defines it, ``Ruiz Ltd, Hull ("the Seller")``;
    or in a row of a table with a name in another cell. Who is in charge of something is asked as well: it stands beside
    a name, or in a sentence that says whose task it is. What the question says besides has to stand in the sentence, in
    the one before it, or in the title, but for years, which documents do not repeat.

    >>> role_test("Who paid the treasurer?") is None
    True
    """
    if asks_for_task := _ASKS_FOR_TASK.match(question):
        return _task_test(asks_for_task["task"])
    asks = _ASKS.match(question)
    if asks is None or not content_stems(asks["role"]):
        return None
    beside = _beside(asks["role"])
    others = {
        term for term in content_stems(f"{asks['whose'] or ''} {asks['rest'] or ''}") if not is_time(term)
    }
    return lambda candidate: others <= candidate.terms and beside(candidate.quoted.text)


def asks_for_present_holder(question: str) -> bool:
    """Return whether a question asks who holds an office or has a task now.

    >>> asks_for_present_holder("Who is the treasurer?"), asks_for_present_holder("Who was the treasurer?")
    (True, False)
    """
    is_past = re.match(r"\W*who\s+(?:was|were)\b", question, re.IGNORECASE)
    return not is_past and role_test(question) is not None


def asks_for_task(question: str) -> bool:
    """Return whether a question asks who is in charge of something.

    >>> asks_for_task("Who looks after the boats?"), asks_for_task("Who is the boatman?")
    (True, False)
    """
    return _ASKS_FOR_TASK.match(question) is not None


def _task_test(task: str) -> Callable[[Candidate], bool] | None:
    wanted = set(content_stems(task))
    if not wanted:
        return None
    beside = _beside(re.sub(r"^(?:the|our|your|a|an)\s+", "", task, flags=re.IGNORECASE))

    def states(candidate: Candidate) -> bool:
        text = candidate.quoted.text
        if not wanted <= set(content_stems(text)):
            return False
        return beside(text) or (_TASK.search(text) is not None and not text.endswith("?"))

    return states


def _beside(role: str) -> Callable[[str], bool]:
    """Return a test of whether a role stands beside a name in a text, or in a row with one."""
    # Capitals count in the name only.
    spoken = r"\s+".join(re.escape(word) for word in role.split())
    role = rf"(?i:\b{spoken}\b)"
    pattern = re.compile(
        rf"{role}\s*(?:\([^()]{{0,40}}\)\s*)?(?:[:–—=-]|\s-)\s*{_NAME}"
        rf"|{_NAME}\s*(?:[-–—:]\s*|\s-\s*){role}"
        rf"|{_NAME}\s*\((?:{_ARTICLE}\s+)*{role}"
        rf"|{_NAME},\s*(?:{_ARTICLE}\s+)*{role}\s*(?:[,.;)]|$)"
        rf"|{_NAME}\s+(?:(?:has been|{_IS})\s+)?(?:{_ELECTED}\s+)?(?:{_ARTICLE}\s+)*(?<=\s){role}"
        rf"|{role},?\s+{_NAME}"
        rf"|(?>{_NAME})[^()]{{0,120}}+\((?:{_DEFINES}\s+)*{_QUOTE}(?:{_ARTICLE}\s+)?{role}"
    )
    said = re.compile(role)

    def test(text: str) -> bool:
        if pattern.search(text):
            return True
        cells = [cell.strip() for cell in _CELL.findall(text)]
        with_role = [bool(said.search(cell)) for cell in cells]
        return any(with_role) and any(
            _ONLY_NAME.fullmatch(cell)
            for cell, has_role in zip(cells, with_role, strict=True)
            if not has_role
        )

    return test
