"""Rows that are kept in memory while an index is open."""

from polygraph.store.kept_rows import KeptRows
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index


class Source:
    """Squares, and which of them were asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, keys):
        self.asked += keys
        return {key: key * key for key in keys if key >= 0}


def test_a_key_is_fetched_once_and_unknown_ones_are_left_out():
    kept, source = KeptRows(100), Source()
    assert list(kept.read([3, 1, 3, -1], source).items()) == [(3, 9), (1, 1)]
    assert list(kept.read([1, 2, 3], source).items()) == [(1, 1), (2, 4), (3, 9)]
    assert source.asked == [3, 1, -1, 2]


def test_what_was_asked_for_lately_stays_and_the_rest_goes():
    kept, source = KeptRows(20), Source()
    for n in range(100):
        kept.read([0, n], source)
    assert source.asked.count(0) == 1
    source.asked.clear()
    kept.read(range(100), source)
    assert len(source.asked) >= 80


def test_large_values_count_for_more():
    kept, source = KeptRows(20, lambda value: value), Source()
    kept.read([3, 2, 1], source)  # 9, 4 and 1
    kept.read([4], source)
    source.asked.clear()
    kept.read([3], source)
    assert source.asked == [3]


def test_a_new_state_of_an_index_is_read_afresh_and_a_filter_sees_its_own(tmp_path, hashed_models):
    for name, text in {"a": "Mara Quill lit the lamp. Old Tobin slept.", "b": "Mara Quill hid it."}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    with Index.open(tmp_path / "index", models=hashed_models(scripted_chat())) as index:
        index.add(tmp_path / "a.txt", tmp_path / "b.txt")
        first = index.snapshot()
        everything = first.entities(range(first.n_entities))
        within = first.where({"id": first.chunks([0])[0].document}).entities(range(first.n_entities))
        assert [e.id for e in within] == [e.id for e in everything]
        assert within != everything
        assert first.entities(range(first.n_entities)) == everything
        derived = first.kept("squares", 9).read([3], lambda keys: {n: n * n for n in keys})
        assert first.kept("squares", 9).read([3], lambda _: {}) == derived
        assert first.where({"id": "a*"}).kept("squares", 9).read([3], lambda _: {}) == {}
        (tmp_path / "a.txt").write_text("Mara Quill sold the lamp.")
        index.add(tmp_path / "a.txt")
        second = index.snapshot()
        assert [c.text for c in second.chunks(range(2))] == [
            "Mara Quill sold the lamp.",
            "Mara Quill hid it.",
        ]
        assert second.entities(range(second.n_entities)) != everything
