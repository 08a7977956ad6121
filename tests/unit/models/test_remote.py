"""Models on a cluster: what is read in a worker is what would be read here, and is not read again."""

from contextlib import contextmanager
from itertools import chain, repeat

import pytest

from polygraph.config import Settings
from polygraph.extract.llm import extractor as llm
from polygraph.extract.nlp.workers import LocalExecutor
from polygraph.models.open import open_models
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.models.remote import on_cluster
from polygraph.records import Chunk, Window
from polygraph.testing import scripted_chat

GOOD = """entity | Mara Quill | person | Keeps the light.
relation | Mara Quill | Sable Point | keeps the light at | duty | 7 | She keeps it.
END"""


class Worker(LocalExecutor):
    """Runs calls in this thread, and notes that it does."""

    busy = False

    def call(self, function, item):
        self.busy = True
        try:
            return super().call(function, item)
        finally:
            self.busy = False


def window(n, text):
    document = f"log{n}.txt"
    middle = len(text) // 2
    chunks = tuple(
        Chunk(id=f"{document}:{k}", document=document, ordinal=k, start=a, end=b, text=text[a:b], n_tokens=9)
        for k, (a, b) in enumerate([(0, middle), (middle, len(text))])
    )
    return Window(id=f"{document}@0", document=document, ordinal=0, title="Log", chunks=chunks, text=text)


WINDOWS = [
    window(n, f"Mara Quill keeps the light at Sable Point. Old Tobin rowed out on day {n}.") for n in range(4)
]


@contextmanager
def models(chat, executor=None):
    with ScriptedServer(chat=chat) as server:
        settings = Settings(
            base_url=server.base_url,
            api_key="k",
            chat_model="scripted",
            embedder="hash",
            name_embedder="hash",
            concurrency=1,
            prices={},
        )
        opened = open_models(settings, None)
        yield opened if executor is None else on_cluster(opened, settings, executor)


def chats():
    said = chain(["I would be happy to help.", GOOD, "No.", "No."], repeat(GOOD))
    return {
        "replies": scripted_chat(),
        "unusable replies": ScriptedChat([(lambda _: True, lambda _: next(said))]),
        "no records": ScriptedChat([(lambda _: True, "NONE\nEND")]),
    }


@pytest.mark.parametrize("gleaning", ["none", "base", "trial"])
@pytest.mark.parametrize("kind", ["replies", "unusable replies", "no records"])
def test_extraction_on_a_cluster_gives_the_same_rows(kind, gleaning):
    found = []
    for executor in (None, Worker()):
        with models(chats()[kind], executor) as opened:
            found.append(llm.extract(WINDOWS, opened, gleaning=gleaning))
    assert found[0] == found[1]
    assert len(found[0]) == len(WINDOWS)


def test_a_reply_that_a_worker_has_read_is_not_read_again(monkeypatch):
    worker = Worker()
    where = []
    for name in ("parse_extraction", "to_rows"):
        real = getattr(llm, name)
        monkeypatch.setattr(
            llm, name, lambda *args, real=real, **named: where.append(worker.busy) or real(*args, **named)
        )
    with models(scripted_chat(), worker) as opened:
        found = llm.extract(WINDOWS, opened)
    assert [each.status for each in found] == ["ok"] * len(WINDOWS)
    assert where == [True] * 2 * len(WINDOWS)


def test_a_reply_that_a_worker_cannot_read_is_repaired_as_on_one_machine():
    said = iter(["I would be happy to help.", GOOD])
    with models(ScriptedChat([(lambda _: True, lambda _: next(said))]), Worker()) as opened:
        (found,) = llm.extract(WINDOWS[:1], opened)
    assert found.status == "repaired"
    assert found.raw == GOOD
