"""Judge answers: scores of two or more answers, the winner of a pair, the differences of a pair.

Each judgement has a score for every aspect or criterion asked for, and the reason that the judge gives for it. A reply
that lacks a score, or holds a value out of range, raises `UnusableReply` after the repair round; a missing reason is
empty.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.models import ChatModel
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import PromptText, as_data, prompt
from polygraph.records import Json
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_line
from polygraph.tasks.parsing.text_lists import parse_text_lists, text_lists_schema

Scores: TypeAlias = Mapping[str, tuple[float, ...]]
"""For each aspect one score per answer, in the order shown."""

ASPECTS = ("comprehensiveness", "relevance", "empowerment", "directness")
"""What `score_pair` asks for (arXiv:2506.06331, section 4.2)."""
HIGHEST = 5
"""Highest score."""
_STAGE = "judge"
"""Stage of the calls in the ledger."""
_MAX_REPLY_TOKENS = 900
_MAX_REASON = 400
"""Characters kept of a reason."""
_MAX_DIFFERENCES_TOKENS = 3_000
_MAX_STATEMENTS = 100
"""Read of each kind."""


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What a judge says about some answers."""

    scores: Scores
    reasons: Mapping[str, str] = field(default_factory=dict)
    """For each aspect why the answers get their scores; aspects without a reason are missing."""


def score_pair(
    question: str,
    first: str,
    second: str,
    chat: ChatModel,
    calls: Calls,
    *,
    temperature: float,
    sample: int,
) -> JudgeReply:
    """Score two answers from 0 to 5 on four aspects, with reasons; one call.

    Args:
        question: answered by both.
        first: shown first.
        second: shown second.
        chat: the judge.
        calls: sends the request.
        temperature: above 0; otherwise repeats are copies of each other.
        sample: number of the reply, if the same request is sent several times.

    Raises:
        UnusableReply: if a score is missing or not a whole number from 0 to 5, also after the repair round.
    """
    system, user = prompt("judge_scores").fill(
        {
            "question": question,
            "first": as_data(first, "first_answer"),
            "second": as_data(second, "second_answer"),
        }
    )
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        temperature=temperature,
        schema=_schema(ASPECTS, 2),
        sample=sample,
    )
    return calls.ask(chat, request, lambda text: parse_scores(text, ASPECTS, 2), stage=_STAGE)


def score_list(
    question: str,
    answers: Sequence[str],
    chat: ChatModel,
    calls: Calls,
    *,
    temperature: float,
    sample: int,
) -> JudgeReply:
    """Score several answers at once on the four aspects; one call.

    Args:
        question: answered by all.
        answers: in the order shown, at least two.
        chat: the judge.
        calls: sends the request.
        temperature: above 0; otherwise repeats are copies of each other.
        sample: number of the reply, if the same request is sent several times.

    Raises:
        UnusableReply: if a score is missing or not a whole number from 0 to 5, also after the repair round.
    """
    n = len(answers)
    shown = "\n\n".join(f"Answer {i}:\n{as_data(text, f'answer_{i}')}" for i, text in enumerate(answers, 1))
    system, user = prompt("judge_list").fill({"n": n, "question": question, "answers": PromptText(shown)})
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS + 100 * n,
        temperature=temperature,
        schema=_schema(ASPECTS, n),
        sample=sample,
    )
    return calls.ask(chat, request, lambda text: parse_scores(text, ASPECTS, n), stage=_STAGE)


def choose_winner(
    question: str,
    first: str,
    second: str,
    criteria: Mapping[str, str],
    chat: ChatModel,
    calls: Calls,
    *,
    ties: bool,
    temperature: float,
    sample: int,
) -> JudgeReply:
    """Name a winner for each criterion; one call.

    Args:
        question: answered by both.
        first: shown first.
        second: shown second.
        criteria: description of each by name, in order.
        chat: the judge.
        calls: sends the request.
        ties: whether the judge may call a tie.
        temperature: of the judge.
        sample: number of the reply, if the same request is sent several times.

    Returns:
        For each criterion 1 for the winner and 0 for the other; one half each for a tie; and the reasons.

    Raises:
        UnusableReply: if a winner is missing, also after the repair round.
    """
    system, user = prompt("judge_winner").fill(
        {
            "tie_rule": ", 0 if they are equally good" if ties else "; you must choose one",
            "criteria": "\n".join(f"- {name}: {meaning}" for name, meaning in criteria.items()),
            "form": ", ".join(f'"{name}": {{"reason": "...", "winner": N}}' for name in criteria),
            "question": question,
            "first": as_data(first, "first_answer"),
            "second": as_data(second, "second_answer"),
        }
    )
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        temperature=temperature,
        schema=_winners_schema(list(criteria), ties),
        sample=sample,
    )
    return calls.ask(chat, request, lambda text: _winners(text, criteria, ties), stage=_STAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Statements that both answers make and statements that only one makes, one sentence each."""

    common: tuple[str, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def find_differences(question: str, first: str, second: str, chat: ChatModel, calls: Calls) -> Differences:
    """List the statements that two answers share and those that only one makes; one call.

    Raises:
        UnusableReply: if the reply holds none of the lists, also after the repair round.
    """
    system, user = prompt("differences").fill(
        {
            "question": question,
            "first": as_data(first, "first_answer"),
            "second": as_data(second, "second_answer"),
        }
    )
    fields = ("common", "only_first", "only_second")
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_DIFFERENCES_TOKENS,
        schema=text_lists_schema(fields),
    )
    lists = calls.ask(
        chat,
        request,
        lambda text: parse_text_lists(text, fields, most=_MAX_STATEMENTS, characters=1_000),
        stage=_STAGE,
    )
    return Differences(common=lists[0], only_first=lists[1], only_second=lists[2])


def parse_scores(text: str, aspects: Sequence[str], n: int) -> JudgeReply:
    """Parse whole scores from 0 to `HIGHEST`, `n` for each aspect, and their reasons.

    The value of an aspect is an object with `scores` and `reason`, or the list of scores alone.

    Raises:
        UnusableReply: naming the aspect that is wrong.

    >>> parse_scores('{"directness": {"reason": "The first digresses.", "scores": [3, 5]}}', ("directness",), 2)
    JudgeReply(scores={'directness': (3.0, 5.0)}, reasons={'directness': 'The first digresses.'})
    """
    found, reasons = _by_aspect(text, "scores")
    scores = {}
    for aspect in aspects:
        values = found.get(aspect)
        if not isinstance(values, list) or len(values) != n:
            raise UnusableReply(f'"{aspect}" must be a list of {n} whole numbers from 0 to {HIGHEST}', text)
        scores[aspect] = tuple(_score(value, aspect, text) for value in values)
    return JudgeReply(scores, {aspect: reasons[aspect] for aspect in aspects if aspect in reasons})


def _by_aspect(text: str, part: str) -> tuple[dict[str, Json], dict[str, str]]:
    """Return, for each aspect of a reply, that part of its object that holds the judgement, and the reason.

    Raises:
        UnusableReply: if the reply is not an object.
    """
    found = repair_json(text)
    if not isinstance(found, dict):
        raise UnusableReply("the reply is not a JSON object", text)
    by_aspect = {str(key).strip().casefold(): value for key, value in found.items()}
    values = {name: v.get(part) if isinstance(v, dict) else v for name, v in by_aspect.items()}
    given = {name: v.get("reason") for name, v in by_aspect.items() if isinstance(v, dict)}
    reasons = {
        name: line
        for name, reason in given.items()
        if isinstance(reason, str) and (line := field_line(reason, _MAX_REASON))
    }
    return values, reasons


def _winners(text: str, criteria: Mapping[str, str], ties: bool) -> JudgeReply:
    found, reasons = _by_aspect(text, "winner")
    scores_of = {"1": (1.0, 0.0), "2": (0.0, 1.0)} | ({"0": (0.5, 0.5)} if ties else {})
    scores = {}
    for name in criteria:
        named = re.search(r"[0-2]", str(found.get(name.casefold(), "")))
        if named is None or named.group() not in scores_of:
            raise UnusableReply(f'"{name}" must be one of {", ".join(sorted(scores_of))}', text)
        scores[name] = scores_of[named.group()]
    return JudgeReply(
        scores, {name: reasons[name.casefold()] for name in criteria if name.casefold() in reasons}
    )


def _score(value: object, aspect: str, text: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= HIGHEST or number != int(number):
        raise UnusableReply(f'"{aspect}" holds {value!r}; a whole number from 0 to {HIGHEST} is needed', text)
    return number


def _winners_schema(criteria: Sequence[str], ties: bool) -> Mapping[str, Any]:
    return _by_name(criteria, {"winner": {"type": "integer", "enum": [0, 1, 2] if ties else [1, 2]}})


def _schema(aspects: Sequence[str], n: int) -> Mapping[str, Any]:
    numbers = {
        "type": "array",
        "items": {"type": "integer", "minimum": 0, "maximum": HIGHEST},
        "minItems": n,
        "maxItems": n,
    }
    return _by_name(aspects, {"scores": numbers})


def _by_name(names: Sequence[str], judgement: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an object that has a reason and a judgement under each name."""
    judged = object_schema({"reason": {"type": "string"}, **judgement})
    return object_schema(dict.fromkeys(names, judged))
