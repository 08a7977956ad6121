"""From a retrieval to a cited answer, or a refusal with its reason."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from polygraph.errors import BadInput
from polygraph.models import Models
from polygraph.models.protocols import ChatModel
from polygraph.records import Answer, AnswerForm, Citation, Evidence, ReaderForm, Retrieval
from polygraph.retrieve.citations import check_citations, cite
from polygraph.retrieve.evidence import passages_of
from polygraph.retrieve.graph_statements import (
    GraphStatements,
    connections,
    is_about_the_whole,
    list_themes,
)
from polygraph.retrieve.table_evidence import answer_from_index
from polygraph.retrieve.tuned_reader import answer_with_tuned_reader
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answer import NO_ANSWER, ChatTurn, write_answer
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.question_scope import is_global_question
from polygraph.tasks.offline.sentences import Passage
from polygraph.text.words import content_stems

_PASSAGES = 16
"""Chunks from which an extractive answer is made."""
_REFUSAL_CHARACTERS = 40
"""A refusal says so within this many characters of the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnswerDraft:
    """The text of an answer with its checked citations."""

    text: str
    refused: bool = False
    citations: tuple[Citation, ...] = ()
    notes: tuple[str, ...] = ()


def answer(
    question: str,
    retrieval: Retrieval,
    index: Snapshot,
    models: Models,
    *,
    form: AnswerForm | None = None,
    history: Sequence[ChatTurn] = (),
    on_text: Callable[[str], None] | None = None,
) -> Answer:
    """Answer a question from what was retrieved.

    With a chat model: one call, or the draft of a method that has written one. Each citation is resolved to a sentence
    of a document; a citation whose evidence does not support the claim is removed and noted. A tuned reader
    (`Models.reader_form`) is asked in the words that it was tuned on, without `form` and `history`, and cites by
    quotes. Without a chat model: what a table of the documents answers by rule, else sentences of the documents.

    Args:
        question: as asked.
        retrieval: by any method.
        index: the snapshot that it was retrieved from.
        models: in use.
        form: `short`, `cited` or `overview`; None for the form of the method. A draft keeps its own.
        history: earlier questions and answers of a conversation.
        on_text: called with pieces of the text as they arrive; without a streamed reply, once with the whole text.

    Raises:
        BadInput: if there is no such form.
    """
    started = time.perf_counter()
    if form is not None:
        if form not in get_args(AnswerForm):
            raise BadInput(
                f"there is no form of answers {form!r}. Choose one of: {', '.join(get_args(AnswerForm))}"
            )
        retrieval = replace(retrieval, answer_form=form)
    with models.calls.meter() as meter:
        streamed = False
        if not retrieval.evidence:
            draft = _refusal(retrieval.empty_because or "nothing was found")
        elif models.chat is None and (tabular := answer_from_index(question, retrieval, index)) is not None:
            draft = _AnswerDraft(text=tabular.text, citations=tabular.citations)
            retrieval = tabular.retrieval
        elif models.chat is None:
            draft = _extract(question, retrieval, index, models)
        elif retrieval.draft:
            draft = _check_reply(question, retrieval.draft, retrieval.evidence, index)
        elif models.reader_form is not None:
            draft = _read(question, retrieval, index, models, models.chat, models.reader_form)
        else:
            draft = _write(question, retrieval, index, models, models.chat, history, on_text)
            streamed = True
    if on_text is not None and not streamed:
        on_text(draft.text)
    usage = retrieval.usage + replace(meter.usage, seconds=time.perf_counter() - started)
    if models.chat is not None:
        models.calls.log_question(retrieval.method, usage)
    return Answer(
        question=question,
        method=retrieval.method,
        text=draft.text,
        refused=draft.refused,
        citations=draft.citations,
        retrieval=retrieval,
        usage=usage,
        extractive=models.chat is None,
        notes=draft.notes,
    )


def _refusal(reason: str) -> _AnswerDraft:
    return _AnswerDraft(text=f"The documents do not answer this: {reason}.", refused=True)


# --- with a model -------------------------------------------------------------------------------------


def _read(
    question: str,
    retrieval: Retrieval,
    index: Snapshot,
    models: Models,
    chat: ChatModel,
    form: ReaderForm,
) -> _AnswerDraft:
    """Have a tuned reader answer; one call."""
    found = answer_with_tuned_reader(question, retrieval, index, models, chat, form)
    if found.refused_because:
        return _refusal(found.refused_because)
    return _AnswerDraft(text=found.text, citations=found.citations, notes=found.notes)


def _write(
    question: str,
    retrieval: Retrieval,
    index: Snapshot,
    models: Models,
    chat: ChatModel,
    history: Sequence[ChatTurn],
    on_text: Callable[[str], None] | None,
) -> _AnswerDraft:
    """Have the model write the answer; one call."""
    stream = _RefusalFilter(on_text) if on_text is not None else None
    finish_reasons: list[str] = []
    text = write_answer(
        question,
        retrieval.context,
        models,
        chat,
        method=retrieval.method,
        form=retrieval.answer_form,
        history=history,
        on_text=stream,
        on_finish=finish_reasons.append,
    )
    draft = _check_reply(question, text, retrieval.evidence, index)
    if "length" in finish_reasons:
        draft = replace(draft, notes=(*draft.notes, "the answer was cut off at the limit of its length"))
    if stream is not None:
        stream.end(draft)
    return draft


def _check_reply(question: str, text: str, evidence: Sequence[Evidence], index: Snapshot) -> _AnswerDraft:
    """Recognize a refusal, or check the citations of the reply."""
    if text.startswith(NO_ANSWER) or NO_ANSWER in text[:_REFUSAL_CHARACTERS]:
        reason = text.partition(NO_ANSWER)[2].strip().rstrip(".") or "the evidence does not suffice"
        starts_a_sentence = reason[:1].isupper() and reason[1:2].islower()
        return _refusal(reason[0].lower() + reason[1:] if starts_a_sentence else reason)
    checked = check_citations(text, evidence, index, question=question)
    return _AnswerDraft(text=checked.text, citations=checked.citations, notes=checked.notes)


class _RefusalFilter:
    """Passes on a streamed reply once it cannot be a refusal, since refusals are shown in our own words."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._held = ""
        self._passes = False

    def __call__(self, piece: str) -> None:
        """Receive the next piece of the reply."""
        if self._passes:
            self._on_text(piece)
            return
        self._held += piece
        beginning = self._held.lstrip()[:_REFUSAL_CHARACTERS]
        if len(beginning) == _REFUSAL_CHARACTERS and NO_ANSWER not in beginning:
            self._passes = True
            self._on_text(self._held)

    def end(self, draft: _AnswerDraft) -> None:
        """Show what was held back."""
        if not self._passes:
            self._on_text(draft.text if draft.refused else self._held)


# --- without a model ----------------------------------------------------------------------------------


def _extract(question: str, retrieval: Retrieval, index: Snapshot, models: Models) -> _AnswerDraft:
    is_global = is_global_question(question)
    summaries = [item for item in retrieval.evidence if is_about_the_whole(item)]
    # Summaries may be results of steps; reports are about the collection whatever the form.
    if is_global and (retrieval.answer_form == "overview" or any(s.kind == "report" for s in summaries)):
        # The numbers of the evidence stay those of the retrieval.
        return _from_graph(list_themes(retrieval.evidence, index, only_summaries=bool(summaries)))
    passages = _passages(question, retrieval.evidence, index)
    selection = answer_with_sentences(question, passages, models)
    if not selection.sentences:
        if (found := connections(question, retrieval.evidence, index)).lines:
            return _from_graph(found)
        if is_global:
            # The reader takes a German noun of the question for a name that is missing.
            return _refusal(
                "no sentence sums up the collection; a question about the whole collection is one for `graphrag-global`"
            )
        return _refusal(selection.refused_because)
    chunks = {p.chunk.id: p.chunk for p in passages}
    titles = {p.chunk.document: p.title for p in passages}
    citations = []
    for s in selection.sentences:
        chunk = chunks[s.span.chunk]
        citations.append(
            cite(s.evidence, chunk, s.span.start - chunk.start, s.span.end - chunk.start, titles)
        )
    text = " ".join(f"{s.text} [{s.evidence}]" for s in selection.sentences)
    return _AnswerDraft(
        text=f"{selection.verdict}: {text}" if selection.verdict else text,
        citations=tuple(citations),
        notes=(selection.note,) if selection.note else (),
    )


def _from_graph(found: GraphStatements) -> _AnswerDraft:
    return _AnswerDraft(text="\n".join(found.lines), citations=found.citations)


def _passages(question: str, evidence: Sequence[Evidence], index: Snapshot) -> list[Passage]:
    """Collect the chunks of the evidence in its order; of too many, those that share most words with the question."""
    numbers: dict[str, int] = {}
    for n, item in enumerate(evidence, 1):
        for span in item.spans:
            numbers.setdefault(span.chunk, n)
    chunks = index.chunks_by_id(list(numbers))
    if len(chunks) > _PASSAGES:
        wanted = set(content_stems(question))
        shared = [len(wanted & set(content_stems(c.text))) for c in chunks]
        # The order of the evidence counts too: one rank costs a twentieth of a word.
        order = sorted(range(len(chunks)), key=lambda i: (-(shared[i] - i / 20), i))[:_PASSAGES]
        chunks = [chunks[i] for i in sorted(order)]
    return passages_of(numbers, index, read=chunks)
