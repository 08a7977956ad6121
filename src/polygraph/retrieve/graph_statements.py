"""What a method found in the graph, as an answer without a model: relations that connect two names, and themes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygraph.graph.reports.sentence_quality import end_sentence, quality, tidy
from polygraph.records import Chunk, Citation, Evidence
from polygraph.retrieve.cited_sentences import chunks_of, cite, supporting_sentence
from polygraph.store.snapshot import Snapshot
from polygraph.text.prose import count_noun, shorten
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems, question_names

_MOST = 2
"""Relations that an answer shows."""
_THEMES = 6
"""Themes of an overview."""
_THEMES_PER_DOCUMENT = 2
_MAX_CHARACTERS = 160
_ASKS_FOR_CONNECTION = re.compile(
    r"\b(?:connect\w*|relat\w+|link\w*|associat\w+|between|to do with|zusammenhang\w*|verbind\w*|verbunden|"
    r"beziehung\w*|relación|relacionad\w+|vincul\w+|lien|liens|rapport|liés?|liées?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStatements:
    """Lines of an answer with their citations, in the order of the evidence."""

    lines: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()


def connections(question: str, evidence: Sequence[Evidence], index: Snapshot) -> GraphStatements:
    """Return the relations that hold all names of a question about a connection; none for another question."""
    names = [set(content_stems(name)) for name in question_names(question)]
    if len(names) < 2 or not _ASKS_FOR_CONNECTION.search(question):
        return GraphStatements()
    numbers = [
        n
        for n, item in enumerate(evidence, 1)
        if item.kind == "relation" and all(name <= set(content_stems(item.text)) for name in names)
    ]
    return _lines(numbers, evidence, index)


def list_themes(
    evidence: Sequence[Evidence], index: Snapshot, *, only_summaries: bool = False
) -> GraphStatements:
    """Return the best points about the whole collection, each with the number of documents that it rests on.

    One point per passage, at most two per document, and of passages that say the same the first.

    Args:
        evidence: of one method, in its order.
        index: the snapshot that it comes from.
        only_summaries: leave out evidence that sums up nothing.
    """
    chunks = chunks_of(evidence, index)
    titles = index.titles([c.document for c in chunks.values()])
    allowed = index.documents_allowed
    n_documents = index.store.count("documents") if allowed is None else len(allowed)
    lines: list[str] = []
    citations: list[Citation] = []
    quoted: set[str] = set()
    quoted_of: list[Chunk] = []
    """For each point the chunk of its best sentence."""
    for n, item in enumerate(evidence, 1):
        if only_summaries and not is_about_the_whole(item):
            continue
        text = _text(item)
        # A passage is shown by the sentence of it that reads best: the whole is no point of an overview.
        found = (
            _best_sentence(item, chunks) if item.kind == "chunk" else supporting_sentence(text, item, chunks)
        )
        if found is None:
            continue
        chunk, start, end = found
        if item.kind == "chunk":
            said = end_sentence(tidy(chunk.text[start:end]))
            if said in quoted:
                continue
            quoted.add(said)
            title = titles.get(chunk.document, chunk.document)
            text = said if said.startswith(title) else f"{title}: {said}"
        if any(c.id == chunk.id for c in quoted_of) or (
            sum(c.document == chunk.document for c in quoted_of) >= _THEMES_PER_DOCUMENT
        ):
            continue
        quoted_of.append(chunk)
        n_about = len({span.document for span in item.spans})
        about = f"({n_about:,} of {count_noun(n_documents, 'document')})"
        if (apart := _cited_apart(text, n, item, chunks)) is not None:
            lines.append(f"- {apart[0]} {about}")
            citations += [cite(n, *place, titles) for place in apart[1]]
        else:
            lines.append(f"- {text} [{n}] {about}")
            citations.append(cite(n, chunk, start, end, titles))
        if len(lines) == _THEMES:
            break
    return GraphStatements(lines=tuple(lines), citations=tuple(citations))


def _cited_apart(
    text: str, n: int, item: Evidence, chunks: Mapping[str, Chunk]
) -> tuple[str, list[tuple[Chunk, int, int]]] | None:
    """Put a mark behind each of several sentences of a point, where each has a sentence of its own to cite.

    Returns:
        The text with its marks, and what each cites as `supporting_sentence`; None if there is one sentence, or if one
        of them has nothing to cite.
    """
    spans = sentence_spans(text)
    if len(spans) < 2:
        return None
    # The names of the title are not said by the first sentence.
    said = [text[a:b] for a, b in spans]
    said[0] = said[0].partition(": ")[2] or said[0]
    found = [supporting_sentence(each, item, chunks) for each in said]
    places = [place for place in found if place is not None]
    if len(places) < len(found) or len({(c.id, start) for c, start, _ in places}) < len(found):
        return None
    return " ".join(f"{text[a:b]} [{n}]" for a, b in spans), places


def _best_sentence(item: Evidence, chunks: Mapping[str, Chunk]) -> tuple[Chunk, int, int] | None:
    """Return the sentence of a passage that reads best on its own, of equals the first, as `supporting_sentence`."""
    spans = [
        (chunk, start, end)
        for chunk in (chunks.get(span.chunk) for span in item.spans)
        if chunk is not None
        for start, end in sentence_spans(chunk.text)
    ]
    return max(spans, key=lambda found: quality(tidy(found[0].text[found[1] : found[2]])), default=None)


def is_about_the_whole(evidence: Evidence) -> bool:
    """Return whether evidence sums up many passages."""
    return evidence.kind in ("report", "summary")


def _lines(numbers: Sequence[int], evidence: Sequence[Evidence], index: Snapshot) -> GraphStatements:
    """Write the first lines that have different texts and a sentence to cite."""
    items = [evidence[n - 1] for n in numbers]
    chunks: Mapping[str, Chunk] = chunks_of(items, index)
    titles = index.titles([c.document for c in chunks.values()])
    lines: dict[str, tuple[str, Citation]] = {}
    for n, item in zip(numbers, items, strict=True):
        text = shorten(_text(item), _MAX_CHARACTERS)
        found = supporting_sentence(text, item, chunks)
        if found is None or text in lines:
            continue
        lines[text] = (f"- Relation: {text} [{n}]", cite(n, *found, titles))
        if len(lines) == _MOST:
            break
    return GraphStatements(
        lines=tuple(line for line, _ in lines.values()),
        citations=tuple(citation for _, citation in lines.values()),
    )


def _text(item: Evidence) -> str:
    """Return evidence on one line; of a report its title and first paragraph."""
    if item.kind == "report":
        title, _, rest = item.text.strip().partition("\n")
        summary = rest.strip().partition("\n")[0]
        return " ".join(f"{title.lstrip('# ')}: {summary}".split())
    return " ".join(item.text.split())
