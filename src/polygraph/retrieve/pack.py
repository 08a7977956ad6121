"""Pack evidence into a context within a token budget, with a record of what was truncated."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from polygraph.prompts import neutralize
from polygraph.records import Cut, Evidence, EvidenceKind
from polygraph.retrieve.copies import Copies, with_copy
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
    items: Sequence[Evidence]
    """Best first; looked at as far as they fit."""
    share: float = 1.0
    """Share of the whole budget, in [0, 1]; what earlier blocks leave unused is added."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Tokens of items by id, as far as they are known; the others are counted."""
    ids: Sequence[str] = ()
    """Ids of the items, so that those that do not fit need not be read; none: those that the items have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A context and the evidence it was packed from."""

    context: str
    evidence: tuple[Evidence, ...]
    n_tokens: int
    cuts: tuple[Cut, ...]


def pack(blocks: Sequence[Block], *, max_tokens: int, merge_copies: bool = True) -> Packed:
    """Take items in order until the budget of their block is used up.

    Items are taken whole. The first that does not fit ends its block, so that a long good item is never skipped in
    favour of short worse ones. If a block would stay empty, its first item is shortened.
    A passage of which another document says every sentence, in passages that were taken, gives its place to the next
    one, and the first of them rests on both.
    Item ``n`` of the result, counted from 1, is written as ``[n]`` in the context. Its text is neutralized there:
    numbers in brackets that it holds are not those of items, nor lines of it headings. The evidence keeps the text.

    Args:
        blocks: in the order of the context.
        max_tokens: budget of the whole context.
        merge_copies: False keeps copies too, so that the number of an item is its position in the blocks.
    """
    lines: list[str | int] = []
    cuts: list[Cut] = []
    context = _Context(merge_copies=merge_copies)
    used, granted = 0, 0.0
    for block in blocks:
        granted += block.share * max_tokens
        if not block.items:
            continue
        budget = min(int(granted), max_tokens) - used
        heading = count_tokens(block.heading) + 1 if block.heading else 0
        first = len(context.evidence)
        n_read, cost = context.take(block.items, budget - heading, block.counts)
        if block.heading and len(context.evidence) > first:
            lines.append(block.heading)
            cost += heading
        lines += range(first, len(context.evidence))
        used += cost
        if n_read < len(block.items):
            cuts.append(_cut(block, n_read, budget))
    evidence = tuple(context.evidence)
    return Packed(
        context=_written(lines, evidence, [block.heading for block in blocks]),
        evidence=evidence,
        n_tokens=used,
        cuts=tuple(cuts),
    )


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


def _written(lines: Sequence[str | int], evidence: Sequence[Evidence], headings: Sequence[str]) -> str:
    """Write headings, and pieces of evidence by their positions."""
    written = []
    for line in lines:
        if isinstance(line, int):
            text = neutralize(evidence[line].text, n_items=len(evidence), headings=headings)
            written.append(f"[{line + 1}] {text}")
        else:
            written.append(line)
    return "\n\n".join(written)


def _tokens(item: Evidence, counts: Mapping[str, int]) -> int:
    known = counts.get(item.id)
    return count_tokens(item.text) if known is None else known


class _Context:
    """The evidence of a context as it is filled."""

    def __init__(self, *, merge_copies: bool) -> None:
        self.evidence: list[Evidence] = []
        self._copies = Copies() if merge_copies else None

    def take(self, items: Sequence[Evidence], budget: int, counts: Mapping[str, int]) -> tuple[int, int]:
        """Take items until the budget is used up.

        Returns:
            How many items were taken or are copies of others, and their tokens.
        """
        cost, before = 0, len(self.evidence)
        for n_read, item in enumerate(items):
            if self._copies and (original := self._copies.original_of(item)) is not None:
                cost += self._note_copy(original, item, budget - cost)
                continue
            n = _tokens(item, counts) + HEAD_TOKENS
            if cost + n > budget:
                room = budget - cost - HEAD_TOKENS
                if len(self.evidence) > before or room < _MIN_TOKENS:
                    return n_read, cost
                text = truncate(item.text, room)
                self._add(replace(item, text=text, why=f"{item.why}; shortened to {room} tokens"))
                return n_read + 1, cost + room + HEAD_TOKENS
            self._add(item)
            cost += n
        return len(items), cost

    def _add(self, item: Evidence) -> None:
        self.evidence.append(item)
        if self._copies:
            self._copies.add(item)

    def _note_copy(self, position: int, copy: Evidence, room: int) -> int:
        """Have an item rest on its copy too, and say so if there is room; return the tokens that it takes."""
        item = self.evidence[position]
        noted = with_copy(item, copy)
        added = count_tokens(noted.text[len(item.text) :]) if noted.text != item.text else 0
        fits = added <= room
        self.evidence[position] = noted if fits else replace(noted, text=item.text)
        return added if fits else 0


def _cut(block: Block, first: int, budget: int) -> Cut:
    kind: EvidenceKind = block.items[first].kind
    ids = block.ids or [item.id for item in block.items]
    tokens = (
        block.counts[ids[n]] if ids[n] in block.counts else count_tokens(block.items[n].text)
        for n in range(first, len(ids))
    )
    return Cut(kind=kind, n_items=len(ids) - first, n_tokens=sum(tokens), budget=max(budget, 0))
