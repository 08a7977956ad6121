"""Answers from the tables of the documents that were retrieved, with the rows that they rest on as evidence."""

from bisect import bisect_right

from polygraph.records import Chunk, Retrieval
from polygraph.retrieve.added_chunks import RuleAnswer, with_chunks
from polygraph.retrieve.cited_sentences import cite
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.table_answer import NamedTable, answer_from_tables

_DOCUMENTS = 20
"""Documents whose tables are asked: those of the evidence, then those of the ranking."""
_RANKED_CHUNKS = 50
_CITED_ROWS = 10
"""Rows that are cited; an answer may rest on more."""


def answer_from_index(question: str, retrieval: Retrieval, index: Snapshot) -> RuleAnswer | None:
    """Answer a question from a table of one of the documents that were retrieved; None if no table answers it.

    Rows are cited in their order. Chunks of cited rows that are not evidence are added to it.
    """
    documents = _documents(retrieval, index)
    found = index.tables_of(documents)
    if not found:
        return None
    titles = index.titles(list(found))
    outer = _outer_headings(retrieval, index)
    tables = [
        NamedTable(
            document=document,
            title=titles.get(document, document),
            table=table,
            headings=outer.get((document, table.title), ""),
        )
        for document in documents
        for table in found.get(document, ())
    ]
    answer = answer_from_tables(question, tables)
    if answer is None:
        return None
    chunks = index.chunks_of(answer.document)
    starts = [chunk.start for chunk in chunks]
    cited: list[tuple[Chunk, int, int]] = []
    for start, end in answer.spans[:_CITED_ROWS]:
        chunk = chunks[max(0, bisect_right(starts, start) - 1)]
        cited.append((chunk, start - chunk.start, min(end, chunk.end) - chunk.start))
    retrieval, numbers = with_chunks(
        retrieval, [chunk for chunk, _, _ in cited], "rows of the table that answers", index
    )
    cited = [each for each in cited if each[0].id in numbers]
    if not cited:
        return None
    citations = tuple(cite(numbers[chunk.id], chunk, start, end, titles) for chunk, start, end in cited)
    marks = "".join(f"[{n}]" for n in dict.fromkeys(citation.n for citation in citations))
    return RuleAnswer(text=f"{answer.text} {marks}", citations=citations, retrieval=retrieval)


def _outer_headings(retrieval: Retrieval, index: Snapshot) -> dict[tuple[str, str], str]:
    """Return the headings above those that the chunks of the evidence stand under, by document and heading."""
    evidence = dict.fromkeys(span.chunk for item in retrieval.evidence for span in item.spans)
    found: dict[tuple[str, str], str] = {}
    for chunk in index.chunks_by_id(list(evidence)):
        section, outer = chunk.metadata.get("section"), chunk.metadata.get("sections")
        if isinstance(section, str) and isinstance(outer, list):
            found.setdefault((chunk.document, section), " ".join(map(str, outer)))
    return found


def _documents(retrieval: Retrieval, index: Snapshot) -> list[str]:
    """Return the documents of the evidence, then those of the ranking."""
    documents = dict.fromkeys(span.document for item in retrieval.evidence for span in item.spans)
    if len(documents) < _DOCUMENTS:
        ranked = index.chunks_by_id(retrieval.ranking[:_RANKED_CHUNKS])
        documents |= dict.fromkeys(chunk.document for chunk in ranked)
    return list(documents)[:_DOCUMENTS]
