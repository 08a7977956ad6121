"""Noun phrases without a parser, and the index that is made of them."""

import json

import pytest

from polygraph import Index
from polygraph.extract.nlp import dependency_trees
from polygraph.extract.nlp import noun_phrases as fast
from polygraph.extract.nlp.noun_phrases import MAX_WORD, MAX_WORDS, noun_phrase_spans
from polygraph.extract.nlp.workers import extract_parallel
from polygraph.records import Chunk, Window
from polygraph.retrieve import METHODS

needs_tagger = pytest.mark.skipif(not dependency_trees.installed(), reason="the tagger is not installed")

SHORT = {
    "A": "ADJ",
    "N": "NOUN",
    "P": "PROPN",
    "V": "VERB",
    "D": "DET",
    "H": "PUNCT",
    "S": "PART",
    "X": "PUNCT",
}


def found(*tagged):
    """Phrases of words given as ``word/part``; a hyphen joins what stands around it."""
    text, tokens = "", []
    for each in tagged:
        word, _, part = each.rpartition("/")
        joined = word == "-" or text.endswith("-")
        text += ("" if joined or not text else " ") + word
        tokens.append((len(text) - len(word), len(text), SHORT[part]))
    return [text[a:b] for a, b, _ in noun_phrase_spans(text, tokens)]


def window(text, document="d", title="A title"):
    chunk = Chunk(
        id=f"{document}:0",
        document=document,
        ordinal=0,
        start=0,
        end=len(text),
        text=text,
        n_tokens=len(text) // 4,
    )
    return Window(id=f"{document}@0", document=document, ordinal=0, title=title, chunks=(chunk,), text=text)


def test_names_compounds_and_hyphens_are_kept_and_bare_nouns_are_not():
    assert found("Halcyon/P") == ["Halcyon"]
    assert found("reef/N") == []
    assert found("grey/A", "reef/N") == ["grey reef"]
    assert found("lamp/N", "oil/N") == ["lamp oil"]
    assert found("light/N", "-/H", "ship/N") == ["light-ship"]
    assert found("Old/A", "Tobin/P", "saw/V", "the/D", "long/A", "grey/A", "reef/N") == [
        "Old Tobin",
        "long grey reef",
    ]


def test_a_phrase_ends_in_a_noun_and_possessors_are_phrases_of_their_own():
    assert found("Skerry/P", "Light/P", "old/A") == ["Skerry Light"]
    assert found("Quill/P", "'s/S", "house/N") == ["Quill"]
    assert found("old/A", "-/H") == []
    assert found("the/D", "-/H", "reef/N") == []  # a dash, not a hyphen within a phrase


def test_a_word_that_is_too_long_is_no_part_of_a_phrase():
    word = "x" * (MAX_WORD + 1)
    assert found("grey/A", "lamp/N", f"{word}/N", "sea/N", "fog/N") == ["grey lamp", "sea fog"]
    assert found(f"{'x' * MAX_WORD}/N", "fog/N") == [f"{'x' * MAX_WORD} fog"]


def test_a_run_that_is_too_long_is_a_list():
    assert len(found(*["sea/N"] * MAX_WORDS)) == 1
    assert found(*["sea/N"] * (MAX_WORDS + 1)) == []


@needs_tagger
def test_rows_are_phrases_with_their_places_and_nothing_else():
    text = "Mara Quill built the old light-ship.\nThe Old Light-Ship sank off Sallow Bay. Mara Quill wept."
    (row,) = fast.extract([window(text)])
    assert row.status == "ok"
    assert row.relations == ()
    places = {e.name.lower(): [text[s.start : s.end] for s in e.spans] for e in row.entities}
    assert places["mara quill"] == ["Mara Quill", "Mara Quill"]
    assert places["old light-ship"] == ["old light-ship", "Old Light-Ship"]
    assert "sallow bay" in places
    assert {(e.type, e.description) for e in row.entities} == {("", "")}


@needs_tagger
@pytest.mark.slow
def test_processes_read_the_same_phrases():
    tasks = (
        [("Mara Quill built the Skerry Light.", "en", "")],
        [("Der alte Hafen. Der alte Hafen.", "de", "")],
    )
    assert list(extract_parallel(tasks, 2, fast.extract_noun_phrases)) == [
        # What crosses to a process and back is JSON, which has no tuples.
        json.loads(json.dumps(fast.extract_noun_phrases(task)))
        for task in tasks
    ]


def test_other_languages_are_read_by_capitals_and_recurring_phrases():
    notes = []
    text = (
        "Der alte Hafen von Bergen liegt still. Die Mutter von Anna Holm wohnt am Hafen, und der alte Hafen ist "
        "ihr lieb. Es ist noch kalt, aber sie geht jeden Tag mit dem Hund zu dem alten Turm."
    )
    (row,) = fast.extract([window(text)], notes=notes)
    assert any("Anna Holm" in e.name for e in row.entities)
    assert any("not English (de)" in note for note in notes)


def test_a_text_that_cannot_be_read_does_not_end_the_others(monkeypatch):
    monkeypatch.setattr(dependency_trees, "installed", lambda: False)
    monkeypatch.setattr(fast, "extract_keywords", lambda *a: 1 / 0)
    ((entities, relations, problem),) = fast.extract_noun_phrases([("text", "en", "")])
    assert (entities, relations) == ([], [])
    assert problem.startswith("ZeroDivisionError")


def test_a_fast_index_serves_every_method_and_goes_on_as_it_began(papers, tmp_path, call):
    place = tmp_path / "i.index"
    done = call("index", str(papers), "--index", str(place), "--extractor", "fast", "--json")
    assert done.code == 0
    with Index.open(place, embedder="hash", name_embedder="hash", reranker="none", offline=True) as index:
        status = index.status()
        assert status["extractor"].startswith("fast:6:")
        assert status["extractor"].endswith(":f2-d1-ego-p40")
        assert status["counts"]["entities"] > 0
        for method in METHODS:
            if ":" not in method:
                assert index.retrieve("What did Tobias Wren do?", method).question
        (papers / "more.txt").write_text("Tobias Wren left Sallow Bay on the Halcyon.", encoding="utf-8")
        report = index.add(papers)
        assert (report.added, report.unchanged) == (1, 5)
        assert index.status()["extractor"] == status["extractor"]
        index.export(tmp_path / "out")
    with Index.open(
        tmp_path / "j.index", embedder="hash", name_embedder="hash", reranker="none", offline=True
    ) as copy:
        copy.import_(tmp_path / "out")
        copy.export(tmp_path / "again")
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_updating_a_fast_index_gives_what_a_clean_build_gives(papers, tmp_path):
    def built(folder):
        return Index.open(folder, embedder="hash", name_embedder="hash", reranker="none", offline=True)

    extra = papers / "more.txt"
    extra.write_text("Tobias Wren left Sallow Bay on the Halcyon.", encoding="utf-8")
    with built(tmp_path / "a.index") as index:
        index.add(papers, extractor="fast")
        index.remove("more.txt")
        index.export(tmp_path / "a")
    extra.unlink()
    with built(tmp_path / "b.index") as index:
        index.add(papers, extractor="fast")
        index.export(tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_phrases_that_stand_once_only_leave_an_empty_graph_and_a_note(tmp_path):
    (tmp_path / "one.txt").write_text("Mara Quill built the Skerry Light.", encoding="utf-8")
    with Index.open(
        tmp_path / "i.index", embedder="hash", name_embedder="hash", reranker="none", offline=True
    ) as index:
        report = index.add(tmp_path / "one.txt", extractor="fast")
        assert report.counts["entities"] == 0
        assert any("were pruned" in note for note in report.notes)
        assert index.ask("Who built the Skerry Light?", "naive").citations
