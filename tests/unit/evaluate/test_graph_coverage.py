"""Coverage of gold answers by the graph."""

import pytest

from polygraph import Index
from polygraph.config import Settings
from polygraph.errors import MissingLayer
from polygraph.evaluate.metrics.graph_coverage import answer_coverage
from polygraph.evaluate.questions.file import Question

SETTINGS = Settings(embedder="hash", name_embedder="hash", reranker="none", chunk_tokens=50)


def test_answers_are_counted_by_where_they_occur_in_the_graph(tmp_path, papers_texts, write_files):
    with Index.open(tmp_path / "g.index", settings=SETTINGS) as graph:
        graph.add(write_files(tmp_path / "papers", papers_texts), methods=["graphrag-local"])
        asked = [
            Question(id="named", question="?", answers=("the Grey Reef",)),
            Question(id="part", question="?", answers=("Reef",)),
            Question(id="gone", question="?", answers=("Constantinople",)),
            Question(id="yes", question="?", answers=("yes",)),
            Question(id="null", question="?", null=True, answers=("Grey Reef",)),
        ]
        found = answer_coverage(asked, graph.snapshot())
    assert (found.n, found.named, found.within, found.absent) == (3, 1, 2, ("gone",))
    assert found.share == pytest.approx(1 / 3)


def test_an_index_without_a_graph_has_no_coverage(tmp_path, papers_texts, write_files):
    with Index.open(tmp_path / "x.index", settings=SETTINGS) as index:
        index.add(write_files(tmp_path / "papers", papers_texts), methods=["bm25"])
        with pytest.raises(MissingLayer, match="needs graph"):
            answer_coverage([], index.snapshot())
