"""Progress where there is no terminal."""

from polygraph.cli.progress import EVERY_S, SILENT_S, Bars
from polygraph.indexing.progress import STAGE_NAMES
from polygraph.records import Usage
from polygraph.store.layers import DEPENDENCIES


def test_a_line_comes_every_few_seconds_and_none_before(capsys):
    now = [0.0]
    with Bars(spent=lambda: Usage(calls=2, cost=1.0), clock=lambda: now[0]) as bars:
        for done in range(1, 31):
            now[0] += 1.0
            bars("chunk_vectors", done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 30 / EVERY_S
    assert lines[0] == "embedding passages: 10 of 100; $1.00 spent, about $9.00 left"


def test_long_work_on_one_item_is_told_from_a_halt(capsys):
    now = [0.0]
    with Bars(clock=lambda: now[0]) as bars:
        now[0] = SILENT_S
        bars.repeat_if_silent()
        bars("documents", 0, 1)
        bars.repeat_if_silent()
        now[0] += SILENT_S
        bars.repeat_if_silent()
        bars.repeat_if_silent()
        bars("documents", 1, 1)
        now[0] += SILENT_S
        bars.repeat_if_silent()
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["reading: 0 of 1", "reading: 0 of 1; still at work", "reading: done; still at work"]


def test_quiet_is_quiet(capsys):
    now = [0.0]
    with Bars(quiet=True, clock=lambda: now[0]) as bars:
        now[0] = 100.0
        bars("reports", 1, 2)
    assert not capsys.readouterr().err


def test_every_layer_of_vectors_has_a_name_to_show():
    assert {layer for layer in DEPENDENCIES if layer.endswith("_vectors")} <= set(STAGE_NAMES)
