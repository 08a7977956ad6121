"""The retrieval step of a logic form: link names, search triples, read their passages, answer the step.

Wang et al. (2025), arXiv:2503.06474, algorithm 2.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from polygraph.errors import UnusableReply
from polygraph.ids import document_of_chunk
from polygraph.models import Models
from polygraph.retrieve.evidence import passages_of, with_dates
from polygraph.retrieve.methods.rograg import operators
from polygraph.retrieve.methods.rograg.fact_search import (
    Fact,
    LinkedName,
    MatchingOptions,
    entity_names,
    link_name,
    search_facts,
)
from polygraph.retrieve.methods.rograg.operators import Row, value_row
from polygraph.retrieve.methods.rograg.step_result import Results, StepResult
from polygraph.retrieve.row_texts import fact_statements, triple_line
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.subanswer import SubAnswer, sub_answer
from polygraph.tasks.offline.sentences import Passage
from polygraph.tasks.questions.plan import PlanStep
from polygraph.text.normalize import normalize_name
from polygraph.text.sentences import sentence_spans

_DATED = 5
"""Passages of a triple whose dates are read."""
_SENTENCES = 3
"""Sentences of a passage that are read for one row."""


class StepRetrieval:
    """Runs the retrieval steps of a plan.

    Args:
        index: the snapshot.
        models: in use.
        options: how triples are matched.
        passages: passages from which a step is answered.
        method: for the ledger.
        results: of earlier steps, to which a step may refer.
    """

    def __init__(
        self,
        index: Snapshot,
        models: Models,
        options: MatchingOptions,
        *,
        passages: int,
        method: str,
        results: Results,
    ) -> None:
        self._index = index
        self._models = models
        self._options = options
        self._n_passages = passages
        self._method = method
        self._results = results

    def run(self, step: PlanStep) -> StepResult:
        """Retrieve the triples that fit a step and answer its question from them."""
        question = self._results.question_of(step)
        return replace(self._run(step, question), question=question)

    def _run(self, step: PlanStep, question: str) -> StepResult:
        subject, object_ = self._link(step.subject), self._link(step.object)
        linked = tuple(item for item in (*subject, *object_) if item.text)
        unlinked = [item.text for item in linked if not item.rows]
        problem = f"no entity is near “{unlinked[0]}”" if unlinked else ""
        subjects, objects = _rows_of(subject), _rows_of(object_)
        if (step.subject or step.object) and not subjects and not objects:
            return StepResult(step=step, linked=linked, problem=problem or "an earlier step found nothing")
        is_phrase = any(item.score < 1.0 for item in linked)
        facts = self._facts(step, question, subjects, objects, is_phrase=is_phrase)
        if not facts:
            reason = "no path joins the two" if subjects and objects else "no statement fits"
            return StepResult(step=step, linked=linked, problem=problem or reason)
        chunks, passages = self._passages(facts)
        names = entity_names(facts, self._index, question)
        lines = [triple_line(f.triple, names) for f in facts]
        rows = self._rows(facts, lines, {*subjects, *objects}, passages)
        try:
            said = self._said(facts, names)
            answer = sub_answer(question, said, passages, self._models, method=self._method)
        except UnusableReply as error:
            answer, problem = SubAnswer(text=""), f"the sub-answer could not be used: {error.problem}"
        asked = self._models.chat is not None
        return StepResult(
            step=step,
            text=answer.text,
            rows=tuple(self._answer_rows(rows, answer, facts, chunks)) if asked else tuple(rows),
            facts=tuple(facts),
            chunks=tuple(chunks),
            label=self._label(step, linked),
            linked=linked,
            calls=int(asked),
            problem=problem or ("" if answer.text else "the material does not hold it"),
        )

    def _link(self, text: str) -> list[LinkedName]:
        """Link a slot to entities: those of an earlier result, or the nearest to its name; none if it is empty."""
        if not text:
            return []
        threshold = self._options.link_threshold
        rows = self._results.referenced(text)
        if rows is None:
            return [link_name(self._results.substitute(text), self._index, self._models, threshold)]
        return [
            LinkedName(text=row.name, rows=(row.entity,), score=1.0)
            if row.entity is not None
            else link_name(row.name, self._index, self._models, threshold)
            for row in rows
        ]

    def _label(self, step: PlanStep, linked: Sequence[LinkedName]) -> str:
        """Return the names of the known ends of a step, or else its question."""
        rows = [item.rows[0] for item in linked if item.rows]
        names = self._index.names_by_row(rows)
        return ", ".join(names[n] for n in rows) or step.question

    # --- triples and passages -----------------------------------------------------------------------

    def _facts(
        self,
        step: PlanStep,
        question: str,
        subjects: Sequence[int],
        objects: Sequence[int],
        *,
        is_phrase: bool,
    ) -> list[Fact]:
        """Search the triples that fit a step and fulfil its condition."""
        facts = search_facts(
            question,
            subjects,
            self._results.substitute(step.predicate),
            objects,
            self._index,
            self._models,
            self._options,
            type_wanted=step.object_type if subjects else step.subject_type,
            is_phrase=is_phrase,
        )
        wanted = operators.condition(self._results.substitute(step.where)) if step.where else None
        if wanted is None:
            return facts
        # A condition on numbers or dates is read from the triple and from sentences that mention both its ends.
        _, passages = self._passages(facts)
        texts = {p.chunk.id: p.chunk.text for p in passages}
        names = entity_names(facts, self._index)
        kept = []
        for fact in facts:
            line = triple_line(fact.triple, names)
            ends = [names.get(end, end) for end in (fact.triple.source, fact.triple.target)]
            mentions = [
                sentence
                for chunk in fact.triple.chunks
                if chunk in texts
                for sentence in _sentences_with(texts[chunk], ends[:1])
                if ends[1].casefold() in sentence.casefold()
            ]
            row = Row(key=fact.triple.id, name=line, texts=(line, *mentions))
            if operators.satisfies(row, wanted, step.predicate):
                kept.append(fact)
        return kept

    def _said(self, facts: Sequence[Fact], names: Mapping[str, str]) -> list[str]:
        """Return what triples and their passages state, with the dates of the documents."""
        said = fact_statements([f.triple for f in facts], self._index, brief=True, names=names)
        return [
            with_dates(text, [document_of_chunk(chunk) for chunk in f.triple.chunks[:_DATED]], self._index)
            for f, text in zip(facts, said, strict=True)
        ]

    def _passages(self, facts: Sequence[Fact]) -> tuple[list[str], list[Passage]]:
        """Rank the passages of triples by first triple, then number of triples; read the first."""
        first: dict[str, int] = {}
        counts: dict[str, int] = {}
        for position, fact in enumerate(facts):
            for chunk in fact.triple.chunks:
                first.setdefault(chunk, position)
                counts[chunk] = counts.get(chunk, 0) + 1
        ordered = sorted(first, key=lambda c: (first[c], -counts[c], c))
        return ordered, passages_of(ordered[: self._n_passages], self._index)

    # --- rows ---------------------------------------------------------------------------------------

    def _rows(
        self, facts: Sequence[Fact], lines: Sequence[str], known: set[int], passages: Sequence[Passage]
    ) -> list[Row]:
        """Return the entities at the unknown ends of triples, in their order, with the texts about them."""
        texts: dict[int, list[str]] = {}
        facts_of: dict[int, list[Fact]] = {}
        for fact, line in zip(facts, lines, strict=True):
            for end in dict.fromkeys((fact.source, fact.target)):
                if end not in known:
                    texts.setdefault(end, []).append(line)
                    facts_of.setdefault(end, []).append(fact)
        rows = []
        for n, entity in zip(texts, self._index.entities(list(texts), most_chunks=1), strict=True):
            chunks = dict.fromkeys(c for f in facts_of[n] for c in f.triple.chunks)
            mentions = [
                sentence
                for p in passages
                if p.chunk.id in chunks
                for sentence in _sentences_with(p.chunk.text, [entity.name, *entity.aliases])
            ]
            rows.append(
                Row(
                    key=entity.id,
                    name=entity.name,
                    texts=tuple(dict.fromkeys((*texts[n], *mentions))),
                    facts=tuple(f.n for f in facts_of[n]),
                    chunks=tuple(chunks),
                    entity=n,
                )
            )
        return rows

    def _answer_rows(
        self, rows: Sequence[Row], answer: SubAnswer, facts: Sequence[Fact], chunks: Sequence[str]
    ) -> list[Row]:
        """Return the rows that an answer names; a name that is none of them becomes an entity's row, or a value."""
        by_key = {row.key: row for row in rows} | {normalize_name(row.name): row for row in rows}
        fact_rows = tuple(f.n for f in facts)
        found = []
        entities = self._index.entities_named(list(answer.names))
        for name in answer.names or ((answer.text,) if answer.text else ()):
            named = self._index.entities(entities.get(name, []), most_chunks=1)
            own = [e for e in named if e.chunks]
            row = by_key.get(normalize_name(name)) or next(
                (by_key[e.id] for e in own if e.id in by_key), None
            )
            if row is None and own:
                (n,) = self._index.entity_rows([own[0].id]).values()
                row = Row(key=own[0].id, name=own[0].name, entity=n, facts=fact_rows, chunks=tuple(chunks))
            row = row or replace(value_row(name), facts=fact_rows, chunks=tuple(chunks))
            found.append(replace(row, texts=tuple(dict.fromkeys((*row.texts, answer.text)))))
        return operators.distinct(found)


def _rows_of(linked: Iterable[LinkedName]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(n for item in linked for n in item.rows))


def _sentences_with(text: str, names: Sequence[str]) -> list[str]:
    """Return the first sentences of a passage that contain one of some names."""
    wanted = [name.casefold() for name in names]
    found = []
    for start, end in sentence_spans(text):
        sentence = " ".join(text[start:end].split())
        if any(name in sentence.casefold() for name in wanted):
            found.append(sentence)
            if len(found) == _SENTENCES:
                break
    return found
