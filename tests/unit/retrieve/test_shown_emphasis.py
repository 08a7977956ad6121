"""Answers in sentences are shown without marks of Markdown; their citations quote the document as it is."""

import pytest

from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

NIGHT = "At night the *ferry office* is called under **+49 30 901820**."
STOP = "To stop the winch, run `winch --now *all*` in the folder of __Brake__ and wait."


@pytest.fixture(scope="module")
def index(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("emphasis")
    with Index.open(base / "index", models=hashed_models()) as opened:
        opened.add(
            write_files(
                base / "papers", {"office.md": f"# Office\n\n{NIGHT}", "winch.md": f"# Winch\n\n{STOP}"}
            )
        )
        yield opened


@pytest.mark.parametrize(
    ("question", "shown", "quote"),
    [
        (
            "How is the ferry office called at night?",
            "At night the ferry office is called under +49 30 901820. [1]",
            NIGHT,
        ),
        (
            "How do I stop the winch?",
            "To stop the winch, run `winch --now *all*` in the folder of Brake and wait. [1]",
            STOP,
        ),
    ],
)
def test_marks_are_not_shown_and_quotes_keep_them(index, question, shown, quote):
    found = index.ask(question, "bm25")
    assert shown in found.text
    assert [c.quote for c in found.citations if c.quote == quote]
    assert [found.text[at : at + 3] for c in found.citations for at in c.at] == [
        f"[{c.n}]" for c in found.citations
    ]
