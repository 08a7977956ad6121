"""How `Index` retrieves and answers: the method is found, the budget applied, and what was paid counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from polygraph.errors import BadInput
from polygraph.retrieve import method as find_method
from polygraph.retrieve.base import why_no_method, why_no_retrieval, with_budget

if TYPE_CHECKING:
    from polygraph.models import Models
    from polygraph.records import Answer, AnswerForm, Retrieval
    from polygraph.retrieve.base import Method
    from polygraph.store.snapshot import Snapshot
    from polygraph.tasks.answers.answer import ChatTurn


def retrieve(
    question: str,
    method: str | Method,
    snapshot: Callable[[], Snapshot],
    models: Models,
    *,
    max_tokens: int | None = None,
) -> Retrieval:
    """Find and pack the evidence for a question.

    Args:
        question: any text.
        method: a name from `polygraph methods`, or a method.
        snapshot: returns the state to read; called once the arguments are known to fit.
        models: that read the question.
        max_tokens: budget of the context; default: the method's own.

    Raises:
        UnknownMethod, MissingLayer, IndexMismatch, BadInput: each says how to fix it.
    """
    if not question.strip():
        raise BadInput('the question is empty. Ask something, as in: polygraph ask "Who built the harbour?"')
    if isinstance(method, str):
        name, chosen = method, find_method(method)
    elif problem := why_no_method(method):
        raise BadInput(f"{method!r:.200} is not a method: {problem}. See docs/add-a-method.md")
    else:
        name, chosen = "", method
    if max_tokens is not None and max_tokens < 1:
        raise BadInput(f"--max-tokens {max_tokens} leaves no room for evidence. Give at least 100")
    state = snapshot()
    calls = models.calls
    with calls.batch_round(), calls.meter() as meter, calls.attributed_to(name):
        found = with_budget(chosen, max_tokens)(question, state, models)
    if problem := why_no_retrieval(found):
        raise BadInput(f"the method {name or type(chosen).__name__} {problem}")
    return replace(found, method=name or found.method, usage=found.usage + meter.usage)


def answer(
    question: str,
    retrieve: Callable[[str], Retrieval],
    snapshot: Callable[[], Snapshot],
    models: Models,
    *,
    history: Sequence[ChatTurn] = (),
    form: AnswerForm | None = None,
    on_retrieval: Callable[[Retrieval], None] | None = None,
    on_text: Callable[[str], None] | None = None,
) -> Answer:
    """Make a question stand on its own, retrieve, and answer.

    Args:
        question: any text.
        retrieve: finds the evidence for the question that stands on its own.
        snapshot: returns the state that citations are checked against.
        models: that read and answer.
        history: earlier questions and answers.
        form: of the answer; default: the method's own.
        on_retrieval: called with the evidence before the answer is written.
        on_text: called with pieces of the answer as they come.
    """
    from polygraph.retrieve.answer import answer as answer_from_evidence
    from polygraph.retrieve.conversation import standalone_question

    with models.calls.batch_round():
        asked, usage = standalone_question(question, history, models)
        retrieval = retrieve(asked)
        if on_retrieval is not None:
            on_retrieval(retrieval)
        found = answer_from_evidence(
            asked, retrieval, snapshot(), models, form=form, history=history, on_text=on_text
        )
    return replace(found, question=question, usage=found.usage + usage)
