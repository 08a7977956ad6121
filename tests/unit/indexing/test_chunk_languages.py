from polygraph.indexing.chunk_layers import chunk_languages

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
