"""Records of communities are read once for all levels, as far as there is room."""

from collections import Counter

import pytest

from polygraph.graph.merge.view import GraphView
from polygraph.graph.reports import kept_records
from polygraph.graph.reports.kept_records import KeptRecords
from polygraph.graph.reports.members import Members
from polygraph.records import Community, Entity, Relation

NAMES = "abcdef"


class CountedReads(GraphView):
    """A graph that counts how often each record is read."""

    def __init__(self):
        entities = tuple(
            Entity(id=n, name=n.upper(), type="", aliases=(), descriptions=(), chunks=("d:0",), degree=1)
            for n in NAMES
        )
        relations = tuple(
            Relation(
                id=f"{a} | {b}",
                source=a,
                target=b,
                predicates=(),
                keywords=(),
                descriptions=(),
                weight=1.0,
                chunks=("d:0",),
            )
            for a, b in ("ab", "bc", "cd", "de", "ef")
        )
        super().__init__(entities=entities, relations=relations)
        object.__setattr__(self, "reads", Counter())

    def entities_by_row(self, rows):
        self.reads.update(("entity", row) for row in rows)
        return super().entities_by_row(rows)

    def relations_by_row(self, rows):
        self.reads.update(("relation", row) for row in rows)
        return super().relations_by_row(rows)


def community(id, members, parent=""):
    return Community(id=id, level=int(id[0]), parent=parent, entities=tuple(members), chunks=("d:0",))


WHOLE = community("0-all", NAMES)
PARTS = [community("1-x", "abc", "0-all"), community("1-y", "def", "0-all")]


def read_all(graph):
    members = Members([WHOLE, *PARTS], graph)
    records = KeptRecords(members)
    for each in [*PARTS, WHOLE]:
        assert records.entities(each) == members.entities(each)
        assert records.relations(each) == members.relations(each)


def reads_of(graph):
    """Return how often each record was read by `KeptRecords`: the comparison read each once for each community."""
    times = Counter({("entity", row): 2 for row in range(6)})
    times.update({("relation", row): 2 if row != 2 else 1 for row in range(5)})
    return {key: n - times[key] for key, n in graph.reads.items()}


def test_what_a_part_was_written_from_is_not_read_again_for_the_whole():
    graph = CountedReads()
    read_all(graph)
    assert set(reads_of(graph).values()) == {1}


@pytest.mark.parametrize("most", [0, 3, 5])
def test_without_room_records_are_read_again_and_are_the_same(monkeypatch, most):
    monkeypatch.setattr(kept_records, "MOST_KEPT", most)
    graph = CountedReads()
    read_all(graph)
    n_entities = sum(n for (kind, _), n in reads_of(graph).items() if kind == "entity")
    # Of the parts, as many are kept as there is room for; the whole reads the others again.
    assert n_entities == 12 - (3 if most >= 3 else 0)
