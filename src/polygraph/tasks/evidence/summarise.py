"""Summarise notes about one part of a question: the query-level fine-grained summary of FG-RAG.

Hong et al. (2025), FG-RAG, section 3.3, equation 11. Unlike in the paper, the summary cites the notes, so that it can
be traced to passages. The summary is empty if the model finds no helpful note; an empty reply raises `UnusableReply`
after the repair round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import as_data, numbered, one_line, prompt
from polygraph.records import Span
from polygraph.tasks.offline.sentence_pool import SentencePool
from polygraph.tasks.offline.sentences import Passage
from polygraph.tasks.parsing.citations import find_sources
from polygraph.tasks.parsing.short_replies import printable, without_thinking
from polygraph.text.words import content_stems

NOTHING = "NOTHING"
"""The reply if no note helps."""
_MAX_REPLY_TOKENS = 1_000
_MAX_SENTENCES = 4
_MAX_PASSAGES = 12
"""Most passages of an extractive summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary about one part of a question."""

    text: str
    """Without citations; empty if no note helps."""
    notes: tuple[int, ...] = ()
    """Numbers of its notes, from 1: those cited, else those that share most words with it."""
    spans: tuple[Span, ...] = ()
    """The sentences that it consists of, if no model wrote it."""


def summarise_notes(
    question: str,
    subject: str,
    asked: Sequence[str],
    notes: Sequence[str],
    models: Models,
    chat: ChatModel,
    *,
    method: str,
) -> Summary:
    """Summarise notes about a subject with respect to a question; one call.

    Args:
        question: the whole question.
        subject: the part of it that the summary is about.
        asked: aspects to cover.
        notes: texts about the subject, in the order of their numbers.
        models: in use.
        chat: the model to ask.
        method: for the ledger.
    """
    listing = numbered(notes, "notes", separator="\n")
    system, user = prompt("summarise").fill(
        {
            "subject": subject,
            "notes": as_data(listing, "notes"),
            "aspects": "\n".join(f"- {one_line(aspect)}" for aspect in asked)
            or "- whatever helps with the question",
            "question": question,
        }
    )
    request = ChatRequest(messages=opening(system, user), max_output_tokens=_MAX_REPLY_TOKENS)
    return models.calls.ask(
        chat, request, lambda text: parse_summary(text, notes), stage="summarise", method=method
    )


def parse_summary(text: str, notes: Sequence[str]) -> Summary:
    """Parse a reply to `summarise_notes`.

    Raises:
        UnusableReply: if it is empty.

    >>> parse_summary("The lamp was dark [2].", ["Oil is dear.", "The lamp was dark."])
    Summary(text='The lamp was dark.', notes=(2,), spans=())
    >>> parse_summary("NOTHING", ["Oil is dear."]).text
    ''
    """
    summary = printable(without_thinking(text)).strip()
    if not summary:
        raise UnusableReply("the reply was empty", text)
    if summary.strip("*_`\"'. ").upper() == NOTHING:
        return Summary(text="")
    plain, sources = find_sources(summary, notes)
    return Summary(text=plain, notes=sources)


def extractive_summaries(
    question: str,
    subjects: Sequence[str],
    notes: Sequence[Sequence[tuple[str, str]]],
    passages: Callable[[Sequence[str]], Sequence[Passage]],
    models: Models,
) -> list[Summary]:
    """Summarise several subjects with sentences of the documents; no call. No sentence occurs in two summaries.

    Args:
        question: the whole question.
        subjects: the parts of it that the summaries are about; sentences that mention them are preferred.
        notes: for each subject, pairs of a note and the id of its chunk.
        passages: returns the passages of chunks by id, in the given order.
        models: embed the sentences.
    """
    # Read the chunks whose notes share most words with subject and question.
    near: list[list[str]] = []
    for subject, some in zip(subjects, notes, strict=True):
        wanted = set(content_stems(f"{subject} {question}"))
        shared: dict[str, int] = {}
        for note, chunk in some:
            shared[chunk] = max(shared.get(chunk, 0), len(wanted & set(content_stems(note))))
        near.append(
            sorted(shared, key=lambda chunk: -shared[chunk])[:_MAX_PASSAGES]
        )  # ties in the order of the notes
    pool = SentencePool(passages(list(dict.fromkeys(c for some in near for c in some))), models)
    used: set[Span] = set()
    summaries = []
    for subject, chunks in zip(subjects, near, strict=True):
        # The subject is repeated, so that it counts as much as the rest of the question.
        query = question if subject == question else f"{subject}. {subject}. {question}"
        found = pool.nearest(query, most=_MAX_SENTENCES, chunks=set(chunks), exclude=used)
        used |= {s.span for s in found}
        summaries.append(Summary(text=" ".join(s.text for s in found), spans=tuple(s.span for s in found)))
    return summaries
