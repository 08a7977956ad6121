"""Checks of the tables of the graph: entities, relations, triples, and how names were merged."""

from collections import Counter
from dataclasses import replace

from polygraph.arrays import text_hash
from polygraph.store.protocol import EntityOverview, GraphStore, Store
from tests.contract.table_checks.expect import MANY, expect
from tests.store_records import ENTITIES, MERGES, NAME_PAIRS, RELATIONS, TRIPLES, entity


def check_graph(store: Store) -> None:
    """Entities and relations come back as they were put, and a new graph replaces the former one."""
    with store.transaction():
        store.graph.put(
            iter(ENTITIES), iter(RELATIONS), iter(TRIPLES), iter(reversed(MERGES)), iter(reversed(NAME_PAIRS))
        )
    for check in (_entities, _overviews, _descriptions, _relations, _merges, _triples):
        check(store.graph)
    _replacement(store)


def _entities(graph: GraphStore) -> None:
    ada, bo, cy = ENTITIES
    expect(list(graph.all_entities()), [ada, bo, cy], "entities come back as they were put, by id")
    expect(
        list(graph.entity_statements()),
        [replace(entity, aliases=(), chunks=()) for entity in ENTITIES],
        "entities come without aliases and chunks",
    )
    expect(graph.entities_by_row([2, 99, 0]), [cy, ada], "entities by row come in the order asked for")
    expect(
        graph.entities_by_row([2, 0], most_chunks=1),
        [replace(cy, chunks=cy.chunks[:1]), replace(ada, chunks=ada.chunks[:1])],
        "entities come with as many chunks as asked for",
    )
    expect(graph.entity_ids(), ["ada", "bo", "cy"], "ids of entities come by row")
    expect(list(graph.entity_names()), [("ada", "Ada"), ("bo", "Bo"), ("cy", "Cy")], "names come by row")
    expect(graph.names_by_row([2, 99, 0]), {2: "Cy", 0: "Ada"}, "names of some rows come by row")
    expect(graph.ids_by_row([2, 99, 0]), {2: "cy", 0: "ada"}, "ids of some rows come by row")
    expect(graph.entity_rows(["cy", "none", "ada"]), {"cy": 2, "ada": 0}, "rows by id leave out unknown ids")
    expect(
        graph.entities_named(["ADA", "miss ada", "nobody", ""]),
        {"ADA": [0], "miss ada": [0]},
        "entities are found by normalised names and aliases",
    )
    mentions: dict[int, list[str]] = {}
    for row, ids in graph.mentions():
        mentions.setdefault(row, []).extend(ids)
    expect(mentions, {0: ["d:0"], 1: ["d:0", "d:1"], 2: ["d:2"]}, "mentions are the chunks of each entity")
    for most in (1, 2, 99):
        expect(
            graph.entity_heads([2, 0], most_chunks=most),
            [replace(ENTITIES[n], chunks=ENTITIES[n].chunks[:most], degree=0) for n in (2, 0)],
            f"heads of entities have their first {most} chunks",
        )


def _overviews(graph: GraphStore) -> None:
    first = EntityOverview(1, "bo", "Bo", "person", 2, 1)
    expect(
        graph.entity_overview(order="mentions", limit=1), [first], "entities with the most chunks come first"
    )
    by_name = graph.entity_overview(order="name", kind="person", rows=[0, 2], limit=9)
    expect([each.name for each in by_name], ["Ada", "Cy"], "entities come by name, only those asked for")
    expect(graph.entity_overview(order="name", kind="ship", limit=9), [], "entities of a type")
    expect(graph.entities_containing("miss"), [0], "aliases are searched too")
    expect(graph.entities_containing("miss", whole=True), [], "a part is not the whole name")
    expect(graph.entities_containing("Miss Ada", whole=True), [0], "names are found as a whole")


def _descriptions(graph: GraphStore) -> None:
    expect(
        [
            (name, list(chunks), [tuple(d) for d in said])
            for name, chunks, said in graph.entity_descriptions()
        ],
        [(e.name, list(e.chunks), [(d.text, d.chunk) for d in e.descriptions]) for e in ENTITIES],
        "descriptions of entities come by row",
    )
    expect(
        [[tuple(d) for d in said] for said in graph.relation_descriptions()],
        [[(d.text, d.chunk) for d in r.descriptions] for r in RELATIONS],
        "descriptions of relations come by row",
    )
    expect(
        [
            (name, list(chunks), [tuple(d) for d in said])
            for name, chunks, said in graph.entity_description_hashes()
        ],
        [(e.name, list(e.chunks), [(text_hash(d.text), d.chunk) for d in e.descriptions]) for e in ENTITIES],
        "hashes of descriptions of entities come by row",
    )
    expect(
        [[tuple(d) for d in said] for said in graph.relation_description_hashes()],
        [[(text_hash(d.text), d.chunk) for d in r.descriptions] for r in RELATIONS],
        "hashes of descriptions of relations come by row",
    )
    outlines = graph.entity_outlines([1, 0])
    expect(
        [(e.id, e.name) for e in outlines], [(ENTITIES[n].id, ENTITIES[n].name) for n in (1, 0)], "outlines"
    )
    texts = graph.texts([key for e in outlines for key, _ in e.described])
    expect(
        [[(texts[key], chunk) for key, chunk in e.described] for e in outlines],
        [[(d.text, d.chunk) for d in ENTITIES[n].descriptions] for n in (1, 0)],
        "keys of outlines stand for the texts of descriptions",
    )
    every = [(n, i) for n, r in enumerate(RELATIONS) for i in range(len(r.descriptions))]
    expect(
        graph.single_descriptions([*every, (0, 99), (99, 0)]),
        {
            (n, i): replace(
                RELATIONS[n],
                descriptions=RELATIONS[n].descriptions[i : i + 1],
                keywords=(),
                chunks=(),
                summary="",
            )
            for n, i in every
        },
        "relations come with one description each",
    )


def _relations(graph: GraphStore) -> None:
    expect(list(graph.all_relations()), list(RELATIONS), "relations come back as they were put")
    expect(
        list(graph.relation_statements()),
        [replace(relation, chunks=()) for relation in RELATIONS],
        "relations come without chunks",
    )
    expect(
        graph.relations_by_row([1, 0]),
        [RELATIONS[1], RELATIONS[0]],
        "relations come in the order asked for",
    )
    rows = list(range(len(RELATIONS)))[::-1]
    heads = [(RELATIONS[n].id, RELATIONS[n].weight) for n in rows]
    expect(graph.relation_heads([*rows, 99]), heads, "heads of relations come in the order asked for")
    expect(list(graph.edges()), [(0, 1, 1.5), (1, 2, 0.25)], "edges hold rows of entities and weights")
    expect(
        graph.relations_at([1, 2]),
        [(0, 0, 1, 1.5), (1, 1, 2, 0.25)],
        "relations at entities come once each, by row",
    )
    expect(
        graph.relations_per_chunk([0, 1]),
        dict(Counter(chunk for r in RELATIONS[:2] for chunk in r.chunks)),
        "relations are counted by chunk",
    )
    expect(
        list(graph.relation_columns()),
        [(0, 1, len(RELATIONS[0].descriptions)), (1, 2, len(RELATIONS[1].descriptions))],
        "ends of relations come by row, with the numbers of their descriptions",
    )


def _merges(graph: GraphStore) -> None:
    expect(graph.merges(), list(MERGES), "merges come sorted")
    expect(graph.merges("bo"), list(MERGES[1:]), "merges of one entity")
    expect(graph.name_pairs(), list(NAME_PAIRS), "pairs of names come sorted")
    expect(graph.name_pairs("ada"), list(NAME_PAIRS[:1]), "pairs of one entity")


def _triples(graph: GraphStore) -> None:
    expect(list(graph.all_triples()), list(TRIPLES), "triples come back as they were put")
    expect(graph.triples_by_row([1, 0]), [TRIPLES[1], TRIPLES[0]], "triples come in the order asked for")
    expect(
        [(t.source, t.target) for t in graph.all_triples(by_name=True)],
        [("Bo", "Ada"), ("Bo", "Cy")],
        "triples by name hold names instead of ids",
    )
    expect(
        list(graph.edges_with_chunks("triples")),
        [(1, 0, 1.0, ["d:0"]), (1, 2, 2.0, ["d:1", "d:2"])],
        "edges of triples come with their chunks",
    )
    expect(
        list(graph.triple_columns()),
        [(1, 0, "saw", 1.0), (1, 2, "met", 2.0)],
        "ends of triples come by row, with predicate and weight",
    )
    expect(graph.predicates(), ["met", "saw"], "predicates are distinct and sorted")
    expect(graph.triples_with(["saw", "none"]), [0], "triples are found by predicate")


def _replacement(store: Store) -> None:
    graph, ada = store.graph, ENTITIES[0]
    with store.transaction():
        graph.put_summaries([("entity", 0, "said of her")])
    expect(
        next(graph.entity_statements()),
        replace(ada, aliases=(), chunks=(), descriptions=(), summary="said of her"),
        "a summary stands for the descriptions",
    )
    with store.transaction():
        graph.put(ENTITIES[:1], [], [], [])
    expect(list(graph.all_entities()), [ada], "putting a graph replaces all of the former one")
    expect(graph.entities_named(["Bo"]), {}, "names of the former graph are gone")
    expect(
        (list(graph.edges()), graph.merges(), graph.predicates()), ([], [], []), "so are its edges and merges"
    )
    with store.transaction():
        graph.put([entity("Universität Zürich", "d:0"), entity("Zuerich", "d:0")], [], [], [])
    expect(
        [graph.entities_containing(text) for text in ("ZURICH", "zuerich", "Züri", "zurxch")],
        [[0], [0, 1], [0, 1], []],
        "names are found without their accents, and with two letters for one",
    )
    expect(graph.entities_containing("Zürich", whole=True), [1], "as a whole, too")


def check_large_graph(store: Store) -> None:
    """Any number of keys can be asked for."""
    names = [f"N{n:04}" for n in range(MANY)]
    namesake = replace(entity("N0000"), id="z")
    with store.transaction():
        store.graph.put([*(entity(name, "d:0") for name in names), namesake], [], [], [])
    rows = list(range(MANY))[::-1]
    expect(
        [e.name for e in store.graph.entities_by_row(rows)],
        names[::-1],
        "any number of rows can be asked for",
    )
    expect(len(store.graph.entities_named(names)), MANY, "any number of names can be asked for")
    expect(store.graph.entities_named(["n0000"]), {"n0000": [0, MANY]}, "namesakes come by row")
