"""Sentence boundaries with exact character offsets."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from polygraph.text.abbreviations import ends_abbreviated

# Date and time before a line of a log or a message of a chat: `[2024-05-02 09:14] `, `2/5/24, 9:14 - `, `[09:14] `.
_STAMP = re.compile(
    r"[ \t]*(?:\[?\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:,[ \t]?|[ \t]|T)\d{1,2}:\d\d|\[\d{1,2}:\d\d(?::\d\d)?\])"
)
# Lines that start a new block: list items, headings, quoted lines, table rows, messages.
_MARK = re.compile(rf"[ \t]*(?:[-*+•‣◦][ \t]|#{{1,6}}[ \t]|>|\|)|{_STAMP.pattern}")
LINE_MARK = re.compile(r"(?:[-*+•‣◦]|#{1,6}|>)\s+")
"""Before the text of a list item, a heading or a quoted line."""
# `3. `, `Alice: ` or `alice: `: starts a new block only if the previous line is finished, since prose can wrap there.
_LABEL = re.compile(
    r"[ \t]*(?:\(?\d{1,3}[.)][ \t]|[^\W_a-z][^\n:：]{0,40}[:：](?:[ \t]|$)|[a-z][\w.'’-]{0,30}:[ \t])"
)
# The library treats everything from `• ` or `(1) ` to the end of the line as one sentence, even inside
# a paragraph, and `1.` alone as a sentence.
_BULLET = re.compile("[•⁃⁌⁍■□▪▫▶▸►◆◇○●◦★☆➢➣➤]")
# It begins with a literal, which is looked for many times faster.
_BRACKETED = re.compile(r"\((?<!\w\()\w{1,3}\)(?=\s)")
# Emphasis that ends behind the end mark of a sentence, where the library ends it: "**Closed.** The key is lost."
_CLOSING = re.compile(r"(?:\*{1,3}|_{1,3})(?=\s|$)")
_LONE_MARK = re.compile(r"\s*(?:\(?(?:\d{1,3}|[ivxIVX]{1,4}|[A-Za-z])[.)]|[^\w\s]+)\s*")
# The beginning of a row of a table, as loaders write it: `column: value; column: value.`
_ROW = re.compile(r"[^\s:;][^:;\n]{0,80}: [^\n]{0,400}?; [^\s:;][^:;\n]{0,80}: ")
FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
"""A line that begins or ends code in Markdown."""
# What the library takes for the end of an English sentence: titles before a name, abbreviations before a number.
_TITLE = re.compile(r"\b(?:Ms|Mx|Attn)\.\s+$")
_BEFORE_NUMBER = re.compile(
    r"(?:\b(?:approx|Apt|Ch|dept|Eqs?|est|Ex|excl|ext|figs?|incl|max|nos?|paras?|pp?|Rm|Secs|Suppl|Tel|temp|Vols?)"
    # Not "after 5 min." or "the left tab."
    r"|(?<!\d )(?<!\d)\bmin|(?:\b(?:see|in|and|or)\s|^|[(,;])\s*tabs?)\.\s+$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[(\[]?[-+−±~<>≤≥]{0,2}\s?[£$€]?\s?\d")
# Before a word in lower case or a bracket that goes on; `nos.` and the like only before numbers.
_BEFORE_WORD = re.compile(r"\b(?:approx|dept|est|excl|ext|incl|max|min|tel|temp)\.\s+$", re.IGNORECASE)
# Before a Roman number or a letter.
_BEFORE_LETTER = re.compile(r"\b(?:dept|ext|figs?|nos?|pp?|Vols?)\.\s+$", re.IGNORECASE)
_LETTER = re.compile(r"[IVXLC]{2,}\b|(?:[B-HJ-Z]|[AI](?=[,;:)]|\s(?:and|is|of|shows)\b))(?![\w'’]|\.\s)")
# Before a noun: "excl. VAT", but not "VAT incl. The rest is free".
_BEFORE_NOUN = re.compile(r"\b(?:excl|incl)\.\s+$", re.IGNORECASE)
_BEGINS_SENTENCE = re.compile(
    r"(?:A|All|An|And|Any|As|At|But|Each|Every|For|He|I|If|In|It|No|On|Our|Please|She|That|The|There|These|They|This"
    r"|Those|To|We|When|You|Your)\b"
)
_BEFORE_NUMBER_WORD = re.compile(r"\b[A-Z][a-z]{1,4}\.\s+$")
_NUMBER_WORD = re.compile(r"nos?\.\s")
# The library takes each `no.` for one before a number.
_PLAIN_NO = re.compile(r"\bno\.\s+(?=[A-Z][a-z]+[\s,;.'’])")
# And a day before the name of a month, as German and Scandinavian languages write it: names that are English too count
# in lower case, or behind a German word.
_DAY = re.compile(r"\b(?:[12]?\d|3[01])\.\s+$")
_MONTH = re.compile(
    r"(?:[Jj]anuar|[Jj]änner|[Ff]ebruar|März|mars|[Mm]ai|maj|[Jj]uni|[Jj]uli|[Oo]ktober|[Dd]ezember|desember|december"
    r"|april|august|september|november)\b"
)
_GERMAN_DAY = re.compile(r"\b(?:am|ab|bis|de[nmrs]|seit|vom|zum)\s+\d+\.\s+$", re.IGNORECASE)
_GERMAN_MONTH = re.compile(r"(?:April|August|September|November)\b")
# In German texts the library ends a sentence behind each ordinal ("das 16. Lebensjahr").
_GERMAN_ORDINAL = re.compile(
    r"\b(?:am|ab|an|bis|das|de[mnrs]|die|eine[mnrs]?|im|jede[mnrs]?|seit|vom|zum|zur)\s+\d{1,3}\.\s+$",
    re.IGNORECASE,
)
_ABBREVIATION = 12
"""Characters before an end that are searched for an abbreviation."""
_FINISHED = tuple(".!?:;…\"'”’)]»。！？；：」』")
# White space of more than one byte: the library (1.0.32) panics if it follows an initial.
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
# The break before a year that ends a wrapped sentence: below an item of a list, the library (1.0.32) takes the year for
# the mark of the next item.
_BREAK_BEFORE_YEAR = re.compile(r"\n(?<=[\w,]\n)(?=\d{4}\.\s)")
# Fallback where the library fails: an end mark, but not after a word of one or two letters (initials, Dr, St, No).
_ROUGH = re.compile(
    r"(?<!\b\w)(?<!\b\w\w)[.!?…]{1,5}[\"'”’)\]]{0,4}\s+(?=[^\W_a-z]|[\"'“‘(\[])|[。！？]+[」』”’）]*\s*"
)

_ASCII = bytes(range(128))
_END_MARK = re.compile(r"[.!?\n]")
"""Where an English sentence in ASCII can end."""
_WRAP_LIMIT = 120
"""Longest line at which most programs wrap; longer lines are whole paragraphs, unless most go on in the next one."""
_GO_ON = 3
"""Text is wrapped at a larger width if more than one of so many long lines breaks before a word in lower case, as most
wrapped lines do, also in languages with many capitals, and hardly any paragraph."""
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*[,.;)]?")
_SHORT_LINE = 0.6
"""A line shorter than this share of its paragraph's width was not wrapped."""
_LONG = 1_000
"""Longer sentences are split again: an unclosed quote or a list mark can absorb the sentences after it."""
_MESSAGE = 300
"""Most characters of a message that is one sentence: what somebody says in it is not understood apart."""
_PIECE = 20_000
"""Characters passed to the library at once: its search for closing quotes is quadratic."""


MARKUP = " \t\n>#*_"
"""White space and the marks of headings, quotes and emphasis."""


def is_question(text: str) -> bool:
    """Return whether a sentence asks something; one in quotation marks is what somebody else asks.

    >>> is_question("**Where can I park?**"), is_question("Park behind the hall.")
    (True, False)
    """
    return text.rstrip("*_ ").endswith(("?", "？", "؟"))


def asks_in_a_line(text: str, start: int, end: int) -> bool:
    r"""Return whether a sentence is a question beside which nothing but markup stands on its lines.

    >>> text = "Where can I park?\nBehind the hall. Is it free? Yes."
    >>> asks_in_a_line(text, 0, 17), asks_in_a_line(text, 35, 46)
    (True, False)
    """
    return is_question(text[start:end].rstrip()) and _line_of(text, start, end) != ""


def is_line_in_bold(text: str, start: int, end: int) -> bool:
    r"""Return whether a sentence is a whole line in bold, which is a heading in all but its mark.

    >>> text = "**We open at ten.**\n**Note** that we close early."
    >>> is_line_in_bold(text, 0, 17), is_line_in_bold(text, 20, 48)
    (True, False)
    """
    if not text.startswith(("**", "__"), start):
        return False
    return _line_of(text, start, end).strip().endswith(("**", "__"), 3)


def _line_of(text: str, start: int, end: int) -> str:
    """Return a sentence with the markup around it on its lines; nothing if anything else stands there."""
    # Not by finding the ends of the line: one line can be a whole document.
    while start and text[start - 1] in MARKUP and text[start - 1] != "\n":
        start -= 1
    while end < len(text) and text[end] in MARKUP and text[end] != "\n":
        end += 1
    is_alone = text[start - 1 : start] in ("", "\n") and text[end : end + 1] in ("", "\n")
    return text[start:end] if is_alone else ""


def is_message(text: str, start: int) -> bool:
    """Return whether a line of a log or a message of a chat begins at a place of a text, with its date and time.

    >>> is_message("[2024-05-02 09:14] ida: Who has the key?", 0), is_message("At 9:14 it rained.", 0)
    (True, False)
    """
    return _STAMP.match(text, start) is not None


def sentence_spans(text: str, *, language: str = "en") -> list[tuple[int, int]]:
    r"""Split a text into sentences.

    No sentence crosses the end of a paragraph, heading, list item, table row or speaker's turn; inside them the library
    `sentencex` decides. A Markdown heading is one sentence, and so are a short message behind its date and time, and
    fenced code of up to 1,000 characters. A single
    line break in a hard-wrapped paragraph is not a boundary; in a text with one paragraph per line it is (see
    `is_hard_wrapped`). Cost is linear in the length of the text.

    Args:
        text: any text.
        language: ISO 639-1 code; unknown ones fall back to the library's general rules.

    Returns:
        Spans ``(start, end)`` in order, without surrounding white space and never empty. Every character that is not
        white space between sentences is in exactly one span.

    >>> text = "Dr. Vane left.  He slept\nuntil noon!\n\nA heading"
    >>> [text[a:b] for a, b in sentence_spans(text)]
    ['Dr. Vane left.', 'He slept\nuntil noon!', 'A heading']
    """
    language = language.replace("_", "-").split("-")[0].lower()
    if language == "en" and _is_one_sentence(text):
        span = trim_span(text, 0, len(text))
        return [span] if span[0] < span[1] else []
    plain = _sanitize(text)
    spans: list[tuple[int, int]] = []
    for block, block_end in blocks(text):
        if whole_end := _whole_block(text, block, block_end):
            spans.append(trim_span(text, block, whole_end))
            continue
        for begin, end in _pieces(text, block, block_end):
            first = begin
            piece = plain[begin:end]
            stops = _ends(piece, language)
            if language == "en" and "no." in piece:
                stops = sorted({*stops, *(found.end() for found in _PLAIN_NO.finditer(piece))})
            for stop in stops:
                is_last = begin + stop == end
                if not is_last and (
                    _LONE_MARK.fullmatch(text, first, begin + stop)
                    or (language == "en" and _ends_english_abbreviation(plain, first, begin + stop))
                    or (language != "en" and ends_abbreviated(plain, first, begin + stop, language))
                    or (language == "de" and _ends_with_ordinal(plain, first, begin + stop))
                ):
                    continue
                closing = _CLOSING.match(text, begin + stop, end)
                last = closing.end() if closing else begin + stop
                span = trim_span(text, first, last)
                first = last
                if span[0] < span[1]:
                    spans.append(span)
    return spans


def is_hard_wrapped(text: str) -> bool:
    r"""Return whether lines are wrapped at a fixed width, as in the books of Project Gutenberg.

    True unless more than half of the text is in lines of over 120 characters; then, too, if these break within
    sentences.

    >>> is_hard_wrapped("It was the best of times,\nit was the worst of times.")
    True
    >>> is_hard_wrapped("A paragraph. " * 20 + "\nAnother one.")
    False
    >>> is_hard_wrapped("A paragraph. " * 20 + "It was the best of times,\nit was the worst of times.")
    True
    """
    lines = text.split("\n")
    long = sum(length for length in map(len, lines) if length > _WRAP_LIMIT)
    return 2 * long <= len(text) - text.count("\n") or _breaks_within_sentences(lines)


def _breaks_within_sentences(lines: Sequence[str]) -> bool:
    """Return whether long lines go on in the next one as often as those of wrapped text."""
    n_breaks = n_within = 0
    for line, following in pairwise(lines):
        if len(line) > _WRAP_LIMIT and following.strip() and not _MARK.match(following):
            n_breaks += 1
            first = following.split(maxsplit=1)[0]
            goes_on = first.islower() and _PLAIN_WORD.fullmatch(first) is not None
            n_within += goes_on and not line.rstrip().endswith(_FINISHED)
    return n_within * _GO_ON > n_breaks


def atx_heading(line: str) -> str:
    """Return the text of a Markdown heading (``## Title ##``), or an empty string for other lines.

    >>> atx_heading("## Learn C# ##"), atx_heading("#hashtag")
    ('Learn C#', '')
    """
    body = line.strip()
    words = body.lstrip("#")
    if not 1 <= len(body) - len(words) <= 6 or not words[:1].isspace():
        return ""
    bare = words.rstrip("#")
    return (bare if bare[-1:].isspace() else words).strip()


def is_table_row(line: str) -> bool:
    """Return whether a line is a row of a table, as loaders write it.

    >>> is_table_row("ship: Halcyon; port: Wick."), is_table_row("Note: one thing.")
    (True, False)
    """
    return line.endswith((".", "!", "?")) and "\n" not in line and _ROW.match(line) is not None


def begins_line(text: str) -> bool:
    """Return whether a text begins with what stands at the start of a line: a mark, as of a list, or a row of a table.

    >>> begins_line("- Oil the lamp."), begins_line("ship: Halcyon; port: Wick."), begins_line("It rained.")
    (True, True, False)
    """
    return _MARK.match(text) is not None or is_table_row(text.partition("\n")[0])


def after_markup(text: str, start: int, end: int) -> int:
    """Return where a sentence begins behind markup that opens bold text and does not close it within the sentence.

    >>> after_markup("**The key is lost.", 0, 18), after_markup("**The key** was lost.", 0, 21)
    (2, 0)
    """
    opening = _BOLD_START.match(text, start, end)
    return opening.end() if opening and text.find(opening[0], opening.end(), end) < 0 else start


_BOLD_START = re.compile(r"(?:\*{2,3}|_{2,3})(?=\w)")


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Exclude the white space at both ends of a span; an empty span ends where it starts.

    >>> trim_span("  ab ", 0, 5)
    (2, 4)
    """
    piece = text[start:end]
    body = piece.lstrip()
    start += len(piece) - len(body)
    return start, start + len(body.rstrip())


def _is_one_sentence(text: str) -> bool:
    """Return whether no sentence of a short text can end before its last character, as in most descriptions."""
    return len(text) <= _LONG and text.isascii() and not _END_MARK.search(text, 0, len(text.rstrip()) - 1)


def _whole_block(text: str, start: int, end: int) -> int:
    """Return the end of a block that is one sentence: a heading, row, short message or fenced code; 0 for others."""
    if end - start > _LONG:
        return 0
    block = text[start:end].rstrip()
    is_whole = (
        is_table_row(block)
        or (len(block) <= _MESSAGE and _STAMP.match(block))
        or (FENCE.match(block) if "\n" in block else "#" in block[:4] and atx_heading(block))
    )
    return start + len(block) if is_whole else 0


def _ends_english_abbreviation(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text ends with an abbreviation or a day that belongs to what follows it."""
    gap = end - len(text[start:end].rstrip()) - start
    before = text[max(start, end - gap - _ABBREVIATION) : end]
    # What follows is looked at first: at one place it takes less time than looking for an abbreviation.
    if _NUMBER.match(text, end) and _BEFORE_NUMBER.search(before):
        return True
    if (
        _MONTH.match(text, end) or (_GERMAN_MONTH.match(text, end) and _GERMAN_DAY.search(before))
    ) and _DAY.search(before):
        return True
    if text[end].islower() or (text[end] in "([" and text[end + 1 : end + 2].islower()):
        return bool(
            _BEFORE_WORD.search(before)
            or (_NUMBER_WORD.match(text, end) and _BEFORE_NUMBER_WORD.search(before))
        )
    if not text[end].isupper():
        return False
    return bool(
        _TITLE.search(before)
        or (_LETTER.match(text, end) and _BEFORE_LETTER.search(before))
        or (_BEFORE_NOUN.search(before) and not _BEGINS_SENTENCE.match(text, end))
    )


def _ends_with_ordinal(text: str, start: int, end: int) -> bool:
    """Return whether a part of a German text ends with an ordinal that belongs to what follows it."""
    return bool(_GERMAN_ORDINAL.search(text[max(start, end - 2 * _ABBREVIATION) : end]))


def _fences(text: str) -> dict[int, int]:
    """Return the end of each fenced block of at most `_LONG` characters by its start."""
    found: dict[int, int] = {}
    if "```" not in text and "~~~" not in text:
        return found
    opening: tuple[int, str] | None = None
    offset = 0
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if mark and opening is None:
            opening = (offset, mark[1])
        elif mark and opening is not None and mark[1] == opening[1]:
            if offset + len(line) - opening[0] <= _LONG:
                found[opening[0]] = offset + len(line)
            opening = None
        offset += len(line) + 1
    return found


def blocks(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the blocks of a text that no sentence crosses: paragraphs, headings, items, rows, unwrapped lines, code.

    >>> text = "Dear Ms Lund,\n\nThe winch that you sent us in the spring\nholds well.\n\nPeter Lang\nLang & Sons"
    >>> [text[a:b] for a, b in blocks(text)][2:]
    ['Peter Lang', 'Lang & Sons']
    """
    wrapped = is_hard_wrapped(text)
    fences = _fences(text)
    paragraph: list[tuple[int, str]] = []
    offset = 0
    fence_end = 0
    lines = text.split("\n")
    width = _width(lines) if wrapped else 0
    for line in lines:
        if offset in fences:
            if paragraph:
                yield from _split_paragraph(paragraph, width)
                paragraph = []
            fence_end = fences[offset]
            lead = len(line) - len(line.lstrip())
            yield offset + lead, fence_end
        elif offset < fence_end:
            pass
        elif line and not line.isspace():
            if wrapped:
                paragraph.append((offset, line.rstrip()))
            else:
                yield offset, offset + len(line)
        elif paragraph:
            yield from _split_paragraph(paragraph, width)
            paragraph = []
        offset += len(line) + 1
    if paragraph:
        yield from _split_paragraph(paragraph, width)


def _in_columns(line: str) -> bool:
    body = line.lstrip()
    return "   " in body or "\t" in body


def _width(lines: Sequence[str]) -> int:
    """Return the width at which a text is wrapped: a tenth of its lines are at least as long."""
    lengths = sorted((len(line) for line in lines if line.strip()), reverse=True)
    return lengths[len(lengths) // 10] if lengths else 0


def _split_paragraph(lines: list[tuple[int, str]], width_of_text: int) -> Iterator[tuple[int, int]]:
    width = max(len(line) for _, line in lines)
    # An address, a signature or a verse: short lines, none of which goes on in lower case, or in letters without case.
    unwrapped = width < _SHORT_LINE * width_of_text and not any(
        first.isalpha() and not first.isupper() for first in (line.lstrip()[0] for _, line in lines)
    )
    begin, previous = lines[0]
    end = begin + len(previous)
    marked = bool(_MARK.match(previous) or _LABEL.match(previous))
    for offset, line in lines[1:]:
        short = len(previous) < _SHORT_LINE * width
        is_block = bool(_MARK.match(line) or _in_columns(line) or is_table_row(line))
        label = not is_block and bool(_LABEL.match(line))
        if (
            is_block
            or unwrapped
            or (label and (marked or short or previous.endswith(_FINISHED)))
            or atx_heading(previous)
            or _in_columns(previous)
            or is_table_row(previous)
            or (short and not line.lstrip()[0].islower())
        ):
            yield begin, end
            begin = offset
            marked = is_block or label
        previous, end = line, offset + len(line)
    yield begin, end


def _pieces(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a very long block after a line, a sentence or a word."""
    while end - begin > _PIECE:
        late = begin + _PIECE - 2_000
        cuts = (text.rfind(mark, late, begin + _PIECE) for mark in ("\n", ". ", " "))
        cut = next((found + 1 for found in cuts if found >= 0), begin + _PIECE)
        yield begin, cut
        begin = cut
    yield begin, end


def _sanitize(text: str) -> str:
    """Replace characters that the library cannot handle, one for one, so that offsets stay valid."""
    text = _BREAK_BEFORE_YEAR.sub(" ", text)
    if not text.isascii():
        # Most texts have a few such characters, and neither wide space nor bullets among them.
        others = text.encode("utf-8", "ignore").translate(None, _ASCII).decode()
        if _WIDE_SPACE.search(others):
            text = _WIDE_SPACE.sub(" ", text)
        if _BULLET.search(others):
            text = _BULLET.sub("-", text)
    return _BRACKETED.sub(lambda found: re.sub(r"\W", "-", found[0]), text)


def _ends(piece: str, language: str) -> list[int]:
    """Return the ends of the sentences of a piece; the last is the end of the piece."""
    from sentencex import get_sentence_boundaries

    try:
        ends = [found["end_index"] for found in get_sentence_boundaries(language, piece)]
    except BaseException as problem:
        # A Rust panic is not an `Exception`. One odd character must not abort a build of thousands of files.
        if type(problem).__name__ != "PanicException":
            raise
        ends = []
    if not ends or ends[-1] != len(piece):
        ends.append(len(piece))
    if len(piece) <= _LONG:
        return ends
    finer: list[int] = []
    start = 0
    for end in ends:
        if end - start > _LONG:
            finer += [found.end() for found in _ROUGH.finditer(piece, start, end) if found.end() < end]
        finer.append(end)
        start = end
    return finer
