"""The report of a study: a self-contained HTML page, Markdown and JSON."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from polygraph import notebook
from polygraph.evaluate.judging.judge_agreement import JudgeAgreement
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.metrics.answer_scores import AnswerScores
from polygraph.evaluate.metrics.oracle import Confusion
from polygraph.evaluate.metrics.separation import separation
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reports import charts, html
from polygraph.evaluate.reports.findings import Findings
from polygraph.evaluate.reports.formatting import markdown_table
from polygraph.evaluate.reports.gold_tables import gold_tables
from polygraph.evaluate.reports.question_sections import question_sections
from polygraph.evaluate.reports.study_provenance import StudyProvenance, provenance_line, provenance_table
from polygraph.evaluate.reports.study_tables import (
    AGREEMENT_CAPTION,
    CONTROLS_CAPTION,
    METHODS_CAPTION,
    PAIRS_CAPTION,
    Table,
    agreement_table,
    confusion_table,
    control_table,
    method_table,
    pair_table,
    ranking_table,
    rate_table,
)
from polygraph.evaluate.statistics.intervals import Interval
from polygraph.evaluate.statistics.win_rates import WinRates
from polygraph.models.protocols import Embedder, Vectors
from polygraph.records import Json
from polygraph.text.prose import count_noun

_MAX_ROWS = 20
"""Longer tables of gold metrics are collapsed."""
_MAX_COMPARISONS = 6
"""Comparisons in the conclusions; the others are collapsed."""
_EMBEDDED_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyReport:
    """Contents of a study report."""

    title: str
    settings: Mapping[str, Json]
    questions: tuple[Question, ...]
    answers: tuple[StudyAnswer, ...]
    judgements: tuple[Judgement, ...]
    findings: Findings
    protocol: str
    gold: AnswerScores | None
    """Scores against gold, if any question has gold."""
    provenance: StudyProvenance
    confusions: Mapping[tuple[str, str], Confusion] = field(default_factory=dict)
    """By pair of methods."""
    further_conclusions: tuple[str, ...] = ()
    """After those of the findings."""
    agreement: JudgeAgreement | None = None
    """Agreement of several judges."""

    @property
    def conclusions(self) -> tuple[str, ...]:
        """All conclusions."""
        controls = (p.sentence for p in self.findings.controls)
        return (*self.findings.conclusions, *controls, *self.further_conclusions)

    def _repr_html_(self) -> str:
        counts = {name: len(getattr(self, name)) for name in ("questions", "answers", "judgements")}
        return notebook.facts_html(self.title, counts, self.conclusions)


def embed_answers(answers: Sequence[StudyAnswer], embedder: Embedder) -> Vectors:
    """Embed answers for the map of the report; shape ``(n, dimension)``."""
    return embedder.embed([a.text[:_EMBEDDED_CHARACTERS] or "nothing" for a in answers], "document")


def _answer_map(report: "StudyReport", vectors: Vectors) -> str:
    types = {q.id: q.type for q in report.questions}
    return charts.answer_map(
        charts.pca_2d(vectors),
        [a.method for a in report.answers],
        [types.get(a.question, "") for a in report.answers],
    )


def _separation_sentence(report: "StudyReport", vectors: Vectors) -> str:
    """Say how far methods lie apart, since a picture alone misleads; empty with one method."""
    methods = [a.method for a in report.answers]
    if len(set(methods)) < 2:
        return ""
    return separation(vectors, methods, [a.question for a in report.answers]).sentence


def html_report(report: StudyReport, vectors: Vectors | None = None) -> str:
    """Return the report as a page without scripts or external fonts and images.

    Args:
        report: its contents.
        vectors: of the answers, for the map; shape ``(n_answers, dimension)``.
    """
    sections = _sections(report, vectors)
    parts = [
        f"<h1>{html.escape(report.title)}</h1>",
        f'<p class="soft">{count_noun(len(report.questions), "question")}, '
        f"{count_noun(len(report.findings.methods), 'method')}, "
        f"{count_noun(len(report.judgements), 'judgement')}, protocol {html.escape(report.protocol)}.</p>",
        f'<p class="soft">{html.escape(provenance_line(report.provenance))}</p>',
        html.table_of_contents(list(sections)),
    ]
    for heading, content in sections.items():
        parts += [html.heading(heading), *content]
    return html.document(report.title, "\n".join(parts))


def markdown_report(report: StudyReport) -> str:
    """Return conclusions and tables as Markdown."""
    found = report.findings
    lines = [f"# {report.title}", "", *(f"- {c}" for c in report.conclusions)]
    lines += [f"- Note: {note}" for note in found.notes]
    lines += ["", "## Methods", *_captioned(METHODS_CAPTION, method_table(found.methods))]
    if report.gold:
        lines += ["", "## Scores against known answers"]
        for caption, columns, rows in gold_tables(report.gold):
            lines += _captioned(caption, (columns, rows))
    if found.pairs:
        lines += ["", "## Comparisons", *_captioned(PAIRS_CAPTION, pair_table(found.pairs))]
    if found.controls:
        lines += ["", "## A/A control", *_captioned(CONTROLS_CAPTION, control_table(found.controls))]
    if report.agreement:
        table = agreement_table(report.agreement)
        lines += ["", "## Agreement of judges", *_captioned(AGREEMENT_CAPTION, table)]
    lines += ["", "## Made with", "", *markdown_table(*provenance_table(report.provenance))]
    return "\n".join(lines) + "\n"


def _captioned(caption: str, table: Table) -> list[str]:
    return ["", f"{caption}:", "", *markdown_table(*table)]


def json_report(report: StudyReport) -> dict[str, Any]:
    """Return everything but answers and judgements as plain values."""
    return {
        "title": report.title,
        "protocol": report.protocol,
        "settings": dict(report.settings),
        "made_with": asdict(report.provenance),
        "n_questions": len(report.questions),
        "gold": report.gold.figures() if report.gold else {},
        "gold_scores": asdict(report.gold) if report.gold else None,
        "agreement": asdict(report.agreement) if report.agreement else None,
        "findings": json.loads(json.dumps(asdict(report.findings))),
    }


# --- sections -----------------------------------------------------------------------------------------


def _sections(report: StudyReport, vectors: Vectors | None) -> dict[str, list[str]]:
    """Return the HTML of each section by its heading."""
    found = report.findings
    sections = {
        "Conclusions": _conclusions(report),
        "Methods": [
            html.table(
                *method_table(found.methods),
                METHODS_CAPTION,
            )
        ],
    }
    if report.gold:
        sections["Scores against known answers"] = [
            html.collapsible(caption, html.table(columns, rows, caption))
            if len(rows) > _MAX_ROWS
            else html.table(columns, rows, caption)
            for caption, columns, rows in gold_tables(report.gold)
        ]
    if found.pairs:
        sections |= _judgement_sections(found, Counter(q.type for q in report.questions))
    if found.controls:
        sections["A/A control"] = [html.table(*control_table(found.controls), CONTROLS_CAPTION)]
    if report.agreement:
        sections["Agreement of judges"] = [html.table(*agreement_table(report.agreement), AGREEMENT_CAPTION)]
    if report.confusions:
        sections["Overlap of correct answers"] = [_confusion_figure(report.confusions)]
    if vectors is not None and len(vectors) > 2:
        sections["Map of answers"] = [
            html.figure(
                _answer_map(report, vectors),
                "Each point is an answer; nearby answers have similar meanings. Principal components of the "
                f"embeddings. {_separation_sentence(report, vectors)}",
                label="Map of all answers by meaning, coloured by method, marked by type of question.",
            )
        ]
    sections["Questions and answers"] = question_sections(
        report.questions, report.answers, report.judgements, found.pairs, report.protocol
    )
    caption = "What answers and judgements were made with"
    sections["Made with"] = [html.table(*provenance_table(report.provenance), caption)]
    sections["Settings"] = [_settings_table(report)]
    return sections


def _conclusions(report: StudyReport) -> list[str]:
    """Return conclusions and notes; of many comparisons the later ones are collapsed."""
    found = report.findings
    comparisons = {p.sentence for p in found.pairs}
    ordered = [c for c in found.conclusions if c in comparisons]
    hidden = ordered[_MAX_COMPARISONS:]
    shown = [c for c in found.conclusions if c not in hidden]
    controls = [p.sentence for p in found.controls]
    parts = [html.bullet_list([*shown, *controls, *report.further_conclusions])]
    if hidden:
        parts.append(html.collapsible(f"{len(hidden)} more comparisons", html.bullet_list(hidden)))
    if found.notes:
        notes = (note[:1].upper() + note[1:] for note in found.notes)
        parts += ["<h3>Notes</h3>", html.bullet_list(notes)]
    return parts


def _confusion_figure(confusions: Mapping[tuple[str, str], Confusion]) -> str:
    caption = "Questions that both methods, only one, or neither answers correctly"
    return html.figure(
        charts.confusion_bars(confusions),
        f"{caption}. Those that only one answers correctly are what a router between the two could gain.",
        label=f"Bars: {caption[0].lower()}{caption[1:]}.",
        numbers=html.table(*confusion_table(confusions), caption),
    )


def _judgement_sections(found: Findings, types: Mapping[str, int]) -> dict[str, list[str]]:
    pairs = found.pairs
    labels = {type_: f"{type_ or 'no type'} ({n})" for type_, n in types.items()}
    sections = {
        "Comparisons": _comparison_charts(found),
        "By aspect": [
            _rate_figure(
                {(p.a, p.b): dict(p.by_aspect) for p in pairs},
                "aspect",
                "Wins, ties and losses of the first method by aspect, in percent.",
            )
        ],
    }
    if any(len(p.by_type) > 1 for p in pairs):
        sections["By type of question"] = [
            _rate_figure(
                {(p.a, p.b): {labels[t]: rates for t, (rates, _) in p.by_type.items()} for p in pairs},
                "type",
                "Wins, ties and losses of the first method by type of question (number of questions), in percent.",
                {(p.a, p.b): {labels[t]: interval for t, (_, interval) in p.by_type.items()} for p in pairs},
            )
        ]
    return sections


def _comparison_charts(found: Findings) -> list[str]:
    pairs = found.pairs
    parts = [
        html.figure(
            charts.box_plots(pairs),
            "Relative win rate of the first method (wins less losses, as a share of all). Boxes: median and quartiles "
            "over trials on the same questions, which show the noise of the judge. Blue lines: interval over "
            "questions, which shows how other questions could differ, corrected for all pairs as in the table.",
            label="Box plots of the relative win rate of every pair of methods; the table below has the numbers.",
        ),
        html.table(*pair_table(pairs), PAIRS_CAPTION),
        html.figure(
            charts.heat_map([m.method for m in found.methods], pairs),
            "Relative win rate of the method in the row over the method in the column, in percent.",
            label="Heat map of the relative win rates in the table above.",
        ),
    ]
    if found.ranking:
        strengths = {s.method: (s.strength, s.low, s.high) for s in found.ranking}
        parts += [
            html.table(
                *ranking_table(found.ranking),
                "Ranking of all methods by the model of Bradley and Terry; strength in log odds",
            ),
            html.figure(
                charts.cost_scatter(found.methods, strengths, "strength (Bradley and Terry), log odds"),
                "Quality against cost: higher is better, further left is cheaper. Lines: 95% interval.",
                label="Strength against tokens per question of every method; the tables have the numbers.",
            ),
        ]
    return parts


def _rate_figure(
    rates: Mapping[tuple[str, str], Mapping[str, WinRates]],
    part: str,
    caption: str,
    intervals: Mapping[tuple[str, str], Mapping[str, Interval]] = MappingProxyType({}),
) -> str:
    under = (
        f"{caption} With 95% intervals over questions, for this pair and {part} alone."
        if intervals
        else caption
    )
    return html.figure(
        charts.rate_bars(rates), caption, numbers=html.table(*rate_table(rates, part, intervals), under)
    )


def _settings_table(report: StudyReport) -> str:
    rows = [
        (key, json.dumps(value, ensure_ascii=False, sort_keys=True))
        for key, value in sorted(report.settings.items())
    ]
    return html.table(("step", "settings"), rows, "Settings of each step")
