"""Overlap of words with reference texts: ROUGE and BLEU, by the libraries that papers quote (extra `eval`)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from polygraph.errors import MissingExtra
from polygraph.evaluate.metrics.answer_match import PRF

ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")
_LONGEST = 200_000
"""Characters of a text that are compared."""
# A word, or one character of a script without spaces.
_TOKEN = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\\W_]+"
)
_WIDE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class _Tokenizer:
    """ROUGE's tokens: lower case, whatever is neither letter nor digit parts them, no stemmer.

    The library's own knows ASCII letters only, so that a text in Chinese would have no token; on ASCII both agree.
    """

    def tokenize(self, text: str) -> list[str]:
        """Tokens of a text in order."""
        pieces = (_WIDE.sub(r" \g<0> ", found) for found in _TOKEN.findall(text.lower()[:_LONGEST]))
        return [token for piece in pieces for token in piece.split()]


def rouge(prediction: str, references: Sequence[str]) -> dict[str, PRF]:
    """ROUGE-1, ROUGE-2 and ROUGE-L (Lin, 2004), by rouge-score; of several references the one with the best F1.

    Returns:
        By ``rouge1``, ``rouge2``, ``rougeL``; zeros without references.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    best = dict.fromkeys(ROUGE_TYPES, PRF(0.0, 0.0, 0.0))
    scorer = _rouge_scorer()
    for reference in references:
        scored: Mapping[str, Any] = scorer.score(reference, prediction)
        for kind in ROUGE_TYPES:
            found = PRF(scored[kind].precision, scored[kind].recall, scored[kind].fmeasure)
            best[kind] = found if found.f1 > best[kind].f1 else best[kind]
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Bleu:
    """BLEU with what it depends on."""

    corpus: float
    """Of all predictions together, in [0, 1]."""
    sentences: tuple[float, ...]
    """Of each prediction, in [0, 1]."""
    signature: str
    """sacrebleu's, of the corpus score: tokens, smoothing, version."""


def bleu(predictions: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: str = "13a") -> Bleu:
    """BLEU (Papineni et al., 2002) up to 4-grams with exponential smoothing, by sacrebleu (Post, 2018).

    Args:
        predictions: one per question.
        references: for each prediction one or more.
        tokenize: sacrebleu's tokens: ``13a`` for texts in European languages, ``zh`` for Chinese.

    Raises:
        MissingExtra: without the extra `eval`.
        ValueError: if there are no predictions, or one has no reference.
    """
    if not predictions or len(predictions) != len(references) or not all(references):
        raise ValueError(
            f"{len(predictions)} predictions need as many lists of references, none of them empty"
        )
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as problem:
        raise MissingExtra("BLEU", "eval") from problem
    whole = BLEU(tokenize=tokenize)
    # sacrebleu wants one list per place of a reference; where a prediction has fewer, the place is empty.
    most = max(map(len, references))
    places: Any = [[some[i] if i < len(some) else None for some in references] for i in range(most)]
    corpus = whole.corpus_score([p[:_LONGEST] for p in predictions], places)
    # Without effective order a sentence of three words would have no 4-gram and score 0.
    single = BLEU(tokenize=tokenize, effective_order=True)
    scores = [
        single.sentence_score(p[:_LONGEST], list(some)).score / 100
        for p, some in zip(predictions, references, strict=True)
    ]
    return Bleu(corpus=corpus.score / 100, sentences=tuple(scores), signature=str(whole.get_signature()))


@cache
def _rouge_scorer() -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as problem:
        raise MissingExtra("ROUGE", "eval") from problem
    return RougeScorer(list(ROUGE_TYPES), use_stemmer=False, tokenizer=_Tokenizer())
