"""Questions from sentences are posed in the language of the sentence."""

import pytest

from polygraph.evaluate.questions.extractive import sentence_questions
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder

ENGLISH = (
    "Tobias Wren refused to pay for the lamp of the Skerry Light in that winter. Mara Quill wrote to Tobias Wren from "
    "the harbour, and he did not answer her."
)
GERMAN = (
    "Anna Berg gründete im Jahr 1871 die Werft von Karl Stein und war nicht mit dem Hafen zufrieden. Karl Stein "
    "schrieb an Anna Berg aus der Stadt, und sie hat ihm nicht geantwortet."
)
FRENCH = (
    "Jeanne Morel a fondé le chantier de Paul Girard dans la ville, et elle est restée. Paul Girard avait écrit à "
    "Jeanne Morel dans le port, et elle ne lui a pas répondu."
)


def models():
    return Models(
        chat=None, embedder=HashEmbedder(), name_embedder=HashEmbedder(), reranker=None, calls=Calls(None)
    )


@pytest.fixture(scope="module")
def found(index_of, tmp_path_factory):
    texts = {"english": ENGLISH, "german": GERMAN, "french": FRENCH}
    with index_of(tmp_path_factory.mktemp("questions"), texts, models()) as index:
        return sentence_questions(index, n_single=20, n_double=20)


def test_questions_are_posed_in_the_language_of_the_sentence(found):
    posed = {q.question for q in found.questions}
    assert any(text.startswith(("Who ", "Who or what ")) and "refused to pay" in text for text in posed)
    assert any(
        text.startswith(("Wer ", "Wer oder was ")) and "gründete im Jahr 1871" in text for text in posed
    )
    assert not any("Who" in text and ("gründete" in text or "schrieb" in text) for text in posed)


def test_sentences_in_other_languages_are_skipped_and_counted(found):
    assert not any("fondé" in q.question or "écrit" in q.question for q in found.questions)
    assert any("suitable sentences were skipped (2 in 'fr')" in note for note in found.notes)
