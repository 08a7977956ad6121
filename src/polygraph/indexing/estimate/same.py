"""The cost of asking which undecided names are one entity."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from polygraph.extract.resolution.records import PairDecision, Resolution
from polygraph.extract.resolution.resolve import resolve
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.indexing.estimate.ranges import Line, Range, low_mid_high, priced_line
from polygraph.indexing.estimate.simulated_graph import mentions_of
from polygraph.indexing.row_cache import name_relations
from polygraph.models import ChatModel
from polygraph.models.calls import request_key
from polygraph.models.protocols import Vectors
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
_TOKENS_PER_PAIR = Range(100, 300, 600)
"""Tokens that are shown of an unknown pair."""
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
    rate, basis = _pairs_per_entity(state)
    n_pairs = Range(*(min(max_pairs, n) for n in low_mid_high(rate * n_entities)))
    calls = Range(*(-(-n // PAIRS_PER_CALL) for n in low_mid_high(n_pairs.rounded())))
    instructions = sum(count_tokens(message.content) for message in same_request([]).messages)
    return priced_line(
        STAGE, chat.name, state.price(chat), calls, calls * instructions + n_pairs * _TOKENS_PER_PAIR,
        calls * _REPLY_TOKENS + n_pairs * _TOKENS_PER_NUMBER,
        basis=f"{basis}; at most {count_noun(max_pairs, 'pair')}",
    )  # fmt: skip


def _counted(state: EstimateState, chat: ChatModel, max_pairs: int) -> Line | None:
    """Return the line for documents that are all read: their names are resolved, and the requests are written."""
    windows = {window.id: window for window in state.corpus.windows}
    extractions = [state.corpus.extractions[window.id] for window in state.corpus.windows]
    found = _resolved(extractions, windows, by_model=state.plan.manifest.by_model)
    pairs = {pair.entities: pair for pair in found.pairs if pair.decision != "apart"}
    chosen = [pairs[entities] for entities in sorted(pairs)][:max_pairs]
    if not chosen:
        return None
    shown = _in_context(found, extractions, windows, chosen)
    requests = [same_request(shown[at : at + PAIRS_PER_CALL]) for at in range(0, len(shown), PAIRS_PER_CALL)]
    paid = [r for r in requests if state.plan.stored_reply(request_key(chat.name, r)) is None]
    reads = sum(count_tokens(message.content) for request in paid for message in request.messages)
    writes = len(paid) * _REPLY_TOKENS + len(chosen) * _TOKENS_PER_NUMBER
    return priced_line(
        STAGE, chat.name, state.price(chat), Range.exactly(len(paid)), Range.with_relative_error(reads, 0.1),
        Range.with_relative_error(writes, 0.5), free=len(requests) - len(paid),
        basis=f"{count_noun(len(chosen), 'pair')} of names that the rules leave undecided",
    )  # fmt: skip


def _pairs_per_entity(state: EstimateState) -> tuple[Range, str]:
    """Return how many pairs there are for each entity, and how that is known: from what is read, if anything."""
    known = {**state.corpus.extractions, **state.extractions}
    windows = {window.id: window for window in state.corpus.windows if window.id in known}
    found = _resolved([known[i] for i in windows], windows, by_model=state.plan.manifest.by_model)
    n_entities = len(set(found.entity_of.values()))
    if not n_entities:
        return _PAIRS_PER_ENTITY, "a guess: how many names are in doubt is known after extraction"
    rate = sum(pair.decision != "apart" for pair in found.pairs) / n_entities
    # Names of documents that are still to be read meet more of their kind.
    return Range(
        rate / 2, rate, 2 * rate + _MARGIN
    ), f"as in the {count_noun(len(windows), 'window')} that are read"


def _resolved(
    extractions: Sequence[Extraction], windows: Mapping[str, Window], *, by_model: bool
) -> Resolution:
    """Return the entities of rows, with the pairs that are asked about."""
    return resolve(
        mentions_of(windows.values(), extractions),
        embed=_no_vectors,
        relations=[r for e in extractions for r in name_relations([e])],
        by_model=by_model,
        asks=True,
    )


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
        texts = [around(window.text, row.name) for window, row in (first[place] for place in sorted(first))]
        return NameInContext(
            name=some[0][1].name if some else entity,
            type=next((row.type for _, row in some if row.type), ""),
            document=some[0][0].document if some else "",
            descriptions=tuple(first[place][1].description for place in sorted(first))[:MAX_DESCRIPTIONS],
            other_names=tuple(names)[1:MAX_NAMES],
            passages=tuple(filter(None, texts))[:MAX_PASSAGES],
        )

    return [(shown(pair.entities[0]), shown(pair.entities[1])) for pair in pairs]


def _no_vectors(names: Sequence[str]) -> Vectors:
    return np.zeros((len(names), 1), dtype=np.float32)
