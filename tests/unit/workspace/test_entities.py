"""Entities of an index: lists, explanations, and decisions that every later build follows."""

import json
import random
from dataclasses import replace

import pytest

from polygraph import Index
from polygraph.errors import BadInput
from polygraph.models import Calls, Models
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.database import SqliteStore
from polygraph.store.graph_tables import GraphTables
from polygraph.testing import scripted_chat

PAPERS = {
    "a.txt": "Mara Quill met Captain Tobin. Old Tobin met Mara Quill. Captain Tobin sold the Halcyon.",
    "b.txt": "Mara Quill painted the Halcyon. Captain Tobin met Mara Quill at Grey Reef.",
    "c.txt": "Mara Quill sailed to Grey Reef. The Halcyon met Old Tobin.",
}


def opened(folder, chat=None):
    embedder = HashEmbedder()
    calls = Calls(folder.with_suffix(".calls"))
    models = Models(
        chat=chat or scripted_chat(), embedder=embedder, name_embedder=embedder, reranker=None, calls=calls
    )
    return Index.open(folder, models=models, embedder="hash", name_embedder="hash", reranker="none")


@pytest.fixture
def index(tmp_path, write_files):
    folder = write_files(tmp_path / "papers", PAPERS)
    with opened(tmp_path / "index") as index:
        index.add(folder)
        yield index


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory, write_files):
    """The same index for tests that change nothing."""
    place = tmp_path_factory.mktemp("looked at")
    with opened(place / "index") as index:
        index.add(write_files(place / "papers", PAPERS))
        yield index


def ids(found):
    return [entity.id for entity in found]


def graph_of(folder):
    """The graph as it is stored."""
    store = SqliteStore(folder, mode="read")
    graph = store.graph
    found = (
        list(graph.all_entities()), list(graph.all_relations()), list(graph.all_triples()), graph.merges(),
        graph.name_pairs(), list(graph.lost_relations()),
    )  # fmt: skip
    store.close()
    return found


# --- looking ----------------------------------------------------------------------------------------------


def test_entities_are_listed_by_mentions_or_name_and_of_one_type(looked_at):
    by_mentions = looked_at.entities.list()
    assert [e.n_chunks for e in by_mentions] == sorted((e.n_chunks for e in by_mentions), reverse=True)
    by_name = looked_at.entities.list(order="name")
    assert [e.name for e in by_name] == sorted(e.name for e in by_name)
    assert set(ids(by_name)) == set(ids(by_mentions))
    assert looked_at.entities.list(type="Concept", limit=2) == by_mentions[:2]
    assert looked_at.entities.list(type="ship") == ()
    with pytest.raises(BadInput, match="--sort 'size' is not one of: mentions, name"):
        looked_at.entities.list(order="size")
    with pytest.raises(BadInput, match="--limit 0"):
        looked_at.entities.list(limit=0)


def test_a_part_of_a_name_finds_entities_and_exact_names_come_first(looked_at):
    assert ids(looked_at.entities.find("quill")) == ["mara quill"]
    assert set(ids(looked_at.entities.find("Tobin"))) == {"captain tobin", "old tobin"}
    assert ids(looked_at.entities.find("Tobin", limit=1)) == ids(looked_at.entities.find("Tobin"))[:1]


@pytest.mark.parametrize(
    "call",
    [
        lambda entities: entities.find("Mara Quil x"),
        lambda entities: entities.why("Mara Quil"),
        lambda entities: entities.why_pair("Old Tobin", "Mara Quil"),
        lambda entities: entities.merge("Mara Quil", "Old Tobin"),
        lambda entities: entities.split("Mara Quil", by="type"),
        lambda entities: entities.rename("Mara Quil", "Mary"),
    ],
)
def test_an_unknown_name_is_an_error_that_suggests_near_names(looked_at, call):
    with pytest.raises(BadInput, match=r"has no entity .* Did you mean: .*'Mara Quill'.*entities list"):
        call(looked_at.entities)
    assert looked_at.entities.decisions() == ()


def test_a_name_that_a_document_does_not_have_is_an_error_that_suggests_those_that_have_it(looked_at):
    with pytest.raises(BadInput, match=r"Did you mean: 'Old Tobin @ a.txt', 'Old Tobin @ c.txt'\?"):
        looked_at.entities.why("Old Tobin @ b.txt")


def test_an_index_without_a_graph_says_how_to_add_it(tmp_path, write_files):
    folder = write_files(tmp_path / "papers", PAPERS)
    with opened(tmp_path / "index") as index:
        index.add(folder, methods=["bm25"])
        with pytest.raises(
            BadInput, match=r"has no graph, so there are no entities\. Add it with: polygraph index"
        ):
            index.entities.list()


def test_what_rows_of_several_documents_say_alike_is_told_once(index, monkeypatch):
    pair = (
        "mara quill",
        "old tobin",
        "mara quill",
        "old tobin",
        "apart",
        "attributes",
        0.9,
        "a man and a woman",
    )
    merge = ("mara quill", "M. Quill", "a.txt", "initials", 0.9, "mara quill", "")
    monkeypatch.setattr(GraphTables, "name_pairs", lambda self, entity=None: [pair, pair])
    monkeypatch.setattr(GraphTables, "merges", lambda self, entity=None: [merge, merge])
    (history,) = index.entities.why("Mara Quill")
    assert [(each.entities, each.rule) for each in history.kept_apart] == [
        (("mara quill", "old tobin"), "attributes")
    ]
    assert [each.name for each in history.merges] == ["M. Quill"]
    assert len(index.entities.why_pair("Mara Quill", "Old Tobin").kept_apart) == 1


@pytest.mark.parametrize(
    "text", ["mara quill", "MARA QUILL", " Mara  Quill. ", "Mara Quill @ b.txt", "MARA QUILL @ b.txt"]
)
def test_every_command_takes_a_name_in_any_case(looked_at, text):
    entities = looked_at.entities
    assert [each.entity.id for each in entities.why(text)] == ["mara quill"]
    assert entities.why_pair(text, "OLD TOBIN").entities == ("mara quill", "old tobin")
    for refused, call in (
        ("one entity already", lambda: entities.merge(text, "Mara Quill")),
        ("two entities already", lambda: entities.split(text, "Old Tobin")),
        ("'Halcyon' is the name of the entity", lambda: entities.rename(text, "Halcyon")),
    ):
        with pytest.raises(BadInput, match=refused):
            call()


def test_the_reason_for_two_names_is_the_way_from_one_to_the_other(looked_at, monkeypatch):
    names = [
        ("M. Quill", "a.txt", "alias in document", "mara q quill"),
        ("Mara Q. Quill", "", "spelling", "mara quill"),
        ("The Painter", "", "equated by text", "mara quill"),
        ("La Quill", "", "transliteration", "painter"),
    ]
    merges = [("mara quill", name, document, rule, 0.9, other, "") for name, document, rule, other in names]
    entity = looked_at.entities.why("Mara Quill")[0].entity
    several = replace(entity, aliases=tuple(name for name, *_ in names))
    monkeypatch.setattr(GraphTables, "merges", lambda self, entity=None: merges)
    monkeypatch.setattr("polygraph.indexing.entities.history.find_entity", lambda store, text: several)

    def why(a, b):
        return [merge.name for merge in looked_at.entities.why_pair(a, b).merges]

    assert why("M. Quill", "Mara Quill") == ["M. Quill", "Mara Q. Quill"]
    assert why("m quill @ a.txt", "MARA QUILL") == ["M. Quill", "Mara Q. Quill"]
    assert why("M. Quill", "Mara Q. Quill") == ["M. Quill"]
    assert why("The Painter", "M. Quill") == ["M. Quill", "Mara Q. Quill", "The Painter"]
    assert why("La Quill", "The Painter") == ["La Quill"]
    assert why("La Quill", "la quill") == []


# --- deciding ---------------------------------------------------------------------------------------------


def test_a_merge_applies_at_once_and_a_split_replaces_it(index):
    changed = index.entities.merge("Old Tobin", "captain tobin")
    assert len(changed.entities) == 1
    one = changed.entities[0].id
    why = index.entities.why_pair("Old Tobin", "Captain Tobin")
    assert why.same
    assert why.entities == (one, one)
    assert [(merge.rule, merge.score) for merge in why.merges] == [("user", 1.0)]
    assert [decision.kind for decision in why.decisions] == ["merge"]
    names = index.snapshot().entities_named(["Old Tobin", "Captain Tobin"])
    assert names["Old Tobin"] == names["Captain Tobin"]

    changed = index.entities.split("Old Tobin", "Captain Tobin")
    assert set(ids(changed.entities)) == {"old tobin", "captain tobin"}
    assert not index.entities.why_pair("Old Tobin", "Captain Tobin").same
    assert [(d.kind, d.in_force) for d in index.entities.decisions()] == [("merge", False), ("split", True)]
    index.entities.undo()
    assert index.entities.why_pair("Old Tobin", "Captain Tobin").same
    index.entities.undo(1)
    assert index.entities.decisions() == ()
    assert not index.entities.why_pair("Old Tobin", "Captain Tobin").same


def test_a_name_is_split_by_document_also_of_documents_that_come_later(index, tmp_path, write_files):
    changed = index.entities.split("Mara Quill", by="document")
    assert len(changed.entities) == 3
    write_files(tmp_path / "papers", {"d.txt": "Mara Quill met Nobody Else."})
    index.add(tmp_path / "papers")
    found = index.entities.why("Mara Quill")
    assert sorted(document for each in found for document, _ in each.documents) == [*PAPERS, "d.txt"]
    assert all(len(each.documents) == 1 for each in found)
    with pytest.raises(BadInput, match=r"4 entities have the name 'Mara Quill': .* Name one by its id"):
        index.entities.rename("Mara Quill", "Mary")
    with pytest.raises(BadInput, match=r"decision 1 \(split .*\) keeps them apart. Undo it first"):
        index.entities.merge("Mara Quill @ a.txt", "Mara Quill @ b.txt")
    index.entities.rename("Mara Quill @ b.txt", "Mara the Painter")
    (painter,) = index.entities.why("Mara the Painter")
    assert painter.documents == (("b.txt", 1),)
    assert "Mara Quill" in painter.entity.aliases


def test_an_id_names_one_of_several_namesakes_to_every_command_in_any_case(index):
    index.entities.split("Mara Quill", by="document")
    assert ids(index.entities.find("MARA QUILL (2)")) == ["mara quill (2)"]
    assert [each.entity.id for each in index.entities.why("Mara  Quill (2)")] == ["mara quill (2)"]
    (renamed,) = index.entities.rename("Mara Quill (2)", "Mara of Grey Reef").entities
    assert renamed.id == "mara quill (2)"
    index.entities.merge("MARA QUILL (2)", "Old Tobin")
    assert index.entities.why_pair("Mara Quill (2)", "old tobin").same


def test_an_id_is_split_by_the_name_that_documents_use(index):
    index.entities.split("Mara Quill", by="document")
    index.entities.undo()
    index.entities.rename("Mara Quill", "Mary")
    index.entities.merge("Mary", "Old Tobin")
    changed = index.entities.split("Mary", by="document")
    assert {decision.a for decision in changed.decisions} == {"mara quill @ *"}
    assert len(changed.entities) == 3
    index.entities.undo()
    changed = index.entities.split("MARY", "old tobin")
    assert set(ids(changed.entities)) == {"mara quill", "old tobin"}


def test_names_are_found_without_accents_and_with_two_letters_for_one(tmp_path, write_files):
    texts = {
        "a.txt": "Jürgen Müller met Clara Benedek in Zürich.",
        "b.txt": "Clara Benedek met Anna Mueller in Zürich.",
    }
    with opened(tmp_path / "index") as index:
        index.add(write_files(tmp_path / "papers", texts))
        entities = index.entities
        assert ids(entities.find("Zurich")) == ids(entities.find("ZUERICH")) == ["zürich"]
        assert ids(entities.find("muller")) == ["jürgen müller"]
        assert set(ids(entities.find("mueller"))) == set(ids(entities.find("Müller")))
        assert len(entities.find("Mueller")) == 2
        assert [each.entity.id for each in entities.why("Juergen Mueller")] == ["jürgen müller"]
        entities.merge("Jurgen Muller", "Anna Müller")
        (decision,) = entities.decisions()
        assert {decision.a, decision.b} == {"jürgen müller", "anna mueller"}
        assert set(ids(entities.split("Anna Müller", "jurgen muller").entities)) == {
            "anna mueller",
            "jürgen müller",
        }


def test_a_name_in_a_document_is_that_of_the_entity_that_has_it_there(tmp_path, write_files):
    texts = {
        "a.txt": "Robert Hale sailed to Riga. Mr. Hale sold timber in Riga.",
        "b.txt": "Robert Hale met Peter Hale. Mr. Hale was late.",
    }
    with opened(tmp_path / "index") as index:
        index.add(write_files(tmp_path / "papers", texts), extractor="nlp")
        assert [each.entity.id for each in index.entities.why("Mr. Hale @ a.txt")] == ["robert hale"]
        assert [each.entity.id for each in index.entities.why("Mr. Hale @ b.txt")] == ["mr hale"]
        with pytest.raises(BadInput, match=r"2 entities have the name 'Mr\. Hale': .* by its id$"):
            index.entities.rename("Mr. Hale", "Old Hale")


def test_an_alias_follows_the_name_of_its_document_when_that_is_split(tmp_path, write_files):
    named = "entity | Thomas Quill | person | Thomas Quill {0}.\nentity | Mr. Quill | person | Mr. Quill {0}.\nEND"

    def extract(request):
        return named.format("kept the lamp" if "lamp" in request.messages[-1].content else "sold maps")

    folder = write_files(
        tmp_path / "papers",
        {n: f"Thomas Quill, that is Mr. Quill, {n[2:7]}." for n in ("a lamp.txt", "b maps.txt")},
    )
    with opened(tmp_path / "index", ScriptedChat(replies={"extract": extract})) as index:
        index.add(folder, methods=["hipporag"])
        assert len(index.entities.find("Quill")) == 1
        index.entities.split("Thomas Quill", by="document")
        found = index.entities.why("Mr. Quill")
    assert [document for each in found for document, _ in each.documents] == ["a lamp.txt", "b maps.txt"]
    assert all(set(each.entity.aliases) == {"Mr. Quill"} for each in found)


def test_a_name_is_split_by_type(tmp_path, write_files):
    replies = {
        "a": "entity | Halcyon | ship | The Halcyon sank.\nEND",
        "b": "entity | Halcyon | person | Halcyon sang.\nEND",
    }

    def extract(request):
        return replies["a" if "sank" in request.messages[-1].content else "b"]

    chat = ScriptedChat(replies={"extract": extract})
    folder = write_files(tmp_path / "papers", {"a.txt": "The Halcyon sank.", "b.txt": "Halcyon sang."})
    with opened(tmp_path / "index", chat) as index:
        index.add(folder, methods=["hipporag"])
        if len(index.entities.find("Halcyon")) == 1:
            assert len(index.entities.split("Halcyon", by="type").entities) == 2
        assert {e.type for e in index.entities.find("Halcyon")} == {"ship", "person"}


def test_a_renamed_entity_keeps_its_former_name_as_an_alias_and_may_be_renamed_again(index):
    (changed,) = index.entities.rename("Halcyon", "  HMS   Halcyon ").entities
    assert (changed.id, changed.name) == ("halcyon", "HMS Halcyon")
    index.entities.rename("HMS Halcyon", "Good Ship Halcyon")
    (entity,) = index.entities.why("halcyon")
    assert entity.entity.name == "Good Ship Halcyon"
    assert "Halcyon" in " ".join(entity.entity.aliases)
    assert "HMS Halcyon" not in entity.entity.aliases
    assert [decision.in_force for decision in entity.decisions] == [False, True]
    # A decision about the new name must be about mentions, which have the old one.
    index.entities.merge("Good Ship Halcyon", "Grey Reef")
    assert index.entities.why_pair("Halcyon", "Grey Reef").same
    index.entities.undo()
    index.entities.undo()
    assert index.entities.why("Halcyon")[0].entity.name == "HMS Halcyon"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.merge("Mara Quill", "mara quill"), "are one entity already"),
        (lambda e: e.split("Mara Quill", "Halcyon"), "are two entities already"),
        (lambda e: e.split("Mara Quill", "mara quill"), "are one name. Split it with --by"),
        (lambda e: e.split("Mara Quill"), "another name of the entity, or --by document"),
        (lambda e: e.split("Mara Quill", by="colour"), "--by 'colour' is not one of: document, type"),
        (lambda e: e.rename("Mara Quill", "Halcyon"), "is the name of the entity 'halcyon'"),
        (lambda e: e.rename("Mara Quill", " — "), "1 to 200 characters"),
        (lambda e: e.rename("Mara Quill", "x" * 201), "1 to 200 characters"),
        (lambda e: e.rename("Mara Quill", "Mara\x1b[31m"), "1 to 200 characters"),
        (lambda e: e.undo(), "there is no decision to undo"),
        (
            lambda e: e.undo(7),
            "there is no decision 7. List them with: polygraph entities decisions --index ",
        ),
    ],
)
def test_a_decision_that_cannot_be_made_says_why_and_changes_nothing(index, call, message):
    before = graph_of(index.folder)
    with pytest.raises(BadInput, match=message):
        call(index.entities)
    assert index.entities.decisions() == ()
    assert graph_of(index.folder) == before


def test_a_decision_pays_for_nothing(index):
    before = index.models.calls.spent.calls
    changed = index.entities.merge("Old Tobin", "Captain Tobin")
    assert changed.report.usage.calls == 0
    assert index.models.calls.spent.calls == before


def test_a_decision_that_was_stopped_is_carried_out_by_the_next_build(index):
    def stop(stage, done, total):
        if stage == "resolution":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.entities.merge("Old Tobin", "Captain Tobin", progress=stop)
    # Readers see the state before it.
    assert not index.entities.why_pair("Old Tobin", "Captain Tobin").same
    index.add()
    assert index.entities.why_pair("Old Tobin", "Captain Tobin").same
    assert [decision.kind for decision in index.entities.decisions()] == ["merge"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_decisions_give_the_graph_of_a_clean_build_with_the_same_decisions(seed, tmp_path, write_files):
    chance = random.Random(seed)
    folder = tmp_path / "papers"
    with opened(tmp_path / "index") as index:
        texts = dict(chance.sample(sorted(PAPERS.items()), 2))
        index.add(write_files(folder, texts))
        for _ in range(7):
            what = chance.choice(["add", "remove", "change", "merge", "split", "by", "rename", "undo"])
            try:
                if what in ("add", "change"):
                    name = chance.choice(sorted(PAPERS))
                    texts[name] = PAPERS[name] + (" Grey Reef met Nobody Else." if what == "change" else "")
                    index.add(write_files(folder, texts))
                elif what == "remove" and len(texts) > 1:
                    name = chance.choice(sorted(texts))
                    del texts[name]
                    (folder / name).unlink()
                    index.remove(name)
                elif what == "merge":
                    index.entities.merge(*chance.sample(["Old Tobin", "Captain Tobin", "Grey Reef"], 2))
                elif what == "split":
                    index.entities.split("Old Tobin", "Captain Tobin")
                elif what == "by":
                    index.entities.split(chance.choice(["Mara Quill", "Halcyon"]), by="document")
                elif what == "rename":
                    index.entities.rename(chance.choice(["Mara Quill @ b.txt", "Halcyon"]), f"Name {seed}")
                elif what == "undo":
                    index.entities.undo()
            except BadInput:
                pass
        index.add(folder)
        made = index.entities.decisions()
    (tmp_path / "clean").mkdir()
    store = SqliteStore(tmp_path / "clean", mode="write")
    with store.transaction():
        for decision in made:
            store.extractions.decide(decision.kind, decision.a, decision.b)
    store.close()
    with opened(tmp_path / "clean") as clean:
        clean.add(folder)
    assert graph_of(tmp_path / "index") == graph_of(tmp_path / "clean")


# --- nothing vanishes ---------------------------------------------------------------------------------------


def test_relations_that_a_merge_turns_into_loops_are_not_lost_but_can_be_listed(index):
    assert index.entities.lost() == ()
    n_relations = index.status()["counts"]["relations"]
    changed = index.entities.merge("Old Tobin", "Mara Quill")
    assert index.entities.lost() == ()
    (loop,) = index.entities.lost(self_loops=True)
    assert (loop.document, loop.chunks) == ("a.txt", ("a.txt:0",))
    assert {loop.source, loop.target} == {"Old Tobin", "Mara Quill"}
    assert (loop.reason, loop.entity) == ("both names are one entity", changed.entities[0].id)
    assert (changed.report.counts["lost relations"], changed.report.counts["self-loops"]) == (0, 1)
    assert changed.report.lost_relations == []
    index.entities.undo()
    assert index.status()["counts"]["relations"] == n_relations
    assert index.entities.lost(self_loops=True) == ()


def test_a_relation_that_says_that_two_names_are_one_is_not_lost(tmp_path, write_files):
    reply = (
        "entity | Orrin Steel | organisation | It rolls steel.\n"
        "entity | Hale Ironworks | organisation | It rolled iron.\n"
        "entity | Mara Quill | person | She runs it.\n"
        "relation | Orrin Steel | Hale Ironworks | formerly | name | 9 | Orrin Steel was Hale Ironworks before.\n"
        "relation | Mara Quill | Orrin Steel | runs | work | 5 | She runs it.\n"
        "END"
    )
    chat = ScriptedChat(replies={"extract": lambda _: reply})
    folder = write_files(
        tmp_path / "papers", {"a.txt": "Mara Quill runs Orrin Steel, formerly Hale Ironworks."}
    )
    with opened(tmp_path / "index", chat) as index:
        report = index.add(folder, methods=["hipporag"])
        assert index.entities.lost() == ()
        (listed,) = index.entities.lost(self_loops=True)
        assert (listed.predicate, listed.reason) == ("formerly", "it says that both names are one entity")
        assert (report.counts["lost relations"], report.counts["self-loops"]) == (0, 1)
        assert index.entities.find("Hale Ironworks")[0].id == listed.entity


def test_relations_of_a_reply_that_could_not_be_used_are_listed_with_the_reason(tmp_path, write_files):
    reply = (
        "entity | Mara Quill | person | She keeps the light.\n"
        "entity | Halcyon | ship | It sank.\n"
        "relation | Mara Quill | Mara Quill | admires | pride | 5 | Mara Quill admires herself.\n"
        "relation | Mara Quill | Halcyon | saw | sea | 5 | She saw it.\n"
        "END"
    )
    chat = ScriptedChat(replies={"extract": lambda _: reply})
    folder = write_files(tmp_path / "papers", {"a.txt": "Mara Quill saw the Halcyon."})
    with opened(tmp_path / "index", chat) as index:
        report = index.add(folder, methods=["hipporag"])
        assert report.counts["relations"] == 1
        (lost,) = index.entities.lost()
        assert lost.document == "a.txt"
        assert lost.chunks == ("a.txt:0",)
        assert lost.description.startswith("relation | Mara Quill | Mara Quill | admires")
        assert lost.reason == "Mara Quill is related to itself"
        assert report.lost_relations == [lost._asdict()]
        status = index.status()
        assert (status["counts"]["lost relations"], status["counts"]["self-loops"]) == (1, 0)
        assert json.loads(json.dumps(status["lost_relations"])) == json.loads(
            json.dumps(report.lost_relations)
        )
