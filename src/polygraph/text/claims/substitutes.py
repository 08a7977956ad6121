"""A name or number of a claim that stands in the place of another one in the sentence that the claim repeats."""

import re
from collections.abc import Sequence, Set
from functools import lru_cache

from polygraph.text.claims.amounts import is_close, is_computed
from polygraph.text.claims.folding import fold_all, plain
from polygraph.text.claims.repeats import sentences
from polygraph.text.claims.tokens import Token, tokens
from polygraph.text.language import detect_language
from polygraph.text.words import content_stems

_MIN_SHARED = 0.8
"""Share of the rest of a claim's tokens that the sentence must contain."""
_MAX_WITH_IT = 0.5
"""Largest share that a sentence with the name or number may have of the rest, as a share of the greatest one."""
_MIN_TOKENS = 2
"""Tokens of the rest."""


def substituted(claim: str, shown: str) -> str:
    """Return a name or number of a claim in whose place all sentences that the claim repeats have another; else empty.

    >>> substituted("Gasser lost three toes.", "Toni Gasser and Plank met. Plank lost three toes to frostbite.")
    'the name Gasser'
    """
    language = detect_language(claim) or detect_language(shown) or ""
    german = language == "de"
    said = tokens(claim, german=german)
    if not _MIN_TOKENS < len(said) <= 20:
        return ""
    near, far = _divided(said, shown)
    parts = [(sentence, tokens(sentence, german=german)) for sentence in near]
    keys = [{token.key for token in there} for _, there in parts]
    for n, token in enumerate(said):
        if token.kind == "word" or (token.kind == "number" and is_computed(claim)):
            continue
        rest = [t.key for t in said if t is not token]
        reach = [(_share(rest, some), *part) for some, part in zip(keys, parts, strict=True)]
        best = max((share for share, _, _ in reach), default=0.0)
        if best < _MIN_SHARED:
            continue
        with_it = [share for share, _, there in reach if any(_names(t, token) for t in there)]
        if max(with_it, default=0.0) > _MAX_WITH_IT * best:
            continue
        if token.kind == "name" and not with_it and not _stands_in(token, far, german=german):
            continue
        close = [(sentence, there) for share, sentence, there in reach if share >= best]
        if all(_in_place_of(n, said, claim, there, sentence) for sentence, there in close):
            return f"the {token.kind} {token.written}"
    return ""


def _divided(said: Sequence[Token], shown: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Divide the sentences of a text into those that may have enough of a claim to matter, and the others, folded.

    Most of hundreds of sentences have next to nothing of it, so they need not be read word by word.
    """
    # A stem is its word but for an ending: a sentence has at most as many of the words as it has of their roots.
    roots = [token.key[:-1] for token in said if token.kind != "number"]
    least = _MAX_WITH_IT * _MIN_SHARED * (len(said) - 1) - (len(said) - len(roots))
    near: list[str] = []
    far: list[tuple[str, str]] = []
    for sentence, folded in zip(sentences(shown), _folded(shown), strict=True):
        if sum(root in folded for root in roots) >= least:
            near.append(sentence)
        else:
            far.append((sentence, folded))
    return near, far


@lru_cache(maxsize=64)
def _folded(shown: str) -> tuple[str, ...]:
    return tuple(fold_all(sentences(shown)))


def _stands_in(name: Token, folded_sentences: Sequence[tuple[str, str]], *, german: bool) -> bool:
    """Return whether any of some sentences has a part of a name."""
    words = [plain(word) for word in name.written.split()]
    return any(
        any(_names(other, name) for other in tokens(sentence, german=german))
        for sentence, folded in folded_sentences
        if any(word in folded for word in words)
    )


def _share(rest: Sequence[str], there: Set[str]) -> float:
    return sum(key in there for key in rest) / len(rest)


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
