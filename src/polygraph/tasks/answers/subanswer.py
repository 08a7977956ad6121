"""Answer one step of a logic form, or deduce an answer from several steps (ROGRAG, arXiv:2503.06474, algorithm 2).

Both return a `SubAnswer`, which is empty if the material does not hold the answer. An unusable reply raises
`UnusableReply` after the repair round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import FENCES, PromptText, as_data, neutralize, numbered, one_line, prompt
from polygraph.records import Span
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.sentences import Passage
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import printable, without_thinking
from polygraph.text.passage import Heading, with_heading
from polygraph.text.tokens import truncate

KINDS = ("judgement", "entailment", "extract", "choice", "multi_choice")
"""The kinds of deduction."""
_MAX_REPLY_TOKENS = 400
_MAX_MATERIAL_TOKENS = 4_000
_MAX_CHARACTERS = 600
_MAX_NAMES = 60
_SCHEMA: Mapping[str, Any] = object_schema(
    {"answer": {"type": "string"}, "names": {"type": "array", "items": {"type": "string"}}}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAnswer:
    """The answer of one step."""

    text: str
    """A few words; empty if the material does not hold the answer."""
    names: tuple[str, ...] = ()
    """Entities that answer the step."""
    spans: tuple[Span, ...] = ()
    """The sentences that it consists of, if no model wrote it."""


def sub_answer(
    question: str, facts: Sequence[str], passages: Sequence[Passage], models: Models, *, method: str
) -> SubAnswer:
    """Answer a step from the facts and passages retrieved for it: one call with a model.

    Without a model: the best sentence of the passages, and no names.

    Args:
        question: of the step.
        facts: statements, best first.
        passages: sources of the facts.
        models: in use.
        method: for the ledger.
    """
    if models.chat is None:
        # Without the cross-encoder, which would read the passages of every step and judges the final answer anyway.
        found = answer_with_sentences(question, passages, replace(models, reranker=None))
        best = found.sentences[:1]
        return SubAnswer(text=best[0].text if best else "", spans=tuple(s.span for s in best))
    lines = [f"- {_neutral(one_line(fact))}" for fact in facts]
    material = truncate(
        "\n".join(["Statements:", *lines, "", "Passages:", _listed(passages)]), _MAX_MATERIAL_TOKENS
    )
    system, user = prompt("sub_answer").fill(
        {"material": as_data(PromptText(material), "material"), "question": question}
    )
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=_SCHEMA,
    )
    return models.calls.ask(models.chat, request, _parse, stage="sub_answer", method=method)


def deduce(
    question: str,
    kind: str,
    known: Sequence[str],
    passages: Sequence[Passage],
    models: Models,
    *,
    method: str,
) -> SubAnswer:
    """Deduce an answer from the results of earlier steps: one call with a model.

    Without a model nothing is deduced: the result is that of `sub_answer`.

    Args:
        question: of the step.
        kind: one of `KINDS`; a plan may name another, which counts as ``entailment``.
        known: results of earlier steps.
        passages: their sources.
        models: in use.
        method: for the ledger.
    """
    if models.chat is None:
        return sub_answer(question, known, passages, models, method=method)
    material = truncate(
        "\n".join([*(f"- {_neutral(one_line(line))}" for line in known), "", _listed(passages)]),
        _MAX_MATERIAL_TOKENS,
    )
    system, user = prompt("deduce").fill(
        {
            "material": as_data(PromptText(material), "material"),
            "kind": kind if kind in KINDS else "entailment",
            "question": question,
        }
    )
    request = ChatRequest(messages=opening(system, user), max_output_tokens=_MAX_REPLY_TOKENS)
    return models.calls.ask(models.chat, request, _parse_line, stage="deduce", method=method)


def _listed(passages: Sequence[Passage]) -> str:
    """Number passages below what is known of their documents, with the date: `41 years old` may be asked for.

    A passage holds empty lines, which would not tell where one ends.
    """
    return numbered(
        [
            with_heading(
                Heading(one_line(p.title), f"date: {one_line(p.date)}" if p.date else ""),
                p.chunk.text,
                p.chunk.metadata,
            )
            for p in passages
        ],
        "material",
    )


def _neutral(text: str) -> str:
    return neutralize(text, FENCES["material"])


def _parse(text: str) -> SubAnswer:
    found = repair_json(text)
    if not isinstance(found, dict) or "answer" not in found:
        raise UnusableReply('the reply is not JSON of the form {"answer": "...", "names": [...]}', text)
    listed = found.get("names")
    names = (
        [_plain(n) for n in listed if isinstance(n, str | int | float)] if isinstance(listed, list) else []
    )
    answer = found["answer"]
    text = _plain(answer) if isinstance(answer, str | int | float) else ""
    return SubAnswer(text=text, names=tuple(dict.fromkeys(n for n in names if n))[:_MAX_NAMES])


def _parse_line(text: str) -> SubAnswer:
    line = _plain(without_thinking(text))
    if not line:
        raise UnusableReply("the reply was empty", text)
    return SubAnswer(text="" if line.rstrip(".").casefold() == "unknown" else line)


def _plain(value: object) -> str:
    return " ".join(printable(str(value)).split())[:_MAX_CHARACTERS]
