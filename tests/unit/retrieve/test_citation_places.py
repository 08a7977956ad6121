"""Which source each mark of an answer stands for, and the copies of what is quoted."""

import pytest

from polygraph.records import Citation, Evidence
from polygraph.retrieve.citation_places import letters, with_letters, with_places
from polygraph.retrieve.citations import check_citations
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

RULES = "The room can be hired for £22 an hour. Bookings are made with the secretary. A lost key costs £40."


@pytest.fixture(scope="module")
def index(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("places")
    files = {
        "keys.txt": f"Rules\n\n{RULES}",
        "keys copy.txt": f"Rules\n\n{RULES}",
        "stage.txt": "Owen Tallis pushed the stage by hand.",
    }
    with Index.open(base / "index", models=hashed_models()) as opened:
        opened.add(write_files(base / "papers", files))
        yield opened


@pytest.fixture
def report(index):
    spans = index.snapshot().spans(["keys.txt:0", "stage.txt:0"])
    return Evidence(
        kind="report", id="0-a", text="Keys and the stage.", score=1.0, spans=tuple(spans.values())
    )


def test_each_mark_of_a_report_names_its_own_source(index, report):
    text = "A lost key costs £40 [1]. Owen Tallis pushed the stage [1]. The key costs £40 when lost [1]."
    checked = check_citations(text, [report], index.snapshot())
    by_document = {c.document: c for c in checked.citations}
    assert by_document["keys.txt"].at == (21, 88)
    assert by_document["stage.txt"].at == (55,)
    assert all(checked.text[at : at + 3] == "[1]" for c in checked.citations for at in c.at)
    marked = with_letters(checked.text, letters(checked.citations))
    assert marked == (
        "A lost key costs £40 [1a]. Owen Tallis pushed the stage [1b]. The key costs £40 when lost [1a]."
    )


def test_marks_of_one_document_have_no_letters():
    same = [Citation(n=1, document="a", chunk="a:0", start=0, end=1, quote="x", at=(at,)) for at in (4, 12)]
    assert letters(same) == {}


def test_one_mark_can_stand_for_several_rows_and_unclear_ones_for_none(index):
    rows = [Citation(n=1, document="a", chunk="a:0", start=s, end=s + 1, quote="x") for s in (0, 2)]
    assert [c.at for c in with_places("26. [1]", rows, [], index.snapshot())] == [(4,), (4,)]
    assert [c.at for c in with_places("[1] [1] [1]", rows, [], index.snapshot())] == [(), ()]


def test_an_answer_names_the_copy_of_what_it_quotes(index):
    found = index.ask("What does a lost key cost?", "hybrid")
    cited = {(c.document, c.also) for c in found.citations if "£40" in c.quote}
    assert cited in ({("keys.txt", ("keys copy.txt",))}, {("keys copy.txt", ("keys.txt",))})
    documents = [e.document for e in found.retrieval.evidence]
    assert len({"keys.txt", "keys copy.txt"} & set(documents)) == 1
    assert "stage.txt" in documents


@pytest.fixture(scope="module")
def handbook(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("handbook")
    filler = "The bell rings at noon and the gulls answer it from the roof of the old customs house. " * 30
    files = {
        "guide.md": (
            "# Guide\n\n"
            + f"The harbour was dug in 1790.\n\n## 1 Berths\n\n{filler}\n\nA berth costs £9 a night.\n\n"
            "## 2 Tides\n\nThe gate opens at high water.\n\n### Prices\n\n"
            "| Boat | Fee |\n|---|---|\n| Dinghy | £4 |\n| Yacht | £12 |\n"
        ),
        "story.txt": f"{filler}\n\nMara Quill lit the lamp.\n\n{filler}",
        "fleet.csv": "Boat,Berth,Crew\nDunlin,A4,2\nPetrel,B11,4\n",
        "boats.md": (
            "# Boats\n\n| Boat | Year |\n|---|---|\n| Teal | 1902 |\n\n"
            "## Masters\n\n| Master | Boat |\n|---|---|\n| Ann Roe | Teal |\n"
        ),
    }
    with Index.open(base / "index", models=hashed_models()) as opened:
        opened.add(write_files(base / "papers", files))
        yield opened


@pytest.mark.parametrize(
    ("document", "quote", "place"),
    [
        ("guide.md", "The harbour was dug in 1790.", "passage 1 of "),
        ("guide.md", "A berth costs £9 a night.", "section “1 Berths”"),
        ("guide.md", "The gate opens at high water.", "section “2 Tides”"),
        ("guide.md", "Boat: Yacht; Fee: £12.", "row 2 of “Prices”"),
        ("story.txt", "Mara Quill lit the lamp.", "passage 2 of "),
        ("boats.md", "Boat: Teal; Year: 1902.", "row 1 of “Boats”"),
        ("boats.md", "Master: Ann Roe; Boat: Teal.", "row 1 of “Masters”"),
        ("fleet.csv", "Boat: Petrel; Berth: B11; Crew: 4.", "row 2"),
    ],
)
def test_a_place_is_the_row_of_a_table_or_the_section_or_the_number_of_the_passage(
    handbook, document, quote, place
):
    snapshot = handbook.snapshot()
    text = snapshot.store.documents.get(document).text
    start = text.index(quote)
    chunk = next(c for c in snapshot.chunks_of(document) if c.start <= start < c.end)
    citation = Citation(
        n=1,
        document=document,
        chunk=chunk.id,
        start=start,
        end=start + len(quote),
        quote=quote,
        title=snapshot.titles([document])[document],
    )
    [found] = with_places("[1]", [citation], [], snapshot)
    assert found.place.startswith(place)
    assert place[-1] == " " or found.place == place


def test_a_short_document_without_headings_needs_no_place(index):
    found = index.ask("Who pushed the stage?", "hybrid")
    assert [(c.document, c.place) for c in found.citations] == [("stage.txt", "")]


def test_a_place_in_a_document_with_pages_begins_with_the_page(tmp_path, write_files):
    from tests.unit.ingest.test_ingest import pdf

    folder = write_files(tmp_path / "papers", {})
    folder.mkdir(exist_ok=True)
    (folder / "rules.pdf").write_bytes(pdf("The pier opens at nine.", "Dogs are kept on a lead at the pier."))
    with Index.open(tmp_path / "index", models=hashed_models()) as opened:
        opened.add(folder, methods=["bm25"])
        found = opened.ask("What are dogs kept on?", "bm25")
    assert [c.place for c in found.citations if "lead" in c.quote] == ["page 2"]
