"""Profiles: settings of an index as in the papers, below what is set otherwise, and recorded in the index."""

import pytest

from polygraph.config import Settings, explain_settings, load_settings
from polygraph.config.profiles import PROFILES
from polygraph.errors import BadInput
from polygraph.evaluate.reproduce.tables import TABLES
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.snapshot import Snapshot
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

TEXTS = {
    "a.txt": "Mara Quill built the Skerry Light. Mara Quill wrote to Old Tobin about the oil.",
    "b.txt": "Mara Quill met Old Tobin at the Skerry Light. Tobias Wren paid Old Tobin.",
}


def opened(folder, **flags):
    embedder = HashEmbedder()
    models = Models(
        chat=scripted_chat(), embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None)
    )
    return Index.open(folder, models=models, **flags)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_names_settings_that_are_valid(name, tmp_path):
    settings = load_settings({"profile": name}, environ={}, folder=tmp_path)
    for setting, value in PROFILES[name].items():
        assert getattr(settings, setting) == value


def test_a_profile_sets_only_what_is_not_set_otherwise(tmp_path):
    flags, environ = {"profile": "microsoft", "report_words": 300}, {"POLYGRAPH_GLEANING": "none"}
    settings = load_settings(flags, environ=environ, folder=tmp_path)
    assert (settings.report_words, settings.gleaning, settings.window_tokens) == (300, "none", 1200)
    sources = {row.name: row.source for row in explain_settings(flags, environ=environ, folder=tmp_path)}
    assert sources["report_words"] == "flag"
    assert sources["entity_types"] == "profile microsoft"
    assert sources["language"] == "default"


def test_an_unknown_profile_is_an_error(tmp_path):
    with pytest.raises(BadInput, match="profile"):
        load_settings({"profile": "none of them"}, environ={}, folder=tmp_path)


def test_the_index_records_its_profile_and_keeps_its_settings(tmp_path, write_files):
    papers = write_files(tmp_path / "papers", TEXTS)
    with opened(tmp_path / "index", profile="graft") as index:
        index.add(papers)
    with opened(tmp_path / "index") as index:
        assert not index.add(papers).built
    snapshot = Snapshot(tmp_path / "index")
    manifest = snapshot.store.manifest()
    snapshot.close()
    assert (manifest.profile, manifest.community_weight, manifest.window_tokens) == ("graft", "mentions", 800)
    assert manifest.overlap_tokens == 100


def test_settings_of_extraction_stay_as_the_index_was_built(tmp_path, write_files):
    papers = write_files(tmp_path / "papers", TEXTS)
    with opened(tmp_path / "index", profile="microsoft") as index:
        index.add(papers)
    with opened(tmp_path / "index") as index:
        index.add(papers)
        settings = index.status()["extractor"]
    assert ":base" in settings or settings.startswith("llm:scripted")


def test_reproductions_use_the_profile_of_their_paper():
    profiles = {table.paper: table.profile for table in TABLES}
    assert profiles["graft"] == "graft"
    assert profiles["fg-rag"] == "fg-rag"
    assert profiles["rograg"] == "rograg"
    assert Settings().profile == ""


def test_chunks_of_a_profile_share_sentences_and_entities_are_found_in_both(tmp_path, write_files):
    text = " ".join(f"Mara Quill wrote letter {n} to Old Tobin." for n in range(60))
    papers = write_files(tmp_path / "papers", {"a.txt": text})
    with opened(tmp_path / "index", profile="rograg", chunk_tokens=128, window_tokens=256) as index:
        index.add(papers)
        chunks = index.snapshot().chunks(range(3))
        assert chunks[1].start < chunks[0].end < chunks[1].end
        assert index.ask("Who wrote letter 20 to Old Tobin?", "naive").retrieval.evidence
