"""Which files a command reads, and how it says which it could not."""

import zipfile


def test_files_are_selected_for_a_build_and_reasons_are_printed_once(call, write_files, tmp_path):
    folder = write_files(
        tmp_path / "files", {"a.md": "# Lamp\n\nMara Quill built it.", "b.log": "Fog.", "drafts/c.md": "No."}
    )
    for name in ("x.png", "y.png", "z.png"):
        (folder / name).write_bytes(b"\x89PNG")
    index = tmp_path / "chosen.index"
    ended = call("index", str(folder), "--exclude", "drafts/", "--for", "bm25", "--index", str(index))
    assert ended.code == 0
    assert len(ended.err.splitlines()) == 2
    assert "not read: x.png and 2 other files: has the suffix '.png'" in ended.err
    assert "3 files not read" in ended.err
    listed = call("status", "--documents", "--json", "--index", str(index)).out
    assert "a.md" in listed
    assert "b.log" in listed
    assert "drafts" not in listed


def test_files_of_an_archive_stay_while_it_cannot_be_read_and_go_with_it(call, tmp_path):
    folder, index = tmp_path / "files", tmp_path / "zip.index"
    folder.mkdir()
    (folder / "a.md").write_text("# Lamp\n\nMara Quill built it.")
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("b/log.txt", "The Halcyon left at dawn.")

    def documents():
        build = call("index", str(folder), "--for", "bm25", "--index", str(index))
        assert build.code == 0
        return call("status", "--documents", "--json", "--index", str(index)).out

    assert "all.zip/b/log.txt" in documents()
    whole = (folder / "all.zip").read_bytes()
    (folder / "all.zip").write_bytes(whole[:20])
    assert "all.zip/b/log.txt" in documents()
    (folder / "all.zip").unlink()
    assert "all.zip/b/log.txt" not in documents()
