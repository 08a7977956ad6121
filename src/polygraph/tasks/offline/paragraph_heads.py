"""What a single paragraph is headed by: the question that it answers, the term that it explains, or bold words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from polygraph.text.lists import ITEM
from polygraph.text.sentences import MARKUP, asks_in_a_line, is_message, is_question

QUESTION_MARK = re.compile(r"(?:Q|Question|F|Frage)(?:\s?\d{1,3})?[.:)]\s+")
"""Before a question in a list of them, an interview or a hearing."""
_ANSWER_MARK = re.compile(r"(?:A|Answer|Antwort|R|Réponse)(?:\s?\d{1,3})?[.:)]\s+")
"""Before its answer."""
_INITIAL = re.compile(r"[A-Z]\.\s")
_BOLD = re.compile(r"(?:\*\*|__)(?P<head>[^*_\n]{2,60})(?:\*\*|__)(?P<mark>\s?[:–—-]\s)?(?=[^\n]*\w)")
"""Bold words with text behind them on their line; the group `mark` is a colon or dash between them."""
_TERM = re.compile(
    r"(?P<head>[^\W\d_][^\n:–—.!?;,]{1,39}?)(?:\s[–—-]\s|:\s)(?=[^\n]*\w)(?![^\n;]*; [^\n;:]{1,80}: )"
)
"""A term before a colon or a dash with text behind it on its line, which is no row of a table."""
_MIN_TERMS = 3
"""Terms before a colon or a dash that make a glossary."""
_MAX_TERM = 60
_END = (".", ":", ";", ",", "!", "?")


@dataclass(frozen=True, slots=True, order=True)
class ParagraphHead:
    """A heading, and where the text that it heads begins and ends."""

    start: int
    end: int
    text: str
    """Without markup and marks."""
    is_explained: bool
    """Whether what follows answers or explains it from the first sentence on, as of a question or a term."""
    is_marked: bool = False
    """Whether it is a question with a mark such as ``Q.``; without one, ``A.`` before the answer is an initial."""

    def after_mark(self, text: str, start: int, end: int) -> int:
        """Return where what stands from `start` to `end` begins behind the mark of an answer, if it has one."""
        mark = _ANSWER_MARK.match(text, start, end) if is_question(self.text) else None
        is_initial = not self.is_marked and _INITIAL.match(text, start)
        return start if mark is None or is_initial else mark.end()


def paragraph_heads(text: str, sentences: Sequence[tuple[int, int]]) -> dict[int, ParagraphHead]:
    r"""Return what each sentence of a text stands below, by its start, if its paragraph has a heading of its own.

    - A question that has its line for itself is answered by the paragraph behind it. It must be marked as a question
      (``Q:``, bold, a heading) or be one of several: a mail can end with a question that nobody has answered yet.
    - A term stands alone on a line above indented ones, as at least one other term of the text does.
    - Bold words, or one of at least three terms before a colon or a dash, begin a paragraph, an item of a list or a
      line behind a sentence, and head what follows the sentence that holds them.

    Args:
        text: any.
        sentences: start and end of each, in order.

    >>> text = "Q. Where can I park?\nA. Behind the hall. It is free."
    >>> paragraph_heads(text, [(0, 20), (21, 40), (41, 52)])[41]
    ParagraphHead(start=21, end=52, text='Where can I park?', is_explained=True, is_marked=True)
    >>> paragraph_heads("**Prices.** Oil is dear. It was cheap.", [(0, 24), (25, 38)])[25].text
    'Prices'
    """
    heads = sorted([*_run_in(text), *_terms(text)])
    found: dict[int, ParagraphHead] = {}
    n = 0
    for start, _ in sentences:
        while n < len(heads) and heads[n].end <= start:
            n += 1
        if n < len(heads) and heads[n].start <= start:
            found[start] = heads[n]
    return found | _answers(text, sentences)


def _answers(text: str, sentences: Sequence[tuple[int, int]]) -> dict[int, ParagraphHead]:
    """Return the questions that a text answers, by the start of each sentence of an answer."""
    # To a message of a chat, the next one may reply, and the others are about something else.
    asking = [
        n
        for n, (start, end) in enumerate(sentences)
        if asks_in_a_line(text, start, end) and not is_message(text, start)
    ]
    found: dict[int, ParagraphHead] = {}
    for n, end in pairwise([*asking, len(sentences)]):
        question = " ".join(text[slice(*sentences[n])].split()).strip(MARKUP)
        mark = QUESTION_MARK.match(question)
        is_marked = mark is not None or text.startswith(("**", "#"), sentences[n][0])
        if n + 1 == end or (len(asking) == 1 and not is_marked):
            continue
        answer = [sentences[n + 1]]
        for sentence in sentences[n + 2 : end]:
            if _has_empty_line(text[answer[-1][1] : sentence[0]]):
                break
            answer.append(sentence)
        bare = question[mark.end() :] if mark else question
        head = ParagraphHead(answer[0][0], answer[-1][1], bare, is_explained=True, is_marked=mark is not None)
        found |= {start: head for start, _ in answer}
    return found


def _has_empty_line(gap: str) -> bool:
    return any(not line.strip() for line in gap.split("\n")[1:-1])


def _run_in(text: str) -> list[ParagraphHead]:
    """Return what bold words at the beginning head, and terms before a colon or dash if there are several."""
    bold: list[ParagraphHead] = []
    terms: list[ParagraphHead] = []
    for start, lines in _paragraphs(text):
        begins = [n for n in range(len(lines)) if n == 0 or _begins_entry(lines[n - 1], lines[n])]
        offsets = list(accumulate([len(line) + 1 for line in lines], initial=start))
        for n, end in pairwise([*begins, len(lines)]):
            body = lines[n].lstrip()
            item = ITEM.match(body)
            at = item.end() if item else 0
            if found := _BOLD.match(body, at) or _TERM.match(body, at):
                begin = offsets[n] + len(lines[n]) - len(body) + found.end()
                head, is_bold = found["head"], found.re is _BOLD
                is_term = not is_bold or bool(found["mark"]) or head.rstrip().endswith(":")
                heads = bold if is_bold else terms
                heads.append(ParagraphHead(begin, offsets[end] - 1, head.strip(" .:–—-"), is_term))
    return [*bold, *(terms if len(terms) >= _MIN_TERMS else [])]


def _begins_entry(before: str, line: str) -> bool:
    """Return whether a line begins an item of a list, or a term behind the end of a sentence."""
    if ITEM.match(line.lstrip()):
        return True
    return before.rstrip().endswith((".", "!", "?")) and _TERM.match(line) is not None


def _terms(text: str) -> list[ParagraphHead]:
    found = [
        ParagraphHead(
            start + len(lines[0]),
            start + sum(map(len, lines)) + len(lines) - 1,
            lines[0].strip(),
            is_explained=True,
        )
        for start, lines in _paragraphs(text)
        if len(lines) > 1
        and len(lines[0]) <= _MAX_TERM
        and not lines[0][0].isspace()
        and not lines[0].rstrip().endswith(_END)
        and lines[1][0].isspace()
    ]
    return found if len(found) > 1 else []


def _paragraphs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the start and the lines of each paragraph; empty lines part them."""
    offset, start, lines = 0, 0, list[str]()
    for line in [*text.split("\n"), ""]:
        if line.strip():
            if not lines:
                start = offset
            lines.append(line)
        elif lines:
            yield start, lines
            lines = []
        offset += len(line) + 1
