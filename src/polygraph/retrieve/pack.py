"""Filling a context within a budget of tokens, with a record of what was left out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygraph.records import Cut, Evidence, EvidenceKind
from polygraph.text.tokens import count_many, count_tokens, truncate

_HEAD_TOKENS = 4
"""What the number in brackets and the line break around each item cost at most."""
_LEAST_TOKENS = 24
"""A first item that does not fit is shortened only if at least so much of it can stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of the context."""

    heading: str
    """A line above the items; empty for none."""
    items: tuple[Evidence, ...]
    """Best first."""
    share: float = 1.0
    """Share of the whole budget, in (0, 1]; what earlier blocks leave over is added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A context and where its parts come from."""

    context: str
    evidence: tuple[Evidence, ...]
    n_tokens: int
    cuts: tuple[Cut, ...]


def pack(blocks: Sequence[Block], *, max_tokens: int) -> Packed:
    """Take items in order until the budget of their block is met.

    An item is taken whole; the first that does not fit ends its block, so that a long good item is not
    passed over for short worse ones. If a block would stay empty its first item is shortened.
    Item ``n`` of the result, counted from 1, is written as ``[n]`` in the context.

    Args:
        blocks: in the order of the context.
        max_tokens: budget of the whole context.
    """
    lines: list[str] = []
    evidence: list[Evidence] = []
    cuts: list[Cut] = []
    used, granted = 0, 0.0
    for block in blocks:
        if not block.items:
            granted += block.share * max_tokens
            continue
        granted += block.share * max_tokens
        budget = min(int(granted), max_tokens) - used
        heading = count_tokens(block.heading) + 1 if block.heading else 0
        taken, cost = _take(block.items, budget - heading)
        if taken:
            if block.heading:
                lines.append(block.heading)
            for item in taken:
                evidence.append(item)
                lines.append(f"[{len(evidence)}] {item.text}")
            used += cost + heading
        left = block.items[len(taken) :]
        if left:
            cuts.append(_cut(left, budget))
    context = "\n\n".join(lines)
    return Packed(context=context, evidence=tuple(evidence), n_tokens=used, cuts=tuple(cuts))


def fitting(texts: Sequence[str], max_tokens: int) -> int:
    """How many texts from the first on `pack` would take whole into a block of so many tokens without a heading.

    >>> fitting(["The tide turns.", "The tide turns.", "A"], 16)
    2
    """
    for taken, text in enumerate(texts):
        max_tokens -= count_tokens(text) + _HEAD_TOKENS
        if max_tokens < 0:
            return taken
    return len(texts)


def _take(items: Sequence[Evidence], budget: int) -> tuple[list[Evidence], int]:
    taken: list[Evidence] = []
    cost = 0
    for item in items:
        n = count_tokens(item.text) + _HEAD_TOKENS
        if cost + n > budget:
            room = budget - cost - _HEAD_TOKENS
            if not taken and room >= _LEAST_TOKENS:
                text = truncate(item.text, room)
                taken.append(replace(item, text=text, why=f"{item.why}; shortened to {room} tokens"))
                cost += room + _HEAD_TOKENS
            break
        taken.append(item)
        cost += n
    return taken, cost


def _cut(items: Sequence[Evidence], budget: int) -> Cut:
    kind: EvidenceKind = items[0].kind
    return Cut(
        kind=kind,
        n_items=len(items),
        n_tokens=sum(count_many([i.text for i in items])),
        budget=max(budget, 0),
    )
