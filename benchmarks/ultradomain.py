"""Analyse 2,331 recorded verdicts of GPT-4o on 910 recorded answers: position bias, length, win rates.

    python benchmarks/ultradomain.py DATA/ultradomain-mix

Each comparison was judged with one system first, then with the other, on 130 questions; some lines are missing. Lines
are in the order of the questions: two files that judged the same answers agree line by line (kappa 0.96), and not at
all when shifted by one. It is unknown which lines are missing, so every possibility is tried, and figures that depend
on it are given as a range. The published win rates pool both orders: they follow from the counts to the last digit.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import count_words
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import MadeWith, StudyAnswer
from polygraph.evaluate.reports.findings import Findings
from polygraph.evaluate.reports.summarise_study import summarise_study
from polygraph.evaluate.statistics.agreement import cohen_kappa

UNKNOWN = MadeWith(
    chat="",
    embedder="",
    name_embedder="",
    reranker="",
    temperature=0.0,
    settings="",
    max_tokens=None,
    version="",
    layers={},
)
"""The recorded answers do not say what they were made with."""
COMPARISONS = {
    "hi_fastgraphrag": ("hi", "fastGraphrag"),
    "hi_kag": ("hi", "kag"),
    "hi_naive": ("hi", "naive"),
    "hi_lightrag": ("hi", "lightrag"),
    "hi_graphrag": ("hi", "local"),
    "hi_naiveR_hi": ("hi_naiveR", "hi"),
}
"""By file, the systems in the order of its first half. The names of the other three files (`naive`, `lightrag`,
`hi_hi_naiveR_baseindex`) do not say which answers they judged."""
PUBLISHED = {
    ("hi", "fastGraphrag"): 99.2,
    ("hi", "kag"): 97.7,
    ("hi", "naive"): 87.6,
    ("hi", "lightrag"): 65.9,
    ("hi", "local"): 64.1,
}
"""Win rates of HiRAG in percent, "Overall" on Mix, from its authors' page of results."""
N = 130
"""Questions."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The verdicts of one file: for each order and line, whether the answer shown first won."""

    systems: tuple[str, str]
    forth: tuple[bool, ...]
    """With the first system shown first."""
    back: tuple[bool, ...]

    @property
    def missing(self) -> int:
        """Number of missing lines."""
        return 2 * N - len(self.forth) - len(self.back)

    @property
    def wins(self) -> int:
        """Number of verdicts for the first system."""
        return sum(self.forth) + sum(not front for front in self.back)


def read(folder: Path, comparison: str) -> Recorded:
    """Read the overall winners of one file.

    It is also unknown which half lost a line. For counts by order, the first 130 lines are assigned to the first order,
    which is wrong for at most as many lines as are missing.
    """
    rows = [json.loads(line) for line in (folder / "verdicts.jsonl").open(encoding="utf-8")]
    front = [row["Overall Winner"] == "Answer 1" for row in rows if row["comparison"] == comparison]
    return Recorded(COMPARISONS[comparison], tuple(front[:N]), tuple(front[N:]))


def missing_line_sets(recorded: Recorded) -> Iterator[tuple[int, ...]]:
    """Yield every possible set of missing lines."""
    return combinations(range(2 * N), recorded.missing)


def match_lines(recorded: Recorded, gaps: Sequence[int]) -> list[tuple[bool, bool] | None]:
    """Return, by question, whether the first system won in each order; None if a line is missing."""
    lines: list[bool | None] = [*recorded.forth, *recorded.back]
    for gap in gaps:
        lines.insert(gap, None)
    return [
        None if (one := lines[i]) is None or (other := lines[N + i]) is None else (one, not other)
        for i in range(N)
    ]


def answers(folder: Path) -> list[StudyAnswer]:
    """Return the recorded answers as answers of a study."""
    with gzip.open(folder / "answers.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [
        StudyAnswer(
            question=r["question"],
            method=r["system"],
            text=r["answer"],
            refused=False,
            extractive=False,
            made_with=UNKNOWN,
        )
        for r in rows
    ]


def questions(folder: Path) -> list[Question]:
    """Return the questions; their text is their id, which answers refer to."""
    rows = [json.loads(line) for line in (folder / "questions.jsonl").open(encoding="utf-8")]
    return [Question(id=r["question"], question=r["question"]) for r in rows]


def judgements(asked: Sequence[Question], recorded: Recorded, gaps: Sequence[int]) -> list[Judgement]:
    """Return two judgements for each question with verdicts in both orders."""
    a, b = recorded.systems
    found = []
    for question, pair in zip(asked, match_lines(recorded, gaps), strict=True):
        if pair is not None:
            for methods, won in (((a, b), pair[0]), ((b, a), pair[1])):
                scores = (1.0, 0.0) if won == (methods[0] == a) else (0.0, 1.0)
                found.append(
                    Judgement(
                        protocol="lightrag",
                        question=question.id,
                        methods=methods,
                        judge="gpt-4o",
                        scores={"overall": scores},
                    )
                )
    return found


def conclude(folder: Path) -> Findings:
    """Summarise all comparisons; missing lines are assumed to be at the end of each file."""
    asked = questions(folder)
    found = []
    for comparison in COMPARISONS:
        recorded = read(folder, comparison)
        found += judgements(asked, recorded, range(2 * N - recorded.missing, 2 * N))
    return summarise_study(asked, answers(folder), [], found, protocol="lightrag")


@dataclass(frozen=True, slots=True)
class Ranges:
    """Least and greatest value over all possible missing lines."""

    both: tuple[int, int]
    """Questions that the first system wins in both orders."""
    neither: tuple[int, int]
    """Questions that the first system loses in both orders."""
    front: tuple[int, int]
    """Questions that the answer shown first wins in both orders."""
    slope: tuple[float, float]
    """Change of the relative win rate per 25 words."""
    equal: tuple[float, float]
    """Relative win rate at equal length, by linear regression."""


def ranges(folder: Path, comparison: str) -> Ranges:
    """Return figures that need both orders of a question."""
    recorded = read(folder, comparison)
    words = {a.key: count_words(a.text) for a in answers(folder)}
    a, b = recorded.systems
    gap = [words[q.id, a] - words[q.id, b] for q in questions(folder)]
    counts, lines = [], set()
    for gaps in missing_line_sets(recorded):
        some = [(pair, gap[i]) for i, pair in enumerate(match_lines(recorded, gaps)) if pair is not None]
        pairs = [pair for pair, _ in some]
        counts.append([pairs.count((True, True)), pairs.count((False, False)), pairs.count((True, False))])
        y = np.asarray([one + other - 1.0 for one, other in pairs])
        slope, level = np.polyfit([g for _, g in some], y, 1)
        lines.add((25 * float(slope), float(level)))
    table = np.asarray(counts)
    low, high = table.min(axis=0).tolist(), table.max(axis=0).tolist()
    slopes, levels = zip(*lines, strict=True)
    return Ranges(
        both=(low[0], high[0]),
        neither=(low[1], high[1]),
        front=(low[2], high[2]),
        slope=(min(slopes), max(slopes)),
        equal=(min(levels), max(levels)),
    )


def repeated(folder: Path) -> tuple[float, float]:
    """Return Cohen's kappa of two files with the same judgements made twice, and of the same shifted by a line.

    `naive` and `lightrag` judged the same, unknown answers. Their first halves are compared, up to the last line that
    cannot belong to the second order.
    """
    rows = [json.loads(line) for line in (folder / "verdicts.jsonl").open(encoding="utf-8")]
    one, other = (
        [r["Overall Winner"] for r in rows if r["comparison"] == name][: N - 1]
        for name in ("naive", "lightrag")
    )
    return cohen_kappa(one, other), cohen_kappa(one[1:], other[:-1])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    found = conclude(folder)
    by_pair = {frozenset((p.a, p.b)): p for p in found.pairs}
    print(
        "| A against B | words, A less B | A wins if first | A wins if second | published | wins both orders |",
        end="",
    )
    print(" loses both | first wins both | relative win rate | p (Holm) | 25 words more | at equal length |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for comparison, (a, b) in COMPARISONS.items():
        recorded, pair, wide = (
            read(folder, comparison),
            by_pair[frozenset((a, b))],
            ranges(folder, comparison),
        )
        sign = 1 if pair.a == a else -1
        low, high = sorted((sign * pair.relative.low, sign * pair.relative.high))
        assert pair.length is not None
        published = PUBLISHED.get((a, b))
        cells = [
            f"{sign * pair.length.words.mean:+.0f}",
            f"{np.mean(recorded.forth):.0%}",
            f"{1 - np.mean(recorded.back):.0%}",
            f"{published} %" if published else "–",
            *(f"{x}" if x == y else f"{x} to {y}" for x, y in (wide.both, wide.neither, wide.front)),
            f"{100 * sign * pair.relative.mean:+.0f} % [{100 * low:+.0f}, {100 * high:+.0f}]",
            f"{pair.p:.1g}",
            _points(wide.slope),
            _points(wide.equal) if pair.length.inside else "not measured",
        ]
        print(f"| {a} – {b} | {' | '.join(cells)} |")
    print("\n| system | words | strength [95%] | rank |\n|---|---|---|---|")
    words = {m.method: m.words for m in found.methods}
    for s in found.ranking:
        rank = str(s.rank_low) if s.rank_low == s.rank_high else f"{s.rank_low} to {s.rank_high}"
        print(
            f"| {s.method} | {words[s.method]:.0f} | {s.strength:+.2f} [{s.low:+.2f}, {s.high:+.2f}] | {rank} |"
        )
    print()
    for sentence in (*found.conclusions, *found.notes):
        print(f"- {sentence}")
    alike, shifted = repeated(folder)
    print(
        f"- the files naive and lightrag, line by line: kappa {alike:.2f}; shifted by one line: {shifted:.2f}"
    )


def _points(span: tuple[float, float]) -> str:
    low, high = (f"{100 * x:+.0f}" for x in span)
    return f"{low} points" if low == high else f"{low} to {high} points"


if __name__ == "__main__":
    main()
