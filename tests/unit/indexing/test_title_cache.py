"""What documents say, after any changes of the documents: as if it had been read for the first time."""

import random

import pytest

from polygraph.extract.titles.title_table import TitleTable
from polygraph.indexing import title_cache
from polygraph.indexing.title_cache import refresh_titles
from polygraph.records import Chunk, Document
from polygraph.store.database import SqliteStore

TITLES = ("Grey", "Grey Reef", "Grey Reef Light", "Reef", "Halcyon (ship)", "Halcyon", "notes", "The Tobin")
PIECES = (
    "the Grey Reef's Light",
    "Grey",
    "the grey reef",
    "Reef",
    "Halcyon’s",
    "Tobin",
    "The Tobin",
    "Mara Quill",
)


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path, mode="write")
    yield store
    store.close()


def put(store, document, title, texts):
    chunks = [
        Chunk(
            id=f"{document}:{n}", document=document, ordinal=n, start=0, end=len(text), text=text, n_tokens=1
        )
        for n, text in enumerate(texts)
    ]
    with store.transaction():
        store.documents.put(Document(id=document, title=title, text=" ".join(texts)), "", chunks, [])


def plain(found):
    return {
        f"{name} {column}": values.tolist()
        for name, table in found.tables.items()
        for column, values in (("", table.offsets), *table.columns.items())
    }


def test_after_any_changes_it_is_the_same_as_read_for_the_first_time(store, tmp_path):
    chance = random.Random(2)
    former, n_links = None, 0
    for _ in range(60):
        for _ in range(chance.randint(1, 3)):
            document = chance.choice("abcdefgh")
            if chance.random() < 0.3:
                with store.transaction():
                    store.documents.remove(document)
            else:
                texts = [
                    f"He saw {' and '.join(chance.choices(PIECES, k=3))}."
                    for _ in range(chance.randint(0, 2))
                ]
                put(store, document, chance.choice(TITLES), texts)
        found = refresh_titles(store, "so", former)
        assert plain(found) == plain(refresh_titles(store, "so", None))
        found.save(tmp_path)
        former = TitleTable.load(tmp_path)
        assert plain(former) == plain(found)
        n_links += len(found.matches().links)
    assert n_links > 60


def test_only_documents_that_may_say_something_else_are_read_again(store, monkeypatch):
    read, real = [], title_cache.find_document_titles

    def watched(texts, titles):
        read.append(texts[0])
        return real(texts, titles)

    monkeypatch.setattr(title_cache, "find_document_titles", watched)
    put(store, "a", "Log", ["He saw the Grey Reef."])
    put(store, "b", "Letter", ["He saw a reef, all Grey."])
    put(store, "c", "Diary", ["He saw nothing."])
    former = refresh_titles(store, "so", None)
    read.clear()
    put(store, "d", "Grey Reef", ["A rock."])
    former = refresh_titles(store, "so", former)
    # The second has both words, though not the name.
    assert read == ["He saw the Grey Reef.", "He saw a reef, all Grey.", "A rock."]
    read.clear()
    with store.transaction():
        store.documents.remove("d")
    former = refresh_titles(store, "so", former)
    assert read == ["He saw the Grey Reef."]
    read.clear()
    refresh_titles(store, "so", former)
    assert read == []
    refresh_titles(store, "otherwise", former)
    assert len(read) == 3


def test_an_index_without_passages_says_nothing(store):
    put(store, "a", "Halcyon", [])
    found = refresh_titles(store, "so", None)
    assert len(found) == 0
    assert found.matches().keys.tolist() == []
    assert len(refresh_titles(store, "so", found)) == 0
