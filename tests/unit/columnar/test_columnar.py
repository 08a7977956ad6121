import random

import numpy as np
import pytest

from polygraph.columnar import POOLS, TABLES, Columns, Gathering

WORDS = ["Mara Quill", "Øresund", "", "天文台", "met", "\ud800", "Halcyon"]


def draft(document, seed):
    """Rows of one document that hold what they should."""
    chance = random.Random(f"{document} {seed}")
    found = {}
    for table, columns in TABLES.items():
        n = chance.randint(0, 4)
        found[table] = {
            column: [
                chance.choice([None, *WORDS[:5]]) if kind in POOLS else chance.randint(-1, 3)
                for _ in range(n)
            ]
            for column, kind in columns.items()
        }
    texts = [f"{chance.choice(WORDS)} {i}" for i in range(chance.randint(0, 3))]
    found["texts"] = {"quality": [chance.random() for _ in texts]}
    return found, texts


def gathered(documents, folder=None):
    gathering = Gathering(folder)
    for document, seed in sorted(documents.items()):
        gathering.add(document, *draft(document, seed))
    return gathering.columns()


def plain(columns):
    """All rows with their strings, whatever the numbers of these are."""
    found = {"documents": columns.documents}
    for table, kinds in TABLES.items():
        found[f"{table} offsets"] = columns[table].offsets.tolist()
        for column, kind in kinds.items():
            values = columns[table][column].tolist()
            if kind in POOLS:
                values = [None if v < 0 else columns.pools[kind][v] for v in values]
            found[f"{table} {column}"] = values
    n = len(columns["texts"])
    return found | {"texts": columns.texts(range(n), columns.text_ends())}


def strings(columns):
    return {pool: sorted(columns.pools[pool]) for pool in POOLS}


def test_taking_documents_out_and_in_is_the_same_as_gathering_what_is_left(tmp_path):
    chance = random.Random(5)
    for _ in range(60):
        before = dict.fromkeys(chance.sample("abcdefg", chance.randint(0, 6)), 0)
        gone = chance.sample("abcdefgh", 2)
        new = dict.fromkeys(chance.sample("abcdefgh", chance.randint(0, 3)), 1)
        found = gathered(before).replaced(gone, gathered(new), tmp_path)
        wanted = gathered({**{d: s for d, s in before.items() if d not in gone}, **new})
        assert plain(found) == plain(wanted)
        assert strings(found) == strings(wanted)


def test_what_is_saved_is_read_again(tmp_path):
    for documents in ({}, {"a": 0}, dict.fromkeys("abcdef", 3)):
        columns = gathered(documents)
        columns.save(tmp_path)
        assert plain(Columns.load(tmp_path)) == plain(columns)


def test_what_does_not_fit_into_memory_is_the_same_from_files(tmp_path, monkeypatch):
    documents = dict.fromkeys("abcdefghij", 2)
    wanted = plain(gathered(documents))
    monkeypatch.setattr("polygraph.columnar.builder._HELD", 300)
    monkeypatch.setattr("polygraph.columnar.dataset._BLOCK", 3)
    spilt, saved = tmp_path / "spilt", tmp_path / "saved"
    spilt.mkdir()
    saved.mkdir()
    columns = gathered(documents, spilt)
    assert (spilt / "names.written").stat().st_size > 0
    assert plain(columns) == wanted
    columns.save(saved)
    assert plain(Columns.load(saved)) == wanted
    again = Columns.load(saved).replaced("bd", gathered(dict.fromkeys("dk", 3)), spilt)
    assert plain(again) == plain(gathered({**dict.fromkeys("acefghij", 2), **dict.fromkeys("dk", 3)}))


def test_references_are_counted_from_the_first_row_of_all():
    gathering = Gathering()
    names = {c: [0, 0] if kind not in POOLS else [None, None] for c, kind in TABLES["names"].items()}
    for document in ("a", "b"):
        mentions = {"name": [1, -1], "type": [None, None], "n": [1, 1], "start": [0, 0], "text": [-1, -1]}
        gathering.add(document, {"names": names, "mentions": mentions}, ())
    columns = gathering.columns()
    assert columns["mentions"].shifted("name", columns["names"]).tolist() == [1, -1, 3, -1]
    assert columns["mentions"].shifted("name", columns["names"], np.array([2, 0, 1])).tolist() == [3, 1, -1]
    assert columns["mentions"].document().tolist() == [0, 0, 1, 1]
    assert columns["mentions"]["n"].dtype == np.int32


def test_documents_must_come_in_order():
    gathering = Gathering()
    gathering.add("b", {}, ())
    with pytest.raises(ValueError, match="'a' must come after 'b'"):
        gathering.add("a", {}, ())
