"""String metrics of an answer against gold answers.

Each metric takes one prediction and all gold answers, any of which is correct, and returns a number in [0, 1].
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.text.words import content_stems

_ARTICLES = frozenset({"a", "an", "the"})
# Scripts that do not separate words by spaces: every character counts as a word.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff])"
)
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SPECIAL = frozenset({"yes", "no", "noanswer"})
_NO_ANSWER = ("insufficient information", "not enough information", "cannot be answered", "no answer")
_OPTION = re.compile(r"\(?([a-z])\)?(?=[.,:;)\n]|$)")
_NAMED_OPTION = re.compile(r"\b(?:answer|option|choice)\b(?: is|:)?\s*\(?([a-z])\)?(?=[\s.,:;)]|$)")
_OPTIONS = re.compile(r"[(]?[A-H][)]?(?:\s*(?:[,;/&，、；]|\band\b)\s*[(]?[A-H][)]?)*(?=\s*(?:[.:;\n。]|$))")
"""Options at the beginning of an answer, such as "A, C" or "(A) and (C)."."""
_ANSWER_IS = re.compile(r"\banswer\s+is\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b", re.IGNORECASE)
_COLON = re.compile("[:：]")
_MAX_CHARACTERS = 20_000
"""Characters of a prediction that are read."""


def answer_tokens(text: str) -> list[str]:
    """Split an answer into tokens by SQuAD's normalisation.

    Rajpurkar et al. (2016), official script: lower case, punctuation removed (not replaced by a space), the articles
    a, an, the removed, split at white space. Two additions: punctuation is Unicode's, not only ASCII's, and each
    character of a script without spaces is a token; otherwise a Chinese answer would be a single token.

    >>> answer_tokens("The  U.S. Navy's ship")
    ['us', 'navys', 'ship']
    >>> answer_tokens("水稻 OsDREB1C")
    ['水', '稻', 'osdreb1c']
    """
    lowered = unicodedata.normalize("NFC", text).lower()
    dropped = {c for c in set(lowered) if c in _ASCII_PUNCTUATION or unicodedata.category(c).startswith("P")}
    kept = lowered.translate(dict.fromkeys(map(ord, dropped)))
    return [token for token in _UNSPACED.sub(r" \1 ", kept).split() if token not in _ARTICLES]


def normalise_answer(text: str) -> str:
    """Normalise an answer: its tokens joined by spaces.

    >>> normalise_answer("An Answer.")
    'answer'
    """
    return " ".join(answer_tokens(text))


def normalise_passage(text: str) -> str:
    """Normalise a text in which answers are searched for with `contains_answer`.

    A name in the possessive counts as the name, too, which SQuAD's normalisation would make another word of. Both
    readings stand in the result, separated by a sign that no answer contains.

    >>> normalise_passage("Stanley Hall's book")
    'stanley halls book | stanley hall book'
    """
    plain = normalise_answer(text)
    without = _POSSESSIVE.sub("", text)
    return plain if without == text else f"{plain} | {normalise_answer(without)}"


def contains_answer(text: str, answer: str) -> bool:
    """Return whether a text contains an answer as consecutive whole tokens.

    Both must be normalised. No text contains an empty answer.

    >>> contains_answer("woman of war", "man"), contains_answer("a man of war", "man of")
    (False, True)
    """
    return bool(answer) and f" {answer} " in f" {text} "


@dataclass(frozen=True, slots=True)
class PRF:
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """Return 1 if the prediction equals a gold answer after SQuAD's normalisation (Rajpurkar et al., 2016).

    >>> exact_match("The Beatles.", ["Beatles"])
    1.0
    """
    return float(normalise_answer(prediction) in map(normalise_answer, golds))


def sub_exact_match(prediction: str, golds: Sequence[str]) -> float:
    """Return 1 if the prediction contains a gold answer as consecutive whole tokens (sub-EM, "contain").

    >>> sub_exact_match("It was Paul McCartney who wrote it", ["McCartney"])
    1.0
    >>> sub_exact_match("a woman", ["man"])
    0.0
    """
    text = normalise_answer(prediction[:_MAX_CHARACTERS])
    return float(any(contains_answer(text, normalise_answer(gold)) for gold in golds))


def token_prf(prediction: str, golds: Sequence[str]) -> PRF:
    """Return precision, recall and F1 of the token multisets, against the gold answer with the best F1.

    Rajpurkar et al. (2016) with HotpotQA's rule (Yang et al., 2018): if prediction or gold is "yes", "no" or "noanswer"
    and they differ, all three are 0. If both are empty after normalisation, all are 1. If both are options of a
    question with several correct ones (SeedBench: "A, C"), letters are compared, and "A" is not an article. Of gold
    answers with equal F1 the first counts.

    >>> token_prf("the cat sat", ["cat"])
    PRF(precision=0.5, recall=1.0, f1=0.6666666666666666)
    >>> token_prf("A, B", ["B"]).precision
    0.5
    """
    best = PRF(0.0, 0.0, 0.0)
    for gold in golds:
        chosen, right = _options(prediction[:_MAX_CHARACTERS]), _options(gold, whole=True)
        both = chosen and right
        found = (
            _prf(chosen, right)
            if both
            else _prf(answer_tokens(prediction[:_MAX_CHARACTERS]), answer_tokens(gold))
        )
        best = found if found.f1 > best.f1 else best
    return best


def accuracy(prediction: str, golds: Sequence[str]) -> float:
    """Return 1 if the prediction gives a gold answer: the metric for questions with short answers.

    Yes or no: the first word decides if it is one of the two; else the first of the two after "answer is", or directly
    after the last colon; else the last one in the prediction. The "no" of "no doubt" never counts. A single letter
    (multiple choice): the option that the prediction begins with or names. "Insufficient information": the prediction
    says so. Anything else: `sub_exact_match`.

    >>> accuracy("Yes, both articles say no such thing.", ["no"])
    0.0
    >>> accuracy("There is no doubt about it: yes.", ["yes"])
    1.0
    >>> accuracy("The answer is (B).", ["B"])
    1.0
    """
    return float(any(_gives(prediction[:_MAX_CHARACTERS], gold) for gold in golds))


def point_recall(prediction: str, points: Sequence[str]) -> float:
    """Return how much of the gold points a prediction mentions: the mean share of their content words that it contains.

    Words are compared by stem. A point without content words counts if the prediction contains it. Without a threshold,
    since none is right for points of all lengths; a longer answer contains more words by chance.

    >>> point_recall("The town quarrels over harbour dues.", ["quarrels over harbour dues", "the price of oil"])
    0.5
    """
    found = set(content_stems(prediction[:_MAX_CHARACTERS]))
    text = normalise_answer(prediction[:_MAX_CHARACTERS])
    shares = []
    for point in points:
        wanted = set(content_stems(point))
        shares.append(
            len(wanted & found) / len(wanted)
            if wanted
            else float(contains_answer(text, normalise_answer(point)))
        )
    return sum(shares) / len(shares) if shares else 0.0


def mhrag_lenient(prediction: str, golds: Sequence[str]) -> float:
    """Return 1 if prediction and gold share any word: the accuracy of MultiHop-RAG's public script.

    Words are split at white space and lower-cased, and keep their punctuation. A shared "the" is enough, so use it only
    for comparison with published numbers.

    >>> mhrag_lenient("the Daily Mail", ["The Verge"])
    1.0
    """
    words = set(prediction.lower().split())
    return float(any(words & set(gold.lower().split()) for gold in golds))


def fgrag_exact_match(prediction: str, golds: Sequence[str]) -> float:
    """Return 1 if the prediction equals a gold answer up to letter case and outer white space (FG-RAG).

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


def _gives(prediction: str, gold: str) -> bool:
    wanted = normalise_answer(gold)
    if wanted in ("yes", "no"):
        return _yes_or_no(prediction) == wanted
    letter = gold.strip(" .()").lower()
    if len(letter) == 1 and letter.isascii() and letter.isalpha():
        return _option(prediction) == letter
    if wanted in _NO_ANSWER:
        text = normalise_answer(prediction)
        return any(contains_answer(text, phrase) for phrase in _NO_ANSWER)
    return contains_answer(normalise_answer(prediction), wanted)


def _yes_or_no(prediction: str) -> str:
    """Return "yes" or "no" as `accuracy` reads it, or an empty text."""
    whole = _decisive(prediction)
    if whole and whole[0]:
        return whole[0]
    if stated := [*_ANSWER_IS.finditer(prediction)]:
        for word in _decisive(prediction[stated[-1].end() :]):
            if word:
                return word
    after_colon = _decisive(_COLON.split(prediction)[-1])
    if after_colon and after_colon[0]:
        return after_colon[0]
    return next((word for word in reversed(whole) if word), "")


def _decisive(text: str) -> list[str]:
    """Return the tokens of a text, each replaced by an empty text unless it is "yes", or "no" outside "no doubt"."""
    words = answer_tokens(text)
    return [
        word if word == "yes" or (word == "no" and after != "doubt") else ""
        for word, after in zip(words, [*words[1:], ""], strict=False)
    ]


def _options(text: str, *, whole: bool = False) -> list[str]:
    """Return the option letters that a text begins with, or with `whole` consists of; sorted, empty if none."""
    stripped = text.strip()
    found = _OPTIONS.match(stripped)
    if found is None or (whole and stripped[found.end() :].strip(" .。")):
        return []
    return sorted({c for c in found[0] if c.isupper()})


def _option(prediction: str) -> str:
    """Return the option that a prediction begins with or names, in lower case; empty if none."""
    text = prediction.strip().lower().lstrip("*# ")
    found = _OPTION.match(text) or _NAMED_OPTION.search(text)
    return found[1] if found else ""
