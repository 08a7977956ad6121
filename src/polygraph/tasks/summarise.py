"""A summary of notes around one part of a question: FG-RAG's query-level fine-grained summary.

Hong et al. (2025), FG-RAG, section 3.3, equation 11. Unlike there, the writer cites the notes, so that a summary can
be traced to passages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.records import Span
from polygraph.tasks.citations import likeliest, without_citations
from polygraph.tasks.offline.sentence_pool import SentencePool
from polygraph.tasks.offline.sentences import Passage
from polygraph.tasks.output_parsing import printable, without_thinking
from polygraph.text.words import content

NOTHING = "NOTHING"
"""How a reply says that no note helps."""
_MAX_REPLY_TOKENS = 1_000
_GUESSED = 5
"""Notes that a summary without citations is traced to."""
_SENTENCES = 4
_PASSAGES = 12
"""Passages from which an extractive summary is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What is said about one part of a question."""

    text: str
    """Without citations; empty if no note helps."""
    notes: tuple[int, ...] = ()
    """Numbers of the notes that it rests on, from 1: as cited, else those that share most words with it."""
    spans: tuple[Span, ...] = ()
    """Sentences that it consists of, where no model wrote it."""


def summarise(
    question: str,
    subject: str,
    asked: Sequence[str],
    notes: Sequence[str],
    models: Models,
    chat: ChatModel,
    *,
    method: str,
) -> Summary:
    """Let the model bring notes about a subject together, with a question in view; one call.

    Args:
        question: the whole question.
        subject: the part of it that the summary is about.
        asked: aspects to cover.
        notes: what was collected about the subject, in the order of the numbers.
        models: in use.
        chat: the model to ask.
        method: for the ledger.
    """
    listing = "\n".join(f"[{n}] {note}" for n, note in enumerate(notes, 1))
    system, user = prompt("summarise").fill(
        {
            "subject": subject,
            "notes": as_data(listing, "notes"),
            "aspects": "\n".join(f"- {aspect}" for aspect in asked) or "- whatever helps with the question",
            "question": question,
        }
    )
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_output_tokens=_MAX_REPLY_TOKENS
    )
    return models.calls.ask(
        chat, request, lambda text: read_summary(text, notes), stage="summarise", method=method
    )


def read_summary(text: str, notes: Sequence[str]) -> Summary:
    """Read a reply to `summarise`.

    Raises:
        UnusableReply: if it is empty.

    >>> read_summary("The lamp was dark [2].", ["Oil is dear.", "The lamp was dark."])
    Summary(text='The lamp was dark.', notes=(2,), spans=())
    >>> read_summary("NOTHING", ["Oil is dear."]).text
    ''
    """
    said = printable(without_thinking(text)).strip()
    if not said:
        raise UnusableReply("the reply was empty", text)
    if said.strip("*_`\"'. ").upper() == NOTHING:
        return Summary(text="")
    plain, cited = without_citations(said, len(notes))
    return Summary(text=plain, notes=cited or likeliest(plain, notes, most=_GUESSED) or (1,))


def select_summaries(
    question: str,
    subjects: Sequence[str],
    notes: Sequence[Sequence[tuple[str, str]]],
    passages: Callable[[Sequence[str]], Sequence[Passage]],
    models: Models,
) -> list[Summary]:
    """Make summaries of sentences of the documents, none of which stands in two of them; no call.

    Args:
        question: the whole question.
        subjects: the parts of it that the summaries are about; sentences that speak of them are preferred.
        notes: for each subject what was collected about it, with the chunks that it rests on.
        passages: reads chunks by id, in the order asked for.
        models: embed the sentences.
    """
    # The notes tell which chunks are worth reading.
    near: list[list[str]] = []
    for subject, some in zip(subjects, notes, strict=True):
        wanted = set(content(f"{subject} {question}"))
        shared: dict[str, int] = {}
        for note, chunk in some:
            shared[chunk] = max(shared.get(chunk, 0), len(wanted & set(content(note))))
        near.append(
            sorted(shared, key=lambda chunk: -shared[chunk])[:_PASSAGES]
        )  # ties in the order of the notes
    pool = SentencePool(passages(list(dict.fromkeys(c for some in near for c in some))), models)
    said: set[Span] = set()
    summaries = []
    for subject, chunks in zip(subjects, near, strict=True):
        # Said twice, the subject weighs as much as all else in the question.
        query = question if subject == question else f"{subject}. {subject}. {question}"
        found = pool.nearest(query, most=_SENTENCES, chunks=set(chunks), exclude=said)
        said |= {s.span for s in found}
        summaries.append(Summary(text=" ".join(s.text for s in found), spans=tuple(s.span for s in found)))
    return summaries
