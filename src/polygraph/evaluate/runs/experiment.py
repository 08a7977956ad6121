"""An experiment: a study from questions to report, over one index."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from polygraph.errors import BadInput, WorkFailed, quoted
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.judges import ChatListwiseJudge, ChatPairJudge
from polygraph.evaluate.judging.length_alignment import ATTEMPTS, TOLERANCE, AlignedPair
from polygraph.evaluate.judging.pairwise import HUMAN_PROTOCOL, UNBIASED, JudgingDesign
from polygraph.evaluate.metrics.answer_scores import BertScoreMode
from polygraph.evaluate.questions.extractive import sentence_questions
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.questions.generate import (
    GeneratedQuestions,
    grounded_questions,
    require_generator,
    summary_questions,
)
from polygraph.evaluate.records import StudyAnswer, study_pairs
from polygraph.evaluate.reports.study_report import (
    StudyReport,
    embed_answers,
    html_report,
    json_report,
    markdown_report,
)
from polygraph.evaluate.runs.answer_steps import (
    AnswerOptions,
    answer_questions,
    require_comparable,
    sort_answers,
)
from polygraph.evaluate.runs.human_sheets import check_new_sheet, write_sheet
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.evaluate.runs.study_steps import (
    align_answers,
    judge_aligned,
    judge_together,
    require_answerer,
    unaligned_answers,
)
from polygraph.evaluate.runs.study_summary import report_of_study
from polygraph.evaluate.statistics.decide import MARGIN
from polygraph.indexing.progress import Progress
from polygraph.models import ChatModel, Models
from polygraph.models.thread_pool import map_in_order
from polygraph.records import Answer, Json
from polygraph.store.snapshot import Snapshot
from polygraph.text.prose import count_noun

PROMPT_REVISION = 3
"""Revision of the judges' prompts: 2 asks for a reason with each score; 3 names no winner in the form for winners."""
QuestionKind: TypeAlias = Literal["grounded", "summary", "sentences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """The steps of a study over one index. Each resumes from what the folder has."""

    folder: StudyFolder
    snapshot: Callable[[], Snapshot]
    """Opens the index to generate questions from; answers, judgements and the report do not need it."""
    models: Models
    ask: Callable[..., Answer]
    """Answers a question (its text) with a method (its name), optionally within a budget `max_tokens`."""
    progress: Progress

    # --- questions ----------------------------------------------------------------------------------

    def generate_questions(self, kind: QuestionKind, *, n: int = 50, seed: int = 0) -> GeneratedQuestions:
        """Generate the questions of the study, unless it has some.

        Args:
            kind: `grounded` at the levels of node, edge and subgraph, or `summary`, both by a model; `sentences`
                without a model, with gold answers and passages.
            n: questions per level or kind; 125 for `summary`.
            seed: of all sampling.

        Raises:
            BadInput: if the study has questions generated with other settings.
        """
        settings: dict[str, Json] = {"kind": kind, "n": n, "seed": seed}
        if kind != "sentences":
            settings["generator"] = require_generator(self.models).name
        self.folder.fix_settings("questions", settings)
        if self.folder.has_questions:
            return GeneratedQuestions(questions=tuple(self.questions()))
        index = self.snapshot()
        if kind == "grounded":
            with self.models.calls.batch_round():
                generated = grounded_questions(
                    index,
                    self.models,
                    per_level=n,
                    seed=seed,
                    on_done=lambda done, total: self.progress("questions", done, total),
                )
        elif kind == "summary":
            generated = summary_questions(index, self.models)
        else:
            generated = sentence_questions(index, n_single=n, n_double=n, seed=seed)
        self.folder.write_questions(generated.questions)
        return generated

    def import_questions(self, questions: Sequence[Question]) -> None:
        """Use the user's own questions; see `StudyFolder.import_questions`."""
        self.folder.import_questions(questions)

    def questions(self) -> list[Question]:
        """Return the questions of the study.

        Raises:
            BadInput: if there are none yet.
        """
        return self.folder.questions()

    # --- answers ------------------------------------------------------------------------------------

    def answer(self, methods: Sequence[str], options: AnswerOptions | None = None) -> list[StudyAnswer]:
        """Answer all questions with the given methods; more methods may be added later.

        Args:
            methods: names; ``METHOD#2`` is a second instance of a method, for an A/A control.
            options: of the answers.

        Raises:
            BadInput: if answers so far were made with other models, settings or another index.
        """
        questions = self.questions()
        found = answer_questions(
            self.folder, questions, methods, self.ask, self.snapshot, self.models, self.progress, options
        )
        sort_answers(self.folder, questions)
        return found

    # --- judgements ---------------------------------------------------------------------------------

    def judge(
        self,
        judges: Sequence[ChatModel],
        design: JudgingDesign = UNBIASED,
        *,
        methods: Sequence[str] = (),
        temperature: float = 0.7,
        align: bool | None = None,
        tolerance: int = TOLERANCE,
        new_answers: bool = False,
    ) -> list[Judgement]:
        """Judge every pair of methods by one protocol, and instances of a method only against each other.

        Args:
            judges: one or more models.
            design: the protocol with its orders, repeats and trials.
            methods: to compare; default: all with answers.
            temperature: of the judges; at 0 repeats are copies.
            align: align the lengths of the answers first; default: only for the unbiased protocol. Without alignment,
                length bias remains.
            tolerance: largest difference in words between aligned answers.
            new_answers: each trial judges answers of its own, which must exist (`AnswerOptions.trials`); default: all
                trials judge the same answers.

        Raises:
            BadInput: if fewer than two methods have answered every question, answers cannot be compared, or earlier
                judgements were made with other settings.
            WorkFailed: if no reply of one of the judges was usable.
        """
        n_sets = design.trials if new_answers else 1
        questions, by_trial, chosen = self._answered(methods, n_sets)
        aligns = design.protocol == UNBIASED.protocol if align is None else align
        settings: dict[str, Json] = {
            "temperature": temperature,
            "repeats": design.repeats,
            "align": aligns,
            "new_answers": new_answers,
            "prompt_revision": PROMPT_REVISION,
        }
        pairs = self._pairs(chosen, design.protocol, aligns)
        self._fix_judging(design.protocol, settings, pairs, by_trial, tolerance if aligns else None)
        aligned = [
            pair
            for trial, answers in enumerate(by_trial)
            for pair in self._paired(questions, pairs, answers, tolerance if aligns else None, trial)
        ]

        def judge_with(chat: ChatModel) -> list[Judgement]:
            judge = ChatPairJudge(chat, self.models.calls, design.protocol, temperature=temperature)
            return judge_aligned(
                self.folder,
                questions,
                aligned,
                judge,
                design,
                self.models.calls,
                self.progress,
                own_answers=new_answers,
            )

        with self.models.calls.batch_round():
            return self._require_usable(map_in_order(judge_with, judges))

    def judge_lists(
        self,
        judges: Sequence[ChatModel],
        *,
        methods: Sequence[str] = (),
        trials: int = 1,
        temperature: float = 0.7,
    ) -> list[Judgement]:
        """Judge the answers of all methods together, in balanced orders and without length alignment.

        Args:
            judges: one or more models.
            methods: to compare; default: all with answers.
            trials: rounds over all questions.
            temperature: of the judges.

        Raises:
            BadInput, WorkFailed: as for `judge`.
        """
        questions, [answers], chosen = self._answered(methods)
        self.folder.fix_settings(
            "judgements, listwise",
            {"temperature": temperature, "methods": list(chosen), "prompt_revision": PROMPT_REVISION},
        )

        def judge_with(chat: ChatModel) -> list[Judgement]:
            judge = ChatListwiseJudge(chat, self.models.calls, temperature=temperature)
            return judge_together(
                self.folder, questions, answers, chosen, judge, trials, self.models.calls, self.progress
            )

        with self.models.calls.batch_round():
            return self._require_usable(map_in_order(judge_with, judges))

    def sheet(
        self,
        file: Path,
        *,
        methods: Sequence[str] = (),
        align: bool = True,
        tolerance: int = TOLERANCE,
        seed: int = 0,
        limit: int | None = None,
    ) -> int:
        """Write a blinded sheet for human raters; see `human_sheets.write_sheet`.

        Args:
            file: a new .csv file.
            methods: to compare; default: all with answers.
            align: align the lengths of the answers first. Pairs that are aligned already are used as they are; others
                need a chat model.
            tolerance: largest difference in words between aligned answers.
            seed: of the order of rows and sides.
            limit: maximum number of rows.

        Returns:
            Number of rows.

        Raises:
            BadInput: if fewer than two methods have answered every question, or the file exists.
        """
        check_new_sheet(file)  # before any model is paid
        questions, [answers], chosen = self._answered(methods)
        pairs = self._pairs(chosen, HUMAN_PROTOCOL, align)
        self._fix_judging(HUMAN_PROTOCOL, {"align": align}, pairs, [answers], tolerance if align else None)
        shown = self._paired(questions, pairs, answers, tolerance if align else None)
        return write_sheet(
            self.folder, {q.id: q.question for q in questions}, shown, file, seed=seed, limit=limit
        )

    # --- report -------------------------------------------------------------------------------------

    def report(
        self,
        *,
        protocol: str = "unbiased",
        title: str = "Which method to trust",
        bert: BertScoreMode = "no",
        seed: int = 0,
        margin: float = MARGIN,
    ) -> StudyReport:
        """Summarise the study and write the report to its folder as HTML, Markdown and JSON.

        The files are those of `report_file`; each protocol has its own.

        Args:
            protocol: use judgements by this protocol.
            title: of the page.
            bert: whether to compute BERTScore for questions with reference texts; needs bert-score and torch.
            seed: of the tests.
            margin: relative win rates within it are of no consequence.

        Raises:
            BadInput: if there are no answers yet, or the name of the protocol cannot be part of a file name.
            MissingExtra: without the extra `eval`.
        """
        self.report_file(protocol)  # fails before any work
        report = report_of_study(
            self.folder, self.models, protocol=protocol, title=title, bert=bert, seed=seed, margin=margin
        )
        vectors = embed_answers(report.answers, self.models.name_embedder)
        for ending, text in (
            ("html", html_report(report, vectors)),
            ("md", markdown_report(report)),
            ("json", json.dumps(json_report(report), ensure_ascii=False, indent=2, sort_keys=True) + "\n"),
        ):
            self.report_file(protocol, ending).write_text(text, encoding="utf-8")
        return report

    def report_file(self, protocol: str = "unbiased", ending: str = "html") -> Path:
        """Return the path of a report: ``report.html`` for the unbiased protocol, else ``report-PROTOCOL.html``.

        Raises:
            BadInput: if the protocol's name has other characters than letters, digits, ``-`` and ``_``.
        """
        if not re.fullmatch(r"[\w-]{1,100}", protocol):
            raise BadInput(
                f"the protocol {protocol!r} cannot be part of a file name. Use letters, digits, - and _ in the name "
                "of a design"
            )
        stem = "report" if protocol == "unbiased" else f"report-{protocol}"
        return self.folder.path / f"{stem}.{ending}"

    # --- parts --------------------------------------------------------------------------------------

    def _pairs(self, methods: Sequence[str], protocol: str, aligns: bool) -> list[tuple[str, str]]:
        """Return the pairs of methods to compare, each in the order in which it was aligned or judged before.

        The methods may be named in another order than in an earlier run, which must not be paid for again.
        """
        known = (
            {(p.a, p.b) for p in self.folder.aligned()}
            if aligns
            else {j.methods for j in self.folder.judgements() if j.protocol == protocol and j.trial == 0}
        )
        return [
            (b, a) if (b, a) in known and (a, b) not in known else (a, b) for a, b in study_pairs(methods)
        ]

    def _fix_judging(
        self,
        protocol: str,
        settings: dict[str, Json],
        pairs: Sequence[tuple[str, str]],
        by_trial: Sequence[dict[tuple[str, str], StudyAnswer]],
        tolerance: int | None,
    ) -> None:
        """Fix the settings of judgements before any model is paid; `tolerance` is None without length alignment."""
        if tolerance is not None:
            settings = {**settings, "tolerance": tolerance, "attempts": ATTEMPTS}
            answers = [answer for found in by_trial for answer in found.values()]
            require_answerer(self.folder, pairs, answers, self.models)
        self.folder.fix_settings(f"judgements, {protocol}", settings)

    def _paired(
        self,
        questions: Sequence[Question],
        pairs: Sequence[tuple[str, str]],
        answers: dict[tuple[str, str], StudyAnswer],
        tolerance: int | None,
        trial: int = 0,
    ) -> list[AlignedPair]:
        """Return the answers of each pair of methods, of equal length unless `tolerance` is None."""
        if tolerance is None:
            return unaligned_answers(questions, pairs, answers)
        return align_answers(
            self.folder,
            questions,
            pairs,
            answers,
            self.models,
            self.progress,
            tolerance=tolerance,
            trial=trial,
        )

    def _answered(
        self, methods: Sequence[str], trials: int = 1
    ) -> tuple[list[Question], list[dict[tuple[str, str], StudyAnswer]], list[str]]:
        """Return questions, answers by trial, and the methods to compare, which have answered every question."""
        questions = self.questions()
        listed = self.folder.answers(all_trials=True)
        answers = {a.key: a for a in listed if a.trial == 0}
        chosen = list(methods) or list(dict.fromkeys(method for _, method in answers))
        missing = [m for m in chosen if any((q.id, m) not in answers for q in questions)]
        if missing or len(chosen) < 2:
            raise BadInput(
                f"the study at {self.folder.path} has answers of {count_noun(len(chosen) - len(missing), 'method')} to "
                "every question, and two are needed. Get them with: polygraph eval answers -m METHOD,METHOD --output "
                f"{quoted(self.folder.path)}"
            )
        require_comparable(self.folder, [a for a in listed if a.method in chosen])
        by_trial = [{a.key: a for a in listed if a.trial == trial} for trial in range(trials)]
        if any((q.id, m) not in found for found in by_trial for q in questions for m in chosen):
            raise BadInput(
                f"the study at {self.folder.path} has no answers of their own for each of {trials} trials. Get them "
                f"with: polygraph eval answers --new-answers --trials {trials} -m {','.join(chosen)} --output "
                f"{quoted(self.folder.path)}"
            )
        return questions, by_trial, chosen

    def _require_usable(self, by_judge: Iterable[Sequence[Judgement]]) -> list[Judgement]:
        """Return the judgements of all judges, if every judge gave at least one usable reply."""
        listed = [list(found) for found in by_judge]
        unusable = [found for found in listed if found and all(j.problem for j in found)]
        if unusable:
            names = ", ".join(found[0].judge for found in unusable)
            raise WorkFailed(
                f"none of {sum(map(len, unusable))} replies of {names} was usable as a judgement (the first: "
                f"{unusable[0][0].problem}). They are in {self.folder.file('judgements')}. Choose another model with "
                "--judge"
            )
        return [judgement for found in listed for judgement in found]


def n_judge_calls(
    n_questions: int, n_methods: int, n_judges: int, design: JudgingDesign, *, n_pairs: int | None = None
) -> int:
    """Return the maximum number of judge calls of a study, not counting alignment.

    Args:
        n_questions: of the study.
        n_methods: that have answered them.
        n_judges: that judge all of them.
        design: the protocol.
        n_pairs: of methods; default: each with each.

    >>> n_judge_calls(150, 2, 1, JudgingDesign())
    15000
    """
    if design.protocol == "listwise":
        return 2 * n_methods * n_questions * design.trials * n_judges
    n_compared = n_methods * (n_methods - 1) // 2 if n_pairs is None else n_pairs
    calls = design.n_calls(n_questions * n_compared) * n_judges
    return 2 * calls if design.protocol == "differential" else calls
