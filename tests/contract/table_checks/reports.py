"""Checks of communities and reports."""

from polygraph.records import CountedCommunity
from polygraph.store.protocol import Store
from polygraph.store.serialization import report_to_json
from tests.contract.table_checks.expect import expect
from tests.store_records import COMMUNITIES, report


def check_reports(store: Store) -> None:
    """Communities, reports and written texts come back as they were put, and are replaced."""
    reports = store.reports
    first, second = report("0-a", 0, "d:0", "d:1"), report("1-b", 1, "e:0")
    with store.transaction():
        reports.put_communities(iter(reversed(COMMUNITIES)))
        reports.put(iter([second, first]))
        for key, written in (("k", first), ("j", second)):
            reports.put_written(key, report_to_json(written))
    expect(
        reports.communities(), list(COMMUNITIES), "communities come back as they were put, by level and id"
    )
    expect(
        reports.communities(["1-c", "none", "0-a"]),
        [COMMUNITIES[2], COMMUNITIES[0]],
        "communities by id come in the order asked for",
    )
    expect(
        reports.community_tree(),
        [(c.id, c.level, c.parent) for c in COMMUNITIES],
        "the tree of communities comes by level, then id",
    )
    expect(
        reports.community_parents(["1-c", "none", "0-a"]),
        {c.id: c.parent for c in (COMMUNITIES[2], COMMUNITIES[0])},
        "parents of communities come by id",
    )
    expect(reports.community_ids(), ["0-a", "1-b", "1-c"], "ids of communities are sorted")
    expect(
        list(reports.counted_communities()),
        [CountedCommunity(c.id, c.level, c.parent, [*c.entities], len(c.chunks)) for c in COMMUNITIES],
        "counted communities count their chunks",
    )
    expect(reports.communities_of(["bo", "none"]), [("bo", "0-a"), ("bo", "1-b")], "communities of entities")
    expect(list(reports.all()), [first, second], "reports come back as they were put, by level and community")
    expect(reports.get(["1-b", "none", "0-a"]), [second, first], "reports come in the order asked for")
    expect(
        reports.reported_communities(),
        ["0-a", "1-b"],
        "reported communities come in the order of the reports",
    )
    expect([key for key, _ in reports.all_written()], ["j", "k"], "written texts come by key")
    with store.transaction():
        reports.remove_written(["d"])
    expect(
        (reports.written("k"), reports.written("none")),
        (None, None),
        "texts that rest on a document are removed",
    )
    expect(reports.written("j"), report_to_json(second), "texts that rest on other documents stay")
    with store.transaction():
        reports.keep_written({"x"})
        reports.put([second])
        reports.put_communities(COMMUNITIES[1:2])
    expect(list(reports.all_written()), [], "texts under other keys than those to keep are deleted")
    expect(list(reports.all()), [second], "putting reports replaces the former ones")
    expect(reports.communities_of(["ada"]), [], "putting communities replaces the former ones")
