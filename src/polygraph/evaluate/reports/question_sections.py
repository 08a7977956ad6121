"""The section of a study report with every question, its answers, evidence and scores."""

from collections.abc import Sequence

import numpy as np

from polygraph.evaluate.judging.judgements import Judgement, judgements_by_pair, outcomes
from polygraph.evaluate.judging.pairwise import judges_both_orders
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reports import html
from polygraph.evaluate.reports.findings import PairSummary
from polygraph.text.prose import count_noun

_MAX_ANSWER = 6_000
"""Characters shown of an answer."""
_MAX_EVIDENCE = 12
"""Pieces of evidence listed per answer."""
_MAX_WHY = 160
"""Characters shown of the reason for a piece of evidence."""
_MAX_PAGE = 3_600_000
"""Characters of all answers with their evidence, so that any machine opens the page quickly."""
_MAX_REASONS = 600_000
"""Characters of all reasons of judges."""
_MIN_SHARE = 500
"""Characters that each answer gets at least."""


def question_sections(
    questions: Sequence[Question],
    answers: Sequence[StudyAnswer],
    judgements: Sequence[Judgement],
    pairs: Sequence[PairSummary],
    protocol: str,
) -> list[str]:
    """Return one collapsed section per question."""
    by_question: dict[str, list[StudyAnswer]] = {}
    for answer in answers:
        by_question.setdefault(answer.question, []).append(answer)
    scores = _score_tables(judgements, pairs, protocol)
    reasons = _reason_tables(judgements, max(_MIN_SHARE, _MAX_REASONS // max(1, len(questions))))
    share = max(_MIN_SHARE, _MAX_PAGE // max(1, len(answers)))
    found = []
    for question in questions:
        own = sorted(by_question.get(question.id, []), key=lambda a: a.method)
        gold = (
            f'<p class="soft">Known answer: {html.escape("; ".join(question.answers))}</p>'
            if question.answers
            else ""
        )
        found.append(
            f"<details><summary>{html.escape(question.question)} "
            f'<span class="soft">{html.escape(question.id)}</span></summary>\n{gold}'
            f"{scores.get(question.id, '')}{reasons.get(question.id, '')}"
            f"{''.join(_answer(a, share) for a in own)}</details>"
        )
    return found


def _score_tables(
    judgements: Sequence[Judgement], pairs: Sequence[PairSummary], protocol: str
) -> dict[str, str]:
    """Return, by question, a table of the mean score, wins, ties and losses of each method."""
    points: dict[str, dict[str, list[float]]] = {}
    results: dict[str, dict[str, list[str]]] = {}
    balanced = judges_both_orders(protocol)
    of_pair = judgements_by_pair(judgements)
    for p in pairs:
        for outcome in outcomes(of_pair.get(frozenset((p.a, p.b)), ()), p.a, p.b, balanced=balanced):
            n = outcome.n_judgements * max(1, len(outcome.totals))
            verdict = outcome.verdict()
            for method, total, side in zip((p.a, p.b), outcome.total, ("a", "b"), strict=True):
                points.setdefault(outcome.question, {}).setdefault(method, []).append(total / n)
                result = "tie" if verdict == "tie" else "win" if verdict == side else "lose"
                results.setdefault(outcome.question, {}).setdefault(method, []).append(result)
    found = {}
    for question, by_method in points.items():
        rows = [
            (
                method,
                f"{np.mean(by_method[method]):.2f}",
                *(str(results[question][method].count(result)) for result in ("win", "tie", "lose")),
            )
            for method in sorted(by_method)
        ]
        columns = ("method", "mean score", "wins", "ties", "losses")
        found[question] = html.table(columns, rows, "Over all comparisons and trials")
    return found


def _reason_tables(judgements: Sequence[Judgement], limit: int) -> dict[str, str]:
    """Return, by question, a collapsed table of the scores and reasons of its first judgements.

    About `limit` characters of reasons are shown for each question. Only the first repeat of the first trial is listed;
    ``judgements.jsonl`` has all.
    """
    rows: dict[str, list[tuple[str, ...]]] = {}
    used: dict[str, int] = {}
    left_out: dict[str, int] = {}
    for one in judgements:
        for aspect, scores in one.scores.items():
            reason = one.reasons.get(aspect, "")
            if not reason:
                continue
            if one.trial or one.repeat or used.get(one.question, 0) > limit:
                left_out[one.question] = left_out.get(one.question, 0) + 1
                continue
            used[one.question] = used.get(one.question, 0) + len(reason)
            shown = ", ".join(f"{m} {score:g}" for m, score in zip(one.methods, scores, strict=True))
            rows.setdefault(one.question, []).append((shown, aspect, one.judge, reason))
    found = {}
    for question, listed in rows.items():
        columns = ("scores, in the order shown", "aspect", "judge", "reason")
        more = left_out.get(question, 0)
        rest = (
            f'<p class="soft">{count_noun(more, "further reason")} in judgements.jsonl.</p>' if more else ""
        )
        table = html.table(columns, listed, "Reasons of the judge")
        found[question] = f"<details><summary>Reasons of the judge</summary>{table}{rest}</details>"
    return found


def _answer(answer: StudyAnswer, share: int) -> str:
    """Return an answer with its evidence, in about `share` characters."""
    limit = min(_MAX_ANSWER, share)
    text = answer.text[:limit]
    if len(answer.text) > limit:
        text += f" [{len(answer.text) - limit:,} more characters]"
    left = share - len(text)
    listed: list[str] = []
    for e in answer.evidence[:_MAX_EVIDENCE]:
        line = (
            f"<li>{html.escape(str(e.get('kind', '')))} {html.escape(str(e.get('id', '')))} "
            f'<span class="soft">{html.escape(str(e.get("why", ""))[:_MAX_WHY])}</span></li>'
        )
        left -= len(line)
        if listed and left < 0:
            break
        listed.append(line)
    more = len(answer.evidence) - len(listed)
    if more:
        listed.append(f'<li class="soft">and {more} more</li>')
    evidence = (
        f"<details><summary>Evidence of {html.escape(answer.method)} ({len(answer.evidence)})</summary>"
        f"<ol>{''.join(listed)}</ol></details>"
        if answer.evidence
        else ""
    )
    refused = ' <span class="soft">refused</span>' if answer.refused else ""
    return f'<div class="answer"><h3>{html.escape(answer.method)}{refused}</h3>{html.escape(text)}</div>{evidence}'
