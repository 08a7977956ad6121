"""Pack evidence into a context within a token budget, with a record of what was truncated."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from polygraph.prompts import neutralize
from polygraph.records import Cut, Evidence, EvidenceKind
from polygraph.text.tokens import count_tokens, truncate

HEAD_TOKENS = 4
"""Upper bound for the number in brackets and the line break around each item."""
_MIN_TOKENS = 24
"""A first item that does not fit is shortened only if at least this much of it can stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of the context with a share of the budget."""

    heading: str
    """A line above the items; empty for none."""
    items: tuple[Evidence, ...]
    """Best first."""
    share: float = 1.0
    """Share of the whole budget, in [0, 1]; what earlier blocks leave unused is added."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Tokens of items by id, as far as they are known; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A context and the evidence it was packed from."""

    context: str
    evidence: tuple[Evidence, ...]
    n_tokens: int
    cuts: tuple[Cut, ...]


def pack(blocks: Sequence[Block], *, max_tokens: int) -> Packed:
    """Take items in order until the budget of their block is used up.

    Items are taken whole. The first that does not fit ends its block, so that a long good item is never skipped in
    favour of short worse ones. If a block would stay empty, its first item is shortened.
    Item ``n`` of the result, counted from 1, is written as ``[n]`` in the context. Its text is neutralized there:
    numbers in brackets that it holds are not those of items, nor lines of it headings. The evidence keeps the text.

    Args:
        blocks: in the order of the context.
        max_tokens: budget of the whole context.
    """
    lines: list[str | Evidence] = []
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
        taken, cost = _take(block.items, budget - heading, block.counts)
        if taken:
            if block.heading:
                lines.append(block.heading)
            for item in taken:
                evidence.append(item)
                lines.append(item)
            used += cost + heading
        left = block.items[len(taken) :]
        if left:
            cuts.append(_cut(left, budget, block.counts))
    context = _written(lines, [block.heading for block in blocks])
    return Packed(context=context, evidence=tuple(evidence), n_tokens=used, cuts=tuple(cuts))


def fitting(texts: Sequence[str], max_tokens: int) -> int:
    """Count the texts, from the first on, that `pack` would take whole into a block of `max_tokens` without a heading.

    >>> fitting(["The tide turns.", "The tide turns.", "A"], 16)
    2
    """
    return fitting_counts(map(count_tokens, texts), max_tokens)


def fitting_counts(counts: Iterable[int], max_tokens: int) -> int:
    """Count as `fitting` does texts with so many tokens each."""
    taken = 0
    for count in counts:
        max_tokens -= count + HEAD_TOKENS
        if max_tokens < 0:
            break
        taken += 1
    return taken


def _written(lines: Sequence[str | Evidence], headings: Sequence[str]) -> str:
    n_items = sum(isinstance(line, Evidence) for line in lines)
    written = []
    n = 0
    for line in lines:
        if isinstance(line, Evidence):
            n += 1
            written.append(f"[{n}] {neutralize(line.text, n_items=n_items, headings=headings)}")
        else:
            written.append(line)
    return "\n\n".join(written)


def _tokens(item: Evidence, counts: Mapping[str, int]) -> int:
    known = counts.get(item.id)
    return count_tokens(item.text) if known is None else known


def _take(items: Sequence[Evidence], budget: int, counts: Mapping[str, int]) -> tuple[list[Evidence], int]:
    taken: list[Evidence] = []
    cost = 0
    for item in items:
        n = _tokens(item, counts) + HEAD_TOKENS
        if cost + n > budget:
            room = budget - cost - HEAD_TOKENS
            if not taken and room >= _MIN_TOKENS:
                text = truncate(item.text, room)
                taken.append(replace(item, text=text, why=f"{item.why}; shortened to {room} tokens"))
                cost += room + HEAD_TOKENS
            break
        taken.append(item)
        cost += n
    return taken, cost


def _cut(items: Sequence[Evidence], budget: int, counts: Mapping[str, int]) -> Cut:
    kind: EvidenceKind = items[0].kind
    return Cut(
        kind=kind,
        n_items=len(items),
        n_tokens=sum(_tokens(item, counts) for item in items),
        budget=max(budget, 0),
    )
