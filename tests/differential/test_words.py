"""Words, trees and names of English texts against spaCy's own pipeline."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygraph.extract.nlp import dependency_trees

pytestmark = pytest.mark.skipif(not dependency_trees.installed(), reason="the parser is not installed")

TEXTS = [
    "In 1871 Thomas Quill, the harbour-master of Bergen, sold the schooner Halcyon to J. R. Vane for £1,200.",
    "There is a light on Sable Point, and there were two; it didn't burn.",
    "I'm gonna read what you do. Do you? We gotta go, ain't we? Let's go, y'all.",
    "He said nothin' of it. Nothing was said.",
    "She has left. She has a boat. That boat, that she had, had sunk, but it was hers.",
    "",
    "...",
    "THE LOG OF THE HALCYON",
    "x" * 300,
]
_WORDS = """
Anna Vane Bergen Halcyon gon na got ta let 's c'm on y' all ai n't there There is are was do does did had has
that which to the of in and but , . ? ( ) 1871 3 May it It you I boats sailed sailing sold quickly older oldest lights
light better best been be not nothin'
"""
WORDS = _WORDS.split()


def words_by_spacy(texts: list[str]) -> list[list[tuple[object, ...]]]:
    return [
        [
            (t.text, t.lemma_.lower(), t.pos_, t.dep_, t.head.i, t.idx, bool(t.is_sent_start), t.ent_type_)
            for t in doc
        ]
        for doc in dependency_trees.load_pipeline().pipe(texts)
    ]


def words(texts: list[str]) -> list[list[tuple[object, ...]]]:
    found = []
    for sentences in dependency_trees.parse(texts):
        rows: list[tuple[object, ...]] = []
        for s in sentences:
            first = len(rows)
            types = {i: label for a, b, label in s.names for i in range(a, b)}
            rows += [
                (*parts, first + s.heads[i], s.start + s.starts[i], i == 0, types.get(i, ""))
                for i, parts in enumerate(zip(s.words, s.lemmas, s.pos, s.deps, strict=True))
            ]
        found.append(rows)
    return found


def test_words_trees_and_names_are_those_of_spacy():
    assert words(TEXTS) == words_by_spacy(TEXTS)
    # All words are known now.
    assert words(TEXTS[::-1]) == words_by_spacy(TEXTS[::-1])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), max_size=4))
def test_any_words_are_those_of_spacy(texts):
    assert words(texts) == words_by_spacy(texts)


def test_tags_without_a_tree_are_those_of_spacy():
    pipeline = dependency_trees.load_pipeline()
    expected = [
        [(t.idx, t.idx + len(t), t.pos_) for t in doc]
        for doc in pipeline.pipe(TEXTS, disable=["parser", "lemmatizer", "ner"])
    ]
    assert list(dependency_trees.tag(TEXTS)) == expected
