"""Answer from the evidence, confirm or lengthen an answer, or rewrite a question so that it stands alone.

Each returns the text of the reply. An empty reply that stays empty after the repair round raises `UnusableReply`.
"""

from collections.abc import Callable, Mapping, Sequence

from polygraph.models import Models
from polygraph.models.protocols import ChatModel, ChatRequest, opening
from polygraph.prompts import FENCES, PromptText, as_data, neutralize, prompt
from polygraph.records import AnswerForm
from polygraph.tasks.parsing.free_text import free_text
from polygraph.text.tokens import count_tokens

NO_ANSWER = "NO ANSWER:"
"""Beginning of a reply that finds the evidence insufficient."""
_MAX_ANSWER_TOKENS = 1_500
_MAX_OVERVIEW_TOKENS = 4_000
"""Two thousand words, their citations and headings."""
_MAX_CONFIRMED_TOKENS = 300
_HISTORY_CHARACTERS = 4_000
_PROMPTS: Mapping[AnswerForm, str] = {
    "short": "answer_word",
    "cited": "answer",
    "overview": "answer_overview",
}
_LENGTHS: Mapping[AnswerForm, str] = {
    "cited": "Be as short as the question allows.",
    "overview": "Write as much as the evidence supports, at most 2,000 words.",
}

ChatTurn = tuple[str, str]
"""A question and its answer."""


def write_answer(
    question: str,
    context: str,
    models: Models,
    chat: ChatModel,
    *,
    method: str,
    form: AnswerForm = "cited",
    history: Sequence[ChatTurn] = (),
    target_words: int | None = None,
    sample: int = 0,
    on_text: Callable[[str], None] | None = None,
    on_finish: Callable[[str], None] | None = None,
) -> str:
    """Have the model answer from a packed context; one call.

    Args:
        question: as asked.
        context: numbered pieces of evidence.
        models: in use.
        chat: the model to ask.
        method: for the ledger.
        form: `cited`; `overview` for breadth and up to 2,000 words; `short` for one name, number, date, yes or no
            (multi-hop questions of FG-RAG).
        history: earlier questions and answers.
        target_words: length of the answer; None for the length that the form has.
        sample: number of the reply, if the same request is sent several times.
        on_text: called with each piece of the reply as it arrives.
        on_finish: called with the finish reason of the reply.

    Returns:
        The text of the reply; it begins with `NO_ANSWER` if the evidence is insufficient.
    """
    length = _LENGTHS.get(form, "")
    if target_words is not None:
        length = f"Write about {target_words} words, and no fewer."
    system, user = prompt(_PROMPTS[form]).fill(
        {
            "length": PromptText(length),
            "evidence": as_data(context, "evidence", keep_numbers=True),
            "history": _history(history),
            "question": question,
        }
    )
    longest = _MAX_OVERVIEW_TOKENS if form == "overview" else _MAX_ANSWER_TOKENS
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=max(longest, 3 * (target_words or 0)),
        sample=sample,
    )
    return models.calls.ask(
        chat, request, free_text, stage="answer", method=method, on_text=on_text, on_finish=on_finish
    )


def confirm_answer(
    question: str,
    draft: str,
    context: str,
    models: Models,
    chat: ChatModel,
    *,
    method: str,
    time_limit_s: float,
) -> str:
    """Have a small model confirm or correct an answer that rules found; one call.

    Args:
        question: as asked.
        draft: the answer with its citations; empty if the rules found none.
        context: numbered pieces of evidence.
        models: in use.
        chat: the model to ask.
        method: for the ledger.
        time_limit_s: seconds for the call.

    Returns:
        The text of the reply; it begins with `NO_ANSWER` if the evidence is insufficient.

    Raises:
        TimeoutError: at the time limit.
    """
    system, user = prompt("answer_confirm").fill(
        {
            "evidence": as_data(context, "evidence", keep_numbers=True),
            "draft": as_data(draft or "The rules found no answer.", "draft"),
            "question": question,
        }
    )
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_CONFIRMED_TOKENS,
        time_limit_s=time_limit_s,
    )
    return models.calls.ask(chat, request, free_text, stage="answer", method=method)


def answer_instructions() -> int:
    """Return the tokens of a request for a cited answer beside question, evidence and history."""
    empty = prompt(_PROMPTS["cited"]).fill(
        {
            "length": PromptText(_LENGTHS["cited"]),
            "evidence": as_data("", "evidence"),
            "history": "",
            "question": "",
        }
    )
    return sum(count_tokens(part) for part in empty)


def lengthen_answer(
    question: str, text: str, n_words: int, models: Models, chat: ChatModel, *, method: str
) -> str:
    """Append about `n_words` words to an answer without changing what it says; one call.

    Forced length alignment of Zeng et al. (arXiv:2506.06331), section 4.2.

    Returns:
        The answer with the appended text.
    """
    system, user = prompt("lengthen").fill(
        {"answer": as_data(text, "answer"), "question": question, "n_words": n_words}
    )
    request = ChatRequest(messages=opening(system, user), max_output_tokens=50 + 3 * n_words)
    more = models.calls.ask(chat, request, free_text, stage="align", method=method)
    return f"{text.rstrip()} {more}"


def condense_question(question: str, history: Sequence[ChatTurn], models: Models, chat: ChatModel) -> str:
    """Rewrite the last question of a conversation so that it is understood without the others; one call."""
    system, user = prompt("condense").fill({"history": _history(history), "question": question})
    request = ChatRequest(messages=opening(system, user), max_output_tokens=200)
    return models.calls.ask(chat, request, free_text, stage="condense")


def _history(history: Sequence[ChatTurn]) -> PromptText | str:
    if not history:
        return ""
    labels = FENCES["conversation"]
    text = "\n".join(
        f"Question: {neutralize(asked, labels)}\nAnswer: {neutralize(answered, labels)}"
        for asked, answered in history
    )
    if len(text) > _HISTORY_CHARACTERS:
        # The cut may put what stood inside a line at the start of one.
        head, newline, rest = text[-_HISTORY_CHARACTERS:].partition("\n")
        text = f"{neutralize(head, labels)}{newline}{rest}"
    return PromptText(as_data(PromptText(text), "conversation") + "\n")
