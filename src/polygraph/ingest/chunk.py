"""Chunks that retrieval returns, and windows that an extractor reads.

Sentences are packed greedily into chunks up to a number of tokens. A chunk ends where a sentence ends; if it is well
filled there, at the end of a paragraph, or best before a heading. Only a sentence longer than a chunk is cut: after a
clause, else at white space, else between characters.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polygraph.ids import chunk_id, window_id
from polygraph.records import Chunk, Document, Json, Window
from polygraph.text.headings import MAX_HEADING, UNDERLINE, heading_paths
from polygraph.text.language import prose_language
from polygraph.text.passage import short_fields
from polygraph.text.sentences import (
    MARKUP,
    asks_in_a_line,
    is_hard_wrapped,
    is_line_in_bold,
    sentence_spans,
    trim_span,
)

Count = Callable[[Sequence[str]], list[int]]

_FULL = 0.6
"""A chunk filled to this share may end at a paragraph, though more would fit."""
_FULL_AT_HEADING = 0.4
"""The same before a heading; lower, since a chunk of two chapters belongs to neither. In books it halves the
chunks that mix sections, for 0 to 3 % more chunks; 0.25 gains little and costs 9 % if sections are short."""
_MAX_CHARS_PER_TOKEN = 32
"""Most characters that count as one token: WordPiece counts a megabyte without spaces as one."""
_GAP_CHARS = 2
"""White space after a sentence that is counted with it."""

_CLAUSE = re.compile(r"[;:,，；：、—–][\"'”’)\]]*\s|[，；、]|\n|--")


def chunk(
    document: Document,
    count: Count,
    *,
    max_tokens: int = 300,
    limit: int = 510,
    language: str = "en",
    overlap_tokens: int = 0,
) -> list[Chunk]:
    r"""Cut a document in chunks that cover its text.

    Without overlap, every character that is not white space is in exactly one chunk. With it, a chunk begins with the
    last whole sentences of the one before, as many as fit in `overlap_tokens`. Sentences are packed greedily; a
    chunk that is at least 40 % full ends before a heading; one that is full ends at its last paragraph end,
    if that leaves it at least 60 % full, else at its last sentence end. A heading stays with what follows
    it, and so does a sentence that ends with a colon, or a line that is a question or in bold. A document that
    fits is one chunk.

    Args:
        document: its ``metadata["pages"]``, if present, are the offsets where pages start.
        count: tokens of each text by the embedder's own tokenizer, special tokens not included. Called a
            few times with many texts.
        max_tokens: longest chunk that is wanted, in tokens.
        limit: longest text that the embedder reads, in tokens, special tokens not included. No chunk
            exceeds ``min(max_tokens, limit)``, unless a single character does.
        language: ISO 639-1 code for the sentence rules, if the document's own language is not detected.
        overlap_tokens: most tokens that neighbouring chunks share, and at most half of a chunk.

    Returns:
        Chunks in order, without white space at their ends; none for a text of white space. Their metadata
        have `section`, the nearest heading above their middle, `sections`, those that hold it, `begins_in`, the nearest
        heading above their start behind those that hold it, if it is another one, and `page`, where they start, from 1.

    Raises:
        ValueError: if `max_tokens` or `limit` is below 1, or `overlap_tokens` below 0.

    >>> words = lambda texts: [len(text.split()) for text in texts]
    >>> text = "One two three. Four five six.\n\nSeven eight."
    >>> [c.text for c in chunk(Document(id="d", title="D", text=text), words, max_tokens=4)]
    ['One two three.', 'Four five six.', 'Seven eight.']
    """
    if max_tokens < 1 or limit < 1:
        raise ValueError(f"max_tokens and limit must be at least 1, not {max_tokens} and {limit}")
    if overlap_tokens < 0:
        raise ValueError(f"overlap_tokens must be at least 0, not {overlap_tokens}")
    cap = min(max_tokens, limit)
    text = document.text
    whole = trim_span(text, 0, len(text))
    if whole[0] == whole[1]:
        return []
    paths = heading_paths(text)
    titles = [(start, path[-1]) for start, path in paths]
    spans = _whole(text, whole, count, cap) or _cut(
        text, titles, count, cap, prose_language(text) or language, min(overlap_tokens, cap // 2)
    )
    starts = [start for start, _ in titles]
    pages = _page_starts(document)
    chunks = []
    for ordinal, (start, end, n_tokens) in enumerate(spans):
        metadata: dict[str, Json] = {}
        if pages:
            metadata["page"] = max(1, bisect_right(pages, start))
        if above := bisect_right(starts, (start + end) // 2):
            *outer, metadata["section"] = paths[above - 1][1]
            if outer:
                metadata["sections"] = [*outer]
        begins = bisect_right(starts, start)
        if begins and begins != above and starts[begins - 1] < start:
            metadata["begins_in"] = [*paths[begins - 1][1]]
        chunks.append(
            Chunk(
                id=chunk_id(document.id, ordinal),
                document=document.id,
                ordinal=ordinal,
                start=start,
                end=end,
                text=text[start:end],
                n_tokens=n_tokens,
                metadata=metadata,
            )
        )
    return chunks


def windows(document: Document, chunks: Sequence[Chunk], *, max_tokens: int = 1200) -> list[Window]:
    """Join neighbouring chunks of a document to windows that an extractor reads at once.

    Args:
        document: the document that the chunks are of.
        chunks: all its chunks, in order.
        max_tokens: longest window, as the sum of the tokens of its chunks; what they share counts once. A longer
            chunk is a window of its own.

    Returns:
        Windows in order; each chunk is in exactly one.

    Raises:
        ValueError: if `max_tokens` is below 1.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be at least 1, not {max_tokens}")
    groups: list[list[Chunk]] = []
    filled = 0
    for each in chunks:
        added = _new_tokens(each, groups[-1][-1].end) if groups else 0
        if groups and filled + added <= max_tokens:
            groups[-1].append(each)
            filled += added
        else:
            groups.append([each])
            filled = each.n_tokens
    fields = short_fields(document.metadata)
    return [
        Window(
            id=window_id(document.id, ordinal),
            document=document.id,
            ordinal=ordinal,
            title=document.title,
            fields=fields,
            chunks=tuple(group),
            text=document.text[group[0].start : group[-1].end],
        )
        for ordinal, group in enumerate(groups)
    ]


def _new_tokens(each: Chunk, end_of_last: int) -> int:
    """Return the tokens of a chunk that the one before does not share, as if spread evenly."""
    shared = max(0, end_of_last - each.start)
    return each.n_tokens - each.n_tokens * shared // (each.end - each.start)


@dataclass(frozen=True, slots=True)
class _Atom:
    """A sentence, or a part of one that is longer than a chunk."""

    start: int
    end: int
    weight: int
    """Tokens with the white space after it; at least one per 32 characters."""
    grade: int
    """How well a chunk may begin here: one of the constants below."""


_AFTER_HEADING, _INSIDE_SENTENCE, _SENTENCE, _PARAGRAPH, _HEADING = range(-1, 4)
_Span = tuple[int, int]


def _whole(text: str, span: _Span, count: Count, cap: int) -> list[tuple[int, int, int]]:
    """Return the document as one chunk if it is short enough, after one count; else nothing."""
    if span[1] - span[0] > 8 * cap:
        return []
    [n_tokens] = count([text[span[0] : span[1]]])
    return [(*span, n_tokens)] if n_tokens <= cap else []


def _cut(
    text: str, titles: Sequence[tuple[int, str]], count: Count, cap: int, language: str, overlap: int
) -> list[tuple[int, int, int]]:
    own = cap - overlap
    atoms = _atoms(text, titles, count, own, language)
    groups = [[(atom.start, atom.end) for atom in group] for group in _pack(atoms, own)]
    spans = _verified(text, groups, count, own)
    return _overlapping(text, spans, atoms, count, cap, overlap) if overlap else spans


def _overlapping(
    text: str,
    spans: Sequence[tuple[int, int, int]],
    atoms: Sequence[_Atom],
    count: Count,
    cap: int,
    overlap: int,
) -> list[tuple[int, int, int]]:
    """Let each chunk begin with the last sentences of the one before, fewer where it would exceed `cap`."""
    starts = [atom.start for atom in atoms]
    begins: list[list[int]] = []
    for (before, _, _), (start, _, _) in pairwise(spans):
        shared = 0
        possible: list[int] = []
        for atom in reversed(atoms[bisect_right(starts, before) : bisect_left(starts, start)]):
            shared += atom.weight
            if shared > overlap:
                break
            possible.append(atom.start)
        begins.append(possible)
    sized = list(spans)
    pending = [n for n, possible in enumerate(begins, 1) if possible]
    while pending:
        counts = count([text[begins[n - 1][-1] : spans[n][1]] for n in pending])
        for n, n_tokens in zip(pending, counts, strict=True):
            if n_tokens <= cap:
                sized[n] = (begins[n - 1][-1], spans[n][1], n_tokens)
            else:
                begins[n - 1].pop()
        pending = [n for n in pending if sized[n] == spans[n] and begins[n - 1]]
    return sized


def _atoms(
    text: str, titles: Sequence[tuple[int, str]], count: Count, cap: int, language: str
) -> list[_Atom]:
    widest = _MAX_CHARS_PER_TOKEN * cap
    spans = sentence_spans(text, language=language)
    whole = {start for start, _ in spans}
    if any(end - start > widest for start, end in spans):
        spans = [piece for span in spans for piece in _slices(text, span, widest)]
    spans, counts = _fitting(text, spans, count, cap)
    lines = [(start, text.find("\n", start)) for start, _ in titles]
    heads = {start for start, _ in titles}
    wrapped = is_hard_wrapped(text)
    atoms = []
    line = 0
    after_heading = after_lead_in = False
    for k, ((start, end), n_tokens) in enumerate(zip(spans, counts, strict=True)):
        following = spans[k + 1][0] if k + 1 < len(spans) else end
        breaks = text.count("\n", spans[k - 1][1], start) if k else 0
        if after_heading or after_lead_in:
            grade = _AFTER_HEADING
        elif start in heads:
            grade = _HEADING
        elif start not in whole:
            grade = _INSIDE_SENTENCE
        else:
            grade = _PARAGRAPH if breaks > 1 or (breaks and not wrapped) else _SENTENCE
        weight = max(n_tokens, -(-(following - start) // _MAX_CHARS_PER_TOKEN))  # rounded up
        atoms.append(_Atom(start, end, weight, grade))
        # A list, a command or an answer follows; what leads to it stays before a heading.
        if not text[start:end].strip(MARKUP):
            after_lead_in &= following not in heads  # the end of bold text
        else:
            after_lead_in = text[end - 1] == ":" or (
                following not in heads
                and (asks_in_a_line(text, start, end) or is_line_in_bold(text, start, end))
            )
        while line < len(lines) and 0 <= lines[line][1] < end:
            line += 1
        after_heading = line < len(lines) and lines[line][0] <= start
        # An underline belongs to its heading; text on the same stretch does not.
        if not after_heading and line and lines[line - 1][0] == start:
            after_heading = end - start <= 2 * MAX_HEADING + 1 and bool(
                UNDERLINE.match(text, lines[line - 1][1] + 1, end)
            )
    return atoms


def _fitting(text: str, spans: Sequence[_Span], count: Count, cap: int) -> tuple[list[_Span], list[int]]:
    """Count all spans at once; cut those that are too long and count the pieces, until all fit."""
    sized: list[tuple[_Span, int | None]] = [(span, None) for span in spans]
    while True:
        unknown = [span for span, n_tokens in sized if n_tokens is None]
        if not unknown:
            return [span for span, _ in sized], [n_tokens or 0 for _, n_tokens in sized]
        counts = iter(count([_with_gap(text, span) for span in unknown]))
        following: list[tuple[_Span, int | None]] = []
        for span, known in sized:
            length = span[1] - span[0]
            n_tokens = next(counts) if known is None else known
            if n_tokens <= cap or length == 1:
                following.append((span, n_tokens))
            else:
                # Pieces of nearly the wanted size if tokens are spread evenly; at most half in any case.
                size = max(1, min(length * cap * 19 // (n_tokens * 20), (length + 1) // 2))
                following += [(piece, None) for piece in _slices(text, span, size)]
        sized = following


def _with_gap(text: str, span: _Span) -> str:
    """Return a sentence with the white space after it, so that counts of neighbours nearly add up."""
    end = span[1]
    while end < span[1] + _GAP_CHARS and text[end : end + 1].isspace():
        end += 1
    return text[span[0] : end]


def _slices(text: str, span: _Span, size: int) -> Iterator[_Span]:
    """Cut a span in pieces of at most `size` characters, each at the last good boundary."""
    start, end = span
    while end - start > size:
        middle, last = start + (size + 1) // 2, start + size
        cut = last
        clauses = [found.end() for found in _CLAUSE.finditer(text, middle, last)]
        if clauses:
            cut = clauses[-1]
        elif not text[last].isspace():
            words = text[middle:last].rsplit(None, 1)
            if len(words) == 2:
                cut = last - len(words[1])
        piece = trim_span(text, start, cut)
        if piece[0] < piece[1]:
            yield piece
        start = cut
    piece = trim_span(text, start, end)
    if piece[0] < piece[1]:
        yield piece


def _pack(atoms: Sequence[_Atom], cap: int) -> list[Sequence[_Atom]]:
    """Fill chunks greedily; when the next atom does not fit, go back to the best boundary near the end."""
    total = [0]
    for atom in atoms:
        total.append(total[-1] + atom.weight)
    groups: list[Sequence[_Atom]] = []
    begin = k = 0
    while k < len(atoms):
        filled = total[k] - total[begin]
        ends_section = atoms[k].grade == _HEADING and filled >= _FULL_AT_HEADING * cap
        if k > begin and (ends_section or filled + atoms[k].weight > cap):
            cut = best = k
            while best > begin + 1 and (
                total[best - 1] - total[begin] >= _FULL * cap or atoms[best].grade == _AFTER_HEADING
            ):
                best -= 1
                if atoms[best].grade > atoms[cut].grade:
                    cut = best
            groups.append(atoms[begin:cut])
            begin = cut
        else:
            k += 1
    if begin < len(atoms):
        groups.append(atoms[begin:])
    return groups


def _verified(text: str, groups: Sequence[list[_Span]], count: Count, cap: int) -> list[tuple[int, int, int]]:
    """Count every chunk; counts of parts do not quite add up, so halve the chunks that are too long."""
    sized: list[tuple[list[_Span], int | None]] = [(group, None) for group in groups]
    while True:
        unknown = [group for group, n_tokens in sized if n_tokens is None]
        if not unknown:
            return [(group[0][0], group[-1][1], n_tokens or 0) for group, n_tokens in sized]
        counts = iter(count([text[group[0][0] : group[-1][1]] for group in unknown]))
        following: list[tuple[list[_Span], int | None]] = []
        for group, known in sized:
            n_tokens = next(counts) if known is None else known
            start, end = group[0][0], group[-1][1]
            if n_tokens <= cap or end - start == 1:
                following.append((group, n_tokens))
            elif len(group) > 1:
                middle = sum(1 for span in group if 2 * span[0] < start + end)
                middle = min(max(1, middle), len(group) - 1)
                following += [(group[:middle], None), (group[middle:], None)]
            else:
                pieces = _slices(text, group[0], (end - start + 1) // 2)
                following += [([piece], None) for piece in pieces]
        sized = following


def _page_starts(document: Document) -> list[int]:
    pages = document.metadata.get("pages")
    if not isinstance(pages, list):
        return []
    starts = [page for page in pages if isinstance(page, int) and not isinstance(page, bool)]
    return starts if len(starts) == len(pages) and starts == sorted(starts) else []
