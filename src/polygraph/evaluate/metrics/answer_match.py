"""How near an answer comes to the gold answers, by strings; `overlap` and `semantics` have what needs libraries.

Every function takes one prediction and all gold answers, each of which is right, and gives a number in [0, 1].
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.evaluate.tokens_of_answers import answer_tokens, contains, normalised

_SPECIAL = frozenset({"yes", "no", "noanswer"})
_NO_ANSWER = ("insufficient information", "not enough information", "cannot be answered", "no answer")
_OPTION = re.compile(r"\(?([a-z])\)?(?=[.,:;)\n]|$)")
_NAMED_OPTION = re.compile(r"\b(?:answer|option|choice)\b(?: is|:)?\s*\(?([a-z])\)?(?=[\s.,:;)]|$)")
_OPTIONS = re.compile(r"[(]?[A-H][)]?(?:\s*(?:[,;/&，、；]|\band\b)\s*[(]?[A-H][)]?)*(?=\s*(?:[.:;\n。]|$))")
"""Options that an answer begins with, such as "A, C" or "(A) and (C)."."""
_LONGEST = 20_000
"""Characters of a prediction that are looked at."""


@dataclass(frozen=True, slots=True)
class PRF:
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1 if the prediction equals a gold answer after SQuAD's normalisation.

    Rajpurkar et al. (2016). Chinese and other scripts without spaces are compared by character.

    >>> exact_match("The Beatles.", ["Beatles"])
    1.0
    """
    return float(normalised(prediction) in map(normalised, golds))


def sub_exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1 if a gold answer stands in the prediction as whole tokens in a row (sub-EM, "contain").

    >>> sub_exact_match("It was Paul McCartney who wrote it", ["McCartney"])
    1.0
    >>> sub_exact_match("a woman", ["man"])
    0.0
    """
    text = normalised(prediction[:_LONGEST])
    return float(any(contains(text, normalised(gold)) for gold in golds))


def token_prf(prediction: str, golds: Sequence[str]) -> PRF:
    """Precision, recall and F1 of the multisets of tokens, against the gold answer with the best F1.

    Rajpurkar et al. (2016) with the rule of HotpotQA (Yang et al., 2018): where prediction or gold is "yes", "no" or
    "noanswer" and they differ, all are 0. Where both are empty after normalisation, all are 1. Where gold and
    prediction are options of a question with several right ones (SeedBench: "A, C"), their letters are compared: A is
    no article there.

    >>> token_prf("the cat sat", ["cat"])
    PRF(precision=0.5, recall=1.0, f1=0.6666666666666666)
    >>> token_prf("A, B", ["B"]).precision
    0.5
    """
    best = PRF(0.0, 0.0, 0.0)
    for gold in golds:
        chosen, right = _options(prediction[:_LONGEST]), _options(gold, whole=True)
        both = chosen and right
        found = (
            _prf(chosen, right) if both else _prf(answer_tokens(prediction[:_LONGEST]), answer_tokens(gold))
        )
        # Of equals the first: the order of gold answers is that of the file.
        best = found if found.f1 > best.f1 else best
    return best


def accuracy(prediction: str, golds: Sequence[str]) -> float:
    """1 if the prediction says what a gold answer says; the measure for questions with short answers.

    Yes and no: the first of the two words in the prediction decides. A single letter (multiple choice): the option
    that the prediction begins with or names. "Insufficient information": the prediction says so. All else:
    `sub_exact_match`.

    >>> accuracy("Yes, both articles say no such thing.", ["no"])
    0.0
    >>> accuracy("The answer is (B).", ["B"])
    1.0
    """
    return float(any(_says(prediction[:_LONGEST], gold) for gold in golds))


def mhrag_lenient(prediction: str, golds: Sequence[str]) -> float:
    """1 if prediction and gold share any word: the accuracy of MultiHop-RAG's public script.

    Words are split at white space and lower-cased, punctuation is left on them. So lenient that "the" is enough;
    only to compare with published numbers, never a headline.

    >>> mhrag_lenient("the Daily Mail", ["The Verge"])
    1.0
    """
    words = set(prediction.lower().split())
    return float(any(words & set(gold.lower().split()) for gold in golds))


def fgrag_exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1 if the prediction equals a gold answer but for letter case and white space at the ends (FG-RAG).

    >>> fgrag_exact_match(" paris", ["Paris"]), fgrag_exact_match("Paris.", ["Paris"])
    (1.0, 0.0)
    """
    return float(prediction.strip().lower() in (gold.strip().lower() for gold in golds))


def _prf(prediction: Sequence[str], gold: Sequence[str]) -> PRF:
    one, other = " ".join(prediction), " ".join(gold)
    if (one in _SPECIAL or other in _SPECIAL) and one != other:
        return PRF(0.0, 0.0, 0.0)
    if not prediction or not gold:
        same = float(one == other)
        return PRF(same, same, same)
    shared = sum((Counter(prediction) & Counter(gold)).values())
    if not shared:
        return PRF(0.0, 0.0, 0.0)
    precision, recall = shared / len(prediction), shared / len(gold)
    return PRF(precision, recall, 2 * precision * recall / (precision + recall))


def _says(prediction: str, gold: str) -> bool:
    wanted = normalised(gold)
    if wanted in ("yes", "no"):
        return next((t for t in answer_tokens(prediction) if t in ("yes", "no")), "") == wanted
    letter = gold.strip(" .()").lower()
    if len(letter) == 1 and letter.isascii() and letter.isalpha():
        return _option(prediction) == letter
    if wanted in _NO_ANSWER:
        said = normalised(prediction)
        return any(contains(said, phrase) for phrase in _NO_ANSWER)
    return contains(normalised(prediction), wanted)


def _options(text: str, *, whole: bool = False) -> list[str]:
    """The letters that a text begins with, or is as a whole; none if it is anything else."""
    stripped = text.strip()
    found = _OPTIONS.match(stripped)
    if found is None or (whole and stripped[found.end() :].strip(" .。")):
        return []
    return sorted({c for c in found[0] if c.isupper()})


def _option(prediction: str) -> str:
    """The option that a prediction begins with or names, in lower case."""
    text = prediction.strip().lower().lstrip("*# ")
    found = _OPTION.match(text) or _NAMED_OPTION.search(text)
    return found[1] if found else ""
