"""From a retrieval to a cited answer, or a refusal with its reason."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import get_args

from polygraph.errors import BadInput, UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatModel
from polygraph.prompts import neutralize
from polygraph.records import Answer, AnswerForm, Evidence, ReaderForm, Retrieval
from polygraph.retrieve.citation_places import with_places
from polygraph.retrieve.citations import ClaimCheck, check_citations
from polygraph.retrieve.model_check import check_by_model
from polygraph.retrieve.offline_answer import CitedText, answer_offline, refusal
from polygraph.retrieve.tuned_reader import answer_with_tuned_reader
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.answer import NO_ANSWER, ChatTurn, confirm_answer, write_answer
from polygraph.tasks.offline.verdicts import asks_for_verdict
from polygraph.tasks.parsing.citations import strip_citations
from polygraph.text.tokens import count_tokens
from polygraph.text.words import content_stems

_REFUSAL_CHARACTERS = 40
"""A refusal says so within this many characters of the reply."""
_CONFIRM_TOKENS = 700
"""Evidence beside an answer that is to be confirmed: a small model reads some 30 tokens a second on one core."""


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
    of a document; a citation whose evidence does not support the claim is removed and noted, by rules or, with
    `Models.citation_check`, by another call. A tuned reader (`Models.reader_form`) is asked in the words that it was
    tuned on, without `form` and `history`, and cites by quotes. A small local model (`Models.confirm_time_limit_s`)
    confirms or corrects what rules found, if the form is `cited`; what they found is the answer at the time limit, and
    if the reply says nothing new that the evidence supports. Without a chat model: what a table of the documents
    answers by rule, else sentences of the documents.

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
            draft = refusal(retrieval.empty_because or "nothing was found")
        elif models.chat is None:
            draft, retrieval = answer_offline(question, retrieval, index, models)
        elif retrieval.draft:
            draft = _check_reply(question, retrieval.draft, retrieval, index, models)
        elif models.reader_form is not None:
            draft = _read(question, retrieval, index, models, models.chat, models.reader_form)
        elif models.confirm_time_limit_s and retrieval.answer_form == "cited":
            draft, retrieval = _confirm(question, retrieval, index, models, models.chat)
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
        citations=with_places(draft.text, draft.citations, retrieval.evidence, index),
        retrieval=retrieval,
        usage=usage,
        extractive=models.chat is None,
        notes=draft.notes,
        nearest=with_places("", draft.nearest, retrieval.evidence, index),
    )


def _read(
    question: str,
    retrieval: Retrieval,
    index: Snapshot,
    models: Models,
    chat: ChatModel,
    form: ReaderForm,
) -> CitedText:
    """Have a tuned reader answer; one call."""
    found = answer_with_tuned_reader(question, retrieval, index, models, chat, form)
    if found.refused_because:
        return refusal(found.refused_because)
    return CitedText(text=found.text, citations=found.citations, notes=found.notes)


def _write(
    question: str,
    retrieval: Retrieval,
    index: Snapshot,
    models: Models,
    chat: ChatModel,
    history: Sequence[ChatTurn],
    on_text: Callable[[str], None] | None,
) -> CitedText:
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
    draft = _check_reply(question, text, retrieval, index, models)
    if "length" in finish_reasons:
        draft = replace(draft, notes=(*draft.notes, "the answer was cut off at the limit of its length"))
    if stream is not None:
        stream.end(draft)
    return draft


def _confirm(
    question: str, retrieval: Retrieval, index: Snapshot, models: Models, chat: ChatModel
) -> tuple[CitedText, Retrieval]:
    """Have a small model confirm or correct what the rules found, within its time limit; one call."""
    found, retrieval = answer_offline(question, retrieval, index, models)
    limit = models.confirm_time_limit_s
    try:
        reply = confirm_answer(
            question,
            "" if found.refused else found.text,
            _short_context(found, retrieval.evidence),
            models,
            chat,
            method=retrieval.method,
            time_limit_s=limit,
        )
    except TimeoutError:
        problem = f"the model did not reply within its time limit of {limit:g} s (confirm_time_limit_s)"
    except UnusableReply as error:
        problem = f"the reply of the model could not be used: {error.problem}"
    else:
        # By rules: another call would have no time limit.
        checked = _check_reply(question, reply, retrieval, index, replace(models, citation_check="rules"))
        problem = _fault(question, checked, len(retrieval.evidence))
        if not problem:
            return checked, retrieval
    return replace(found, notes=(*found.notes, f"{problem}; this is what the rules found")), retrieval


def _fault(question: str, checked: CitedText, n_items: int) -> str:
    """Say why the reply of a small model is no answer; empty if it is one, or a refusal."""
    if checked.refused:
        return ""
    if not checked.citations:
        return "the reply of the model cited nothing that supports it"
    text, _ = strip_citations(checked.text, n_items)
    if asks_for_verdict(question) or set(content_stems(text)) - set(content_stems(question)):
        return ""
    return "the reply of the model only repeated the question"


def _short_context(found: CitedText, evidence: Sequence[Evidence]) -> str:
    """Return what an answer cites, and the first other pieces of evidence, under the numbers of the whole context."""
    cited = dict.fromkeys(citation.n for citation in found.citations)
    left = _CONFIRM_TOKENS
    shown: list[int] = []
    for n in dict.fromkeys([*cited, *range(1, len(evidence) + 1)]):
        left -= count_tokens(evidence[n - 1].text)
        if left < 0 and shown:
            break
        shown.append(n)
    return "\n\n".join(
        f"[{n}] {neutralize(evidence[n - 1].text, n_items=len(evidence))}" for n in sorted(shown)
    )


def _check_reply(
    question: str, text: str, retrieval: Retrieval, index: Snapshot, models: Models
) -> CitedText:
    """Recognize a refusal, or check the citations of the reply: by rules, or by one more call (`citation_check`)."""
    if text.startswith(NO_ANSWER) or NO_ANSWER in text[:_REFUSAL_CHARACTERS]:
        reason = text.partition(NO_ANSWER)[2].strip().rstrip(".") or "the evidence does not suffice"
        starts_a_sentence = reason[:1].isupper() and reason[1:2].islower()
        return refusal(reason[0].lower() + reason[1:] if starts_a_sentence else reason)
    decide: ClaimCheck | None = None
    if models.citation_check == "model" and models.chat is not None:
        decide = partial(check_by_model, question, models=models, method=retrieval.method)
    checked = check_citations(text, retrieval.evidence, index, question=question, decide=decide)
    return CitedText(text=checked.text, citations=checked.citations, notes=checked.notes)


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

    def end(self, draft: CitedText) -> None:
        """Show what was held back."""
        if not self._passes:
            self._on_text(draft.text if draft.refused else self._held)
