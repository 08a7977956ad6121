"""Decompose a question into a logic form: retrieval steps, and operators over their results.

ROGRAG, arXiv:2503.06474, section 3.2 and algorithm 2; the set of operators is that of KAG (arXiv:2409.13731), where
ROGRAG's `get_spo` is called `retrieve` and its `get` `output`. Asks for the plan as JSON. A plan that is still
unusable after the repair round is asked for again with the reason, up to `retries` calls in all; then the plan is
empty. Without a model, `plan_by_rules` plans by question words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, Message, opening
from polygraph.prompts import neutralize, prompt, without_chat_markers
from polygraph.records import Json
from polygraph.tasks.parsing.json_repair import repair_json
from polygraph.tasks.parsing.schemas import object_schema
from polygraph.tasks.parsing.short_replies import field_line
from polygraph.text.prose import count_noun
from polygraph.text.words import phrases, stem, words

OPERATORS = frozenset({"retrieve", "filter", "sort", "count", "sum", "compare", "math", "deduce", "output"})
_SYNONYMS: Mapping[str, str] = {"get_spo": "retrieve", "retrieval": "retrieve", "get": "output"}
MAX_STEPS = 8
_MAX_CHARACTERS = 300
"""Most characters of one field."""
_MAX_REPLY_TOKENS = 1_200
_TEXT: Mapping[str, Any] = {"type": "string"}
SCHEMA: Mapping[str, Any] = object_schema(
    {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["question", "operator"],
                "properties": {
                    "question": _TEXT,
                    "operator": {
                        "type": "string",
                        "enum": ["retrieve", *sorted(OPERATORS - {"retrieve"})],
                    },
                    "alias": _TEXT,
                    **dict.fromkeys(
                        ("subject", "predicate", "object", "subject_type", "object_type", "where"), _TEXT
                    ),
                    "of": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]},
                    **dict.fromkeys(("condition", "key", "direction", "op"), _TEXT),
                    "limit": {"type": "integer"},
                    **dict.fromkeys(("expression", "content", "kind"), _TEXT),
                },
            },
        }
    }
)
"""JSON schema of a plan. A step has the fields of its operator, so only the question and the operator are required."""
_ALIAS = re.compile(r"[^\W\d]\w{0,29}")
REFERENCE = re.compile(r"@([^\W\d]\w{0,29})")
"""A reference to the result of an earlier step by its alias."""
_EXPRESSION_NAME = re.compile(r"@?([^\W\d]\w{0,29})(?:\.\w{1,20})?(?![\w(])")
_ARITHMETIC = frozenset({"abs", "avg", "ceil", "floor", "max", "min", "round", "sqrt", "sum"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One call of an operator. Fields that the operator does not use are empty."""

    question: str
    """What the step is to find out."""
    operator: str
    """One of `OPERATORS`."""
    alias: str
    """Name of the result for later steps."""
    subject: str = ""
    """A name, ``@alias``, or empty for the unknown; likewise `object`."""
    predicate: str = ""
    object: str = ""
    subject_type: str = ""
    object_type: str = ""
    where: str = ""
    """A condition on the statements."""
    of: tuple[str, ...] = ()
    """Aliases of the arguments, without ``@``."""
    key: str = ""
    op: str = ""
    direction: str = ""
    """``min`` for ascending order; empty for the largest or latest first."""
    limit: int = 0
    condition: str = ""
    expression: str = ""
    content: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A logic form."""

    steps: tuple[PlanStep, ...]
    """Empty if there is no valid plan."""
    dropped: tuple[str, ...] = ()
    """Steps that were dropped, as ``step n: unknown operator``."""
    problems: tuple[str, ...] = ()
    """The fault of each rejected plan."""
    calls: int = 0
    """Replies of the model that were parsed."""


def plan(
    question: str,
    models: Models,
    *,
    method: str,
    names: Sequence[str] = (),
    retries: int = 3,
    max_steps: int = MAX_STEPS,
) -> Plan:
    """Decompose a question: one call with a model, and one more for each rejected plan.

    A plan is rejected if it is not JSON or uses an alias before it is defined; the next call gives the reason. A step
    with an unknown operator is dropped, and the others are kept.

    Args:
        question: any text.
        models: without a chat model, `plan_by_rules` makes the plan.
        method: for the ledger.
        names: entities that the question names, for the rules.
        retries: maximum number of calls after the first.
        max_steps: further steps are ignored.
    """
    if models.chat is None:
        return plan_by_rules(question, names)
    system, user = prompt("plan").fill({"question": question, "max_steps": max_steps})
    request = ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=SCHEMA,
    )
    parser = _PlanParser(retries + 1, max_steps)
    while parser.calls <= retries:
        try:
            found = models.calls.ask(models.chat, request, parser, stage="plan", method=method)
        except UnusableReply as error:
            # The repair round has failed: show the model its reply and the fault once more.
            request = replace(
                request,
                messages=(
                    *request.messages,
                    Message("assistant", without_chat_markers(error.raw[:4_000].strip()) or "(nothing)"),
                    Message(
                        "user",
                        f"That plan cannot be used: {neutralize(error.problem)}. Write the whole plan again.",
                    ),
                ),
            )
        else:
            return replace(found, problems=tuple(parser.problems), calls=parser.calls)
    return Plan(steps=(), problems=tuple(parser.problems), calls=parser.calls)


class _PlanParser:
    """Parses and counts plans; the last one is never rejected, so that no further call is made."""

    def __init__(self, max_calls: int, max_steps: int) -> None:
        self.max_calls = max_calls
        self.max_steps = max_steps
        self.calls = 0
        self.problems: list[str] = []

    def __call__(self, text: str) -> Plan:
        self.calls += 1
        try:
            return parse_plan(text, max_steps=self.max_steps)
        except UnusableReply as error:
            self.problems.append(error.problem)
            if self.calls >= self.max_calls:
                return Plan(steps=())
            raise


def parse_plan(text: str, *, max_steps: int = MAX_STEPS) -> Plan:
    """Parse a reply to `plan`.

    Raises:
        UnusableReply: if it is not a plan, has no step `retrieve`, or uses an alias before it is defined or defines it
            twice.

    >>> parse_plan('[{"question": "Who?", "operator": "get_spo", "object": "Alder Mill"}]').steps[0].alias
    's1'
    """
    found = repair_json(text)
    items = found.get("steps") if isinstance(found, dict) else found
    if not isinstance(items, list):
        raise UnusableReply('the reply is not JSON of the form {"steps": [...]}', text)
    steps: list[PlanStep] = []
    dropped: list[str] = []
    for n, item in enumerate(items[:max_steps], 1):
        if not isinstance(item, dict):
            dropped.append(f"step {n}: not an object")
            continue
        operator = _text(item, "operator").casefold()
        operator = _SYNONYMS.get(operator, operator)
        if operator in OPERATORS:
            steps.append(_step(item, operator, n))
        else:
            dropped.append(f"step {n}: {operator or 'no operator'}")
    if len(items) > max_steps:
        dropped.append(f"{count_noun(len(items) - max_steps, 'step')} beyond {max_steps}")
    if not any(step.operator == "retrieve" for step in steps):
        raise UnusableReply("the plan has no step with the operator retrieve", text)
    defined: set[str] = set()
    for n, step in enumerate(steps, 1):
        unknown = [alias for alias in referenced_aliases(step) if alias not in defined]
        if unknown:
            raise UnusableReply(f"step {n} uses the alias {unknown[0]!r} before it is defined", text)
        if step.operator != "output" and step.alias in defined:
            raise UnusableReply(f"step {n} defines the alias {step.alias!r} again", text)
        defined.add(step.alias)
    return Plan(steps=tuple(steps), dropped=tuple(dropped))


def referenced_aliases(step: PlanStep) -> list[str]:
    """Return the distinct aliases that a step refers to, in order."""
    found = [*step.of]
    for text in (step.subject, step.object, step.where, step.condition, step.content, step.predicate):
        found += REFERENCE.findall(text)
    found += [name for name in _EXPRESSION_NAME.findall(step.expression) if name not in _ARITHMETIC]
    return list(dict.fromkeys(found))


def _step(item: Mapping[str, Json], operator: str, n: int) -> PlanStep:
    alias = _text(item, "alias").lstrip("@")
    of = item.get("of", item.get("set"))
    listed = of if isinstance(of, list) else [of] if isinstance(of, str) else []
    limit = item.get("limit")
    direction = _text(item, "direction").casefold()
    return PlanStep(
        question=_text(item, "question") or _text(item, "step"),
        operator=operator,
        alias=alias if _ALIAS.fullmatch(alias) else f"s{n}",
        subject=_slot(item, "subject"),
        predicate=_text(item, "predicate"),
        object=_slot(item, "object"),
        subject_type=_text(item, "subject_type"),
        object_type=_text(item, "object_type"),
        where=_text(item, "where"),
        of=tuple(
            dict.fromkeys(str(a).strip().lstrip("@")[:30] for a in listed if isinstance(a, str) and a.strip())
        ),
        key=_text(item, "key"),
        op=_text(item, "op").casefold(),
        direction="min" if direction in {"min", "asc", "ascending"} else "",
        limit=limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 else 0,
        condition=_text(item, "condition"),
        expression=_text(item, "expression"),
        content=_text(item, "content"),
        kind=_text(item, "kind").casefold(),
    )


def _text(item: Mapping[str, Json], name: str) -> str:
    return field_line(item.get(name), _MAX_CHARACTERS)


def _slot(item: Mapping[str, Json], name: str) -> str:
    """Return a name or a reference; empty for question marks and words for the unknown."""
    text = _text(item, name)
    return "" if text.startswith("?") or text.casefold() in {"unknown", "null", "none", "any"} else text


# --- without a model ----------------------------------------------------------------------------------

_COUNT = re.compile(r"\bhow many\b|\bnumber of\b", re.IGNORECASE)
_SUM = re.compile(r"\b(?:in total|altogether|total|sum of|combined)\b", re.IGNORECASE)
_DIFF = re.compile(
    r"\bhow (?:much|many \w+) (?:\w+er|more|less|fewer|later)\b|\bdifference\b|\bby how (?:much|many)\b", re.I
)
_EARLIER = re.compile(r"\b(?:earlier|older|first|before|sooner)\b", re.IGNORECASE)
_LATER = re.compile(r"\b(?:later|younger|newer|after|last)\b", re.IGNORECASE)
_MORE = re.compile(r"\b(?:more|larger|bigger|greater|higher|longer|taller|heavier|dearer)\b", re.IGNORECASE)
_LESS = re.compile(r"\b(?:less|fewer|smaller|lower|shorter|lighter|cheaper)\b", re.IGNORECASE)
_SAME = re.compile(r"\b(?:same|both|equal)\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(
    r"\b(?:(?P<min>earliest|oldest|first|least|smallest|lowest|shortest|cheapest|fewest)|"
    r"(?P<max>latest|newest|youngest|last|most|largest|biggest|highest|longest|tallest|dearest|greatest))\b",
    re.IGNORECASE,
)
_TWO = re.compile(r"\b(?:or|and|than|between|both)\b", re.IGNORECASE)
_MAX_NAMES = 4


def plan_by_rules(question: str, names: Sequence[str] = ()) -> Plan:
    """Plan by question words, without a model.

    One retrieval for the names and the predicate of the question (two names are joined by paths), or one for each name
    if two are compared; then count, sum, sort or compare if the question words ask for it. Questions that need the
    answer to another question first are beyond these rules.

    Args:
        question: any text.
        names: entities of the graph that the question names, if known; otherwise phrases that look like names.

    >>> [s.operator for s in plan_by_rules("Which is older, Alder Mill or Brook Mill?").steps]
    ['retrieve', 'retrieve', 'compare']
    >>> [s.operator for s in plan_by_rules("How many prizes did Dora Kest win?").steps]
    ['retrieve', 'count']
    """
    question = " ".join(question.split())[:2_000]
    found = phrases(question)
    named = _question_entities([text for text, is_name in found if is_name and not text.isdigit()], names)
    name_stems = {stem(word) for name in named for word in words(name)}
    rest = [text for text, _ in found if not {stem(w) for w in words(text)} <= name_stems]
    predicate = " ".join(rest)[:_MAX_CHARACTERS]
    if not named and not predicate:
        return Plan(steps=())
    base = PlanStep(question=question, operator="retrieve", alias="", predicate=predicate)
    op = _comparison(question) if len(named) >= 2 and _TWO.search(question) else ""
    if op:
        retrieve = [
            replace(base, question=f"{name}: {predicate}".rstrip(": "), subject=name) for name in named
        ]
        last = PlanStep(
            question=question, operator="compare", alias="", of=("s1", "s2"), op=op, key=predicate
        )
        return _numbered([*retrieve, last])
    superlative = _SUPERLATIVE.search(question)
    years = [text for text, is_name in found if is_name and text.isdigit()]
    if years and not superlative:
        dates = " ".join(year for year in years if year not in predicate)
        base = replace(base, predicate=f"{predicate} {dates}".strip())
    if len(named) < 2:
        retrieve = [replace(base, subject=named[0] if named else "")]
    else:
        # The connection may not be a path: retrieve the facts about each name as well.
        retrieve = [
            *(replace(base, subject=first, object=second) for first, second in pairwise(named)),
            *(replace(base, subject=name) for name in named),
        ]
    of = tuple(f"s{n}" for n in range(1, len(retrieve) + 1))
    after = PlanStep(question=question, operator="", alias="", of=of)
    if _COUNT.search(question):
        return _numbered([*retrieve, replace(after, operator="count")])
    if _SUM.search(question):
        return _numbered([*retrieve, replace(after, operator="sum", key=predicate)])
    if superlative:
        direction = "min" if superlative["min"] else ""
        key = "date" if superlative.group().casefold() in _BY_DATE else predicate
        return _numbered([*retrieve, replace(after, operator="sort", key=key, direction=direction, limit=5)])
    return _numbered(retrieve)


def _question_entities(found: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return at most four names: those that the graph knows first, then those that look like names."""
    # Lower-case single words count only if nothing else is named.
    distinctive = [name for name in known if name != name.lower() or " " in name]
    named = list(dict.fromkeys([*distinctive, *found])) or list(dict.fromkeys(known))
    # A name inside a longer one is part of it.
    named = [n for n in named if not any(n != o and n.casefold() in o.casefold() for o in named)]
    return named[:_MAX_NAMES]


def _numbered(steps: Sequence[PlanStep]) -> Plan:
    return Plan(steps=tuple(replace(step, alias=f"s{n}") for n, step in enumerate(steps, 1)))


_BY_DATE = frozenset({"earliest", "oldest", "first", "latest", "newest", "youngest", "last"})


def _comparison(question: str) -> str:
    for op, pattern in (
        ("diff", _DIFF), ("eq", _SAME), ("earlier", _EARLIER), ("later", _LATER), ("max", _MORE), ("min", _LESS),
    ):  # fmt: skip
        if pattern.search(question):
            return op
    return ""
