"""Execution of a logic form: every step binds its result to an alias.

Wang et al. (2025), arXiv:2503.06474, algorithm 2. Code filters, sorts, counts, sums, compares and calculates. A model
answers retrieval steps and draws conclusions, and is asked when code cannot decide.
"""

from collections.abc import Sequence
from dataclasses import replace

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.retrieve.evidence import passages_of
from polygraph.retrieve.methods.rograg import operators
from polygraph.retrieve.methods.rograg.arithmetic import ExpressionError, evaluate, names_in
from polygraph.retrieve.methods.rograg.fact_search import MatchingOptions
from polygraph.retrieve.methods.rograg.operators import Row, Value, value_of, value_row, written
from polygraph.retrieve.methods.rograg.step_result import LISTED, Results, StepResult, list_names
from polygraph.retrieve.methods.rograg.step_retrieval import StepRetrieval
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.subanswer import deduce
from polygraph.tasks.evidence.verify import filter_rows
from polygraph.tasks.questions.plan import Plan, PlanStep
from polygraph.text.quantities import Date, Quantity
from polygraph.text.words import content_stems


class PlanExecutor:
    """Runs the steps of a plan in order; later steps see the results of earlier ones.

    Args:
        index: the snapshot.
        models: in use.
        options: how triples are matched.
        passages: passages from which a step is answered.
        method: for the ledger.
    """

    def __init__(
        self, index: Snapshot, models: Models, options: MatchingOptions, *, passages: int, method: str
    ) -> None:
        self._index = index
        self._models = models
        self._n_passages = passages
        self._method = method
        self._results = Results()
        self._retrieval = StepRetrieval(
            index, models, options, passages=passages, method=method, results=self._results
        )

    def run(self, plan: Plan) -> Results:
        """Run every step except `output`; return the results in the order of the steps."""
        for step in plan.steps:
            if step.operator != "output":
                self._results[step.alias] = self._run_step(step)
        return self._results

    def _run_step(self, step: PlanStep) -> StepResult:
        if step.operator == "retrieve":
            return self._retrieval.run(step)
        inputs = [self._results[alias] for alias in step.of]
        base = _resting_on(StepResult(step=step, question=self._results.substitute(step.question)), inputs)
        if step.operator == "math":
            return self._math(step, base)
        rows = operators.distinct([row for r in inputs for row in r.rows])
        if not rows and step.operator != "deduce" and not any(r.text for r in inputs):
            return replace(base, problem="there is nothing to work on: earlier steps found nothing")
        match step.operator:
            case "count":
                n = operators.count(rows)
                return replace(
                    base, text=f"{n}{list_names(rows)}", rows=tuple(rows), quantity=Quantity(value=float(n))
                )
            case "sum":
                return _sum(step, base, rows)
            case "sort":
                return _sort(step, base, rows)
            case "filter":
                return self._filter(step, base, rows)
            case "compare":
                return self._compare(step, base, inputs, rows)
            case _:
                return self._deduce(step, base, inputs)

    def _filter(self, step: PlanStep, base: StepResult, rows: Sequence[Row]) -> StepResult:
        text = self._results.substitute(step.condition or step.question)
        wanted = operators.condition(text)
        verdicts = [operators.satisfies(row, wanted, step.key) if wanted else None for row in rows]
        undecided = [i for i, verdict in enumerate(verdicts) if verdict is None]
        calls, problem = 0, ""
        if undecided and self._models.chat is not None:
            listing = [f"{rows[i].name}: {' '.join(rows[i].texts)}" for i in undecided]
            kept, calls = filter_rows(listing, text, self._models, method=self._method)
            for position in kept:
                verdicts[undecided[position]] = True
        elif undecided and wanted is None:
            needed = set(content_stems(text))
            for i in undecided:
                stems = set(content_stems(" ".join((rows[i].name, *rows[i].texts))))
                verdicts[i] = bool(needed) and needed <= stems
        elif undecided:
            problem = f"cannot be told of {', '.join(rows[i].name for i in undecided[:LISTED])}"
        chosen = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict]
        return replace(
            base,
            text="; ".join(row.name for row in chosen[:LISTED]) or "none",
            rows=tuple(chosen),
            calls=calls,
            problem=problem,
        )

    def _compare(
        self, step: PlanStep, base: StepResult, inputs: Sequence[StepResult], rows: Sequence[Row]
    ) -> StepResult:
        sides = [r.as_row() for r in inputs] if len(inputs) > 1 else list(rows)
        op = step.op if step.op in operators.OPS else "eq"
        found = operators.compare(sides, op, step.key)
        if found.text:
            chosen = (found.row,) if found.row else ()
            return replace(base, text=found.text, rows=chosen, quantity=found.value)
        problem = "the values cannot be compared"
        if self._models.chat is None:
            return replace(base, problem=problem)
        done = self._deduce(replace(step, kind="extract", content=f"{step.question} ({op})"), base, inputs)
        return replace(done, step=step, problem=done.problem or f"{problem}: a model was asked")

    def _math(self, step: PlanStep, base: StepResult) -> StepResult:
        used = list(dict.fromkeys(name.partition(".")[0] for name in names_in(step.expression)))
        inputs = [self._results[alias] for alias in used if alias in self._results]
        base = _resting_on(base, inputs)
        found: dict[str, Value] = {}
        for result in inputs:
            value = result.quantity or value_of(result.as_row(), step.key or result.step.question)
            if value is not None:
                found[result.step.alias] = value
        values: dict[str, float] = {}
        given: dict[str, str] = {}
        for alias, value in operators.in_common_units(found).items():
            if isinstance(value, Date):
                values[alias], values[f"{alias}.day"] = float(value.first[0]), value.day_number
                given[alias] = value.text
            else:
                values[alias] = value.value / value.factor
                given[alias] = written(value)
        try:
            number = evaluate(step.expression, values)
        except ExpressionError as error:
            return replace(base, problem=f"{step.expression!r} cannot be worked out: {error}")
        quantity = Quantity(value=number)
        text = written(quantity)
        listed = ", ".join(f"{name} = {value}" for name, value in given.items())
        return replace(
            base,
            text=f"{step.expression.replace('@', '')} = {text}" + (f" ({listed})" if listed else ""),
            rows=(replace(value_row(text), facts=tuple(f.n for f in base.facts), chunks=base.chunks),),
            quantity=quantity,
        )

    def _deduce(self, step: PlanStep, base: StepResult, inputs: Sequence[StepResult]) -> StepResult:
        if not base.chunks:
            return replace(base, problem="there is nothing to conclude from")
        known = [
            f"{r.question or r.step.question} {r.text or 'not found'}{list_names(r.rows)}" for r in inputs
        ]
        question = self._results.substitute(step.content or step.question)
        passages = passages_of(base.chunks[: self._n_passages], self._index)
        calls = int(self._models.chat is not None)
        try:
            conclusion = deduce(question, step.kind, known, passages, self._models, method=self._method)
        except UnusableReply as error:
            return replace(base, calls=calls, problem=f"the conclusion could not be used: {error.problem}")
        row = replace(value_row(conclusion.text), facts=tuple(f.n for f in base.facts), chunks=base.chunks)
        return replace(
            base,
            text=conclusion.text,
            rows=(row,) if conclusion.text else (),
            calls=calls,
            problem="" if conclusion.text else "what was found does not suffice",
        )


def _resting_on(result: StepResult, inputs: Sequence[StepResult]) -> StepResult:
    """Return a result with the triples and passages of its inputs, each once."""
    return replace(
        result,
        facts=tuple({f.n: f for r in inputs for f in r.facts}.values()),
        chunks=tuple(dict.fromkeys(c for r in inputs for c in r.chunks)),
    )


def _sum(step: PlanStep, base: StepResult, rows: Sequence[Row]) -> StepResult:
    summed, without_number = operators.total(rows, step.key)
    if summed is None:
        return replace(base, rows=tuple(rows), problem="no number can be read in any of the rows")
    names = ", ".join(row.name for row in without_number[:LISTED])
    return replace(
        base,
        text=written(summed),
        rows=tuple(rows),
        quantity=summed,
        problem=f"without {names}: no such number" if without_number else "",
    )


def _sort(step: PlanStep, base: StepResult, rows: Sequence[Row]) -> StepResult:
    key = step.key or step.question
    ordered = operators.sort(rows, key, "min" if step.direction == "min" else "max", step.limit)
    listing = []
    for row in ordered[:LISTED]:
        value = value_of(row, key)
        listing.append(f"{row.name} ({value.text})" if value is not None else row.name)
    return replace(base, text="; ".join(listing), rows=tuple(ordered))
