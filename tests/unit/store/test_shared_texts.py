"""A text that many rows share stands once in the file, and goes when no row names it any more."""

from dataclasses import replace

import pytest

from polygraph.records import Description
from polygraph.store.database import SqliteStore
from tests import store_records as records

SENTENCE = "The Halcyon left Orme in the spring of 1871 with a captain, a log and no key."
SHORT = "A ship."


@pytest.fixture
def store(tmp_path):
    opened = SqliteStore(tmp_path, mode="write")
    yield opened
    opened.close()


def described(text):
    found = records.extraction("d")
    return replace(
        found,
        entities=tuple(replace(row, description=text) for row in found.entities),
        relations=tuple(replace(row, description=text) for row in found.relations),
    )


def put_rows(store, text=SENTENCE):
    with store.transaction():
        records.put_document(store, "d")
        found = described(text)
        store.extractions.put(found, "nlp:1")
    return found


def put_graph(store, text):
    entities = [replace(e, descriptions=(Description(text, "d:0"),), summary="") for e in records.ENTITIES]
    relations = [replace(r, descriptions=(Description(text, "d:0"),), summary="") for r in records.RELATIONS]
    with store.transaction():
        store.graph.put(entities, relations, records.TRIPLES, records.MERGES)
    return entities, relations


def texts(store):
    return [text for (text,) in store.connection.rows("SELECT text FROM texts")]


@pytest.mark.parametrize(("text", "stored"), [(SENTENCE, [SENTENCE]), (SHORT, []), ("", []), ("1871", [])])
def test_rows_and_graph_come_back_as_they_were_and_a_long_text_stands_once(store, text, stored):
    found = put_rows(store, text)
    entities, relations = put_graph(store, text)
    assert texts(store) == stored
    ((_, again),) = store.extractions.iterate()
    assert (again.entities, again.relations) == (found.entities, found.relations)
    assert list(store.graph.all_entities()) == entities
    assert store.graph.relations_by_row([1, 0]) == relations[1::-1]
    assert all(pairs == [(text, "d:0")] for pairs in store.graph.relation_descriptions())


def test_long_descriptions_are_found_by_the_bytes_of_their_texts(store):
    put_rows(store)
    entities, _ = put_graph(store, SENTENCE)
    rows = list(range(len(entities)))
    # A space is counted for each text.
    assert store.graph.long_descriptions("entity", len(SENTENCE)) == rows
    assert store.graph.long_descriptions("entity", len(SENTENCE) + 1) == []


def test_a_text_that_no_row_has_any_more_goes_with_the_next_graph(store):
    put_rows(store)
    put_graph(store, SENTENCE)
    with store.transaction():
        store.documents.remove("d")
    assert texts(store) == [SENTENCE]
    put_graph(store, SHORT)
    assert texts(store) == []


def test_a_removed_text_leaves_the_disk_when_the_file_is_compacted(store, tmp_path):
    put_rows(store)
    assert store.compact()
    assert SENTENCE.encode() in (tmp_path / "index.sqlite").read_bytes()
    with store.transaction():
        store.documents.remove("d")
    assert store.compact()
    assert SENTENCE.encode() not in (tmp_path / "index.sqlite").read_bytes()


def test_rows_are_moved_with_their_texts_which_stand_once_in_the_other_file_too(store, tmp_path):
    put_rows(store)
    put_graph(store, SENTENCE)
    moved = ("entity_rows", "relation_rows", "entities", "relations", "windows")
    rows = {table: list(store.dump(table)) for table in moved}
    assert sum(SENTENCE in str(row) for table in moved for row in rows[table]) == 3 + len(
        records.ENTITIES
    ) + len(records.RELATIONS)
    other = SqliteStore(tmp_path / "other", mode="write")
    with other.transaction():
        for table in moved:
            other.load(table, rows[table])
    assert texts(other) == [SENTENCE]
    assert {table: list(other.dump(table)) for table in moved} == rows
    other.close()
