import shutil

import pytest

from polygraph.store import atomic_files
from polygraph.store.atomic_files import write_file, write_folder


def test_a_file_is_replaced_whole(tmp_path):
    target = tmp_path / "questions.jsonl"
    target.write_bytes(b"old and longer")
    write_file(target, (line for line in (b"a\n", b"b\n")))
    assert target.read_bytes() == b"a\nb\n"
    assert [path.name for path in tmp_path.iterdir()] == ["questions.jsonl"]


def test_a_file_that_cannot_be_finished_leaves_the_old_one_and_no_part(tmp_path):
    target = tmp_path / "questions.jsonl"
    target.write_bytes(b"old")

    def lines():
        yield b"new"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_file(target, lines())
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["questions.jsonl"]


def fill_with(text):
    def fill(folder):
        for name in "abc":
            (folder / name).write_text(text, encoding="utf-8")

    return fill


def contents(folder):
    return {file.name: file.read_text("utf-8") for file in folder.iterdir()}


def test_a_folder_whose_removal_is_interrupted_leaves_no_part_of_it_in_its_place(tmp_path, monkeypatch):
    target = tmp_path / "layer"
    write_folder(target, fill_with("old"))

    def interrupted(folder, **options):
        if (folder / "a").exists():
            (folder / "a").unlink()
            raise KeyboardInterrupt
        shutil.rmtree(folder, **options)

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "shutil", type("Shutil", (), {"rmtree": staticmethod(interrupted)}))
        with pytest.raises(KeyboardInterrupt):
            write_folder(target, fill_with("new"))
    assert contents(target) == dict.fromkeys("abc", "new")
    write_folder(target, fill_with("newer"))
    assert contents(target) == dict.fromkeys("abc", "newer")
    assert [each.name for each in tmp_path.iterdir()] == ["layer"]
