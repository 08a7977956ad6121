"""Real graphs, made by real models and programs, as extraction rows of an index: nothing of them is lost uncounted."""

import gzip
import json
from collections import Counter
from functools import cache
from math import fsum
from pathlib import Path

import pytest

from polygraph import Index
from polygraph.indexing.exchange.importers.align_text_units import NO_UNIT, references_by_unit
from polygraph.indexing.exchange.importers.convert import convert, fingerprint
from polygraph.indexing.exchange.importers.detect import detect_format, read_graph
from polygraph.ingest.chunk import chunk
from polygraph.retrieve import METHODS
from polygraph.store.database import SqliteStore
from polygraph.text.normalize import normalize_name
from polygraph.text.sentences import sentence_spans

DATA = Path(__file__).parents[3].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no data at {DATA}")

# As the READMEs of the data give them; `lost` is what cannot be a relation or an entity of any index.
README = {
    "graph-christmas-carol/msgraphrag-tests": ("msgraphrag", 529, 978, 42, 0),
    "graph-christmas-carol/msgraphrag-gpt4turbo": ("msgraphrag", 159, 213, 42, 0),
    "graph-christmas-carol/nano-graphrag": ("nano-graphrag", 374, 186, 42, 1),
    "graph-operation-dulce/v3": ("msgraphrag", 39, 107, 5, 0),
    "graph-operation-dulce/v0": ("msgraphrag", 89, 373, 50, 0),
    "graph-lenny": ("lightrag", 3442, 3782, 0, 0),
    "musique-openie": ("openie", 17607, 17174, None, 22),
}
QUICK = {"graph-operation-dulce/v3", "graph-christmas-carol/nano-graphrag"}
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in README]
PARQUET = [name for name, row in README.items() if row[0] == "msgraphrag"]


def count(texts):
    """About as many tokens as a real tokenizer finds, without loading one."""
    return [len(text.split()) * 4 // 3 for text in texts]


def fresh(name):
    graph = read_graph(DATA / name, detect_format(DATA / name))
    return graph, list(convert(graph, lambda document: chunk(document, count)))


@cache
def kept(name):
    """The same, read and converted once for all tests; none of them changes it."""
    return fresh(name)


def read(name):
    if name in PARQUET:
        pytest.importorskip("pyarrow")
    return kept(name)[0]


def converted(name):
    return kept(name)[1]


def offline(folder):
    return Index.open(folder, embedder="hash", name_embedder="hash", reranker="none", offline=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_real_graph_has_the_counts_of_its_readme(name):
    program, entities, relations, units, lost = README[name]
    graph = read(name)
    assert graph.program == program
    assert (graph.counts["entities"], graph.counts["relations"]) == (entities, relations)
    assert graph.counts.get("text_units") == units
    left_out = Counter(
        "entity" if what.startswith("entities") else "relation" if what.startswith("relations") else "other"
        for what, loss in graph.losses.items()
        for _ in range(loss.n)
    )
    assert len(graph.entities) + left_out["entity"] == entities
    assert len(graph.relations) + left_out["relation"] == relations
    assert left_out["entity"] + left_out["relation"] == lost


@pytest.mark.parametrize("name", NAMES)
def test_every_entity_and_all_strength_of_a_real_graph_is_in_the_rows(name):
    graph = read(name)
    documents = converted(name)
    extractions = [extraction for each in documents for extraction in each.extractions]
    rows = {row.name.casefold() for extraction in extractions for row in extraction.entities}
    assert rows == {e.name.casefold() for e in graph.entities} | {
        end.casefold() for r in graph.relations for end in (r.source, r.target)
    }
    found, wanted = {}, {}
    for extraction in extractions:
        for row in extraction.relations:
            key = (row.source.casefold(), row.target.casefold(), row.predicate)
            found.setdefault(key, []).append(row.strength)
    for relation in graph.relations:
        key = (relation.source.casefold(), relation.target.casefold(), relation.predicate)
        wanted.setdefault(key, []).append(relation.strength)
    assert found.keys() == wanted.keys()
    assert all(fsum(found[key]) == pytest.approx(fsum(wanted[key])) for key in wanted)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_a_real_graph_stand_where_they_say(name):
    read(name)
    for each in converted(name):
        text = each.document.text
        chunks = {c.id: c for c in each.chunks}
        assert [c.text for c in each.chunks] == [text[c.start : c.end] for c in each.chunks]
        assert [c for window in each.windows for c in window.chunks] == list(each.chunks)
        for window, extraction in zip(each.windows, each.extractions, strict=True):
            mine = {c.id for c in window.chunks}
            names = {row.name for row in extraction.entities}
            for row in extraction.entities:
                assert row.spans
                for span in row.spans:
                    home = chunks[span.chunk]
                    assert span.chunk in mine
                    assert home.start <= span.start < span.end <= home.end
            for relation in extraction.relations:
                assert relation.strength > 0
                assert {relation.source, relation.target} <= names
                assert set(relation.chunks) <= mine
                assert relation.chunks


@pytest.mark.parametrize("name", [n for n in PARQUET if n != "graph-operation-dulce/v3"])
@pytest.mark.slow
def test_windows_are_the_text_units_to_the_nearest_chunk(name):
    graph = read(name)
    (each,) = converted(name)
    assert len(each.windows) == len(graph.units)
    assert not [note for note in graph.import_notes() if "text units" in note]


@pytest.mark.slow
def test_descriptions_are_those_of_the_source():
    name = "graph-christmas-carol/msgraphrag-gpt4turbo"
    graph = read(name)
    said = {}
    for extraction in converted(name)[0].extractions:
        for row in extraction.entities:
            said.setdefault(row.name.casefold(), []).append(row.description)
    for entity in graph.entities:
        joined = " ".join(" ".join(said[entity.name.casefold()]).split())
        assert all(sentence in joined for sentence in sentences_of(entity.descriptions))


def sentences_of(descriptions):
    """The sentences of a description may rest on several chunks of its window."""
    return [" ".join(text[a:b].split()) for text in descriptions for a, b in sentence_spans(text)]


def test_fragments_of_a_description_are_dealt_out_and_none_is_lost():
    name = "graph-christmas-carol/nano-graphrag"
    graph = read(name)
    rows = [row for each in converted(name) for x in each.extractions for row in x.entities]
    for entity in graph.entities:
        joined = " ".join(row.description for row in rows if row.name.casefold() == entity.name.casefold())
        joined = " ".join(joined.split())
        assert all(sentence in joined for sentence in sentences_of(entity.descriptions))


@pytest.mark.slow
def test_keywords_of_lightrag_are_kept_apart():
    name = "graph-lenny"
    graph = read(name)
    relation = next(r for r in graph.relations if (r.source, r.target) == ("Microsoft", "Ada Chen Rekhi"))
    assert relation.keywords == (
        "career development",
        "career start",
        "early experience",
        "professional background",
    )
    assert relation.strength == 2.0
    assert len(relation.descriptions) == 2


@pytest.mark.slow
def test_a_graph_without_texts_says_that_its_documents_stand_in():
    name = "graph-lenny"
    graph = read(name)
    documents = converted(name)
    assert len(documents) == 721
    assert all(each.document.metadata["stand_in"] for each in documents)
    assert NO_UNIT not in {each.document.id for each in documents}
    assert any("721 named text units cannot be found" in note for note in graph.import_notes())
    # A long description is printed once and not in every document that its entity is named in.
    microsoft = next(e for e in graph.entities if e.name == "Microsoft")
    told = " ".join(microsoft.descriptions[0].split())
    assert sum(told in each.document.text for each in documents) == 1


@pytest.mark.slow
def test_malformed_triples_are_counted_and_kept_with_their_window():
    name = "musique-openie"
    graph = read(name)
    with gzip.open(DATA / "musique-openie" / "openie.jsonl.gz", "rt", encoding="utf-8") as file:
        bad = [(row["doc_id"], t) for row in map(json.loads, file) for t in row["triples"] if len(t) != 3]
    assert graph.losses["triples that do not have three parts"].n == len(bad) == 185
    marked = {
        x.window.partition("@")[0]: x
        for each in converted(name)
        for x in each.extractions
        if x.status == "repaired"
    }
    assert marked.keys() == {document for document, _ in bad}
    assert all(repr(triple)[:60] in marked[document].raw for document, triple in bad)
    assert all(x.problem.startswith("not imported: ") for x in marked.values())


@pytest.mark.slow
def test_predicates_of_triples_are_kept():
    name = "musique-openie"
    first = next(x for each in converted(name) if each.document.id == "mo00000" for x in each.extractions)
    assert ("Jan Philip Solovej", "is from", "University of Copenhagen", 1.0) in {
        (r.source, r.predicate, r.target, r.strength) for r in first.relations
    }


@pytest.mark.slow
def test_placing_a_graph_twice_gives_the_same_rows():
    name = "graph-christmas-carol/nano-graphrag"
    graph, documents = fresh(name)
    assert documents == converted(name)
    assert fingerprint(graph) == fingerprint(read(name))
    assert fingerprint(read(name)) != fingerprint(read("graph-lenny"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["graph-operation-dulce/v3", "graph-christmas-carol/nano-graphrag"])
def test_every_method_runs_over_an_imported_graph(name, tmp_path):
    graph = read(name)
    question = "What does Alex Mercer think of Taylor Cruz?" if "dulce" in name else "Who is Tiny Tim?"
    with offline(tmp_path / "i.index") as index:
        report = index.import_(DATA / name)
        status = index.status()
        assert status["extractor"] == f"imported:{graph.program}:{fingerprint(graph)}"
        assert {layer["state"] for layer in status["layers"].values()} == {"ready"}
        assert report.source["entities"] == README[name][1]
        assert report.source["relations"] == README[name][2]
        chunks = {chunk.id for chunk in index.snapshot().chunks(range(index.snapshot().n_chunks))}
        for method in METHODS:
            if ":" not in method:
                found = index.retrieve(question, method)
                assert found.evidence or found.empty_because, method
                assert {span.chunk for each in found.evidence for span in each.spans} <= chunks
        answer = index.ask(question, "graphrag-local")
        assert not answer.refused
        assert answer.citations


@pytest.mark.slow
def test_the_view_of_an_imported_graph_is_that_of_its_rows_but_for_names_that_are_one(tmp_path):
    graph = read("graph-operation-dulce/v0")
    with offline(tmp_path / "i.index") as index:
        report = index.import_(DATA / "graph-operation-dulce/v0")
    store = SqliteStore(tmp_path / "i.index", mode="read")
    entity_of = {}
    for entity, name, _ in store.connection.rows("SELECT entity, name, document FROM merges"):
        entity_of[name.casefold()] = entity
    wanted = {entity_of.get(e.name.casefold(), normalize_name(e.name)) for e in graph.entities}
    assert {e.id for e in store.graph.all_entities()} == wanted
    pairs = {
        frozenset(entity_of.get(end.casefold(), normalize_name(end)) for end in (r.source, r.target))
        for r in graph.relations
    }
    pairs = {pair for pair in pairs if len(pair) == 2}
    assert report.counts["relations"] == len(pairs)
    weights = fsum(r.strength for r in graph.relations)
    loops = fsum(
        r.strength
        for r in graph.relations
        if len({entity_of.get(end.casefold(), normalize_name(end)) for end in (r.source, r.target)}) == 1
    )
    assert fsum(r.weight for r in store.graph.all_relations()) == pytest.approx(weights - loops)
    store.close()


@pytest.mark.slow
def test_what_names_no_unit_is_listed_under_a_unit_of_its_own():
    name = "graph-lenny"
    graph = read(name)
    assert not any(unit.startswith(NO_UNIT) for unit in references_by_unit(graph))
