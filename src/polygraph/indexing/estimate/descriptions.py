"""The cost of describing entities and relations of which much is said."""

from collections.abc import Sequence

from polygraph.graph.descriptions import outgrows, select_statements
from polygraph.indexing.estimate.graph_size import GraphSize
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.indexing.estimate.ranges import Line, priced_line
from polygraph.models import ChatModel
from polygraph.models.reply_cache import request_key
from polygraph.records import Entity, Relation
from polygraph.tasks.indexing.describe import (
    MAX_INPUT_TOKENS,
    STAGE,
    Statements,
    describe_request,
    max_words,
    share_calls,
)
from polygraph.text.tokens import count_tokens

_TOKENS_PER_WORD = 1.4
"""Tokens per word of prose in English, with the syntax of JSON."""


def description_line(state: EstimateState, chat: ChatModel, size: GraphSize) -> Line | None:
    """Return the line of the descriptions that a model writes; None if none is needed."""
    if size.simulated is None:
        return None
    view, budget = size.simulated.view, state.plan.manifest.description_tokens
    rows: Sequence[Entity | Relation] = [*view.entities, *view.relations]
    items = [
        Statements(_name(row), tuple(d.text for d in select_statements(row.descriptions, MAX_INPUT_TOKENS)))
        for row in rows
        if outgrows(row.descriptions, budget)
    ]
    if not items:
        return None
    length = max_words(budget)
    calls = reads = writes = free = 0
    for some in share_calls(items):
        request = describe_request(some, length)
        if state.plan.stored_reply(request_key(chat.name, request)):
            free += 1
            continue
        calls += 1
        reads += request.n_tokens
        writes += sum(
            min(round(_TOKENS_PER_WORD * length), sum(map(count_tokens, item.texts))) for item in some
        )
    growth = size.entity_growth
    return priced_line(
        STAGE, chat.name, state.price(chat), growth * calls, growth * reads, growth * writes,
        free=free, basis="descriptions of a simulated graph that outgrow the budget",
    )  # fmt: skip


def _name(row: Entity | Relation) -> str:
    if isinstance(row, Relation):
        return f"{row.source} and {row.target}"
    return f"{row.name} ({row.type})" if row.type else row.name
