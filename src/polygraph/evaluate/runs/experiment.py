"""A study from questions to judgements: the order of the steps, and what each is run with."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from polygraph.errors import BadInput, WorkFailed
from polygraph.evaluate.judging.judge_agreement import agree
from polygraph.evaluate.judging.judgements import Judgement, pairs_of
from polygraph.evaluate.judging.judges import ListJudge, ModelJudge
from polygraph.evaluate.judging.length_alignment import ATTEMPTS, TOLERANCE, Aligned
from polygraph.evaluate.judging.pairwise import PEOPLE, UNBIASED, Design
from polygraph.evaluate.metrics.answer_scores import BertScoreMode, correctness, score_answers
from polygraph.evaluate.metrics.oracle import confusions
from polygraph.evaluate.questions.extractive import sentence_questions
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.questions.generate import Posed, generator_of, grounded_questions, summary_questions
from polygraph.evaluate.records import Progress, StudyAnswer
from polygraph.evaluate.reports.findings import find, router_sentence
from polygraph.evaluate.reports.study_report import (
    Material,
    embed_answers,
    html_report,
    json_report,
    markdown_report,
)
from polygraph.evaluate.runs.human_sheets import write_sheet
from polygraph.evaluate.runs.study_folder import Study
from polygraph.evaluate.runs.study_steps import (
    align_answers,
    answer_questions,
    judge_aligned,
    judge_together,
    unaligned,
)
from polygraph.evaluate.study_questions import put, questions_of, take
from polygraph.models import ChatModel, Models
from polygraph.models.thread_pool import in_turn
from polygraph.records import Answer, Json
from polygraph.store.snapshot import Snapshot
from polygraph.text.prose import count_noun

Kind: TypeAlias = Literal["grounded", "summary", "sentences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """The steps of a study over one index. Each goes on from what the folder holds."""

    study: Study
    snapshot: Callable[[], Snapshot]
    """Opens what questions are made from; answers, judgements and the report do without."""
    models: Models
    ask: Callable[[str, str], Answer]
    """Answers a question (its text) with a method (its name)."""
    told: Progress

    @property
    def index(self) -> Snapshot:
        """What questions are made from."""
        return self.snapshot()

    # --- questions ----------------------------------------------------------------------------------

    def pose(self, kind: Kind, *, n: int = 50, seed: int = 0) -> Posed:
        """Make the questions of the study, unless it has some.

        Args:
            kind: `grounded` at the levels of node, edge and subgraph, or `summary`, both by a model; `sentences`
                without one, with gold answers and passages.
            n: questions for each level or kind; for `summary` there are always 125.
            seed: of everything random.

        Raises:
            BadInput: if the study has questions that were made otherwise.
        """
        wanted: dict[str, Json] = {"kind": kind, "n": n, "seed": seed}
        if kind != "sentences":
            wanted["generator"] = generator_of(self.models).name
        self.study.settle("questions", wanted)
        if self.study.path("questions").is_file():
            return Posed(questions=tuple(self.questions()))
        if kind == "grounded":
            with self.models.calls.round():
                posed = grounded_questions(
                    self.index,
                    self.models,
                    per_level=n,
                    seed=seed,
                    on_done=lambda done, total: self.told("questions", done, total),
                )
        elif kind == "summary":
            posed = summary_questions(self.index, self.models)
        else:
            posed = sentence_questions(self.index, n_single=n, n_double=n, seed=seed)
        put(self.study, posed.questions)
        return posed

    def take(self, questions: Sequence[Question]) -> None:
        """Take questions of the user's own as those of the study, see `study_questions.take`."""
        take(self.study, questions)

    def questions(self) -> list[Question]:
        """The questions of the study.

        Raises:
            BadInput: if it has none yet.
        """
        return questions_of(self.study)

    # --- answers ------------------------------------------------------------------------------------

    def answer(self, methods: Sequence[str]) -> list[StudyAnswer]:
        """Answer all questions with some methods; methods may be added later."""
        return answer_questions(
            self.study, self.questions(), methods, self.ask, self.models.calls.map, self.told
        )

    # --- judgements ---------------------------------------------------------------------------------

    def judge(
        self,
        judges: Sequence[ChatModel],
        how: Design = UNBIASED,
        *,
        methods: Sequence[str] = (),
        temperature: float = 0.7,
        align: bool | None = None,
        tolerance: int = TOLERANCE,
        attempts: int = ATTEMPTS,
    ) -> list[Judgement]:
        """Judge every pair of methods by one protocol.

        Args:
            judges: one or several models.
            how: the protocol, with its orders, repeats and trials.
            methods: of those answered; none: all.
            temperature: of the judges; above 0, or repeats are copies.
            align: bring the answers of a pair to equal length first; default: as the protocol has it, which is only
                the unbiased one. Without it length bias stays in.
            tolerance: words by which the answers of a pair may differ.
            attempts: times that a shorter answer is written again.

        Raises:
            BadInput: if fewer than two methods have answered every question, or earlier judgements were made with
                other settings.
            WorkFailed: if nothing that one of the judges said could be used.
        """
        questions, answers, chosen = self._answered(methods)
        aligns = how.protocol == UNBIASED.protocol if align is None else align
        settings: dict[str, Json] = {"temperature": temperature, "repeats": how.repeats, "align": aligns}
        if aligns:
            settings |= {"tolerance": tolerance, "attempts": attempts, "regenerate": False}
        self.study.settle(f"judgements, {how.protocol}", settings)
        pairs = pairs_of(chosen)
        aligned = (
            align_answers(
                self.study,
                questions,
                pairs,
                answers,
                self.models,
                self.told,
                tolerance=tolerance,
                attempts=attempts,
            )
            if aligns
            else unaligned(questions, pairs, answers)
        )

        def judged(chat: ChatModel) -> list[Judgement]:
            judge = ModelJudge(chat, self.models.calls, how.protocol, temperature=temperature)
            return judge_aligned(self.study, questions, aligned, judge, how, self.models.calls, self.told)

        with self.models.calls.round():
            return self._usable(in_turn(judged, judges))

    def judge_lists(
        self,
        judges: Sequence[ChatModel],
        *,
        methods: Sequence[str] = (),
        trials: int = 1,
        temperature: float = 0.7,
    ) -> list[Judgement]:
        """Have the answers of all methods scored together, in balanced orders; lengths stay as they are.

        Args:
            judges: one or several models.
            methods: of those answered; none: all.
            trials: rounds over all questions.
            temperature: of the judges.

        Raises:
            BadInput, WorkFailed: as `judge`.
        """
        questions, answers, chosen = self._answered(methods)
        self.study.settle("judgements, listwise", {"temperature": temperature, "methods": list(chosen)})

        def judged(chat: ChatModel) -> list[Judgement]:
            judge = ListJudge(chat, self.models.calls, temperature=temperature)
            return judge_together(
                self.study, questions, answers, chosen, judge, trials, self.models.calls, self.told
            )

        with self.models.calls.round():
            return self._usable(in_turn(judged, judges))

    def sheet(
        self,
        file: Path,
        *,
        methods: Sequence[str] = (),
        align: bool = True,
        tolerance: int = TOLERANCE,
        attempts: int = ATTEMPTS,
        seed: int = 0,
        limit: int | None = None,
    ) -> int:
        """Write a blinded sheet for people to judge; see `sheets.write_sheet`.

        Args:
            file: new, ends in .csv.
            methods: of those answered; none: all.
            align: bring the answers of a pair to equal length first. Pairs that were aligned before are taken as they
                are; others take a chat model.
            tolerance: words by which the answers of a pair may differ.
            attempts: times that a shorter answer is written again.
            seed: of the order of rows and sides.
            limit: rows at most.

        Returns:
            Rows written.

        Raises:
            BadInput: if fewer than two methods have answered every question, or the file is there.
        """
        if file.exists():  # before anything is paid for
            raise BadInput(f"{file} is there already and may hold marks. Name another file with --sheet")
        questions, answers, chosen = self._answered(methods)
        settings: dict[str, Json] = {"align": align}
        if align:
            settings |= {"tolerance": tolerance, "attempts": attempts}
        self.study.settle(f"judgements, {PEOPLE}", settings)
        pairs = pairs_of(chosen)
        shown: list[Aligned] = unaligned(questions, pairs, answers)
        if align:
            known = {(p.question, p.a, p.b): p for p in self.study.aligned()}
            wanted = [(p.question, p.a, p.b) for p in shown]
            if all(one in known for one in wanted):
                shown = [known[one] for one in wanted]
            else:
                shown = align_answers(
                    self.study,
                    questions,
                    pairs,
                    answers,
                    self.models,
                    self.told,
                    tolerance=tolerance,
                    attempts=attempts,
                )
        return write_sheet(
            self.study, {q.id: q.question for q in questions}, shown, file, seed=seed, limit=limit
        )

    # --- report -------------------------------------------------------------------------------------

    def report(
        self,
        *,
        protocol: str = "unbiased",
        title: str = "Which method to trust",
        bert: BertScoreMode = "no",
        seed: int = 0,
    ) -> Material:
        """Sum the study up and write the report into its folder: as a page, as Markdown and as JSON.

        The files are those of `report_file`, so that reports of two protocols lie beside each other.

        Args:
            protocol: whose judgements count.
            title: of the page.
            bert: whether to compute BERTScore, where questions have reference texts; it needs bert-score and torch.
            seed: of the intervals.

        Raises:
            BadInput: if nothing was answered yet, or the protocol's name is not fit for files.
            MissingExtra: without the extra `eval`.
        """
        self.report_file(protocol)  # fails before any work
        questions, answers = self.questions(), self.study.answers()
        if not answers:
            raise BadInput(
                f"the study at {self.study.folder} has no answers to report on. Get some with: polygraph eval answers "
                f"-m METHOD,METHOD --output {self.study.folder}"
            )
        judged = self.study.judgements()
        judgements = [j for j in judged if j.protocol == protocol]
        agreement = agree([j for j in judged if j.protocol in (protocol, PEOPLE)])
        settings = self.study.settings()
        how = settings.get(f"judgements, {protocol}")
        aligned = self.study.aligned() if isinstance(how, dict) and how.get("align") else []
        right = correctness(questions, answers)
        router = router_sentence(right)
        material = Material(
            title=title,
            settings=settings,
            questions=tuple(questions),
            answers=tuple(answers),
            judgements=tuple(judgements),
            findings=find(questions, answers, aligned, judgements, protocol=protocol, seed=seed),
            protocol=protocol,
            gold=score_answers(questions, answers, self.models, bert=bert, seed=seed),
            confusion=confusions(right),
            also=tuple(s for s in (router, agreement.sentence if agreement else "") if s),
            agreement=agreement,
        )
        vectors = embed_answers(answers, self.models.name_embedder)
        told = json.dumps(json_report(material), ensure_ascii=False, indent=2, sort_keys=True)
        for ending, text in (
            ("html", html_report(material, vectors)),
            ("md", markdown_report(material)),
            ("json", told + "\n"),
        ):
            self.report_file(protocol, ending).write_text(text, encoding="utf-8")
        return material

    def report_file(self, protocol: str = "unbiased", ending: str = "html") -> Path:
        """Where `report` writes: ``report.html``, or ``report-PROTOCOL.html`` of any protocol but the unbiased one.

        Raises:
            BadInput: for the name of a protocol that has other characters than letters, digits, ``-`` and ``_``.
        """
        if not re.fullmatch(r"[\w-]{1,100}", protocol):
            raise BadInput(
                f"the protocol {protocol!r} cannot name a report. Use letters, digits, - and _ in the name of a design"
            )
        stem = "report" if protocol == "unbiased" else f"report-{protocol}"
        return self.study.folder / f"{stem}.{ending}"

    def _answered(
        self, methods: Sequence[str]
    ) -> tuple[list[Question], dict[tuple[str, str], StudyAnswer], list[str]]:
        """Questions, answers, and the methods that have answered every question."""
        questions = self.questions()
        answers = {a.key: a for a in self.study.answers()}
        chosen = list(methods) or list(dict.fromkeys(method for _, method in answers))
        missing = [m for m in chosen if any((q.id, m) not in answers for q in questions)]
        if missing or len(chosen) < 2:
            raise BadInput(
                f"the study at {self.study.folder} has answers of {count_noun(len(chosen) - len(missing), 'method')} to "
                "every question, and two are needed. Get them with: polygraph eval answers -m METHOD,METHOD --output "
                f"{self.study.folder}"
            )
        return questions, answers, chosen

    def _usable(self, by_judge: Iterable[Sequence[Judgement]]) -> list[Judgement]:
        """Judgements of all judges, if every judge said something that can be used."""
        listed = [list(found) for found in by_judge]
        useless = [found for found in listed if found and all(j.problem for j in found)]
        if useless:
            names = ", ".join(found[0].judge for found in useless)
            raise WorkFailed(
                f"nothing that {names} said in {sum(map(len, useless))} judgements could be used (the first: "
                f"{useless[0][0].problem}). They stand in {self.study.path('judgements')}. Take another model with "
                "--judge"
            )
        return [judgement for found in listed for judgement in found]


def n_judge_calls(n_questions: int, n_methods: int, n_judges: int, how: Design) -> int:
    """Calls of judges for a whole study at most, alignment aside.

    >>> n_judge_calls(150, 2, 1, Design())
    15000
    """
    if how.protocol == "listwise":
        return 2 * n_methods * n_questions * how.trials * n_judges
    calls = how.n_calls(n_questions * n_methods * (n_methods - 1) // 2) * n_judges
    return 2 * calls if how.protocol == "differential" else calls
