"""`walk`: seeds, the way over a title, and the weighing of two passages together, worked out by hand."""

from math import e

import numpy as np
import pytest

from polygraph.graph.csr import Graph
from polygraph.graph.pagerank import EdgeKind, Network, Walk
from polygraph.graph.title_graph import TitleGraph
from polygraph.retrieve.methods.walk import NameWalk, mix_in, mix_with_start
from polygraph.retrieve.name_hops import best_hops, search_starts
from polygraph.retrieve.walk_seeds import Cosines, match_passages, match_weights
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index
from tests.power_iteration import pagerank

TEXTS = {
    "1.txt": ("Lantern Street", "Lantern Street is a film of 1931, directed by Mara Quill."),
    "2.txt": ("Mara Quill", "She was born in a small town by the sea and died there at ninety."),
    "3.txt": ("Harbour Street", "A film about a town by the sea, directed by Ezra Dunn."),
    "4.txt": ("Oil", "The price of oil rose in that year."),
}
QUESTION = "Where was the director of Lantern Street born?"


@pytest.fixture(scope="module")
def index(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("walk")
    files = {name: f"# {title}\n\n{text}" for name, (title, text) in TEXTS.items()}
    papers = write_files(base / "papers", {name.replace("txt", "md"): text for name, text in files.items()})
    with Index.open(base / "index", models=hashed_models()) as made:
        made.add(papers, methods=["walk"])
    snapshot = Snapshot(base / "index")
    yield snapshot
    snapshot.close()


def steps(found):
    return {step.name: step.value for step in found.trace}


def test_a_passage_named_by_another_comes_before_one_that_matches_by_words(index):
    found = NameWalk()(QUESTION, index, hashed_models())
    assert found.ranking[:2] == ("1.md:0", "2.md:0")
    assert "Mara Quill" in found.evidence[1].why
    assert steps(found)["names"] == [["Lantern Street", 1]]


def test_the_score_is_that_of_the_walk_when_nothing_else_counts(index):
    method = NameWalk(
        seeds=1,
        name_weight=0.0,
        word_weight=0.0,
        own_share=0.0,
        relevance=0.0,
        damping=0.5,
        tolerance=1e-12,
        bridge_share=0.0,
    )
    found = method("directed by Mara Quill", index, hashed_models())
    graph = index.names
    network = Network(
        (
            EdgeKind(graph.titles, method.title_edges),
            EdgeKind(graph.links),
            EdgeKind(graph.shared, method.shared_edges),
        )
    )
    (start,) = [
        hit.n
        for hit in index.search_chunks(
            hashed_models().embedder.embed(["directed by Mara Quill"], "query")[0], 1
        )
    ]
    expected = pagerank(network, [start], [1.0], damping=0.5)
    ranked = {e.id: e.score for e in found.evidence}
    numbers = index.chunk_rows(list(ranked))
    assert ranked == pytest.approx({i: expected[n] for i, n in numbers.items()}, abs=1e-6)


def test_passages_that_match_keep_their_order_when_only_their_own_share_counts(index):
    found = NameWalk(own_share=1.0, relevance=0.0, bridge_share=0.0)(QUESTION, index, hashed_models())
    seeds = [i for i, _ in steps(found)["seeds"]]
    # The last of the seeds weighs nothing.
    assert list(found.ranking)[: len(seeds) - 1] == seeds[:-1]


def test_a_name_that_is_no_title_is_no_seed(write_files, tmp_path):
    texts = {"a": "The sloop Tern sailed from Ravensby.", "b": "The harbour of Ravensby lies in the north."}
    papers = write_files(
        tmp_path / "papers", {f"{n}.md": f"# {n.upper()} 1\n\n{t}" for n, t in texts.items()}
    )
    with Index.open(tmp_path / "index", models=hashed_models()) as made:
        made.add(papers, methods=["walk"])
    snapshot = Snapshot(tmp_path / "index")
    try:
        found = NameWalk()("What does A 1 say of Ravensby?", snapshot, hashed_models())
    finally:
        snapshot.close()
    assert steps(found)["names"] == [["A 1", 1]]


def test_passages_outside_the_filter_lead_nowhere(index, within):
    found = NameWalk()(QUESTION, within(index, "1.md", "3.md", "4.md"), hashed_models())
    assert found.ranking
    assert "2.md:0" not in found.ranking
    assert "Mara" not in "".join(e.why for e in found.evidence)


def test_seeds_divide_a_weight_by_their_lead_over_the_lowest():
    # By hand: exp(1) - 1, exp(2) - 1 and nothing.
    weights = dict(match_weights([Hit(3, 0.6), Hit(1, 0.55), Hit(2, 0.5)], 20.0))
    whole = e**2 + e - 2
    assert weights == pytest.approx({3: (e**2 - 1) / whole, 1: (e - 1) / whole, 2: 0.0})
    assert match_weights([Hit(3, 0.9), Hit(5, 0.9)], 20.0) == [(3, 0.5), (5, 0.5)]
    assert match_weights([], 20.0) == []


def test_a_passage_matches_by_cosine_plus_points_of_bm25(index):
    vector = hashed_models().embedder.embed([QUESTION], "query")[0]
    cosines = index.chunk_similarities(vector, [0, 2]).tolist()
    # Passage 0 has 8 points, passage 2 is found by vectors alone.
    first, second = match_passages([Hit(0, 8.0)], [Hit(2, 0.1)], Cosines(vector, index), 0.25)
    assert (first.n, second.n) == (0, 2)
    assert [first.score, second.score] == pytest.approx([cosines[0] + 2.0, cosines[1]])


def test_a_share_of_the_mass_comes_from_the_start_weights():
    walked = Walk(np.array([1, 4]), np.array([0.5, 0.3]), 0.2)
    mixed = mix_with_start(walked, {4: 0.5, 9: 0.5}, 0.25)
    # Of the start half lies at 4: 0.75 * 0.3 + 0.25 * 0.5; nothing of it at 1.
    assert mixed.at([1, 4]) == pytest.approx([0.375, 0.35])
    assert mixed.missing == pytest.approx(0.15)


def test_a_hop_scores_the_sum_of_both_passages():
    # Passage 0 says the name (number 0) that passage 1 bears; passage 2 is joined to nothing.
    none = Graph.from_edges(4, [], [], [])
    graph = TitleGraph(
        3,
        np.array([7], dtype=np.uint64),
        Graph.from_edges(4, [1], [3], [1.0]),
        Graph.from_edges(4, [0], [3], [1.0]),
        none,
    )
    hops, after = best_hops(np.arange(3), np.array([0.6, 0.8, 0.96]), graph)
    assert hops.tolist() == pytest.approx([1.4, 1.4, 1.4])
    assert after.tolist() == [1, 0, -1]
    # Only passage 0 may be the first of a hop: none ends at it.
    hops, after = best_hops(np.arange(3), np.array([0.6, 0.8, 0.96]), graph, first=1)
    assert after.tolist() == [-1, 0, -1]


def test_of_several_hops_the_best_counts_and_of_equals_the_first():
    # All three passages share the name.
    none = Graph.from_edges(4, [], [], [])
    shared = Graph.from_edges(4, [0, 1, 2], [3, 3, 3], [1.0, 1.0, 1.0])
    graph = TitleGraph(3, np.array([7], dtype=np.uint64), none, none, shared)
    hops, after = best_hops(np.arange(3), np.array([0.5, 0.75, 0.75]), graph)
    assert hops.tolist() == [1.25, 1.5, 1.5]
    assert after.tolist() == [1, 2, 1]


def test_a_common_name_leads_only_to_the_document_it_titles():
    none = Graph.from_edges(4, [], [], [])
    links = Graph.from_edges(4, [0, 1], [3, 3], [1.0, 1.0])
    graph = TitleGraph(3, np.array([7], dtype=np.uint64), Graph.from_edges(4, [2], [3], [1.0]), links, none)
    cosines = np.array([1.0, 0.0, 0.0])
    _, after = best_hops(np.arange(3), cosines, graph, common=2)
    assert after.tolist() == [-1, -1, 0]
    _, after = best_hops(np.arange(3), cosines, graph, common=3)
    assert after.tolist() == [1, 0, 0]


# Two hops, of which the second is not to the document that the name titles.
FILM = {
    "1.md": "# The Glass Pier\n\nThe Glass Pier is a film of 1931. Its lighthouse keeper was played by Ada Bell.",
    "2.md": "# Harbour House\n\nHarbour House was built for Jon Marsh, the husband of Ada Bell, who died there.",
    "3.md": "# Oil\n\nThe price of oil rose in that year.",
    **{
        f"4{n}.md": f"# Husband number {n}\n\nThe husband in this film was played by nobody."
        for n in range(12)
    },
}
HUSBAND = "Who was the husband of the actress that played the lighthouse keeper in The Glass Pier?"


def test_a_second_search_finds_a_passage_that_mentions_a_name_of_the_first(tmp_path, write_files):
    with Index.open(tmp_path / "index", models=hashed_models()) as made:
        made.add(write_files(tmp_path / "papers", FILM), methods=["walk"])
    snapshot = Snapshot(tmp_path / "index")
    try:
        found = NameWalk(shared_edges=0.0)(HUSBAND, snapshot, hashed_models())
        without = NameWalk(shared_edges=0.0, bridge_share=0.0)(HUSBAND, snapshot, hashed_models())
    finally:
        snapshot.close()
    assert steps(found)["first"][0][0] == "1.md:0"
    assert ["Ada Bell", "husband actress"] in steps(found)["second"]
    assert found.ranking.index("2.md:0") < without.ranking.index("2.md:0")
    (second,) = [item for item in found.evidence if item.id == "2.md:0"]
    assert "found by the name Ada Bell" in second.why


def test_weights_are_mixed_in_also_where_the_walk_did_not_arrive():
    walked = Walk(np.array([2, 5]), np.array([0.6, 0.2]), 0.2)
    mixed = mix_in(walked, {3: 0.375, 5: 0.125})
    assert mixed.vertices.tolist() == [2, 3, 5]
    assert mixed.scores.tolist() == pytest.approx([0.3, 0.375, 0.225])
    assert mixed.missing == pytest.approx(0.1)
    assert mix_in(walked, {}) is walked


def test_the_second_search_weighs_a_share_of_the_mass_of_its_passage(tmp_path, write_files):
    with Index.open(tmp_path / "index", models=hashed_models()) as made:
        made.add(write_files(tmp_path / "papers", FILM), methods=["walk"])
    snapshot = Snapshot(tmp_path / "index")
    try:
        method = NameWalk(bridge_share=0.25, relevance=0.0)
        without = NameWalk(bridge_share=0.0, relevance=0.0)(HUSBAND, snapshot, hashed_models())
        found = method(HUSBAND, snapshot, hashed_models())
    finally:
        snapshot.close()
    before, after = dict(steps(without)["walk"]), dict(steps(found)["walk"])
    given = 0.25 * before["1.md:0"]
    # The film is not found from itself, so that only its part of what the others get is taken from it.
    assert after["1.md:0"] == pytest.approx((1 - given) * before["1.md:0"])
    assert after["2.md:0"] > (1 - given) * before["2.md:0"]


def test_the_second_search_starts_from_the_first_passage_of_each_title():
    # Passages 0 and 1 have one title (number 0), passage 3 another (number 1), passage 2 none.
    none = Graph.from_edges(6, [], [], [])
    titles = Graph.from_edges(6, [0, 1, 3], [4, 4, 5], [1.0, 1.0, 1.0])
    graph = TitleGraph(4, np.array([7, 8], dtype=np.uint64), titles, none, none)
    ranking = np.array([1, 0, 2, 3])
    assert search_starts(ranking, [4, 5], graph, 2) == [0, 3]
    assert search_starts(ranking, [4, 5], graph, 1) == [0]
    assert search_starts(ranking, [4], graph, 2) == [0]
    assert search_starts(ranking, [], graph, 2) == [0]
    # The first passage has no title in the question: that of the title comes next.
    assert search_starts(np.array([2, 0, 1, 3]), [4, 5], graph, 3) == [0, 1, 3]
