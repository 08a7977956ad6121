"""Scripted replies to the tasks of ROGRAG: plan, sub-answer, checks, intent, rows and conclusions."""

import json
import re
from dataclasses import asdict

from polygraph.models.protocols import ChatRequest
from polygraph.tasks.questions.intent import intent_by_rules
from polygraph.tasks.questions.plan import PlanStep, plan_by_rules
from polygraph.testing.scripts.prompt_reading import asked, blocks, content_parts, fenced, last_turn, share

_SUPPORT = 0.5
"""Share of the question's content words that evidence or an answer must hold to pass a check."""
_NAME = r"[A-Z][^ \n]*(?: [A-Z][^ \n]*)*|[^ \n]+"
_ENDS = re.compile(rf"^- ({_NAME}) (?:.{{0,300}}? )??({_NAME})$", re.MULTILINE)
"""A statement: a name, a predicate and a name; a name in lower case is one word."""


def scripted_plan(request: ChatRequest) -> str:
    """Return the plan by question words, as JSON."""
    steps = plan_by_rules(asked(last_turn(request))).steps
    return json.dumps({"steps": [_plain(step) for step in steps]}, ensure_ascii=False)


def scripted_sub_answer(request: ChatRequest) -> str:
    """Return the statement nearest to the question, and its entities that the question does not name."""
    last = last_turn(request)
    question = asked(last)
    wanted = content_parts(question)
    found = _ENDS.finditer(fenced(last, "material"))
    best = max(found, key=lambda m: share(wanted, m.group()), default=None)
    if best is None:
        return json.dumps({"answer": "", "names": []})
    names = [end for end in best.groups() if end.casefold() not in question.casefold()]
    return json.dumps({"answer": best.group().removeprefix("- "), "names": names}, ensure_ascii=False)


def scripted_deduce(request: ChatRequest) -> str:
    """Return the line that shares most words with the question."""
    last = last_turn(request)
    wanted = content_parts(asked(last))
    lines = [line.removeprefix("- ") for line in fenced(last, "material").splitlines() if line.strip()]
    best = max(lines, key=lambda line: share(wanted, line), default="")
    return best if share(wanted, best) else "UNKNOWN"


def scripted_supports(request: ChatRequest) -> str:
    """Reply yes if the evidence holds half of the question's content words."""
    last = last_turn(request)
    return "YES" if share(content_parts(asked(last)), fenced(last, "evidence")) >= _SUPPORT else "NO"


def scripted_answered(request: ChatRequest) -> str:
    """Reply yes if the answer is not a refusal and holds half of the question's content words."""
    last = last_turn(request)
    reply = fenced(last, "answer")
    holds = share(content_parts(asked(last)), reply) >= _SUPPORT and not reply.startswith("NO ANSWER")
    return "YES" if holds else "NO"


def scripted_intent(request: ChatRequest) -> str:
    """Classify by rules, as without a model."""
    return intent_by_rules(fenced(last_turn(request), "text")).upper()


def scripted_keep_rows(request: ChatRequest) -> str:
    """Return the rows that hold every content word of the condition."""
    last = last_turn(request)
    wanted = content_parts(asked(last, "Condition: "))
    kept = [n for n, text in blocks(fenced(last, "rows")) if wanted <= content_parts(text)]
    return json.dumps({"keep": kept})


def _plain(step: PlanStep) -> dict[str, object]:
    fields = {name: value for name, value in asdict(step).items() if value}
    return {**fields, "of": [f"@{alias}" for alias in step.of]} if step.of else fields
