"""What documents say, after any changes of the documents: as if it had been read for the first time."""

import random

import pytest

from polygraph.extract.titles.title_table import Sayings
from polygraph.records import Chunk, Document
from polygraph.store import title_cache as kept_names
from polygraph.store.database import SqliteStore
from polygraph.store.title_cache import say

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


def plain(sayings):
    return {
        f"{name} {column}": values.tolist()
        for name, table in sayings.tables.items()
        for column, values in (("", table.offsets), *table.columns.items())
    }


@pytest.mark.parametrize("block", [1 << 18, 3])
def test_after_any_changes_it_is_the_same_as_read_for_the_first_time(store, tmp_path, block, monkeypatch):
    for module in ("columnar.tables", "extract.titles.title_table", "extract.titles.find_titles"):
        monkeypatch.setattr(f"polygraph.{module}._BLOCK", block)
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
        found = say(store, "so", former, tmp_path)
        assert plain(found) == plain(say(store, "so", None))
        found.save(tmp_path)
        former = Sayings.load(tmp_path)
        assert plain(former) == plain(found)
        n_links += len(found.naming().links)
    assert n_links > 60


def test_only_documents_that_may_say_something_else_are_read_again(store, monkeypatch):
    read, real = [], kept_names.read_document

    def watched(texts, titles):
        read.append(texts[0])
        return real(texts, titles)

    monkeypatch.setattr(kept_names, "read_document", watched)
    put(store, "a", "Log", ["He saw the Grey Reef."])
    put(store, "b", "Letter", ["He saw a reef, all Grey."])
    put(store, "c", "Diary", ["He saw nothing."])
    former = say(store, "so", None)
    read.clear()
    put(store, "d", "Grey Reef", ["A rock."])
    former = say(store, "so", former)
    # The second has both words, though not the name.
    assert read == ["He saw the Grey Reef.", "He saw a reef, all Grey.", "A rock."]
    read.clear()
    with store.transaction():
        store.documents.remove("d")
    former = say(store, "so", former)
    assert read == ["He saw the Grey Reef."]
    read.clear()
    say(store, "so", former)
    assert read == []
    say(store, "otherwise", former)
    assert len(read) == 3


def test_an_index_without_passages_says_nothing(store):
    put(store, "a", "Halcyon", [])
    found = say(store, "so", None)
    assert found.n_documents == 0
    assert found.naming().keys.tolist() == []
    assert say(store, "so", found).n_documents == 0
