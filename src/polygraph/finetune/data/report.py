"""The report on rows: counts by kind and part, shares, lengths, what was dropped and why, and examples."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from polygraph.finetune.data.records import PARTS, Part, Row, TrainingData
from polygraph.records import Json
from polygraph.text.prose import count_noun

_EXAMPLES = 5
_NAMES: Mapping[Part, str] = {"train": "train", "held_out": "held out"}
_LONGEST_SHOWN = 20
"""Dropped questions that are listed for each reason."""


def counts_of(data: TrainingData) -> dict[str, Json]:
    """Return counts and lengths of the rows by part, and the number of dropped questions by reason."""
    found: dict[str, Json] = {part: _part_counts(data.rows[part]) for part in PARTS}
    found["held_out_documents"] = len(data.held_out_documents)
    found["dropped"] = dict(sorted(Counter(each.reason for each in data.dropped).items()))
    return found


def report_page(data: TrainingData, settings: Mapping[str, Json]) -> str:
    """Write the report as Markdown."""
    parts = [
        "# Training rows",
        _summary(data),
        "## Rows by kind of question",
        _kinds(data),
        "## Composition",
        _composition(data),
        "## Settings",
        _table(("setting", "value"), [(name, _shown(value)) for name, value in sorted(settings.items())]),
        "## Dropped questions",
        _dropped(data),
        "## Examples",
        *_examples(data),
    ]
    if data.notes:
        parts[2:2] = ["\n".join(f"- {_escaped(note)}" for note in data.notes)]
    return "\n\n".join(parts) + "\n"


def _part_counts(rows: Sequence[Row]) -> dict[str, Json]:
    answerable = [row for row in rows if not row.question.null]
    return {
        "rows": len(rows),
        "kinds": dict(sorted(Counter(row.question.kind for row in rows).items())),
        "with_oracle": sum(row.has_oracle for row in rows),
        "without_oracle": sum(not row.has_oracle for row in answerable),
        "null": len(rows) - len(answerable),
        "refusals": sum(row.refuses for row in rows),
        "passages": _spread([len(row.passages) for row in rows]),
        "tokens": _spread([row.n_tokens for row in rows]),
        "documents": len({chunk.document for row in rows for chunk in row.passages}),
    }


def _spread(values: Sequence[int]) -> dict[str, Json]:
    if not values:
        return {}
    return {
        "min": min(values),
        "median": float(np.median(values)),
        "max": max(values),
        "sum": sum(values),
    }


def _summary(data: TrainingData) -> str:
    n = {part: len(data.rows[part]) for part in PARTS}
    held = count_noun(len(data.held_out_documents), "document")
    lines = [
        f"{count_noun(n['train'], 'row')} to train on, {count_noun(n['held_out'], 'row')} held out. The held-out rows "
        f"show {held}, of which the rows to train on show nothing.",
        "`train.jsonl` and `held-out.jsonl` have one conversation a line. `questions.jsonl` holds the held-out "
        "questions with gold, `provenance.jsonl` says what each row rests on, `data.json` how all of it was made.",
    ]
    return "\n\n".join(lines)


def _kinds(data: TrainingData) -> str:
    kinds = sorted({row.question.kind for rows in data.rows.values() for row in rows})
    counts = {part: Counter(row.question.kind for row in data.rows[part]) for part in PARTS}
    rows = [(kind, *(f"{counts[part][kind]:,}" for part in PARTS)) for kind in kinds]
    rows.append(("all", *(f"{len(data.rows[part]):,}" for part in PARTS)))
    return _table(("kind", *(_NAMES[part] for part in PARTS)), rows)


def _composition(data: TrainingData) -> str:
    rows = []
    for title, counted in (
        ("with the passages that hold the answer", lambda row: row.has_oracle),
        ("without them", lambda row: not row.has_oracle and not row.question.null),
        ("question that the documents do not answer", lambda row: row.question.null),
        ("refusal is learned", lambda row: row.refuses),
    ):
        rows.append((title, *(_share(sum(map(counted, data.rows[p])), len(data.rows[p])) for p in PARTS)))
    for title, measured in (
        ("passages", lambda row: len(row.passages)),
        ("tokens of a row", lambda row: row.n_tokens),
    ):
        rows.append((title, *(_range([measured(row) for row in data.rows[p]]) for p in PARTS)))
    return _table(("rows", *(_NAMES[part] for part in PARTS)), rows)


def _share(n: int, of: int) -> str:
    return f"{n:,} ({100 * n / of:.1f}%)" if of else "0"


def _range(values: Sequence[int]) -> str:
    return f"{min(values):,} to {max(values):,}, median {np.median(values):,.0f}" if values else "none"


def _dropped(data: TrainingData) -> str:
    if not data.dropped:
        return "None."
    lines = []
    for reason, n in sorted(
        Counter(each.reason for each in data.dropped).items(), key=lambda e: (-e[1], e[0])
    ):
        lines.append(f"- {_escaped(reason)}: {count_noun(n, 'question')}")
        some = [each for each in data.dropped if each.reason == reason]
        lines += [f"  - {_escaped(each.id)}: {_escaped(each.question)}" for each in some[:_LONGEST_SHOWN]]
        if n > _LONGEST_SHOWN:
            lines.append(f"  - and {n - _LONGEST_SHOWN:,} more")
    return "\n".join(lines)


def _examples(data: TrainingData) -> list[str]:
    """Show the first rows to train on, of different kinds as far as there are."""
    rows = data.rows["train"]
    first: dict[object, int] = {}
    for n, row in enumerate(rows):
        first.setdefault((row.question.kind, row.refuses), n)
    order = list(dict.fromkeys([*first.values(), *range(len(rows))]))[:_EXAMPLES]
    found = []
    for n in sorted(order):
        found.append(f"### Row {n} of train.jsonl: {_escaped(rows[n].question.kind)}")
        found += [_fenced(f"[{m.role}]\n{m.content}") for m in rows[n].messages]
    return found


def _fenced(text: str) -> str:
    """Put a text into a fence that is longer than any in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_escaped(cell) for cell in line)} |" for line in lines)


def _shown(value: Json) -> str:
    if isinstance(value, list):
        return " to ".join(dict.fromkeys(map(str, value)))
    return "none" if value is None else str(value)


def _escaped(text: str) -> str:
    """Return a text from outside on one line, without Markdown or HTML of its own."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", " ".join(text.split()))
