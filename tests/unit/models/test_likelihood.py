"""Log-probabilities of replies: asked for where they are wanted, summed, stored, and done without."""

import math

import pytest

from polygraph.models import Calls
from polygraph.models.chat_completion import CompletionReader
from polygraph.models.protocols import ChatRequest, Likelihood, Message
from polygraph.models.providers.openai import OpenAIChat
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.models.providers.scripted_server import ScriptedServer

HALF = math.log(0.5)
TEXT = "The mill stood by the weir."
WANTED = ChatRequest(messages=(Message("user", "Where did the mill stand?"),), likelihood=True)
PLAIN = ChatRequest(messages=WANTED.messages)


def served(**options):
    options.setdefault("log_probability", lambda _request, _piece: HALF)
    return ScriptedServer(chat=ScriptedChat([("mill", TEXT)]), **options)


def client(server):
    return OpenAIChat("m", base_url=server.base_url, api_key="k")


@pytest.mark.parametrize("refuses", [(), ("stream",)])
def test_probabilities_of_a_reply_are_summed_streamed_or_whole(refuses):
    with served(refuses=refuses) as server:
        reply = client(server).chat(WANTED)
    assert reply.text == TEXT
    assert reply.likelihood is not None
    assert reply.likelihood.perplexity == pytest.approx(2.0)
    assert reply.likelihood.confidence == pytest.approx(0.5)


def test_probabilities_are_asked_for_only_where_they_are_wanted():
    with served() as server:
        reply = client(server).chat(PLAIN)
        client(server).chat(WANTED)
        bodies = [call.body for call in server.log]
    assert reply.likelihood is None
    assert ["logprobs" in body for body in bodies] == [False, True]


def test_an_endpoint_that_refuses_them_is_asked_once_and_replies_without():
    with served(refuses=["logprobs"]) as server:
        model = client(server)
        first, second = model.chat(WANTED), model.chat(WANTED)
        statuses = [call.status for call in server.log]
    assert (first.text, first.likelihood, second.likelihood) == (TEXT, None, None)
    assert statuses == [400, 200, 200]


def test_an_endpoint_that_ignores_them_replies_without():
    with served(log_probability=None) as server:
        assert client(server).chat(WANTED).likelihood is None


def test_a_stored_reply_keeps_its_likelihood_and_another_request_does_not_get_it(tmp_path):
    seen = []
    with served() as server:
        for _ in range(2):
            with Calls(tmp_path / "calls.sqlite") as calls:
                for request in (WANTED, PLAIN):
                    calls.ask(client(server), request, str, stage="answer", on_reply=seen.append)
        assert server.calls == 2
    assert [reply.likelihood is not None for reply in seen] == [True, False, True, False]
    assert seen[0].likelihood == seen[2].likelihood


@pytest.mark.parametrize(
    "given",
    [
        {"content": [{"token": "a", "logprob": "-0.1"}]},
        {"content": [{"token": "a", "logprob": float("nan")}]},
        {"content": [{"token": "a", "logprob": float("-inf")}]},
        {"content": [{"token": "a", "logprob": 3.0}]},
        {"content": [{"token": "a", "logprob": -0.1}, None]},
        {"content": [{"token": "a", "logprob": True}]},
        {"content": 5},
        {"content": []},
        {"content": None},
        [],
        None,
    ],
)
def test_malformed_probabilities_are_none_and_the_text_is_kept(given):
    reader = CompletionReader()
    choice = {"message": {"content": "It stood."}, "finish_reason": "stop", "logprobs": given}
    reader.add([{"choices": [choice]}], "message")
    reply = reader.reply(3, None)
    assert (reply.text, reply.likelihood) == ("It stood.", None)


def test_likelihoods_of_a_path_add_up_and_do_not_overflow():
    both = Likelihood(1, HALF, 0.5) + Likelihood(3, 3 * HALF, 1.5)
    assert (both.perplexity, both.confidence) == (pytest.approx(2.0), 0.5)
    assert math.isfinite(Likelihood(1, -1e6, 0.0).perplexity)
