"""Token counts that are stored with the chunks, so that packing them opens no tokenizer."""

from polygraph.config import Settings
from polygraph.records import Span
from polygraph.retrieve.steps import chunk_evidence
from polygraph.text.tokens import count_tokens
from polygraph.workspace.index import Index


def built(folder, hashed_models):
    for name, text in {"a": "Mara Quill built the Skerry Light.", "b": "Old Tobin rowed home. " * 30}.items():
        (folder / f"{name}.txt").write_text(text)
    index = Index.open(folder / "index", settings=Settings(chunk_tokens=32), models=hashed_models())
    index.add(folder / "a.txt", folder / "b.txt", methods=["bm25"])
    return index


def test_a_stored_count_is_that_of_the_passage_as_it_is_packed(tmp_path, hashed_models):
    with built(tmp_path, hashed_models) as index:
        snapshot = index.snapshot()
        chunks = snapshot.chunks(range(snapshot.n_chunks))
        headings = snapshot.headings([c.document for c in chunks])
        packed = chunk_evidence(chunks, [0.0] * len(chunks), [""] * len(chunks), headings)
        assert len(chunks) > 2
        assert snapshot.passage_tokens([c.id for c in chunks]) == {e.id: count_tokens(e.text) for e in packed}


def test_spans_cover_whole_chunks_in_the_order_asked_for(tmp_path, hashed_models):
    with built(tmp_path, hashed_models) as index:
        snapshot = index.snapshot()
        for _ in range(2):  # read, then kept
            spans = snapshot.spans(["b.txt:1", "none:0", "a.txt:0", "b.txt:1"])
            assert list(spans) == ["b.txt:1", "a.txt:0"]
            one, other = snapshot.chunks_by_id(list(spans))
            assert spans["b.txt:1"] == Span("b.txt", "b.txt:1", one.start, one.end)
            assert spans["a.txt:0"] == Span("a.txt", "a.txt:0", other.start, other.end)


def test_counts_go_with_their_document(tmp_path, hashed_models):
    with built(tmp_path, hashed_models) as index:
        index.remove("b.txt")
        snapshot = index.snapshot()
        assert set(snapshot.passage_tokens(["a.txt:0", "b.txt:0"])) == {"a.txt:0"}
