"""Giving back what is no longer in use."""

from pathlib import Path

import pytest

from polygraph.columnar import memory
from polygraph.columnar.memory import give_back


def resident_mb():
    status = Path("/proc/self/status")
    if not status.is_file() or memory._trim() is None:
        pytest.skip("the system does not tell, or cannot be asked")
    return next(
        int(line.split()[1]) / 1024
        for line in status.read_text(encoding="ascii").splitlines()
        if line.startswith("VmRSS")
    )


def test_what_lies_between_small_records_in_use_is_given_back():
    give_back(thorough=True)
    before = resident_mb()
    pieces = [bytes(100_000) for _ in range(500)]
    kept = pieces[::20]
    del pieces
    give_back(thorough=True)
    assert resident_mb() - before < 25
    assert len(kept) == 25


def test_where_nobody_can_be_asked_nothing_happens(monkeypatch):
    monkeypatch.setattr(memory, "_trim", lambda: None)
    give_back(thorough=True)
