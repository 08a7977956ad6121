"""Semantic similarity to reference texts: cosine of embeddings, and BERTScore."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.answer_match import PRF
from polygraph.models import Models

_MAX_CHARACTERS = 200_000
"""Characters of a text that are compared."""
_BERT_MODEL, _BERT_LAYER = "roberta-large", 17
"""The library's choice for English."""


def semantic_similarity(
    predictions: Sequence[str], references: Sequence[Sequence[str]], models: Models
) -> list[float]:
    """Return the cosine of prediction and reference embeddings, for the best of several references.

    Texts over the embedder's limit are truncated. Values of different embedders are not comparable: report
    `models.embedder.name` with them.

    Args:
        predictions: one per question.
        references: any number per prediction.
        models: provides the embedder.

    Returns:
        One value per prediction, in [-1, 1]; 0 without references.
    """
    texts = list(dict.fromkeys([*predictions, *(r for some in references for r in some)]))
    if not texts:
        return []
    vectors = models.calls.embed(
        models.embedder, [t[:_MAX_CHARACTERS] for t in texts], "query", stage="evaluate"
    )
    row = {text: n for n, text in enumerate(texts)}
    found = []
    for prediction, some in zip(predictions, references, strict=True):
        cosines = [float(vectors[row[prediction]] @ vectors[row[r]]) for r in some]
        found.append(max(cosines, default=0.0))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class BertScore:
    """BERTScore of each prediction, with its signature."""

    scores: tuple[PRF, ...]
    signature: str
    """Model, layer, idf, version, rescaling."""


def require_bert_score() -> None:
    """Check, before any model is paid, that BERTScore can be imported.

    Raises:
        BadInput: if the package bert-score is not installed.
    """
    if find_spec("bert_score") is None:
        raise BadInput(
            "BERTScore needs the package bert-score. No extra of polygraph includes it, since it requires torch and "
            "downloads a model of 1.4 GB. Install it with: pip install bert-score; or use semantic similarity"
        )


def bert_score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    rescale: bool = False,
) -> BertScore:
    """Compute BERTScore (Zhang et al., 2020) without idf, for the best of several references.

    Rescaling alone moves typical values from about 0.8 to about 0.2, so it is part of the signature.

    Args:
        predictions: one per question.
        references: at least one per prediction.
        rescale: by the baseline that the library ships for the model.

    Raises:
        BadInput: if the package bert-score is not installed, or its model is neither on this machine nor downloadable.
    """
    require_bert_score()
    from bert_score import score

    try:
        (p, r, f), signature = score(
            list(predictions),
            [list(some) for some in references],
            model_type=_BERT_MODEL,
            num_layers=_BERT_LAYER,
            idf=False,
            lang="en",
            rescale_with_baseline=rescale,
            return_hash=True,
        )
    except OSError as problem:
        # transformers and its downloader raise OSError without a network, and for an unknown name.
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise BadInput(
            f"the model {_BERT_MODEL} of BERTScore is not on this machine and could not be downloaded: {reason}. "
            "Download it once into the cache of Hugging Face (HF_HOME), or leave BERTScore out"
        ) from problem
    scores = (PRF(float(a), float(b), float(c)) for a, b, c in zip(p, r, f, strict=True))
    return BertScore(scores=tuple(scores), signature=str(signature))
