"""The steps of a study: answer, align, judge. Each goes on from what its file holds already."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Protocol

from polygraph.errors import BadInput, UnusableReply
from polygraph.evaluate.judging import listwise
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import ATTEMPTS, TOLERANCE, Aligned, How, align, count_words
from polygraph.evaluate.judging.listwise import Lister
from polygraph.evaluate.judging.pairwise import Design, Pair, PairJudge, Run, judge_pairs
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.runs.study_folder import Study, StudyAnswer
from polygraph.models import ChatModel, Models
from polygraph.models.calls import Calls
from polygraph.models.thread_pool import in_turn
from polygraph.records import Answer
from polygraph.tasks.answer import NO_ANSWER, lengthen_answer, write_answer

_MARKS = re.compile(r"\s*(?:\[\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*\])+")


class Told(Protocol):
    """Told how far a step has come."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` items of a stage are finished."""


def answer_questions(
    study: Study,
    questions: Sequence[Question],
    methods: Sequence[str],
    ask: Callable[[str, str], Answer],
    run: Run,
    told: Told,
) -> list[StudyAnswer]:
    """Answer every question with every method, those that stand in the study aside.

    Args:
        study: whose ``answers.jsonl`` is added to, answer by answer.
        questions: in order.
        methods: names, in order.
        ask: answers a question (its text) with a method (its name).
        run: applies a function to questions, in parallel if it likes.
        told: of the progress.

    Returns:
        All answers, by question, then method, in the orders given.
    """
    done = {a.key: a for a in study.answers()}
    total = len(questions) * len(methods)
    wanted = [q for q in questions if any((q.id, m) not in done for m in methods)]
    told("answers", total - sum((q.id, m) not in done for q in wanted for m in methods), total)

    def work(question: Question) -> None:
        def one(name: str) -> None:
            if (question.id, name) not in done:
                answer = StudyAnswer.of(question.id, name, ask(question.question, name))
                study.add_answer(answer)
                done[answer.key] = answer
                told("answers", len(done), total)

        # The methods one after the other, so that what they share is asked once.
        in_turn(one, methods)

    for _ in run(work, wanted):
        pass
    place = {q.id: i for i, q in enumerate(questions)}
    ordered = sorted(done.values(), key=lambda a: (place.get(a.question, len(place)), a.question, a.method))
    study.put_in_order("answers", [a.as_json() for a in ordered])
    return [done[q.id, m] for q in questions for m in methods]


def plain(text: str) -> str:
    """An answer as a judge sees it: without the numbers of its citations, which say nothing without the evidence.

    >>> plain("She lit the lamp [1][3]. Nobody paid [2, 4].")
    'She lit the lamp. Nobody paid.'
    """
    return _MARKS.sub("", text).strip()


def align_answers(
    study: Study,
    questions: Sequence[Question],
    pairs: Sequence[tuple[str, str]],
    answers: Mapping[tuple[str, str], StudyAnswer],
    models: Models,
    told: Told,
    *,
    tolerance: int = TOLERANCE,
    attempts: int = ATTEMPTS,
) -> list[Aligned]:
    """Bring the answers of each pair of methods to equal length, question by question.

    The generator is the model that wrote the answers; a shorter one is written again from its own context. Where an
    answer refuses, both stay as they came, and no call is made.

    Raises:
        BadInput: if there is no chat model.
    """
    chat = needed(models)
    done = {(p.question, p.a, p.b): p for p in study.aligned()}
    todo = [(q, a, b) for a, b in pairs for q in questions if (q.id, a, b) not in done]
    total = len(pairs) * len(questions)

    def work(item: tuple[Question, str, str]) -> None:
        question, a, b = item
        texts = (plain(answers[question.id, a].text), plain(answers[question.id, b].text))

        def write(method: str, target: int, attempt: int) -> str:
            context = answers[question.id, method].context
            text = write_answer(
                question.question, context, models, chat, method=method, target_words=target, sample=attempt
            )
            # Asked for more words, it may refuse; the former answer is then kept, being nearer to the target.
            return "" if text.lstrip().startswith(NO_ANSWER) else plain(text)

        def append(method: str, text: str, n_words: int) -> str:
            return plain(lengthen_answer(question.question, text, n_words, models, chat, method=method))

        if answers[question.id, a].refused or answers[question.id, b].refused:
            made = _as_it_came(question.id, a, b, texts, "refused")
        else:
            try:
                made = align(
                    question.id,
                    (a, b),
                    texts,
                    write=write,
                    append=append,
                    tolerance=tolerance,
                    attempts=attempts,
                )
            except UnusableReply:
                # Nothing usable came back: the pair stays of unequal length.
                made = replace(_as_it_came(question.id, a, b, texts, "discarded"), attempts=attempts)
        study.append("aligned", [asdict(made)])
        done[made.question, made.a, made.b] = made
        told("alignment", len(done), total)

    for _ in models.calls.map(work, todo):
        pass
    place = {q.id: i for i, q in enumerate(questions)}
    ordered = sorted(done.values(), key=lambda p: (p.a, p.b, place.get(p.question, len(place)), p.question))
    study.put_in_order("aligned", [asdict(p) for p in ordered])
    return [done[q.id, a, b] for a, b in pairs for q in questions]


def judge_aligned(
    study: Study,
    questions: Sequence[Question],
    aligned: Iterable[Aligned],
    judge: PairJudge,
    how: Design,
    calls: Calls,
    told: Told,
) -> list[Judgement]:
    """Judge what could be aligned by the unbiased protocol.

    Returns:
        All judgements of this judge, those of earlier runs included.
    """
    texts = {q.id: q.question for q in questions}
    pairs = [
        Pair(question=p.question, text=texts[p.question], a=p.a, b=p.b, answers=p.texts)
        for p in aligned
        if p.how != "discarded"
    ]
    known = study.judgements()
    before = [j for j in known if j.protocol == how.protocol and j.judge == judge.name]
    total, count = how.n_calls(len(pairs)), len(before)

    def keep(judgement: Judgement) -> None:
        nonlocal count
        study.append("judgements", [judgement.as_json()])
        count += 1
        told("judgements", count, total)

    found = judge_pairs(pairs, judge, how, run=calls.map, keep=keep, done=before)
    _put_in_order(study, [*known, *found])
    return before + found


def judge_together(
    study: Study,
    questions: Sequence[Question],
    answers: Mapping[tuple[str, str], StudyAnswer],
    methods: Sequence[str],
    judge: Lister,
    trials: int,
    calls: Calls,
    told: Told,
) -> list[Judgement]:
    """Have the answers of all methods scored together.

    Returns:
        All judgements of lists by this judge, those of earlier runs included.
    """
    known = study.judgements()
    before = [j for j in known if j.protocol == listwise.PROTOCOL and j.judge == judge.name]
    total, count = 2 * len(methods) * len(questions) * trials, len(before)

    def keep(judgement: Judgement) -> None:
        nonlocal count
        study.append("judgements", [judgement.as_json()])
        count += 1
        told("judgements", count, total)

    found = listwise.judge_lists(
        {q.id: q.question for q in questions},
        {key: plain(answer.text) for key, answer in answers.items()},
        methods,
        judge,
        run=calls.map,
        trials=trials,
        keep=keep,
        done=before,
    )
    _put_in_order(study, [*known, *found])
    return before + found


def add_marks(study: Study, marks: Sequence[Judgement]) -> None:
    """Keep the marks of a sheet; a mark on answers that the same person has marked before takes its place."""
    study.append("judgements", [j.as_json() for j in marks])
    # Read back: of two marks on the same answers in another order both count, of two in the same order the later.
    _put_in_order(study, study.judgements())


def unaligned(
    questions: Sequence[Question],
    pairs: Sequence[tuple[str, str]],
    answers: Mapping[tuple[str, str], StudyAnswer],
) -> list[Aligned]:
    """Answers as they came, for protocols that do not align them."""
    found = []
    for a, b in pairs:
        for q in questions:
            texts = (plain(answers[q.id, a].text), plain(answers[q.id, b].text))
            found.append(_as_it_came(q.id, a, b, texts, "free"))
    return found


def needed(models: Models) -> ChatModel:
    """The chat model.

    Raises:
        BadInput: if there is none.
    """
    if models.chat is None:
        raise BadInput(
            "answers are aligned and judged by a chat model, and none is configured. Set POLYGRAPH_CHAT_MODEL and "
            "OPENAI_BASE_URL or OPENAI_API_KEY; or measure without one: polygraph eval retrieval"
        )
    return models.chat


def _put_in_order(study: Study, judgements: Sequence[Judgement]) -> None:
    ordered = sorted(
        judgements, key=lambda j: (j.protocol, j.judge, j.trial, j.question, j.methods, j.repeat)
    )
    study.put_in_order("judgements", [j.as_json() for j in ordered])


def _as_it_came(question: str, a: str, b: str, texts: tuple[str, str], how: How) -> Aligned:
    words = (count_words(texts[0]), count_words(texts[1]))
    return Aligned(question=question, a=a, b=b, texts=texts, words=words, attempts=0, how=how)
