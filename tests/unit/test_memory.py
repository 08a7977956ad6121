"""Returning freed memory to the system."""

import gc
from pathlib import Path

import pytest

from polygraph import memory
from polygraph.memory import collector_paused, rare_collections, trim_heap


def resident_mb():
    status = Path("/proc/self/status")
    if not status.is_file():
        pytest.skip("the system does not tell")
    return next(
        int(line.split()[1]) / 1024
        for line in status.read_text(encoding="ascii").splitlines()
        if line.startswith("VmRSS")
    )


def test_free_memory_between_small_records_in_use_is_returned():
    trim_heap(collect=True)
    before = resident_mb()
    pieces = [bytes(100_000) for _ in range(500)]
    kept = pieces[::20]
    del pieces
    trim_heap(collect=True)
    assert resident_mb() - before < 25
    assert len(kept) == 25


def test_nothing_happens_where_the_allocator_cannot_be_asked(monkeypatch):
    def missing(_):
        raise AssertionError

    monkeypatch.setattr(memory.ctypes, "CDLL", missing)
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    trim_heap(collect=True)


def test_the_collector_runs_again_after_an_error_if_it_ran_before():
    def fail():
        with collector_paused():
            assert not gc.isenabled()
            raise KeyError

    for enabled in (False, True):
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(KeyError):
            fail()
        assert gc.isenabled() is enabled


def test_the_collector_runs_rarely_inside_a_block_and_never_if_it_was_off():
    before = gc.get_threshold()
    try:
        for given, inside in ((700, 20_000), (50_000, 50_000), (0, 0)):
            gc.set_threshold(given, 10, 10)
            with rare_collections():
                assert gc.get_threshold() == (inside, 10, 10)
            assert gc.get_threshold() == (given, 10, 10)
    finally:
        gc.set_threshold(*before)


def test_objects_from_before_are_not_looked_at_inside_a_block_and_stay_frozen_if_they_were():
    assert gc.get_freeze_count() == 0
    with rare_collections():
        n_frozen = gc.get_freeze_count()
        assert n_frozen > 1_000
        with rare_collections():
            pass
        # Some of the frozen objects may be gone meanwhile.
        assert n_frozen - 1_000 < gc.get_freeze_count() <= n_frozen
    assert gc.get_freeze_count() == 0
    gc.freeze()
    try:
        with rare_collections():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
