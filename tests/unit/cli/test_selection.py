"""Which files a command reads, and how it says which it could not."""


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
