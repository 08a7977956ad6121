"""Statements that repeat a sentence of the text cited with two of its parts exchanged.

Only near copies are compared: what is said in other words may have any order.
"""

import re
from collections.abc import Sequence
from itertools import chain, combinations

from polygraph.text.claims.repeats import sentences
from polygraph.text.claims.tokens import Token, most_tokens, tokens
from polygraph.text.language import first_language

_MIN_SHARED = 0.8
"""Share of a claim's tokens that a sentence must contain."""
_MIN_TOKENS = 3
_LIST = re.compile(r"[\s,/&(]*(?:and|or|und|oder|et|ou|y|o|e|as well as|with|mit|avec|con|sowie)?[\s,/&)]*")
"""What stands between two members of a list, whose order says nothing."""
_PASSIVE = re.compile(
    r"\b(?:was|were|been|being|be|is|are|by|wurden?|worden|von|fue|fueron|sido|por|fu|furono|stat[oaie]|da|dal|dalla|été|fut|"
    r"furent|par|of|who|whom|which|that)\b"
)
"""Words with which the same verb takes its parts in another order."""
_SYMMETRIC = re.compile(
    r"\b(?:marr\w+|met|meet\w*|cousins?|siblings?|partners?|drew|draws?|merg\w+|related|border\w*|equal\w*|same|differ\w*|"
    r"between|both|divorc\w+|adjoin\w*|cross\w*|joined|resembl\w*|was|is|were|are)\b",
    re.IGNORECASE,
)
"""Verbs that say the same either way round."""
_PLACE = re.compile(
    r"\b(?:in|on|at|from|under|over|above|below|near|beside|behind|through|across|along|to|into|opposite|"
    r"dans|sur|sous|à|au|aux|en|sobre|bajo|a|al|nel|nella|sul|sulla|sotto)\b(?: \w+)?\s*$",
    re.IGNORECASE,
)


def rearranged(claim: str, shown: tuple[str, ...]) -> str:
    """Return what has changed places between a claim and a sentence that it repeats; empty if nothing has.

    >>> rearranged("It keeps for three days instead of five.", ("It keeps for five days instead of three.",))
    'the order of three and five'
    >>> rearranged("The landlord sued Mrs. Orme", ("In May Mrs. Orme sued the landlord.",))
    'who is who between landlord and Mrs. Orme'
    """
    language = first_language((claim, *shown))
    said = tokens(claim, german=language == "de")
    if not _MIN_TOKENS <= len(said) <= 20:
        return ""
    reasons = []
    least = _MIN_SHARED * len(said)
    for sentence, most in zip(
        chain.from_iterable(map(sentences, shown)), most_tokens(said, shown), strict=True
    ):
        if most < least:
            continue
        there = tokens(sentence, german=language == "de")
        keys = {t.key for t in there}
        if sum([t.key in keys for t in said]) < least:
            continue
        pairs = _unique_pairs(said, there)
        places = [there.index(b) for _, b in pairs]
        if places == sorted(places):
            return ""
        reasons.append(
            _transposed(claim, sentence, pairs, places)
            or (_turned(claim, sentence, pairs, places) if language != "de" else "")
        )
    return reasons[0] if reasons and all(reasons) else ""


def _unique_pairs(said: Sequence[Token], there: Sequence[Token]) -> list[tuple[Token, Token]]:
    """Return the tokens that each side has once, in the order of the claim."""
    a, b = ([t.key for t in side] for side in (said, there))
    by_key = {t.key: t for t in there}
    return [(t, by_key[t.key]) for t in said if a.count(t.key) == 1 and b.count(t.key) == 1]


def _transposed(
    claim: str, sentence: str, pairs: Sequence[tuple[Token, Token]], places: Sequence[int]
) -> str:
    """Return two numbers or two names that alone are out of order, if all else stands as in the sentence."""
    wrong = [i for i, (a, b) in enumerate(zip(places, sorted(places), strict=True)) if a != b]
    if len(wrong) != 2 or len(pairs) < _MIN_TOKENS:
        return ""
    (x, there_x), (y, there_y) = (pairs[i] for i in wrong)
    gaps = claim[x.end : y.start], sentence[there_y.end : there_x.start]
    if (
        x.kind != y.kind
        or (x.unit != y.unit and x.unit and y.unit)
        or any(_LIST.fullmatch(gap) for gap in gaps)
    ):
        return ""
    if x.kind == "number":
        # "From eleven to nine" and "nine, not eleven" say the same.
        if not {w.casefold() for w in re.findall(r"\w+", gaps[0])} & {
            w.casefold() for w in re.findall(r"\w+", gaps[1])
        }:
            return ""
        return f"the order of {x.written} and {y.written}"
    between = [pairs[i][0] for i in range(wrong[0] + 1, wrong[1])]
    if not between or (_SYMMETRIC.search(gaps[0]) and not any(t.kind == "number" for t in between)):
        return ""
    is_contrast = any(t.kind == "number" for t in between) and any(
        t.kind == "number" for t, _ in (*pairs[wrong[1] + 1 :], *pairs[: wrong[0]])
    )
    if (x.kind == "name" and bool(_PASSIVE.search(gaps[0])) == bool(_PASSIVE.search(gaps[1]))) or is_contrast:
        return f"who is who between {x.written} and {y.written}"
    return ""


def _turned(claim: str, sentence: str, pairs: Sequence[tuple[Token, Token]], places: Sequence[int]) -> str:
    """Return two parts around one verb that have changed places: "A sued B" and "B sued A"."""
    # What stands at the same place on both sides, such as a date, takes no part.
    while places and places[-1] == max(places):
        pairs, places = pairs[:-1], places[:-1]
    while places and places[0] == min(places):
        pairs, places = pairs[1:], places[1:]
    n = len(pairs)
    for i, j in combinations(range(1, n), 2):
        before, middle, after = places[:i], places[i:j], places[j:]
        if not (min(before) > max(middle) and min(middle) > max(after)):
            continue
        if any(list(block) != sorted(block) for block in (before, middle, after)):
            continue
        verb, verb_there = pairs[i]
        if verb.kind != "word" or verb.written.casefold() != verb_there.written.casefold():
            continue
        if not any(t.kind == "name" for t, _ in (*pairs[:i], *pairs[j:])):
            continue
        gap = claim[pairs[i - 1][0].end : pairs[j][0].start]
        gap_there = sentence[pairs[-1][1].end : pairs[0][1].start]
        if _SYMMETRIC.search(gap) or sorted(_PASSIVE.findall(gap)) != sorted(_PASSIVE.findall(gap_there)):
            continue
        if _PLACE.search(claim[: pairs[j][0].start]) or _PLACE.search(sentence[: pairs[0][1].start]):
            continue
        if re.search(r"[,;:]", gap) or re.search(r"[,;:]", gap_there):
            continue
        return f"who is who between {pairs[i - 1][0].written} and {pairs[-1][0].written}"
    return ""
