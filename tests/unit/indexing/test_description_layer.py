"""Long descriptions: one text for each, by a model or selected, and only what changed is asked again."""

import json
import sqlite3

from polygraph.errors import RequestsWaiting
from polygraph.models import Calls, Models
from polygraph.models.providers.scripted_server import request_from_body
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.snapshot import Snapshot
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

TEXTS = {
    "a.txt": "Mara Quill built the Skerry Light. Mara Quill wrote to Old Tobin about the oil.",
    "b.txt": "Mara Quill never forgave Tobias Wren. Old Tobin sailed the Halcyon to Sallow Bay.",
    "c.txt": "Mara Quill met the Harbour Board in March. Old Tobin saw the Grey Reef.",
}


def opened(folder, chat=None, budget=25, **flags):
    embedder = HashEmbedder()
    models = Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    return Index.open(folder, models=models, description_tokens=budget, **flags)


def asked(chat):
    return [r for r in chat.requests if "Task: describe" in r.messages[0].content]


def entity(folder, name):
    snapshot = Snapshot(folder)
    try:
        return next(e for e in snapshot.store.graph.all_entities() if e.name == name)
    finally:
        snapshot.close()


def test_a_model_describes_what_outgrows_the_budget_in_one_call(tmp_path, write_files):
    chat = scripted_chat()
    with opened(tmp_path / "index", chat) as index:
        index.add(write_files(tmp_path / "papers", TEXTS), methods=["lightrag-mix"])
        assert index.status()["layers"]["descriptions"]["rows"] >= 2
    assert len(asked(chat)) == 1
    mara = entity(tmp_path / "index", "Mara Quill")
    assert mara.summary.startswith("Mara Quill (concept): ")
    assert mara.description == mara.summary
    assert len(mara.descriptions) > 1
    board = entity(tmp_path / "index", "Harbour Board")
    assert not board.summary
    assert board.description == board.descriptions[0].text


def test_only_what_changed_is_asked_again(tmp_path, write_files):
    chat = scripted_chat()
    with opened(tmp_path / "index", chat) as index:
        index.add(write_files(tmp_path / "papers", TEXTS), methods=["lightrag-mix"])
        before = len(asked(chat))
        write_files(tmp_path / "papers", {**TEXTS, "d.txt": "Old Tobin owed the Sallow Courier a letter."})
        index.add(tmp_path / "papers", methods=["lightrag-mix"])
    (again,) = asked(chat)[before:]
    turn = again.messages[-1].content
    assert "Old Tobin (concept)\n" in turn
    assert "Mara Quill (concept)\n" not in turn


def test_without_a_model_a_selection_stands_for_long_descriptions(tmp_path, write_files):
    with opened(tmp_path / "index", extractor="nlp") as index:
        index.add(write_files(tmp_path / "papers", TEXTS), methods=["lightrag-mix"])
    mara = entity(tmp_path / "index", "Mara Quill")
    assert mara.summary
    assert len(mara.summary) < len(" ".join(d.text for d in mara.descriptions))
    assert mara.summary in " ".join(d.text for d in mara.descriptions) or "." in mara.summary


def test_a_reply_without_descriptions_leaves_selections_and_a_note(tmp_path, write_files):
    chat = scripted_chat([("Task: describe", "I would rather not.")])
    with opened(tmp_path / "index", chat) as index:
        report = index.add(write_files(tmp_path / "papers", TEXTS), methods=["lightrag-mix"])
    assert any("long descriptions are selections" in note for note in report.notes)
    assert entity(tmp_path / "index", "Mara Quill").summary


def test_a_filter_hides_a_summary_that_rests_on_other_documents(tmp_path, write_files):
    with opened(tmp_path / "index", scripted_chat()) as index:
        index.add(write_files(tmp_path / "papers", TEXTS), methods=["lightrag-mix"])
    snapshot = Snapshot(tmp_path / "index")
    row = snapshot.store.graph.entities_named(["Mara Quill"])["Mara Quill"][0]
    (hidden,) = snapshot.where({"id": "a*"}).entities([row])
    snapshot.close()
    assert not hidden.summary
    assert "Tobias Wren" not in hidden.description


def test_the_estimate_has_a_line_for_descriptions_and_a_finished_index_none(tmp_path, write_files):
    folder = write_files(tmp_path / "papers", TEXTS)
    with opened(tmp_path / "index", scripted_chat()) as index:
        index.add(folder, methods=["bm25"])
        index.add(folder, methods=["hipporag"])
        found = index.estimate(methods=["lightrag-mix"])
        (line,) = [line for line in found.lines if line.stage == "descriptions"]
        assert line.calls.mid == 1
        index.add(folder, methods=["lightrag-mix"])
        row = next(r for r in index.models.calls.ledger() if r.stage == "descriptions")
        assert line.prompt_tokens.low <= row.prompt_tokens <= line.prompt_tokens.high
        assert not [e for e in index.estimate(methods=["lightrag-mix"]).lines if e.stage == "descriptions"]


def test_descriptions_wait_in_a_batch_and_use_its_replies(tmp_path, write_files):
    papers, batch, chat = write_files(tmp_path / "papers", TEXTS), tmp_path / "batch", scripted_chat()
    flags = {"batch": batch, "chat_model": "scripted", "description_tokens": 25}
    tasks = []
    for _ in range(4):
        with Index.open(
            tmp_path / "index", embedder="hash", name_embedder="hash", reranker="none", **flags
        ) as index:
            index.models.calls.batch.import_replies()
            try:
                index.add(papers, methods=["lightrag-mix"])
                break
            except RequestsWaiting as waiting:
                (file,) = waiting.files
        lines = []
        for row in map(json.loads, file.read_text("utf-8").splitlines()):
            request = request_from_body(row["body"])
            tasks.append(request.messages[0].content.partition("\n")[0])
            message = {"role": "assistant", "content": chat.chat(request).text}
            usage = {"prompt_tokens": 10, "completion_tokens": 10}
            body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
            response = {"status_code": 200, "body": {"object": "chat.completion", **body}}
            lines.append(json.dumps({"custom_id": row["custom_id"], "response": response, "error": None}))
        (batch / f"replies-{len(tasks)}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    assert tasks.count("Task: describe") == 1
    assert entity(tmp_path / "index", "Mara Quill").summary.startswith("Mara Quill (concept): ")


def test_removing_a_document_deletes_what_a_model_wrote_from_it(tmp_path, write_files):
    with opened(tmp_path / "index", scripted_chat()) as index:
        index.add(write_files(tmp_path / "papers", TEXTS), methods=["lightrag-mix"])
        index.remove("b.txt")
    db = sqlite3.connect(tmp_path / "index" / "index.sqlite")
    kept = db.execute("SELECT text FROM written_summaries UNION ALL SELECT text FROM summaries").fetchall()
    db.close()
    assert not any("Tobias Wren" in text for (text,) in kept)


def test_communities_of_two_get_no_report_by_a_model(tmp_path, write_files):
    chat = scripted_chat()
    texts = {**TEXTS, "z.txt": "Ezra Pike married Ada Marsh."}
    with opened(tmp_path / "index", chat) as index:
        report = index.add(write_files(tmp_path / "papers", texts), methods=["graphrag-global"])
    assert not any("extractive" in note for note in report.notes)
    snapshot = Snapshot(tmp_path / "index")
    size = {c.id: len(c.entities) for c in snapshot.store.reports.communities()}
    by = {r.community: r.written_by for r in snapshot.store.reports.all()}
    snapshot.close()
    assert by.keys() == size.keys()
    assert min(size.values()) == 2
    assert all((by[c] == "scripted") == (size[c] >= 3) for c in size)
    asked_for = [r for r in chat.requests if "Task: report" in r.messages[0].content]
    assert len(asked_for) == sum(n >= 3 for n in size.values())


def test_the_first_build_with_a_model_says_how_it_can_extract_the_graph(tmp_path, write_files):
    papers = write_files(tmp_path / "papers", TEXTS)

    def notes(chat=None, **flags):
        with opened(tmp_path / "index", chat) as index:
            found = index.add(papers, methods=["graphrag-global"], **flags).notes
        return [note for note in found if "polygraph estimate --extractor llm --index" in note]

    assert not notes(extractor="fast")
    assert len(notes(scripted_chat())) == 1
    assert not notes(scripted_chat())
