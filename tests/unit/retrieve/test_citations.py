"""Citations of evidence that rests on many passages."""

import time

import pytest

from polygraph.records import Chunk, Evidence, Span
from polygraph.retrieve import citations
from polygraph.retrieve.citations import check_citations
from polygraph.retrieve.cited_sentences import supporting_sentence
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

BOATS = ("Heron", "Curlew", "Dunlin", "Plover", "Sanderling", "Whimbrel", "Redshank", "Knot")


@pytest.fixture(scope="module")
def index(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("many")
    files = {
        f"{n:02}.txt": f"The {BOATS[n % 8]} left berth {n + 20} with {n + 300} crates of herring."
        for n in range(60)
    }
    files["99.txt"] = "Isolde Marrow repaired the sluice for 1,250 crowns."
    with Index.open(base / "index", models=hashed_models()) as opened:
        opened.add(write_files(base / "papers", files))
        yield opened


@pytest.fixture
def report(index):
    ids = [f"{n:02}.txt:0" for n in (*range(60), 99)]
    spans = tuple(index.snapshot().spans(ids).values())
    assert len(spans) == 61
    return Evidence(kind="report", id="0-a", text="Boats and the sluice.", score=1.0, spans=spans)


def test_the_passage_that_supports_a_claim_is_found_among_many(index, report):
    text = "Isolde Marrow repaired the sluice for 1,250 crowns [1]. The Curlew left with 349 crates [1]."
    checked = check_citations(text, [report], index.snapshot())
    assert [c.document for c in checked.citations] == ["99.txt", "49.txt"]
    assert checked.notes == ()


def test_what_no_passage_of_many_says_is_removed(index, report):
    checked = check_citations(
        "Isolde Marrow repaired the sluice for 1,520 crowns [1].", [report], index.snapshot()
    )
    assert not checked.citations
    assert "the number 1,520" in checked.notes[0]


def test_a_number_of_another_passage_supports_nothing(index, report):
    checked = check_citations(
        "The Knot left berth 27 with 1,250 crates of herring [1].", [report], index.snapshot()
    )
    assert not checked.citations
    assert "the number 1,250" in checked.notes[0]


def test_few_passages_are_read_for_a_report(index, report, monkeypatch):
    snapshot = index.snapshot()
    read = []
    chunks_by_id = type(snapshot).chunks_by_id

    def spy(self, ids):
        read.extend(ids)
        return chunks_by_id(self, ids)

    monkeypatch.setattr(type(snapshot), "chunks_by_id", spy)
    check_citations("Isolde Marrow repaired the sluice [1]. It cost 1,250 crowns [1].", [report], snapshot)
    assert len(set(read)) <= 16


def test_more_hits_are_read_where_few_rest_behind_the_report(index, report, monkeypatch):
    monkeypatch.setattr(citations, "_HITS", (1, 256))
    text = "Isolde Marrow repaired the sluice for 1,250 crowns [1]. The Curlew left with 349 crates [1]."
    checked = check_citations(text, [report], index.snapshot())
    assert [c.document for c in checked.citations] == ["99.txt", "49.txt"]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        # "crate" and "herring" stand in other words of the first sentence, which has neither.
        (["Crateful and herringbone. Two crates. Herring in crates."], (0, "Herring in crates.")),
        (["Crates. More crates."], (0, "Crates.")),
        (["Two crates.", "Herring in a crate.", "Crates of herring."], (1, "Herring in a crate.")),
        (["Nothing. Else."], (0, "Nothing.")),
    ],
)
def test_the_first_of_the_sentences_with_most_words_supports_a_claim(texts, found):
    chunks = {
        f"d:{n}": Chunk(id=f"d:{n}", document="d", ordinal=n, start=0, end=len(text), text=text, n_tokens=9)
        for n, text in enumerate(texts)
    }
    spans = tuple(Span("d", chunk.id, chunk.start, chunk.end) for chunk in chunks.values())
    item = Evidence(kind="report", id="0-a", text="", score=1.0, spans=spans)
    chunk, start, end = supporting_sentence("The crates of herring.", item, chunks, min_support=0.0)
    assert (chunk.ordinal, chunk.text[start:end]) == found


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("He signed off at Horta on 26 November 1908.", "Signed off: Farrugia."),
        ("This was on 26 November at Horta.", "## 26 November 1908, Horta"),
    ],
)
def test_a_heading_supports_a_claim_only_where_no_other_sentence_shares_a_word(claim, found):
    text = "## 26 November 1908, Horta\n\nCame to anchor. Signed off: Farrugia."
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=20)
    item = Evidence(kind="chunk", id="d:0", text=text, score=1.0, spans=(Span("d", "d:0", 0, len(text)),))
    _, start, end = supporting_sentence(claim, item, {"d:0": chunk}, min_support=0.0)
    assert text[start:end] == found


def test_a_denial_is_quoted_with_a_sentence_that_denies():
    text = "The mate declared: The master had taken it back. He had not taken it back before."
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=20)
    item = Evidence(kind="chunk", id="d:0", text=text, score=1.0, spans=(Span("d", "d:0", 0, len(text)),))
    found = supporting_sentence("Moe had not taken it back.", item, {"d:0": chunk}, min_support=0.0)
    assert text[found[1] : found[2]] == "He had not taken it back before."


@pytest.mark.parametrize("text", [" " * 100_000, "[1" + " " * 100_000, "[1, " * 30_000])
def test_a_reply_of_white_space_and_brackets_is_checked_in_linear_time(index, report, text):
    begin = time.process_time()
    checked = check_citations(f"The lamp{text}was lit [1].", [report], index.snapshot())
    assert time.process_time() - begin < 3  # a quadratic search takes minutes
    assert checked.text.startswith("The lamp")
