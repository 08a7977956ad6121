"""Yes-or-no checks: whether evidence suffices, whether an answer holds, which rows fulfil a condition.

ROGRAG, arXiv:2503.06474, section 6.3 and algorithm 4: argument checking before an answer is written, result checking
after it. The first word of the reply decides. A reply that is neither yes nor no, also after the repair round, counts
as no; an unusable list of rows keeps none of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.models.thread_pool import map_in_order
from polygraph.prompts import as_data, numbered, prompt
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.sentences import Passage
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import item_numbers, without_thinking

_VERDICT_TOKENS = 200
_ROWS_PER_CALL = 40
_MAX_ROW_CHARACTERS = 600
_SCHEMA: Mapping[str, Any] = object_schema({"keep": {"type": "array", "items": {"type": "integer"}}})


def evidence_suffices(
    question: str, context: str, passages: Sequence[Passage], models: Models, *, method: str
) -> bool:
    """Return whether a context suffices to answer (argument checking): one call with a model.

    Without a model: whether its passages give an extractive answer.
    """
    if models.chat is None:
        return bool(answer_with_sentences(question, passages, models).sentences)
    values = {"evidence": as_data(context, "evidence", keep_numbers=True), "question": question}
    return _verdict("supports", values, models, method)


def answer_holds(question: str, context: str, reply: str, models: Models, *, method: str) -> bool:
    """Return whether the context supports an answer (result checking); one call.

    Raises:
        ValueError: if there is no chat model.
    """
    values = {
        "evidence": as_data(context, "evidence", keep_numbers=True),
        "answer": as_data(reply, "answer"),
        "question": question,
    }
    return _verdict("answered", values, models, method)


def filter_rows(rows: Sequence[str], condition: str, models: Models, *, method: str) -> tuple[list[int], int]:
    """Return the rows that fulfil a condition, 40 rows in one call.

    Args:
        rows: a text for each.
        condition: in words.
        models: with a chat model.
        method: for the ledger.

    Returns:
        Positions of the rows, ascending, and the number of replies. Rows of an unusable reply are not included.

    Raises:
        ValueError: if there is no chat model.
    """
    if models.chat is None:
        raise ValueError("rows are judged by a chat model; there is none")
    chat = models.chat

    def judge(start: int) -> tuple[list[int], int]:
        batch = rows[start : start + _ROWS_PER_CALL]
        listing = numbered([text[:_MAX_ROW_CHARACTERS] for text in batch], "rows")
        system, user = prompt("keep_rows").fill(
            {"rows": as_data(listing, "rows"), "condition": " ".join(condition.split())}
        )
        request = ChatRequest(
            messages=opening(system, user),
            max_output_tokens=_VERDICT_TOKENS + 4 * _ROWS_PER_CALL,
            schema=_SCHEMA,
        )
        parser = _NumbersParser(len(batch))
        try:
            found = models.calls.ask(chat, request, parser, stage="keep_rows", method=method)
        except UnusableReply:
            found = set()
        return [start + n - 1 for n in sorted(found)], parser.calls

    judged = map_in_order(judge, range(0, len(rows), _ROWS_PER_CALL))
    return [i for positions, _ in judged for i in positions], sum(n for _, n in judged)


def parse_verdict(text: str) -> bool:
    """Parse the verdict that a reply begins with.

    Raises:
        UnusableReply: if its first word is neither yes nor no.

    >>> parse_verdict("**YES**, it does."), parse_verdict("No.")
    (True, False)
    """
    words = without_thinking(text)[:200].strip("*_#\"'`.,:;!()[] \n\t").split(maxsplit=1)
    first = words[0].strip("*_\"'`.,:;!()[]").casefold() if words else ""
    if first not in {"yes", "no"}:
        raise UnusableReply("it does not begin with YES or NO: reply with one of these two words", text)
    return first == "yes"


class _NumbersParser:
    """Parses the numbers of rows under ``keep``, and counts the replies."""

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self.calls = 0

    def __call__(self, text: str) -> set[int]:
        self.calls += 1
        found = repair_json(text)
        listed = found.get("keep") if isinstance(found, dict) else found
        if not isinstance(listed, list):
            raise UnusableReply('the reply is not JSON of the form {"keep": [numbers]}', text)
        return item_numbers(listed, self._n_rows)


def _verdict(task: str, values: Mapping[str, str], models: Models, method: str) -> bool:
    if models.chat is None:
        raise ValueError("a verdict needs a chat model; there is none")
    system, user = prompt(task).fill(values)
    request = ChatRequest(messages=opening(system, user), max_output_tokens=_VERDICT_TOKENS)
    try:
        return models.calls.ask(models.chat, request, parse_verdict, stage=task, method=method)
    except UnusableReply:
        return False
