"""Members and sentences weighed by arrays, against the same reckoned one by one."""

import random
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest

from polygraph.columnar import gather as aside
from polygraph.graph.merge.view import GraphView
from polygraph.graph.reports import extractive as extracts
from polygraph.graph.reports import members as members_module
from polygraph.graph.reports import scoring as weighing
from polygraph.graph.reports.extractive import Extracts, _repeats, _telling_words
from polygraph.graph.reports.members import Members
from polygraph.graph.reports.scoring import weigh
from polygraph.graph.reports.sentence_quality import LEGAL_NOTICE, quality, shown
from polygraph.graph.reports.sentence_table import Told
from polygraph.graph.reports.write import extractive_reports, write_reports
from polygraph.records import Community, Description, Entity, Relation

WORDS = (
    "harbour",
    "lamp",
    "oil",
    "reef",
    "pilot",
    "March",
    "lighthouse",
    "barque",
    "ledger",
    "debt",
    "sails",
)
VERBS = ("met", "paid", "blamed", "wrote to", "and", "saw")


def world(seed):
    """A small graph with sentences that name several, repeat each other or read badly."""
    chance = random.Random(seed)
    names = [f"n{i:02}" for i in range(chance.randint(2, 14))]
    texts = []
    for _ in range(chance.randint(3, 25)):
        said = " ".join(chance.sample(WORDS, chance.randint(2, 6)))
        end = chance.choice([".", ".", ".", "", "?"])
        texts.append(
            f"{chance.choice(('The', 'He', 'Old Tobin'))} {chance.choice(VERBS)} of {said}{end}".strip()
        )
    texts.append("All rights reserved under the licence.")

    def said():
        return tuple(
            Description(text, f"{chance.choice('ab')}:{chance.randint(0, 11)}")
            for text in dict.fromkeys(chance.choices(texts, k=chance.randint(0, 4)))
        )

    entities = tuple(
        Entity(
            id=name,
            name=chance.choice([name.upper(), name, f"Old {name.title()}"]),
            type="",
            aliases=(),
            descriptions=said(),
            chunks=tuple(f"{chance.choice('ab')}:{i}" for i in range(chance.randint(1, 5))),
        )
        for name in names
    )
    pairs = sorted({tuple(sorted(chance.sample(names, 2))) for _ in range(chance.randint(0, 30))})
    relations = tuple(
        Relation(
            id=f"{a} | {b}",
            source=a,
            target=b,
            predicates=(),
            keywords=(),
            descriptions=said(),
            weight=chance.choice([0.1, 0.3, 1.0, 2.0, 7.0]),
            chunks=("a:0",),
        )
        for a, b in pairs
    )
    groups = [chance.sample(names, chance.randint(1, len(names))) for _ in range(5)]
    found = [
        Community(id=f"0-{i}", level=0, parent="", entities=tuple(sorted(group)), chunks=("a:0",))
        for i, group in enumerate([names, *groups])
    ]
    return GraphView(entities=entities, relations=relations), found


def inside(view, community):
    return [r for r in view.relations if {r.source, r.target} <= set(community.entities)]


def worths(view, community):
    by_id = {entity.id: entity for entity in view.entities}
    joined = inside(view, community)
    if not joined:
        return {e: sqrt(len(by_id[e].chunks)) for e in community.entities}
    return {
        e: sqrt(sum(r.weight for r in joined if e in (r.source, r.target))) or 0.1 for e in community.entities
    }


def sentences(view):
    """Every text with where it stands first, and whom it names; each is one sentence here."""
    first, names = {}, {}
    for item in (*view.entities, *view.relations):
        for description in item.descriptions:
            first.setdefault(description.text, description.chunk)
            ends = (item.id,) if isinstance(item, Entity) else (item.source, item.target)
            names.setdefault(description.text, set()).update(ends)
    return first, names


def chosen(view, community, told):
    """The sentences of a report as its definition has them: the best first, each time of all."""
    first, names = sentences(view)
    number = {told.text(i): i for i in range(len(told.quality))}
    worth = worths(view, community)
    members = [e for e in view.entities if e.id in community.entities]
    texts = {d.text for item in (*members, *inside(view, community)) for d in item.descriptions}
    picked, spoken = [], set()

    def score(text):
        value = told.quality[number[text]]
        its = names[text] & worth.keys()
        best = sorted(worth[e] * (0.25 if e in spoken else 1.0) for e in its)[-3:]
        focus = 0.5 + 0.5 * len(its) / len(names[text])
        return value * sqrt(value) * focus * (1.25 if len(its) > 1 else 1.0) * sum(best)

    def place(text):
        document, ordinal = first[text].split(":")
        return document, int(ordinal), number[text]

    while texts and len(picked) < 7:
        best = min(texts, key=lambda text: (-score(text), place(text)))
        texts.remove(best)
        if picked:
            least = 0.25 if told.quality[number[picked[0]]] >= LEGAL_NOTICE else 0.0
            words = _telling_words(best)
            if told.quality[number[best]] < least or _repeats(words, [_telling_words(t) for t in picked]):
                continue
        picked.append(best)
        spoken |= names[best]
    return picked


@pytest.mark.parametrize("seeds", [range(50), pytest.param(range(50, 1000), marks=pytest.mark.slow)])
def test_reports_say_what_their_definition_chooses(seeds):
    for seed in seeds:
        view, found = world(seed)
        told, members = Told(view, "en"), Members(found, view)
        extracts = list(Extracts(members, told, lambda _: {}, "en").of(found))
        for community, extract in zip(found, extracts, strict=True):
            wanted = chosen(view, community, told)
            text = [extract.summary, *(f.summary for f in extract.findings)]
            if not wanted:
                assert extract.summary.startswith("Mentioned"), seed
                continue
            assert sum(len(part) for part in text) == sum(len(shown(t)) for t in wanted) + (
                len(wanted) - len(text)
            ), (seed, community.id)
            for sentence in wanted:
                assert any(shown(sentence) in part for part in text), (seed, sentence)


@pytest.mark.parametrize("seed", range(40))
def test_members_weigh_what_their_relations_inside_weigh(seed):
    view, found = world(seed)
    told, members = Told(view, "en"), Members(found, view)
    ids = [entity.id for entity in view.entities]
    rows = [members.rows(community) for community in found]
    together = list(weigh(rows, members, told))
    assert together == [next(weigh([one], members, told)) for one in rows]
    for community, weighed in zip(found, together, strict=True):
        wanted = worths(view, community)
        assert [ids[row] for row in weighed.rows] == list(community.entities)
        assert weighed.worth == pytest.approx([wanted[e] for e in community.entities])
        assert members.relations(community) == inside(view, community)
        assert [e.id for e in members.entities(community)] == list(community.entities)
        volume = sum(
            r.weight * ((r.source in community.entities) + (r.target in community.entities))
            for r in view.relations
        )
        assert members.volume(community) == pytest.approx(volume + len(community.entities))
        scores = weighed.candidates.score
        assert all(a >= b for a, b in pairwise(scores))


def unlike():
    """Many sentences of which none repeats another."""
    entities = tuple(
        Entity(
            id=f"n{i:02}",
            name=f"N{i}",
            type="",
            aliases=(),
            descriptions=(Description(f"Harbour{i} was lit by lamp{i} in March{i}.", f"a:{i}"),),
            chunks=(f"a:{i}",),
        )
        for i in range(30)
    )
    ids = tuple(entity.id for entity in entities)
    return GraphView(entities=entities, relations=()), [Community(id="0-x", level=0, parent="", entities=ids)]


@pytest.mark.parametrize(("candidates", "enough"), [(3, False), (9, True)])
def test_reports_do_not_depend_on_how_much_is_looked_at_at_once(candidates, enough, monkeypatch):
    """Communities are weighed alone and in parts; with few candidates those left out are needed."""
    worlds = [*(world(seed) for seed in range(60)), unlike()]

    def reports():
        return [list(extractive_reports(found, view, lambda _: {})) for view, found in worlds]

    whole = reports()
    for module, sizes in (
        (aside, {"_WINDOW": 16, "_BLOCK": 2}),
        (members_module, {"_BLOCK": 3}),
        (weighing, {"_BLOCK": 2, "_SENTENCES": 3}),
        (extracts, {"_BLOCK": 1, "_CANDIDATES": candidates}),
    ):
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)
    choose, outcomes = extracts._choose, set()

    def noted(candidates, *arguments):
        picked = choose(candidates, *arguments)
        outcomes.add((candidates.n_left_out > 0, picked is not None))
        return picked

    monkeypatch.setattr(extracts, "_choose", noted)
    assert reports() == whole
    assert outcomes == {(False, True), (True, False), *([(True, True)] if enough else [])}


def test_members_that_the_graph_lacks_are_passed_over():
    view, _ = world(3)
    found = [Community(id="0-x", level=0, parent="", entities=("n00", "nobody"))]
    members = Members(found, view)
    assert members.rows(found[0]).tolist() == [0]
    assert members.volume(found[0]) == members.strength[0] + 2.0
    (report,) = write_reports(found, view, lambda _: {}, None)
    assert report.title


class Once:
    """A graph of which nothing but what is told can be read, and no record."""

    def __init__(self, view):
        self._view = view

    def __getattr__(self, name):
        if name in ("entities_by_row", "relations_by_row", "entities", "relations"):
            raise AssertionError("a record was read")
        return getattr(self._view, name)


def test_reports_without_a_model_read_no_record_and_come_one_after_the_other():
    view, found = world(5)
    parts = [
        Community(id="1-a", level=1, parent="0-0", entities=found[0].entities[:1]),
        Community(id="1-b", level=1, parent="0-0", entities=found[0].entities[1:]),
    ]
    seen = []
    reports = extractive_reports([*found, *parts], Once(view), lambda _: {}, on_done=seen.append)
    first = next(reports)
    assert seen == []
    rest = list(reports)
    order = [report.community for report in (first, *rest)]
    assert order == ["0-0", "1-a", "1-b", *(community.id for community in found[1:])]
    assert seen == list(range(1, len(order) + 1))
    whole = write_reports([*parts, *found], view, lambda _: {}, None)
    assert sorted(whole, key=lambda r: r.community) == sorted((first, *rest), key=lambda r: r.community)
    assert list(extractive_reports([], view, lambda _: {})) == []


def test_the_texts_of_the_small_worlds_are_one_sentence_each():
    """The reckoning above takes every text for one sentence."""
    for seed in range(20):
        view, _ = world(seed)
        told = Told(view, "en")
        texts = {told.text(i) for i in range(len(told.quality))}
        assert texts == set(sentences(view)[0])
        assert np.all(told.quality <= [quality(told.text(i)) for i in range(len(told.quality))])
