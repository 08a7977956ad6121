"""The report of a study: one page that stands alone, and the same as Markdown and JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from polygraph.evaluate.judging.judge_agreement import JudgeAgreement
from polygraph.evaluate.judging.judgements import Judgement, outcomes
from polygraph.evaluate.judging.pairwise import in_both_orders
from polygraph.evaluate.metrics.answer_scores import GoldScores
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.reports import charts as figures
from polygraph.evaluate.reports import html as page
from polygraph.evaluate.reports.findings import Findings, MethodFigures, PairFigures
from polygraph.evaluate.reports.gold_tables import gold_tables
from polygraph.evaluate.runs.study_folder import StudyAnswer
from polygraph.evaluate.statistics.win_rates import Rates
from polygraph.models.protocols import Embedder, Vectors
from polygraph.records import Json

_ANSWER_CHARACTERS = 6_000
"""Of an answer, so much is shown."""
_EVIDENCE = 12
"""Pieces of evidence that are listed for each answer."""
_WHY_CHARACTERS = 160
_PAGE = 3_600_000
"""Characters that all answers and their evidence may take: the page must open at once on any machine."""
_LEAST = 500
"""Characters that each gets at least."""
_ROWS = 20
"""A table of gold metrics with more rows is folded away."""
_SENTENCES = 6
"""Comparisons that are told at the top; the others are folded away."""
_EMBEDDED_CHARACTERS = 2_000


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
    gold: GoldScores | None
    """How near answers come to what is known to be right, where something is."""
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
    sections = _sections(material, vectors)
    parts = [
        f"<h1>{page.e(material.title)}</h1>",
        f'<p class="soft">{len(material.questions)} questions, {len(material.findings.methods)} methods, '
        f"{len(material.judgements):,} judgements, protocol {page.e(material.protocol)}.</p>",
        page.contents(list(sections)),
    ]
    for heading, inside in sections.items():
        parts += [page.heading(heading), *inside]
    return page.document(material.title, "\n".join(parts))


def markdown_report(material: Material) -> str:
    """Conclusions and tables as Markdown."""
    found = material.findings
    lines = [f"# {material.title}", "", *(f"- {c}" for c in (*found.conclusions, *material.also))]
    lines += [f"- Note: {note}" for note in found.notes]
    columns, rows = _method_rows(found.methods)
    lines += ["", "## Methods", "", *page.markdown_table(columns, rows)]
    if material.gold:
        lines += ["", "## Against known answers"]
        for caption, columns, rows in gold_tables(material.gold):
            lines += ["", f"{caption}:", "", *page.markdown_table(columns, rows)]
    if found.pairs:
        columns, rows = _pair_rows(found.pairs)
        lines += ["", "## Comparisons", "", *page.markdown_table(columns, rows)]
    if material.agreement:
        columns, rows = _agreement_rows(material.agreement)
        lines += ["", "## Agreement of judges", "", *page.markdown_table(columns, rows)]
    return "\n".join(lines) + "\n"


def json_report(material: Material) -> dict[str, Any]:
    """Everything but answers and judgements, as plain values."""
    return {
        "title": material.title,
        "protocol": material.protocol,
        "settings": dict(material.settings),
        "n_questions": len(material.questions),
        "gold": material.gold.figures() if material.gold else {},
        "gold_scores": asdict(material.gold) if material.gold else None,
        "agreement": asdict(material.agreement) if material.agreement else None,
        "findings": json.loads(json.dumps(asdict(material.findings))),
    }


# --- sections -----------------------------------------------------------------------------------------


def _sections(material: Material, vectors: Vectors | None) -> dict[str, list[str]]:
    """What stands below each heading."""
    found = material.findings
    columns, rows = _method_rows(found.methods)
    sections = {
        "What was found": _conclusions(material),
        "Methods": [
            page.table(columns, rows, "Per question; calls and tokens as if nothing had been in the store")
        ],
    }
    if material.gold:
        sections["Against known answers"] = [
            page.folded(caption, page.table(columns, rows, caption))
            if len(rows) > _ROWS
            else page.table(columns, rows, caption)
            for caption, columns, rows in gold_tables(material.gold)
        ]
    if found.pairs:
        sections |= _judged(material)
    if material.agreement:
        columns, rows = _agreement_rows(material.agreement)
        told = "Winners named by two judges for the same pairs of answers"
        sections["Do the judges agree"] = [page.table(columns, rows, told)]
    if material.confusion:
        sections["Who is right where"] = [_confusion(material.confusion)]
    if vectors is not None and len(vectors) > 2:
        sections["Answers by meaning"] = [
            page.figure(
                figures.answer_map(figures.plane(vectors), [a.method for a in material.answers]),
                "Every answer as a point; near points say similar things. Principal components of their vectors.",
                label="A map of all answers by meaning, coloured by method.",
            )
        ]
    sections["Every question"] = _questions(material)
    sections["How it was run"] = [_settings(material)]
    return sections


def _conclusions(material: Material) -> list[str]:
    """What a reader should know first; with many methods the lesser comparisons are folded away."""
    found = material.findings
    pairs = [p.sentence for p in found.pairs]
    some, rest = list(found.conclusions), []
    if len(pairs) > _SENTENCES:
        told = [c for c in some if c in pairs]
        rest = told[_SENTENCES:]
        some = [c for c in some if c not in rest]
    parts = [page.listing([*some, *material.also])]
    if rest:
        parts.append(page.folded(f"The other {len(rest)} comparisons", page.listing(rest)))
    if found.notes:
        parts += ["<h3>What to bear in mind</h3>", page.listing(_capital(note) for note in found.notes)]
    return parts


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _confusion(cells: Sequence[tuple[str, int, int, int, int]]) -> str:
    columns = ("methods", "both right", "only the first", "only the second", "neither")
    rows = [(name, *map(str, counts)) for name, *counts in cells]
    return page.figure(
        figures.confusion_grid(cells),
        "Questions that both methods, only one of them, or neither answers rightly. What only one gets right is what a "
        "perfect choice between the two could gain.",
        label="Bars of the questions that both methods, one of them or neither answers rightly.",
        numbers=page.table(columns, rows, "Questions answered rightly"),
    )


# --- judgements ---------------------------------------------------------------------------------------


def _judged(material: Material) -> dict[str, list[str]]:
    found = material.findings
    pairs = found.pairs
    columns, rows = _pair_rows(pairs)
    quality = {s.method: (s.strength, s.low, s.high) for s in found.ranking}
    parts = [
        page.figure(
            figures.box_plots(pairs),
            "Relative win rate (wins less losses, divided by all) of the first method. Boxes: median and quartiles "
            "over trials on the same questions, the noise of the judge. Blue lines: 95 % interval over questions, "
            "what other questions might show.",
            label="Box plots of the relative win rate of every pair of methods; the table below has the numbers.",
        ),
        page.table(columns, rows, "Comparisons of two methods"),
        page.figure(
            figures.heat_map([m.method for m in found.methods], pairs),
            "Relative win rate of the method of the row over that of the column, in percent.",
            label="Heat map of the relative win rates of the table above.",
        ),
    ]
    if quality:
        columns, rows = _ranking_rows(found)
        parts += [
            page.table(
                columns, rows, "Ranking of all methods (Bradley and Terry), strength in logarithmic odds"
            ),
            page.figure(
                figures.cost_scatter(found.methods, quality, "strength (Bradley and Terry)"),
                "Quality against cost: up is better, left is cheaper. Lines: 95 % interval.",
                label="Strength against tokens per question of every method; the tables have the numbers.",
            ),
        ]
    sections = {
        "Comparisons": parts,
        "By aspect": [
            _bars(
                {(p.a, p.b): dict(p.by_aspect) for p in pairs},
                "Wins, ties and losses of the first method in each aspect, in percent.",
            )
        ],
    }
    if any(len(p.by_type) > 1 for p in pairs):
        sections["By type of question"] = [
            _bars(
                {(p.a, p.b): {kind: r for kind, (r, _) in p.by_type.items()} for p in pairs},
                "Wins, ties and losses of the first method on each type of question, in percent.",
            )
        ]
    return sections


def _bars(rates: Mapping[tuple[str, str], Mapping[str, Rates]], caption: str) -> str:
    """Bars of wins, ties and losses, and the same as a table."""
    columns = ("first", "second", "part", "questions x trials", "win", "tie", "lose", "relative win rate")
    rows = [
        (
            a,
            b,
            name or "no type",
            str(r.n),
            *map(page.percent, (r.win, r.tie, r.lose)),
            f"{100 * r.relative:+.0f} %",
        )
        for (a, b), each in rates.items()
        for name, r in each.items()
    ]
    return page.figure(figures.rate_bars(rates), caption, numbers=page.table(columns, rows, caption))


def _ranking_rows(found: Findings) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = [
        (s.method, f"{s.strength:+.2f}", f"{s.low:+.2f} to {s.high:+.2f}", _ranks(s.rank_low, s.rank_high))
        for s in found.ranking
    ]
    return ("method", "strength", "95 % interval", "rank"), rows


def _pair_rows(pairs: Sequence[PairFigures]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    columns: tuple[str, ...] = (
        *("first", "second", "questions", "win, tie, lose", "relative win rate", "points", "p (Holm)"),
        *("same in both orders", "left out", "refused"),
    )
    rows: list[tuple[str, ...]] = []
    for p in pairs:
        relative, gap, same = p.relative, p.gap, p.consistency.rate
        shares = (100 * p.pooled.win, 100 * p.pooled.tie, 100 * p.pooled.lose)
        rows.append(
            (
                p.a,
                p.b,
                str(p.n),
                " / ".join(f"{share:.0f}" for share in shares) + " %",
                f"{100 * relative.mean:+.0f} % [{100 * relative.low:+.0f}, {100 * relative.high:+.0f}]",
                f"{gap.mean:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]",
                page.p_value(p.p),
                "–" if same is None else page.percent(same),
                str(p.discarded),
                str(p.refused),
            )
        )
    return columns, rows


def _agreement_rows(agreement: JudgeAgreement) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = [
        (p.one, p.other, str(p.n), page.percent(p.same), "–" if p.kappa is None else f"{p.kappa:.2f}")
        for p in agreement.pairs
    ]
    return ("judge", "other judge", "pairs", "same winner", "kappa"), rows


def _ranks(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


# --- methods ------------------------------------------------------------------------------------------


def _method_rows(methods: Sequence[MethodFigures]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    columns = (
        "method",
        "answers",
        "refused",
        "words",
        "calls",
        "tokens",
        "seconds",
        "seconds, 95th of 100",
        "cost",
    )
    rows: list[tuple[str, ...]] = [
        (
            m.method, str(m.n), str(m.refused), f"{m.words:.0f}", f"{m.calls:.1f}", f"{m.tokens:,.0f}",
            f"{m.seconds_median:.2f}", f"{m.seconds_p95:.2f}", page.money(m.cost),
        )
        for m in methods
    ]  # fmt: skip
    return columns, rows


# --- single questions ---------------------------------------------------------------------------------


def _questions(material: Material) -> list[str]:
    answers: dict[str, list[StudyAnswer]] = {}
    for answer in material.answers:
        answers.setdefault(answer.question, []).append(answer)
    scores = _scores_by_question(material)
    room = max(_LEAST, _PAGE // max(1, len(material.answers)))
    found = []
    for question in material.questions:
        mine = sorted(answers.get(question.id, []), key=lambda a: a.method)
        gold = (
            f'<p class="soft">Known answer: {page.e("; ".join(question.answers))}</p>'
            if question.answers
            else ""
        )
        found.append(
            f"<details><summary>{page.e(question.question)} "
            f'<span class="soft">{page.e(question.id)}</span></summary>\n{gold}'
            f"{scores.get(question.id, '')}{''.join(_answer(a, room) for a in mine)}</details>"
        )
    return found


def _scores_by_question(material: Material) -> dict[str, str]:
    """For each question a table of the points of each method, over all its comparisons."""
    points: dict[str, dict[str, list[float]]] = {}
    results: dict[str, dict[str, list[str]]] = {}
    balanced = in_both_orders(material.protocol)
    for p in material.findings.pairs:
        for outcome in outcomes(material.judgements, p.a, p.b, balanced=balanced):
            n = outcome.n_judgements * max(1, len(outcome.totals))
            result = outcome.result()
            for method, total, won in zip((p.a, p.b), outcome.total, ("a", "b"), strict=True):
                points.setdefault(outcome.question, {}).setdefault(method, []).append(total / n)
                how = "tie" if result == "tie" else "win" if result == won else "lose"
                results.setdefault(outcome.question, {}).setdefault(method, []).append(how)
    found = {}
    for question, by_method in points.items():
        rows = [
            (
                method,
                f"{np.mean(by_method[method]):.2f}",
                *(str(results[question][method].count(how)) for how in ("win", "tie", "lose")),
            )
            for method in sorted(by_method)
        ]
        columns = ("method", "mean score", "wins", "ties", "losses")
        found[question] = page.table(columns, rows, "Over all comparisons and trials")
    return found


def _answer(answer: StudyAnswer, room: int) -> str:
    """An answer with its evidence, in about so many characters."""
    most = min(_ANSWER_CHARACTERS, room)
    text = answer.text[:most]
    if len(answer.text) > most:
        text += f" [{len(answer.text) - most:,} more characters]"
    left = room - len(text)
    listed: list[str] = []
    for e in answer.evidence[:_EVIDENCE]:
        line = (
            f"<li>{page.e(str(e.get('kind', '')))} {page.e(str(e.get('id', '')))} "
            f'<span class="soft">{page.e(str(e.get("why", ""))[:_WHY_CHARACTERS])}</span></li>'
        )
        left -= len(line)
        if listed and left < 0:
            break
        listed.append(line)
    more = len(answer.evidence) - len(listed)
    if more:
        listed.append(f'<li class="soft">and {more} more</li>')
    evidence = (
        f"<details><summary>Evidence of {page.e(answer.method)} ({len(answer.evidence)})</summary>"
        f"<ol>{''.join(listed)}</ol></details>"
        if answer.evidence
        else ""
    )
    refused = ' <span class="soft">refused</span>' if answer.refused else ""
    return f'<div class="answer"><h3>{page.e(answer.method)}{refused}</h3>{page.e(text)}</div>{evidence}'


# --- parts --------------------------------------------------------------------------------------------


def _settings(material: Material) -> str:
    rows = [
        (key, json.dumps(value, ensure_ascii=False, sort_keys=True))
        for key, value in sorted(material.settings.items())
    ]
    return page.table(("step", "settings"), rows, "Settings of each step")
