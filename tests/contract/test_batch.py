"""Batches: an index and a study made of files alone are those that are made over the wire."""

import contextlib
import importlib.util
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from polygraph.errors import BadInput, BudgetReached, ModelUnavailable, RequestsWaiting, UnusableReply
from polygraph.models import Calls, ChatRequest, Message
from polygraph.models.batch.jobs import BatchOptions
from polygraph.models.providers.openai import OpenAIChat
from polygraph.models.providers.scripted_server import ScriptedServer, request_from_body
from polygraph.testing import scripted_chat

ENV = {"POLYGRAPH_CHAT_MODEL": "scripted"}
"""No endpoint and no key: nothing can be asked but by files."""
METHODS = "bm25,lightrag-local,graphrag-global"
STUDY = ("-m", METHODS, "-n", 1, "--trials", 2, "--repeats", 1)
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
        reply = self.chat.chat(request_from_body(body))
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


def usage(study):
    rows = [json.loads(line) for line in (study / "usage.jsonl").read_text().splitlines()]
    names = ("calls", "prompt_tokens", "completion_tokens")
    # Other lines have the days of judging.
    return {(row["question"], row["method"]): [row[n] for n in names] for row in rows if "question" in row}


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


@pytest.mark.slow
def test_an_index_and_a_study_by_batch_are_those_over_the_wire(over_http, papers, tmp_path, call):
    calls, status = over_http
    provider = Provider(tmp_path / "batch", fail=0.1)
    rounds, ended = to_the_end(call, provider, "index", papers, "--index", "batch.index")
    assert ended.code == 0, ended.err
    # Extraction, the windows that failed, reports.
    assert rounds == 3
    provider.fail = 0.1
    more, ended = to_the_end(call, provider, "eval", "run", "--index", "batch.index", "-o", "study", *STUDY)
    assert ended.code == 0, ended.err
    # Questions: subgraphs are summed up first, and some requests failed; answers: two calls each; lengths: up to four
    # calls each; judgements.
    assert more == 9
    found, wanted = change.tables(tmp_path / "batch.index"), change.tables(tmp_path / "http.index")
    for name in change.VIEWS:
        assert found[name] == wanted[name], name
    assert change.files(tmp_path / "batch.index") == change.files(tmp_path / "http.index")
    for name in FILES:
        ours, theirs = ((tmp_path / s / f"{name}.jsonl").read_bytes() for s in ("study", "http"))
        assert ours == theirs, name
    # What an answer took is told as if it had been asked in one go.
    assert usage(tmp_path / "study") == usage(tmp_path / "http")
    listed = [
        json.loads(line)
        for path in sorted(provider.folder.glob("listing-*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    assert sorted(row["key"] for row in listed) == sorted(provider.asked.elements())
    questions = {
        json.loads(line)["id"] for line in (tmp_path / "study" / "questions.jsonl").read_text().splitlines()
    }
    of_stage = {
        stage: {row["question"] for row in listed if row["stage"] == stage}
        for stage in ("extract", "answer", "judge")
    }
    assert of_stage["extract"] == {""}
    assert of_stage["answer"] == of_stage["judge"] == questions
    assert {row["method"] for row in listed if row["stage"] == "answer"} == set(METHODS.split(","))
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


def test_a_command_says_how_many_requests_wait_where_and_writes_none_twice(papers, tmp_path, call):
    args = ("index", papers, "--index", "x.index", "--batch", "b")
    ended = call(*args, env=ENV)
    assert ended.code == 3
    assert ended.sentence.startswith("polygraph: 5 requests waiting in b/requests-0001.jsonl (about ")
    assert "; 5 of extract). Put the replies there" in ended.sentence
    assert ended.out == ""
    before = (tmp_path / "b" / "requests-0001.jsonl").read_bytes()
    ended = call(*args, env=ENV)
    assert ended.code == 3
    assert "5 requests waiting in b/requests-0001.jsonl. Put" in ended.sentence
    assert (tmp_path / "b" / "requests-0001.jsonl").read_bytes() == before
    assert len(list((tmp_path / "b").glob("requests-*"))) == 1
    assert "write the requests again with: polygraph batch --again --index x.index" in ended.sentence
    waiting = "5 requests waiting in batch files; see: polygraph batch --index x.index"
    assert waiting in call("status", "--index", "x.index", env=ENV).out
    listed = json.loads(call("batch", "--index", "x.index", "--json", env=ENV).out)
    assert [(Path(f["file"]).name, f["waiting"]) for f in listed["files"]] == [("requests-0001.jsonl", 5)]
    # The index is not locked meanwhile, and what needs no model is answered.
    assert call("ask", "Who is Mara Quill?", "-m", "bm25", "--index", "x.index").code == 0
    # A batch that came to nothing is written again, in a file of its own.
    assert call("batch", "--again", "--file", "requests-0009.jsonl", "--index", "x.index").code == 2
    assert call("batch", "--again", "--file", "requests-0001.jsonl", "--index", "x.index").code == 0
    assert "no requests wait" in call("batch", "--index", "x.index").out
    assert "requests-0002.jsonl" in call(*args, env=ENV).sentence
    assert (tmp_path / "b" / "requests-0002.jsonl").read_bytes() == before


def test_methods_side_by_side_are_one_round_each_time(papers, tmp_path, call):
    provider = Provider(tmp_path / "b")
    assert to_the_end(call, provider, "index", papers, "--index", "x.index")[0] == 2
    asked = ("compare", "Who is Mara Quill?", "-m", "bm25,naive,lightrag-local", "--index", "x.index")
    ended = call(*asked, "--batch", "b", env=ENV)
    assert ended.code == 3
    rows = provider.requests()
    tasks = Counter(row["body"]["messages"][0]["content"].splitlines()[0] for row in rows)
    assert sum(tasks.values()) == 3
    assert tasks["Task: answer"] == 2
    provider.run()
    rounds, ended = to_the_end(call, provider, *asked, "--json")
    assert rounds == 1
    usage = {a["method"]: a["usage"] for a in json.loads(ended.out)}
    # Also what an earlier round of the same command brought counts as called.
    assert {name: u["calls"] for name, u in usage.items()} == {"bm25": 1, "naive": 1, "lightrag-local": 2}
    rounds, ended = to_the_end(call, provider, *asked, "--json")
    assert rounds == 0
    usage = {a["method"]: a["usage"] for a in json.loads(ended.out)}
    assert {name: u["cached_calls"] for name, u in usage.items()} == {
        "bm25": 1,
        "naive": 1,
        "lightrag-local": 2,
    }


@pytest.mark.slow
def test_killed_at_any_moment_nothing_is_lost_or_asked_twice(papers, tmp_path, call, start):
    provider = Provider(tmp_path / "b")
    args = ("index", papers, "--index", "x.index", "--batch", provider.folder)
    n = 0
    for delay in (0.5, 0.8, 1.1, 1.4):
        process = start(*args, env=ENV)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            n += 1
        process.communicate()
        if provider.folder.is_dir():
            provider.run()
    assert n
    _, ended = to_the_end(call, provider, *args[:-2])
    assert ended.code == 0, ended.err
    assert max(provider.asked.values()) == 1


# --- one request at a time ------------------------------------------------------------------------------

MODEL = OpenAIChat("gpt-4o-mini")
"""Never called: no test has an endpoint for it."""


def request(text, **more):
    return ChatRequest(messages=(Message("system", "Task: x"), Message("user", text)), **more)


def opened(place, **more):
    return Calls(place / "calls.sqlite", batch=BatchOptions(folder=place / "b", **more))


def ask(calls, text="who?", parse=str, model=MODEL, **more):
    return calls.ask(model, request(text, **more), parse, stage="answer", method="m")


def waits(calls, text="who?", **more):
    with pytest.raises(RequestsWaiting) as raised:
        ask(calls, text, **more)
    return raised.value


def written(place):
    return [
        json.loads(line)
        for p in sorted((place / "b").glob("requests-*"))
        for line in p.read_text().splitlines()
    ]


def answer(place, name, *lines):
    (place / "b" / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def good(key, text="Mara.", usage=(1000, 100), **more):
    told = {"prompt_tokens": usage[0], "completion_tokens": usage[1]} if usage else None
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": told}
    return {"custom_id": key, "response": {"status_code": 200, "body": body}, **more}


def bad(key, status=500, message="oops", **more):
    body = {"error": {"message": message}}
    return {"custom_id": key, "response": {"status_code": status, "body": body}, **more}


def test_a_line_holds_what_would_have_been_sent(tmp_path):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "title": "t"}
    forms = {"max_output_tokens": 7, "temperature": 0.5, "schema": schema}
    with ScriptedServer(chat=scripted_chat()) as server, Calls(None) as direct:
        model = OpenAIChat("scripted", base_url=server.base_url, api_key="sk")
        ask(direct, "who?\u2028", model=model, **forms)
        sent = dict(server.log[-1].body)
    with opened(tmp_path) as calls:
        waits(calls, "who?\u2028", model=OpenAIChat("scripted"), **forms)
    (row,) = written(tmp_path)
    del sent["stream"], sent["stream_options"]
    assert row["body"] == sent


def test_a_reply_counts_once_at_the_price_of_a_batch(tmp_path):
    with opened(tmp_path) as calls:
        assert waits(calls).written == 1
    (row,) = written(tmp_path)
    answer(tmp_path, "out.txt", good(row["custom_id"]))
    with opened(tmp_path) as calls:
        with calls.meter() as meter:
            assert ask(calls) == "Mara."
        # Half of 1,000 x $0.15 and 100 x $0.60 per million.
        assert meter.usage.cost == pytest.approx(0.5 * (1000 * 0.15 + 100 * 0.60) / 1e6)
        assert (meter.usage.calls, meter.usage.prompt_tokens) == (1, 1000)
        (ledger,) = calls.ledger()
        assert (ledger.ok, ledger.cached, ledger.method) == (1, 0, "m")
        assert ledger.cost == pytest.approx(meter.usage.cost)
        with calls.meter() as meter:
            assert ask(calls) == "Mara."
        assert (meter.usage.calls, meter.usage.cached_calls, meter.usage.cost) == (0, 1, 0.0)
    answer(tmp_path, "copy.txt", good(row["custom_id"]) | {"id": "of another run"})
    with opened(tmp_path) as calls:
        assert calls.batch.import_replies().replies == 0


def test_a_program_that_goes_on_running_takes_replies_in_as_they_come(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls)
        (row,) = written(tmp_path)
        waits(calls)
        answer(tmp_path, "out.jsonl", good(row["custom_id"]))
        with calls.meter() as meter:
            assert ask(calls) == "Mara."
        assert meter.usage.calls == 1


def test_a_request_that_fails_is_asked_again_and_at_last_given_up(tmp_path):
    keys = []
    for n in range(1, 4):
        with opened(tmp_path) as calls:
            found = waits(calls)
            assert found.written == 1
            # The errors of former rounds still lie there, and say nothing of this one.
            assert waits(calls).earlier == 1
        row = written(tmp_path)[-1]
        keys.append(row["custom_id"])
        answer(tmp_path, f"errors-{n}.jsonl", bad(row["custom_id"]))
    assert len(set(keys)) == 1
    with opened(tmp_path) as calls:
        for _ in range(2):
            with pytest.raises(UnusableReply, match="3 batches, the last time with: 500: oops"):
                ask(calls)
        (ledger,) = calls.ledger()
        assert (ledger.ok, ledger.failed) == (0, 3)
        (entry,) = calls.quarantined()
        calls.release([entry])
        waits(calls)
    assert len(written(tmp_path)) == 4


def test_a_request_that_expired_is_asked_again(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls)
    key = written(tmp_path)[0]["custom_id"]
    late = {"code": "batch_expired", "message": "too late"}
    answer(tmp_path, "e.jsonl", {"id": "batch_req_1", "custom_id": key, "response": None, "error": late})
    with opened(tmp_path) as calls:
        assert "1 request failed (most often: batch_expired: too late)" in str(calls.batch.import_replies())
        assert waits(calls).written == 1


def test_a_request_that_is_too_long_is_not_asked_again(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls)
    key = written(tmp_path)[0]["custom_id"]
    answer(tmp_path, "e.jsonl", bad(key, 400, "This model's maximum context length is 8192 tokens"))
    with opened(tmp_path) as calls, pytest.raises(UnusableReply, match="maximum context length"):
        ask(calls)


def test_what_the_endpoint_minds_is_left_out_in_the_next_round(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls, max_output_tokens=9)
    (row,) = written(tmp_path)
    assert row["body"]["max_tokens"] == 9
    refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    answer(tmp_path, "e.jsonl", bad(row["custom_id"], 400, refusal))
    with opened(tmp_path) as calls:
        waits(calls, max_output_tokens=9)
        waits(calls, "another?", max_output_tokens=9)
    for row in written(tmp_path)[1:]:
        assert row["body"]["max_completion_tokens"] == 9
        assert "max_tokens" not in row["body"]


def test_an_empty_reply_is_a_failure_that_was_paid(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls)
    key = written(tmp_path)[0]["custom_id"]
    answer(tmp_path, "out.jsonl", good(key, " ", usage=(10, 0)))
    with opened(tmp_path) as calls:
        assert calls.batch.import_replies().failed == 1
        assert calls.ledger()[0].prompt_tokens == 10
        waits(calls)


def test_an_unusable_reply_is_asked_again_with_the_reason(tmp_path):
    def parse(text):
        if text != "42":
            raise UnusableReply("not the number")
        return text

    with opened(tmp_path) as calls:
        waits(calls, parse=parse)
    answer(tmp_path, "1.jsonl", good(written(tmp_path)[0]["custom_id"], "no idea"))
    with opened(tmp_path) as calls:
        waits(calls, parse=parse)
    repair = written(tmp_path)[1]
    assert "not the number" in repair["body"]["messages"][-1]["content"]
    answer(tmp_path, "2.jsonl", good(repair["custom_id"], "42"))
    with opened(tmp_path) as calls:
        assert ask(calls, parse=parse) == "42"
        (ledger,) = calls.ledger()
        assert (ledger.ok, ledger.repaired, ledger.cached) == (1, 1, 0)


def test_a_retry_is_not_answered_by_the_reply_that_was_thrown_away(tmp_path):
    def refuse(text):
        raise UnusableReply("never")

    with opened(tmp_path) as calls:
        waits(calls)
    answer(tmp_path, "1.jsonl", good(written(tmp_path)[0]["custom_id"], "worthless"))
    with opened(tmp_path) as calls:
        waits(calls, parse=refuse)
    answer(tmp_path, "2.jsonl", good(written(tmp_path)[1]["custom_id"], "worthless, too"))
    with opened(tmp_path) as calls:
        with pytest.raises(UnusableReply):
            ask(calls, parse=refuse)
        calls.release(calls.quarantined())
        assert waits(calls).written == 1
    with opened(tmp_path) as calls:
        assert waits(calls).earlier == 1


def test_replies_outlive_the_store_that_asked_for_them(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls)
    answer(tmp_path, "out.jsonl", good(written(tmp_path)[0]["custom_id"]))
    with opened(tmp_path) as calls:
        ask(calls)
    for path in tmp_path.glob("calls.sqlite*"):
        path.unlink()
    with opened(tmp_path) as calls:
        assert calls.batch.import_replies().unknown == 1
        with calls.meter() as meter:
            assert ask(calls) == "Mara."
        assert meter.usage.calls == 1
        assert calls.ledger()[0].ok == 1
    assert len(written(tmp_path)) == 1


def test_what_is_no_reply_is_counted_and_does_no_harm(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls)
    key = written(tmp_path)[0]["custom_id"]
    b = tmp_path / "b"
    (b / "noise.bin").write_bytes(bytes(range(256)) * 40)
    (b / "deep.jsonl").write_text(
        "[" * 100_000 + "\n" + '{"custom_id": 7, "response": {}}\n\n{"custom_id": "x"}\n'
    )
    # Ids that no database takes.
    (b / "ids.jsonl").write_text("".join(json.dumps(good(key)) + "\n" for key in ("\ud800", "a\0")))
    (b / "odd.jsonl").write_text(
        json.dumps({"custom_id": key, "response": {"status_code": 200, "body": "text"}})
        + "\n"
        + json.dumps(good("never-asked"))
        + "\n"
        + json.dumps(good(key, usage=None) | {"id": 5})[:-20]
    )
    (b / "sub").mkdir()
    with opened(tmp_path) as calls:
        imported = calls.batch.import_replies()
        assert (imported.replies, imported.unknown) == (0, 1)
        assert imported.failed == 1
        assert imported.invalid >= 6
        assert "lines that cannot be read as a reply" in str(imported)
        # A file that was still being copied is read again when it has grown.
        answer(tmp_path, "odd.jsonl", good(key, usage={}, id="r"))
        assert ask(calls) == "Mara."
        assert calls.ledger()[0].prompt_tokens > 0


def test_a_line_without_end_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr("polygraph.models.batch.lines.MAX_LINE_BYTES", 1000)
    with opened(tmp_path) as calls:
        waits(calls)
    key = written(tmp_path)[0]["custom_id"]
    (tmp_path / "b" / "out.jsonl").write_text("x" * 5000 + "\n" + json.dumps(good(key)) + "\n")
    with opened(tmp_path) as calls:
        assert (
            str(calls.batch.import_replies())
            == "1 reply imported, 1 line that cannot be read as a reply, from 1 file"
        )


def test_files_are_cut_at_the_limits_of_the_provider(tmp_path):
    with opened(tmp_path, max_requests=4) as calls:
        with pytest.raises(RequestsWaiting) as raised:
            calls.map(lambda n: ask(calls, f"question {n}"), range(10))
        assert raised.value.written == 10
        assert [len(p.read_text().splitlines()) for p in raised.value.files] == [4, 4, 2]
    size = len((tmp_path / "b" / "requests-0003.jsonl").read_bytes()) // 2
    with opened(tmp_path / "other", max_bytes=3 * size + 3) as calls:
        with pytest.raises(RequestsWaiting):
            calls.map(lambda n: ask(calls, f"question {n}"), range(10))
        sizes = [len(p.read_bytes()) for p in sorted((tmp_path / "other" / "b").glob("requests-*"))]
        assert len(sizes) == 4
        assert max(sizes) <= 3 * size + 3
    # Equal requests are one line; the numbering of files depends on nothing but what is asked.
    with opened(tmp_path / "again", max_requests=4) as calls, pytest.raises(RequestsWaiting):
        calls.map(lambda n: ask(calls, f"question {n % 10}"), range(20))
    for path in sorted((tmp_path / "b").glob("requests-*")):
        assert path.read_bytes() == (tmp_path / "again" / "b" / path.name).read_bytes()


def test_a_cap_holds_against_what_is_written(tmp_path):
    def calls_with(**caps):
        return Calls(tmp_path / "calls.sqlite", batch=BatchOptions(folder=tmp_path / "b"), **caps)

    # Each request is expected to read 6 tokens or so and to write 256.
    with (
        calls_with(max_tokens=1000) as calls,
        pytest.raises(BudgetReached, match="7 more requests would exceed the cap"),
    ):
        calls.map(lambda n: ask(calls, f"question {n}"), range(10))
    assert len(written(tmp_path)) == 3
    with calls_with() as calls, pytest.raises(RequestsWaiting, match="3 of them already in"):
        calls.map(lambda n: ask(calls, f"question {n}"), range(10))
    assert len({row["custom_id"] for row in written(tmp_path)}) == len(written(tmp_path)) == 10
    with calls_with(max_cost=1.0) as calls, pytest.raises(BadInput, match="price"):
        ask(calls, model=OpenAIChat("nobody-knows"))


def test_a_true_error_is_told_before_what_waits_and_nothing_is_written(tmp_path):
    def work(n):
        if n == 5:
            raise ModelUnavailable("down")
        return ask(calls, f"question {n}")

    with opened(tmp_path) as calls, pytest.raises(ModelUnavailable):
        calls.map(work, range(10))
    assert not (tmp_path / "b").exists()


def test_a_model_on_this_machine_is_called_and_one_without_a_written_form_is_refused(tmp_path):
    class Plain:
        name = "plain"
        local = False

        def chat(self, request, on_text=None):
            return scripted_chat().chat(request)

    model = Plain()
    with opened(tmp_path) as calls:
        with pytest.raises(BadInput, match="Run the command without --batch"):
            ask(calls, model=model)
        model.local = True
        assert ask(calls, model=model)
    with (
        Calls(None, batch=BatchOptions(folder=tmp_path / "b")) as calls,
        pytest.raises(BadInput, match="could not be stored"),
    ):
        ask(calls)


def test_a_file_that_was_recorded_but_not_named_gets_its_name(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls)
    path = tmp_path / "b" / "requests-0001.jsonl"
    path.rename(path.with_name("requests-0001.jsonl.tmp"))
    (tmp_path / "b" / "requests-0002.jsonl.tmp").write_text("not recorded")
    with opened(tmp_path) as calls:
        assert waits(calls).earlier == 1
        assert path.exists()
        assert waits(calls, "another?").files[0].name == "requests-0003.jsonl"


def test_two_processes_do_not_write_the_same(tmp_path):
    with opened(tmp_path) as one, opened(tmp_path) as other:

        def meanwhile():
            with one.batch_round():
                waits(one)
                waits(other)
                ask(one)

        with pytest.raises(RequestsWaiting) as raised:
            meanwhile()
        assert (raised.value.written, raised.value.earlier) == (0, 1)
    assert len(written(tmp_path)) == 1


def test_who_swallows_what_waits_is_told_all_the_same(tmp_path):
    def swallow(calls):
        with calls.batch_round(), contextlib.suppress(RequestsWaiting):
            ask(calls)

    with opened(tmp_path) as calls, pytest.raises(RequestsWaiting, match="1 request waiting"):
        swallow(calls)


def test_a_file_instead_of_a_folder_is_refused(tmp_path):
    (tmp_path / "b").write_text("mine")
    with pytest.raises(BadInput, match="is a file"):
        opened(tmp_path)


def test_forgetting_leaves_nothing_of_what_a_service_quoted(tmp_path):
    with opened(tmp_path) as calls:
        waits(calls)
        waits(calls, "and who else?")
    for n, row in enumerate(written(tmp_path)):
        answer(tmp_path, f"{n}.jsonl", bad(row["custom_id"], 400, f"temperature: Zyxomant {n}"))
    with opened(tmp_path) as calls:
        assert calls.batch.import_replies().failed == 2
        assert calls.keep_only({written(tmp_path)[0]["custom_id"]}, set())
        assert [f.failed for f in calls.waiting()] == [1]
    assert all(b"Zyxomant" not in path.read_bytes() for path in tmp_path.glob("calls.sqlite*"))


def test_the_name_of_a_file_is_never_used_again(tmp_path):
    for n in range(1, 4):
        with opened(tmp_path) as calls:
            path = waits(calls, f"question {n}").files[0]
        assert path.name == f"requests-{n:04d}.jsonl"
        answer(tmp_path, "out.jsonl", good(written(tmp_path)[0]["custom_id"], f"reply {n}"))
        path.unlink()
        with opened(tmp_path) as calls:
            assert ask(calls, f"question {n}") == f"reply {n}"
        (tmp_path / "b" / "out.jsonl").unlink()


def test_forgetting_deletes_requests_and_replies_with_removed_text_from_batch_folders(papers, tmp_path, call):
    provider = Provider(tmp_path / "b")
    assert to_the_end(call, provider, "index", papers, "--index", "x.index")[1].code == 0
    others = json.dumps({"custom_id": "of another index", "response": None}).encode() + b"\n"
    (tmp_path / "b" / "theirs.jsonl").write_bytes(others)
    (tmp_path / "b" / "sent-requests-0001.jsonl").write_text("batch_17")
    removed = next(path for path in sorted(papers.rglob("*.txt")) if "Skerry" in path.read_text())
    phrase = " ".join(max(removed.read_text().splitlines(), key=len).split()[:4])

    def files_with(text):
        escaped = json.dumps(text)[1:-1]
        return [p.name for p in (tmp_path / "b").iterdir() if escaped in p.read_text(errors="replace")]

    assert files_with(phrase)
    n_before = len(provider.folder.joinpath("requests-0001.jsonl").read_text().splitlines())
    document = removed.relative_to(papers).as_posix()
    ended = call("remove", document, "--forget", "--index", "x.index", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["forgotten"] is True
    assert any(str(tmp_path / "b") in note for note in found["notes"])
    assert files_with(phrase) == []
    # What the remaining documents need is kept, as are the lines of another index.
    n_after = len(provider.folder.joinpath("requests-0001.jsonl").read_text().splitlines())
    assert 0 < n_after < n_before
    assert (tmp_path / "b" / "theirs.jsonl").read_bytes() == others
    assert (tmp_path / "b" / "sent-requests-0001.jsonl").read_text() == "batch_17"


def test_a_batch_folder_that_was_moved_is_named_when_forgetting(papers, tmp_path, call):
    provider = Provider(tmp_path / "b")
    assert to_the_end(call, provider, "index", papers, "--index", "x.index")[1].code == 0
    provider.folder.rename(tmp_path / "elsewhere")
    ended = call("remove", "log.md", "--forget", "--index", "x.index", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["forgotten"] is False
    assert any(str(tmp_path / "b") in note and "not there" in note for note in found["notes"])
