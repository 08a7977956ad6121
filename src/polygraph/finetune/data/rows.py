"""Rows from questions: which passages each shows, in which order, and what is learned from it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from zlib import crc32

import numpy as np

from polygraph.errors import BadInput
from polygraph.finetune.data.distractors import PartPassages, places_of
from polygraph.finetune.data.presets import Preset
from polygraph.finetune.data.quotes import document_text, is_verbatim
from polygraph.finetune.data.records import (
    PARTS,
    DropError,
    DroppedQuestion,
    Part,
    QuestionSet,
    Row,
    TrainingData,
    TrainingQuestion,
    dropped,
)
from polygraph.finetune.data.split import split_documents
from polygraph.models import Models
from polygraph.models.protocols import Message
from polygraph.prompts import neutralize, one_line
from polygraph.records import Chunk, Evidence
from polygraph.retrieve.pack import HEAD_TOKENS, Block, pack
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.raft import REFUSAL, completion, parse_raft, quoted, reader_messages, renumber
from polygraph.text.prose import count_noun
from polygraph.text.tokens import count_tokens

_UNBOUNDED = 10**9
"""Budget of a context whose passages were chosen by their length already."""
_TOO_LONG = 8
"""Passages that do not fit before a row counts as filled."""
_CACHED_DOCUMENTS = 16
_SHOWN_REASONS = 3
"""Reasons that the message lists if no question is left."""


@dataclass(frozen=True, slots=True)
class _Composer:
    """Composes the rows of one part."""

    index: Snapshot
    passages: PartPassages
    preset: Preset
    part: Part
    seed: int
    text_of: Callable[[str], str]
    """Text of a document by id."""

    def row(self, question: TrainingQuestion, *, with_oracle: bool, copy: int = 0) -> Row:
        """Compose the row of a question; each copy has distractors and an order of its own.

        Raises:
            DropError: if that is not possible.
        """
        # Of its own seed, so that a row does not depend on the other questions.
        seeds = [self.seed, 3, int(with_oracle), crc32(question.id.encode())]
        rng = np.random.default_rng([*seeds, copy] if copy else seeds)
        oracles = question.oracles if with_oracle else ()
        low, high = self.preset.distractors
        # Passages with the answer that are not shown are replaced, so that their number gives nothing away.
        wanted = int(rng.integers(low, high + 1)) + len(question.oracles) - len(oracles)
        chosen = self._distractors(question, oracles, wanted, rng)
        while True:
            if not chosen:
                raise DropError("no passage without its answer can be shown beside it")
            row = self._written(question, oracles, [chunk for chunk, _ in chosen], rng, copy)
            if self.preset.max_tokens is None or row.n_tokens <= self.preset.max_tokens:
                return row
            chosen = chosen[:-1]

    def _distractors(
        self, question: TrainingQuestion, oracles: Sequence[Chunk], wanted: int, rng: np.random.Generator
    ) -> list[tuple[Chunk, Evidence]]:
        budget = self.preset.max_tokens or _UNBOUNDED
        shown = self.passages.evidence(oracles)
        used = sum(count_tokens(each.text) + HEAD_TOKENS for each in shown)
        used += sum(count_tokens(m.content) for m in self._prompt(question, ""))
        used += count_tokens(self._completion(question, oracles, oracles))
        chosen: list[tuple[Chunk, Evidence]] = []
        too_long = 0
        for chunk, evidence in self.passages.distractors(question, rng):
            if (len(chosen) >= wanted and not self.preset.filled) or too_long >= _TOO_LONG:
                break
            cost = count_tokens(evidence.text) + HEAD_TOKENS
            if used + cost > budget:
                too_long += 1
                continue
            used += cost
            chosen.append((chunk, evidence))
        return chosen

    def _written(
        self,
        question: TrainingQuestion,
        oracles: Sequence[Chunk],
        distractors: Sequence[Chunk],
        rng: np.random.Generator,
        copy: int,
    ) -> Row:
        together = [*oracles, *distractors]
        passages = [together[i] for i in rng.permutation(len(together)).tolist()]
        block = Block(heading="", items=self.passages.evidence(passages))
        packed = pack([block], max_tokens=_UNBOUNDED, merge_copies=False)
        prompt = self._prompt(question, packed.context)
        if oracles:
            self._check_quotes(question, prompt[-1].content)
        learned = self._completion(question, oracles, passages)
        shown = one_line(prompt[-1].content)
        if any(quote not in shown for quote in parse_raft(learned).quotes):
            raise DropError("a quote of its reasoning cannot be shown word for word")
        messages = (*prompt, Message("assistant", learned))
        return Row(
            question=question,
            part=self.part,
            passages=tuple(passages),
            has_oracle=bool(oracles),
            refuses=self._refuses(question, oracles),
            messages=messages,
            n_tokens=sum(count_tokens(message.content) for message in messages),
            copy=copy,
        )

    def _prompt(self, question: TrainingQuestion, context: str) -> tuple[Message, Message]:
        refuses = self.preset.without_oracle == "refuse"
        return reader_messages(self.preset.form, question.question, context, refuses=refuses)

    def _refuses(self, question: TrainingQuestion, oracles: Sequence[Chunk]) -> bool:
        return question.null or (not oracles and self.preset.without_oracle == "refuse")

    def _completion(
        self, question: TrainingQuestion, oracles: Sequence[Chunk], passages: Sequence[Chunk]
    ) -> str:
        form = self.preset.form
        if self._refuses(question, oracles):
            return completion(form, "", REFUSAL)
        numbers = {chunk.id: n for n, chunk in enumerate(passages, 1)}
        answer = one_line(question.answers[0])
        if not oracles:
            # Nothing that is shown could be quoted.
            return completion(form, "", answer)
        if question.reasoning:
            cited = renumber(question.reasoning, [numbers[chunk.id] for chunk in oracles])
            return completion(form, cited, answer)
        lines = [quoted(quote.text, numbers[quote.chunk]) for quote in question.quotes]
        return completion(form, "\n".join(lines), answer)

    def _check_quotes(self, question: TrainingQuestion, prompt: str) -> None:
        for quote in question.quotes:
            if not is_verbatim(quote, self.text_of(quote.document), prompt):
                raise DropError("a quote cannot be shown word for word")


def compose_rows(
    questions: QuestionSet,
    index: Snapshot,
    models: Models,
    preset: Preset,
    *,
    held_out: float,
    seed: int,
    copies: int = 1,
    on_done: Callable[[int, int], None] = lambda *_: None,
) -> TrainingData:
    """Compose the rows of questions, split by document.

    Of the questions with an answer in each part, a share of exactly `Preset.oracle_share`, rounded half up and at least
    one, shows the passages with the answer. Passages are shuffled in each row, and rows in each part.

    Args:
        questions: with distinct ids.
        index: that they rest on.
        models: embed questions, to find passages near them.
        preset: composition of rows.
        held_out: share of the questions in [0, 1).
        seed: of every choice.
        copies: rows of each question in the part to train on; a held-out question has one.
        on_done: called after each question with questions done and all.

    Raises:
        BadInput: if no row is left, or the questions cannot be split.
    """
    documents = [i for i, _, _ in index.store.documents.headers()]
    if index.documents_allowed is not None:
        documents = [i for i in documents if i in index.documents_allowed]
    reasons = {question.id: _unusable(question, preset) for question in questions.questions}
    usable = [question for question in questions.questions if not reasons[question.id]]
    left_out = [
        *questions.dropped,
        *(dropped(q, reasons[q.id]) for q in questions.questions if reasons[q.id]),
    ]
    places = {question.id: places_of(question, index) for question in usable}
    split = split_documents(places, documents, held_out=held_out, seed=seed)
    left_out += [dropped(q, "it rests on documents of both parts") for q in usable if q.id in split.crossing]
    usable = [question for question in usable if question.id not in split.crossing]
    text_of = lru_cache(maxsize=_CACHED_DOCUMENTS)(partial(document_text, index))
    rows: dict[Part, tuple[Row, ...]] = {}
    n_done = 0
    for part in PARTS:
        out = part == "held_out"
        inside = [document for document in documents if (document in split.documents) == out]
        composer = _Composer(
            index=index,
            passages=PartPassages(index, models, inside),
            preset=preset,
            part=part,
            seed=seed,
            text_of=text_of,
        )
        made: list[Row] = []
        for question in (q for q in usable if (q.id in split.questions) == out):
            try:
                made += [
                    composer.row(question, with_oracle=not question.null, copy=copy)
                    for copy in range(1 if out else copies)
                ]
            except DropError as reason:
                left_out.append(dropped(question, reason))
            n_done += 1
            on_done(n_done, len(usable))
        rows[part] = _shuffled(_without_oracles(made, composer), part, seed)
    if not rows["train"]:
        raise BadInput(_no_rows(left_out))
    return TrainingData(
        rows=rows,
        dropped=tuple(sorted(left_out, key=lambda each: each.id)),
        held_out_documents=tuple(sorted(split.documents)),
        notes=(*questions.notes, *_empty_note(held_out, rows["held_out"])),
    )


def _empty_note(held_out: float, rows: Sequence[Row]) -> tuple[str, ...]:
    if not held_out or rows:
        return ()
    return ("no row is held out: the held-out documents are too few to show passages without the answer",)


def n_with_oracle(share: float, n: int) -> int:
    """Return how many of `n` rows show the passages with the answer: a share, rounded half up, and at least one.

    >>> n_with_oracle(0.8, 10), n_with_oracle(0.5, 5), n_with_oracle(0.01, 3)
    (8, 3, 1)
    """
    return min(n, max(1, int(share * n + 0.5 + 1e-9)))


def _without_oracles(made: Sequence[Row], composer: _Composer) -> list[Row]:
    """Compose some rows again without their oracles, as many as the share says."""
    answerable = [row for row in made if not row.question.null]
    rng = np.random.default_rng([composer.seed, 4, PARTS.index(composer.part)])
    order = rng.permutation(len(answerable)).tolist()
    bare = order[n_with_oracle(composer.preset.oracle_share, len(order)) :]
    # What can be shown beside the oracles can be shown without them, so that none of these fails.
    again = {
        (row.question.id, row.copy): composer.row(row.question, with_oracle=False, copy=row.copy)
        for row in (answerable[i] for i in bare)
    }
    return [again.get((row.question.id, row.copy), row) for row in made]


def _shuffled(rows: Sequence[Row], part: Part, seed: int) -> tuple[Row, ...]:
    ordered = sorted(rows, key=lambda row: (row.question.id, row.copy))
    rng = np.random.default_rng([seed, 5, PARTS.index(part)])
    return tuple(ordered[i] for i in rng.permutation(len(ordered)).tolist())


def _unusable(question: TrainingQuestion, preset: Preset) -> str:
    """Return why a question gives no row under a preset; empty if it does."""
    if question.null:
        return "" if preset.without_oracle == "refuse" else "rows of these settings never refuse"
    answer = one_line(question.answers[0])
    if neutralize(answer, ["Question"]) != answer:
        return "its answer imitates the structure of a prompt"
    return ""


def _no_rows(left_out: Sequence[DroppedQuestion]) -> str:
    reasons = Counter(each.reason for each in left_out).most_common(_SHOWN_REASONS)
    why = "; ".join(f"{reason} ({count_noun(n, 'question')})" for reason, n in reasons)
    return (
        f"no question to train on is left: {why or 'there was none'}. Index more documents, name a file of questions "
        "with gold by --questions FILE.jsonl, or have a model pose them: --questions model"
    )
