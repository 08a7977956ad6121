"""One writer at a time; the lock ends with the process that holds it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from polygraph.errors import IndexLocked, StorageFailed
from polygraph.store.lock import writing

HOLD = (
    "import sys, time; from pathlib import Path; from polygraph.store.lock import writing\n"
    "with writing(Path(sys.argv[1])):\n  print('held', flush=True)\n  time.sleep(60)"
)


def holder(folder):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout.readline().strip() == "held"
    return process


def test_the_second_writer_is_told_who_the_first_is(tmp_path):
    process = holder(tmp_path)
    try:
        with pytest.raises(IndexLocked, match=f"process {process.pid} on "), writing(tmp_path):
            pass
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_killed_writer_holds_nothing(tmp_path):
    process = holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with writing(tmp_path):
        assert json.loads((tmp_path / "writer.json").read_text(encoding="utf-8"))["pid"] == os.getpid()


def test_the_lock_is_free_again_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), writing(tmp_path):
        raise RuntimeError
    with writing(tmp_path):
        pass
    assert not (tmp_path / "writer.json").exists()


def test_a_writer_can_wait_for_the_other(tmp_path):
    held, done = threading.Event(), threading.Event()

    def hold():
        with writing(tmp_path):
            held.set()
            time.sleep(0.3)
            done.set()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with writing(tmp_path, wait_s=10):
        assert done.is_set()
    thread.join()


def test_a_damaged_note_of_the_holder_does_not_hide_the_lock(tmp_path):
    with writing(tmp_path):
        (tmp_path / "writer.json").write_text("{", encoding="utf-8")
        with pytest.raises(IndexLocked, match="another process"), writing(tmp_path):
            pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageFailed, match="--index"), writing(tmp_path / "file" / "index"):
        pass


@pytest.mark.skipif(
    os.name != "posix", reason="a folder where the lock's file can be written and no other made"
)
def test_a_folder_that_takes_no_new_files_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(StorageFailed, match=r"Permission denied.*--index"), writing(tmp_path):
        pass
    monkeypatch.undo()
    with writing(tmp_path):
        pass
