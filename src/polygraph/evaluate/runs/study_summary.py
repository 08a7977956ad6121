"""The report on a study: what its answers, judgements and ratings by people amount to."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from polygraph.errors import BadInput, quoted
from polygraph.evaluate.judging.judge_agreement import judge_agreement
from polygraph.evaluate.judging.pairwise import HUMAN_PROTOCOL
from polygraph.evaluate.metrics.answer_scores import BertScoreMode, correctness, score_answers
from polygraph.evaluate.metrics.oracle import confusions
from polygraph.evaluate.records import StudyAnswer, instance_of
from polygraph.evaluate.reports.study_conclusions import oracle_sentence
from polygraph.evaluate.reports.study_provenance import study_provenance
from polygraph.evaluate.reports.study_report import StudyReport
from polygraph.evaluate.reports.summarise_study import summarise_study
from polygraph.evaluate.runs.answer_steps import require_comparable
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.models import Models
from polygraph.text.prose import count_noun


def report_of_study(
    study: StudyFolder,
    models: Models,
    *,
    protocol: str,
    title: str,
    bert: BertScoreMode,
    seed: int,
    margin: float,
) -> StudyReport:
    """Summarise a study under the judgements of one protocol; for the arguments see `Experiment.report`.

    Raises:
        BadInput: if there are no answers yet.
        MissingExtra: without the extra `eval`.
    """
    questions, answers = study.questions(), study.answers()
    if not answers:
        raise BadInput(
            f"the study at {study.path} has no answers to report on. Get some with: polygraph eval answers "
            f"-m METHOD,METHOD --output {quoted(study.path)}"
        )
    every_answer = study.answers(all_trials=True)
    require_comparable(study, every_answer)
    all_judgements = study.judgements()
    judgements = [j for j in all_judgements if j.protocol == protocol]
    agreement = judge_agreement([j for j in all_judgements if j.protocol in (protocol, HUMAN_PROTOCOL)])
    settings = study.settings()
    judging = settings.get(f"judgements, {protocol}")
    judging = judging if isinstance(judging, dict) else {}
    new_answers = bool(judging.get("new_answers"))
    aligned = [p for p in study.aligned() if new_answers or p.trial == 0] if judging.get("align") else []
    scored, incomplete = _scored_answers(answers, len(questions))
    correct = correctness(questions, scored)
    sentences = (oracle_sentence(correct), agreement.sentence if agreement else "")
    findings = summarise_study(
        questions,
        every_answer if new_answers else answers,
        aligned,
        judgements,
        protocol=protocol,
        seed=seed,
        margin=margin,
        new_answers=new_answers,
    )
    return StudyReport(
        title=title,
        settings=settings,
        questions=tuple(questions),
        answers=tuple(answers),
        judgements=tuple(judgements),
        findings=replace(findings, notes=(*findings.notes, *incomplete)),
        protocol=protocol,
        gold=score_answers(questions, scored, models, bert=bert, seed=seed),
        confusions=confusions(correct),
        further_conclusions=tuple(s for s in sentences if s),
        agreement=agreement,
        provenance=study_provenance(every_answer, judgements, study.judging_dates(protocol)),
    )


def _scored_answers(answers: Sequence[StudyAnswer], n_questions: int) -> tuple[list[StudyAnswer], list[str]]:
    """Choose the answers that are scored against gold, which counts only questions that all methods have answered.

    A method that has answered less than half as many questions as another, such as one that was interrupted, would
    leave few of them, and is left out. Further instances of a method are no methods of their own.

    Returns:
        The answers, and a note on each incomplete method.
    """
    first_instances = [a for a in answers if instance_of(a.method) == 1]
    n_answered = Counter(a.method for a in first_instances)
    most = max(n_answered.values(), default=0)
    notes = []
    for method, n in sorted(n_answered.items()):
        if n < n_questions:
            consequence = (
                "it is left out of scores against known answers"
                if 2 * n < most
                else "scores against known answers are over the questions that all methods have answered"
            )
            notes.append(f"{method} has answered {n} of {count_noun(n_questions, 'question')}: {consequence}")
    return [a for a in first_instances if 2 * n_answered[a.method] >= most], notes
