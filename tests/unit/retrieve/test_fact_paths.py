"""Chains of facts from a question to the passages that an answer cites."""

from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import pytest

from polygraph.errors import MissingLayer
from polygraph.records import Citation
from polygraph.retrieve.fact_paths import MAX_HOPS, fact_paths
from polygraph.store.snapshot import Snapshot
from polygraph.testing.small_indexes import hashed_models, small_indexes


@pytest.fixture
def models():
    return hashed_models()


@pytest.fixture
def index(models):
    with closing(Snapshot(small_indexes(models)["all"])) as snapshot:
        yield snapshot


def cited(index, document, n=1):
    chunk = index.chunks_of(document)[0]
    return Citation(
        n=n, document=document, chunk=chunk.id, start=chunk.start, end=chunk.end, quote=chunk.text, title=""
    )


def test_a_passage_that_mentions_the_entity_of_the_question_is_reached_by_a_fact_that_it_states(
    index, models
):
    (path,) = fact_paths("Who is Mara Quill?", [cited(index, "letter.txt")], index, models)

    assert path.named
    assert path.start == "Mara Quill"
    assert path.facts[-1].chunk == path.chunk
    assert "Mara Quill" in path.text


def test_the_last_fact_is_the_one_that_the_quote_is_about(index, models):
    chunk = index.chunks_of("log.txt")[0]
    rows = sorted({n for e in range(index.n_entities) for n in (r.n for r in index.relations_at([e]))})
    relations = {r.id: r for r in index.relations(rows).values()}
    said = {d.text for r in relations.values() for d in r.descriptions if d.chunk == chunk.id}
    assert len(said) > 1
    for quote in said:
        (path,) = fact_paths(
            "What became of the Grey Reef?", [replace(cited(index, "log.txt"), quote=quote)], index, models
        )
        assert quote in [d.text for d in relations[path.facts[-1].relation].descriptions]


def test_a_passage_without_the_entity_is_reached_over_what_both_mention(index, models):
    (path,) = fact_paths("What became of the Grey Reef?", [cited(index, "letter.txt")], index, models)

    assert path.start == "Grey Reef"
    assert path.end != "Grey Reef"
    ends = [set(fact.relation.split(" | ")) for fact in path.facts]
    assert all(a & b for a, b in pairwise(ends))
    assert 1 <= len(path.facts) <= MAX_HOPS + 1
    assert path.end.casefold() in index.chunks_by_id([path.chunk])[0].text.casefold()


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("What became of the Grey Reef?", "letter.txt"),
        ("Who is Mara Quill?", "letter.txt"),
        ("Who is Mara Quill?", "log.txt"),
    ],
)
def test_each_fact_leads_from_one_entity_to_another(index, models, question, document):
    (path,) = fact_paths(question, [cited(index, document)], index, models)

    here = path.start
    for fact in path.facts:
        entities = index.entities(sorted(index.entity_rows(fact.relation.split(" | ")).values()))
        assert {here, fact.to} == {entity.name for entity in entities}
        assert here != fact.to
        here = fact.to
    assert path.end in {path.start, *(fact.to for fact in path.facts)}


def test_there_is_a_path_for_each_citation_in_their_order(index, models):
    citations = [cited(index, d, n) for d, n in (("log.txt", 2), ("letter.txt", 1), ("log.txt", 2))]

    paths = fact_paths("Who is Old Tobin?", citations, index, models)

    assert [(p.n, p.chunk) for p in paths] == [(c.n, c.chunk) for c in citations]


def test_a_question_without_names_begins_at_the_nearest_entities(index, models):
    (path,) = fact_paths("what happened at night", [cited(index, "log.txt")], index, models)

    assert path.start
    assert not path.named


def test_a_passage_outside_the_filter_is_not_reached(index, models):
    citation = cited(index, "letter.txt")

    (path,) = fact_paths("Who is Mara Quill?", [citation], index.where({"part": "sealed"}), models)

    assert path.text == f"no chain of at most {MAX_HOPS} facts leads from the question to this passage"


def test_an_index_without_mentions_names_the_missing_layer(index, models, monkeypatch):
    monkeypatch.setattr(type(index), "layers", frozenset({"chunks", "graph", "entity_vectors"}))

    with pytest.raises(MissingLayer, match="mentions"):
        fact_paths("Who?", [cited(index, "log.txt")], index, models)


def test_no_citation_needs_no_search(index, models):
    assert fact_paths("Who is Mara Quill?", [], index, models) == ()
