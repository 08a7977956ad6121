"""A small index, built once, and factories for models and other indexes."""

from contextlib import contextmanager

import pytest

from polygraph.config import Settings
from polygraph.store.snapshot import Snapshot
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

TEXTS = {
    "a.txt": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "b.txt": "Tobias Wren refused to pay for the oil of the Skerry Light. The Harbour Board followed Tobias Wren.",
    "c.txt": "The Halcyon struck the Grey Reef in the fog. Old Tobin brought the crew of the Halcyon ashore.",
    "d.txt": "Old Tobin wrote to Mara Quill. Mara Quill read the letter of Old Tobin at Sallow Bay.",
    "e.txt": "Hester Vance planted apples at Alder Farm. Alder Farm sold the apples of Hester Vance in Corfe.",
    "f.txt": "Ignaz Kohl printed bills in Marrow Lane. The bills of Ignaz Kohl hung at the Anchor Inn.",
}


@pytest.fixture(scope="session", name="hashed_models")
def _hashed_models():
    """Return a function that makes models with hashed vectors, an empty ledger and a given chat model."""
    return hashed_models


@pytest.fixture(scope="session")
def small_index(tmp_path_factory):
    """Six documents of two sentences each, open for reading."""
    source = tmp_path_factory.mktemp("small")
    for name, text in TEXTS.items():
        (source / name).write_text(text)
    settings = Settings(chunk_tokens=32, window_tokens=64, community_size=3)
    with Index.open(source / "index", settings=settings, models=hashed_models(scripted_chat())) as made:
        made.add(*(source / name for name in TEXTS))
    snapshot = Snapshot(source / "index")
    yield snapshot
    snapshot.close()


@pytest.fixture(scope="session")
def index_of():
    """Return a context manager that indexes texts by name and opens the index for reading."""

    @contextmanager
    def made(folder, texts, models, **options):
        for name, text in texts.items():
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        with Index.open(folder / "index", models=models) as index:
            index.add(*(folder / f"{name}.txt" for name in texts), **options)
        snapshot = Snapshot(folder / "index")
        yield snapshot
        snapshot.close()

    return made
