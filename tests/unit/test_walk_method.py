"""`walk`: seeds, the way over a title, and the weighing of two passages together, worked out by hand."""

import numpy as np
import pytest

from polygraph.graph.csr import Graph
from polygraph.graph.names import NameGraph
from polygraph.graph.walks import EdgeKind, Network, pagerank
from polygraph.models import Calls, Models
from polygraph.models.static import HashEmbedder
from polygraph.retrieve.hops import weigh_hops
from polygraph.retrieve.walk import NameWalk, _by_score
from polygraph.store.layers import Snapshot
from polygraph.store.vectors import Hit
from polygraph.workspace import Index

TEXTS = {
    "1.txt": ("Lantern Street", "Lantern Street is a film of 1931, directed by Mara Quill."),
    "2.txt": ("Mara Quill", "She was born in a small town by the sea and died there at ninety."),
    "3.txt": ("Harbour Street", "A film about a town by the sea, directed by Ezra Dunn."),
    "4.txt": ("Oil", "The price of oil rose in that year."),
}
QUESTION = "Where was the director of Lantern Street born?"


def models():
    embedder = HashEmbedder()
    return Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))


@pytest.fixture(scope="module")
def index(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("walk")
    files = {name: f"# {title}\n\n{text}" for name, (title, text) in TEXTS.items()}
    papers = write_files(base / "papers", {name.replace("txt", "md"): text for name, text in files.items()})
    with Index.open(base / "index", models=models()) as made:
        made.add(papers, methods=["walk"])
    snapshot = Snapshot(base / "index")
    yield snapshot
    snapshot.close()


def steps(found):
    return {step.name: step.value for step in found.trace}


def test_a_passage_that_another_one_names_comes_before_one_that_matches_by_words(index):
    found = NameWalk()(QUESTION, index, models())
    assert found.ranking[:2] == ("1.md:0", "2.md:0")
    assert "Mara Quill" in found.evidence[1].why
    assert steps(found)["names"] == [["Lantern Street", 1]]


def test_the_score_is_the_mass_of_the_walk_when_nothing_is_weighed(index):
    method = NameWalk(seeds=1, name_weight=0.0, word_weight=0.0, relevance=0.0, damping=0.5, tolerance=1e-12)
    found = method("directed by Mara Quill", index, models())
    graph = index.names
    network = Network(
        (EdgeKind(graph.titles, 4.0), EdgeKind(graph.links), EdgeKind(graph.shared, method.shared_edges))
    )
    (start,) = [
        hit.n
        for hit in index.search_chunks(models().embedder.embed(["directed by Mara Quill"], "query")[0], 1)
    ]
    expected = pagerank(network, [start], [1.0], damping=0.5)
    ranked = {e.id: e.score for e in found.evidence}
    numbers = index.chunk_numbers(list(ranked))
    assert ranked == pytest.approx({i: expected[n] for i, n in numbers.items()}, abs=1e-6)


def test_nothing_outside_the_filter_leads_anywhere(index):
    found = NameWalk()(QUESTION, index.where({"id": "[134].md"}), models())
    assert "2.md:0" not in found.ranking
    assert "Mara" not in "".join(e.why for e in found.evidence)


def test_seeds_share_a_weight_by_how_far_they_are_above_the_lowest():
    assert _by_score([Hit(3, 0.9), Hit(1, 0.6), Hit(2, 0.5)], 1.0) == [
        (3, pytest.approx(0.8)),
        (1, pytest.approx(0.2)),
        (2, 0.0),
    ]
    assert _by_score([Hit(3, 0.9)], 2.0) == [(3, 2.0)]
    assert _by_score([], 2.0) == []


def test_a_hop_is_worth_the_first_passage_and_what_it_leaves_open():
    # Passage 0 says the name (number 0) that passage 1 bears; passage 2 is joined to nothing.
    none = Graph.from_edges(4, [], [], [])
    graph = NameGraph(
        3,
        np.array([7], dtype=np.uint64),
        Graph.from_edges(4, [1], [3], [1.0]),
        Graph.from_edges(4, [0], [3], [1.0]),
        none,
    )
    question = np.array([0.6, 0.8])
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]])
    found = weigh_hops(np.arange(3), question, vectors, graph, open_share=1.0)
    assert found.cosines.tolist() == [0.6, 0.8, 0.96]
    # Less its part along passage 0 the question points to (0, 1): 0.6 + 1. The other way round: 0.8 + 1.
    assert found.hops.tolist() == pytest.approx([1.8, 1.6, 1.6])
    assert found.after.tolist() == [1, 0, -1]


def test_a_name_that_many_have_leads_only_to_its_bearer():
    none = Graph.from_edges(4, [], [], [])
    links = Graph.from_edges(4, [0, 1], [3, 3], [1.0, 1.0])
    graph = NameGraph(3, np.array([7], dtype=np.uint64), Graph.from_edges(4, [2], [3], [1.0]), links, none)
    vectors = np.eye(3)
    found = weigh_hops(np.arange(3), vectors[0], vectors, graph, common=2)
    assert found.after.tolist() == [-1, -1, 0]
    assert weigh_hops(np.arange(3), vectors[0], vectors, graph, common=3).after.tolist() == [1, 0, 0]
