"""Records that are put into a store to check it."""

from polygraph.ids import chunk_id
from polygraph.records import (
    Chunk,
    Community,
    Description,
    Document,
    Entity,
    EntityRow,
    Extraction,
    Finding,
    Relation,
    RelationRow,
    Report,
    Span,
    Table,
    Triple,
    Window,
)
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store
from polygraph.text.passage import short_fields

TRICKY = 'a|b "c" \'d\' \\ \x00 \u202e 灯台 🏮 %s ? ",'
"""Text that must come back as it is."""

TEXT = "Mara lit the lamp. Tobin slept.\n\nThe fog came."
"""Text of every document."""


def chunk(document: str, ordinal: int, start: int, end: int) -> Chunk:
    """Return a chunk of a document with the text `TEXT`."""
    return Chunk(
        id=chunk_id(document, ordinal),
        document=document,
        ordinal=ordinal,
        start=start,
        end=end,
        text=TEXT[start:end],
        n_tokens=4,
        metadata={"page": ordinal},
    )


def put_document(store: Store, name: str, root: str = "/papers") -> tuple[Document, Window]:
    """Put a document of three chunks and one window."""
    document = Document(
        id=name,
        title=f"Title of {name}",
        text=TEXT,
        metadata={"year": 1871, "tags": ["a", TRICKY], "none": None},
        source=f"/papers/{name}.txt",
        tables=(
            Table(
                title=TRICKY,
                columns=("a", TRICKY),
                rows=(("1", ""), (TRICKY, "2")),
                spans=((0, 18), (19, 31)),
            ),
        ),
    )
    chunks = (chunk(name, 0, 0, 18), chunk(name, 1, 19, 31), chunk(name, 2, 33, 46))
    window = Window(
        id=f"{name}@0",
        document=name,
        ordinal=0,
        title=document.title,
        fields=short_fields(document.metadata),
        chunks=chunks,
        text=TEXT,
    )
    store.documents.put(document, root, chunks, [window])
    return document, window


def extraction(name: str) -> Extraction:
    """Return what was extracted from the window of a document."""
    return Extraction(
        window=f"{name}@0",
        entities=(
            EntityRow(name="Mara", type="person", description=TRICKY, spans=(Span(name, f"{name}:0", 0, 4),)),
            EntityRow(name=TRICKY),
        ),
        relations=(
            RelationRow(
                source="Mara",
                target=TRICKY,
                predicate="lit",
                keywords=("x", TRICKY),
                description="z",
                strength=2.5,
                chunks=(f"{name}:0",),
            ),
        ),
        status="repaired",
        problem="cut",
    )


def entity(name: str, *chunks: str, aliases: tuple[str, ...] = ()) -> Entity:
    """Return an entity that some chunks mention."""
    descriptions = tuple(Description(f"{name} {TRICKY}", chunk) for chunk in chunks)
    return Entity(
        id=name.lower(),
        name=name,
        type="person",
        aliases=aliases,
        descriptions=descriptions,
        chunks=chunks,
        degree=1,
    )


ENTITIES = (entity("Ada", "d:0", aliases=("Miss Ada",)), entity("Bo", "d:0", "d:1"), entity("Cy", "d:2"))


def _relation(source: str, target: str, weight: float, *chunks: str) -> Relation:
    return Relation(
        id=f"{source} | {target}",
        source=source,
        target=target,
        predicates=("met", "<-saw"),
        keywords=(TRICKY,),
        descriptions=tuple(Description(TRICKY, chunk) for chunk in chunks),
        weight=weight,
        chunks=chunks,
    )


RELATIONS = (_relation("ada", "bo", 1.5, "d:0"), _relation("bo", "cy", 0.25, "d:1", "d:2"))
TRIPLES = (
    Triple(id="bo | saw | ada", source="bo", target="ada", predicate="saw", weight=1.0, chunks=("d:0",)),
    Triple(id="bo | met | cy", source="bo", target="cy", predicate="met", weight=2.0, chunks=("d:1", "d:2")),
)
MERGES = (
    ("ada", "Miss Ada", "d", "alias", 0.9, "Ada", "one text"),
    ("bo", "Bo", "d", "same name", 1.0, "", ""),
)
NAME_PAIRS = (
    ("ada", "bo", "ada", "bo", "apart", "a woman and a man", 1.0, ""),
    ("bo", "cy", "bo", "cy", "undecided", "spelling", 0.5, "bo and cy"),
)
COMMUNITIES = (
    Community(id="0-a", level=0, parent="", entities=("ada", "bo"), chunks=("d:0", TRICKY, "\\", '"', "")),
    Community(id="1-b", level=1, parent="0-a", entities=("bo",)),
    Community(id="1-c", level=1, parent="0-a", entities=("ada",), chunks=("d:0",)),
)


def report(community: str, level: int, *chunks: str) -> Report:
    """Return a report that rests on some chunks."""
    return Report(
        community=community,
        level=level,
        title=TRICKY,
        summary="s",
        findings=(Finding(summary="f", explanation=TRICKY, chunks=chunks), Finding(summary="g")),
        rating=7.25,
        chunks=chunks,
        weight=0.5,
        written_by="m",
    )


MANIFEST = Manifest(
    chunks="1",
    chunk_tokens=300,
    overlap_tokens=0,
    window_tokens=1200,
    language="en",
    embedder="e",
    dimension=4,
    name_embedder="n",
    name_dimension=2,
    extractor="nlp:1",
    extractor_settings={"entity_types": ["person"]},
    reports="extractive",
    community_size=10,
    community_weight="strength",
    profile="",
    descriptions="extractive",
    description_tokens=400,
    report_words=500,
    same="",
)
