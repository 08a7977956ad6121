"""Questions from their source, then rows: everything that `polygraph finetune data` does before it writes files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from polygraph.errors import BadInput
from polygraph.evaluate.questions.file import read_questions
from polygraph.finetune.data.gold_questions import check_gold, resolve_questions
from polygraph.finetune.data.model_questions import model_questions, with_reasoning
from polygraph.finetune.data.presets import Preset, preset_as_json
from polygraph.finetune.data.records import QuestionSet, TrainingData
from polygraph.finetune.data.rows import compose_rows
from polygraph.finetune.data.rules.graph_questions import graph_questions
from polygraph.indexing.progress import Progress, no_progress
from polygraph.models import Models
from polygraph.records import Json
from polygraph.store.snapshot import Snapshot

QuestionSource: TypeAlias = Literal["rules", "model"] | Path
"""`rules`: from sentences and the graph; `model`: posed by the chat model; or a file of questions with gold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """What rows depend on besides the index."""

    preset: Preset
    questions: QuestionSource = "rules"
    n: int = 1_000
    """Most questions of `rules` or `model`."""
    reasoning: Literal["quotes", "model"] = "quotes"
    """What stands before the answer: the quotes alone, or reasoning with quotes that the chat model writes."""
    copies: int = 1
    """Rows of each question to train on, each with distractors and an order of its own."""
    held_out: float = 0.2
    """Share of the questions to hold out."""
    seed: int = 0

    def as_json(self) -> dict[str, Json]:
        """Return the options for the report, the file of questions by its name."""
        source = self.questions.name if isinstance(self.questions, Path) else self.questions
        return {
            **preset_as_json(self.preset),
            "questions": source,
            "n": self.n,
            "reasoning": self.reasoning,
            "copies": self.copies,
            "held_out": self.held_out,
            "seed": self.seed,
        }


def make_rows(
    index: Snapshot, models: Models, options: DataOptions, on_done: Progress = no_progress
) -> TrainingData:
    """Make the rows for a reader of an index.

    Args:
        index: with chunks, and with a graph unless the questions come from a file.
        models: embed questions; their chat model poses questions or writes reasoning if the options say so.
        options: composition, source of the questions, seed.
        on_done: called after each question.

    Raises:
        BadInput: if an option is out of its range, a file has no gold, the index has no graph to ask about, there is no
            chat model that is needed, or no row is left.
        IndexMismatch: if the embedder is not that of the index.
    """
    if options.n < 1:
        raise BadInput(f"-n {options.n} asks for no questions. Give at least 1")
    if options.copies < 1:
        raise BadInput(f"--copies {options.copies} makes no rows. Give at least 1")
    index.check_embedder(models.embedder.name, models.embedder.dimension)
    found = _questions(index, models, options, on_done)
    if options.reasoning == "model" and options.questions != "model":
        found = with_reasoning(found, index, models, on_done)
    return compose_rows(
        found,
        index,
        models,
        options.preset,
        copies=options.copies,
        held_out=options.held_out,
        seed=options.seed,
        on_done=lambda done, total: on_done("rows", done, total),
    )


def _questions(index: Snapshot, models: Models, options: DataOptions, on_done: Progress) -> QuestionSet:
    most = options.preset.max_oracles
    if options.questions == "rules":
        return graph_questions(index, n=options.n, seed=options.seed, max_oracles=most)
    if options.questions == "model":
        return model_questions(
            index, models, n=options.n, seed=options.seed, max_oracles=most, on_done=on_done
        )
    questions = read_questions(options.questions)
    check_gold(questions, str(options.questions))
    return resolve_questions(questions, index, max_oracles=most)
