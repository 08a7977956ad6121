"""Judging the answers of all methods in one pass, in balanced orders.

The unbiased paper (arXiv:2506.06331, section 6) names this as the way on: pairs grow with the square of the methods,
lists do not, and scores tell how far answers differ, not only who wins.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from polygraph.evaluate.judging.judgements import Judgement, judged
from polygraph.evaluate.judging.pairwise import Run
from polygraph.tasks.judge import Scores

PROTOCOL = "listwise"


class Lister(Protocol):
    """Scores any number of answers in the order shown."""

    @property
    def name(self) -> str:
        """Identifies the judge in the records."""

    def __call__(self, question: str, answers: Sequence[str], sample: int) -> Scores:
        """One score per answer and aspect."""


def balanced_orders(n: int) -> list[tuple[int, ...]]:
    """Orders in which each item stands in each place equally often, and before each other item half of the time.

    The rotations of the items, and of their reverse: ``2 n`` orders, for two items the two there are.

    >>> balanced_orders(3)
    [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (1, 0, 2), (0, 2, 1)]
    """
    forth = list(range(n))
    back = forth[::-1]
    return list(dict.fromkeys(tuple(row[i:] + row[:i]) for row in (forth, back) for i in range(n)))


def judge_lists(
    questions: Mapping[str, str],
    answers: Mapping[tuple[str, str], str],
    methods: Sequence[str],
    judge: Lister,
    *,
    run: Run,
    trials: int = 1,
    keep: Callable[[Judgement], None] = lambda _: None,
    done: Iterable[Judgement] = (),
) -> list[Judgement]:
    """Have the answers of all methods scored together, in every balanced order.

    Args:
        questions: text by id, in order.
        answers: by question and method.
        methods: at least two.
        judge: whom to ask.
        run: applies a function to items, in parallel if it likes.
        trials: rounds over all questions.
        keep: given each judgement as soon as it is there, from any thread.
        done: judgements of an earlier run; they are not asked for again.

    Returns:
        New judgements, ``2 n`` for each question and trial, by trial, question, order.
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

    def work(empty: Judgement) -> Judgement:
        shown = [answers[empty.question, method] for method in empty.methods]
        return judged(empty, lambda: judge(questions[empty.question], shown, empty.trial), keep)

    return list(run(work, [one for one in wanted if one.key not in known]))
