"""An endpoint that fails in every way that endpoints do: the run ends, and the accounts agree with the server's."""

import json

import pytest

from polygraph.models.providers.scripted_server import ScriptedServer, faults_at
from polygraph.testing import scripted_chat

NAMES = ("Mara Quill", "Old Tobin", "Tobias Wren", "Ada Marsh", "Elias Crane", "Ruth Fenn")
RATES = {"429": 0.20, "500": 0.10, "drop": 0.05, "cut_http": 0.025, "cut": 0.025, "silence": 0.02}


def days(write_files, folder, n):
    texts = {}
    for i in range(n):
        a, b, c = NAMES[i % 6], NAMES[(i + 1) % 6], NAMES[(i + 2) % 6]
        texts[f"{i:03}.txt"] = (
            f"Day {i}. {a} met {b} at the Skerry Light. Then {c} wrote to {a} about entry number {i} of the book."
        )
    return write_files(folder, texts)


def endpoint(server, **more):
    return {
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "sk-test",
        "POLYGRAPH_CHAT_MODEL": "scripted",
        "POLYGRAPH_TIMEOUT_S": "3",
        "POLYGRAPH_CHUNK_TOKENS": "32",
        "POLYGRAPH_WINDOW_TOKENS": "64",
        **more,
    }


def check_accounts(found, server):
    """The ledger of `status` is the server's own count; what the server never said is `unreported`."""
    rows = [row for row in found["ledger"] if row["model"] == "scripted"]
    assert sum(r["ok"] + r["failed"] + r["repaired"] for r in rows) == server.calls
    untold = [e for e in server.log if e.fault in {"drop", "cut_http", "silence"}]
    # On a busy machine the client may give up a call that the server answers after all: unreported as well.
    late = sum(r["unreported"] for r in rows) - len(untold)
    assert 0 <= late <= 3
    n_failed = sum(e.fault in {"429", "500", "drop", "cut_http", "silence"} for e in server.log)
    assert sum(r["failed"] for r in rows) == n_failed + late
    for kind in ("prompt_tokens", "completion_tokens"):
        gap = getattr(server, kind) - sum(r[kind] for r in rows)
        assert 0 <= gap <= late * max(getattr(e, kind) for e in server.log), kind


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1, marks=pytest.mark.slow),
        *(pytest.param(seed, marks=pytest.mark.deep) for seed in (2, 3, 4, 5)),
    ],
)
def test_a_run_on_a_faulty_server_ends_with_every_window_accounted_for(seed, tmp_path, call, write_files):
    n = 50
    folder = days(write_files, tmp_path / "days", n)
    index = tmp_path / "days.index"
    kinds, later = tuple(RATES), faults_at(RATES, seed=seed)
    with ScriptedServer(
        chat=scripted_chat(),
        # One of each to begin with: how many calls follow depends on which of them fail.
        faults=lambda n: kinds[n] if n < len(kinds) else later(n),
        retry_after_s=0.02,
    ) as server:
        ended = call("index", folder, "--index", index, "--json", env=endpoint(server))
        assert ended.code == 0, ended.err
        found = json.loads(call("status", "--index", index, "--json", env=endpoint(server)).out)
        met = {entry.fault for entry in server.log}
        assert met == {"ok", *RATES}, met
        states = {
            k.removeprefix("windows "): v for k, v in found["counts"].items() if k.startswith("windows ")
        }
        assert set(states) <= {"ok", "repaired", "failed"}
        assert sum(states.values()) == n
        assert states["ok"] + states.get("repaired", 0) >= 0.9 * n
        assert len(found["failures"]) == n - states["ok"]
        assert all(failure["problem"] for failure in found["failures"])
        assert {layer["state"] for layer in found["layers"].values()} == {"ready"}
        check_accounts(found, server)


def test_windows_that_a_faulty_server_left_out_are_read_by_retry(tmp_path, call, write_files):
    folder = days(write_files, tmp_path / "days", 8)
    index = tmp_path / "days.index"
    with ScriptedServer(chat=scripted_chat(), faults=["prose", "prose"]) as server:
        env = endpoint(server, POLYGRAPH_CONCURRENCY="1")
        ended = call("index", folder, "--index", index, "--json", env=env)
        assert ended.code == 0, ended.err
        shown = call("status", "--failed", "--index", index, env=env)
        assert "happy to help" in shown.out
        n = server.calls
        ended = call("retry", "--index", index, "--json", env=env)
        assert ended.code == 0, ended.err
        assert [entry.task for entry in server.log[n:]].count("extract") == 1
        found = json.loads(call("status", "--index", index, "--json", env=env).out)
        assert found["counts"]["windows ok"] == 8
        assert found["failures"] == []


def test_a_window_that_was_put_right_at_once_is_not_listed_as_failed(tmp_path, call, write_files):
    folder = days(write_files, tmp_path / "days", 8)
    index = tmp_path / "days.index"
    with ScriptedServer(chat=scripted_chat(), faults=["prose"]) as server:
        env = endpoint(server, POLYGRAPH_CONCURRENCY="1")
        assert call("index", folder, "--index", index, env=env).code == 0
        found = json.loads(call("status", "--index", index, "--json", env=env).out)
        assert [each["problem"] for each in found["failures"]] == [
            "the first reply was not usable: it holds no record"
        ]
        assert "nothing failed" in call("status", "--failed", "--index", index, env=env).out
        n = server.calls
        assert call("retry", "--index", index, env=env).code == 0
        assert server.calls == n


def test_an_endpoint_that_answers_with_prose_ends_in_an_error_and_no_graph(tmp_path, call, write_files):
    folder = days(write_files, tmp_path / "days", 6)
    index = tmp_path / "days.index"
    with ScriptedServer(chat=scripted_chat(), faults=lambda n: "prose") as server:
        ended = call("index", folder, "--index", index, "--json", env=endpoint(server))
        assert ended.code == 1, (ended.out, ended.err)
        assert ended.out == ""
        assert "nothing could be extracted" in ended.sentence
        assert "Traceback" not in ended.err
        found = json.loads(call("status", "--index", index, "--json", env=endpoint(server)).out)
        assert found["counts"]["windows failed"] == 6
        assert found["layers"]["graph"]["state"] == "missing"
        assert all("happy to help" in failure["raw"] for failure in found["failures"])
        check_accounts(found, server)
        asked = call(
            "ask", "Who met Ada Marsh?", "--index", index, "-m", "graphrag-local", env=endpoint(server)
        )
        assert asked.code == 2
        # The same command says the same, and pays for nothing again.
        n = server.calls
        again = call("index", folder, "--index", index, env=endpoint(server))
        assert again.code == 1
        assert server.calls == n
