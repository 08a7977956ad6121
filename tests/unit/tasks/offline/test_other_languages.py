"""Questions and passages in other languages than English."""

import pytest

from polygraph.records import Chunk
from polygraph.tasks.offline.asked_kind import kind_gain
from polygraph.tasks.offline.quoting import asks_for_reason, asks_for_several, asks_how
from polygraph.tasks.offline.sentences import Passage, candidate_sentences


@pytest.mark.parametrize(
    ("question", "answers", "does_not"),
    [
        ("Wann wurde der Aufzug erneuert?", "Er läuft seit dem 3. März wieder.", "Er läuft wieder."),
        ("Bis wann gilt das Angebot?", "Es gilt bis Ende November.", "Es gilt noch lange."),
        ("Depuis quand est-il fermé ?", "Il est fermé depuis juillet.", "Il est fermé."),
        ("¿Hasta cuándo vale la oferta?", "Vale hasta el 5 de mayo.", "Vale mucho."),
        ("Wie viele Boote gibt es?", "Es gibt zwölf Boote.", "Es gibt Boote."),
        ("Combien de barques sont là ?", "Il y en a neuf.", "Il y en a peu."),
        ("¿Cuánto cuesta la entrada?", "Cuesta 5,50 €.", "Cuesta poco."),
        ("Quanti soci ci sono?", "Sono dodici soci.", "Sono tutti soci."),
        ("Hoeveel boten zijn er?", "Er zijn twaalf boten.", "Er zijn boten."),
        ("Wer leitet den Hafen?", "Den Hafen leitet Ida Marsh.", "Den Hafen leitet der Verein."),
        ("Qui dirige le port ?", "Le port est dirigé par Mme Roux.", "Le port est vide."),
        ("¿Quién dirige el puerto?", "Lo dirige D. Luis.", "Está vacío."),
        ("Darf man hier angeln?", "Angeln ist verboten.", "Angeln ist schön."),
        ("Peut-on fumer ?", "Il est interdit de fumer.", "La fumée monte."),
    ],
)
def test_a_sentence_with_what_is_asked_for_gains(question, answers, does_not):
    assert kind_gain(question, answers) > kind_gain(question, does_not) == 0


@pytest.mark.parametrize(
    "question", ["What is the cost of Costa wine?", "Was the pier closed?", "Come home when?", "Chi square?"]
)
def test_english_words_that_look_alike_ask_for_nothing_else(question):
    assert kind_gain(question, "Sabato 3 neuf") == kind_gain(question, "3 neuf")


def test_reasons_steps_and_several_things_are_asked_for():
    for question in ("Warum ist zu?", "Pourquoi ?", "¿Por qué no?", "Perché no?", "Waarom niet?"):
        assert asks_for_reason(question)
    for question in ("Comment s'abonner ?", "¿Cómo se reserva?", "Come posso pagare?", "Hoe kan ik betalen?"):
        assert asks_how(question)
    for question in ("Comment s'appelle-t-il ?", "¿Cómo se llama?", "Comment va-t-il ?"):
        assert not asks_how(question)
    assert asks_for_several("Quelles clés manquent ?")
    assert not asks_for_several("Quelle clé manque ?")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Der neue Aufzug wurde im Herbst in das Haus gebaut.", "Er trägt acht Personen."),
        ("Le nouveau compresseur est arrivé au dépôt de la ville.", "Il consomme moins que l'ancien."),
        ("El molino de la villa se restauró en el año pasado.", "Esta obra costó mucho dinero."),
    ],
)
def test_a_sentence_that_depends_on_the_one_before_is_joined_to_it(first, second):
    text = f"{first} {second}"
    chunk = Chunk(id="d:0", document="d", ordinal=0, text=text, start=0, end=len(text), n_tokens=30)
    passage = Passage(chunk=chunk, title="D", evidence=1)
    assert [c.quoted.text for c in candidate_sentences([passage])] == [first, f"{first} {second}"]
