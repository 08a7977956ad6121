"""The kind of thing that a question asks for, a date, a number or a person, and the sentences that hold one."""

import re
from collections.abc import Callable, Sequence

from polygraph.text.words import content_stems, words

_QUANTITY_GAIN = 2.0
"""In logits, of a sentence that holds the date or number asked for."""
_PERMISSION_GAIN = 1.5
"""In logits, of a sentence that allows or forbids, where it is asked what one may do: the penalty comes behind it."""
_KINDS: Sequence[tuple[re.Pattern[str], re.Pattern[str], float]] = (
    # The question's wording, what an answering sentence then usually holds, and the gain in logits.
    (
        re.compile(
            r"^\W*(?:on |at |from |since |in )?(?:what|which) (?:year|date|day|month)|^\W*when\b", re.I
        ),
        re.compile(
            r"\b\d{4}\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|"
            r"December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
        ),
        _QUANTITY_GAIN,
    ),
    (
        re.compile(
            r"^\W*how (?:many|much|long|old|far|big|high|deep|wide|heavy|hot|cold|fast)\b"
            r"|^\W*(?:what|which) (?:[\w-]+ ){0,3}?(?:numbers?|versions?|codes?|extension)\b"
            r"|\b(?:price|salary|cost|sum|rate)\b",
            re.I,
        ),
        re.compile(
            r"\d|[£$€]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|"
            r"fifty|hundred|thousand)\b",
            re.I,
        ),
        _QUANTITY_GAIN,
    ),
    (
        re.compile(r"^\W*who(?:se|m)?\b", re.I),
        re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z]|\b(?:Mr|Mrs|Miss|Dr)\b"),
        1.0,
    ),
    (
        re.compile(
            r"^\W*(?:may|can|could|must|should|am|is it|are we|do)\b.{0,40}?\b(?:i|we|you|one|allowed|permitted)\b",
            re.I,
        ),
        re.compile(
            r"\b(?:(?:may|must|shall|should|can) (?:not|only)|cannot|(?:not|never|only|is|are|be) "
            r"(?:allowed|permitted)|forbidden|prohibited|banned|do not|no \w+ (?:is|are|may))\b|n['’]t\b",
            re.I,
        ),
        _PERMISSION_GAIN,
    ),
)


def kind_gain(question: str, sentence: str) -> float:
    """Return the gain of a sentence that holds the kind of thing asked for: a date, a number, a person."""
    return sum(gain for asks, holds, gain in _KINDS if asks.search(question) and holds.search(sentence))


def asked_kind(question: str) -> Callable[[str], bool] | None:
    """Return a test for a text with the kind of thing asked for that the question does not hold; None for others."""
    found = [holds for asks, holds, gain in _KINDS if gain != _PERMISSION_GAIN and asks.match(question)]
    if not found:
        return None
    asked = set(words(question))

    def holds_more(text: str) -> bool:
        return any(not asked.issuperset(words(match[0])) for match in found[0].finditer(text))

    return holds_more


def holds_quantity(question: str, heading: str) -> bool:
    """Return whether a heading holds the date or number that is asked for, as those of a list of versions do."""
    if set(content_stems(question)).isdisjoint(content_stems(heading)):
        return False
    return any(
        asks.search(question) and holds.search(heading)
        for asks, holds, gain in _KINDS
        if gain == _QUANTITY_GAIN
    )
