"""The three tasks of DRIFT search: a hypothetical answer, a first answer from reports, answers to follow-up questions.

Microsoft GraphRAG, DRIFT search. The hypothetical answer is a text to search with (HyDE); the others return an
`IntermediateAnswer`. A reply that is not JSON of the required form, or an empty hypothetical answer, raises
`UnusableReply` after the repair round.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import as_data, numbered, prompt
from polygraph.records import Report, Span
from polygraph.tasks.offline.map_reports import rank_statements
from polygraph.tasks.offline.question_scope import is_global_question
from polygraph.tasks.offline.sentence_pool import SentencePool
from polygraph.tasks.parsing.citations import find_sources, supporting_chunks
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_line, number, printable, without_thinking
from polygraph.text.tokens import truncate

_MAX_REPLY_TOKENS = 1_200
_HYDE_TOKENS = 500
_SAMPLE_TOKENS = 1_500
"""Tokens of the report that the hypothetical answer imitates."""
_QUESTION_CHARACTERS = 300
_MAX_FOLLOW_UPS = 10
"""Taken from one reply."""
_REQUESTED_FOLLOW_UPS = 5
"""The prompt asks for at least this many (as the code does)."""
_MAX_SENTENCES = 3
_SCHEMA: Mapping[str, Any] = object_schema(
    {
        "answer": {"type": "string"},
        "score": {"type": "integer"},
        "follow_ups": {"type": "array", "items": {"type": "string"}},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntermediateAnswer:
    """An answer on the way to the final one, with the questions that it raises."""

    text: str
    """Without citations; empty if there is no answer."""
    score: float
    """How much it helps to answer the question, in [0, 100]."""
    follow_ups: tuple[str, ...] = ()
    cited: tuple[int, ...] = ()
    """Numbers of its sources, from 1: those cited, else those that share most words with it."""
    chunks: tuple[str, ...] = ()
    """In a reply of `run_primer`, the chunks of the findings that support it."""
    spans: tuple[Span, ...] = ()
    """The sentences that it consists of, if no model wrote it."""


def write_hypothetical_answer(
    question: str, report: Report, models: Models, chat: ChatModel, *, method: str
) -> str:
    """Write a hypothetical answer in the form of a report, to search with (HyDE); one call.

    Raises:
        UnusableReply: if the reply is empty, also after the repair round.
    """
    sample = truncate(report.text, _SAMPLE_TOKENS)
    system, user = prompt("hyde").fill({"report": as_data(sample, "report"), "question": question})
    request = ChatRequest(messages=opening(system, user), max_output_tokens=_HYDE_TOKENS)

    def parse(text: str) -> str:
        if not (answer := printable(without_thinking(text)).strip()):
            raise UnusableReply("the reply was empty", text)
        return answer

    return models.calls.ask(chat, request, parse, stage="hyde", method=method)


def run_primer(
    question: str, reports: Sequence[Report], models: Models, *, method: str
) -> IntermediateAnswer:
    """Answer as far as a few reports allow, and raise follow-up questions: one call with a model.

    Without a model: the statements of the reports that share most of the question's words; as follow-ups, the
    question with the title of each report, and none for a question about the whole collection.
    """
    if models.chat is None:
        # Every fold of reports is read, so the cross-encoder would take too long.
        # A question about the whole collection gets the most important report of each fold, and no follow-ups.
        is_global = is_global_question(question)
        found = rank_statements(
            question, reports, replace(models, reranker=None), most=1 if is_global else _MAX_SENTENCES
        )
        return IntermediateAnswer(
            text=" ".join(s.text for s in found),
            score=max((s.score for s in found), default=0.0),
            follow_ups=()
            if is_global
            else tuple(f"{question[:_QUESTION_CHARACTERS]} ({r.title})" for r in reports if r.title),
            chunks=tuple(dict.fromkeys(c for s in found for c in s.chunks)),
        )
    listing = numbered([r.text for r in reports], "reports")
    system, user = prompt("primer").fill(
        {"reports": as_data(listing, "reports"), "question": question, "least": _REQUESTED_FOLLOW_UPS}
    )
    written = _ask(system, user, [r.text for r in reports], models, models.chat, "primer", method)
    return replace(written, chunks=supporting_chunks(written.text, [reports[n - 1] for n in written.cited]))


def answer_follow_up(
    question: str,
    follow_up: str,
    context: str,
    evidence: Sequence[str],
    pool: SentencePool | None,
    chunks: Collection[str],
    models: Models,
    *,
    method: str,
) -> IntermediateAnswer:
    """Answer one follow-up question from the results of a local search: one call with a model.

    Without a model: the sentences nearest to the follow-up question, and no further questions.

    Args:
        question: the original question.
        follow_up: the question to answer.
        context: the packed evidence.
        evidence: its pieces, in the order of their numbers.
        pool: sentences to choose from without a model.
        chunks: ids of the chunks in the pool that the search found.
        models: in use.
        method: for the ledger.
    """
    if models.chat is None:
        found = pool.nearest(follow_up, most=_MAX_SENTENCES, chunks=chunks) if pool else []
        return IntermediateAnswer(
            text=" ".join(s.text for s in found),
            score=round(100 * max((s.score for s in found), default=0.0), 2),
            spans=tuple(s.span for s in found),
        )
    system, user = prompt("follow_up").fill(
        {
            "evidence": as_data(context, "evidence", keep_numbers=True),
            "larger": question,
            "question": follow_up,
        }
    )
    return _ask(system, user, evidence, models, models.chat, "follow_up", method)


def parse_intermediate(text: str, items: Sequence[str]) -> IntermediateAnswer:
    """Parse a reply to `run_primer` or `answer_follow_up`.

    Args:
        text: the reply.
        items: the reports or pieces of evidence in the prompt, in the order of their numbers.

    Raises:
        UnusableReply: if it is not JSON of that form.

    >>> parse_intermediate('{"answer": "It was dark [1].", "score": 60, "follow_ups": ["Why?"]}', ["Dark."])
    IntermediateAnswer(text='It was dark.', score=60.0, follow_ups=('Why?',), cited=(1,), chunks=(), spans=())
    """
    found = repair_json(text)
    if not isinstance(found, dict) or "answer" not in found:
        raise UnusableReply('the reply is not JSON of the form {"answer": ..., "score": ...}', text)
    plain, sources = find_sources(printable(str(found.get("answer") or "")), items)
    asked = found.get("follow_ups")
    follow_ups = [field_line(q, _QUESTION_CHARACTERS) for q in asked] if isinstance(asked, list) else []
    return IntermediateAnswer(
        text=plain,
        score=(number(found.get("score"), 0, 100) or 0.0) if plain else 0.0,
        follow_ups=tuple(dict.fromkeys(q for q in follow_ups if q))[:_MAX_FOLLOW_UPS],
        cited=sources if plain else (),
    )


def _ask(
    system: str,
    user: str,
    items: Sequence[str],
    models: Models,
    chat: ChatModel,
    stage: str,
    method: str,
) -> IntermediateAnswer:
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=_SCHEMA,
    )
    return models.calls.ask(
        chat, request, lambda text: parse_intermediate(text, items), stage=stage, method=method
    )
