"""Answers with word-for-word quotes, in the form that a tuned reader learns (RAFT, arXiv:2403.10131, section 3).

A completion reasons with quotes between `BEGIN_QUOTE` and `END_QUOTE`, each followed by the number of its evidence, and
ends with a line that begins with `ANSWER`. `reader_messages` is the prompt of training rows and of the tuned reader;
`write_reasoning` has a model write completions for rows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel, Models
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, Message, opening
from polygraph.prompts import PromptText, as_data, one_line, prompt
from polygraph.records import ReaderForm
from polygraph.tasks.answers.answer import NO_ANSWER
from polygraph.tasks.parsing.short_replies import without_thinking

BEGIN_QUOTE = "##begin_quote##"
END_QUOTE = "##end_quote##"
ANSWER = "<ANSWER>:"
REFUSAL = f"{NO_ANSWER} the evidence does not answer the question."
_REFUSALS: dict[ReaderForm, str] = {
    "raft": f"If the evidence does not answer the question, write only: {ANSWER} {REFUSAL}",
    "graft": f"If the evidence does not answer the question, write only: {REFUSAL}",
}
_QUOTE = re.compile(f"{re.escape(BEGIN_QUOTE)}(.*?){re.escape(END_QUOTE)}", re.DOTALL)
_QUOTE_OR_CITED = re.compile(rf"{_QUOTE.pattern}|\[(?P<number>\d{{1,4}})\]", re.DOTALL)
_NUMBERED_QUOTE = re.compile(rf"{_QUOTE.pattern}(?:\s*\[(?P<number>\d{{1,4}})\])?", re.DOTALL)
_MAX_REPLY_TOKENS = 700


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftReply:
    """A reply in the form of RAFT."""

    reasoning: str
    """Everything before the answer; empty for the answer alone."""
    quotes: tuple[str, ...]
    """In order, with single spaces between words."""
    numbers: tuple[int, ...]
    """The number of evidence that follows each quote; 0 where none does."""
    answer: str

    @property
    def refused(self) -> bool:
        """Whether it finds the evidence insufficient."""
        return self.answer.startswith(NO_ANSWER)


def reader_messages(
    form: ReaderForm, question: str, context: str, *, refuses: bool = True
) -> tuple[Message, Message]:
    """Return the system and the user turn of a tuned reader.

    Args:
        form: of the reply.
        question: as asked.
        context: packed evidence, as a method retrieves it.
        refuses: whether the reader is asked to refuse if the evidence is insufficient.
    """
    system, user = prompt(form).fill(
        {
            "refusal": PromptText(_REFUSALS[form] if refuses else ""),
            "evidence": as_data(context, "evidence", keep_numbers=True),
            "question": one_line(question),
        }
    )
    return opening(system.replace(" \n", "\n"), user)


def completion(form: ReaderForm, reasoning: str, answer: str) -> str:
    r"""Return the reply that a reader learns.

    >>> completion("raft", "##begin_quote##She lit it.##end_quote## [2]", "Mara")
    '##begin_quote##She lit it.##end_quote## [2]\n<ANSWER>: Mara'
    >>> completion("graft", "", "Mara")
    'Mara'
    """
    if form == "graft":
        return answer
    return "\n".join(part for part in (reasoning, f"{ANSWER} {answer}") if part)


def quoted(text: str, number: int) -> str:
    """Return a quote with its marks and the number of its evidence.

    >>> quoted("She lit the lamp.", 3)
    '##begin_quote##She lit the lamp.##end_quote## [3]'
    """
    return f"{BEGIN_QUOTE}{text}{END_QUOTE} [{number}]"


def parse_raft(text: str) -> RaftReply:
    r"""Parse a reply; without a line for the answer, the whole text is the answer.

    >>> reply = parse_raft("It says ##begin_quote##She lit  it.##end_quote## [2]\n<ANSWER>: Mara")
    >>> reply.quotes, reply.numbers, reply.answer
    (('She lit it.',), (2,), 'Mara')
    """
    reasoning, _, answer = without_thinking(text).rpartition(ANSWER)
    found = list(_NUMBERED_QUOTE.finditer(reasoning))
    return RaftReply(
        reasoning=reasoning.strip(),
        quotes=tuple(one_line(each[1]) for each in found),
        numbers=tuple(int(each["number"] or 0) for each in found),
        answer=one_line(answer),
    )


def read_with_tuned(
    question: str, context: str, form: ReaderForm, models: Models, chat: ChatModel, *, method: str
) -> RaftReply:
    """Have a tuned reader answer from a packed context, in the words that it was tuned on; one call.

    Args:
        question: as asked.
        context: numbered pieces of evidence.
        form: of the reply.
        models: in use.
        chat: the tuned reader.
        method: for the ledger.

    Returns:
        The reply; of the form `graft`, and of a reply without the line of the answer, the whole text is the answer.

    Raises:
        UnusableReply: if the reply stays empty after the repair round.
    """
    request = ChatRequest(
        messages=reader_messages(form, question, context), max_output_tokens=_MAX_REPLY_TOKENS
    )
    return models.calls.ask(chat, request, _not_empty, stage="answer", method=method)


def _not_empty(text: str) -> RaftReply:
    reply = parse_raft(text)
    if not (reply.answer or reply.reasoning):
        raise UnusableReply("the reply is empty", text)
    return reply


def without_marks(text: str) -> str:
    """Return a text without the marks of quotes and of the answer, as in a reply that broke its form.

    >>> without_marks("##begin_quote##She lit it.##end_quote## <ANSWER>: Mara")
    'She lit it. Mara'
    """
    for mark in (BEGIN_QUOTE, END_QUOTE, ANSWER):
        text = text.replace(mark, "")
    return one_line(text)


def renumber(reasoning: str, numbers: Sequence[int]) -> str:
    """Replace the number of each cited passage ``n`` by ``numbers[n - 1]``; quotes are left as they are.

    >>> renumber("It was lit in ##begin_quote##[1] 1871##end_quote## [2].", [4, 5])
    'It was lit in ##begin_quote##[1] 1871##end_quote## [5].'
    """
    return _QUOTE_OR_CITED.sub(
        lambda found: f"[{numbers[int(found['number']) - 1]}]" if found["number"] else found[0], reasoning
    )


def write_reasoning(
    question: str, context: str, n_passages: int, known: str, chat: ChatModel, calls: Calls
) -> RaftReply:
    """Have a model answer with quotes, or reason towards a known answer; one call.

    Args:
        question: to answer.
        context: packed passages that hold the answer.
        n_passages: passages of the context.
        known: the answer; empty if it is not known.
        chat: the model.
        calls: sends the request.

    Raises:
        UnusableReply: if a quote is not in the context word for word, or there is no quote or no answer, after the
            repair round as well.
    """
    system, user = prompt("reason").fill(
        {
            "evidence": as_data(context, "evidence", keep_numbers=True),
            "known": PromptText(as_data(known, "answer") + "\n") if known else "",
            "question": one_line(question),
        }
    )
    request = ChatRequest(messages=opening(system, user), max_output_tokens=_MAX_REPLY_TOKENS)
    return calls.ask(chat, request, lambda text: _checked(text, context, n_passages), stage="reason")


def _checked(text: str, context: str, n_passages: int) -> RaftReply:
    if ANSWER not in text:
        raise UnusableReply(f"the last line must begin with {ANSWER} and give the answer", text)
    reply = parse_raft(text)
    if not reply.answer:
        raise UnusableReply(f"there is no answer after {ANSWER}", text)
    if reply.refused:
        return reply
    if not reply.quotes or not all(reply.quotes):
        raise UnusableReply(f"there is no quote between {BEGIN_QUOTE} and {END_QUOTE}", text)
    shown = one_line(context)
    for quote in reply.quotes:
        if quote not in shown:
            raise UnusableReply(f"this is not in the evidence word for word: {quote[:200]}", text)
    cited = [found["number"] for found in _QUOTE_OR_CITED.finditer(reply.reasoning)]
    if any(number and not 1 <= int(number) <= n_passages for number in cited):
        raise UnusableReply(f"there are only {n_passages} pieces of evidence to cite", text)
    return reply
