"""A name or number of a claim that stands in the place of another one in the sentence that the claim repeats."""

import re
from collections.abc import Sequence

from polygraph.text.claims.amounts import is_close, is_computed
from polygraph.text.claims.folding import plain
from polygraph.text.claims.repeats import sentences
from polygraph.text.claims.tokens import Token, tokens
from polygraph.text.language import detect_language
from polygraph.text.words import content_stems

_MIN_SHARED = 0.8
"""Share of the rest of a claim's tokens that the sentence must contain."""
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
    parts = [(sentence, tokens(sentence, german=german)) for sentence in sentences(shown)]
    for n, token in enumerate(said):
        if token.kind == "word" or (token.kind == "number" and is_computed(claim)):
            continue
        rest = [t.key for t in said if t is not token]
        reach = [(_share(rest, there), sentence, there) for sentence, there in parts]
        with_it = [share for share, _, there in reach if any(_names(t, token) for t in there)]
        best = max(share for share, _, _ in reach)
        if (
            best < _MIN_SHARED
            or (not with_it and token.kind == "name")
            or max(with_it, default=0.0) > 0.5 * best
        ):
            continue
        close = [(sentence, there) for share, sentence, there in reach if share >= best]
        if all(_in_place_of(n, said, claim, there, sentence) for sentence, there in close):
            return f"the {token.kind} {token.written}"
    return ""


def _share(rest: Sequence[str], there: Sequence[Token]) -> float:
    keys = {t.key for t in there}
    return sum(key in keys for key in rest) / len(rest)


def _names(token: Token, other: Token) -> bool:
    """Return whether a token has a part of a name, or the number."""
    if token.kind == "number":
        return token.key == other.key
    one, two = ({plain(w) for w in t.written.split()} for t in (token, other))
    return other.kind == "name" and (one <= two or two <= one)


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
