"""Answer one step of a logic form, or conclude something from several (ROGRAG, arXiv:2503.06474, algorithm 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.records import Span
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.sentences import Passage
from polygraph.tasks.output_parsing import printable, salvage_json, without_thinking
from polygraph.text.tokens import truncate

KINDS = ("judgement", "entailment", "extract", "choice", "multi_choice")
"""What `deduce` can be asked for."""
_MAX_REPLY_TOKENS = 400
_MAX_MATERIAL_TOKENS = 4_000
_CHARACTERS = 600
_NAMES = 60
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["answer", "names"],
    "properties": {"answer": {"type": "string"}, "names": {"type": "array", "items": {"type": "string"}}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAnswer:
    """What a step found out."""

    text: str
    """In a few words; empty if the material does not hold it."""
    names: tuple[str, ...] = ()
    """Things that answer it."""
    spans: tuple[Span, ...] = ()
    """Sentences that it was read from, where it is extractive."""


def sub_answer(
    question: str, facts: Sequence[str], passages: Sequence[Passage], models: Models, *, method: str
) -> SubAnswer:
    """Answer a step from what was retrieved for it: one call with a model.

    Without a model: the sentence of the passages that answers best, and no names.

    Args:
        question: of the step.
        facts: statements, best first.
        passages: that they stand in.
        models: in use.
        method: who asks, for the ledger.
    """
    if models.chat is None:
        # Without the cross-encoder, which judges the whole in the end and would have to read every step's passages.
        found = answer_with_sentences(question, passages, replace(models, reranker=None))
        best = found.sentences[:1]
        return SubAnswer(text=best[0].text if best else "", spans=tuple(s.span for s in best))
    lines = [f"- {fact}" for fact in facts]
    texts = [f"{p.title}\n{p.chunk.text}" for p in passages]
    material = truncate("\n".join(["Statements:", *lines, "", "Passages:", *texts]), _MAX_MATERIAL_TOKENS)
    system, user = prompt("sub_answer").fill(
        {"material": as_data(material, "material"), "question": question}
    )
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=_SCHEMA,
    )
    return models.calls.ask(models.chat, request, _read, stage="sub_answer", method=method)


def deduce(
    question: str,
    kind: str,
    known: Sequence[str],
    passages: Sequence[Passage],
    models: Models,
    *,
    method: str,
) -> SubAnswer:
    """Conclude something from what earlier steps found: one call with a model; arguments as for `sub_answer`.

    Without a model nothing is concluded: the best sentence is quoted.
    """
    if models.chat is None:
        return sub_answer(question, known, passages, models, method=method)
    texts = [f"{p.title}\n{p.chunk.text}" for p in passages]
    material = truncate("\n".join([*(f"- {line}" for line in known), *texts]), _MAX_MATERIAL_TOKENS)
    system, user = prompt("deduce").fill(
        {
            "material": as_data(material, "material"),
            # The kind comes from a plan: an unknown one is read as the general one.
            "kind": kind if kind in KINDS else "entailment",
            "question": question,
        }
    )
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_output_tokens=_MAX_REPLY_TOKENS
    )
    return models.calls.ask(models.chat, request, _read_line, stage="deduce", method=method)


def _read(text: str) -> SubAnswer:
    found = salvage_json(text)
    if not isinstance(found, dict) or "answer" not in found:
        raise UnusableReply('the reply is not JSON of the form {"answer": "...", "names": [...]}', text)
    listed = found.get("names")
    names = (
        [_plain(n) for n in listed if isinstance(n, str | int | float)] if isinstance(listed, list) else []
    )
    answer = found["answer"]
    said = _plain(answer) if isinstance(answer, str | int | float) else ""
    return SubAnswer(text=said, names=tuple(dict.fromkeys(n for n in names if n))[:_NAMES])


def _read_line(text: str) -> SubAnswer:
    line = _plain(without_thinking(text))
    if not line:
        raise UnusableReply("the reply was empty", text)
    return SubAnswer(text="" if line.rstrip(".").casefold() == "unknown" else line)


def _plain(value: object) -> str:
    return " ".join(printable(str(value)).split())[:_CHARACTERS]
