"""Results of the steps of a logic form, and references to them by alias."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from polygraph.records import Json
from polygraph.retrieve.methods.rograg.fact_search import Fact, LinkedName
from polygraph.retrieve.methods.rograg.operators import Row
from polygraph.tasks.questions.plan import REFERENCE, PlanStep, referenced_aliases
from polygraph.text.quantities import Quantity

REFERENCED_ROWS = 5
"""Rows of an earlier result that a reference to it stands for."""
LISTED = 12
"""Names that a result lists in words."""
_SHOWN = 30
"""Rows and triples of a step in the trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The result of a step, with the triples and passages it rests on."""

    step: PlanStep
    question: str = ""
    """What the step finds out, with the results of earlier steps by name."""
    text: str = ""
    """In words; empty if nothing was found."""
    rows: tuple[Row, ...] = ()
    facts: tuple[Fact, ...] = ()
    chunks: tuple[str, ...] = ()
    """Ids of passages, best first."""
    label: str = ""
    """What the result is about, for comparisons."""
    quantity: Quantity | None = None
    """Its value in arithmetic, if code has computed one."""
    linked: tuple[LinkedName, ...] = ()
    calls: int = 0
    """Model calls, not counting repairs."""
    problem: str = ""

    def as_json(self) -> Json:
        """Return the result for a trace."""
        return {
            "alias": self.step.alias,
            "operator": self.step.operator,
            "question": self.question or self.step.question,
            "linked": [[item.text, list(item.rows), round(item.score, 6)] for item in self.linked],
            "facts": [[f.triple.id, f.score] for f in self.facts[:_SHOWN]],
            "rows": [row.name for row in self.rows[:_SHOWN]],
            "result": self.text,
            "calls": self.calls,
            "problem": self.problem,
        }

    def as_row(self) -> Row:
        """Return the result as one row to compare: first its answer, then the texts of its rows."""
        only = self.rows[0] if len(self.rows) == 1 else None
        texts = (self.text, *(text for row in self.rows[:REFERENCED_ROWS] for text in row.texts))
        return Row(
            key=only.key if only is not None and only.entity is not None else self.step.alias,
            name=self.label or (only.name if only else self.text),
            texts=tuple(dict.fromkeys(text for text in texts if text)),
            facts=tuple(f.n for f in self.facts),
            chunks=self.chunks,
            entity=only.entity if only else None,
        )


class Results(dict[str, StepResult]):
    """Results of the steps run so far, by alias."""

    def referenced(self, text: str) -> Sequence[Row] | None:
        """Return the rows that a text such as ``@alias`` refers to; None if it is not a reference."""
        match = REFERENCE.fullmatch(text)
        return None if match is None else self[match.group(1)].rows[:REFERENCED_ROWS]

    def substitute(self, text: str) -> str:
        """Replace the references in a text by the names they stand for."""

        def names_of(match: re.Match[str]) -> str:
            result = self.get(match.group(1))
            if result is None:
                return match.group(1)
            names = ", ".join(row.name for row in result.rows[:REFERENCED_ROWS])
            return (names or result.text or match.group(1))[:200]

        return REFERENCE.sub(names_of, text)

    def question_of(self, step: PlanStep) -> str:
        """Return what a step finds out as a question that stands on its own.

        Aliases are replaced by the names they stand for. If the question lacks the names found by a step that it
        builds on, as in "When was it built?", they are added with the question of that step, after those of the steps
        that this one builds on.
        """
        question = self.substitute(step.question)
        added = [
            f"{self.substitute(result.step.question)} {names}".strip()
            for result in self.with_ancestors(
                [alias for alias in referenced_aliases(step) if self._names_missing(alias, question)]
            )
            if (names := self._names_missing(result.step.alias, question))
        ]
        return f"{question} (Found before: {'; '.join(added)})" if added else question

    def _names_missing(self, alias: str, question: str) -> str:
        """Return the names that a step has found, or nothing if it found none or the question has them."""
        result = self.get(alias)
        names = self.substitute(f"@{alias}") if result is not None and (result.rows or result.text) else ""
        return "" if names.casefold() in question.casefold() else names

    def with_ancestors(self, aliases: Collection[str]) -> list[StepResult]:
        """Return the results of some steps and of all steps that they build on, in the order of the plan."""
        wanted: set[str] = set()
        waiting = [alias for alias in aliases if alias in self]
        while waiting:
            alias = waiting.pop()
            if alias not in wanted:
                wanted.add(alias)
                step = self[alias].step
                named = [*referenced_aliases(step), *REFERENCE.findall(step.question)]
                waiting += [other for other in named if other in self]
        return [result for alias, result in self.items() if alias in wanted]


def list_names(rows: Sequence[Row]) -> str:
    """Write the names of rows in brackets, with a leading space; empty without rows."""
    if not rows:
        return ""
    more = f" and {len(rows) - LISTED} more" if len(rows) > LISTED else ""
    return f" ({'; '.join(row.name for row in rows[:LISTED])}{more})"
