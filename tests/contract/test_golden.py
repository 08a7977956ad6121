"""Golden traces: what every method and preset does, step by step, on five documents with the scripted model.

A golden says what a method did when somebody last looked, not what is right: where a paper gives a formula, the
unit test of the method works the values out by hand. After a change that is meant, write them anew and read the
difference:

    REWRITE_GOLDEN=1 python -m pytest tests/contract/test_golden.py -k METHOD
"""

import json
import math
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from polygraph.config import Settings
from polygraph.retrieve import METHODS
from polygraph.store.snapshot import Snapshot
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

GOLDEN = Path(__file__).parents[1] / "golden"
QUESTIONS = (
    "Why did Alder Mill close, and who refused to pay for the stone of the Sorrel Dam?",
    "What are the main themes of these documents?",
)
"""One that joins three documents, one about the whole."""
_SETTINGS = Settings(chunk_tokens=32, window_tokens=64, community_size=4)
"""So small that documents have several chunks, and the graph several communities on two levels."""
_TOLERANCE = 1e-4
"""Vectors of other machines differ in the last bits."""


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden") / "index"
    with Index.open(folder, settings=_SETTINGS, models=hashed_models(scripted_chat())) as made:
        made.add(GOLDEN / "corpus")
    snapshot = Snapshot(folder)
    yield snapshot
    snapshot.close()


def golden_of(name):
    return GOLDEN / f"{name.replace(':', '--')}.json"


def traced(question, method, index):
    """What a method did, as plain JSON."""
    given = hashed_models(scripted_chat())
    found = method(question, index, given)
    return json.loads(
        json.dumps(
            {
                "question": question,
                "calls": sum(
                    row.attempts + row.cached for row in given.calls.ledger() if row.model == "scripted"
                ),
                "trace": {step.name: step.value for step in found.trace},
                "evidence": [[e.kind, e.id, e.score, e.why] for e in found.evidence],
                "ranking": found.ranking,
                "n_tokens": found.n_tokens,
                "cuts": [asdict(cut) for cut in found.cuts],
                "empty_because": found.empty_because,
            }
        )
    )


def difference(was, is_now, place=""):
    """Where two JSON values part; empty if nowhere. Numbers may differ by the tolerance."""
    if isinstance(was, dict) and isinstance(is_now, dict):
        if was.keys() != is_now.keys():
            return f"{place} has {sorted(is_now)}, had {sorted(was)}"
        return next(filter(None, (difference(was[k], is_now[k], f"{place}.{k}") for k in was)), "")
    if isinstance(was, list) and isinstance(is_now, list) and len(was) == len(is_now):
        pairs = enumerate(zip(was, is_now, strict=True))
        return next(filter(None, (difference(a, b, f"{place}[{i}]") for i, (a, b) in pairs)), "")
    if isinstance(was, float | int) and isinstance(is_now, float | int):
        same = math.isclose(was, is_now, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    else:
        same = was == is_now
    return "" if same else f"{place} is {is_now!r}, was {was!r}"


@pytest.mark.parametrize("name", METHODS)
def test_a_method_does_what_its_golden_trace_says(name, index):
    found = [traced(question, METHODS[name], index) for question in QUESTIONS]
    path = golden_of(name)
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(_written(found), encoding="utf-8")
    assert path.exists(), f"no golden for {name}. Write it with REWRITE_GOLDEN=1, then read it"
    parted = difference(json.loads(path.read_text(encoding="utf-8")), found)
    assert not parted, f"{name}{parted}. If that is meant, write it anew with REWRITE_GOLDEN=1"


def _written(found):
    """JSON with one line for each step and each list of the trace, so that a difference can be read."""
    text = json.dumps(found, ensure_ascii=False)
    value = json.loads(text, parse_float=lambda number: round(float(number), 6))
    lines = []
    for answer in value:
        parts = []
        for key, part in answer.items():
            rows = (
                part.items()
                if isinstance(part, dict)
                else enumerate(part)
                if isinstance(part, list)
                else None
            )
            if not rows:
                parts.append(f'  "{key}": {json.dumps(part, ensure_ascii=False)}')
                continue
            opening, closing = "{}" if isinstance(part, dict) else "[]"
            own = (
                f"   {json.dumps(at) + ': ' if isinstance(part, dict) else ''}{json.dumps(row, ensure_ascii=False)}"
                for at, row in rows
            )
            parts.append(f'  "{key}": {opening}\n' + ",\n".join(own) + f"\n  {closing}")
        lines.append(" {\n" + ",\n".join(parts) + "\n }")
    return "[\n" + ",\n".join(lines) + "\n]\n"


def test_every_golden_belongs_to_a_method():
    assert {path.name for path in GOLDEN.glob("*.json")} <= {golden_of(name).name for name in METHODS}


def test_the_golden_corpus_has_several_chunks_shared_names_and_communities(index):
    # Several chunks a document, names that recur across documents, and communities to choose from.
    assert index.n_chunks > len(list((GOLDEN / "corpus").iterdir()))
    (dole,) = index.entities(index.entities_named(["Caspar Dole"])["Caspar Dole"])
    assert len({chunk.rpartition(":")[0] for chunk in dole.chunks}) >= 3
    assert len(index.communities()) >= 2


def test_a_difference_between_traces_is_reported_with_its_path():
    was = {"trace": {"seeds": [["a", 0.5]]}, "ranking": ["x"]}
    assert difference(was, {"trace": {"seeds": [["a", 0.50000001]]}, "ranking": ["x"]}) == ""
    assert difference(was, {"trace": {"seeds": [["a", 0.6]]}, "ranking": ["x"]}).startswith(
        ".trace.seeds[0][1] is"
    )
    assert "ranking" in difference(was, {"trace": {"seeds": [["a", 0.5]]}, "ranking": ["x", "y"]})
    assert "has" in difference(was, {"trace": {}, "ranking": ["x"], "more": 1})
