"""The steps of a study after the answers: align, judge. Each resumes from the lines of its file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from polygraph.errors import BadInput, UnusableReply
from polygraph.evaluate.judging import listwise
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import (
    ATTEMPTS,
    AlignedPair,
    align_lengths,
    unaligned_pair,
)
from polygraph.evaluate.judging.listwise import ListwiseJudge
from polygraph.evaluate.judging.pairwise import AnswerPair, JudgingDesign, PairJudge, judge_pairs
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer, method_of, without_citations
from polygraph.evaluate.runs.answer_steps import run_number, today
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.indexing.progress import Progress, SharedCounter
from polygraph.models import ChatModel, Models
from polygraph.models.calls import Calls
from polygraph.models.reply_cache import about_question
from polygraph.models.sampling import sampled
from polygraph.tasks.answers.answer import NO_ANSWER, lengthen_answer, write_answer


def align_answers(
    study: StudyFolder,
    questions: Sequence[Question],
    pairs: Sequence[tuple[str, str]],
    answers: Mapping[tuple[str, str], StudyAnswer],
    models: Models,
    progress: Progress,
    *,
    tolerance: int,
    trial: int,
) -> list[AlignedPair]:
    """Align the lengths of the answers of each pair of methods, question by question.

    The chat model that wrote the answers (see `require_answerer`) rewrites the shorter one from its own context. If
    either answer is a refusal, both stay as they are, and no call is made.

    Args:
        study: gets each pair as soon as it is aligned.
        questions: in order.
        pairs: of methods.
        answers: of the trial, by question and method.
        models: in use.
        progress: called after each pair.
        tolerance: largest difference in words between aligned answers.
        trial: that the answers belong to.

    Raises:
        BadInput: if a pair is not aligned yet and there is no chat model.
    """
    earlier = study.aligned()
    done = {(p.question, p.a, p.b): p for p in earlier if p.trial == trial}
    others = [p for p in earlier if p.trial != trial]
    todo = [(q, a, b) for a, b in pairs for q in questions if (q.id, a, b) not in done]
    if not todo:
        return [done[q.id, a, b] for a, b in pairs for q in questions]
    chat = require_chat(models)
    aligned = SharedCounter(progress, "alignment", len(done), len(pairs) * len(questions))

    def work(item: tuple[Question, str, str]) -> None:
        question, a, b = item
        both = (answers[question.id, a], answers[question.id, b])
        with about_question(question.id):
            made = _align_pair(question, both, models, chat, tolerance)
        study.append("aligned", [asdict(made)])
        done[made.question, made.a, made.b] = made
        aligned.add_one()

    models.calls.map(work, todo)
    position = {q.id: i for i, q in enumerate(questions)}
    ordered = sorted(
        [*others, *done.values()],
        key=lambda p: (p.trial, p.a, p.b, position.get(p.question, len(position)), p.question),
    )
    study.write("aligned", [asdict(p) for p in ordered])
    return [done[q.id, a, b] for a, b in pairs for q in questions]


def require_answerer(
    study: StudyFolder, pairs: Sequence[tuple[str, str]], answers: Iterable[StudyAnswer], models: Models
) -> None:
    """Check that a model that would align answers is the one that wrote them.

    Args:
        study: with the pairs that are aligned already.
        pairs: of methods, to be aligned.
        answers: of these methods.
        models: in use.

    Raises:
        BadInput: if it is another one.
    """
    chat = models.chat
    if chat is None:
        return
    aligned = {(p.question, p.trial, p.a, p.b) for p in study.aligned()}
    for answer in answers:
        made = answer.made_with
        waiting = [
            pair
            for pair in pairs
            if answer.method in pair and (answer.question, answer.trial, *pair) not in aligned
        ]
        if made.chat == chat.name or not waiting:
            continue
        wrote = made.chat or "no model (they consist of sentences from the documents)"
        change = f"Set POLYGRAPH_CHAT_MODEL to {made.chat}, or use" if made.chat else "Use"
        raise BadInput(
            f"the answers of {answer.method} were written by {wrote}; if {chat.name} rewrote them to equal length, its "
            f"answers would be judged. {change} --no-align"
        )


def unaligned_answers(
    questions: Sequence[Question],
    pairs: Sequence[tuple[str, str]],
    answers: Mapping[tuple[str, str], StudyAnswer],
) -> list[AlignedPair]:
    """Return the pairs of answers as they are, for protocols without length alignment."""
    return [
        replace(
            unaligned_pair(q.id, (a, b), _stripped(answers[q.id, a], answers[q.id, b]), "free"),
            trial=answers[q.id, a].trial,
        )
        for a, b in pairs
        for q in questions
    ]


def judge_aligned(
    study: StudyFolder,
    questions: Sequence[Question],
    aligned: Iterable[AlignedPair],
    judge: PairJudge,
    design: JudgingDesign,
    calls: Calls,
    progress: Progress,
    *,
    own_answers: bool,
) -> list[Judgement]:
    """Judge the pairs that were not discarded.

    Args:
        study: gets each judgement as soon as it exists.
        questions: of the study.
        aligned: pairs of answers.
        judge: gives the scores.
        design: orders, repeats and trials.
        calls: runs judgements in parallel.
        progress: called after each judgement.
        own_answers: whether each trial judges only the pairs of its own answers; otherwise each judges all pairs.

    Returns:
        All judgements of this judge by this protocol, including those of earlier runs.
    """
    texts = {q.id: q.question for q in questions}
    pairs = [
        AnswerPair(
            question=p.question,
            text=texts[p.question],
            a=p.a,
            b=p.b,
            answers=p.texts,
            trial=p.trial if own_answers else None,
        )
        for p in aligned
        if p.how != "discarded"
    ]
    total = sum(design.n_calls_of(pair) for pair in pairs)
    recorder = _JudgementRecorder(study, design.protocol, judge.name, total, progress)
    return recorder.finish(
        judge_pairs(pairs, judge, design, run=calls.map, on_judgement=recorder.record, done=recorder.earlier)
    )


def judge_together(
    study: StudyFolder,
    questions: Sequence[Question],
    answers: Mapping[tuple[str, str], StudyAnswer],
    methods: Sequence[str],
    judge: ListwiseJudge,
    trials: int,
    calls: Calls,
    progress: Progress,
) -> list[Judgement]:
    """Judge the answers of all methods together.

    Returns:
        All listwise judgements of this judge, including those of earlier runs.
    """
    total = 2 * len(methods) * len(questions) * trials
    recorder = _JudgementRecorder(study, listwise.PROTOCOL, judge.name, total, progress)
    return recorder.finish(
        listwise.judge_lists(
            {q.id: q.question for q in questions},
            {key: answer.uncited_text for key, answer in answers.items()},
            methods,
            judge,
            run=calls.map,
            trials=trials,
            on_judgement=recorder.record,
            done=recorder.earlier,
        )
    )


def add_ratings(study: StudyFolder, ratings: Sequence[Judgement]) -> None:
    """Add the ratings of a sheet; a later rating by the same rater of the same answers replaces the earlier one."""
    study.append("judgements", [asdict(j) for j in ratings])
    # Read back: of two ratings of the same answers in different orders both count, in the same order the later one.
    _write_sorted(study, study.judgements())


def require_chat(models: Models) -> ChatModel:
    """Return the chat model.

    Raises:
        BadInput: if none is configured.
    """
    if models.chat is None:
        raise BadInput(
            "answers are aligned and judged by a chat model, and none is configured. Set POLYGRAPH_CHAT_MODEL and "
            "OPENAI_BASE_URL or OPENAI_API_KEY; or measure retrieval, which needs none: polygraph eval retrieval; or "
            "have people judge answers as they are: polygraph eval sheet --no-align"
        )
    return models.chat


class _JudgementRecorder:
    """Appends judgements of one judge to a study as they come, and reports progress."""

    def __init__(self, study: StudyFolder, protocol: str, judge: str, total: int, progress: Progress) -> None:
        self._study = study
        self._all = study.judgements()
        self._protocol, self._judge = protocol, judge
        self.earlier = [j for j in self._all if j.protocol == protocol and j.judge == judge]
        self._judged = SharedCounter(progress, "judgements", len(self.earlier), total)

    def record(self, judgement: Judgement) -> None:
        self._study.append("judgements", [asdict(judgement)])
        self._judged.add_one()

    def finish(self, found: Sequence[Judgement]) -> list[Judgement]:
        """Sort the file; return earlier and new judgements of the judge."""
        _write_sorted(self._study, [*self._all, *found])
        if found:
            self._study.add_judging_date(self._protocol, self._judge, today())
        return [*self.earlier, *found]


def _write_sorted(study: StudyFolder, judgements: Sequence[Judgement]) -> None:
    ordered = sorted(
        judgements, key=lambda j: (j.protocol, j.judge, j.trial, j.question, j.methods, j.repeat)
    )
    study.write("judgements", [asdict(j) for j in ordered])


def _stripped(a: StudyAnswer, b: StudyAnswer) -> tuple[str, str]:
    return a.uncited_text, b.uncited_text


def _align_pair(
    question: Question,
    answers: tuple[StudyAnswer, StudyAnswer],
    models: Models,
    chat: ChatModel,
    tolerance: int,
) -> AlignedPair:
    contexts = {a.method: a.context for a in answers}
    n_items = {a.method: len(a.evidence) for a in answers}
    methods, texts = (answers[0].method, answers[1].method), _stripped(*answers)
    trial = answers[0].trial
    temperatures = {a.method: a.made_with.temperature for a in answers}

    def rewrite(method: str, target: int, attempt: int) -> str:
        with sampled(run_number(method, trial), temperatures[method]):
            text = write_answer(
                question.question,
                contexts[method],
                models,
                chat,
                method=method_of(method),
                target_words=target,
                sample=attempt,
            )
        # Asked for more words, the model may refuse. The earlier answer is closer to the target and is kept.
        return "" if text.lstrip().startswith(NO_ANSWER) else without_citations(text, n_items[method])

    def append(method: str, text: str, n_words: int) -> str:
        with sampled(run_number(method, trial), temperatures[method]):
            longer = lengthen_answer(question.question, text, n_words, models, chat, method=method_of(method))
        return without_citations(longer, n_items[method])

    if answers[0].refused or answers[1].refused:
        return replace(unaligned_pair(question.id, methods, texts, "refused"), trial=trial)
    try:
        aligned = align_lengths(
            question.id, methods, texts, rewrite=rewrite, append=append, tolerance=tolerance
        )
    except UnusableReply:
        aligned = unaligned_pair(question.id, methods, texts, "discarded", ATTEMPTS)
    return replace(aligned, trial=trial)
