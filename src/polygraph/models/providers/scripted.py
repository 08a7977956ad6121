"""A language model and an embedder that follow a script, for tests, documentation and your own tests."""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from polygraph.models.protocols import ChatReply, ChatRequest, TextKind, Vectors
from polygraph.models.providers.static import HashEmbedder
from polygraph.text.tokens import count_tokens, truncate

Handler: TypeAlias = Callable[[ChatRequest], str]
Matcher: TypeAlias = str | re.Pattern[str] | Callable[[ChatRequest], bool]
Rule: TypeAlias = tuple[Matcher, str | Handler]

_TASK = re.compile(r"^[ \t]*task:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]")


def task_of(request: ChatRequest) -> str:
    """Return the name of the task in a request: the word after ``Task:`` in the system part, else empty.

    >>> from polygraph.models.protocols import Message
    >>> task_of(ChatRequest(messages=(Message("system", "Task: extract"),)))
    'extract'
    """
    for message in request.messages:
        if message.role == "system" and (found := _TASK.search(message.content)):
            return found.group(1).lower()
    return ""


# --- language model -------------------------------------------------------------------------------------


class ScriptedChat:
    """A language model that replies by a script.

    The reply comes from the first rule that matches; else from the handler of the task; else, if there is a schema, it
    is a small value that follows it; else it is the first two sentences of the last turn.

    Args:
        rules: pairs of a matcher (text contained in some turn, a pattern, or a function of the request) and
            a reply (text, or a function of the request).
        replies: handlers by name of task.
        name: of the model.

    >>> from polygraph.models.protocols import Message
    >>> model = ScriptedChat([("capital", "Ulaanbaatar.")])
    >>> model.chat(ChatRequest(messages=(Message("user", "What is the capital of Mongolia?"),))).text
    'Ulaanbaatar.'
    """

    local = True

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        *,
        replies: Mapping[str, Handler] | None = None,
        name: str = "scripted",
    ) -> None:
        self.rules = tuple(rules)
        self.replies = dict(replies or {})
        self._name = name
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []
        """Requests received, in the order of arrival."""

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._name

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Reply by the script; tokens are counted by `polygraph.text.tokens`."""
        with self._lock:
            self.requests.append(request)
        reply = counted_reply(request, self._reply_text(request))
        if on_text is not None:
            for piece in stream_pieces(reply.text):
                on_text(piece)
        return reply

    def _reply_text(self, request: ChatRequest) -> str:
        for matcher, answer in self.rules:
            if _matches(matcher, request):
                return answer if isinstance(answer, str) else answer(request)
        task = task_of(request)
        handler = self.replies.get(task)
        if handler is not None:
            return handler(request)
        echo = first_sentences(request)
        if request.schema is not None:
            return json.dumps(fill(request.schema, echo), ensure_ascii=False)
        return echo


def _matches(matcher: Matcher, request: ChatRequest) -> bool:
    if isinstance(matcher, str):
        return any(matcher in message.content for message in request.messages)
    if isinstance(matcher, re.Pattern):
        return any(matcher.search(message.content) for message in request.messages)
    return matcher(request)


def counted_reply(request: ChatRequest, text: str) -> ChatReply:
    """Return a reply with its token counts, truncated at the request's limit."""
    reads, writes, limit = request.n_tokens, count_tokens(text), request.max_output_tokens
    if limit is not None and writes > limit:
        text = truncate(text, limit)
        return ChatReply(text=text, prompt_tokens=reads, completion_tokens=limit, finish="length")
    return ChatReply(text=text, prompt_tokens=reads, completion_tokens=writes)


def stream_pieces(text: str) -> list[str]:
    """Split a text into the pieces in which it is streamed: words with the white space before them."""
    return re.findall(r"\s*\S+|\s+$", text)


def first_sentences(request: ChatRequest) -> str:
    """Return the first two sentences of the last turn."""
    last = request.messages[-1].content if request.messages else ""
    found = [match.group().strip() for match in islice(_SENTENCE.finditer(last[:20_000]), 2)]
    return " ".join(found) or last[:200].strip() or "Nothing was asked."


def fill(schema: Mapping[str, Any], text: str, depth: int = 0) -> Any:
    """Return a small value that follows a JSON schema; strings are `text`.

    >>> fill({"properties": {"title": {"type": "string"}, "rating": {"type": "number"}}}, "Tide")
    {'title': 'Tide', 'rating': 5}
    """
    if schema.get("enum"):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return fill(schema[key][0], text, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object" or "properties" in schema:
        items = schema.get("properties", {}).items()
        return {name: fill(part, text, depth + 1) for name, part in items} if depth < 8 else {}
    if kind == "array":
        items = schema.get("items", {})
        return [fill(items, text, depth + 1)] if schema.get("minItems") and depth < 8 else []
    if kind in {"number", "integer"}:
        value = max(5, schema.get("minimum", 5))
        return min(value, schema.get("maximum", value))
    if kind == "boolean":
        return True
    return None if kind == "null" else text[: schema.get("maxLength", len(text))]


# --- embedder -------------------------------------------------------------------------------------------


class ScriptedEmbedder:
    """`HashEmbedder` with any name and any dimension up to 256."""

    local = True

    def __init__(self, *, name: str = "scripted-embedder", dimension: int = 64) -> None:
        self._hash = HashEmbedder()
        self._name = name
        self._dimension = dimension
        self.texts: list[str] = []
        """Texts embedded, in the order of arrival."""

    @property
    def name(self) -> str:
        """Name of the embedder."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Longest text that is read whole."""
        return self._hash.max_tokens

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return unit vectors, shape ``(len(texts), dimension)``."""
        self.texts.extend(texts)
        whole = self._hash.embed(texts, kind)
        folded = np.zeros((len(texts), self._dimension))
        for begin in range(0, whole.shape[1], self._dimension):
            part = whole[:, begin : begin + self._dimension]
            folded[:, : part.shape[1]] += part
        # Row by row in float64: the same bytes whatever the neighbours.
        lengths = np.sqrt((folded * folded).sum(axis=1, keepdims=True))
        return (folded / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Words of each text."""
        return self._hash.count(texts)
