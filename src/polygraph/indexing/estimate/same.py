"""The cost of asking which undecided names are one entity."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from polygraph.extract.resolution.records import PairDecision, Resolution, ResolvedRows
from polygraph.indexing.estimate.name_lists import (
    NAMES_PER_ENTITY,
    SUGGESTED_PER_NAME,
    TOKENS_PER_NAME,
    SimulatedLists,
    counted_lists,
    guessed_lists,
)
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.indexing.estimate.ranges import Line, Range, priced_line
from polygraph.indexing.estimate.simulated_graph import resolve_simulated
from polygraph.indexing.same_entities import choose_pairs
from polygraph.indexing.suggested_pairs import NAMES_PER_PAIR
from polygraph.models import ChatModel, ChatReply, ChatRequest
from polygraph.models.reply_cache import request_key
from polygraph.records import Extraction, Window
from polygraph.tasks.indexing.same import (
    MAX_DESCRIPTIONS,
    MAX_NAMES,
    MAX_PASSAGES,
    PAIRS_PER_CALL,
    STAGE,
    NameInContext,
    WhoIsAsked,
    same_request,
    who_is_asked,
)
from polygraph.text.prose import count_noun
from polygraph.text.surroundings import around

_PAIRS_PER_ENTITY = Range(0.05, 0.4, 0.7)
"""Pairs for each entity, where the documents are not read yet: 130 for 237 entities that a strong model extracted from
49 documents of the sample collection, with a wide range."""
_MARGIN = 0.1
"""Pairs for each entity that what is read may lack."""
_LISTED_LESS = 0.8
"""Share of the names in lists that the whole graph may have at least, beside what is read."""
_MAX_NAMES = 1_000
"""Entities of one window, at most: all stand in lists where their number is counted."""
_GROWTH = Range(0.0, 0.4, 1.0)
"""Exponent by which pairs for each entity grow with the entities: names of one document meet, which is 0, or those of
all documents, which is 1. Between 12 windows and 44 to 63 of three corpora it was 0.3 to 0.8."""
_TOKENS_PER_PAIR = Range(100, 300, 600)
"""Tokens that are shown of a pair, where none is known."""
_PAIR_ERROR = 0.25
"""Relative error of these tokens, where some pairs are known."""
_REPLY_TOKENS = 12
"""Tokens of a reply, besides the number of each pair."""
_TOKENS_PER_NUMBER = 3


def same_lines(state: EstimateState, chat: ChatModel, n_entities: Range) -> list[Line]:
    """Return the lines of the lists of names and of the undecided pairs; none of what is not asked.

    Args:
        state: with the rows of the windows that are read.
        chat: the model that is asked.
        n_entities: of the graph.
    """
    who = who_is_asked(state.plan.manifest.same)
    if who is None or not who.max_pairs:
        return []
    if all(window.id in state.corpus.extractions for window in state.corpus.windows):
        return _counted(state, chat, who)
    known = _known_pairs(state)
    basis = "a guess: how many names are in doubt is known after extraction"
    if known.n_entities:
        basis = f"as in the {count_noun(known.n_windows, 'window')} read"
    most = NAMES_PER_PAIR * who.max_pairs
    listed = listed_names(known, n_entities).map(lambda n: min(most, n)).rounded()
    n_pairs = pairs_in_doubt(known, n_entities) + listed * SUGGESTED_PER_NAME
    n_pairs = n_pairs.map(lambda n: min(who.max_pairs, n))
    calls = n_pairs.rounded().map(lambda n: -(-n // PAIRS_PER_CALL))
    pairs = priced_line(
        STAGE, chat.name, state.price(chat), calls, calls * _instructions() + n_pairs * known.tokens_per_pair,
        calls * _REPLY_TOKENS + n_pairs * _TOKENS_PER_NUMBER,
        basis=f"{basis}; at most {count_noun(who.max_pairs, 'pair')}",
    )  # fmt: skip
    return [guessed_lists(state, chat, listed, known.tokens_per_name, basis), pairs]


def _counted(state: EstimateState, chat: ChatModel, who: WhoIsAsked) -> list[Line]:
    """Return the lines for documents that are all read: their names are resolved, and the requests are written."""
    windows = {window.id: window for window in state.corpus.windows}
    extractions = [state.corpus.extractions[window.id] for window in state.corpus.windows]
    lists = SimulatedLists(extractions, windows, who.max_pairs, partial(_stored_reply, state, chat))
    found = resolve_simulated(
        windows.values(), extractions, state.plan.manifest, asks=True, suggest=lists.suggest
    )
    lines = [line] if (line := counted_lists(state, chat, lists)) is not None else []
    chosen = choose_pairs(_as_rows(found), who.max_pairs)
    # What lists without a reply will suggest is not known.
    more = SUGGESTED_PER_NAME * lists.n_unanswered_names
    more = more.map(lambda n: min(n, who.max_pairs - len(chosen))).rounded()
    if not chosen and not more.high:
        return lines
    requests = _requests(_in_context(found, extractions, windows, chosen))
    paid = [request for request in requests if _stored_reply(state, chat, request) is None]
    reads = sum(request.n_tokens for request in paid)
    more_calls = more.map(lambda n: -(-(len(chosen) + n) // PAIRS_PER_CALL) - len(requests))
    writes = len(paid) * _REPLY_TOKENS + len(chosen) * _TOKENS_PER_NUMBER
    basis = f"{count_noun(len(chosen), 'pair')} of names that the rules leave undecided"
    if more.high:
        basis += ", and what lists will suggest"
    pairs = priced_line(
        STAGE, chat.name, state.price(chat), more_calls + Range.exactly(len(paid)),
        Range.with_relative_error(reads, 0.1) + more * _TOKENS_PER_PAIR + more_calls * _instructions(),
        Range.with_relative_error(writes, 0.5) + more * _TOKENS_PER_NUMBER + more_calls * _REPLY_TOKENS,
        free=len(requests) - len(paid), basis=basis,
    )  # fmt: skip
    return [*lines, pairs]


def _stored_reply(state: EstimateState, chat: ChatModel, request: ChatRequest) -> ChatReply | None:
    return state.plan.stored_reply(request_key(chat.name, request))


@dataclass(frozen=True, slots=True)
class KnownPairs:
    """What the windows that are read say about pairs."""

    n_windows: int = 0
    n_entities: int = 0
    n_pairs: int = 0
    tokens_per_pair: Range = _TOKENS_PER_PAIR
    n_listed: int = 0
    """Names that may stand in lists."""
    tokens_per_name: Range = TOKENS_PER_NAME


def _known_pairs(state: EstimateState) -> KnownPairs:
    known = {**state.corpus.extractions, **state.extractions}
    windows = {window.id: window for window in state.corpus.windows if window.id in known}
    extractions = [known[i] for i in windows]
    lists = SimulatedLists(extractions, windows, len(windows) * _MAX_NAMES)
    found = resolve_simulated(
        windows.values(), extractions, state.plan.manifest, asks=True, suggest=lists.suggest
    )
    rows = _as_rows(found)
    pairs = choose_pairs(rows, len(found.pairs))
    per_pair = _TOKENS_PER_PAIR
    if pairs:
        requests = _requests(_in_context(found, extractions, windows, pairs))
        n_tokens = sum(request.n_tokens for request in requests)
        per_pair = Range.with_relative_error(
            (n_tokens - len(requests) * _instructions()) / len(pairs), _PAIR_ERROR
        )
    return KnownPairs(
        n_windows=len(windows),
        n_entities=len(rows.ids),
        n_pairs=len(pairs),
        tokens_per_pair=per_pair,
        n_listed=lists.n_names,
        tokens_per_name=lists.tokens_per_name(),
    )


def listed_names(known: KnownPairs, n_entities: Range) -> Range:
    """Return the names of the whole graph that may stand in lists."""
    if not known.n_entities:
        return NAMES_PER_ENTITY * n_entities
    rate = known.n_listed / known.n_entities
    return Range(rate * _LISTED_LESS, rate, min(1.0, rate + _MARGIN)) * n_entities


def pairs_in_doubt(known: KnownPairs, n_entities: Range) -> Range:
    """Return the pairs of the whole graph, before the most that are asked about."""
    if not known.n_entities:
        return _PAIRS_PER_ENTITY * n_entities
    rate = known.n_pairs / known.n_entities
    # No pair among a few windows does not mean that there will be none.
    rates = (rate / 2, rate, rate + _MARGIN)
    return Range(
        *(
            n * each * max(1.0, n / known.n_entities) ** power
            for n, each, power in zip(n_entities, rates, _GROWTH, strict=True)
        )
    )


def _instructions() -> int:
    return same_request([]).n_tokens


def _requests(pairs: Sequence[tuple[NameInContext, NameInContext]]) -> list[ChatRequest]:
    return [same_request(pairs[at : at + PAIRS_PER_CALL]) for at in range(0, len(pairs), PAIRS_PER_CALL)]


def _as_rows(found: Resolution) -> ResolvedRows:
    """Return a resolution as the build has it, of which it takes the pairs to ask about."""
    ids = sorted(set(found.entity_of.values()))
    number = {entity: n for n, entity in enumerate(ids)}
    entity = np.array([number[each] for each in found.entity_of.values()], dtype=np.int32)
    return ResolvedRows(ids=ids, entity=entity, merges=found.merges, splits=found.splits, pairs=found.pairs)


def _in_context(
    found: Resolution,
    extractions: Sequence[Extraction],
    windows: Mapping[str, Window],
    pairs: Sequence[PairDecision],
) -> list[tuple[NameInContext, NameInContext]]:
    """Return about what is shown of each pair."""
    rows = defaultdict(list)
    for extraction in extractions:
        for row in extraction.entities:
            entity = found.entity_of.get((extraction.window, row.name), "")
            rows[entity].append((windows[extraction.window], row))

    def shown(entity: str) -> NameInContext:
        some = rows[entity]
        first = {window.document: (window, row) for window, row in reversed(some)}
        names = dict.fromkeys(row.name for _, row in first.values())
        texts = [_passage(window, row.name) for window, row in (first[place] for place in sorted(first))]
        return NameInContext(
            name=some[0][1].name if some else entity,
            type=next((row.type for _, row in some if row.type), ""),
            document=some[0][0].document if some else "",
            descriptions=tuple(first[place][1].description for place in sorted(first))[:MAX_DESCRIPTIONS],
            other_names=tuple(names)[1:MAX_NAMES],
            passages=tuple(filter(None, texts))[:MAX_PASSAGES],
        )

    return [(shown(pair.entities[0]), shown(pair.entities[1])) for pair in pairs]


def _passage(window: Window, name: str) -> str:
    text = around(window.text, name)
    return f"[{window.fields}] {text}" if text and window.fields else text
