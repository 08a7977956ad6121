import pytest

from polygraph.store.atomic_files import write_file


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
