"""The steps that methods are composed of."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Chunk, Span
from polygraph.retrieve.evidence import spans_of, within_filter
from polygraph.retrieve.question_names import entities_in_question
from polygraph.retrieve.steps import (
    RankedPassages,
    chunk_evidence,
    embed_at_once,
    embed_names,
    embed_question,
    hits_as_json,
    ordered_chunks,
    pack_chunks,
    reciprocal_rank_fusion,
    rerank,
)
from polygraph.store.vectors import Hit
from polygraph.text.normalize import normalize_name
from polygraph.text.passage import Heading


class Names:
    """An index of which only the names are asked."""

    def __init__(self, *names):
        self.names = names

    def entities_named(self, wanted):
        found = {}
        for name in wanted:
            rows = [n for n, own in enumerate(self.names) if normalize_name(own) == normalize_name(name)]
            if rows:
                found[name] = rows
        return found


class Chunks:
    """An index of chunks only."""

    scope = None
    documents_allowed = None

    def __init__(self, *texts):
        self.all = [
            Chunk(id=f"d:{n}", document="d", ordinal=n, start=0, end=len(t), text=t, n_tokens=1)
            for n, t in enumerate(texts)
        ]

    def chunks(self, ns):
        return [self.all[n] for n in ns]

    def chunk_ids(self, ns):
        return [self.all[n].id for n in ns]

    def chunks_by_id(self, ids):
        known = {c.id: c for c in self.all}
        return [known[i] for i in ids if i in known]

    def chunk_rows(self, ids):
        return {c.id: c.ordinal for c in self.chunks_by_id(ids)}

    def spans(self, ids):
        return {c.id: Span(c.document, c.id, c.start, c.end) for c in self.chunks_by_id(ids)}

    def passage_tokens(self, ids):
        return {}

    def headings(self, documents):
        return dict.fromkeys(documents, Heading("Title"))


class Lengths:
    """A reranker that prefers long texts."""

    name = "lengths"
    local = True

    def score(self, question, texts):
        return np.array([float(len(t)) for t in texts])


def models(reranker=None):
    embedder = HashEmbedder()
    return Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=reranker, calls=Calls(None))


def test_fusion_gives_the_sums_of_the_formula():
    # By hand: 7 is first and second: 1/61 + 1/62; 8 is second and first: the same; 9 is third once: 1/63.
    found = reciprocal_rank_fusion([[7, 8, 9], [8, 7]])
    assert [h.n for h in found] == [7, 8, 9]
    assert found[0].score == found[1].score == pytest.approx(1 / 61 + 1 / 62, abs=1e-8)
    assert found[2].score == pytest.approx(1 / 63, abs=1e-8)


def test_fusion_breaks_ties_by_number_and_follows_weights_and_k():
    assert [h.n for h in reciprocal_rank_fusion([[5], [3]])] == [3, 5]
    assert [h.n for h in reciprocal_rank_fusion([[5], [3]], weights=[2.0, 1.0])] == [5, 3]
    assert reciprocal_rank_fusion([[5]], k=0)[0].score == 1.0
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([[], []]) == []
    with pytest.raises(ValueError, match="zip"):
        reciprocal_rank_fusion([[1]], weights=[1.0, 2.0])


def test_the_longest_name_wins_where_names_overlap():
    index = Names("Quill", "Mara Quill", "Skerry", "Skerry Light", "Light")
    found = entities_in_question("Did Mara Quill light the Skerry Light?", index)
    assert found == [("Mara Quill", 1), ("light", 4), ("Skerry Light", 3)]


def test_all_entities_of_one_name_are_found_in_row_order():
    assert entities_in_question("Who is Tobin?", Names("Tobin", "Mara", "Tobin")) == [
        ("Tobin", 0),
        ("Tobin", 2),
    ]


def test_a_name_that_occurs_twice_is_found_twice():
    found = entities_in_question("Is Tobin the Tobin of the log?", Names("Tobin"))
    assert found == [("Tobin", 0), ("Tobin", 0)]


def test_names_do_not_begin_or_end_with_stop_words():
    assert entities_in_question("What is the Who?", Names("the Who", "What is", "is")) == []
    assert entities_in_question("", Names("a")) == entities_in_question("?!", Names("a")) == []


def test_names_with_apostrophes_points_and_digits_are_found():
    index = Names("O'Neil", "Dr. Sayle", "1871")
    found = [n for _, n in entities_in_question("Did Dr. Sayle meet O'Neil in 1871?", index)]
    assert set(found) >= {0, 2}


def test_a_very_long_question_is_searched_in_bounded_time():
    index = Names("Mara Quill")
    found = entities_in_question("Mara Quill " * 50_000, index)
    assert ("Mara Quill", 0) in found
    assert len(found) <= 100


def test_reranking_orders_the_head_and_leaves_the_tail():
    index = Chunks("a", "bbb", "cc", "dddd")
    hits = [Hit(n, 1.0 - n / 10) for n in range(4)]
    assert [h.n for h in rerank("q", hits, index, models(Lengths()), 3)] == [1, 2, 0, 3]
    assert rerank("q", hits, index, models(), 3) == hits
    assert rerank("q", [], index, models(Lengths()), 3) == []


class Counted(HashEmbedder):
    """An embedder at an endpoint, or on this machine, that counts its calls."""

    def __init__(self, *, local):
        super().__init__()
        self.local, self.instant, self.calls = local, False, []

    def embed(self, texts, kind):
        self.calls.append(list(texts))
        return super().embed(texts, kind)


@pytest.mark.parametrize("local", [False, True])
def test_groups_of_names_and_the_question_take_one_call_of_an_endpoint(local):
    embedder = Counted(local=local)
    together = Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    found = embed_at_once([["lamp", "sea"], [], ["tide"]], together, question="Who lit it?")
    assert len(embedder.calls) == (3 if local else 1)
    apart = [embed_names(["lamp", "sea"], models()), np.zeros((0, embedder.dimension))]
    apart += [embed_names(["tide"], models()), embed_question("Who lit it?", models())[None]]
    for one, other in zip(found, apart, strict=True):
        assert one.shape == other.shape
        assert np.allclose(one, other, atol=1e-3)


def test_questions_are_embedded_as_unit_vectors():
    vector = embed_question("Who lit the lamp?", models())
    assert vector.shape == (HashEmbedder().dimension,)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_spans_are_whole_chunks_each_once_in_the_order_given():
    index = Chunks("a", "bbb")
    assert [(s.chunk, s.start, s.end) for s in spans_of(["d:1", "d:0", "d:1", "none"], index)] == [
        ("d:1", 0, 3), ("d:0", 0, 1),
    ]  # fmt: skip


def test_packed_chunks_keep_the_whole_ranking_and_an_empty_result_has_a_reason():
    index = Chunks(*(f"text number {n}" for n in range(6)))
    hits = [Hit(n, 1.0) for n in range(6)]
    found = pack_chunks("q", "m", index, hits, ["why"] * 6, k=2, max_tokens=1_000)
    assert [e.id for e in found.evidence] == ["d:0", "d:1"]
    assert found.ranking == tuple(f"d:{n}" for n in range(6))
    assert found.context.startswith("[1] Title\ntext number 0")
    small = pack_chunks("q", "m", index, hits, ["why"] * 6, k=2, max_tokens=2)
    assert (small.evidence, small.context) == ((), "")
    assert "budget of 2 tokens" in small.empty_because
    index.scope, index.documents_allowed = {"year": "1871"}, frozenset({"d"})
    none = pack_chunks("q", "m", index, [], [], k=2, max_tokens=100, empty_because="no word is shared")
    assert none.empty_because.startswith("no word is shared; the filter")


def test_evidence_of_chunks_carries_title_score_and_place():
    (item,) = chunk_evidence(Chunks("abc").all, [0.5], ["why"], {})
    assert (item.text, item.score, item.why, item.document) == ("d\nabc", 0.5, "why", "d")
    assert json.loads(json.dumps(hits_as_json([Hit(0, 0.5)], Chunks("abc")))) == [["d:0", 0.5]]


def test_a_filter_that_excludes_every_document_is_the_reason_why_nothing_was_found():
    def index(documents, wider=None, **scope):
        return SimpleNamespace(scope=scope, documents_allowed=documents, wider_scope=wider or {})

    assert within_filter("the index holds no passages", index(None)) == "the index holds no passages"
    assert within_filter("no passage", index(frozenset(), author="Ada", year="1871")) == (
        "no document has author=Ada and year=1871"
    )
    assert within_filter("no passage", index(frozenset(), {"date": "*1871*"}, date="1871")) == (
        "no document has date=1871; some have date=*1871*"
    )
    assert within_filter("no entity matches", index(frozenset({"a"}), author="Ada")) == (
        "no entity matches; the filter author=Ada may exclude what would match"
    )


def test_ranked_passages_are_read_as_far_as_they_are_looked_at():
    read = []

    class Index(Chunks):
        def chunks_by_id(self, ids):
            read.extend(ids)
            return super().chunks_by_id(ids)

        def chunk_rows(self, ids):
            return {c.id: c.ordinal for c in super().chunks_by_id(ids)}

    index = Index(*(f"text number {n}" for n in range(100)))
    whys = {f"d:{n}": f"why {n}" for n in (7, 3, 1_000, *range(10, 90))}
    known = [i for i in whys if i != "d:1000"]
    everything = list(ordered_chunks(index.all[7:8] + index.all[3:4] + index.all[10:90], whys, index))
    read.clear()
    passages = RankedPassages(whys, index)
    assert (len(passages), list(passages.ids), read) == (82, known, [])
    assert list(passages[:3]) == everything[:3]
    assert read == known[:3]
    assert passages[3] == everything[3]
    assert passages[31] == everything[31]
    assert read == known[:32]
    assert passages[-1] == everything[-1]
    assert list(passages) == everything
    assert read == known
    with pytest.raises(IndexError):
        passages[82]
    assert list(RankedPassages({}, index)) == list(RankedPassages({}, index)[:2]) == []
