"""Sentences of passages as candidates, and the similarity of a question to them."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import filterfalse, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polygraph.records import Chunk, Span
from polygraph.tasks.offline.dependent_sentences import is_dependent
from polygraph.tasks.offline.paragraph_heads import (
    QUESTION_MARK,
    ParagraphHead,
    paragraph_heads,
)
from polygraph.text.language import detect_language
from polygraph.text.lists import ITEM, join_lists
from polygraph.text.quantities import Date, document_date, is_time, located_dates
from polygraph.text.sentences import LINE_MARK, after_markup, atx_heading, is_question, sentence_spans
from polygraph.text.words import content_stems, question_names, words

DUPLICATE_OVERLAP = 0.6
"""Two sentences are duplicates if they share this much of the content words of the shorter one."""
MAX_CHARACTERS = 600
"""A sentence is cut here; headings and tables without full stops can be endless."""
_MIN_WORDS = 3
"""Shorter sentences are no candidates."""
_NUMBERED = re.compile(rf"{LINE_MARK.pattern}|\(?\d{{1,2}}[.)]\s+")
"""Marks before a list item, a heading or a quoted line. In other languages than English, a number can begin a date."""
ROW = re.compile(r"[^;]{1,80}: [^;]*; [^;]{1,80}: ")
"""Beginning of a row of a table: two cells behind the names of their columns."""
_ROW_NUMBER = re.compile(r"no: [^;]*; (?=[^;]{1,80}: )", re.IGNORECASE)
"""The number of a row, which reads like an answer: "No: 112; Name: Voss"."""
MAIL_HEADER = re.compile(r"(?:From|To|Cc|Bcc|Date|Sent|Subject|Reply-To): ")
"""Beginning of a line of the head of a mail, which states nothing."""
_END = re.compile(r"[.!?…。！？][\"'”’»)\]*_]*$")
"""End of a statement; a heading has none."""
_FIELD = re.compile(r"[^\W\d_a-z][\w -]{0,30}: (?!.*[.!?…][\"'”’»)\]*_]*$)")
"""A name in front of a value; who speaks stands in front of a statement or a question."""
_VERSION = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)+(?![\w-]|\.\w)")
_ANSWER = re.compile(r"(?:yes|no|never|always|none|nothing|not yet|ja|nein|nie)[.!]", re.IGNORECASE)
CAPITALISED = re.compile(
    r"[^\W\d_a-z][\w'’.-]*(?: (?:(?:of|and|for|the|de|van|von|&) )*[^\W\d_a-z][\w'’.-]*){1,4}"
)
"""Two to five capitalised words, as of a name, an office or a firm."""
_OFFICE = re.compile(
    r"[^\W\d_a-z][\w'’-]*(?: [\w'’-]+)? (?:of|for|to) (?:the |our )?[\w'’-]+(?: (?:and )?[\w'’-]+)?"
)
"""An office in lower case, as below a name: *Chair of governors*, *Clerk to the parish council*."""
_CODE = re.compile(r"\d.*[^\W\d]|[^\W\d].*\d")
"""A letter and a digit."""
_HAS_WORD = re.compile(r"[^\W_]")
HEAD = 300
"""Characters of a document that can say what all of it is about."""
_MAX_NAMES = 100
"""Names of a question that are looked for: a mail that is pasted as a question has hundreds."""
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
    """Title of the document."""
    section: str
    """The heading above it, unless it is the title, and that of its paragraph; empty if there is none."""
    context: str
    """The title, the headings of the section and of the paragraph, the sentence before it and the sentence
    itself: the text that the cross-encoder reads. Not the row before a row of a table, which is about something
    else."""
    terms: frozenset[str]
    """Content words of `context` without the heading of the section: they weigh in every sentence below it."""
    is_heading: bool = False
    """Whether it is the heading of its document, of a section or of a list too long to be quoted: it says what the text
    is about, and states nothing."""
    is_item: bool = False
    """Whether it is an item of a list."""
    heading: str = ""
    """What its paragraph alone is headed by: the question that it answers, or the term that it explains."""
    is_explaining: bool = False
    """Whether the paragraph answers a question or explains a term, from its first sentence on."""
    paragraph: Span | None = None
    """Where what stands below `heading` is, unless it is longer than a sentence may be."""
    date: Date | None = None
    """When its document is from: the date of it, or one in its title."""

    @property
    def is_question(self) -> bool:
        """Whether it asks something itself, as those of a list of frequent questions or of a quoted mail do."""
        return is_question(self.quoted.text)


def candidate_sentences(passages: Sequence[Passage]) -> list[Candidate]:
    """Return every distinct sentence once, in the order of the passages.

    A sentence that depends on the one before it ("He refused.") is joined to it unless that is a heading, a sentence to
    a date or a word before it ("No."), a line of a signature to the one or two above it, and a list or code to the
    sentence with a colon above it, if they are short enough together. Sentences end by the rules of the document's
    language.
    """
    languages = _languages(passages)
    found: dict[str, Candidate] = {}
    for passage in passages:
        for candidate in _sentences_of(passage, languages[passage.chunk.document]):
            found.setdefault(candidate.quoted.text.casefold(), candidate)
    return list(found.values())


class _Sentence(NamedTuple):
    """A sentence of a passage, without the mark of a list item and the number of a row."""

    text: str
    """On one line."""
    start: int
    """Offset in the chunk."""
    end: int
    is_heading: bool


def _sentences_of(passage: Passage, language: str) -> Iterator[Candidate]:
    """Yield the sentences of a passage that have enough words, each with what is said above and before it."""
    chunk = passage.chunk
    date = document_date(passage.date, passage.title)
    section = _section(passage)
    before = _Sentence("", 0, 0, is_heading=False)
    signature: list[_Sentence] = []
    joined = join_lists(chunk.text, sentence_spans(chunk.text, language=language), longest=MAX_CHARACTERS)
    # The asterisks behind a sentence in bold are none.
    pieces = [(start, end) for start, end in joined if _HAS_WORD.search(chunk.text, start, end)]
    heads = paragraph_heads(chunk.text, pieces)
    for first, stop in pieces:
        head = heads.get(first)
        heading = head.text if head else ""
        start = _after_mark(chunk.text, first, stop, is_english=language == "en")
        # An item of a list or a quoted line stands for itself.
        is_marked = chunk.text[first:start].strip(" *_") != ""
        if number := _ROW_NUMBER.match(chunk.text, start, stop):
            start = number.end()
        elif head and first == head.start:
            start = head.after_mark(chunk.text, start, stop)
        elif (mark := QUESTION_MARK.match(chunk.text, start, stop)) and is_question(chunk.text[start:stop]):
            start = mark.end()
        end = min(stop, start + MAX_CHARACTERS)
        is_heading = _is_heading(chunk.text[first:stop], passage, chunk.start + first)
        sentence = _Sentence(" ".join(chunk.text[start:end].split()), start, end, is_heading)
        is_signed = not is_marked and first - before.end == 1 and _is_signed(before.text, sentence.text)
        signature = [*signature, before] if is_signed else []
        if is_signed or len(words(sentence.text)) >= _MIN_WORDS:
            is_joined = not is_marked and _belongs_to(sentence, before, first - before.end, language)
            # Three lines are a name, an office and the firm; more are several names.
            is_whole = len(signature) == 2 and not _is_signed(sentence.text, _line_below(chunk.text, stop))
            begin = signature[0].start if is_whole else before.start if is_signed or is_joined else start
            spoken = _with_sentence_before(sentence.text, before.text, passage.title)
            above = [part for part in (section, heading) if part not in ("", before.text, sentence.text)]
            yield Candidate(
                quoted=QuotedSentence(
                    text=" ".join(chunk.text[begin:end].split()),
                    span=Span(chunk.document, chunk.id, chunk.start + begin, chunk.start + end),
                    evidence=passage.evidence,
                    score=0.0,
                ),
                title=passage.title,
                section=f"{section}: {heading}" if section and heading else section or heading,
                context=" ".join([*map(_ended, filter(None, [passage.title, *above])), spoken]),
                terms=frozenset(content_stems(f"{passage.title}. {heading} {spoken}")),
                is_heading=is_heading,
                is_item=not is_heading and (is_marked or ITEM.match(chunk.text, first, stop) is not None),
                heading=heading,
                is_explaining=head is not None and head.is_explained,
                paragraph=_below(passage, head) if head else None,
                date=date,
            )
        if heading := atx_heading(chunk.text[first:stop]):
            is_title = passage.title.casefold().startswith(heading.casefold())
            section = "" if is_title or len(heading) > MAX_CHARACTERS else heading
        before = sentence


def _belongs_to(sentence: _Sentence, before: _Sentence, gap: int, language: str) -> bool:
    """Return whether a sentence is quoted with the one before it: it depends on that, or that is a label.

    Args:
        sentence: no item of a list.
        before: the sentence before it; its text is empty if there is none.
        gap: characters between them.
        language: of both.
    """
    return (
        bool(before.text)
        and not before.is_heading
        and (is_dependent(sentence.text, language) or _is_label(before.text, gap))
        and not is_question(sentence.text)
        and sentence.end - before.start <= MAX_CHARACTERS
    )


def _with_sentence_before(text: str, before: str, title: str) -> str:
    """Put the sentence before a sentence in front of it, unless it is the title or was cut.

    A row of a table and a field behind another one (`Status: accepted`, `Date: 2024-05-02`) stand alone.
    """
    is_alone = (
        title.casefold().startswith(before.casefold())
        or len(before) >= MAX_CHARACTERS
        or ROW.match(text) is not None
        or all(map(_FIELD.match, (before, text)))
    )
    return text if is_alone else f"{before} {text}"


def _ended(heading: str) -> str:
    """Return a heading with an end mark, so that a sentence can stand behind it."""
    return heading if heading.endswith((".", "!", "?", ":", "？", "！", "。")) else f"{heading}."


def _below(passage: Passage, head: ParagraphHead) -> Span | None:
    chunk = passage.chunk
    text = chunk.text[head.start : head.end]
    start = head.start + len(text) - len(text.lstrip())
    start = head.after_mark(chunk.text, start, head.end)
    if head.end - start > MAX_CHARACTERS:
        return None
    return Span(chunk.document, chunk.id, chunk.start + start, chunk.start + head.end)


def _is_label(text: str, gap: int) -> bool:
    """Return whether a text is a date or one word that answers ("No."), and belongs to the sentence behind it.

    Args:
        text: before a sentence.
        gap: characters between them.
    """
    if gap > 1:
        return False
    if _ANSWER.fullmatch(text):
        return True
    found = located_dates(text)
    return len(found) == 1 and not words(text[: found[0][1]] + text[found[0][2] :])


def _line_below(text: str, end: int) -> str:
    return text[end + 1 : end + MAX_CHARACTERS].partition("\n")[0].strip()


def _is_signed(name: str, below: str) -> bool:
    """Return whether a name stands alone above an office or a firm, as in a signature.

    >>> _is_signed("Hanna Brandt", "Project Manager"), _is_signed("Annual Report", "We sold more.")
    (True, False)
    >>> _is_signed("Hanna Brandt", "Head of sales")
    True
    """
    return CAPITALISED.fullmatch(name) is not None and any(
        office.fullmatch(below) for office in (CAPITALISED, _OFFICE)
    )


def names_in(question: str, text: str) -> list[str]:
    """Return the names and versions in a question that stand in a text word for word, but for times.

    Of a question with more than a hundred, the first hundred are looked for.

    >>> names_in("What did Ruiz find in trial T-31?", "Trial T-31"), names_in("What of T-31?", "Trial T-32, no. 31")
    (['T-31'], [])
    >>> names_in("What is new in 4.3?", "Release 4.3."), names_in("What is new in 4.3?", "Release 4.3.1")
    (['4.3'], [])
    """
    return [name for name, stands_in in _name_patterns(question) if stands_in(text)]


# The names of a question are looked for in every sentence.
@lru_cache(maxsize=16)
def _name_patterns(question: str) -> tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...]:
    """Return the names and versions in a question, but for times, each with a search for it as a whole."""
    names = dict.fromkeys([*question_names(question), *_VERSION.findall(question)])
    return tuple(
        (name, re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", re.IGNORECASE).search)
        for name in islice(filterfalse(is_time, names), _MAX_NAMES)
    )


def below_names(
    question: str, candidates: Sequence[Candidate], passages: Sequence[Passage]
) -> list[Candidate]:
    """Let the names in a question that stand above a sentence count among its terms, and the cross-encoder read them.

    They stand in the heading of its section; a code also in the first lines of its document ("Incident: INC-7"). Other
    words that stand there do not count: they would weigh in every sentence below.
    """
    heads = {p.chunk.document: p.chunk.text[:HEAD] for p in passages if p.chunk.start < HEAD}
    found = []
    for c in candidates:
        names = names_in(question, c.section) if c.section else []
        codes = filter(_CODE.search, names_in(question, heads.get(c.quoted.span.document, "")))
        above = [code for code in codes if not names_in(code, c.context)]
        terms = c.terms.union(*map(content_stems, [*names, *above]))
        found.append(replace(c, terms=terms, context=". ".join([*above, c.context])))
    return found


def _section(passage: Passage) -> str:
    """Return the heading that a passage begins under, if its document says so and it is not the title."""
    section = passage.chunk.metadata.get("section")
    return section if isinstance(section, str) and section != passage.title else ""


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


def share_text(x: Span, y: Span) -> bool:
    """Return whether two spans have characters of one document in common."""
    return x.document == y.document and x.start < y.end and y.start < x.end


def overlap(x: frozenset[str], y: frozenset[str]) -> float:
    """Return the overlap coefficient of two sets of words.

    >>> overlap(frozenset({"dark", "lamp"}), frozenset({"lamp"}))
    1.0
    """
    return len(x & y) / max(1, min(len(x), len(y)))
