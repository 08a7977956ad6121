"""Answers on the way to an answer: the three tasks of DRIFT search, by a model or by sentences of the documents.

Microsoft GraphRAG, DRIFT search: a hypothetical answer to search with, a first answer from reports with questions to
follow, and answers to those.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.records import Report, Span
from polygraph.tasks.citations import likeliest, without_citations
from polygraph.tasks.map_reports import support
from polygraph.tasks.offline.map_reports import rank_statements
from polygraph.tasks.offline.question_scope import is_global_question
from polygraph.tasks.offline.sentence_pool import SentencePool
from polygraph.tasks.output_parsing import number, printable, salvage_json, without_thinking
from polygraph.text.tokens import truncate

_MAX_REPLY_TOKENS = 1_200
_HYDE_TOKENS = 500
_SAMPLE_TOKENS = 1_500
"""Of the report whose form is imitated."""
_QUESTION_CHARACTERS = 300
_MOST_FOLLOW_UPS = 10
"""Read from one reply."""
_LEAST_FOLLOW_UPS = 5
"""Asked for (code: at least 5)."""
_GUESSED = 5
"""Pieces of evidence that an answer without citations is traced to."""
_SENTENCES = 3
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["answer", "score", "follow_ups"],
    "properties": {
        "answer": {"type": "string"},
        "score": {"type": "integer"},
        "follow_ups": {"type": "array", "items": {"type": "string"}},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Intermediate:
    """What one step of the search says, and what it asks next."""

    text: str
    """Without citations; empty if nothing is said."""
    score: float
    """How much it helps, in [0, 100]."""
    follow_ups: tuple[str, ...] = ()
    cited: tuple[int, ...] = ()
    """Numbers of what it rests on, from 1: as cited, else what shares most words with it."""
    chunks: tuple[str, ...] = ()
    """Of `prime`: chunks that it rests on, those of the findings that say it."""
    spans: tuple[Span, ...] = ()
    """Sentences that it consists of, where no model wrote it."""


def imagine_answer(question: str, report: Report, models: Models, chat: ChatModel, *, method: str) -> str:
    """Write a made-up answer in the form of a report, to search with (HyDE); one call."""
    sample = truncate(report.text, _SAMPLE_TOKENS)
    system, user = prompt("hyde").fill({"report": as_data(sample, "report"), "question": question})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_output_tokens=_HYDE_TOKENS
    )

    def read(text: str) -> str:
        if not (said := printable(without_thinking(text)).strip()):
            raise UnusableReply("the reply was empty", text)
        return said

    return models.calls.ask(chat, request, read, stage="hyde", method=method)


def prime(question: str, reports: Sequence[Report], models: Models, *, method: str) -> Intermediate:
    """Answer from a few reports as far as they go, and ask what to follow; one call with a model.

    Without a model: the statements of the reports that share most of the question's words, and as follow-ups the
    question once more with the title of each report; none for a question about the whole collection.
    """
    if models.chat is None:
        # Every fold of reports is read, so the cross-encoder would take long.
        # A question about the whole gets the weightiest subject of each fold, and no particulars.
        broad = is_global_question(question)
        found = rank_statements(
            question, reports, replace(models, reranker=None), most=1 if broad else _SENTENCES
        )
        return Intermediate(
            text=" ".join(s.text for s in found),
            score=max((s.score for s in found), default=0.0),
            follow_ups=() if broad else tuple(_about(question, r.title) for r in reports if r.title),
            chunks=tuple(dict.fromkeys(c for s in found for c in s.chunks)),
        )
    listing = "\n\n".join(f"[{n}] {r.text}" for n, r in enumerate(reports, 1))
    system, user = prompt("primer").fill(
        {"reports": as_data(listing, "reports"), "question": question, "least": _LEAST_FOLLOW_UPS}
    )
    written = _ask(system, user, [r.text for r in reports], models, models.chat, "primer", method)
    return replace(written, chunks=support(written.text, [reports[n - 1] for n in written.cited]))


def follow(
    question: str,
    follow_up: str,
    context: str,
    evidence: Sequence[str],
    pool: SentencePool | None,
    chunks: Collection[str],
    models: Models,
    *,
    method: str,
) -> Intermediate:
    """Answer one follow-up question from what a local search found; one call with a model.

    Without a model: the sentences nearest to it, and no further questions.

    Args:
        question: the question behind it.
        follow_up: what to answer.
        context: the packed evidence.
        evidence: its pieces, in the order of their numbers.
        pool: sentences to choose from where there is no model.
        chunks: those of them that the search found.
        models: in use.
        method: for the ledger.
    """
    if models.chat is None:
        found = pool.nearest(follow_up, most=_SENTENCES, chunks=chunks) if pool else []
        return Intermediate(
            text=" ".join(s.text for s in found),
            score=round(100 * max((s.score for s in found), default=0.0), 2),
            spans=tuple(s.span for s in found),
        )
    system, user = prompt("follow_up").fill(
        {"evidence": as_data(context, "evidence"), "larger": question, "question": follow_up}
    )
    return _ask(system, user, evidence, models, models.chat, "follow_up", method)


def read_intermediate(text: str, items: Sequence[str]) -> Intermediate:
    """Read a reply to `prime` or `follow`.

    Args:
        text: the reply.
        items: what it was given to read, in the order of the numbers.

    Raises:
        UnusableReply: if it is not JSON of that form.

    >>> read_intermediate('{"answer": "It was dark [1].", "score": 60, "follow_ups": ["Why?"]}', ["Dark."])
    Intermediate(text='It was dark.', score=60.0, follow_ups=('Why?',), cited=(1,), chunks=(), spans=())
    """
    found = salvage_json(text)
    if not isinstance(found, dict) or "answer" not in found:
        raise UnusableReply('the reply is not JSON of the form {"answer": ..., "score": ...}', text)
    plain, cited = without_citations(printable(str(found.get("answer") or "")), len(items))
    asked = found.get("follow_ups")
    follow_ups = (
        [" ".join(printable(str(q)).split())[:_QUESTION_CHARACTERS] for q in asked]
        if isinstance(asked, list)
        else []
    )
    return Intermediate(
        text=plain,
        score=(number(found.get("score"), 0, 100) or 0.0) if plain else 0.0,
        follow_ups=tuple(dict.fromkeys(q for q in follow_ups if q))[:_MOST_FOLLOW_UPS],
        cited=(cited or likeliest(plain, items, most=_GUESSED) or (1,)) if plain else (),
    )


def _ask(
    system: str,
    user: str,
    items: Sequence[str],
    models: Models,
    chat: ChatModel,
    stage: str,
    method: str,
) -> Intermediate:
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=_SCHEMA,
    )
    return models.calls.ask(
        chat, request, lambda text: read_intermediate(text, items), stage=stage, method=method
    )


def _about(question: str, title: str) -> str:
    return f"{question[:_QUESTION_CHARACTERS]} ({title})"
