"""Extract entities and relations from a text, glean what was missed, and ask whether anything is left.

The format of the records belongs to the extractor, so `extract` and `glean` take the parser as an argument. A gleaning
call repeats the conversation word for word and adds one turn, so that the endpoint can reuse the prefix; the line that
names the task is therefore the first line of that last turn. A reply that the parser cannot use raises
`UnusableReply` after the repair round; the extractor marks the window as failed.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from polygraph.errors import UnusableReply
from polygraph.models import Calls
from polygraph.models.protocols import ChatModel, ChatRequest, Message, opening
from polygraph.prompts import as_data, prompt, without_chat_markers
from polygraph.tasks.parsing.short_replies import printable, yes_no

T = TypeVar("T")

TOKENS_PER_RECORD = 64
"""Reserved for one record of the reply. The records of 192 real replies take 36 tokens on average in our format, and
less than 48 in nine replies of ten."""
MAX_TYPES = 50
MAX_TITLE = 300
"""Characters of a title in the prompt."""
MAX_FIELDS = 700
"""Characters of the fields of a document, and of the section, in the prompt."""
VERDICT_TOKENS = 200
"""For YES or NO, and a sentence from models that add one."""


def extract_request(
    text: str, *, title: str = "", fields: str = "", entity_types: Sequence[str] = (), max_records: int = 60
) -> ChatRequest:
    """Build the request for the entities and relations of a text.

    Instructions, limits and types are the same for all texts of a build and come first; the title and text come last,
    marked as data, with the fields of the document (date, author, parties) and the section between them. A text that
    begins with its title is not given it twice.
    """
    types = "; ".join(filter(None, map(_type, entity_types[:MAX_TYPES])))
    wanted = f"only entities of these types, and relations between them: {types}" if types else "any"
    heading = " ".join(title.split())[:MAX_TITLE]
    if text.lstrip("# \n").startswith(heading):
        heading = ""
    above = "\n".join(part for part in (heading, " ".join(fields.split())[:MAX_FIELDS]) if part)
    document = as_data(f"{above}\n\n{text}" if above else text)
    system, user = prompt("extract").fill({"max_records": max_records, "types": wanted, "document": document})
    return ChatRequest(
        messages=opening(system, user),
        max_output_tokens=TOKENS_PER_RECORD * max_records,
    )


def glean_request(before: ChatRequest, reply: str) -> ChatRequest:
    """Build the request for what a reply left out: the conversation so far and one more turn."""
    return _continued(before, reply, "glean", before.max_output_tokens)


def more_left_request(before: ChatRequest, reply: str) -> ChatRequest:
    """Build the request that asks whether a reply left anything out."""
    return _continued(before, reply, "more_left", VERDICT_TOKENS)


def extract(
    calls: Calls,
    model: ChatModel,
    request: ChatRequest,
    parse: Callable[[str], T],
    on_finish: Callable[[str], None] | None = None,
) -> T:
    """Extract the entities and relations of a text.

    Args:
        calls: sends the request.
        model: the chat model.
        request: from `extract_request`.
        parse: parses the records; raises `UnusableReply` if it finds none.
        on_finish: called with the finish reason of each reply.

    Raises:
        UnusableReply: if the reply of the repair round is unusable too.
        BudgetReached, ModelUnavailable, ModelRefused: from `calls`.
    """
    return calls.ask(model, request, parse, stage="extract", on_finish=on_finish)


def glean(
    calls: Calls,
    model: ChatModel,
    request: ChatRequest,
    parse: Callable[[str], T],
    on_finish: Callable[[str], None] | None = None,
) -> T:
    """Extract what a first reply missed; arguments and errors as for `extract`."""
    return calls.ask(model, request, parse, stage="glean", on_finish=on_finish)


def more_left(calls: Calls, model: ChatModel, request: ChatRequest) -> bool:
    """Ask whether a reply left anything out; errors as for `extract`."""
    return calls.ask(model, request, parse_more_left, stage="more_left")


def parse_more_left(text: str) -> bool:
    """Parse YES or NO.

    Raises:
        UnusableReply: if it is neither.

    >>> parse_more_left("**NO**")
    False
    """
    verdict = yes_no(text)
    if verdict is None:
        raise UnusableReply("it is neither YES nor NO: reply with one of these two words", text)
    return verdict


def _continued(before: ChatRequest, reply: str, name: str, max_output_tokens: int | None) -> ChatRequest:
    task, question = prompt(name).fill({})
    turns = (
        Message("assistant", without_chat_markers(reply.strip()) or "NONE\nEND"),
        Message("user", f"{task}\n\n{question}"),
    )
    return ChatRequest(messages=(*before.messages, *turns), max_output_tokens=max_output_tokens)


def _type(name: str) -> str:
    """Return the name of a type on one line, without the separators of the list."""
    return " ".join(printable(name).replace(";", " ").replace("|", " ").split())[:60].lower()
