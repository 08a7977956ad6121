"""A name or number of a claim that stands in the place of another one in the sentence that the claim repeats."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from polygraph.text.claims.amounts import is_close, is_computed
from polygraph.text.claims.folding import plain
from polygraph.text.claims.numbers import found_numbers, is_ordinal
from polygraph.text.claims.repeats import folded_sentences, sentences
from polygraph.text.claims.tokens import Token, most_tokens, tokens
from polygraph.text.language import first_language
from polygraph.text.words import content_stems

_MIN_SHARED = 0.8
"""Share of the rest of a claim's tokens that the sentence must contain."""
_MAX_WITH_IT = 0.5
"""Largest share that a sentence with the name or number may have of the rest, as a share of the greatest one."""
_MIN_TOKENS = 2
"""Tokens of the rest."""
_ROUNDING = 1e-9


def substituted(claim: str, shown: tuple[str, ...]) -> str:
    """Return a name or number of a claim in whose place all sentences that the claim repeats have another; else empty.

    >>> substituted("Gasser lost three toes.", ("Toni Gasser and Plank met. Plank lost three toes to frostbite.",))
    'the name Gasser'
    """
    german = first_language((claim, *shown)) == "de"
    said = tokens(claim, german=german)
    if not _MIN_TOKENS < len(said) <= 20:
        return ""
    if max(most_tokens(said, shown), default=0) < _MIN_SHARED * (len(said) - 1) - _ROUNDING:
        return ""
    compared = _Sentences(said, shown, german=german)
    for n, token in enumerate(said):
        if token.kind == "word" or (token.kind == "number" and is_computed(claim)):
            continue
        rest = [t.key for t in said if t is not token]
        best = compared.best_share(rest)
        if best < _MIN_SHARED or compared.has_beside(token, rest, _MAX_WITH_IT * best):
            continue
        if token.kind == "name" and not compared.has(token):
            continue
        if all(_in_place_of(n, said, claim, *sentence) for sentence in compared.with_share(rest, best)):
            return f"the {token.kind} {token.written}"
    return ""


class _Sentences:
    """The sentences of the texts that a claim is compared with, those that may have most of it first.

    Most of hundreds of sentences have next to nothing of a claim, so that few are read word by word.

    Args:
        said: tokens of the claim.
        shown: the texts.
        german: as for `tokens`.
    """

    def __init__(self, said: tuple[Token, ...], shown: tuple[str, ...], *, german: bool) -> None:
        self._german = german
        self._sentences = [sentence for text in shown for sentence in sentences(text)]
        self._folded = [folded for text in shown for folded in folded_sentences(text).texts]
        self._most = most_tokens(said, shown)
        written = [token.written for token in said if token.kind != "word"]
        # Of those that may have equally much, the sentence that the claim was taken from comes first.
        there = [sum([part in sentence for part in written]) for sentence in self._sentences]
        self._order = sorted(range(len(there)), key=lambda i: (-self._most[i], -there[i]))

    def best_share(self, rest: Sequence[str]) -> float:
        """Return the greatest share of some keys that a sentence has; 0 if it is too small to matter."""
        best = 0.0
        for i in self._order:
            most = min(self._most[i], len(rest))
            if most <= best * len(rest) or most < _MIN_SHARED * len(rest) - _ROUNDING:
                break
            best = max(best, self._share(i, rest))
        return best

    def has_beside(self, token: Token, rest: Sequence[str], share: float) -> bool:
        """Return whether a sentence with more than a share of some keys has a name or number."""
        some = list(takewhile(lambda i: self._most[i] > share * len(rest), self._order))
        # Most numbers are written as in the claim.
        some.sort(key=lambda i: token.written not in self._sentences[i])
        return any(self._has(i, token) and self._share(i, rest) > share for i in some)

    def has(self, name: Token) -> bool:
        """Return whether any sentence has a part of a name."""
        return any(self._has(i, name) for i in self._order)

    def with_share(self, rest: Sequence[str], share: float) -> Iterator[tuple[Sequence[Token], str]]:
        """Yield the sentences with at least a share of some keys, each after its tokens."""
        for i in takewhile(lambda i: self._most[i] >= share * len(rest) - _ROUNDING, self._order):
            if self._share(i, rest) >= share:
                yield self._tokens(i), self._sentences[i]

    def _tokens(self, i: int) -> Sequence[Token]:
        return tokens(self._sentences[i], german=self._german)

    def _share(self, i: int, rest: Sequence[str]) -> float:
        there = {token.key for token in self._tokens(i)}
        return sum([key in there for key in rest]) / len(rest)

    def _has(self, i: int, token: Token) -> bool:
        if token.kind == "number":
            return any(
                str(other.number.value) == token.key
                for other in found_numbers(self._sentences[i])
                if not is_ordinal(other.written)
            )
        return any(word in self._folded[i] for word in _name_words(token.written)) and any(
            _names(other, token) for other in self._tokens(i)
        )


def _names(token: Token, other: Token) -> bool:
    """Return whether a token has a part of a name, or the number."""
    if token.kind == "number":
        return token.key == other.key
    if other.kind != "name":
        return False
    one, two = _name_words(token.written), _name_words(other.written)
    return one <= two or two <= one


@lru_cache(maxsize=4_096)
def _name_words(name: str) -> frozenset[str]:
    return frozenset(plain(word) for word in name.split())


def _in_place_of(n: int, said: Sequence[Token], claim: str, there: Sequence[Token], sentence: str) -> bool:
    """Return whether a sentence has one other name or number beside the same words, which stand in the same order."""
    token = said[n]
    others = [
        t
        for t in there
        if t.kind == token.kind
        and not any(_names(mine, t) for mine in said)
        and (t.kind == "name" or (t.unit == token.unit and not is_close(token.written, t.written, claim)))
    ]
    return any(_same_place(token, claim, other, sentence) for other in others)


def _same_place(a: Token, claim: str, b: Token, sentence: str) -> bool:
    before, before_there = (_words(text[: t.start])[-3:] for text, t in ((claim, a), (sentence, b)))
    after, after_there = (_words(text[t.end :])[:2] for text, t in ((claim, a), (sentence, b)))
    n_before = next(
        (i for i, (x, y) in enumerate(zip(before[::-1], before_there[::-1], strict=False)) if x != y),
        min(len(before), len(before_there)),
    )
    follows = after[:1] == after_there[:1] and bool(after)
    if a.kind == "number":
        return n_before >= 1 and follows
    is_content = bool(content_stems(" ".join(before[len(before) - n_before :]))) if n_before else False
    return (follows and bool(content_stems(after[0]))) or (n_before >= 2 and is_content)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in re.findall(r"[^\W_]+", text)]
