"""ROUGE and BLEU against reference texts, by the libraries that papers use (extra `eval`)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from polygraph.evaluate.extra import import_optional
from polygraph.evaluate.metrics.answer_match import PRF

ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")
_MAX_CHARACTERS = 200_000
"""Characters of a text that are compared."""
_TOKENIZER = "13a"
"""Tokenizer of sacrebleu for languages that separate words by spaces."""
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
"""A word, or one character of a script without spaces."""


class _Tokenizer:
    """ROUGE tokenizer: lower case, split at anything but letters and digits, no stemmer.

    The library's own tokenizer knows only ASCII letters and finds no tokens in Chinese; on ASCII both agree.
    """

    def tokenize(self, text: str) -> list[str]:
        """Split a text into tokens."""
        found: list[str] = _TOKEN.findall(text.lower()[:_MAX_CHARACTERS])
        return found


def rouge(prediction: str, references: Sequence[str]) -> dict[str, PRF]:
    """Compute ROUGE-1, ROUGE-2 and ROUGE-L (Lin, 2004), by rouge-score, against the reference with the best F1.

    Returns:
        By ``rouge1``, ``rouge2``, ``rougeL``; zeros without references.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    best = dict.fromkeys(ROUGE_TYPES, PRF(0.0, 0.0, 0.0))
    scorer = _rouge_scorer(import_optional("rouge_score.rouge_scorer", "ROUGE"))
    for reference in references:
        scored: Mapping[str, Any] = scorer.score(reference, prediction)
        for kind in ROUGE_TYPES:
            found = PRF(scored[kind].precision, scored[kind].recall, scored[kind].fmeasure)
            best[kind] = found if found.f1 > best[kind].f1 else best[kind]
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Bleu:
    """BLEU scores with their signature."""

    corpus: float
    """Over all predictions together, in [0, 1]."""
    sentences: tuple[float, ...]
    """Score of each prediction, in [0, 1]."""
    signature: str
    """Signature of the corpus score by sacrebleu: tokens, smoothing, version."""


def bleu(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Bleu:
    """Compute BLEU (Papineni et al., 2002) up to 4-grams with exponential smoothing, by sacrebleu (Post, 2018).

    Args:
        predictions: one per question.
        references: one or more per prediction.

    Raises:
        MissingExtra: without the extra `eval`.
        ValueError: if there are no predictions, or if one has no reference.
    """
    if not predictions or len(predictions) != len(references) or not all(references):
        raise ValueError(
            f"{len(predictions)} predictions need as many lists of references, none of them empty"
        )
    BLEU = import_optional("sacrebleu.metrics.bleu", "BLEU").BLEU
    whole = BLEU(tokenize=_TOKENIZER)
    # sacrebleu takes one list per reference position; a prediction with fewer references has None there.
    most = max(map(len, references))
    columns: Any = [[some[i] if i < len(some) else None for some in references] for i in range(most)]
    corpus = whole.corpus_score([p[:_MAX_CHARACTERS] for p in predictions], columns)
    # Without effective order, a sentence of three words has no 4-gram and scores 0.
    single = BLEU(tokenize=_TOKENIZER, effective_order=True)
    scores = [
        single.sentence_score(p[:_MAX_CHARACTERS], list(some)).score / 100
        for p, some in zip(predictions, references, strict=True)
    ]
    return Bleu(corpus=corpus.score / 100, sentences=tuple(scores), signature=str(whole.get_signature()))


@cache
def _rouge_scorer(library: Any) -> Any:
    return library.RougeScorer(list(ROUGE_TYPES), use_stemmer=False, tokenizer=_Tokenizer())
