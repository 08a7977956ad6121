"""Sentences of passages as candidates, and the similarity of a question to them."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polygraph.records import Chunk, Span
from polygraph.text.language import detect_language
from polygraph.text.quantities import Date, document_date, is_time
from polygraph.text.sentences import LINE_MARK, after_markup, atx_heading, sentence_spans
from polygraph.text.words import content_stems, question_names, words

DUPLICATE_OVERLAP = 0.6
"""Two sentences are duplicates if they share this much of the content words of the shorter one."""
_MAX_CHARACTERS = 600
"""A sentence is cut here; headings and tables without full stops can be endless."""
_MIN_WORDS = 3
"""Shorter sentences are no candidates."""
DEPENDENT = re.compile(
    r"[\"'“‘(*]*(?:he|she|it|they|him|her|them|his|its|their|this|that|these|those|such|there|here|then|so|but|and|or|yet|"
    r"both|neither|either|the (?:former|latter|same|other)|one|another|which|who|"
    r"therefore|thus|hence|consequently|accordingly|as a result|for (?:this|that|these) reasons?|"
    # "In winter it is closed", "Until 2024 this was Ana Ruiz"
    r"(?:in|on|at|by|from|until|since|before|after|during|with|without|for|under) [^\s,.;:?!]+(?: [^\s,.;:?!]+){0,4},? "
    r"(?:he|she|it|they|this|these) (?:is|are|was|were|has|have|had|will|would|can|could|may|must|shall|should))\b",
    re.IGNORECASE,
)
"""Beginnings of a sentence that is not understood without the one before it."""
_LISTED = re.compile(r"(?:[-*+•‣◦]|\(?\d{1,2}[.)])\s|```|~~~")
"""Beginning of a list item or of fenced code."""
FENCES = ("```", "~~~")
"""What stands before and behind code."""
_NUMBERED = re.compile(rf"{LINE_MARK.pattern}|\(?\d{{1,2}}[.)]\s+")
"""Marks before a list item, a heading or a quoted line. In other languages than English, a number can begin a date."""
ROW = re.compile(r"[^;]{1,80}: [^;]*; [^;]{1,80}: ")
"""Beginning of a row of a table: two cells behind the names of their columns."""
MAIL_HEADER = re.compile(r"(?:From|To|Cc|Bcc|Date|Sent|Subject|Reply-To): ")
"""Beginning of a line of the head of a mail, which states nothing."""
_END = re.compile(r"[.!?…。！？][\"'”’»)\]*_]*$")
"""End of a statement; a heading has none."""
_VERSION = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)+(?![\w-]|\.\w)")
_WHY = re.compile(
    r"\W*(?:why|how come|for what reasons?|what (?:is|was|were|are) the reasons?)\b", re.IGNORECASE
)
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|so that|in order to|reasons?|caused?|therefore|thus|hence|thanks to)\b",
    re.IGNORECASE,
)
"""Words of a sentence that gives a reason."""
_ASKED_SHARE = 0.6
"""A sentence with this share of the question's words says what is asked about."""
_PARAGRAPH_GAP = 2
"""Characters between sentences that stand together: white space, and no mark of a list."""
_WORD_WEIGHT, _COSINE_WEIGHT = 0.6, 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk that evidence rests on."""

    chunk: Chunk
    title: str
    evidence: int
    """Number of the evidence, from 1."""
    date: str = ""
    """Date of its document, as written; empty if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedSentence:
    """A sentence of the documents, chosen for an answer."""

    text: str
    span: Span
    evidence: int
    """Number of the evidence that its passage belongs to, from 1."""
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A sentence that an answer may quote."""

    quoted: QuotedSentence
    title: str
    """Of the document."""
    section: str
    """The heading above it, unless it is the title; empty if there is none."""
    context: str
    """The title, the heading of the section, the sentence before it and the sentence itself: the text that the
    cross-encoder reads."""
    terms: frozenset[str]
    """Content words of `context` without the heading: they weigh in every sentence below it."""
    alone: str = ""
    """`context` of a row of a table without the row before it, which is about something else; empty for a sentence."""
    is_heading: bool = False
    """Whether it is the heading of its document, of a section or of a list too long to be quoted: it says what the text
    is about, and states nothing."""
    date: Date | None = None
    """When its document is from: the date of it, or one in its title."""

    @property
    def is_question(self) -> bool:
        """Whether it asks something itself, as those of a list of frequent questions or of a quoted mail do."""
        return _is_question(self.quoted.text)


def candidate_sentences(passages: Sequence[Passage]) -> list[Candidate]:
    """Return every distinct sentence once, in the order of the passages.

    A sentence that depends on the one before it ("He refused.") is joined to it unless that is a heading, and a list or
    code to the sentence with a colon above it, if they are short enough together. Sentences end by the rules of the
    document's language.
    """
    languages = _languages(passages)
    found: list[Candidate] = []
    seen: set[str] = set()
    for passage in passages:
        chunk = passage.chunk
        date = document_date(passage.date, passage.title)
        spans = sentence_spans(chunk.text, language=languages[chunk.document])
        before, before_start, below_heading = "", 0, False
        section = _section(passage)
        for first, stop in _with_lists(chunk.text, spans):
            start = _after_mark(chunk.text, first, stop, is_english=languages[chunk.document] == "en")
            end = min(stop, start + _MAX_CHARACTERS)
            text = " ".join(chunk.text[start:end].split())
            # An item of a list or a quoted line stands for itself.
            is_marked = chunk.text[first:start].strip(" *_") != ""
            is_heading = _is_heading(chunk.text[first:stop], passage, chunk.start + first)
            is_joined = (
                bool(before)
                and not below_heading
                and not is_marked
                and bool(DEPENDENT.match(text))
                and not _is_question(text)
                and end - before_start <= _MAX_CHARACTERS
            )
            shown = " ".join(chunk.text[before_start:end].split()) if is_joined else text
            if len(words(text)) >= _MIN_WORDS and shown.casefold() not in seen:
                seen.add(shown.casefold())
                # The title stands there already.
                is_alone = passage.title.casefold().startswith(before.casefold())
                spoken = text if is_alone or len(before) >= _MAX_CHARACTERS else f"{before} {text}"
                above = section if section not in (before, text) else ""
                headings = [part for part in (passage.title, above) if part]
                begin = before_start if is_joined else start
                found.append(
                    Candidate(
                        quoted=QuotedSentence(
                            text=shown,
                            span=Span(chunk.document, chunk.id, chunk.start + begin, chunk.start + end),
                            evidence=passage.evidence,
                            score=0.0,
                        ),
                        title=passage.title,
                        section=section,
                        context=". ".join([*headings, spoken]),
                        alone=". ".join([*headings, text]) if ROW.match(text) else "",
                        terms=frozenset(content_stems(f"{passage.title}. {spoken}")),
                        is_heading=is_heading,
                        date=date,
                    )
                )
            if heading := atx_heading(chunk.text[first:stop]):
                is_title = passage.title.casefold().startswith(heading.casefold())
                section = "" if is_title or len(heading) > _MAX_CHARACTERS else heading
            before, before_start, below_heading = text, start, is_heading
    return found


def _is_question(text: str) -> bool:
    return text.rstrip("*_ ").endswith(("?", "？", "؟"))


def names_in(question: str, text: str) -> list[str]:
    """Return the names and versions in a question that stand in a text word for word, but for times.

    >>> names_in("What did Ruiz find in trial T-31?", "Trial T-31"), names_in("What of T-31?", "Trial T-32, no. 31")
    (['T-31'], [])
    >>> names_in("What is new in 4.3?", "Release 4.3."), names_in("What is new in 4.3?", "Release 4.3.1")
    (['4.3'], [])
    """
    names = dict.fromkeys([*question_names(question), *_VERSION.findall(question)])
    return [
        name
        for name in names
        if not is_time(name)
        and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text, re.IGNORECASE)
    ]


def below_named_headings(question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Let the names in a question that stand in the heading above a sentence count among its terms.

    Other words of a heading do not: they would weigh in every sentence below it.
    """
    found = []
    for candidate in candidates:
        names = names_in(question, candidate.section) if candidate.section else []
        terms = candidate.terms.union(*map(content_stems, names))
        found.append(replace(candidate, terms=terms) if names else candidate)
    return found


def _section(passage: Passage) -> str:
    """Return the heading that a passage begins under, if its document says so and it is not the title."""
    section = passage.chunk.metadata.get("section")
    return section if isinstance(section, str) and section != passage.title else ""


def asks_for_reason(question: str) -> bool:
    """Return whether a question asks why.

    >>> asks_for_reason("Why is the pier closed?"), asks_for_reason("Who knows why the pier is closed?")
    (True, False)
    """
    return _WHY.match(question) is not None


def with_reason(
    chosen: Sequence[QuotedSentence], candidates: Sequence[Candidate], asked: frozenset[str]
) -> list[QuotedSentence]:
    """Quote a sentence that says what is asked about, and gives no reason, together with the one behind it.

    Reasons often stand there: "The pier must not be used. The third pile is rotten."

    Args:
        chosen: sentences of an answer to a question that asks why.
        candidates: from `candidate_sentences`.
        asked: stems of the question.
    """
    starts = {(c.quoted.span.chunk, c.quoted.span.start): c for c in candidates}
    found: list[QuotedSentence] = []
    for sentence in chosen:
        span = sentence.span
        nexts = (starts.get((span.chunk, span.end + gap)) for gap in range(_PARAGRAPH_GAP + 1))
        behind = next((c for c in nexts if c is not None and not c.is_heading), None)
        shared = len(asked & set(content_stems(sentence.text)))
        if (
            behind is not None
            and shared >= _ASKED_SHARE * len(asked)
            and not _REASON.search(sentence.text)
            and behind.quoted.span.end - span.start <= _MAX_CHARACTERS
            and all(each.span != behind.quoted.span for each in chosen)
        ):
            text = f"{sentence.text} {behind.quoted.text}"
            found.append(replace(sentence, text=text, span=replace(span, end=behind.quoted.span.end)))
        else:
            found.append(sentence)
    return found


def with_sentence_before(
    chosen: Sequence[QuotedSentence], candidates: Sequence[Candidate], asked: frozenset[str]
) -> list[QuotedSentence]:
    """Quote a sentence without a word of the question together with the one before it, if that one has some.

    A cross-encoder reads both, and likes the second for what the first says.

    Args:
        chosen: of `candidates`, in the order of the answer.
        candidates: from `candidate_sentences`.
        asked: stems of the question.
    """
    places = {c.quoted.span: n for n, c in enumerate(candidates)}
    found: list[QuotedSentence] = []
    for sentence in chosen:
        span, n = sentence.span, places[sentence.span]
        before = candidates[n - 1] if n else None
        if (
            before is not None
            # Who speaks, or what is listed, stands before a colon.
            and (not before.is_heading or before.quoted.text.endswith(":"))
            and (first := before.quoted.span).chunk == span.chunk
            and 0 <= span.start - first.end <= _PARAGRAPH_GAP
            and span.end - first.start <= _MAX_CHARACTERS
            and asked.isdisjoint(content_stems(sentence.text))
            and not asked.isdisjoint(content_stems(before.quoted.text))
            and not any(
                each.span.document == first.document
                and first.start < each.span.end
                and each.span.start < first.end
                for each in chosen
            )
        ):
            both = f"{before.quoted.text} {sentence.text}"
            found.append(replace(sentence, text=both, span=replace(span, start=first.start)))
        else:
            found.append(sentence)
    return found


def in_reading_order(chosen: Sequence[QuotedSentence]) -> list[QuotedSentence]:
    """Exchange neighbours of an answer of which the second stands directly before the first in its document.

    So a rule comes before its penalty, whichever of both is rated higher. Rows of a table keep their order.
    """
    found = list(chosen)
    for n in range(len(found) - 1):
        first, second = found[n], found[n + 1]
        if (
            first.span.document == second.span.document
            and 0 <= first.span.start - second.span.end <= _PARAGRAPH_GAP
            and not (ROW.match(first.text) or ROW.match(second.text))
        ):
            found[n], found[n + 1] = second, first
    return found


def _after_mark(text: str, start: int, end: int, *, is_english: bool) -> int:
    """Return where a sentence begins behind the mark of a list item, a heading or a quoted line, and behind markup."""
    mark = (_NUMBERED if is_english else LINE_MARK).match(text, start, end)
    return after_markup(text, mark.end() if mark and mark.end() < end else start, end)


def _is_heading(text: str, passage: Passage, start: int) -> bool:
    """Return whether a sentence is a heading by its mark, or a title of its document or section without an end mark.

    So is one that only leads to what stands below it: "You need:".

    Args:
        text: the sentence.
        passage: that it is part of.
        start: its offset in the document.
    """
    if atx_heading(text) or text.endswith(":"):
        return True
    bare = text.strip("#*_=~ \t").casefold()
    if not bare or _END.search(bare):
        return False
    title = passage.title.casefold()
    if title and start == 0 and bare.startswith(title):
        return True  # a title that is wrapped
    titles = (passage.title, passage.chunk.metadata.get("section"))
    # A title can go on behind the heading, as that of a page behind its first line; before it, a label can stand.
    return any(
        _begins_with(title.casefold(), bare) or bare.partition(": ")[2] == title.casefold()
        for title in titles
        if isinstance(title, str)
    )


def _begins_with(title: str, heading: str) -> bool:
    return title.startswith(heading) and not title[len(heading) : len(heading) + 1].isalnum()


def _languages(passages: Sequence[Passage]) -> dict[str, str]:
    """Detect the language of each document from its passages; English if there is too little evidence."""
    texts: dict[str, list[str]] = {}
    for passage in passages:
        texts.setdefault(passage.chunk.document, []).append(passage.chunk.text)
    return {document: detect_language("\n".join(some)) or "en" for document, some in texts.items()}


def _with_lists(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join a sentence that ends with a colon to the list items or the code below it."""
    joined: list[tuple[int, int]] = []
    n = 0
    while n < len(spans):
        start, end = spans[n]
        last = n
        if text[end - 1] == ":":
            while last + 1 < len(spans) and _LISTED.match(text, *spans[last + 1]):
                last += 1
                if text.startswith(FENCES, spans[last][0]):
                    break
            if spans[last][1] - start > _MAX_CHARACTERS:
                last = n
        joined.append((start, spans[last][1]))
        n = last + 1
    return joined


def in_lines(quoted: str) -> str:
    r"""Return a quotation on one line, but for a list or fenced code: these keep their lines, and code its indents.

    Args:
        quoted: of `candidate_sentences`, as its passage has it; a fence that it does not close is closed.

    >>> print(in_lines("You need:\n- a lamp\n- oil for\n  a year"))
    You need:
    - a lamp
    - oil for a year
    """
    lines: list[str] = []
    fence, indent, in_list, goes_on = "", 0, False, False
    for line in quoted.split("\n"):
        body = line.lstrip()
        if fence:
            lines.append(line[min(indent, len(line) - len(body)) :].rstrip())
            if body.startswith(fence):
                fence = ""
        elif body.startswith(FENCES):
            fence, indent, goes_on = body[:3], len(line) - len(body), False
            lines.append(body.rstrip())
        elif body:
            is_item = bool(_LISTED.match(body)) and (in_list or (goes_on and lines[-1].endswith(":")))
            in_list = in_list or is_item
            if goes_on and not is_item:
                lines[-1] += " " + " ".join(body.split())
            else:
                lines.append(" ".join(body.split()))
            goes_on = True
    return "\n".join([*lines, fence] if fence else lines)


def term_weights(question_terms: Sequence[str], texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return the smoothed inverse document frequency of each term of a question, over the candidate texts."""
    frequency = Counter(term for terms in texts for term in terms)
    return {t: math.log(1 + (len(texts) + 1) / (frequency[t] + 0.5)) for t in question_terms}


def similarities(
    candidates: Sequence[Candidate], weights: Mapping[str, float], cosines: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Combine the share of the question's weighted words with the cosine of the vectors.

    Args:
        candidates: sentences to score.
        weights: of the question's terms.
        cosines: of question and candidate, shape ``(len(candidates),)``.

    Returns:
        One score for each candidate, rounded to six digits.
    """
    total = sum(weights.values()) or 1.0
    shared = np.array([sum(weights.get(t, 0.0) for t in c.terms) / total for c in candidates])
    return np.asarray(np.round(_WORD_WEIGHT * shared + _COSINE_WEIGHT * cosines, 6), dtype=np.float64)


def overlap(x: frozenset[str], y: frozenset[str]) -> float:
    """Return the overlap coefficient of two sets of words.

    >>> overlap(frozenset({"dark", "lamp"}), frozenset({"lamp"}))
    1.0
    """
    return len(x & y) / max(1, min(len(x), len(y)))
