"""Members and sentences scored by arrays, compared with the same computed one by one."""

import random
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest

from polygraph.graph.merge.view import GraphView
from polygraph.graph.reports import extractive, members, scoring, sentence_table
from polygraph.graph.reports.extractive import ExtractiveWriter
from polygraph.graph.reports.members import Members
from polygraph.graph.reports.scoring import score_communities
from polygraph.graph.reports.selection import repeats, salient_words
from polygraph.graph.reports.sentence_quality import LEGAL_NOTICE, end_sentence, quality
from polygraph.graph.reports.sentence_table import SentenceTable
from polygraph.graph.reports.titles import join_names, shown_name
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
    """A small graph with sentences that name several entities, repeat each other or read badly."""
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


def table_of(view, found):
    graph = Members(found, view)
    return graph, SentenceTable(view, graph.sources, graph.targets, language="en")


def inside(view, community):
    return [r for r in view.relations if {r.source, r.target} <= set(community.entities)]


def importance_of(view, community):
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


def chosen(view, community, table):
    """The sentences of a report by its definition: each time the best of all."""
    first, names = sentences(view)
    number = {table.text(i): i for i in range(len(table))}
    importance = importance_of(view, community)
    entities = [e for e in view.entities if e.id in community.entities]
    texts = {d.text for item in (*entities, *inside(view, community)) for d in item.descriptions}
    picked, named_before = [], set()

    def score(text):
        value = table.quality[number[text]]
        its = names[text] & importance.keys()
        best = sorted(importance[e] * (0.25 if e in named_before else 1.0) for e in its)[-3:]
        focus = 0.5 + 0.5 * len(its) / len(names[text])
        return value * sqrt(value) * focus * (1.25 if len(its) > 1 else 1.0) * sum(best)

    def place(text):
        document, ordinal = first[text].split(":")
        return document, int(ordinal), number[text]

    while texts and len(picked) < 7:
        best = min(texts, key=lambda text: (-score(text), place(text)))
        texts.remove(best)
        if picked:
            least = 0.25 if table.quality[number[picked[0]]] >= LEGAL_NOTICE else 0.0
            words = salient_words(best)
            if table.quality[number[best]] < least or repeats(words, [salient_words(t) for t in picked]):
                continue
        picked.append(best)
        named_before |= names[best]
    return picked


def with_subject(view, text):
    """A sentence as a report has it: below the names of its one or two entities if it has neither."""

    def has(name):
        *first, last = name.split()
        return last.casefold() in text.casefold().split() or any(
            w.istitle() and w in text.split() for w in first
        )

    named = [entity for entity in view.entities if entity.id in sentences(view)[1][text]]
    if len(named) > 2 or any(has(entity.name) for entity in named):
        return text
    return f"{join_names([shown_name(entity.name, entity.id) for entity in named])}: {text}"


@pytest.mark.parametrize(
    "seeds",
    [
        range(100),
        pytest.param(range(100, 2000), marks=pytest.mark.deep),
    ],
)
def test_reports_consist_of_the_sentences_that_their_definition_chooses(seeds):
    for seed in seeds:
        view, found = world(seed)
        graph, table = table_of(view, found)
        reports = list(ExtractiveWriter(graph, table, lambda _: {}, "en").write(found))
        for community, report in zip(found, reports, strict=True):
            wanted = [with_subject(view, text) for text in chosen(view, community, table)]
            text = [report.summary, *(f.summary for f in report.findings)]
            if not wanted:
                assert report.summary.startswith("Mentioned"), seed
                continue
            assert sum(len(part) for part in text) == sum(len(end_sentence(t)) for t in wanted) + (
                len(wanted) - len(text)
            ), (seed, community.id)
            for sentence in wanted:
                assert any(end_sentence(sentence) in part for part in text), (seed, sentence)


def plain(scored):
    """A scored community as lists."""
    c = scored.candidates
    named = [list(c.named[begin : begin + n]) for begin, n in zip(c.begin, c.count, strict=True)]
    candidates = list(zip(c.sentence, c.score, c.factor, named, strict=True))
    return scored.rows, scored.importance, scored.central, candidates


@pytest.mark.parametrize("seed", range(40))
def test_members_are_as_important_as_their_relations_inside(seed):
    view, found = world(seed)
    graph, table = table_of(view, found)
    ids = [entity.id for entity in view.entities]
    rows = [graph.rows(community) for community in found]
    together = list(score_communities(rows, graph, table))
    alone = [next(score_communities([one], graph, table)) for one in rows]
    assert list(map(plain, together)) == list(map(plain, alone))
    for community, scored in zip(found, together, strict=True):
        wanted = importance_of(view, community)
        assert [ids[row] for row in scored.rows] == list(community.entities)
        assert scored.importance == pytest.approx([wanted[e] for e in community.entities])
        assert graph.relations(community) == inside(view, community)
        assert [e.id for e in graph.entities(community)] == list(community.entities)
        volume = sum(
            r.weight * ((r.source in community.entities) + (r.target in community.entities))
            for r in view.relations
        )
        assert graph.volume(community) == pytest.approx(volume + len(community.entities))
        assert all(a >= b for a, b in pairwise(scored.candidates.score))


def test_reports_do_not_depend_on_how_much_is_scored_at_once(monkeypatch):
    worlds = [world(seed) for seed in range(60)]

    def reports():
        return [list(extractive_reports(found, view, lambda _: {})) for view, found in worlds]

    whole = reports()
    monkeypatch.setattr(extractive, "_BATCH", 1)
    monkeypatch.setattr(scoring, "_SENTENCES", 3)
    monkeypatch.setattr(sentence_table, "_SORTED", 3)
    batches = members.batches
    monkeypatch.setattr(members, "batches", lambda ends: batches(ends, 2))
    assert reports() == whole


def test_members_that_the_graph_lacks_are_left_out():
    view, _ = world(3)
    found = [Community(id="0-x", level=0, parent="", entities=("n00", "nobody"))]
    graph = Members(found, view)
    assert graph.rows(found[0]).tolist() == [0]
    assert graph.volume(found[0]) == graph.strength[0] + 2.0
    (report,) = write_reports(found, view, lambda _: {}, None)
    assert report.title


class WithoutRecords:
    """A graph whose records cannot be read, only its edges and descriptions."""

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
    reports = extractive_reports([*found, *parts], WithoutRecords(view), lambda _: {}, on_done=seen.append)
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
    """The computation above takes every text for one sentence."""
    for seed in range(20):
        view, found = world(seed)
        _, table = table_of(view, found)
        texts = [table.text(i) for i in range(len(table))]
        assert set(texts) == set(sentences(view)[0])
        assert np.all(table.quality <= [quality(text) for text in texts])
