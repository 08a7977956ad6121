"""Questions that the demo suggests for a folder."""

import pytest

from polygraph.cli.demo_questions import answered_questions
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

STAFF = "Name,Ort\nLena Voss,Bremen\nJörg Tamm,Emden\nYusuf Kaya,Leer\n"
GERMAN = (
    "Lena Voss leitet die Prüfung der Pumpen in Bremen. Die Pumpen werden von Lena Voss und Jörg Tamm geprüft. "
    "Der Hafen von Emden ist alt, und Jörg Tamm hat ihn mit Lena Voss gesehen. Sie haben die Werkstatt besucht."
)
ENGLISH = (
    "Mara Quill built the light in 1871. Tobias Wren sold the granite to Mara Quill. "
    "Tobias Wren and Mara Quill quarrelled about the price of the granite for the light."
)


@pytest.fixture
def suggested(tmp_path, write_files):
    def suggest(files):
        with Index.open(tmp_path / "index", models=hashed_models()) as opened:
            opened.add(write_files(tmp_path / "papers", files))
            return answered_questions(opened)

    return suggest


def test_suggested_questions_are_answered_and_come_from_the_documents(suggested):
    found = suggested({"a.txt": ENGLISH, "b.txt": "The granite for the light came by barge to Mara Quill."})
    assert found
    assert not any(answer.refused for answer in found)
    assert all(answer.citations for answer in found)
    assert any("Mara Quill" in answer.question or "Tobias Wren" in answer.question for answer in found)
    assert len({answer.question for answer in found}) == len(found)


def test_questions_are_in_the_language_of_the_documents(suggested):
    found = suggested({"a.txt": GERMAN, "b.txt": GERMAN.replace("Emden", "Leer"), "staff.csv": STAFF})
    assert found
    assert all(answer.question.startswith(("Wer ", "Was ")) for answer in found)
