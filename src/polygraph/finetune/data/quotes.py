"""Word-for-word quotes: sentences of passages with their offsets, and the check that a quote is one."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from polygraph.finetune.data.records import DropError, Quote
from polygraph.prompts import one_line
from polygraph.records import Chunk
from polygraph.store.snapshot import Snapshot
from polygraph.text.prose import count_noun
from polygraph.text.sentences import after_markup, atx_heading, sentence_spans
from polygraph.text.words import content_stems, find_text

MAX_QUOTE = 400
"""Characters; a longer sentence is not quoted."""


@lru_cache(maxsize=4_096)
def sentences_of(chunk_id: str, document: str, start: int, text: str) -> tuple[Quote, ...]:
    """Return the sentences of a chunk, without headings."""
    found = []
    for first, end in sentence_spans(text):
        begin = after_markup(text, first, end)
        shown = " ".join(text[begin:end].split())
        if shown and len(shown) <= MAX_QUOTE and not atx_heading(shown):
            found.append(
                Quote(document=document, chunk=chunk_id, start=start + begin, end=start + end, text=shown)
            )
    return tuple(found)


def sentences(chunk: Chunk) -> tuple[Quote, ...]:
    """Return the sentences of a chunk that may be quoted, in order."""
    return sentences_of(chunk.id, chunk.document, chunk.start, chunk.text)


def locate(text: str, chunks: Iterable[Chunk]) -> Quote | None:
    """Find a text in chunks, whatever the white space between its words; the first occurrence counts."""
    for chunk in chunks:
        found = find_text(text, chunk.text)
        if found is not None:
            return Quote(
                document=chunk.document,
                chunk=chunk.id,
                start=chunk.start + found[0],
                end=chunk.start + found[1],
                text=one_line(text),
            )
    return None


def best_sentence(chunk: Chunk, wanted: frozenset[str]) -> tuple[float, Quote] | None:
    """Return the sentence of a chunk with the largest share of some content words; of several the first.

    Returns:
        The share and the sentence; None if the chunk has no sentence that may be quoted.
    """
    found = sentences(chunk)
    if not found:
        return None
    return max(
        ((shared(wanted, quote.text), quote) for quote in found), key=lambda each: (each[0], -each[1].start)
    )


def shared(wanted: frozenset[str], text: str) -> float:
    """Return the share of some content words that a text contains; 0 if there are none."""
    return len(wanted.intersection(content_stems(text))) / len(wanted) if wanted else 0.0


def document_text(index: Snapshot, document: str) -> str:
    """Return the text of a document; empty if it is not in the index."""
    found = index.store.documents.get(document)
    return found.text if found is not None else ""


def is_verbatim(quote: Quote, document: str, shown: str) -> bool:
    """Return whether a quote is word for word what its document and the prompt contain.

    The characters at its offsets are compared with its text, each run of white space as one space; the prompt must
    contain the same characters.

    Args:
        quote: to check.
        document: text of the document that it is from.
        shown: the prompt with the passage.
    """
    source = document[quote.start : quote.end] if 0 <= quote.start < quote.end else ""
    return bool(quote.text) and one_line(source) == quote.text and quote.text in one_line(shown)


def oracles_of(quotes: Sequence[Quote], chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    """Return the chunks that quotes are from, in the order of the quotes, each once."""
    by_id = {chunk.id: chunk for chunk in chunks}
    return tuple(by_id[i] for i in dict.fromkeys(quote.chunk for quote in quotes))


def require_at_most(max_oracles: int, oracles: Sequence[Chunk]) -> None:
    """Raise `DropError` if an answer rests on more passages than a row may show of it."""
    if len(oracles) > max_oracles:
        raise DropError(f"it rests on more than {count_noun(max_oracles, 'passage')}")
