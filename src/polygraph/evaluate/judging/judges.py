"""Chat models as judges."""

from collections.abc import Mapping, Sequence

from polygraph.models import ChatModel
from polygraph.models.calls import Calls
from polygraph.tasks.evaluation.judge import (
    JudgeReply,
    choose_winner,
    find_differences,
    score_list,
    score_pair,
)

_COMMON_CRITERIA = {
    "comprehensiveness": "how much detail it gives to cover all sides of the question",
    "diversity": "how varied and rich it is in views and insights",
    "empowerment": "how well it helps the reader to understand and to judge",
}
CRITERIA: Mapping[str, Mapping[str, str]] = {
    "lightrag": {**_COMMON_CRITERIA, "overall": "which is better, all criteria together"},
    "fg-rag": {**_COMMON_CRITERIA, "overall": "which is better, all criteria together"},
    "rag-vs-graphrag": {
        "comprehensiveness": "how completely it covers the question",
        "global diversity": "how many views it brings together, those of other countries and cultures included",
    },
    "benchmark-qed": {**_COMMON_CRITERIA, "relevance": "how well what it says belongs to the question"},
}
"""Criteria of the win/lose protocols. The diversity of "RAG vs. GraphRAG" includes international breadth, which that of
the others does not: do not pool them."""
_UNIQUE = {
    "relevance": "which statements answer more of the question",
    "insight": "which statements tell the reader more that is worth knowing",
}
_NOTHING = "(nothing that the other answer does not say)"


class ChatPairJudge:
    """A chat model that judges two answers by one protocol."""

    def __init__(self, chat: ChatModel, calls: Calls, protocol: str, *, temperature: float = 0.7) -> None:
        self._chat = chat
        self._calls = calls
        self._temperature = temperature
        self._protocol = protocol

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._chat.name

    def __call__(self, question: str, first: str, second: str, sample: int) -> JudgeReply:
        """Judge two answers in the order shown: one call, or two with `differential`.

        Raises:
            UnusableReply: if the model gave no scores.
        """
        if self._protocol == "unbiased":
            return score_pair(
                question, first, second, self._chat, self._calls, temperature=self._temperature, sample=sample
            )
        if self._protocol == "differential":
            return self._differential(question, first, second, sample)
        # benchmark-qed makes one call per criterion; one reply with all criteria is cheaper.
        return choose_winner(
            question,
            first,
            second,
            CRITERIA[self._protocol],
            self._chat,
            self._calls,
            ties=self._protocol == "benchmark-qed",
            temperature=self._temperature,
            sample=sample,
        )

    def _differential(self, question: str, first: str, second: str, sample: int) -> JudgeReply:
        """Judge only the statements unique to one answer (benchmark-qed); without any, the result is a tie."""
        tie = JudgeReply(dict.fromkeys(_UNIQUE, (0.5, 0.5)))
        if first == second:
            return tie
        # Sorted, so that both orders share one call.
        low, high = sorted((first, second))
        found = find_differences(question, low, high, self._chat, self._calls)
        unique = {low: found.only_first, high: found.only_second}
        if not (found.only_first or found.only_second):
            return tie
        return choose_winner(
            question,
            _listed(unique[first]),
            _listed(unique[second]),
            _UNIQUE,
            self._chat,
            self._calls,
            ties=True,
            temperature=self._temperature,
            sample=sample,
        )


class ChatListwiseJudge:
    """A chat model that scores the answers of all methods at once."""

    def __init__(self, chat: ChatModel, calls: Calls, *, temperature: float = 0.7) -> None:
        self._chat = chat
        self._calls = calls
        self._temperature = temperature

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._chat.name

    def __call__(self, question: str, answers: Sequence[str], sample: int) -> JudgeReply:
        """Score all answers in the order shown, in one call.

        Raises:
            UnusableReply: if the model gave no scores.
        """
        return score_list(
            question, answers, self._chat, self._calls, temperature=self._temperature, sample=sample
        )


def _listed(statements: Sequence[str]) -> str:
    return "\n".join(f"- {s}" for s in statements) or _NOTHING
