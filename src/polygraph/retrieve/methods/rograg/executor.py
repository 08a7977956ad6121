"""Run a logic form: each step binds its result to an alias, with the statements and passages that it rests on.

Wang et al. (2025), arXiv:2503.06474, algorithm 2. Code filters, sorts, counts, sums, compares and calculates; a model
answers retrieval steps and concludes, and is asked where code cannot tell.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.records import Json
from polygraph.retrieve.evidence import passages_of, triple_line
from polygraph.retrieve.methods.rograg import operators
from polygraph.retrieve.methods.rograg.arithmetic import ExpressionError, evaluate, names_in
from polygraph.retrieve.methods.rograg.fact_search import (
    Fact,
    LinkedName,
    MatchingOptions,
    entity_names,
    link_name,
    search_facts,
)
from polygraph.retrieve.methods.rograg.operators import Row, value_of, value_row, written
from polygraph.retrieve.methods.rograg.quantities import Date, Quantity
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.offline.sentences import Passage
from polygraph.tasks.plan import Plan, PlanStep
from polygraph.tasks.subanswer import SubAnswer, deduce, sub_answer
from polygraph.tasks.verify import filter_rows
from polygraph.text.normalize import normalize_name
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems

_REFERENCE = re.compile(r"@([^\W\d]\w{0,29})")
_ALIAS_ENTITIES = 5
"""Entities of an earlier result that a later step goes on from."""
_SENTENCES = 3
"""That are read of a passage for one row."""
_LISTED = 12
"""Names that a result lists in words."""
_SHOWN = 30
"""Rows and statements of a step in the trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The result of a step."""

    step: PlanStep
    text: str = ""
    """In words; empty if nothing was found out."""
    rows: tuple[Row, ...] = ()
    facts: tuple[Fact, ...] = ()
    chunks: tuple[str, ...] = ()
    """Passages that it rests on, best first."""
    label: str = ""
    """What it is about, where it is compared with another."""
    number: float | None = None
    """Its value in arithmetic, where code has worked it out."""
    linked: tuple[LinkedName, ...] = ()
    calls: int = 0
    """Calls of the model that it took, repairs aside."""
    problem: str = ""

    def as_json(self) -> Json:
        """For a trace."""
        return {
            "alias": self.step.alias,
            "operator": self.step.operator,
            "question": self.step.question,
            "linked": [[item.text, list(item.rows), round(item.score, 6)] for item in self.linked],
            "facts": [[f.triple.id, f.score] for f in self.facts[:_SHOWN]],
            "rows": [row.name for row in self.rows[:_SHOWN]],
            "result": self.text,
            "calls": self.calls,
            "problem": self.problem,
        }


class PlanExecutor:
    """Runs the steps of a plan in order; later steps see the results of earlier ones."""

    def __init__(
        self, index: Snapshot, models: Models, how: MatchingOptions, *, passages: int, method: str
    ) -> None:
        self.index = index
        self.models = models
        self.how = how
        self.passages = passages
        self.method = method
        self.bound: dict[str, StepResult] = {}

    def run(self, plan: Plan) -> list[StepResult]:
        """Run every step but `output`; in their order."""
        for step in plan.steps:
            if step.operator != "output":
                self.bound[step.alias] = self._step(step)
        return list(self.bound.values())

    def _step(self, step: PlanStep) -> StepResult:
        if step.operator == "retrieve":
            return self._retrieve(step)
        inputs = [self.bound[alias] for alias in step.of]
        over = StepResult(
            step=step,
            facts=tuple({f.n: f for b in inputs for f in b.facts}.values()),
            chunks=tuple(dict.fromkeys(c for b in inputs for c in b.chunks)),
        )
        if step.operator == "math":
            return self._math(step, over)
        rows = operators.distinct([row for b in inputs for row in b.rows])
        if not rows and step.operator != "deduce" and not any(b.text for b in inputs):
            return replace(over, problem="there is nothing to work on: earlier steps found nothing")
        match step.operator:
            case "count":
                n = operators.count(rows)
                return replace(over, text=f"{n}{_listed(rows)}", rows=tuple(rows), number=float(n))
            case "sum":
                return self._sum(step, over, rows)
            case "sort":
                ordered = operators.sort(rows, step.key or step.question, _direction(step), step.limit)
                told = "; ".join(_with_value(row, step.key or step.question) for row in ordered[:_LISTED])
                return replace(over, text=told, rows=tuple(ordered))
            case "filter":
                return self._filter(step, over, rows)
            case "compare":
                return self._compare(step, over, inputs, rows)
            case _:
                return self._deduce(step, over, inputs)

    # --- retrieval ----------------------------------------------------------------------------------

    def _retrieve(self, step: PlanStep) -> StepResult:
        subject, object_ = self._slot(step.subject), self._slot(step.object)
        linked = tuple(item for item in (*subject, *object_) if item.text)
        lost = [item.text for item in linked if not item.rows]
        problem = f"no entity is near “{lost[0]}”" if lost else ""
        question = self._spelled_out(step.question)
        subjects, objects = _rows_of(subject), _rows_of(object_)
        if (step.subject or step.object) and not subjects and not objects:
            return StepResult(step=step, linked=linked, problem=problem or "an earlier step found nothing")
        facts = search_facts(
            question,
            subjects,
            self._spelled_out(step.predicate),
            objects,
            self.index,
            self.models,
            self.how,
            type_wanted=step.object_type if subjects else step.subject_type,
        )
        facts = self._where(step, facts)
        if not facts:
            found = "no statement fits" if not (subjects and objects) else "no path joins the two"
            return StepResult(step=step, linked=linked, problem=problem or found)
        chunks, passages = self._passages(facts)
        names = entity_names(facts, self.index)
        lines = [triple_line(f.triple, names) for f in facts]
        rows = self._rows(facts, lines, {*subjects, *objects}, passages)
        try:
            said = sub_answer(question, lines, passages, self.models, method=self.method)
        except UnusableReply as error:
            said, problem = SubAnswer(text=""), f"the sub-answer could not be used: {error.problem}"
        asked = self.models.chat is not None
        return StepResult(
            step=step,
            text=said.text,
            rows=tuple(self._narrowed(rows, said, facts, chunks)) if asked else tuple(rows),
            facts=tuple(facts),
            chunks=tuple(chunks),
            label=_label(step, linked, self.index),
            linked=linked,
            calls=int(asked),
            problem=problem or ("" if said.text else "the material does not hold it"),
        )

    def _slot(self, text: str) -> list[LinkedName]:
        """Entities of a slot: those of an earlier result, or what its name is linked to; none for an empty one."""
        if not text:
            return []
        alias = _REFERENCE.fullmatch(text)
        if alias is None:
            return [link_name(self._spelled_out(text), self.index, self.models, self.how.link_threshold)]
        found = []
        for row in self.bound[alias.group(1)].rows[:_ALIAS_ENTITIES]:
            if row.entity is not None:
                found.append(LinkedName(text=row.name, rows=(row.entity,), score=1.0))
            else:
                found.append(link_name(row.name, self.index, self.models, self.how.link_threshold))
        return found

    def _spelled_out(self, text: str) -> str:
        """A text with references replaced by what they stand for."""

        def said(match: re.Match[str]) -> str:
            bound = self.bound.get(match.group(1))
            if bound is None:
                return match.group(1)
            names = ", ".join(row.name for row in bound.rows[:_ALIAS_ENTITIES])
            return (names or bound.text or match.group(1))[:200]

        return _REFERENCE.sub(said, text)

    def _where(self, step: PlanStep, facts: list[Fact]) -> list[Fact]:
        """Statements that fulfil a condition on numbers or dates, by their own words or those of their passages."""
        wanted = operators.condition(self._spelled_out(step.where)) if step.where else None
        if wanted is None:
            return facts
        _, passages = self._passages(facts)
        texts = {p.chunk.id: p.chunk.text for p in passages}
        names = entity_names(facts, self.index)
        kept = []
        for fact in facts:
            line = triple_line(fact.triple, names)
            own = [s for c in fact.triple.chunks if c in texts for s in _naming(texts[c], names, fact)]
            row = Row(key=fact.triple.id, name=line, texts=(line, *own))
            if operators.satisfies(row, wanted, step.predicate):
                kept.append(fact)
        return kept

    def _passages(self, facts: Sequence[Fact]) -> tuple[list[str], list[Passage]]:
        """Passages of some statements: by the first statement that stands there, then by how many do."""
        first: dict[str, int] = {}
        held: dict[str, int] = {}
        for place, fact in enumerate(facts):
            for chunk in fact.triple.chunks:
                first.setdefault(chunk, place)
                held[chunk] = held.get(chunk, 0) + 1
        ordered = sorted(first, key=lambda c: (first[c], -held[c], c))
        return ordered, passages_of(ordered[: self.passages], self.index)

    def _rows(
        self, facts: Sequence[Fact], lines: Sequence[str], known: set[int], passages: Sequence[Passage]
    ) -> list[Row]:
        """Entities at the unknown ends of statements, in their order, with what is said of them."""
        texts: dict[int, list[str]] = {}
        owners: dict[int, list[Fact]] = {}
        for fact, line in zip(facts, lines, strict=True):
            for end in dict.fromkeys((fact.source, fact.target)):
                if end not in known:
                    texts.setdefault(end, []).append(line)
                    owners.setdefault(end, []).append(fact)
        rows = []
        for n, entity in zip(texts, self.index.entities(list(texts)), strict=True):
            own = {c for f in owners[n] for c in f.triple.chunks}
            told = [
                sentence
                for p in passages
                if p.chunk.id in own
                for sentence in _mentioning(p.chunk.text, [entity.name, *entity.aliases])
            ]
            rows.append(
                Row(
                    key=entity.id,
                    name=entity.name,
                    score=max(f.score for f in owners[n]),
                    texts=tuple(dict.fromkeys((*texts[n], *told))),
                    facts=tuple(f.n for f in owners[n]),
                    chunks=tuple(c for c in dict.fromkeys(c for f in owners[n] for c in f.triple.chunks)),
                    entity=n,
                )
            )
        return rows

    def _narrowed(
        self, rows: Sequence[Row], said: SubAnswer, facts: Sequence[Fact], chunks: Sequence[str]
    ) -> list[Row]:
        """The rows that a sub-answer names; a name that is none of them is an entity of the graph, or a value."""
        by_key = {row.key: row for row in rows} | {normalize_name(row.name): row for row in rows}
        by_row = tuple(f.n for f in facts)
        found = []
        spelt = self.index.entities_named(list(said.names))
        for name in said.names or ((said.text,) if said.text else ()):
            own = [e for e in self.index.entities(spelt.get(name, [])) if e.chunks]
            row = by_key.get(normalize_name(name)) or next(
                (by_key[e.id] for e in own if e.id in by_key), None
            )
            if row is None and own:
                (n,) = self.index.entity_numbers([own[0].id]).values()
                row = Row(key=own[0].id, name=own[0].name, entity=n, facts=by_row, chunks=tuple(chunks))
            row = row or replace(value_row(name), facts=by_row, chunks=tuple(chunks))
            # What was answered is the best that is known of it.
            found.append(replace(row, texts=tuple(dict.fromkeys((*row.texts, said.text)))))
        return operators.distinct(found)

    # --- operators ----------------------------------------------------------------------------------

    def _sum(self, step: PlanStep, over: StepResult, rows: Sequence[Row]) -> StepResult:
        summed, left = operators.total(rows, step.key)
        if summed is None:
            return replace(over, rows=tuple(rows), problem="no number can be read in any of the rows")
        problem = f"without {', '.join(row.name for row in left[:_LISTED])}: no such number" if left else ""
        return replace(
            over,
            text=written(summed),
            rows=tuple(rows),
            number=summed.value / summed.factor,
            problem=problem,
        )

    def _filter(self, step: PlanStep, over: StepResult, rows: Sequence[Row]) -> StepResult:
        text = self._spelled_out(step.condition or step.question)
        wanted = operators.condition(text)
        verdicts = [operators.satisfies(row, wanted, step.key) if wanted else None for row in rows]
        open_rows = [i for i, verdict in enumerate(verdicts) if verdict is None]
        calls, problem = 0, ""
        if open_rows and self.models.chat is not None:
            told = [f"{rows[i].name}: {' '.join(rows[i].texts)}" for i in open_rows]
            kept, calls = filter_rows(told, text, self.models, method=self.method)
            for place in kept:
                verdicts[open_rows[place]] = True
        elif open_rows and wanted is None:
            asked = set(content_stems(text))
            for i in open_rows:
                held = set(content_stems(" ".join((rows[i].name, *rows[i].texts))))
                verdicts[i] = bool(asked) and asked <= held
        elif open_rows:
            problem = f"cannot be told of {', '.join(rows[i].name for i in open_rows[:_LISTED])}"
        chosen = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict]
        return replace(
            over,
            text="; ".join(row.name for row in chosen[:_LISTED]) or "none",
            rows=tuple(chosen),
            calls=calls,
            problem=problem,
        )

    def _compare(
        self, step: PlanStep, over: StepResult, inputs: Sequence[StepResult], rows: Sequence[Row]
    ) -> StepResult:
        sides = [_as_row(b) for b in inputs] if len(inputs) > 1 else list(rows)
        op = step.op if step.op in operators.OPS else "eq"
        found = operators.compare(sides, op, step.key)
        if found.text:
            chosen = (found.row,) if found.row else ()
            return replace(over, text=found.text, rows=chosen, number=found.value)
        problem = "the values cannot be compared"
        if self.models.chat is None:
            return replace(over, problem=problem)
        done = self._deduce(replace(step, kind="extract", content=f"{step.question} ({op})"), over, inputs)
        return replace(done, step=step, problem=done.problem or f"{problem}: a model was asked")

    def _math(self, step: PlanStep, over: StepResult) -> StepResult:
        used = list(dict.fromkeys(name.partition(".")[0] for name in names_in(step.expression)))
        inputs = [self.bound[alias] for alias in used if alias in self.bound]
        over = replace(
            over,
            facts=tuple({f.n: f for b in inputs for f in b.facts}.values()),
            chunks=tuple(dict.fromkeys(c for b in inputs for c in b.chunks)),
        )
        values: dict[str, float] = {}
        for bound in inputs:
            alias = bound.step.alias
            value = value_of(_as_row(bound), step.key or bound.step.question)
            if bound.number is not None:
                values[alias] = bound.number
            elif isinstance(value, Date):
                values[alias], values[f"{alias}.day"] = float(value.first[0]), value.day_number
            elif value is not None:
                values[alias] = value.value / value.factor
        try:
            result = evaluate(step.expression, values)
        except ExpressionError as error:
            return replace(over, problem=f"{step.expression!r} cannot be worked out: {error}")
        told = written(Quantity(value=result))
        given = ", ".join(f"{name} = {written(Quantity(value=v))}" for name, v in values.items())
        return replace(
            over,
            text=f"{step.expression.replace('@', '')} = {told}" + (f" ({given})" if given else ""),
            rows=(replace(value_row(told), facts=tuple(f.n for f in over.facts), chunks=over.chunks),),
            number=result,
        )

    def _deduce(self, step: PlanStep, over: StepResult, inputs: Sequence[StepResult]) -> StepResult:
        known = [
            f"{self._spelled_out(b.step.question)} {b.text or 'not found'}{_listed(b.rows)}" for b in inputs
        ]
        if not over.chunks:
            return replace(over, problem="there is nothing to conclude from")
        question = self._spelled_out(step.content or step.question)
        passages = passages_of(over.chunks[: self.passages], self.index)
        asked = int(self.models.chat is not None)
        try:
            said = deduce(question, step.kind, known, passages, self.models, method=self.method)
        except UnusableReply as error:
            return replace(over, calls=asked, problem=f"the conclusion could not be used: {error.problem}")
        row = replace(value_row(said.text), facts=tuple(f.n for f in over.facts), chunks=over.chunks)
        return replace(
            over,
            text=said.text,
            rows=(row,) if said.text else (),
            calls=asked,
            problem="" if said.text else "what was found does not suffice",
        )


def _rows_of(slot: Iterable[LinkedName]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(n for item in slot for n in item.rows))


def _direction(step: PlanStep) -> operators.Direction:
    return "min" if step.direction == "min" else "max"


def _label(step: PlanStep, linked: Sequence[LinkedName], index: Snapshot) -> str:
    """Names of the known ends of a step."""
    rows = [item.rows[0] for item in linked if item.rows]
    return ", ".join(e.name for e in index.entities(rows)) or step.question


def _as_row(bound: StepResult) -> Row:
    """A result as one thing to compare: by what was answered, then by what is said of its rows."""
    only = bound.rows[0] if len(bound.rows) == 1 else None
    texts = (bound.text, *(text for row in bound.rows[:_ALIAS_ENTITIES] for text in row.texts))
    return Row(
        key=only.key if only is not None and only.entity is not None else bound.step.alias,
        name=bound.label or (only.name if only else bound.text),
        texts=tuple(dict.fromkeys(text for text in texts if text)),
        facts=tuple(f.n for f in bound.facts),
        chunks=bound.chunks,
        entity=only.entity if only else None,
    )


def _listed(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return f" ({'; '.join(row.name for row in rows[:_LISTED])}{more})"


def _with_value(row: Row, key: str) -> str:
    value = value_of(row, key)
    return f"{row.name} ({value.text})" if value is not None else row.name


def _mentioning(text: str, names: Sequence[str]) -> list[str]:
    """The first sentences of a passage that hold one of some names."""
    wanted = [name.casefold() for name in names]
    found = []
    for start, end in sentence_spans(text):
        sentence = " ".join(text[start:end].split())
        if any(name in sentence.casefold() for name in wanted):
            found.append(sentence)
            if len(found) == _SENTENCES:
                break
    return found


def _naming(text: str, names: dict[str, str], fact: Fact) -> list[str]:
    """Sentences of a passage that hold both ends of a statement."""
    ends = [names.get(end, end) for end in (fact.triple.source, fact.triple.target)]
    return [s for s in _mentioning(text, ends[:1]) if ends[1].casefold() in s.casefold()]
