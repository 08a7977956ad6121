from dataclasses import replace
from types import SimpleNamespace

from polygraph.indexing.chunk_layers import chunk_languages
from polygraph.indexing.documents import chunk_document
from polygraph.records import Document
from tests.store_records import MANIFEST

GERMAN = "Der Hafen war voller Schiffe, und niemand wusste, woher sie kamen."
ENGLISH = "The keeper of the light and the boat were lost in the storm of the year."
TABLE = "Haus: Ahornweg 12; Kosten: 1.847,20."


def test_a_chunk_has_the_language_of_its_document():
    chunks = [("a", GERMAN), ("a", TABLE), ("b", ENGLISH), ("b", TABLE)]
    assert chunk_languages(chunks, "fr") == ["de", "de", "en", "en"]


def test_a_table_has_the_language_of_most_text():
    assert chunk_languages([("a", GERMAN * 3), ("b", ENGLISH), ("c", TABLE)], "fr") == ["de", "en", "de"]


def test_without_prose_the_default_counts():
    assert chunk_languages([("c", TABLE)], "fr") == ["fr"]
    assert chunk_languages([], "fr") == []


def test_a_document_is_cut_by_the_rules_of_its_own_language():
    second = "Die alten Tische holt die Fa. Kranz im Herbst mit einem großen Wagen ab."
    words = SimpleNamespace(count=lambda texts: [len(each.split()) for each in texts], max_tokens=510)
    document = Document(id="d", title="D", text=f"{GERMAN} {second}")
    chunks = chunk_document(document, replace(MANIFEST, language="en", chunk_tokens=20), words)
    assert [chunk.text for chunk in chunks] == [GERMAN, second]
