"""The sources of a statement: its citations, or else the texts that share most words with it."""

import re
from collections.abc import Sequence

from polygraph.records import Report
from polygraph.text.words import content_stems

CITATION = r"\[\s*+\d{1,4}(?:\s*+[,;]\s*+\d{1,4})*+\s*+\]"
"""Pattern of a citation such as ``[2]`` or ``[1, 4]``; it takes linear time on any text."""
_CITATIONS = re.compile(rf"(?:{CITATION}[ \t]?)+")
_NUMBER = re.compile(r"\d{1,4}")
_UNCITED_SOURCES = 5
"""Items that a text without citations is attributed to."""
_SPACE_BEFORE_STOP = re.compile(r"(?<![ \t])[ \t]++(?=[.,;:!?]|$)", re.MULTILINE)


def strip_citations(text: str, n_items: int) -> tuple[str, tuple[int, ...]]:
    """Remove citations such as ``[2]`` or ``[1, 4]`` from a text.

    Returns:
        The text, and the distinct numbers from 1 to `n_items` in the order in which they are cited.

    >>> strip_citations("The lamp was dark [2]. Nobody paid [3][9].", 3)
    ('The lamp was dark. Nobody paid.', (2, 3))
    """
    cited = (n for group in _CITATIONS.findall(text) for n in cited_numbers(group))
    plain = _SPACE_BEFORE_STOP.sub("", _CITATIONS.sub("", text))
    return plain.strip(), tuple(dict.fromkeys(n for n in cited if 1 <= n <= n_items))


def cited_numbers(citations: str) -> tuple[int, ...]:
    """Return the distinct numbers in some citations, in their order.

    >>> cited_numbers("[2, 1][2]")
    (2, 1)
    """
    return tuple(dict.fromkeys(map(int, _NUMBER.findall(citations))))


def find_sources(text: str, items: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Return a text without its citations, and the numbers of its sources: the items that it cites, from 1.

    If it cites none, they are its `likely_sources`, or else the first item.

    >>> find_sources("The lamp was dark.", ["Oil is dear.", "A dark lamp."])
    ('The lamp was dark.', (2,))
    """
    plain, cited = strip_citations(text, len(items))
    return plain, cited or likely_sources(plain, items) or (1,)


def likely_sources(text: str, items: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers, from 1, of the items that share most content words with a text that cites nothing.

    Best first, ties in order, at most five. Items that share no word are left out.

    >>> likely_sources("The lamp was dark.", ["Oil is dear.", "A dark lamp.", "The lamp."])
    (2, 3)
    """
    wanted = set(content_stems(text))
    shared = [len(wanted & set(content_stems(item))) for item in items]
    order = sorted((i for i, n in enumerate(shared) if n), key=lambda i: (-shared[i], i))
    return tuple(i + 1 for i in order[:_UNCITED_SOURCES])


def supporting_chunks(statement: str, reports: Sequence[Report]) -> tuple[str, ...]:
    """Return the chunks of the findings that share most words with a statement; all chunks if no finding shares any.

    A finding counts if it shares at least half as many words as the best one. What a summary says rests on all chunks
    of its report, if it shares more words with the statement than any finding does.
    """
    wanted = set(content_stems(statement))

    def n_shared(text: str) -> int:
        return len(wanted & set(content_stems(text)))

    scored = [
        (n_shared(f"{f.summary} {f.explanation}"), f.chunks)
        for report in reports
        for f in report.findings
        if f.chunks
    ]
    best = max((score for score, _ in scored), default=0)
    of_summaries = [(n_shared(report.summary), report.chunks) for report in reports]
    if best < (best_summary := max((score for score, _ in of_summaries), default=0)):
        return tuple(
            dict.fromkeys(c for score, chunks in of_summaries if score == best_summary for c in chunks)
        )
    if best == 0:
        return tuple(dict.fromkeys(c for r in reports for c in r.chunks))
    return tuple(dict.fromkeys(c for score, chunks in scored if 2 * score >= best for c in chunks))
