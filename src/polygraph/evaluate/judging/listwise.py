"""Listwise judging: the answers of all methods scored in one reply, in balanced orders.

Zeng et al. (arXiv:2506.06331), section 6, name it as future work: the number of pairs grows with the square of the
methods and that of lists does not, and scores show how much answers differ, not only which one wins.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from polygraph.evaluate.judging.judgements import Judgement, ParallelMap, ask_judge
from polygraph.tasks.evaluation.judge import JudgeReply

PROTOCOL = "listwise"


class ListwiseJudge(Protocol):
    """Scores any number of answers in the order shown."""

    @property
    def name(self) -> str:
        """Name of the judge in the records."""

    def __call__(self, question: str, answers: Sequence[str], sample: int) -> JudgeReply:
        """Return one score per answer and aspect, with reasons if the judge gives any.

        Raises:
            UnusableReply: if the judge gave no scores.
        """


def balanced_orders(n: int) -> list[tuple[int, ...]]:
    """Return orders in which each item is in each position equally often, and before each other item half of the time.

    They are the rotations of the items and of their reverse: ``2 n`` orders, or the two there are of two items.

    >>> balanced_orders(3)
    [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (1, 0, 2), (0, 2, 1)]
    """
    forward = list(range(n))
    backward = forward[::-1]
    return list(dict.fromkeys(tuple(row[i:] + row[:i]) for row in (forward, backward) for i in range(n)))


def judge_lists(
    questions: Mapping[str, str],
    answers: Mapping[tuple[str, str], str],
    methods: Sequence[str],
    judge: ListwiseJudge,
    *,
    run: ParallelMap,
    trials: int = 1,
    on_judgement: Callable[[Judgement], None] = lambda _: None,
    done: Iterable[Judgement] = (),
) -> list[Judgement]:
    """Judge the answers of all methods together, in every balanced order.

    Args:
        questions: text by id, in order.
        answers: text by question and method.
        methods: at least two.
        judge: gives the scores.
        run: applies a function to judgements, possibly in parallel (`Calls.map`).
        trials: rounds over all questions.
        on_judgement: called with each judgement as soon as it exists, from any thread.
        done: judgements of an earlier run, which are not repeated.

    Returns:
        New judgements, ``2 n`` per question and trial, by trial, question, order.
    """
    known = {one.key for one in done}
    wanted = [
        Judgement(
            protocol=PROTOCOL,
            question=question,
            methods=tuple(methods[i] for i in order),
            judge=judge.name,
            trial=trial,
        )
        for trial in range(trials)
        for question in questions
        for order in balanced_orders(len(methods))
    ]

    def work(unscored: Judgement) -> Judgement:
        shown = [answers[unscored.question, method] for method in unscored.methods]
        return ask_judge(
            unscored, lambda: judge(questions[unscored.question], shown, unscored.trial), on_judgement
        )

    return list(run(work, [one for one in wanted if one.key not in known]))
