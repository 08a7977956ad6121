"""GraphRAG's local search: the order of source texts."""

from dataclasses import replace

from polygraph.models import Calls, Models
from polygraph.records import Description
from polygraph.retrieve.linked_passages import PassageCosines, rank_by_statements
from polygraph.retrieve.methods.graphrag_local import GraphRAGLocal, RelationEnds
from polygraph.retrieve.pack import HEAD_TOKENS
from polygraph.retrieve.row_texts import RowTexts
from polygraph.store.snapshot import Snapshot
from polygraph.testing import WordEmbedder, scripted_chat
from polygraph.text.tokens import count_tokens

WORDS = WordEmbedder(("ada", "bela", "cyra", "dora", "ezra", "fern"))
TEXTS = {
    "d1": "Ada slept.",
    "d2": "Ada funds Bela. Cyra guards Ada. Ada visits Ezra.",
}


def building():
    chat = scripted_chat()
    return Models(chat=chat, embedder=WORDS, name_embedder=WORDS, reranker=None, calls=Calls(None))


def asking():
    return replace(building(), chat=None)


def test_sources_are_ordered_by_all_relations_and_not_only_those_in_the_tables(tmp_path, index_of):
    method = GraphRAGLocal(relations_per_entity=0, k=1, oversample=1, seed_names=False, order="relations")
    with index_of(tmp_path, TEXTS, building()) as index:
        found = method("Ada?", index, asking())
    trace = {step.name: step.value for step in found.trace}
    assert trace["relations"] == []
    # Of the chunks of the first entity, the one with three of its relations comes first.
    assert [chunk for chunk, _ in trace["sources"]][:2] == ["d2.txt:0", "d1.txt:0"]
    assert "3 of the relations" in trace["sources"][0][1]


def test_texts_of_relations_are_read_only_for_the_tables(tmp_path, index_of, monkeypatch):
    read: list[int] = []
    relations = Snapshot.relations
    monkeypatch.setattr(Snapshot, "relations", lambda self, ns: read.extend(ns) or relations(self, ns))
    method = GraphRAGLocal(relations_per_entity=1, k=1, oversample=1, seed_names=False, order="relations")
    with index_of(tmp_path, TEXTS, building()) as index:
        found = method("Ada?", index, asking())
    trace = {step.name: step.value for step in found.trace}
    assert len(read) == len(trace["relations"]) == 1
    assert "3 of the relations" in trace["sources"][0][1]


def test_source_texts_come_by_what_is_said_there_of_an_entity(tmp_path, index_of):
    with index_of(tmp_path, TEXTS, building()) as index:
        ada = index.entities([index.entities_named(["Ada"])["Ada"][0]])[0]
        said = [Description("Ada rested all night.", "d1.txt:0"), Description("Ada paid.", "d2.txt:0")]
        ada = replace(ada, descriptions=tuple(said))
        cosines = PassageCosines(WORDS.embed(["Bela"], "query")[0], index)
        asked, other = (
            rank_by_statements(["d2.txt:0", "d1.txt:0"], [ada], cosines, RowTexts(index, question))
            for question in ("Who rested that night?", "Who is it?")
        )
    assert [(p.chunk, p.n_words) for p in asked] == [("d1.txt:0", 2), ("d2.txt:0", 0)]
    # Where no words are shared, the cosine decides.
    assert [p.chunk for p in other] == ["d2.txt:0", "d1.txt:0"]


def test_source_texts_come_by_what_relations_say_too(tmp_path, index_of, monkeypatch):
    # A model need not repeat in a description what it states in a relation.
    entities = Snapshot.entities
    monkeypatch.setattr(
        Snapshot,
        "entities",
        lambda self, ns, **limits: [replace(e, descriptions=()) for e in entities(self, ns, **limits)],
    )
    with index_of(tmp_path, TEXTS, building()) as index:
        asked = {
            question: GraphRAGLocal(k=1, oversample=1)(question, index, asking())
            for question in ("Does Ada fund?", "Did Ada rest?")
        }
    sources = {question: found.trace[-1].value for question, found in asked.items()}
    # The relation with Bela has both words of the first question, any relation only the name in the second.
    first, second = sources["Does Ada fund?"]
    assert (first[0], second[0]) == ("d2.txt:0", "d1.txt:0")
    assert "there shares 2 words with" in first[1]
    assert "no description there shares a word with" in second[1]
    assert "there shares 1 word with" in sources["Did Ada rest?"][0][1]


def test_a_text_that_a_relation_states_is_a_source_though_no_entity_is_mentioned_in_it(
    tmp_path, index_of, monkeypatch
):
    entities = Snapshot.entities
    monkeypatch.setattr(
        Snapshot,
        "entities",
        lambda self, ns, **limits: [replace(e, chunks=("d1.txt:0",)) for e in entities(self, ns, **limits)],
    )
    with index_of(tmp_path, TEXTS, building()) as index:
        found = GraphRAGLocal(k=1, oversample=1)("Does Ada fund?", index, asking())
    whys = dict(found.trace[-1].value)
    assert list(whys) == ["d2.txt:0", "d1.txt:0"]
    assert whys["d1.txt:0"].startswith("mentions Ada; ")
    assert whys["d2.txt:0"].startswith("states ada | ")


def test_a_report_that_two_communities_share_is_read_once(tmp_path, index_of, monkeypatch):
    reports = Snapshot.reports

    def twice(self, communities):
        return [r for each in reports(self, communities) for r in (each, replace(each, community="9-9"))]

    monkeypatch.setattr(Snapshot, "reports", twice)
    with index_of(tmp_path, TEXTS, building()) as index:
        found = GraphRAGLocal()("Ada?", index, asking())
        read = {
            community: 1 for _, community in index.communities_of([e.id for e in index.entities(range(3))])
        }
    shown = next(step.value for step in found.trace if step.name == "reports")
    assert shown
    assert len(shown) <= len(read)


def one_by_one(method, rows, index):
    """Return the entities and relations of the tables by the definition: one more entity while all rows fit."""
    ends, texts, budget = RelationEnds(rows, index), RowTexts(index), method.tables_share * method.max_tokens
    entities, fitting = index.entities(rows), ([], [])
    for n in range(1, len(rows) + 1):
        (picked,) = ends.best_rows([n], method.relations_per_entity)
        relations = list(index.relations(picked).values())
        lines = [*map(texts.entity, entities[:n]), *map(texts.relation, relations)]
        if n > 1 and sum(count_tokens(line) + HEAD_TOKENS for line in lines) > budget:
            break
        fitting = [e.id for e in entities[:n]], [r.id for r in relations]
    return fitting


def test_tables_hold_as_many_entities_as_fit_although_several_are_read_at_once(
    tmp_path, index_of, monkeypatch
):
    people = ("Ada", "Bela", "Cyra", "Dora", "Ezra", "Fern", "Gita", "Hugo", "Iris", "Jana", "Kian", "Lena")
    text = " ".join(
        f"{a} visits {b}." for i, a in enumerate(people) for b in people[i + 1 :: 1 + i % 3] if a != b
    )
    n_reads = 0
    relations = Snapshot.relations

    def counted(self, ns):
        nonlocal n_reads
        n_reads += 1
        return relations(self, ns)

    with index_of(tmp_path, {"d1": text}, building()) as index:
        rows = [row for name in people for row in index.entities_named([name]).get(name, ())]
        assert len(rows) > 8
        entities = index.entities(rows)
        sizes = set()
        for max_tokens in range(40, 2_000, 40):
            method = GraphRAGLocal(max_tokens=max_tokens, relations_per_entity=2)
            expected = one_by_one(method, rows, index)
            n_reads = 0
            with monkeypatch.context() as patched:
                patched.setattr(Snapshot, "relations", counted)
                whys = dict.fromkeys(rows, "")
                shown, found = method._tables(rows, entities, whys, index, RowTexts(index))
            assert ([item.id for item in shown], [r.id for r in found]) == expected
            assert n_reads <= 4
            sizes.add(len(shown))
    assert len(sizes) > 5


def test_relations_that_repeat_a_sentence_take_no_room_in_the_tables(index_offline):
    text = "On Monday Ada Lind, Bela Moor, Cyra Holm and Dora Quill met Ezra Vane at Fern Bay."
    with index_offline({"minutes.txt": text}) as opened:
        found = opened.ask(
            "Who met Ada Lind, Bela Moor, Cyra Holm and Dora Quill?", "graphrag-local"
        ).retrieval
    without_predicate = [
        e.text for e in found.evidence if e.kind == "relation" and e.text.endswith(f": {text}")
    ]
    assert len(without_predicate) == 1


def test_source_texts_that_do_not_fit_are_counted_and_not_read(tmp_path, index_of, monkeypatch):
    texts = {f"d{n:02}": f"Ada visits Bela at the {n}th hour of the day." for n in range(60)}
    read: set[str] = set()
    chunks_by_id = Snapshot.chunks_by_id
    monkeypatch.setattr(
        Snapshot, "chunks_by_id", lambda self, ids: read.update(ids) or chunks_by_id(self, ids)
    )
    with index_of(tmp_path, texts, building()) as index:
        read.clear()
        found = GraphRAGLocal(max_tokens=400)("Ada?", index, asking())
    sources = next(step.value for step in found.trace if step.name == "sources")
    (cut,) = [cut for cut in found.cuts if cut.kind == "chunk"]
    n_packed = sum(item.kind == "chunk" for item in found.evidence)
    assert (len(sources), len(found.ranking)) == (60, 60)
    assert 0 < n_packed < 32
    assert cut.n_items == 60 - n_packed
    assert cut.n_tokens > 10 * cut.n_items
    assert len(read) == 32
