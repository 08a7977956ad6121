"""Which entry of a list of questions and answers is the answer to a question in other words, by an embedder.

A cross-encoder that was trained on passages gives such an entry a logit far below 0 ("Am I liable for theft?" for "Who
pays when a bicycle is stolen?"), but two questions are easily compared. The cosine itself says little: it is as high
for "Are bicycles allowed on the bus?" and an entry about the ferry. What tells is how far the best entry is ahead of
the others.
"""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows
from polygraph.models.protocols import Embedder, TextKind
from polygraph.tasks.offline.sentences import Candidate
from polygraph.text.sentences import is_question

_LEAD_OF_ENTRY = 1.5
"""How far the best entry is ahead of the next, in standard deviations of the cosines of the others."""
_LEAD_OF_QUESTION = 0.5
"""The same, if only the questions are compared. Both thresholds: docs/design/extractive-answers.md."""
_MIN_ENTRIES = 5
"""Fewer do not tell what a usual cosine is."""
_MAX_ENTRIES = 48
"""Entries that are embedded for one question, in the order of the passages."""


def entry_in_other_words(
    question: str, sentences: Sequence[Candidate], rivals: Collection[Candidate], embedder: Embedder
) -> list[Candidate]:
    """Return the sentences of the entry that answers a question, in order; none if no entry is clearly the nearest.

    The same entry must be nearest by its own question and as a whole, ahead of the next, and nearer than any rival.

    Args:
        question: any text.
        sentences: from `candidate_sentences`.
        rivals: sentences that may answer as well.
        embedder: of passages.
    """
    entries: dict[tuple[str, str], list[Candidate]] = {}
    for each in sentences:
        if each.is_explaining and is_question(each.heading):
            entries.setdefault((each.quoted.span.chunk, each.heading), []).append(each)
    asked = [heading for _, heading in entries][:_MAX_ENTRIES]
    if len(asked) < _MIN_ENTRIES:
        return []
    answers = list(entries.values())[: len(asked)]
    # Two questions are alike in kind; an entry is a passage that a query finds.
    of_questions = _cosines(question, "document", asked, embedder)
    of_entries = _cosines(
        question,
        "query",
        [
            " ".join([heading, *(each.quoted.text for each in own)])
            for heading, own in zip(asked, answers, strict=True)
        ],
        embedder,
    )
    best = int(np.argmax(of_entries))
    if (
        best != int(np.argmax(of_questions))
        or _lead(of_entries) < _LEAD_OF_ENTRY
        or _lead(of_questions) < _LEAD_OF_QUESTION
    ):
        return []
    texts = [f"{each.heading} {each.quoted.text}".lstrip() for each in rivals if each not in answers[best]]
    if texts and _cosines(question, "query", texts, embedder).max() >= of_entries[best]:
        return []
    return answers[best]


def _cosines(question: str, kind: TextKind, texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    return dot_rows(embedder.embed(texts, "document"), embedder.embed([question], kind)[0])


def _lead(cosines: NDArray[np.float32]) -> float:
    """Return how far the highest is ahead of the next, in standard deviations of all but the highest."""
    *rest, best = sorted(cosines.tolist())
    spread = float(np.std(rest))
    return (best - rest[-1]) / spread if spread > 0 else 0.0
