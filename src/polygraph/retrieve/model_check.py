"""The check of citations by a chat model (setting `citation_check = "model"`).

Rules find what contradicts a passage in its own words. A claim that says something else in other words takes a reader.
"""

from collections.abc import Iterator, Sequence

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.tasks.evidence.check_citations import CLAIMS_PER_CALL, CitedClaim, supported_claims
from polygraph.text.words import content_stems, shared_stems

_PIECE_CHARACTERS = 4_000
"""Text of a piece of evidence that is shown: what the model that wrote the answer saw, then passages behind it."""
_CALL_CHARACTERS = 24_000
"""Text of all pieces in one call."""


def check_by_model(
    question: str,
    claims: Sequence[CitedClaim],
    shown: Sequence[tuple[str, ...]],
    models: Models,
    *,
    method: str,
) -> list[bool | None]:
    """Ask the chat model whether the evidence supports the claims that cite it.

    One call for up to 20 claims and 24,000 characters of evidence: one for most answers.

    Args:
        question: that was answered.
        claims: in the order of the answer; each cites pieces that exist.
        shown: all texts of each piece of evidence, in the order of their numbers: first what the model saw.
        models: with a chat model.
        method: for the ledger.

    Returns:
        For each claim True, False, or None if the model did not decide.

    Raises:
        ValueError: if there is no chat model.
    """
    if models.chat is None:
        raise ValueError("citations are checked by a chat model; there is none")
    wanted: dict[int, set[str]] = {}
    for claim in claims:
        for n in claim.cited:
            wanted.setdefault(n, set()).update(content_stems(claim.text))
    evidence = {n: _piece(shown[n - 1], stems) for n, stems in wanted.items()}
    verdicts: list[bool | None] = []
    for batch in _batches(claims, {n: len(text) for n, text in evidence.items()}):
        try:
            verdicts += supported_claims(question, batch, evidence, models.chat, models.calls, method=method)
        except UnusableReply:
            verdicts += [None] * len(batch)
    return verdicts


def _piece(texts: Sequence[str], wanted: set[str]) -> str:
    """Return what was shown of a piece, then the passages behind it, those nearest to its claims first.

    A text that another holds is left out. Ties keep the order of the passages.
    """
    distinct = list(dict.fromkeys(text.strip() for text in texts))
    kept = [text for text in distinct if not any(text in other for other in distinct if other != text)]
    first, *others = kept
    others.sort(key=lambda text: -len(shared_stems(wanted, text)))
    return "\n".join([first, *others])[:_PIECE_CHARACTERS].rstrip()


def _batches(claims: Sequence[CitedClaim], lengths: dict[int, int]) -> Iterator[Sequence[CitedClaim]]:
    """Divide claims in their order into those of one call."""
    start, cited = 0, set[int]()
    for i, claim in enumerate(claims):
        cited |= set(claim.cited)
        full = i - start == CLAIMS_PER_CALL or sum(lengths[n] for n in cited) > _CALL_CHARACTERS
        if full and i > start:
            yield claims[start:i]
            start, cited = i, set(claim.cited)
    if start < len(claims):
        yield claims[start:]
