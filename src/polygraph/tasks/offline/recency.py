"""Which of several sentences comes first that say the same with other values, or who holds an office: the newest.

Prices, opening hours and offices change, and each state of them is in a document of its own. The day of a document is
its date or, without one, a date in its title; when a file was written says nothing. What a document says that no longer
holds, by its own first lines, comes behind what another one says.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from polygraph.tasks.offline.sentences import HEAD, Candidate, Passage, names_in
from polygraph.text.quantities import NUMBER_WORDS, dates, is_time
from polygraph.text.words import STOP_WORDS, content_stems, stem

_MIN_COMMON = 0.6
"""Share of the words of both sentences, values aside, that they have in common if they say the same."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"\d[\d.,:/]*\d|\d")
_TIMES = frozenset(["noon", "midday", "midnight", "am", "pm"])
_EARLIER = re.compile(
    r"\b(?:earlier|former(?:ly)?|previous(?:ly)?|original(?:ly)?|old(?:er|est)?|first|initial(?:ly)?|once|used to|"
    r"at that time|back then)\b",
    re.IGNORECASE,
)
"""Words of a question that may be about an earlier state."""
_ENDED = (
    r"(?P<how>(?:superseded|replaced|withdrawn|obsolete|outdated|deprecated|retired|repealed|revoked|rejected|expired"
    r"|archived|no longer (?:valid|in force|current|maintained))\b[^\n|.;(]*+)"
)
_DOCUMENT = (
    "adr|article|decision|document|draft|guide|guideline|handbook|instruction|manual|memo|note|notice|page|plan|policy"
    "|post|procedure|proposal|record|report|rfc|rule|runbook|specification|version"
)
_SAYS_ENDED = re.compile(
    # A line "Status: superseded by ...", also as a heading, or a sentence about the document: a report may be about a
    # pump that was replaced. Of several fields, each is about what a row of a table is about.
    rf"^[\W_]*(?:status[\W_]*|this (?:{_DOCUMENT}) (?:is|was|has been) (?:now )?){_ENDED}(?!; [^\W_][^:;\n]*: )",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Scores in which the newer of equal sentences come first."""

    scores: Mapping[int, float]
    """By position of the candidate."""
    behind: Mapping[int, tuple[int, ...]]
    """For a candidate the others that say the same with other values, and come after it."""


def ended_documents(passages: Sequence[Passage]) -> dict[str, str]:
    """Return the documents that say in their first lines that they no longer hold, with how: *superseded by ...*."""
    found: dict[str, str] = {}
    for passage in passages:
        chunk = passage.chunk
        if chunk.start < HEAD and (said := _SAYS_ENDED.search(chunk.text[: HEAD - chunk.start])):
            found[chunk.document] = re.sub(r"[*_\[\]]", "", said["how"]).rstrip()
    return found


def asks_for_earlier(question: str) -> bool:
    """Return whether a question may be about an earlier state.

    >>> asks_for_earlier("What was the original fee?"), asks_for_earlier("What is the fee?")
    (True, False)
    """
    return _EARLIER.search(question) is not None


def newest_first(
    question: str,
    candidates: Sequence[Candidate],
    scores: Mapping[int, float],
    margin: float,
    holders: Collection[int] = (),
) -> Ordered:
    """Exchange the scores of sentences that say the same with other values, so that the newer ones come first.

    Such sentences are of different documents with different dates, hold the same words of the question and mostly the
    same others, and have about the same score. A name in the question stands in the title or the heading of all of
    them or of none: what holds for one experiment is no newer state of another. A question that names a time wants the
    newest that is not later; one about an earlier state keeps the scores.

    Args:
        question: any text.
        candidates: sentences with the dates of their documents.
        scores: of some candidates by position.
        margin: sentences whose scores differ by more are not equal; twice as much if only values differ in them, since
            a cross-encoder rates one name above another.
        holders: positions of sentences that state who holds the office asked for. They are equal in whatever words.
    """
    if asks_for_earlier(question):
        return Ordered(scores, {})
    wanted = frozenset(content_stems(question))
    until = max((date.last for date in dates(question)), default=None)
    order = sorted(scores, key=lambda i: (-scores[i], i))
    dated = [i for i in order if candidates[i].date is not None]
    common = {i: _without_values(_headed(candidates[i]), wanted) for i in dated}
    names = {i: _names_above(candidates[i], question) for i in dated}
    changed, behind = dict(scores), dict[int, tuple[int, ...]]()
    left = dict.fromkeys(dated)
    for i in dated:
        if i not in left:
            continue
        group = [
            j
            for j in left
            if (
                scores[j] >= scores[i] - (2 * margin if common[i] == common[j] else margin)
                and names[i] == names[j]
                and (i == j or _say_the_same(candidates[i], candidates[j], common[i], common[j], wanted))
            )
            or (i in holders and j in holders)
        ]
        for j in group:
            del left[j]
        ranked = _ranked(group, candidates, until)
        changed.update(zip(ranked, [scores[j] for j in group], strict=True))
        behind.update((j, tuple(ranked[n:])) for n, j in enumerate(ranked, 1))
    return Ordered(changed, {i: others for i, others in behind.items() if others})


def differ_in_values(question: str, x: Candidate, y: Candidate) -> bool:
    """Return whether sentences of two documents say the same with other numbers, as two states of a price do.

    Not if the question names what stands above one of them, and nothing that stands above the other alone.
    """
    wanted = frozenset(content_stems(question))
    text_x, text_y = x.quoted.text, y.quoted.text
    names_x, names_y = _names_above(x, question), _names_above(y, question)
    return (
        set(_NUMBER.findall(text_x)) != set(_NUMBER.findall(text_y))
        and not (names_x < names_y or names_y < names_x)
        and _say_the_same(
            x, y, _without_values(_headed(x), wanted), _without_values(_headed(y), wanted), wanted
        )
    )


def _headed(candidate: Candidate) -> str:
    """Return a sentence with what its paragraph is headed by: "Next meeting. 4 May, 6 p.m." says what is on 4 May."""
    return f"{candidate.heading} {candidate.quoted.text}".lstrip()


def _names_above(candidate: Candidate, question: str) -> frozenset[str]:
    """Return the names in a question that stand in the title or the heading above a sentence."""
    return frozenset(names_in(question, candidate.title) + names_in(question, candidate.section))


def _say_the_same(
    x: Candidate, y: Candidate, common_x: frozenset[str], common_y: frozenset[str], wanted: frozenset[str]
) -> bool:
    return (
        x.quoted.span.document != y.quoted.span.document
        and bool(common_x & wanted)
        and common_x & wanted == common_y & wanted
        and len(common_x & common_y) >= _MIN_COMMON * len(common_x | common_y)
    )


def _ranked(
    group: Sequence[int], candidates: Sequence[Candidate], until: tuple[int, int, int] | None
) -> list[int]:
    """Order candidates so that none comes before one of a newer document; otherwise as they are."""
    left, ranked = list(group), list[int]()
    while left:
        best = next(i for i in left if not any(_precedes(j, i, candidates, until) for j in left if j != i))
        left.remove(best)
        ranked.append(best)
    return ranked


def _precedes(i: int, j: int, candidates: Sequence[Candidate], until: tuple[int, int, int] | None) -> bool:
    x, y = candidates[i].date, candidates[j].date
    if x is None or y is None:
        return False
    if until is not None and (x.first > until) != (y.first > until):
        return y.first > until
    is_later = until is not None and x.first > until
    return x.before(y) if is_later else y.before(x)


def _without_values(text: str, wanted: frozenset[str]) -> frozenset[str]:
    """Return the stems of a sentence without what can differ from one state to the next: numbers, times and names."""
    found = list(_WORD.finditer(text))
    kept = set[str]()
    for n, match in enumerate(found):
        word = match[0].casefold()
        own = stem(word.removesuffix("'s").removesuffix("’s"))
        if own in wanted:
            kept.add(own)
            continue
        next_is_capital = n + 1 < len(found) and found[n + 1][0][0].isupper()
        is_name = match[0][0].isupper() and (n > 0 or next_is_capital)
        is_value = word in _TIMES or is_time(word) or word in NUMBER_WORDS or any(map(str.isdigit, word))
        if not (is_name or is_value or word in STOP_WORDS):
            kept.add(own)
    return frozenset(kept)
