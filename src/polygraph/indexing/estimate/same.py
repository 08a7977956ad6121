"""The cost of asking which undecided names are one entity."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.extract.resolution.records import PairDecision, Resolution, ResolvedRows
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.indexing.estimate.ranges import Line, Range, low_mid_high, priced_line
from polygraph.indexing.estimate.simulated_graph import resolve_simulated
from polygraph.indexing.same_entities import choose_pairs
from polygraph.models import ChatModel, ChatRequest
from polygraph.models.calls import request_key
from polygraph.records import Extraction, Window
from polygraph.tasks.same import (
    MAX_DESCRIPTIONS,
    MAX_NAMES,
    MAX_PASSAGES,
    PAIRS_PER_CALL,
    STAGE,
    NameInContext,
    same_request,
)
from polygraph.text.prose import count_noun
from polygraph.text.surroundings import around
from polygraph.text.tokens import count_tokens

_PAIRS_PER_ENTITY = Range(0.05, 0.3, 0.5)
"""Pairs for each entity, where the documents are not read yet: 80 for 233 entities that a strong model extracted from
49 documents of the sample collection, with a wide range."""
_MARGIN = 0.1
"""Pairs for each entity that what is read may lack."""
_GROWTH = Range(0.0, 0.4, 1.0)
"""Exponent by which pairs for each entity grow with the entities: names of one document meet, which is 0, or those of
all documents, which is 1. Between 12 windows and 44 to 63 of three corpora it was 0.3 to 0.8."""
_TOKENS_PER_PAIR = Range(100, 300, 600)
"""Tokens that are shown of a pair, where none is known."""
_PAIR_ERROR = 0.25
"""Relative error of these tokens, where some pairs are known."""
_REPLY_TOKENS = 12
"""Of a reply, besides the number of each pair."""
_TOKENS_PER_NUMBER = 3


def same_line(state: EstimateState, chat: ChatModel, n_entities: Range) -> Line | None:
    """Return the line of the undecided names; None if nothing will be asked.

    Args:
        state: with the rows of the windows that are read.
        chat: the model that is asked.
        n_entities: of the graph.
    """
    max_pairs = int(state.plan.manifest.same.rpartition(":")[2] or 0)
    if not max_pairs:
        return None
    if all(window.id in state.corpus.extractions for window in state.corpus.windows):
        return _counted(state, chat, max_pairs)
    known = _known_pairs(state)
    n_pairs = Range(*(min(max_pairs, n) for n in low_mid_high(pairs_in_doubt(known, n_entities))))
    calls = Range(*(-(-n // PAIRS_PER_CALL) for n in low_mid_high(n_pairs.rounded())))
    basis = "a guess: how many names are in doubt is known after extraction"
    if known.n_entities:
        basis = f"as in the {count_noun(known.n_windows, 'window')} that are read"
    return priced_line(
        STAGE, chat.name, state.price(chat), calls, calls * _instructions() + n_pairs * known.tokens_per_pair,
        calls * _REPLY_TOKENS + n_pairs * _TOKENS_PER_NUMBER,
        basis=f"{basis}; at most {count_noun(max_pairs, 'pair')}",
    )  # fmt: skip


def _counted(state: EstimateState, chat: ChatModel, max_pairs: int) -> Line | None:
    """Return the line for documents that are all read: their names are resolved, and the requests are written."""
    windows = {window.id: window for window in state.corpus.windows}
    extractions = [state.corpus.extractions[window.id] for window in state.corpus.windows]
    found = resolve_simulated(windows.values(), extractions, state.plan.manifest, asks=True)
    chosen = choose_pairs(_as_rows(found), max_pairs)
    if not chosen:
        return None
    requests = _requests(_in_context(found, extractions, windows, chosen))
    paid = [r for r in requests if state.plan.stored_reply(request_key(chat.name, r)) is None]
    reads = sum(count_tokens(message.content) for request in paid for message in request.messages)
    writes = len(paid) * _REPLY_TOKENS + len(chosen) * _TOKENS_PER_NUMBER
    return priced_line(
        STAGE, chat.name, state.price(chat), Range.exactly(len(paid)), Range.with_relative_error(reads, 0.1),
        Range.with_relative_error(writes, 0.5), free=len(requests) - len(paid),
        basis=f"{count_noun(len(chosen), 'pair')} of names that the rules leave undecided",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownPairs:
    """What the windows that are read say about pairs."""

    n_windows: int = 0
    n_entities: int = 0
    n_pairs: int = 0
    tokens_per_pair: Range = _TOKENS_PER_PAIR


def _known_pairs(state: EstimateState) -> KnownPairs:
    known = {**state.corpus.extractions, **state.extractions}
    windows = {window.id: window for window in state.corpus.windows if window.id in known}
    extractions = [known[i] for i in windows]
    found = resolve_simulated(windows.values(), extractions, state.plan.manifest, asks=True)
    rows = _as_rows(found)
    pairs = choose_pairs(rows, len(found.pairs))
    if not pairs:
        return KnownPairs(len(windows), len(rows.ids))
    requests = _requests(_in_context(found, extractions, windows, pairs))
    n_tokens = sum(count_tokens(message.content) for request in requests for message in request.messages)
    per_pair = Range.with_relative_error(
        (n_tokens - len(requests) * _instructions()) / len(pairs), _PAIR_ERROR
    )
    return KnownPairs(len(windows), len(rows.ids), len(pairs), per_pair)


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
            for n, each, power in zip(low_mid_high(n_entities), rates, low_mid_high(_GROWTH), strict=True)
        )
    )


def _instructions() -> int:
    return sum(count_tokens(message.content) for message in same_request([]).messages)


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
