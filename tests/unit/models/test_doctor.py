"""`polygraph doctor` finds what is wrong and says how to mend it."""

import json

import pytest

from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.testing import scripted_chat


@pytest.fixture
def index(call, papers, tmp_path):
    place = tmp_path / "papers.index"
    assert call("index", papers, "--index", place).code == 0
    return place


def examined(call, place, **env):
    ended = call("doctor", "--index", place, "--json", env=env)
    assert "Traceback" not in ended.err
    return ended.code, {check["name"]: check for check in json.loads(ended.out)}


def test_a_good_setup_has_nothing_wrong(call, index):
    with ScriptedServer(chat=scripted_chat()) as server:
        code, checks = examined(call, index, OPENAI_BASE_URL=server.base_url, POLYGRAPH_CHAT_MODEL="scripted")
    assert code == 0
    assert checks["settings"]["ok"]
    assert checks["chat model"]["ok"]
    assert "answers in" in checks["chat model"]["finding"]
    assert checks["index"]["ok"]
    assert "every layer ready" in checks["index"]["finding"]


def test_an_embedder_of_an_endpoint_is_called_also_without_a_chat_model(call, tmp_path):
    with ScriptedServer(chat=scripted_chat(), models=["vectors", "other"]) as server:
        env = {"OPENAI_BASE_URL": server.base_url, "POLYGRAPH_EMBEDDER": "endpoint:vectors"}
        _, checks = examined(call, tmp_path / "none", **env, POLYGRAPH_CHAT_MODEL="none")
        assert checks["embedder"]["finding"].startswith("endpoint:vectors")
        assert "embedder" in checks["embedder"]["fix"]
        assert {call.path for call in server.log} == {"/v1/embeddings"}
        assert checks["chat model"]["ok"] is None
        _, checks = examined(call, tmp_path / "none", **env)
        assert checks["embedder"]["finding"].startswith("endpoint:vectors")
        assert "(none if it only embeds). It serves: other, vectors" in checks["chat model"]["finding"]


def test_no_model_and_no_index_are_notes_with_the_next_command(call, tmp_path):
    code, checks = examined(call, tmp_path / "none")
    assert code == 0
    assert checks["chat model"]["ok"] is None
    assert "OPENAI_BASE_URL" in checks["chat model"]["fix"]
    assert checks["index"]["ok"] is None
    assert "polygraph index PATH" in checks["index"]["fix"]
    assert not (tmp_path / "none").exists()


def test_a_wrong_key_a_wrong_model_and_nobody_there_are_found(call, tmp_path):
    with ScriptedServer(chat=scripted_chat(), api_key="right", models=["good"]) as server:
        env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "wrong", "POLYGRAPH_CHAT_MODEL": "good"}
        code, checks = examined(call, tmp_path / "none", **env)
        assert code == 1
        assert "OPENAI_API_KEY" in checks["chat model"]["finding"]
        env |= {"OPENAI_API_KEY": "right", "POLYGRAPH_CHAT_MODEL": "bad"}
        code, checks = examined(call, tmp_path / "none", **env)
        assert code == 1
        assert "bad" in checks["chat model"]["finding"]
    code, checks = examined(call, tmp_path / "none", **env, POLYGRAPH_TIMEOUT_S="1")
    assert code == 1
    assert checks["chat model"]["ok"] is False
    # What fails stops none of the other checks.
    assert {"settings", "embedder", "index"} <= checks.keys()


def test_missing_layers_a_damaged_index_and_another_embedder_are_found(call, papers, index, tmp_path):
    few = tmp_path / "few"
    assert call("index", papers, "--index", few, "--for", "bm25").code == 0
    code, checks = examined(call, few)
    assert code == 0
    assert "chunk_vectors" in checks["index"]["finding"]
    assert f"polygraph index --index {few}" in checks["index"]["fix"]
    code, checks = examined(call, index, POLYGRAPH_EMBEDDER="wordllama")
    if "needs the extra" not in checks["embedder"]["finding"]:
        assert code == 1
        assert "wordllama" in checks["index"]["finding"]
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (index / name).unlink(missing_ok=True)
    (index / "index.sqlite").write_bytes(b"broken" * 1000)
    code, checks = examined(call, index)
    assert code == 1
    assert "not a readable index" in checks["index"]["finding"]


def test_settings_that_do_not_fit_are_found_first(call, tmp_path):
    code, checks = examined(call, tmp_path / "none", POLYGRAPH_CONCURRENCY="zero")
    assert code == 1
    assert "POLYGRAPH_CONCURRENCY" in checks["settings"]["finding"]


def test_people_read_marks_and_fixes(call, tmp_path):
    shown = call("doctor", "--index", tmp_path / "none").out
    assert "ok   settings" in shown
    assert "note chat model" in shown


def test_a_damaged_index_is_found_with_what_can_be_saved(call, index):
    _, checks = examined(call, index)
    assert "as it was written" in checks["files of the index"]["finding"]
    file = index / "index.sqlite"
    sound = file.read_bytes()
    at = sound.rindex(b"Skerry")
    file.write_bytes(sound[:at] + b"s" + sound[at + 1 :])
    code, checks = examined(call, index)
    assert code == 1
    check = checks["files of the index"]
    assert check["ok"] is False
    assert "1 of" in check["finding"]
    assert "can be used again" in check["finding"]
    assert "documents and" in check["finding"]
    assert "polygraph index PATH --index NEW_FOLDER" in check["fix"]
    assert checks["index"]["ok"] is False
    file.write_bytes(sound[:5000])
    code, checks = examined(call, index)
    assert code == 1
    assert checks["files of the index"]["ok"] is False
    file.write_bytes(sound)
    assert examined(call, index)[0] == 0


def test_damage_of_layers_replies_and_checksums_is_found_with_its_fix(call, index):
    vectors = next((index / "derived").glob("chunk_vectors-*/*.npy"))
    sound = vectors.read_bytes()
    vectors.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    check = examined(call, index)[1]["files of the index"]
    assert (check["ok"], check["fix"]) == (False, f"polygraph index --index {index}")
    assert "without paying again" in check["finding"]
    vectors.write_bytes(sound)
    (index / "derived" / "index.sums").unlink()
    check = examined(call, index)[1]["files of the index"]
    assert check["ok"] is None
    assert "no checksums" in check["finding"]
    (index / "calls.sqlite").write_bytes(b"damaged")
    assert examined(call, index)[1]["files of the index"]["ok"] is False
