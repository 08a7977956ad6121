"""The report of a study: one page that stands alone, and the same as Markdown and JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from polygraph.evaluate import figures
from polygraph.evaluate.between_judges import JudgeAgreement
from polygraph.evaluate.findings import Findings, MethodFigures, PairFigures
from polygraph.evaluate.judgements import Judgement, outcomes
from polygraph.evaluate.questions_file import Question
from polygraph.evaluate.study import StudyAnswer
from polygraph.models.protocols import Embedder, Vectors
from polygraph.records import Json

_ANSWER_CHARACTERS = 6_000
"""Of an answer, so much is shown."""
_EVIDENCE = 12
"""Pieces of evidence that are listed for each answer."""
_WHY_CHARACTERS = 160
_EMBEDDED_CHARACTERS = 2_000

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --soft: #6a6a6a; --line: #d6d6d6; --mark: #f3f3f3 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #16181b; --soft: #a3a3a3; --line: #3a3d42; --mark: #22262b }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; line-height: 1.25 } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem }
figure { margin: 1.5rem 0 } figure svg { height: auto; color: var(--ink) }
figcaption { color: var(--soft); font-size: .92rem }
ul.findings { padding-left: 1.2rem } ul.findings li { margin: .5rem 0 }
details { border: 1px solid var(--line); border-radius: 6px; padding: .4rem .8rem; margin: .5rem 0 }
summary { cursor: pointer } .soft { color: var(--soft); font-size: .92rem }
.answer { background: var(--mark); border-radius: 6px; padding: .5rem .8rem; margin: .6rem 0; white-space: pre-wrap }
.answer h4 { margin: 0 0 .3rem; font-size: 1rem }
@media print {
  body { max-width: none; margin: 0 } details { break-inside: avoid } figure { break-inside: avoid }
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that a report tells of."""

    title: str
    settings: Mapping[str, Json]
    questions: tuple[Question, ...]
    answers: tuple[StudyAnswer, ...]
    judgements: tuple[Judgement, ...]
    findings: Findings
    protocol: str
    gold: Mapping[str, Mapping[str, float]]
    """Gold metrics by method, where the questions have gold answers."""
    confusion: tuple[tuple[str, int, int, int, int], ...] = ()
    """For pairs of methods: both right, only the first, only the second, neither."""
    also: tuple[str, ...] = ()
    """Sentences after the conclusions."""
    agreement: JudgeAgreement | None = None
    """Of several judges."""


def embed_answers(answers: Sequence[StudyAnswer], embedder: Embedder) -> Vectors:
    """Vectors of answers for the map of the report, by the quick embedder of names; shape ``(n, dimension)``."""
    return embedder.embed([a.text[:_EMBEDDED_CHARACTERS] or "nothing" for a in answers], "document")


def html_report(material: Material, vectors: Vectors | None = None) -> str:
    """The report as a page without scripts, fonts or images of other places.

    Args:
        material: of the study.
        vectors: of the answers, for the map; shape ``(n_answers, dimension)``.
    """
    found = material.findings
    parts = [
        f"<h1>{_e(material.title)}</h1>",
        f'<p class="soft">{len(material.questions)} questions, {len(found.methods)} methods, '
        f"{len(material.judgements):,} judgements, protocol {_e(material.protocol)}.</p>",
        "<h2>What was found</h2>",
        _list([*found.conclusions, *material.also]),
        _list([f"Note: {note}" for note in found.notes]) if found.notes else "",
        "<h2>Methods</h2>",
        _methods_table(found.methods, material.gold),
    ]
    if found.pairs:
        parts += _judged(material)
    if material.agreement:
        columns, rows = _agreement_rows(material.agreement)
        parts += [
            "<h2>Do the judges agree</h2>",
            _table(columns, rows, "Winners named by two judges for the same pairs of answers"),
        ]
    if material.confusion:
        parts += [
            "<h2>Who is right where</h2>",
            _figure(
                figures.confusion_grid(material.confusion),
                "Questions that both methods, only one of them, or neither answers rightly. What only one gets "
                "right is what a perfect choice between the two could gain.",
            ),
        ]
    if vectors is not None and len(vectors) > 2:
        parts += [
            "<h2>Answers by meaning</h2>",
            _figure(
                figures.answer_map(figures.plane(vectors), [a.method for a in material.answers]),
                "Every answer as a point; near points say similar things. Principal components of their vectors.",
            ),
        ]
    parts += [
        "<h2>Every question</h2>",
        *_questions(material),
        "<h2>How it was run</h2>",
        _settings(material),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_e(material.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def markdown_report(material: Material) -> str:
    """Conclusions and tables as Markdown."""
    found = material.findings
    lines = [f"# {material.title}", "", *(f"- {c}" for c in (*found.conclusions, *material.also))]
    lines += [f"- Note: {note}" for note in found.notes]
    columns, rows = _method_rows(found.methods, material.gold)
    lines += ["", "## Methods", "", *_md_table(columns, rows)]
    if found.pairs:
        columns, rows = _pair_rows(found.pairs)
        lines += ["", "## Comparisons", "", *_md_table(columns, rows)]
    if material.agreement:
        columns, rows = _agreement_rows(material.agreement)
        lines += ["", "## Agreement of judges", "", *_md_table(columns, rows)]
    return "\n".join(lines) + "\n"


def json_report(material: Material) -> dict[str, Any]:
    """Everything but answers and judgements, as plain values."""
    return {
        "title": material.title,
        "protocol": material.protocol,
        "settings": dict(material.settings),
        "n_questions": len(material.questions),
        "gold": {method: dict(values) for method, values in material.gold.items()},
        "agreement": asdict(material.agreement) if material.agreement else None,
        "findings": json.loads(json.dumps(asdict(material.findings))),
    }


# --- judgements ---------------------------------------------------------------------------------------


def _judged(material: Material) -> list[str]:
    found = material.findings
    pairs = found.pairs
    columns, rows = _pair_rows(pairs)
    quality = {s.method: (s.strength, s.low, s.high) for s in found.ranking}
    parts = [
        "<h2>Comparisons</h2>",
        _figure(
            figures.box_plots(pairs),
            "Relative win rate (wins less losses, divided by all) of the first method. Boxes: median and quartiles "
            "over trials on the same questions, the noise of the judge. Lines: 95 % interval over questions, "
            "what other questions might show.",
        ),
        _table(columns, rows, "Comparisons of two methods"),
        _figure(
            figures.heat_map([m.method for m in found.methods], pairs),
            "Relative win rate of the method of the row over that of the column, in percent.",
        ),
    ]
    if quality:
        parts += [
            _table(
                ("method", "strength", "95 % interval", "rank"),
                [
                    (
                        s.method,
                        f"{s.strength:+.2f}",
                        f"{s.low:+.2f} to {s.high:+.2f}",
                        _ranks(s.rank_low, s.rank_high),
                    )
                    for s in found.ranking
                ],
                "Ranking of all methods (Bradley and Terry), strength in logarithmic odds",
            ),
            _figure(
                figures.cost_scatter(found.methods, quality, "strength"),
                "Quality against cost: up is better, left is cheaper.",
            ),
        ]
    by_aspect = {f"{p.a} – {p.b}: {aspect}": r for p in pairs for aspect, r in p.by_aspect.items()}
    by_type = {
        f"{p.a} – {p.b}: {kind or 'no type'}": r
        for p in pairs
        for kind, (r, _) in p.by_type.items()
        if len(p.by_type) > 1
    }
    parts += [
        "<h2>By aspect</h2>",
        _figure(figures.rate_bars(by_aspect), "Wins, ties and losses of the first method in each aspect."),
    ]
    if by_type:
        parts += [
            "<h2>By type of question</h2>",
            _figure(
                figures.rate_bars(by_type),
                "Wins, ties and losses of the first method on each type of question.",
            ),
        ]
    return parts


def _pair_rows(pairs: Sequence[PairFigures]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    columns: tuple[str, ...] = (
        *("first", "second", "questions", "win", "tie", "lose", "relative win rate", "points", "p (Holm)"),
        *("same in both orders", "left out"),
    )
    rows: list[tuple[str, ...]] = []
    for p in pairs:
        relative, gap, same = p.relative, p.gap, p.consistency.rate
        rows.append(
            (
                p.a, p.b, str(p.n), f"{p.pooled.win:.0%}", f"{p.pooled.tie:.0%}", f"{p.pooled.lose:.0%}",
                f"{100 * relative.mean:+.0f} % [{100 * relative.low:+.0f}, {100 * relative.high:+.0f}]",
                f"{gap.mean:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]",
                f"{p.p:.2g}",
                "–" if same is None else f"{same:.0%}",
                str(p.discarded),
            )
        )  # fmt: skip
    return columns, rows


def _agreement_rows(agreement: JudgeAgreement) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = [
        (p.one, p.other, str(p.n), f"{p.same:.0%}", "–" if p.kappa is None else f"{p.kappa:.2f}")
        for p in agreement.pairs
    ]
    return ("judge", "other judge", "pairs", "same winner", "kappa"), rows


def _ranks(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


# --- methods ------------------------------------------------------------------------------------------


def _method_rows(
    methods: Sequence[MethodFigures], gold: Mapping[str, Mapping[str, float]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    names = list(dict.fromkeys(name for values in gold.values() for name in values))
    columns = (
        "method", "answers", "refused", "words", "calls", "tokens", "seconds", "seconds, 95th of 100", "cost", *names,
    )  # fmt: skip
    rows = []
    for m in methods:
        metrics = [gold.get(m.method, {}).get(name) for name in names]
        rows.append(
            (
                m.method, str(m.n), str(m.refused), f"{m.words:.0f}", f"{m.calls:.1f}", f"{m.tokens:,.0f}",
                f"{m.seconds_median:.2f}", f"{m.seconds_p95:.2f}",
                "unknown" if m.cost is None else f"${m.cost:.5f}",
                *("–" if value is None else f"{value:.3f}" for value in metrics),
            )
        )  # fmt: skip
    return columns, rows


def _methods_table(methods: Sequence[MethodFigures], gold: Mapping[str, Mapping[str, float]]) -> str:
    columns, rows = _method_rows(methods, gold)
    return _table(columns, rows, "Per question; calls and tokens as if nothing had been in the store")


# --- single questions ---------------------------------------------------------------------------------


def _questions(material: Material) -> list[str]:
    answers: dict[str, list[StudyAnswer]] = {}
    for answer in material.answers:
        answers.setdefault(answer.question, []).append(answer)
    scores = _scores_by_question(material)
    found = []
    for question in material.questions:
        mine = sorted(answers.get(question.id, []), key=lambda a: a.method)
        gold = (
            f'<p class="soft">Known answer: {_e("; ".join(question.answers))}</p>' if question.answers else ""
        )
        found.append(
            f"<details><summary>{_e(question.question)} "
            f'<span class="soft">{_e(question.id)}</span></summary>\n{gold}'
            f"{scores.get(question.id, '')}{''.join(_answer(a) for a in mine)}</details>"
        )
    return found


def _scores_by_question(material: Material) -> dict[str, str]:
    """A table of results for each question, by pair."""
    rows: dict[str, dict[tuple[str, str], list[tuple[float, float]]]] = {}
    for p in material.findings.pairs:
        for outcome in outcomes(material.judgements, p.a, p.b):
            n = outcome.n_judgements
            a, b = outcome.total
            rows.setdefault(outcome.question, {}).setdefault((p.a, p.b), []).append((a / n, b / n))
    found = {}
    for question, pairs in rows.items():
        lines = [
            (a, b, f"{np.mean([x for x, _ in values]):.2f}", f"{np.mean([y for _, y in values]):.2f}")
            for (a, b), values in pairs.items()
        ]
        found[question] = _table(
            ("first", "second", "score of first", "score of second"), lines, "Mean scores"
        )
    return found


def _answer(answer: StudyAnswer) -> str:
    text = answer.text[:_ANSWER_CHARACTERS]
    if len(answer.text) > _ANSWER_CHARACTERS:
        text += f" [{len(answer.text) - _ANSWER_CHARACTERS:,} more characters]"
    listed = "".join(
        f"<li>{_e(str(e.get('kind', '')))} {_e(str(e.get('id', '')))} "
        f'<span class="soft">{_e(str(e.get("why", ""))[:_WHY_CHARACTERS])}</span></li>'
        for e in answer.evidence[:_EVIDENCE]
    )
    more = len(answer.evidence) - _EVIDENCE
    rest = f'<li class="soft">and {more} more</li>' if more > 0 else ""
    evidence = (
        f"<details><summary>Evidence ({len(answer.evidence)})</summary><ol>{listed}{rest}</ol></details>"
        if listed
        else ""
    )
    refused = ' <span class="soft">refused</span>' if answer.refused else ""
    return f'<div class="answer"><h4>{_e(answer.method)}{refused}</h4>{_e(text)}</div>{evidence}'


# --- parts --------------------------------------------------------------------------------------------


def _settings(material: Material) -> str:
    rows = [
        (key, json.dumps(value, ensure_ascii=False, sort_keys=True))
        for key, value in sorted(material.settings.items())
    ]
    return _table(("step", "settings"), rows, "Settings of each step")


def _list(items: Iterable[str]) -> str:
    return '<ul class="findings">' + "".join(f"<li>{_e(item)}</li>" for item in items) + "</ul>"


def _figure(svg: str, caption: str) -> str:
    return (
        f'<figure><div role="img" aria-label="{_e(caption)}">{svg}</div>'
        f"<figcaption>{_e(caption)}</figcaption></figure>"
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    listed = list(rows)
    numeric = [all(_is_number(row[i]) for row in listed) for i in range(len(columns))]
    head = "".join(f'<th scope="col"{_class(numeric[i])}>{_e(name)}</th>' for i, name in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(f"<td{_class(numeric[i])}>{_e(cell)}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in listed
    )
    return (
        f"<table><caption>{_e(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _class(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def _is_number(text: str) -> bool:
    return text[:1] in "+-$–0123456789" or text == "unknown"


def _md_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(c.replace('|', '/') for c in cells)} |"

    return [line(columns), line(["---"] * len(columns)), *(line(row) for row in rows)]


def _e(text: str) -> str:
    return escape(text, quote=True)
