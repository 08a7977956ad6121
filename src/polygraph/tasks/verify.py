"""Does the evidence suffice, and does an answer hold? Whether rows fulfil a condition is asked here, too.

ROGRAG, arXiv:2503.06474, section 6.3 and algorithm 4: argument checking before an answer is written, result
checking after it. The first word of the reply decides, and a reply that is neither yes nor no verifies nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.models.thread_pool import in_turn
from polygraph.prompts import as_data, prompt
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.sentences import Passage
from polygraph.tasks.output_parsing import salvage_json, without_thinking

_VERDICT_TOKENS = 200
_ROWS = 40
"""Rows in one call."""
_CHARACTERS = 600
"""Of what is known of a row."""
_KEEP: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["keep"],
    "properties": {"keep": {"type": "array", "items": {"type": "integer"}}},
}


def supports(
    question: str, context: str, passages: Sequence[Passage], models: Models, *, method: str
) -> bool:
    """Argument checking: whether a context suffices to answer; one call with a model.

    Without a model: whether an extractive answer can be made of the passages that it rests on.
    """
    if models.chat is None:
        return bool(answer_with_sentences(question, passages, models).sentences)
    values = {"evidence": as_data(context, "evidence"), "question": question}
    return _verdict("supports", values, models, method)


def answered(question: str, context: str, reply: str, models: Models, *, method: str) -> bool:
    """Result checking: whether an answer holds; one call, and a chat model is needed."""
    values = {
        "evidence": as_data(context, "evidence"),
        "answer": as_data(reply, "answer"),
        "question": question,
    }
    return _verdict("answered", values, models, method)


def keep_rows(rows: Sequence[str], condition: str, models: Models, *, method: str) -> tuple[list[int], int]:
    """Decide which rows fulfil a condition, many in one call.

    Args:
        rows: what is known of each.
        condition: in words.
        models: with a chat model.
        method: who asks, for the ledger.

    Returns:
        Places of the rows that do, ascending, and the number of calls; rows of a reply that could not be used are
        not among them.
    """
    if models.chat is None:
        raise ValueError("rows are judged by a chat model; there is none")
    chat = models.chat

    def judge(start: int) -> tuple[list[int], int]:
        batch = rows[start : start + _ROWS]
        listing = "\n\n".join(f"[{n}] {text[:_CHARACTERS]}" for n, text in enumerate(batch, 1))
        system, user = prompt("keep_rows").fill(
            {"rows": as_data(listing, "rows"), "condition": " ".join(condition.split())}
        )
        request = ChatRequest(
            messages=(Message("system", system), Message("user", user)),
            max_output_tokens=_VERDICT_TOKENS + 4 * _ROWS,
            schema=_KEEP,
        )
        counted = _Counted()
        try:
            found = models.calls.ask(chat, request, counted.numbers, stage="keep_rows", method=method)
        except UnusableReply:
            found = []
        return [start + n - 1 for n in sorted(set(found)) if 1 <= n <= len(batch)], counted.calls

    judged = in_turn(judge, range(0, len(rows), _ROWS))
    return [place for places, _ in judged for place in places], sum(n for _, n in judged)


def read_support(text: str) -> bool:
    """Read a verdict from the first word of a reply: yes or no, and nothing else will do.

    Raises:
        UnusableReply: if it is neither.

    >>> read_support("**YES**, it does."), read_support("No.")
    (True, False)
    """
    words = without_thinking(text)[:200].strip("*_#\"'`.,:;!()[] \n\t").split(maxsplit=1)
    first = words[0].strip("*_\"'`.,:;!()[]").casefold() if words else ""
    if first not in {"yes", "no"}:
        raise UnusableReply("it does not begin with YES or NO: reply with one of these two words", text)
    return first == "yes"


class _Counted:
    """Reads lists of numbers, counting the replies."""

    def __init__(self) -> None:
        self.calls = 0

    def numbers(self, text: str) -> list[int]:
        """The numbers under ``keep``."""
        self.calls += 1
        found = salvage_json(text)
        listed = found.get("keep") if isinstance(found, dict) else found
        if not isinstance(listed, list):
            raise UnusableReply('the reply is not JSON of the form {"keep": [numbers]}', text)
        return [n for n in listed if isinstance(n, int) and not isinstance(n, bool)]


def _verdict(task: str, values: Mapping[str, str], models: Models, method: str) -> bool:
    if models.chat is None:
        raise ValueError("a verdict needs a chat model; there is none")
    system, user = prompt(task).fill(values)
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_output_tokens=_VERDICT_TOKENS
    )
    try:
        return models.calls.ask(models.chat, request, read_support, stage=task, method=method)
    except UnusableReply:
        return False
