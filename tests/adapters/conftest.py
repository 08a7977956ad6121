"""A small index for the adapters."""

import os

import pytest

from polygraph.config import Settings
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

# Haystack reports its use to its makers unless told not to, before it is imported.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

PAPERS = {
    "light.txt": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "ship.txt": "The barque Halcyon struck Grey Reef in 1874. Captain Tobin saw the Skerry Light too late.",
}


@pytest.fixture(scope="session")
def index(tmp_path_factory):
    """An open index of two documents with a scripted model."""
    folder = tmp_path_factory.mktemp("adapters")
    (folder / "papers").mkdir()
    for name, text in PAPERS.items():
        (folder / "papers" / name).write_text(text)
    opened = Index.open(folder / "index", settings=Settings(), models=hashed_models(scripted_chat()))
    opened.add(folder / "papers")
    yield opened
    opened.close()
