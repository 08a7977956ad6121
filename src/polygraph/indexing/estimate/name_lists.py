"""The cost of lists of names in which a model looks for names of one thing."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from polygraph.errors import UnusableReply
from polygraph.extract.resolution.suggestions.name_blocks import lists_of
from polygraph.extract.resolution.suggestions.name_lists import ListedName
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.indexing.estimate.ranges import Line, Range, priced_line
from polygraph.indexing.suggested_pairs import line_of, listed_at_most, pairs_of
from polygraph.models import ChatModel, ChatReply, ChatRequest
from polygraph.records import Extraction, Window
from polygraph.tasks.indexing.suggest_same import NAMES_PER_CALL, STAGE, parse_groups, suggest_same_request
from polygraph.text.prose import count_noun

SUGGESTED_PER_NAME = Range(0, 0.03, 0.12)
"""Pairs that lists suggest beside those of the rules: 0.04 to 0.11 in collections of hard cases."""
NAMES_PER_ENTITY = Range(0.5, 0.85, 1)
"""Entities that stand in lists: 208 of 238 that a strong model extracted from the sample collection."""
TOKENS_PER_NAME = Range(20, 32, 60)
"""Tokens of a line, where none is known."""
_NAME_ERROR = 0.15
"""Relative error of these tokens, where some lines are known."""
_LINES_PER_CALL = Range(60, 45, 31)
"""Names of one list: the two smallest lists together do not fit into one, so that they are half full at least."""
_REPLY_TOKENS = Range(10, 60, 200)


class SimulatedLists:
    """The lists of a build, with what stored replies suggest.

    Args:
        extractions: the rows.
        windows: of the rows, by id.
        max_pairs: that may be asked about.
        stored_reply: finds the reply to a request that is paid for; without it, nothing is suggested.
    """

    def __init__(
        self,
        extractions: Iterable[Extraction],
        windows: Mapping[str, Window],
        max_pairs: int,
        stored_reply: Callable[[ChatRequest], ChatReply | None] | None = None,
    ) -> None:
        self._max_pairs, self._stored_reply = max_pairs, stored_reply
        self._descriptions: dict[tuple[str, str], str] = {}
        for extraction in extractions:
            for row in extraction.entities:
                place = (windows[extraction.window].document, row.name)
                if row.description.strip():
                    self._descriptions.setdefault(place, row.description.strip())
        self.n_requests = self.n_names = self.n_unanswered_names = 0
        self.unanswered: list[ChatRequest] = []

    def suggest(self, names: Sequence[ListedName]) -> set[tuple[int, int]]:
        """Count the lists of some names, and return the pairs that stored replies suggest, as in a build."""
        chosen = listed_at_most(names, self._max_pairs)
        found: set[tuple[int, int]] = set()
        for each in lists_of([names[n] for n in chosen], NAMES_PER_CALL):
            request = suggest_same_request([line_of(names[chosen[n]], self._descriptions) for n in each])
            reply = self._stored_reply(request) if self._stored_reply else None
            self.n_requests += 1
            self.n_names += len(each)
            if reply is None:
                self.unanswered.append(request)
                self.n_unanswered_names += len(each)
                continue
            try:
                pairs = pairs_of(parse_groups(reply.text, len(each)))
            except UnusableReply:
                continue
            found |= {(chosen[each[a]], chosen[each[b]]) for a, b in pairs}
        return found

    def tokens_per_name(self) -> Range:
        """Return the tokens of a line, of lists without a stored reply."""
        if not self.n_unanswered_names:
            return TOKENS_PER_NAME
        n_tokens = _n_tokens(self.unanswered) - len(self.unanswered) * _instructions()
        return Range.with_relative_error(n_tokens / self.n_unanswered_names, _NAME_ERROR)


def counted_lists(state: EstimateState, chat: ChatModel, lists: SimulatedLists) -> Line | None:
    """Return the line of lists that were made; None if there is none."""
    if not lists.n_requests:
        return None
    calls = Range.exactly(len(lists.unanswered))
    return priced_line(
        STAGE, chat.name, state.price(chat), calls, Range.with_relative_error(_n_tokens(lists.unanswered), 0.1),
        calls * _REPLY_TOKENS, free=lists.n_requests - len(lists.unanswered),
        basis=f"{count_noun(lists.n_requests, 'list')} of {count_noun(lists.n_names, 'name')}",
    )  # fmt: skip


def guessed_lists(
    state: EstimateState, chat: ChatModel, n_names: Range, tokens_per_name: Range, basis: str
) -> Line:
    """Return the line of lists of names that are not known yet."""
    calls = Range(*(-(-n // size) for n, size in zip(n_names, _LINES_PER_CALL, strict=True)))
    return priced_line(
        STAGE, chat.name, state.price(chat), calls, calls * _instructions() + n_names * tokens_per_name,
        calls * _REPLY_TOKENS, basis=f"{basis}; at most {NAMES_PER_CALL} names in a list",
    )  # fmt: skip


def _n_tokens(requests: Iterable[ChatRequest]) -> int:
    return sum(request.n_tokens for request in requests)


def _instructions() -> int:
    return _n_tokens([suggest_same_request([])])
