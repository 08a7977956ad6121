"""`polygraph entities`: what is printed, as text and as JSON, and how it ends."""

import json

import pytest
from typer.testing import CliRunner

from polygraph.cli import app
from polygraph.cli.render.answer import show_lost_relations
from polygraph.errors import BadInput

RUN = CliRunner()
PAPER = (
    "Mara Quill repaired the lamp of the Skerry Light. Captain Tobin sold the Halcyon to Mara Quill. "
    "Mara Quill married Captain Tobin."
)


@pytest.fixture
def run(tmp_path, write_files, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in (
        ("EMBEDDER", "hash"),
        ("NAME_EMBEDDER", "hash"),
        ("RERANKER", "none"),
        ("OFFLINE", "1"),
    ):
        monkeypatch.setenv(f"POLYGRAPH_{name}", value)
    write_files(tmp_path / "papers", {"a.txt": PAPER, "b.txt": "Mara Quill wrote to the Harbour Board."})

    def call(*words):
        found = RUN.invoke(app, [*map(str, words)], catch_exceptions=True)
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        return found.stdout

    call("index", "papers")
    return call


def listed(run, *words):
    return json.loads(run("entities", *words, "--json"))


def test_without_a_command_entities_are_listed(run):
    assert run("entities") == run("entities", "list")
    assert run("entities", "--limit", 1, "--json") == run("entities", "list", "--limit", 1, "--json")
    found = RUN.invoke(app, ["entities", "--limit", "1", "list"])
    assert found.exit_code == 2
    assert "behind the command" in found.output


def test_entities_are_listed_found_and_explained(run):
    found = listed(run, "list", "--limit", 2)
    assert len(found) == 2
    assert found[0].keys() == {"id", "name", "type", "n_chunks", "degree"}
    assert [each["id"] for each in listed(run, "find", "quill")] == ["mara quill"]
    assert "mara quill" in run("entities", "find", "quill")
    (why,) = listed(run, "why", "Mara Quill")
    assert why["documents"] == [["a.txt", 1], ["b.txt", 1]]
    assert "2 documents: a.txt (1), b.txt (1)" in run("entities", "why", "Mara Quill")


def test_a_type_that_no_entity_has_is_told(run):
    unknown = RUN.invoke(app, ["entities", "list", "--type", "persn"])
    assert not unknown.stdout
    assert "no entity has the type 'persn'. Common types: person" in unknown.stderr
    assert listed(run, "list", "--type", "persn") == []


@pytest.mark.slow
def test_decisions_are_made_listed_and_undone(run):
    changed = listed(run, "merge", "Mara Quill", "Captain Tobin")
    assert [decision["kind"] for decision in changed["decisions"]] == ["merge"]
    assert len(changed["entities"]) == 1
    assert changed["self_loops"] >= 1
    loops = listed(run, "lost", "--self-loops")
    assert len(loops) == changed["self_loops"]
    assert {each["reason"] for each in loops} == {"both names are one entity"}
    assert all(each["chunks"] == ["a.txt:0"] for each in loops)
    shown = run("entities", "lost", "--self-loops")
    assert "a.txt:0: " in shown
    assert "both names are one entity: " in shown
    assert shown.splitlines()[-1].startswith(
        "to part two names that are not one entity: polygraph entities split"
    )
    counts = json.loads(run("index", "--json"))["counts"]
    assert (counts["lost relations"], counts["self-loops"]) == (0, len(loops))
    assert listed(run, "lost") == []
    assert "extracted relation" not in run("status") + run("index")
    assert "are one entity" in run("entities", "why", "Mara Quill", "Captain Tobin")
    assert "(user, 1.00)" in run("entities", "why", "Mara Quill", "Captain Tobin")
    assert "merge 'captain tobin' and 'mara quill'" in run("entities", "undo").replace(
        "'mara quill' and 'captain tobin'", "'captain tobin' and 'mara quill'"
    )
    assert run("entities", "lost").startswith("no relation was lost")
    assert "split 'mara quill' by document" in run("entities", "split", "Mara Quill", "--by", "document")
    assert "two entities" in run("entities", "why", "Mara Quill @ a.txt", "Mara Quill @ b.txt")
    run("entities", "rename", "Halcyon", "HMS Halcyon")
    assert [each["kind"] for each in listed(run, "decisions")] == ["split", "rename"]
    assert "HMS Halcyon" in run("entities", "decisions")


@pytest.mark.parametrize(
    ("lost", "said"),
    [(0, ""), (1, "1 extracted relation could not be used"), (2, "2 extracted relations could not be used")],
)
def test_relations_that_could_not_be_used_are_counted_with_the_command_that_lists_them(capsys, lost, said):
    show_lost_relations({"lost relations": lost, "self-loops": 3}, "my index")
    see = "; see why: polygraph entities lost --index 'my index'\n"
    assert capsys.readouterr().out == (said and said + see)


def test_an_unknown_name_ends_as_wrong_usage_with_similar_names(run):
    for words in (["why", "Mara Quil"], ["merge", "Mara Quil", "Halcyon"], ["find", "Mara Quilll"]):
        with pytest.raises(BadInput, match="Did you mean: 'Mara Quill'") as raised:
            run("entities", *words)
        assert raised.value.exit_code == 2


def test_names_of_documents_and_models_cannot_control_the_terminal(tmp_path, monkeypatch, capsys):
    from polygraph.cli import entities
    from polygraph.indexing.entities.history import EntityHistory
    from polygraph.records import Entity

    hostile = "Mara\x1b[2J\u202equill"
    entity = Entity(id=hostile, name=hostile, type=hostile, aliases=(), descriptions=(), chunks=(), degree=0)
    history = EntityHistory(entity=entity, merges=(), kept_apart=(), decisions=(), documents=((hostile, 1),))

    class Opened:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        @property
        def entities(self):
            return self

        def why(self, _):
            return (history,)

    monkeypatch.setattr(entities, "open_without_models", lambda *_, **__: Opened())
    found = RUN.invoke(app, ["entities", "why", "x"])
    assert "Mara [2J quill" in found.stdout
    assert "\x1b" not in found.stdout
    assert "\u202e" not in found.stdout
