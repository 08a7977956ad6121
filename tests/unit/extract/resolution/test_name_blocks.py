"""Lists of names: blocking for a reader."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygraph.extract.resolution.records import Mention, NameRelation
from polygraph.extract.resolution.resolve import resolve
from polygraph.extract.resolution.suggestions.name_blocks import in_common, lists_of
from polygraph.extract.resolution.suggestions.name_lists import ListedName


def name(n, group="people", clues=(), size=1):
    return ListedName(
        group=group,
        base=f"n{n:04d}",
        type="person",
        places=((f"d{n % 7}", f"N{n}"),),
        names=(f"N{n}",),
        size=size,
        clues=frozenset(clues),
    )


NAMES = st.lists(
    st.tuples(
        st.sampled_from(["people", "bodies", "things"]),
        st.sets(
            st.integers(0, 25).map(lambda n: f"{('part', 'word', 'name', 'document')[n % 4]} {n}"), max_size=6
        ),
    ),
    max_size=60,
).map(lambda rows: [name(n, group, clues) for n, (group, clues) in enumerate(rows)])


@settings(deadline=None)
@given(NAMES, st.integers(2, 9))
def test_every_name_that_is_not_alone_in_its_group_is_in_one_list_with_names_of_its_group(names, most):
    lists = lists_of(names, most)
    listed = Counter(n for each in lists for n in each)
    assert set(listed.values()) <= {1}
    assert all(1 < len(each) <= most for each in lists)
    assert all(len({names[n].group for n in each}) == 1 for each in lists)
    per_group = Counter(each.group for each in names)
    left_out = Counter(names[n].group for n in range(len(names)) if n not in listed)
    # One list of each group may have one name only, which nobody could compare.
    assert all(n <= 1 for n in left_out.values())
    assert all(left_out[group] == (n == 1) for group, n in per_group.items() if n <= most)
    assert lists == sorted(lists)


@settings(deadline=None)
@given(NAMES)
def test_lists_are_at_least_half_full_on_average(names):
    for group in {each.group for each in names}:
        some = [each for each in names if each.group == group]
        sizes = [len(each) for each in lists_of(some, 8)]
        assert len(sizes) <= 1 + 2 * len(some) / 8


def test_names_with_something_in_common_are_in_one_list():
    clues = [{f"word w{n // 2}"} for n in range(40)]
    lists = lists_of([name(n, clues=some) for n, some in enumerate(clues)], 10)
    list_of = {n: k for k, each in enumerate(lists) for n in each}
    assert all(list_of[n] == list_of[n + 1] for n in range(0, 40, 2))
    assert max(map(len, lists)) <= 10


def test_a_word_of_the_name_counts_more_than_a_document():
    clues = [{"document d", "part a"}, {"document d"}, {"document d"}, {"part a"}]
    lists = lists_of([name(n, clues=some) for n, some in enumerate(clues)], 2)
    assert [0, 3] in lists


def test_what_is_compared_grows_with_the_names_and_not_with_their_square():
    rng = np.random.default_rng(0)
    counts = {}
    for n_names in (400, 1600):
        names = [
            name(n, clues={f"word {w}" for w in rng.integers(0, n_names, 20)} | {"document all"})
            for n in range(n_names)
        ]
        counts[n_names] = sum(map(len, in_common(names).values()))
    assert counts[1600] < 5 * counts[400]
    assert counts[1600] <= 2 * 40 * 1600


def corpus(seed=0, n_documents=30):
    rng = random.Random(seed)
    trades = ["ropemaker", "baker", "pilot", "printer", "surgeon"]
    mentions, relations = [], []
    for d in range(n_documents):
        some = [
            f"{rng.choice('ABCDEFGH')}ola {rng.choice(['Vane', 'Corve', 'Quill', 'Hale'])}{d % 9}"
            for _ in range(4)
        ]
        for who in dict.fromkeys(some):
            text = f"A {rng.choice(trades)} of Harbour {d % 6}."
            mentions.append(
                Mention(document=f"d{d:02d}", window=f"d{d:02d}@0", name=who, type="person", description=text)
            )
        relations.append(NameRelation(window=f"d{d:02d}@0", source=some[0], target=some[1], predicate="met"))
    return mentions, relations


def listed(mentions, relations, suggestions=(), **more):
    got = []

    def suggest(names):
        got.extend(names)
        number = {each.base: n for n, each in enumerate(names)}
        return [(number[a], number[b]) for a, b in suggestions]

    found = resolve(mentions, relations=relations, suggest=suggest, **{"asks": True, **more})
    return got, found


def test_names_and_lists_do_not_depend_on_the_order_of_rows():
    mentions, relations = corpus()
    names, _ = listed(mentions, relations)
    lists = lists_of(names, 12)
    assert len(lists) > 2
    for seed in range(3):
        shuffled = random.Random(seed).sample(mentions, len(mentions))
        again, _ = listed(shuffled, relations[::-1])
        assert again == names
        assert lists_of(again, 12) == lists


def test_a_document_more_changes_few_lists():
    mentions, relations = corpus(n_documents=60)
    names, _ = listed(mentions, relations)
    fewer, _ = listed(
        [m for m in mentions if m.document != "d31"], [r for r in relations if r.window != "d31@0"]
    )
    lists, before = (
        {frozenset((some[n].base, some[n].places) for n in each) for each in lists_of(some, 12)}
        for some in (names, fewer)
    )
    # The document has four names, each of which may change the list that it leaves and the one that it enters.
    assert len(lists & before) >= len(lists) - 8


def person(document, who, text, type_="person"):
    return Mention(document=document, window=f"{document}@0", name=who, type=type_, description=text)


def test_types_that_say_nothing_and_general_names_are_not_listed():
    rows = [
        person("a", "Wallace Orme", "A hermit."),
        person("a", "The Great Storm", "A storm.", "event"),
        person("a", "patience", "A virtue.", "concept"),
        person("b", "1901", "A year.", "date"),
        person("b", "the captain", "Commands a ship."),
        person("b", "Halcyon", "A liner.", "ship"),
        person("b", "Mull", "An island.", "place"),
        person("b", "Mull Trust", "Owns an island.", "organization"),
    ]
    names, _ = listed(rows, [])
    assert {(each.base, each.group) for each in names} == {
        ("wallace orme", "people"), ("halcyon", "things"), ("mull", "bodies"), ("mull trust", "bodies"),
    }  # fmt: skip


def test_a_suggested_pair_is_left_undecided_unless_something_keeps_both_apart():
    rows = [
        person("a", "Wallace Orme", "A hermit."),
        person("a", "Ada Orme", "His sister."),
        person("b", "Brother Columba", "A hermit who keeps bees."),
        person("c", "Mrs. Finch", "A widow who keeps bees."),
    ]
    relations = [
        NameRelation(window="a@0", source="Ada Orme", target="Wallace Orme", predicate="is sister of")
    ]
    suggestions = [
        ("wallace orme", "columba"),
        ("wallace orme", "ada orme"),
        ("columba", "finch"),
    ]
    _, found = listed(rows, relations, suggestions)
    assert [(p.names, p.decision, p.rule) for p in found.pairs if p.rule == "list of names"] == [
        (("columba", "wallace orme"), "undecided", "list of names")
    ]
    assert len(set(found.entity_of.values())) == 4


def test_a_pair_that_a_rule_has_compared_is_not_suggested_again():
    rows = [person("a", "Jane Vane", "Designed a tower."), person("b", "J. Vane", "Was seen.")]
    _, before = listed(rows, [])
    _, found = listed(rows, [], [("jane vane", "j vane")])
    assert found == before
    assert before.pairs


@pytest.mark.parametrize("more", [{"asks": False}, {"by_model": False}])
def test_nothing_is_listed_where_no_model_is_asked_or_none_wrote_the_rows(more):
    names, _ = listed([person("a", "Wallace Orme", "A hermit.")], [], **more)
    assert names == []
