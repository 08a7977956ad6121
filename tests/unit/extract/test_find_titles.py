"""Names that passages share: which words are a title, a link, a shared name, and what a question names."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polygraph.extract.titles.find_titles import (
    TitleFinder,
    find_document_titles,
    find_known_names,
    title_key,
)
from polygraph.extract.titles.title_table import TitleTable
from polygraph.graph.title_graph import TitleGraph

ROWS = [
    (0, "Grey Reef", "The Halcyon struck a rock off Sallow Bay."),
    (1, "Halcyon (ship)", "Her master was Tobin, and she was lost on the Grey Reef's edge."),
    (2, "Tobin", "He sailed past the grey reef to Sallow Bay."),
    (3, "Grey Reef", "A second part of the first document."),
    (4, "notes", "Notes on Mara Quill."),
]


def title_table(rows):
    titles = TitleFinder(title for _, title, _ in rows)
    return TitleTable.of(
        (n + 1, title_key(title), find_document_titles([text], titles)) for n, title, text in rows
    )


def found(rows):
    return title_table(rows).matches()


def graph_of(rows):
    n = found(rows)
    return TitleGraph.of(len(rows), n.keys, n.titles, n.links, n.shared)


def number(graph, name):
    (named,) = find_known_names(name, lambda keys: np.ones(len(keys), dtype=bool))
    return int(graph.numbers(np.array([named.key], dtype=np.uint64))[0])


def pairs(graph, kind):
    chunks, names, _ = getattr(graph, kind).edges()
    return set(zip((names - graph.n_chunks).tolist(), chunks.tolist(), strict=True))


def test_a_title_that_another_passage_says_is_a_link_and_its_own_passages_are_titled():
    graph = graph_of(ROWS)
    reef, ship, tobin = (number(graph, name) for name in ("Grey Reef", "Halcyon", "Tobin"))
    assert pairs(graph, "titles") == {(reef, 0), (reef, 3), (ship, 1), (tobin, 2)}
    # In lower case it is no name, and "notes" is no title that could be one.
    assert pairs(graph, "links") == {(reef, 1), (ship, 0), (tobin, 1)}


def test_a_name_that_two_passages_have_is_shared_and_one_of_a_single_passage_is_not():
    graph = graph_of(ROWS)
    assert pairs(graph, "shared") == {(number(graph, "Sallow Bay"), 0), (number(graph, "Sallow Bay"), 2)}
    assert number(graph, "Mara Quill") == -1


def test_the_edges_of_a_title_weigh_one_together():
    graph = graph_of(ROWS)
    chunks, names, weights = graph.titles.edges()
    at_reef = weights[names - graph.n_chunks == number(graph, "Grey Reef")]
    assert at_reef.tolist() == [0.5, 0.5]
    assert len(chunks) == 4


def test_the_longest_title_wins():
    rows = [
        (0, "Grey", "x"),
        (1, "Grey Reef", "x"),
        (2, "Log", "Lost on the Grey Reef."),
        (3, "End", "The sky was Grey"),
    ]
    graph = graph_of(rows)
    assert pairs(graph, "links") == {(number(graph, "Grey Reef"), 2), (number(graph, "Grey"), 3)}


def test_a_title_longer_than_the_end_of_a_text_is_not_taken_for_a_shorter_one():
    rows = [(0, "Grey Reef Light", "x"), (1, "Reef", "x"), (2, "Log", "At Grey Reef")]
    graph = graph_of(rows)
    assert pairs(graph, "links") == {(number(graph, "Reef"), 2)}


def test_hidden_passages_leave_no_name_behind():
    graph = graph_of(ROWS)
    bay, reef, tobin = (number(graph, name) for name in ("Sallow Bay", "Grey Reef", "Tobin"))
    seen = graph.within(np.array([True, True, False, True, True]))
    keys = graph.keys
    assert pairs(seen, "shared") == set()
    assert pairs(seen, "links") == pairs(graph, "links") - {(tobin, 1)}
    # The document that bore the name is hidden, and only one passage says it: it joins nothing.
    assert seen.numbers(keys[[bay, reef, tobin]]).tolist() == [-1, reef, -1]


def test_names_of_a_question_are_the_longest_that_are_known():
    graph = graph_of(ROWS)

    def known(keys):
        return graph.numbers(keys) >= 0

    assert [n.text for n in find_known_names("Was Tobin's Halcyon lost on the Grey Reef?", known)] == [
        "Tobin",
        "Halcyon",
        "Grey Reef",
    ]
    assert [n.text for n in find_known_names("who saw the halcyon on the grey reef", known)] == ["grey reef"]
    assert find_known_names("Did the halcyon of Ovid sing?", known) == []


def test_saved_and_loaded_it_is_the_same(tmp_path):
    graph = graph_of(ROWS)
    graph.save(tmp_path)
    again = TitleGraph.load(tmp_path, len(ROWS))
    assert again.keys.tolist() == graph.keys.tolist()
    assert all(pairs(again, kind) == pairs(graph, kind) for kind in ("titles", "links", "shared"))


def test_no_texts_make_no_names():
    graph = graph_of([(0, "", ""), (1, "中文", "天文台")])
    assert len(graph.keys) == 0
    assert graph.numbers(np.array([1], dtype=np.uint64)).tolist() == [-1]


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=60)), max_size=5))
def test_any_text_can_be_read(texts):
    rows = [(n, title, text) for n, (title, text) in enumerate(texts)]
    n = found(rows)
    assert all(len(np.unique(p, axis=0)) == len(p) for p in (n.titles, n.links, n.shared))
    for _, title, text in rows:
        find_known_names(f"{title} {text}", lambda keys: np.ones(len(keys), dtype=bool))
