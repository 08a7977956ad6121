"""Sentence boundaries with exact offsets."""

import re
from collections.abc import Iterator

# Lines that begin something of their own: list items, headings, quoted lines, table rows.
_MARK = re.compile(r"[ \t]*(?:[-*+•‣◦][ \t]|#{1,6}[ \t]|>|\|)")
# `3. ` or `Alice: `: begins something only if the line before is finished, since prose wraps there too.
_LABEL = re.compile(r"[ \t]*(?:\(?\d{1,3}[.)][ \t]|[^\W_a-z][^\n:：]{0,40}[:：](?:[ \t]|$))")
# The library takes everything from `• ` or `(1) ` to the end of the line for one sentence, also in the middle
# of a paragraph, and `1.` alone for a sentence.
_BULLET = re.compile("[•⁃⁌⁍■□▪▫▶▸►◆◇○●◦★☆➢➣➤]|(?<!\\w)\\(\\w{1,3}\\)(?=\\s)")
_LONE_MARK = re.compile(r"(?:\(?(?:\d{1,3}|[ivxIVX]{1,4}|[A-Za-z])[.)]|[^\w\s]+)\s*")
_FINISHED = tuple(".!?:;…\"'”’)]»。！？；：」』")
# White space of more than one byte: the library (1.0.32) panics when it stands after an initial.
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
# Where the library fails: an end mark, but not after a word of one or two letters (initials, Dr, St, No).
_ROUGH = re.compile(
    r"(?<!\b\w)(?<!\b\w\w)[.!?…]{1,5}[\"'”’)\]]{0,4}\s+(?=[^\W_a-z]|[\"'“‘(\[])|[。！？]+[」』”’）]*\s*"
)

_WRAP_LIMIT = 120
"""Nobody wraps lines by hand beyond this width: longer lines are whole paragraphs."""
_SHORT_LINE = 0.6
"""A line below this share of its paragraph's width was not ended by wrapping."""
_LONG = 1_000
"""Sentences beyond this are looked at again: an unclosed quote or a list mark swallows what follows it."""
_PIECE = 20_000
"""Characters given to the library at once: its search for closing quotes is quadratic."""


def sentences(text: str, *, language: str = "en") -> list[tuple[int, int]]:
    r"""Split a text in sentences.

    Paragraphs, headings, list items, table rows and speakers' turns are boundaries of their own; within
    them the rules of the library `sentencex` decide. A single line break inside a hard-wrapped paragraph
    is no boundary; in a text with one paragraph to a line it is (see `hard_wrapped`). Cost grows with the
    length of the text, whatever it contains.

    Args:
        text: any text.
        language: ISO 639-1 code; unknown ones fall back to the library's general rules.

    Returns:
        Spans ``(start, end)`` in order, without the white space around them; empty ones are left out.
        Every other character of the text is in exactly one span.

    >>> text = "Dr. Vane left.  He slept\nuntil noon!\n\nA heading"
    >>> [text[a:b] for a, b in sentences(text)]
    ['Dr. Vane left.', 'He slept\nuntil noon!', 'A heading']
    """
    language = language.replace("_", "-").split("-")[0].lower()
    plain = _harmless(text)
    spans: list[tuple[int, int]] = []
    for block, block_end in _blocks(text):
        for begin, end in _pieces(text, block, block_end):
            first = begin
            for stop in _ends(plain[begin:end], language):
                if _LONE_MARK.fullmatch(text, first, begin + stop) and begin + stop < end:
                    continue
                span = trim(text, first, begin + stop)
                first = begin + stop
                if span[0] < span[1]:
                    spans.append(span)
    return spans


def hard_wrapped(text: str) -> bool:
    r"""Tell whether line breaks are only the edge of the page, as in the books of Project Gutenberg.

    Taken to be so unless more than half of the text stands in lines of over 120 characters.

    >>> hard_wrapped("It was the best of times,\nit was the worst of times.")
    True
    >>> hard_wrapped("A paragraph. " * 20 + "\nAnother one.")
    False
    """
    long = sum(length for length in map(len, text.split("\n")) if length > _WRAP_LIMIT)
    return 2 * long <= len(text) - text.count("\n")


def atx_heading(line: str) -> str:
    """Return the wording of a Markdown heading (``## Title ##``), or nothing if the line is none.

    >>> atx_heading("## Learn C# ##"), atx_heading("#hashtag")
    ('Learn C#', '')
    """
    body = line.strip()
    words = body.lstrip("#")
    if not 1 <= len(body) - len(words) <= 6 or not words[:1].isspace():
        return ""
    bare = words.rstrip("#")
    return (bare if bare[-1:].isspace() else words).strip()


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Narrow a span to exclude the white space at its ends; an empty one ends where it starts.

    >>> trim("  ab ", 0, 5)
    (2, 4)
    """
    piece = text[start:end]
    body = piece.lstrip()
    start += len(piece) - len(body)
    return start, start + len(body.rstrip())


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches that no sentence crosses."""
    wrapped = hard_wrapped(text)
    paragraph: list[tuple[int, str]] = []
    offset = 0
    for line in text.split("\n"):
        if line and not line.isspace():
            if wrapped:
                paragraph.append((offset, line.rstrip()))
            else:
                yield offset, offset + len(line)
        elif paragraph:
            yield from _split_paragraph(paragraph)
            paragraph = []
        offset += len(line) + 1
    if paragraph:
        yield from _split_paragraph(paragraph)


def _in_columns(line: str) -> bool:
    body = line.lstrip()
    return "   " in body or "\t" in body


def _split_paragraph(lines: list[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    width = max(len(line) for _, line in lines)
    begin, previous = lines[0]
    end = begin + len(previous)
    marked = bool(_MARK.match(previous) or _LABEL.match(previous))
    for offset, line in lines[1:]:
        short = len(previous) < _SHORT_LINE * width
        own = bool(_MARK.match(line) or _in_columns(line))
        label = not own and bool(_LABEL.match(line))
        if (
            own
            or (label and (marked or short or previous.endswith(_FINISHED)))
            or atx_heading(previous)
            or _in_columns(previous)
            or (short and not line.lstrip()[0].islower())
        ):
            yield begin, end
            begin = offset
            marked = own or label
        previous, end = line, offset + len(line)
    yield begin, end


def _pieces(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a very long block where a sentence, else a word, probably ends."""
    while end - begin > _PIECE:
        late = begin + _PIECE - 2_000
        cuts = (text.rfind(mark, late, begin + _PIECE) for mark in ("\n", ". ", " "))
        cut = next((found + 1 for found in cuts if found >= 0), begin + _PIECE)
        yield begin, cut
        begin = cut
    yield begin, end


def _harmless(text: str) -> str:
    """Replace what the library stumbles over, one character for one, so that offsets stay."""
    if _WIDE_SPACE.search(text):
        text = _WIDE_SPACE.sub(" ", text)
    if _BULLET.search(text):
        text = _BULLET.sub(lambda found: re.sub(r"\W", "-", found[0]), text)
    return text


def _ends(piece: str, language: str) -> list[int]:
    """Return where the sentences of a piece end, the last one at its end."""
    from sentencex import get_sentence_boundaries

    try:
        ends = [found["end_index"] for found in get_sentence_boundaries(language, piece)]
    except BaseException as problem:
        # A panic in Rust is no `Exception`. One odd character must not end a build of thousands of files.
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
