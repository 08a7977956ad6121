"""The report of a comparison: Markdown, JSON and two pictures."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from polygraph.evaluate.metrics.answer_scores import AnswerScores
from polygraph.evaluate.reports.charts import answer_map, loss_chart, pca_2d, umap_2d
from polygraph.evaluate.reports.formatting import (
    markdown_table,
    mean_interval,
    p_value,
    signed,
    signed_interval,
)
from polygraph.evaluate.statistics.intervals import few_questions_note
from polygraph.evaluate.statistics.multiple_testing import ALPHA
from polygraph.finetune.compare.reading import NOTES
from polygraph.finetune.compare.run import MeasureTest, ReaderComparison
from polygraph.finetune.compare.systems import name_of

TRUTH = ("right", "right where shown", "exact match", "F1", "stands in the context")
"""Measures of what is said; the others are of how it is said."""
_UMAP, _TRAINING = "answers-umap.svg", "training.svg"
_OVER_STEPS = {"form": "rows with the marks of the form", "answer": "rows with the right answer"}
_OVER_STEPS_NOTE = (
    "Shares of held-out rows over the steps are those whose tokens are the most likely ones after the beginning of the "
    "right reply. How often the reader is right with a reply of its own, the table of means says."
)
_OVERLAP = ("rouge1", "rouge2", "rougeL", "BLEU", "similarity", "BERTScore F1")


def conclusions(found: ReaderComparison) -> list[str]:
    """Say for each difference of readers what became better, worse, or was not shown to differ."""
    sentences = []
    for contrast in dict.fromkeys(t.contrast for t in found.tests if t.contrast.part == "reader"):
        mine = [t for t in found.tests if t.contrast == contrast]
        for title, chosen in (
            ("what it says", [t for t in mine if t.measure in TRUTH]),
            ("how it says it", [t for t in mine if t.measure not in TRUTH]),
        ):
            shown = [t for t in chosen if t.p < ALPHA]
            text = "; ".join(f"{t.measure} {signed(t.difference.mean)}" for t in shown)
            sentences.append(
                f"{name_of(contrast.a)} against {name_of(contrast.b)}, {title}: {text or 'no difference was shown'}."
            )
    return sentences


def report_page(found: ReaderComparison, training: Mapping[str, Any], pictures: Sequence[str]) -> str:
    """Write the report as Markdown.

    Args:
        found: the comparison.
        training: the report of the training; empty if it is unknown.
        pictures: names of the files with the map of answers and, if known, the loss.
    """
    n = len(found.questions)
    note = few_questions_note(n)
    parts = [
        "# A plain and a tuned reader",
        f"{n} questions that were held out from training, {len(found.systems)} systems. Both readers get the same "
        "prompt, that of the training rows. Intervals are of 95%; differences are paired and corrected after Holm.",
        *([f"Note: {note}."] if note else []),
        "## What became better, and what did not",
        "\n".join(f"- {sentence}" for sentence in conclusions(found)),
        "## Means",
        _lines(_means_table(found)),
        "\n".join(f"- {name}: {NOTES[name]}" for name in found.means if name in NOTES),
        "## Differences",
        _lines(_tests_table(found.tests)),
    ]
    if found.scores is not None:
        parts += ["## Overlap with the gold answers", _lines(_overlap_table(found.scores, found.systems))]
    parts += ["## Cost", _lines(_cost_table(found))]
    if training:
        parts.append(_training_line(training))
    parts += [
        "## Map of answers",
        f"![answers by system and type of question, by their principal components]({pictures[0]})",
        *([f"![the same answers, placed by UMAP]({_UMAP})"] if _UMAP in pictures else []),
        f"{found.separation.sentence} What lies apart need not be right.",
    ]
    if _TRAINING in pictures:
        parts += [f"![loss and form over the steps of training]({_TRAINING})", _OVER_STEPS_NOTE]
    return "\n\n".join(parts) + "\n"


def report_json(found: ReaderComparison, training: Mapping[str, Any]) -> dict[str, Any]:
    """Return the comparison as plain values."""
    return {
        "questions": len(found.questions),
        "systems": {system: name_of(system) for system in found.systems},
        "means": {
            measure: {system: {**asdict(mean), "n": n} for system, (mean, n) in by_system.items()}
            for measure, by_system in found.means.items()
        },
        "differences": [
            {
                "measure": t.measure,
                "a": t.contrast.a,
                "b": t.contrast.b,
                "part": t.contrast.part,
                "n": t.n,
                **asdict(t.difference),
                "p": t.p,
            }
            for t in found.tests
        ],
        "overlap": found.scores.figures() if found.scores is not None else {},
        "separation": asdict(found.separation),
        "cost": {system: _cost(found, system) for system in found.systems},
        "training": dict(training),
        "conclusions": conclusions(found),
    }


def pictures_of(found: ReaderComparison, training: Mapping[str, Any]) -> dict[str, str]:
    """Draw the map of answers and, if the training is known, loss and form over its steps; SVG by file name.

    A second map places the answers by UMAP if `umap-learn` is installed.
    """
    types = {q.id: q.type for q in found.questions}
    systems = [name_of(a.method) for a in found.answers]
    asked = [types[a.question] for a in found.answers]
    drawn = {"answers.svg": answer_map(pca_2d(found.vectors), systems, asked)}
    places = umap_2d(found.vectors, seed=0)
    if places is not None:
        drawn[_UMAP] = answer_map(places, systems, asked)
    losses = list(enumerate(training.get("losses", []), 1))
    measured = training.get("held_out_losses", [])
    held_out = [(each["step"], each["loss"]) for each in measured]
    shares = {
        title: [(each["step"], each[key]) for each in measured if each.get(key) is not None]
        for key, title in _OVER_STEPS.items()
    }
    if losses or held_out:
        drawn[_TRAINING] = loss_chart(losses, held_out, shares)
    return drawn


def as_text(value: Mapping[str, Any]) -> str:
    """Return a report in JSON with the same bytes for the same values."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


_Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]]]


def _lines(table: _Table) -> str:
    return "\n".join(markdown_table(*table))


def _means_table(found: ReaderComparison) -> _Table:
    rows = []
    for measure, by_system in found.means.items():
        cells = [
            f"{mean_interval(by_system[s][0])} ({by_system[s][1]})" if s in by_system else "–"
            for s in found.systems
        ]
        rows.append((measure, *cells))
    return ("measure [95%] (questions)", *map(name_of, found.systems)), rows


def _tests_table(tests: Iterable[MeasureTest]) -> _Table:
    return ("measure", "first", "second", "what differs", "questions", "difference [interval]", "p (Holm)"), [
        (
            t.measure,
            name_of(t.contrast.a),
            name_of(t.contrast.b),
            t.contrast.part,
            str(t.n),
            signed_interval(t.difference),
            p_value(t.p),
        )
        for t in tests
    ]


def _overlap_table(scores: AnswerScores, systems: Sequence[str]) -> _Table:
    rows = [
        (metric.name, *(mean_interval(metric.means[s]) for s in systems))
        for metric in scores.metrics
        if metric.name in _OVERLAP
    ]
    return ("measure [95%]", *map(name_of, systems)), rows


def _cost_table(found: ReaderComparison) -> _Table:
    rows = []
    for system in found.systems:
        cost = _cost(found, system)
        rows.append(
            (
                name_of(system),
                f"{cost['tokens']:,.0f}",
                "–" if not cost["seconds"] else f"{cost['seconds']:.1f}",
            )
        )
    return ("system", "tokens a question", "seconds a question"), rows


def _cost(found: ReaderComparison, system: str) -> dict[str, float]:
    """Return the mean tokens and seconds of a question."""
    usage = [a.usage for a in found.answers if a.method == system and a.usage is not None]
    n = len(usage) or 1
    return {
        "tokens": sum(u.prompt_tokens + u.completion_tokens for u in usage) / n,
        "seconds": sum(u.seconds for u in usage) / n,
    }


def _training_line(training: Mapping[str, Any]) -> str:
    losses = {each["step"]: each["loss"] for each in training.get("held_out_losses") or []}
    kept = training.get("best_step")
    fell = ""
    if 0 in losses and kept in losses:
        fell = f"; loss on held-out rows {losses[0]:.3f} before, {losses[kept]:.3f} after step {kept:,}, which is kept"
    return (
        f"Training: {training.get('steps', 0):,} steps, {training.get('tokens', 0):,} tokens, "
        f"{training.get('seconds', 0) / 60:.0f} minutes{fell}. The loss says that the form was learned, not that "
        "answers are right."
    )
