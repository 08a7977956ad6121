"""Likeness of meaning with reference texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.answer_match import PRF
from polygraph.models import Models

_LONGEST = 200_000
"""Characters of a text that are compared."""


def semantic_similarity(
    predictions: Sequence[str], references: Sequence[Sequence[str]], models: Models
) -> list[float]:
    """Cosine of the vectors of prediction and reference, by the embedder in use; of several references the best.

    Texts beyond the embedder's limit are judged by their beginning. Values of different embedders do not compare:
    report `models.embedder.name` beside them.

    Args:
        predictions: one per question.
        references: for each prediction any number.
        models: whose embedder is asked.

    Returns:
        One value per prediction in [-1, 1]; 0 without references.
    """
    texts = list(dict.fromkeys([*predictions, *(r for some in references for r in some)]))
    if not texts:
        return []
    vectors = models.calls.embed(models.embedder, [t[:_LONGEST] for t in texts], "query", stage="evaluate")
    row = {text: n for n, text in enumerate(texts)}
    found = []
    for prediction, some in zip(predictions, references, strict=True):
        cosines = [float(vectors[row[prediction]] @ vectors[row[r]]) for r in some]
        found.append(max(cosines, default=0.0))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class BertScore:
    """BERTScore of each prediction, with what it depends on."""

    scores: tuple[PRF, ...]
    signature: str
    """Model, layer, idf, version, and whether values are rescaled."""


def need_bert_score() -> None:
    """Make sure that BERTScore can be imported, before anything is paid for.

    Raises:
        BadInput: if the package bert-score is not installed.
    """
    if find_spec("bert_score") is None:
        raise BadInput(
            "BERTScore needs the package bert-score, which no extra of polygraph brings because it needs torch and "
            "downloads a model of 1.4 GB. Install it with: pip install bert-score; or use semantic similarity"
        )


def bert_score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    model: str = "roberta-large",
    layer: int = 17,
    rescale: bool = False,
    language: str = "en",
) -> BertScore:
    """BERTScore (Zhang et al., 2020) without idf; of several references the best.

    Papers differ by `rescale` alone between about 0.8 and about 0.2, so it is part of the signature. No extra of ours
    brings the library, since it needs torch and downloads its model.

    Args:
        predictions: one per question.
        references: for each prediction at least one.
        model: name of the model, or folder where it lies.
        layer: whose vectors are compared.
        rescale: by the baseline that the library ships for the model.
        language: of the baseline.

    Raises:
        BadInput: if the package bert-score is not installed, or its model is not on this machine and cannot be had.
    """
    need_bert_score()
    from bert_score import score

    try:
        (p, r, f), signature = score(
            list(predictions),
            [list(some) for some in references],
            model_type=model,
            num_layers=layer,
            idf=False,
            lang=language,
            rescale_with_baseline=rescale,
            return_hash=True,
        )
    except OSError as problem:
        # What transformers and its downloader raise without a network, or if the name is unknown.
        told = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise BadInput(
            f"the model {model} of BERTScore is not on this machine and could not be downloaded: {told}. Fetch it once "
            "with a network into the cache of Hugging Face (HF_HOME), or leave BERTScore out"
        ) from problem
    scores = (PRF(float(a), float(b), float(c)) for a, b, c in zip(p, r, f, strict=True))
    return BertScore(scores=tuple(scores), signature=str(signature))
