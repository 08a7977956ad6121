"""Mentions by name: an entity that a model named in one document is found in others that have its name."""

import json

from polygraph.models.protocols import ChatReply
from polygraph.store.snapshot import Snapshot
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

TEXTS = {
    "register": "The time-ball on the Custom House roof was dented by the Wesleyan Chapel in 1881.",
    "will": "She leaves her bees to the Wesleyan Chapel, which did not expect them.",
    "menu": "Soup, fish and a pudding.",
}
REPLIES = {
    "time-ball": "entity | Wesleyan Chapel | organization | Dented the ball in 1881.\n"
    "entity | Custom House | place | Has the ball on its roof.\n"
    "relation | Wesleyan Chapel | Custom House | dented ball on | damage | 5 | It dented the ball.\nEND",
    "bees": "entity | Bees | object | Left in a will.\nEND",
    "Soup": "entity | Pudding | object | The last course.\nEND",
    "OVERCAST": "entity | Sky | object | Overcast.\nEND",
}


class Extracts:
    """A model with one reply for each text; other tasks are scripted."""

    name = "extracts"

    def __init__(self):
        self.other = scripted_chat()

    def chat(self, request, on_text=None):
        if request.messages[0].content.startswith("Task: extract"):
            text = request.messages[1].content.partition("<document>")[2]
            reply = next(reply for word, reply in REPLIES.items() if word in text)
            return ChatReply(text=reply, prompt_tokens=1, completion_tokens=1)
        return self.other.chat(request, on_text)


def index_in(folder, texts=TEXTS, *, removed=(), **options):
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    with Index.open(folder / "index", models=hashed_models(Extracts())) as index:
        index.add(*(folder / f"{name}.txt" for name in texts), methods=["hipporag"], **options)
        if removed:
            index.remove(*removed)
    return folder / "index"


def chunks_of(folder, name):
    snapshot = Snapshot(folder)
    (n,) = snapshot.entities_named([name])[name]
    (entity,) = snapshot.entities([n])
    neighbours = snapshot.edges("mentions").neighbours(n).tolist()
    snapshot.close()
    return entity.chunks, neighbours


def test_an_entity_is_mentioned_where_its_name_stands(tmp_path):
    chunks, rows = chunks_of(index_in(tmp_path), "Wesleyan Chapel")
    assert chunks == ("register.txt:0", "will.txt:0")
    assert len(rows) == 2


def test_what_is_said_of_it_stays_where_it_was_read(tmp_path):
    snapshot = Snapshot(index_in(tmp_path))
    (n,) = snapshot.entities_named(["Wesleyan Chapel"])["Wesleyan Chapel"]
    (entity,) = snapshot.entities([n])
    snapshot.close()
    assert [d.chunk for d in entity.descriptions] == ["register.txt:0"]


def test_names_of_a_parser_are_not_looked_for(tmp_path):
    folder = index_in(tmp_path, {"a": "Ann met the Mayor of Hull.", "b": "Hull is big."}, extractor="nlp")
    snapshot = Snapshot(folder)
    every = {chunk for n in range(snapshot.n_entities) for chunk in snapshot.entities([n])[0].chunks}
    snapshot.close()
    assert every == {"a.txt:0", "b.txt:0"}


def test_a_mention_goes_with_its_document(tmp_path):
    assert chunks_of(index_in(tmp_path, removed=["will.txt"]), "Wesleyan Chapel")[0] == ("register.txt:0",)


def test_the_fields_of_a_document_mention_what_they_name_in_all_of_its_passages(tmp_path):
    telegram = {
        "id": "t1",
        "title": "Custom House",
        "from": "Clerk, Wesleyan Chapel",
        "text": "SKY OVERCAST.\n" * 200,
    }
    (tmp_path / "telegrams.jsonl").write_text(json.dumps(telegram) + "\n")
    folder = index_in(tmp_path)
    with Index.open(folder, models=hashed_models(Extracts())) as index:
        index.add(tmp_path / "telegrams.jsonl", methods=["hipporag"])
    found, rows = chunks_of(folder, "Wesleyan Chapel")
    passages = [chunk for chunk in found if "t1" in chunk]
    assert len(passages) > 1
    assert found == ("register.txt:0", *passages, "will.txt:0")
    assert len(rows) == len(found)
    assert chunks_of(folder, "Custom House")[0] == ("register.txt:0",)  # a title is no field
