"""GRAFT: the nearest reports, worked out once more without the index's vectors."""

from itertools import combinations

import pytest

from polygraph.graph.embedding_texts import report_text
from polygraph.models.providers.static import HashEmbedder
from polygraph.retrieve import METHODS
from polygraph.retrieve.methods.graft import Graft

QUESTION = "Who paid for the lamp of the Skerry Light?"


def related(index, one, other):
    """Whether one community is the other or a part of it, or the other way round."""
    parents = {i: parent for i, _, parent in index.community_tree()}

    def lineage(community):
        return [community, *lineage(parents[community])] if community else []

    return one in lineage(other) or other in lineage(one)


def ranked(index):
    embedder = HashEmbedder()
    reports = index.reports()
    scores = (
        embedder.embed([report_text(r) for r in reports], "document") @ embedder.embed([QUESTION], "query")[0]
    )
    pairs = zip(reports, scores.tolist(), strict=True)
    return sorted(((r.community, s) for r, s in pairs), key=lambda pair: -round(pair[1], 4))


def test_the_reports_with_the_highest_cosine_are_the_context(small_index, hashed_models):
    found = Graft(k_reports=3)(QUESTION, small_index, hashed_models())
    expected = []
    for community, score in ranked(small_index):
        if not any(related(small_index, community, other) for other, _ in expected):
            expected.append((community, score))
    expected = expected[:3]
    assert [item.score for item in found.evidence] == pytest.approx([s for _, s in expected], abs=2e-3)
    assert found.evidence[0].id == expected[0][0]
    assert {item.kind for item in found.evidence} == {"report"}
    assert [row[0] for row in found.trace[0].value] == [item.id for item in found.evidence]


def test_of_a_report_and_those_on_parts_of_its_community_only_the_nearest_is_read(small_index, hashed_models):
    found = Graft(k_reports=100)(QUESTION, small_index, hashed_models())
    chosen = [item.id for item in found.evidence]
    pairs = [(a, b) for a, b in combinations([r.community for r in small_index.reports()], 2)]
    assert any(related(small_index, a, b) for a, b in pairs)
    assert not any(related(small_index, a, b) for a, b in combinations(chosen, 2))
    # Every other report is related to a nearer one.
    order = [community for community, _ in ranked(small_index)]
    for left_out in set(order) - set(chosen):
        nearer = order[: order.index(left_out)]
        assert any(related(small_index, left_out, other) for other in nearer if other in chosen)


def test_the_paper_reads_one_report(small_index, hashed_models):
    found = METHODS["graft:paper"](QUESTION, small_index, hashed_models())
    assert [item.id for item in found.evidence] == [ranked(small_index)[0][0]]


def test_passages_rank_as_the_reports_that_rest_on_them(small_index, hashed_models):
    found = Graft()(QUESTION, small_index, hashed_models())
    first = [span.chunk for span in found.evidence[0].spans]
    assert list(found.ranking[: len(first)]) == first
    assert len(set(found.ranking)) == len(found.ranking)
