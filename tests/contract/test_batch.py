"""Batches: an index and a study made of files alone are those that are made over the wire."""

import importlib.util
import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from polygraph.models.scripted import ScriptedServer, _request_of
from polygraph.testing import scripted_chat

ENV = {"POLYGRAPH_CHAT_MODEL": "scripted"}
"""No endpoint and no key: nothing can be asked but by files."""
METHODS = "bm25,lightrag-local,graphrag-global"
STUDY = ("-m", METHODS, "-n", 2, "--trials", 2, "--repeats", 1)
FILES = ("questions", "answers", "aligned", "judgements")


def _change():
    # The test folders are not packages.
    spec = importlib.util.spec_from_file_location("change", Path(__file__).with_name("test_change.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["change"] = module
    spec.loader.exec_module(module)
    return module


change = _change()


class Provider:
    """Stands in for a service of batches: answers files of requests in its own order, in files of its own."""

    def __init__(self, folder, *, fail=0.0, seed=7):
        self.folder, self.fail = folder, fail
        self.rng = random.Random(seed)
        self.done: set[str] = set()
        self.asked: Counter[str] = Counter()
        self.failed: set[str] = set()
        self.chat = scripted_chat()

    def requests(self):
        return [
            json.loads(line)
            for path in sorted(self.folder.glob("requests-*.jsonl"))
            if path.name not in self.done
            for line in path.read_text().splitlines()
        ]

    def line(self, row):
        key, body = row["custom_id"], row["body"]
        self.asked[key] += 1
        named = {"id": f"batch_req_{len(self.done)}_{key}", "custom_id": key}
        if self.rng.random() < self.fail:
            self.failed.add(key)
            error = {"message": "The server had an error", "code": "server_error"}
            return named | {"response": {"status_code": 500, "body": {"error": error}}, "error": None}
        reply = self.chat.chat(_request_of(body))
        return named | {"response": {"status_code": 200, "body": completion(reply)}, "error": None}

    def run(self):
        """Answer what lies there; tell how many requests that were."""
        rows = self.requests()
        assert all(row["method"] == "POST" and row["url"] == "/v1/chat/completions" for row in rows)
        lines = [self.line(row) for row in rows]
        self.done.update(path.name for path in self.folder.glob("requests-*.jsonl"))
        self.rng.shuffle(lines)
        whole = [line for line in lines if line["response"]["status_code"] == 200]
        broken = [line for line in lines if line["response"]["status_code"] != 200]
        third = len(whole) // 3
        for name, some in (("b", whole[:third]), ("a", whole[third:]), ("errors", broken)):
            text = "".join(json.dumps(line) + "\n" for line in some)
            (self.folder / f"{name}-{len(self.done)}.jsonl").write_text(text)
        self.fail = 0.0
        return len(rows)


def completion(reply):
    usage = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
    choice = {"message": {"role": "assistant", "content": reply.text}, "finish_reason": reply.finish}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def to_the_end(call, provider, *args, env=ENV):
    """Give the same command until it ends; return how many rounds waited, and the last."""
    rounds = 0
    while (ended := call(*args, "--batch", provider.folder, env=env)).code == 3:
        rounds += 1
        assert " waiting in " in ended.sentence
        assert rounds < 30
        provider.run()
    return rounds, ended


@pytest.fixture
def over_http(papers, tmp_path, call):
    """The index and the study as they are made over the wire, with the requests that took."""
    with ScriptedServer(chat=scripted_chat()) as server:
        env = {**ENV, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-test"}
        assert call("index", papers, "--index", "http.index", env=env).code == 0
        ended = call("eval", "run", "--index", "http.index", "-o", "http", *STUDY, env=env)
        assert ended.code == 0, ended.err
        status = json.loads(call("status", "--index", "http.index", "--json", env=env).out)
        yield server.calls, status


def test_an_index_and_a_study_by_batch_are_those_over_the_wire(over_http, papers, tmp_path, call):
    calls, status = over_http
    provider = Provider(tmp_path / "batch", fail=0.1)
    rounds, ended = to_the_end(call, provider, "index", papers, "--index", "batch.index")
    assert ended.code == 0, ended.err
    print("index", rounds)
    provider.fail = 0.1
    more, ended = to_the_end(call, provider, "eval", "run", "--index", "batch.index", "-o", "study", *STUDY)
    assert ended.code == 0, ended.err
    print("study", more)
    found, wanted = change.tables(tmp_path / "batch.index"), change.tables(tmp_path / "http.index")
    for name in change.VIEWS:
        assert found[name] == wanted[name], name
    assert change.files(tmp_path / "batch.index") == change.files(tmp_path / "http.index")
    for name in FILES:
        ours, theirs = ((tmp_path / s / f"{name}.jsonl").read_bytes() for s in ("study", "http"))
        assert ours == theirs, name
    # Nothing was asked twice but what failed.
    assert provider.failed
    assert len(provider.asked) == calls
    assert {key for key, n in provider.asked.items() if n > 1} == provider.failed
    assert max(provider.asked.values()) == 2
    ledger = json.loads(call("status", "--index", "batch.index", "--json").out)["ledger"]
    counted = ("stage", "method", "ok", "repaired", "cached", "prompt_tokens", "completion_tokens")
    assert [{k: r[k] for k in counted} for r in ledger if r["model"] == "scripted"] == [
        {k: r[k] for k in counted} for r in status["ledger"] if r["model"] == "scripted"
    ]
    assert sum(r["failed"] for r in ledger) == len(provider.failed)
