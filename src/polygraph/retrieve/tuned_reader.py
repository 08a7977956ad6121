"""Answers of a tuned reader: its quotes are looked up in the evidence and become the citations."""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.models import Models
from polygraph.models.protocols import ChatModel
from polygraph.records import Chunk, Citation, Evidence, ReaderForm, Retrieval
from polygraph.retrieve.cited_sentences import chunks_of, cite, supporting_sentence
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.answer import NO_ANSWER
from polygraph.tasks.answers.raft import RaftReply, read_with_tuned, without_marks
from polygraph.tasks.parsing.citations import strip_citations
from polygraph.text.prose import shorten
from polygraph.text.words import find_text

OUT_OF_FORM = "the reply does not have the form that the reader was tuned for"
"""Note of an answer."""
NOT_VERBATIM = "a quote is not in the evidence word for word"
"""Beginning of a note of an answer, one per quote."""
_SHOWN = 80
"""Characters of a quote in a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedAnswer:
    """What a tuned reader replied."""

    text: str
    """The answer, with the numbers of the evidence that it quotes."""
    refused_because: str = ""
    """Empty if it answers."""
    citations: tuple[Citation, ...] = ()
    """One for each quote that is in the evidence word for word, in the order of the reply."""
    notes: tuple[str, ...] = ()


def answer_with_tuned_reader(
    question: str,
    retrieval: Retrieval,
    index: Snapshot,
    models: Models,
    chat: ChatModel,
    form: ReaderForm,
) -> TunedAnswer:
    """Answer in the form that a reader was tuned for; one call.

    A quote is compared with the evidence with runs of white space as one space. The number that the reader gives it
    decides only between pieces that all hold it.

    Raises:
        UnusableReply: if the reply stays empty after the repair round.
    """
    reply = read_with_tuned(question, retrieval.context, form, models, chat, method=retrieval.method)
    notes = [] if form == "graft" or (reply.reasoning and reply.quotes) or reply.refused else [OUT_OF_FORM]
    if reply.refused:
        because = reply.answer.partition(NO_ANSWER)[2].strip().rstrip(".")
        return TunedAnswer(text="", refused_because=because or "the evidence does not suffice")
    citations, missing = _cite_quotes(reply, retrieval.evidence, index)
    notes += [f"{NOT_VERBATIM}: “{shorten(quote, _SHOWN)}”" for quote in missing]
    # Only quotes cite: a number that the reader writes beside the answer is not checked.
    text, _ = strip_citations(without_marks(reply.answer or reply.reasoning), len(retrieval.evidence))
    numbers = dict.fromkeys(c.n for c in citations)
    cited = "".join(f"[{n}]" for n in numbers)
    return TunedAnswer(text=f"{text} {cited}".strip(), citations=tuple(citations), notes=tuple(notes))


def _cite_quotes(
    reply: RaftReply, evidence: Sequence[Evidence], index: Snapshot
) -> tuple[list[Citation], list[str]]:
    """Return a citation for each quote that is in the evidence, and the quotes that are not."""
    chunks = chunks_of(evidence, index)
    titles = index.titles([c.document for c in chunks.values()])
    citations: list[Citation] = []
    missing: list[str] = []
    for quote, number in zip(reply.quotes, reply.numbers, strict=True):
        order = sorted(range(1, len(evidence) + 1), key=lambda n: n != number)
        for n in order:
            found = _find(quote, evidence[n - 1], chunks)
            if found is not None:
                citations.append(cite(n, *found, titles))
                break
        else:
            missing.append(quote)
    return list(dict.fromkeys(citations)), list(dict.fromkeys(missing))


def _find(quote: str, item: Evidence, chunks: dict[str, Chunk]) -> tuple[Chunk, int, int] | None:
    """Return the chunk with the start and end of a quote in it; of a report or a fact, the sentence behind it."""
    for span in item.spans:
        chunk = chunks.get(span.chunk)
        place = find_text(quote, chunk.text) if chunk is not None else None
        if chunk is not None and place is not None:
            return (chunk, *place)
    if find_text(quote, item.text) is None:
        return None
    return supporting_sentence(quote, item, chunks, min_support=0.0)
