"""Descriptions that outgrow a budget: which ones do, a selection of what is said, and how they share calls."""

from collections.abc import Iterable, Iterator, Sequence

from polygraph.records import Description
from polygraph.tasks.describe import Statements
from polygraph.text.tokens import count_tokens, truncate

MAX_INPUT_TOKENS = 4_000
"""Tokens of the statements in one call, and of those about one item (GraphRAG: 4,000)."""
MAX_ITEMS = 10
"""Items in one call: replies to more get shorter and lose numbers."""


def outgrows(descriptions: Sequence[Description], max_tokens: int) -> bool:
    """Tell whether several descriptions together have more than `max_tokens` tokens; a single one never does."""
    if len(descriptions) < 2:
        return False
    text = " ".join(d.text for d in descriptions)
    # A token is at least one byte, so most texts need not be counted.
    return len(text.encode("utf-8", "replace")) > max_tokens and count_tokens(text) > max_tokens


def select_statements(descriptions: Sequence[Description], max_tokens: int) -> list[Description]:
    """Choose descriptions with at most `max_tokens` tokens together, spread over the documents.

    Documents take turns: first one description of each, then a second one. If not all documents have a turn, those
    that do are spread over their order.

    Args:
        descriptions: in order of document and position.
        max_tokens: of the chosen texts; if not even one fits, the first is cut.

    Returns:
        The chosen ones, in their order.

    >>> some = [Description("a b", "x:0"), Description("c d", "x:1"), Description("e f", "y:0")]
    >>> [d.text for d in select_statements(some, 4)]
    ['a b', 'e f']
    """
    of_document: dict[str, list[int]] = {}
    for n, description in enumerate(descriptions):
        of_document.setdefault(description.chunk.rpartition(":")[0], []).append(n)
    groups = list(of_document.values())
    turns = [
        groups[document][turn]
        for turn in range(max(map(len, groups), default=0))
        for document in _spread(len(groups))
        if turn < len(groups[document])
    ]
    chosen: list[int] = []
    left = max_tokens
    for n in turns:
        size = count_tokens(descriptions[n].text)
        if size <= left:
            chosen.append(n)
            left -= size
    if not chosen and descriptions:
        first = descriptions[0]
        return [Description(truncate(first.text, max_tokens), first.chunk)]
    return [descriptions[n] for n in sorted(chosen)]


def _spread(n: int) -> list[int]:
    """Return the numbers below `n`, each far from those before it: their binary digits are read backwards.

    >>> _spread(5)
    [0, 4, 2, 1, 3]
    """
    width = max(1, (n - 1).bit_length())
    return sorted(range(n), key=lambda i: int(f"{i:0{width}b}"[::-1], 2))


def share_calls(items: Iterable[Statements]) -> Iterator[list[Statements]]:
    """Yield items that share a call, in their order: at most `MAX_ITEMS`, within `MAX_INPUT_TOKENS`."""
    some: list[Statements] = []
    size = 0
    for item in items:
        n = count_tokens(item.name) + sum(count_tokens(text) + 2 for text in item.texts)
        if some and (len(some) == MAX_ITEMS or size + n > MAX_INPUT_TOKENS):
            yield some
            some, size = [], 0
        some.append(item)
        size += n
    if some:
        yield some


def max_words(budget: int) -> int:
    """Return the length to ask a model for, which fits into a budget in tokens in most languages.

    >>> max_words(400), max_words(0)
    (200, 50)
    """
    return max(50, budget // 2)
