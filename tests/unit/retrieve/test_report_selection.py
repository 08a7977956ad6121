"""Which reports global search reads: by hand on a small hierarchy of communities."""

import json

from polygraph.models.providers.scripted import ScriptedChat
from polygraph.records import Community, Report
from polygraph.retrieve.methods.graphrag_global import GraphRAGGlobal
from polygraph.retrieve.report_selection import nearest_reports, relevant_reports, reports_to_level
from polygraph.testing import scripted_chat

#  level 0:      A          B        C
#  level 1:   A1   A2    B1   B2
#  level 2:  A1x
TREE = {"A": "", "B": "", "C": "", "A1": "A", "A2": "A", "B1": "B", "B2": "B", "A1x": "A1"}
MEMBERS = {
    "A": "pqr", "B": "stu", "C": "v", "A1": "pq", "A2": "r", "B1": "s", "B2": "tu", "A1x": "p",
}  # fmt: skip


def level(name):
    return 0 if not TREE[name] else 1 + level(TREE[name])


class Tree:
    """An index of which only communities and reports are asked."""

    def __init__(self, *, hidden=()):
        self.hidden = hidden

    def communities(self):
        found = [
            Community(id=name, level=level(name), parent=TREE[name], entities=tuple(MEMBERS[name]))
            for name in TREE
        ]
        return sorted(found, key=lambda c: (c.level, c.id))

    def community_tree(self):
        return [(c.id, c.level, c.parent) for c in self.communities()]

    def reports(self, wanted=None):
        return [
            Report(community=c.id, level=c.level, title=f"On {c.id}.", summary="", findings=(), rating=1.0)
            for c in self.communities()
            if (wanted is None or c.id in wanted) and c.id not in self.hidden
        ]

    def search_reports(self, vector, k):
        deepest_first = sorted(self.reports(), key=lambda r: (-r.level, r.community))
        return [(r, 1.0 - i / 10) for i, r in enumerate(deepest_first)][:k]


def chosen(hashed_models, ratings, *, hidden=(), **options):
    def say(request):
        name = request.messages[1].content.partition("On ")[2].partition(".")[0]
        return (
            ratings.get(name, '{"rating": 0}')
            if isinstance(ratings.get(name), str)
            else json.dumps({"rating": ratings.get(name, 0)})
        )

    given = hashed_models(ScriptedChat(replies={"rate": say}))
    kept, rated = relevant_reports(
        "Why?", Tree(hidden=hidden), given, level=options.pop("level", 2), method="m", **options
    )
    return [r.community for r in kept], [(r.community, r.rating) for r in rated], given


def test_children_of_a_relevant_community_are_rated_and_replace_it(hashed_models):
    kept, rated, _ = chosen(hashed_models, {"A": 3, "A1": 2, "B": 1})
    # A is replaced by A1; B stays, since none of its parts is relevant; A1x is rated and is not.
    assert kept == ["B", "A1"]
    assert [name for name, _ in rated] == ["A", "B", "C", "A1", "A2", "B1", "B2", "A1x"]


def test_nothing_below_an_irrelevant_report_is_rated(hashed_models):
    kept, rated, given = chosen(hashed_models, {"B": 5, "B2": 4, "A1": 5})
    assert kept == ["B2"]
    assert [name for name, _ in rated] == ["A", "B", "C", "B1", "B2"]
    assert sum(r.attempts for r in given.calls.ledger() if r.stage == "rate") == 5


def test_while_nothing_is_relevant_the_whole_next_level_is_rated(hashed_models):
    kept, rated, _ = chosen(hashed_models, {"A1x": 1})
    assert kept == ["A1x"]
    assert [name for name, _ in rated] == ["A", "B", "C", "A1", "A2", "B1", "B2", "A1x"]
    assert chosen(hashed_models, {})[0] == []


def test_no_level_below_the_deepest_is_rated(hashed_models):
    assert chosen(hashed_models, {"A": 3, "A1": 3, "A1x": 3}, level=1)[0] == ["A1"]
    assert chosen(hashed_models, {"A": 3, "A1": 3, "A1x": 3}, level=0)[0] == ["A"]


def test_if_the_filter_hides_a_report_its_children_are_rated(hashed_models):
    kept, rated, _ = chosen(hashed_models, {"C": 2, "A1": 3}, hidden=("A",))
    assert kept == ["C", "A1"]
    assert [name for name, _ in rated] == ["B", "C", "A1", "A2", "A1x"]


def test_the_rating_from_which_a_report_is_relevant_can_be_raised(hashed_models):
    assert chosen(hashed_models, {"A": 2, "B": 3}, min_rating=3)[0] == ["B"]


def test_a_rating_that_cannot_be_read_counts_as_one(hashed_models):
    kept, rated, given = chosen(hashed_models, {"C": "It depends."})
    assert kept == ["C"]
    assert dict(rated)["C"] == 1
    assert len(given.calls.quarantined()) == 1


def test_of_several_ratings_the_most_frequent_counts_the_higher_of_equals(hashed_models):
    def say(request):
        return json.dumps(
            {
                "rating": (0, 4, 4)[request.sample]
                if "On A." in request.messages[1].content
                else request.sample
            }
        )

    given = hashed_models(ScriptedChat(replies={"rate": say}))
    _, rated = relevant_reports("Why?", Tree(), given, level=0, repeats=3, method="m")
    assert [(r.community, r.rating, r.n_ratings) for r in rated] == [("A", 4, 3), ("B", 2, 3), ("C", 2, 3)]


def test_without_a_model_words_rate(hashed_models):
    kept, rated = relevant_reports("On C?", Tree(), hashed_models(), level=2, method="m")
    assert [r.community for r in kept] == ["C"]
    assert all(r.n_ratings == 0 for r in rated)


def test_the_nearest_reports_to_a_level_are_found_behind_deeper_ones(hashed_models):
    found = nearest_reports("Why?", Tree(), hashed_models(), level=0, k=2)
    assert [r.community for r, _ in found] == ["A", "B"]
    assert [r.community for r, _ in nearest_reports("Why?", Tree(), hashed_models(), level=2, k=2)] == [
        "A1x",
        "A1",
    ]
    assert len(nearest_reports("Why?", Tree(), hashed_models(), level=2, k=100)) == len(TREE)


def test_to_a_level_each_entity_is_read_about_once_or_in_every_community():
    assert [r.community for r in reports_to_level(Tree(), 2, "entity")] == [
        "C",
        "A1",
        "A2",
        "B1",
        "B2",
        "A1x",
    ]
    assert [r.community for r in reports_to_level(Tree(), 1, "entity")] == ["C", "A1", "A2", "B1", "B2"]
    assert len(reports_to_level(Tree(), 2, "none")) == len(TREE)


def test_needs_and_calls_of_global_search_follow_from_the_selection():
    assert GraphRAGGlobal().needs == GraphRAGGlobal(preselect="rating").needs
    assert GraphRAGGlobal(preselect="embedding").needs - GraphRAGGlobal().needs == {"report_vectors"}
    assert GraphRAGGlobal(preselect="rating").calls.startswith("reports rated + ")


def test_global_search_reads_the_selected_reports(small_index, hashed_models):
    question = "Who paid for the lamp of the Skerry Light?"
    found = GraphRAGGlobal(preselect="embedding", k_reports=1)(question, small_index, hashed_models())
    steps = {step.name: step.value for step in found.trace}
    assert steps["reports"] == len(steps["nearest"]) == 1
    assert {item.id for item in found.evidence} == {steps["nearest"][0][0]}


def test_above_a_number_of_reports_global_search_rates_them_from_the_coarsest_down(
    small_index, hashed_models
):
    question = "What happened to the Skerry Light, and who paid for it?"
    n = sum(depth <= 2 for _, depth, _ in small_index.community_tree())
    steps = {}
    for most in (n, n - 1, 0):
        found = GraphRAGGlobal(max_reports=most)(question, small_index, hashed_models(scripted_chat()))
        steps[most] = [step.name for step in found.trace]
    assert "rated" in steps[n - 1]
    assert "rated" not in steps[n] + steps[0]
