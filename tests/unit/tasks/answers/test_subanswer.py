"""What a step of a logic form shows to a model."""

from dataclasses import replace

from polygraph.models.providers.scripted import ScriptedChat
from polygraph.records import Chunk
from polygraph.tasks.answers.subanswer import deduce, sub_answer
from polygraph.tasks.offline.sentences import Passage
from polygraph.testing import hashed_models


def passage(title, text):
    chunk = Chunk(id=title, document=title, ordinal=0, start=0, end=len(text), text=text, n_tokens=1)
    return Passage(chunk=chunk, title=title, evidence=1)


PASSAGES = [passage("Log", "It rose.\n\nIt fell [1]."), passage("Letter", "All is well.")]
LISTED = "[1] Log\nIt rose.\n\nIt fell (1).\n\n[2] Letter\nAll is well."


def test_passages_are_told_apart_although_they_hold_empty_lines():
    seen = []

    def reply(request):
        seen.append(request.messages[1].content)
        return '{"answer": "1871", "names": []}'

    chat = ScriptedChat([(lambda _: True, reply)])
    sub_answer("When?", ["A rose"], PASSAGES, hashed_models(chat), method="")
    assert f"Statements:\n- A rose\n\nPassages:\n{LISTED}" in seen[0]
    deduce("When?", "extract", ["It was 1871"], PASSAGES, hashed_models(chat), method="")
    assert f"- It was 1871\n\n{LISTED}" in seen[1]


def test_a_passage_stands_below_its_title_and_date_but_not_below_what_it_begins_with():
    seen = []

    def reply(request):
        seen.append(request.messages[1].content)
        return '{"answer": "1916", "names": []}'

    chat = ScriptedChat([(lambda _: True, reply)])
    passages = [
        replace(passage("Runaway car", "# Runaway car\n\nKarl, 41, stayed."), date="1957-08-13"),
        replace(passage("Log", "He is 30."), date="1936-08-15"),
    ]
    sub_answer("When was Karl born?", ["Karl stayed"], passages, hashed_models(chat), method="")
    assert (
        "[1] date: 1957-08-13\n# Runaway car\n\nKarl, 41, stayed.\n\n[2] Log\ndate: 1936-08-15\nHe is 30."
    ) in seen[0]
