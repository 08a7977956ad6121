"""Descriptions beyond a token budget: which ones are, and a selection of them, spread over documents."""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from polygraph.ids import document_of_chunk
from polygraph.records import Description
from polygraph.text.tokens import count_tokens, truncate


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
    chosen: list[int] = []
    left = max_tokens
    for n in in_turns(descriptions):
        size = count_tokens(descriptions[n].text)
        if size <= left:
            chosen.append(n)
            left -= size
    if not chosen and descriptions:
        first = descriptions[0]
        return [Description(truncate(first.text, max_tokens), first.chunk)]
    return [descriptions[n] for n in sorted(chosen)]


def in_turns(descriptions: Sequence[Description]) -> list[int]:
    """Return the positions of descriptions in turns of their documents: one of each document, then a second one.

    Within a turn, documents that are far from each other in their order come first.
    """
    return list(_in_turns(tuple([description.chunk for description in descriptions])))


# Many questions are about the same entities.
@lru_cache(maxsize=1_024)
def _in_turns(chunks: tuple[str, ...]) -> tuple[int, ...]:
    of_document: defaultdict[str, list[int]] = defaultdict(list)
    for n, chunk in enumerate(chunks):
        of_document[document_of_chunk(chunk)].append(n)
    groups = list(of_document.values())
    waiting: Sequence[Sequence[int]] = [groups[document] for document in _spread(len(groups))]
    found: list[int] = []
    turn = 0
    while waiting:
        found += [group[turn] for group in waiting]
        turn += 1
        waiting = [group for group in waiting if turn < len(group)]
    return tuple(found)


@lru_cache(maxsize=256)
def _spread(n: int) -> tuple[int, ...]:
    """Return the numbers below `n`, each far from those before it: their binary digits are read backwards.

    >>> _spread(5)
    (0, 4, 2, 1, 3)
    """
    width = max(1, (n - 1).bit_length())
    return tuple(sorted(range(n), key=lambda i: int(f"{i:0{width}b}"[::-1], 2)))
