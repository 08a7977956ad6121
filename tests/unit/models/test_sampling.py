"""Independent runs of the same requests."""

from polygraph.models import Calls, ChatRequest, Message
from polygraph.models.sampling import sampled
from polygraph.testing import scripted_chat

REQUEST = ChatRequest(messages=(Message("user", "Who kept the light?"),))


def test_runs_share_no_replies_and_each_run_is_paid_once():
    chat = scripted_chat([("Who kept", "Mara Quill")])
    calls = Calls(None)

    def ask(run, temperature, request=REQUEST):
        with sampled(run, temperature):
            assert list(calls.map(lambda r: calls.ask(chat, r, str, stage="s"), [request])) == ["Mara Quill"]

    for _ in range(2):
        calls.ask(chat, REQUEST, str, stage="s")
        ask(0, 0.0)
        ask(0, 0.7)
        ask(1, 0.7)
        ask(1, 0.7, ChatRequest(messages=REQUEST.messages, temperature=0.2, sample=3))
        ask(2, 0.7)
    assert [(r.sample, r.temperature) for r in chat.requests] == [
        (0, 0.0),
        (0, 0.7),
        (1_000, 0.7),
        (1_003, 0.2),
        (2_000, 0.7),
    ]
