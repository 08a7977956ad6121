import pytest

from polygraph.extract.nlp.capitalized_names import capitalized_spans, occurrences
from polygraph.extract.nlp.keyphrases import keyphrases
from polygraph.text.language import (
    detect_language,
    detect_question_language,
    first_language,
    has_capitals,
)

SAMPLES = {
    "en": "The keeper of the light had not been seen since the storm, and nobody knew where he was.",
    "de": "Der Wärter des Leuchtturms wurde seit dem Sturm nicht mehr gesehen, und niemand wusste, wo er ist.",
    "fr": "Le gardien du phare n'a pas été vu depuis la tempête, et personne ne sait où il est dans la ville.",
    "es": "El guardián del faro no ha sido visto desde la tormenta, y nadie sabe dónde está ni lo que hace.",
    "it": "Il guardiano del faro non è stato visto dopo la tempesta, e nessuno sa che cosa sia accaduto alla sua casa.",
    "pt": "O guarda do farol não foi visto desde a tempestade, e ninguém sabe onde ele está ou o que aconteceu.",
    "nl": "De wachter van het licht is niet meer gezien sinds de storm, en niemand weet waar hij is of wat er is.",
    "sv": "Fyrvaktaren har inte setts till sedan stormen, och ingen vet var han är eller vad det är som hände.",
    "fi": "Majakanvartijaa ei ole nähty myrskyn jälkeen, ja kukaan ei tiedä, missä hän on tai mitä se oli.",
    "pl": "Latarnika nie widziano od czasu burzy i nikt nie wie, gdzie jest ani co się z nim stało po tym.",
    "ru": "Смотрителя маяка не видели после бури.",
    "uk": "Доглядача маяка не бачили після бурі, і ніхто не знає, де він.",
    "el": "Ο φύλακας του φάρου δεν φάνηκε μετά την καταιγίδα.",
    "ja": "嵐の後、灯台守を見た者はいない。",
    "zh": "暴风雨过后，没有人再见过灯塔看守人。",
    "ko": "폭풍 이후 등대지기를 본 사람은 없다.",
    "ar": "لم ير أحد حارس المنارة بعد العاصفة.",
}


@pytest.mark.parametrize("code", SAMPLES)
def test_languages_are_told_apart(code: str):
    assert detect_language(SAMPLES[code]) == code


@pytest.mark.parametrize(
    "text", ["", "   \n", "12 34; 5.6", "Bergen Hamburg Lisboa Quill Vane", "x = foo(bar)"]
)
def test_what_is_no_prose_is_undecided(text: str):
    assert detect_language(text) == ""


@pytest.mark.parametrize(
    "sheet",
    [
        "Hoist: GH-20S; V: 230; A: 4.5; W: 900; s: 12. Hoist: GH-30S; V: 400; A: 6; W: 1,100; s: 14. Drum: GH-40S.",
        "Oil, l: 4; s: 3; k: 2. Speed (m/s): 2–5. Time (s): 8–9. Flow (l/s): 1–2. Size S: 12; size A: 14.",
        "Réf. 40S; U: 230 V; I: 4 A; l: 3; d: 2; s: 4; n: 12; l: 5; d: 7",
    ],
)
def test_units_and_part_numbers_are_words_of_no_language(sheet: str):
    assert detect_language(sheet) == ""


def test_of_several_texts_the_first_that_shows_its_language_decides():
    assert first_language(["rev 4; R12", SAMPLES["es"], SAMPLES["de"]]) == "es"
    assert first_language(["12 34", ""]) == first_language([]) == ""


def test_typographic_signs_are_of_no_script():
    assert detect_language(f"“{SAMPLES['de']}” – … €") == "de"


def test_foreign_names_do_not_make_english_foreign():
    text = "Jean de La Fontaine and Karl von der Heide met the director of the Museo del Prado in Madrid."
    assert detect_language(text) == "en"


def test_capitals_tell_names_only_where_they_vary():
    assert has_capitals("In Bergen the tug waited.")
    assert not has_capitals("in bergen the tug waited.")
    assert not has_capitals("IN BERGEN THE TUG WAITED.")
    assert not has_capitals("港口的灯塔")


def test_a_function_word_at_the_beginning_is_no_name():
    text = "When Anna left, The Times wrote of it."
    assert [text[s.start : s.end] for s in capitalized_spans(text)] == ["Anna", "The Times"]


def test_a_single_word_at_the_beginning_is_doubtful():
    spans = capitalized_spans("Lamps were lit for Vane.")
    assert [(s.start, s.doubtful) for s in spans] == [(0, True), (19, False)]


def test_title_is_found_as_whole_words():
    assert occurrences("Ann", "Annual Ann, Ann.") == [(7, 10), (12, 15)]


def test_chinese_phrases_that_recur_are_found():
    text = "港口的灯塔建于去年。灯塔的看守人住在港口。"
    assert {text[a:b] for a, b in keyphrases(text, language="zh")} >= {"港口", "灯塔"}


def test_long_runs_do_not_cost_quadratic_time():
    assert keyphrases("港" * 50_000) is not None
    assert capitalized_spans("A" * 50_000) is not None
    assert capitalized_spans("A. " * 20_000) is not None
    assert len(capitalized_spans("Anna de la " * 5_000)) > 0


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Wer leitet die Werft?", "de"),
        ("Wie hoch ist die Miete?", "de"),
        ("Combien coûte la réparation de la pompe ?", "fr"),
        ("¿Cuándo se firmó el contrato?", "es"),
        ("Who directed La La Land?", "en"),
        ("Can dogs come in?", ""),
        ("Did Anna come?", ""),
        ("What is the capital of Der Niederlande?", "en"),
        ("灯台はいつ壊れましたか", "ja"),
        ("MX-400 flow?", ""),
    ],
)
def test_the_language_of_a_short_question_is_detected_and_titles_do_not_mislead(question, code):
    assert detect_question_language(question) == code
