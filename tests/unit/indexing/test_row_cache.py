"""Documents that are read while others wait for a model give the same graph, byte for byte."""

from polygraph import Index
from polygraph.indexing import row_cache
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.testing import scripted_chat

TEXTS = {
    "a": "Mara Quill keeps the lamp of Skerry Light. Tobias Wren sold her the oil in 1871.",
    "b": "Tobias Wren built the Halcyon at Orran. Mara Quill saved its crew.",
    "c": "The Halcyon sank off Skerry Light. Orran mourned its crew.",
}


def test_the_graph_is_the_same_however_many_documents_are_prepared(tmp_path, monkeypatch):
    files = tmp_path / "files"
    files.mkdir()
    exported = []
    with ScriptedServer(chat=scripted_chat()) as server:
        given = {"base_url": server.base_url, "api_key": "none", "chat_model": "scripted", "prices": {}}
        given |= {"embedder": "hash", "name_embedder": "hash", "reranker": "none"}
        for most in (0, 2, 1_000):
            monkeypatch.setattr(row_cache, "MAX_PREPARED", most)
            # First three documents, then a fourth, which is the only one that changed.
            for name in ("d", *TEXTS):
                (files / f"{name}.txt").unlink(missing_ok=True)
            for texts in (TEXTS, {"d": "Mara Quill left Orran for good."}):
                for name, text in texts.items():
                    (files / f"{name}.txt").write_text(text, encoding="utf-8")
                with Index.open(tmp_path / f"index-{most}", **given) as index:
                    report = index.add(files, extractor="llm", methods=["graphrag-local"])
                    index.export(tmp_path / f"export-{most}")
            assert report.counts["windows ok"] == 4
            exported.append(
                {file.name: file.read_bytes() for file in sorted((tmp_path / f"export-{most}").iterdir())}
            )
    assert exported[0] == exported[1] == exported[2]
    assert any(b"Halcyon" in data for data in exported[0].values())
