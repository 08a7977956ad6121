"""Extraction of entities and relations: first reading, gleaning, and whether more is left.

Reading the records is the extractor's business, so `extract` and `glean` take the reader as an argument.
A gleaning call repeats the exchange so far word for word and adds one turn: the endpoint can reuse all of
it. The line that names the task is therefore the first of that last turn, since the instructions above it
are those of `extract`.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from polygraph.errors import UnusableReply
from polygraph.models import Calls
from polygraph.models.protocols import ChatModel, ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.tasks.output_parsing import printable, yes_no

T = TypeVar("T")

TOKENS_PER_RECORD = 64
"""Room for one record in the reply. The records of 192 real replies take 36 on average in our form, and in
nine replies of ten less than 48."""
MAX_TYPES = 50
MAX_TITLE = 300
"""Characters of a title that are shown."""
VERDICT_TOKENS = 200
"""Room for a yes or no, with a sentence from models that cannot do without."""


def extract_request(
    text: str, *, title: str = "", entity_types: Sequence[str] = (), max_records: int = 60
) -> ChatRequest:
    """Build the request for the entities and relations of a text.

    Instructions, limits and types are the same for all texts of a build and come first; the text comes last,
    fenced as data together with its title.
    """
    types = "; ".join(_type(name) for name in entity_types[:MAX_TYPES] if _type(name))
    wanted = f"only entities of these types, and relations between them: {types}" if types else "any"
    heading = " ".join(title.split())[:MAX_TITLE]
    document = as_data(f"{heading}\n\n{text}" if heading else text)
    system, user = prompt("extract").fill({"max_records": max_records, "types": wanted, "document": document})
    return ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=TOKENS_PER_RECORD * max_records,
    )


def glean_request(before: ChatRequest, reply: str) -> ChatRequest:
    """Ask for what the reply left out: the exchange so far, and one turn more."""
    return _continued(before, reply, "glean", before.max_output_tokens)


def more_left_request(before: ChatRequest, reply: str) -> ChatRequest:
    """Ask whether the reply left anything out."""
    return _continued(before, reply, "more_left", VERDICT_TOKENS)


def extract(
    calls: Calls,
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[str], T],
    on_finish: Callable[[str], None] | None = None,
) -> T:
    """Have a text read for the first time.

    Args:
        calls: the gate.
        model: whom to ask.
        request: as built by `extract_request`.
        read: reads the records; raises `UnusableReply` if there are none.
        on_finish: told how each reply ended.

    Raises:
        UnusableReply: if the repaired reply cannot be read either.
        BudgetReached, ModelUnavailable, ModelRefused: as the gate raises them.
    """
    return calls.ask(model, request, read, stage="extract", on_finish=on_finish)


def glean(
    calls: Calls,
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[str], T],
    on_finish: Callable[[str], None] | None = None,
) -> T:
    """Have a text read again for what was missed; arguments and errors as for `extract`."""
    return calls.ask(model, request, read, stage="glean", on_finish=on_finish)


def more_left(calls: Calls, model: ChatModel, request: ChatRequest) -> bool:
    """Ask whether a reply left anything out; errors as for `extract`."""
    return calls.ask(model, request, read_verdict, stage="more_left")


def read_verdict(text: str) -> bool:
    """Read YES or NO.

    Raises:
        UnusableReply: if it is neither.

    >>> read_verdict("**NO**")
    False
    """
    verdict = yes_no(text)
    if verdict is None:
        raise UnusableReply("it is neither YES nor NO: reply with one of these two words", text)
    return verdict


def _continued(before: ChatRequest, reply: str, name: str, max_output_tokens: int | None) -> ChatRequest:
    task, question = prompt(name).fill({})
    turns = (Message("assistant", reply.strip() or "NONE\nEND"), Message("user", f"{task}\n\n{question}"))
    return ChatRequest(messages=(*before.messages, *turns), max_output_tokens=max_output_tokens)


def _type(name: str) -> str:
    """One type on one line, without what could end the list."""
    return " ".join(printable(name).replace(";", " ").replace("|", " ").split())[:60].lower()
