"""Tables of every format: header, rows, spans, and their lines in the text."""

import json
import time
from pathlib import Path

import pytest

from polygraph.ingest import load_documents
from polygraph.ingest.chunk import chunk
from polygraph.ingest.layout.html_tables import Cell, fill_spans
from polygraph.ingest.layout.pdf_pages import join_hyphens, page_by_layout, without_running_heads
from polygraph.ingest.layout.table_rows import MAX_TABLE_CELLS, make_table
from polygraph.ingest.layout.text_tables import pair_lines, pipe_tables
from polygraph.ingest.readers.pdf import pdf_title
from polygraph.records import Document
from polygraph.text.sentences import sentence_spans

ROWS = [["Ship", "Port", "Crew"], ["Halcyon", "Wick", "12"], ["Petrel", "Leith", "7"]]
LINES = ["Ship: Halcyon; Port: Wick; Crew: 12.", "Ship: Petrel; Port: Leith; Crew: 7."]


def read_one(tmp_path: Path, name: str, content: str | bytes) -> Document:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    [document] = load_documents([path]).documents
    return document


def check(document: Document) -> None:
    """The table of ships is kept: columns, rows, and the span of each row."""
    [table] = document.tables
    assert table.columns == ("Ship", "Port", "Crew")
    assert table.rows == (("Halcyon", "Wick", "12"), ("Petrel", "Leith", "7"))
    assert [document.text[start:end] for start, end in table.spans] == LINES


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "Ship,Port,Crew\nHalcyon,Wick,12\nPetrel,Leith,7\n"),
        ("a.tsv", "Ship\tPort\tCrew\nHalcyon\tWick\t12\nPetrel\tLeith\t7\n"),
        ("b.csv", "The fleet;;\n\nShip;Port;Crew\nHalcyon;Wick;12\nPetrel;Leith;7\n"),
        ("a.md", "# The fleet\n\n| Ship | Port | Crew |\n|:--|---|--:|\n| **Halcyon** | Wick | 12 |\n"
            "| Petrel | `Leith` | 7\n"),
        (
            "a.html",
            "<h1>The fleet</h1><table><tr><th>Ship<th>Port<th>Crew<tr><td>Halcyon<td>Wick<td>12<tr><td>Petrel"
            "<td>Leith<td>7</table>",
        ),
        ("a.jsonl", '{"Ship": "Halcyon", "Port": "Wick", "Crew": 12}\n'
            '{"Ship": "Petrel", "Port": "Leith", "Crew": 7}\n'),
        ("a.json", json.dumps(
            {"fleet": {"Halcyon": {"Port": "Wick", "Crew": 12}, "Petrel": {"Port": "Leith", "Crew": 7}}})),
    ],
)  # fmt: skip
def test_a_table_of_a_text_format_is_kept_with_the_spans_of_its_rows(
    tmp_path: Path, name: str, text: str
) -> None:
    document = read_one(tmp_path, name, text)
    if name == "a.json":  # the names of the objects are the first column
        [table] = document.tables
        assert table.columns == ("fleet", "Port", "Crew")
        assert table.rows[0] == ("Halcyon", "Wick", "12")
    else:
        check(document)
    if name in ("a.md", "a.html", "b.csv"):
        assert document.tables[0].title == "The fleet"


def test_a_table_of_an_excel_file_begins_below_its_title_and_fills_merged_cells(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Fleet"
    for row in [["Ships of 1871"], [], *ROWS, ["Tern", None, 3]]:
        sheet.append(row)
    sheet.merge_cells("B5:B6")
    book.save(tmp_path / "a.xlsx")
    [document] = load_documents([tmp_path]).documents
    [table] = document.tables
    assert table.title == "Fleet Ships of 1871"
    assert table.columns == ("Ship", "Port", "Crew")
    assert table.rows[1:] == (("Petrel", "Leith", "7"), ("Tern", "Leith", "3"))
    assert document.text.startswith("# Fleet\n\nShips of 1871\n\nShip: Halcyon;")


def test_tables_of_word_and_powerpoint_files_are_kept(tmp_path: Path) -> None:
    docx, pptx = pytest.importorskip("docx"), pytest.importorskip("pptx")
    made = docx.Document()
    table = made.add_table(rows=3, cols=3)
    for row, texts in zip(table.rows, ROWS, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    made.save(str(tmp_path / "a.docx"))
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    shape = slide.shapes.add_table(3, 3, 0, 0, 100, 100).table
    for r, texts in enumerate(ROWS):
        for c, text in enumerate(texts):
            shape.cell(r, c).text = text
    show.save(str(tmp_path / "b.pptx"))
    for document in load_documents([tmp_path]).documents:
        check(document)


def test_a_header_of_two_rows_in_word_names_columns_by_both(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    made = docx.Document()
    table = made.add_table(rows=3, cols=3)
    texts = [["Ship", "Limits", ""], ["Ship", "Crew", "Sail"], ["Halcyon", "12", "4"]]
    for row, cells in zip(table.rows, texts, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    table.cell(0, 1).merge(table.cell(0, 2)).text = "Limits"
    made.save(str(tmp_path / "a.docx"))
    [document] = load_documents([tmp_path]).documents
    assert document.tables[0].columns == ("Ship", "Limits Crew", "Limits Sail")


def test_superscripts_of_word_and_html_stay_above_the_line(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    made = docx.Document()
    paragraph = made.add_paragraph("Up to 2")
    paragraph.add_run("64").font.superscript = True
    paragraph.add_run(" pulses")
    made.save(str(tmp_path / "a.docx"))
    (tmp_path / "b.html").write_text(
        "<p>Up to 2<sup>64</sup> pulses of H<sub>2</sub>O on the 1<sup>st</sup></p>"
    )
    word, page = load_documents([tmp_path]).documents
    assert word.text == "Up to 2⁶⁴ pulses"
    assert page.text == "Up to 2⁶⁴ pulses of H₂O on the 1st"


def test_cells_that_span_rows_and_columns_stand_in_each() -> None:
    def cell(text: str, columns: int = 1, rows: int = 1) -> Cell:
        return Cell(text, False, columns, rows)

    grid = fill_spans(
        [[cell("Hall", rows=2), cell("Noise", columns=2)], [cell("day"), cell("night")], [cell("1")]]
    )
    assert grid == [["Hall", "Noise", "Noise"], ["Hall", "day", "night"], ["1", "", ""]]


def test_spans_of_a_thousand_rows_and_columns_stay_small() -> None:
    rows = [[Cell("x", False, 200, 1_000)] for _ in range(20_000)]
    assert sum(map(len, fill_spans(rows))) <= 20_000


def test_a_table_for_layout_is_no_table(tmp_path: Path) -> None:
    page = "<table><tr><td><ul><li>Home</li><li>Ships</li></ul></td><td><p>The Halcyon sailed.</p></td></tr></table>"
    document = read_one(tmp_path, "a.html", page)
    assert document.tables == ()
    assert "The Halcyon sailed." in document.text


def test_names_with_values_in_a_page_are_one_line_each(tmp_path: Path) -> None:
    page = "<table><tr><th>Model</th><td>Kestrel</td></tr><tr><th>Toner</th><td>K-88</td></tr></table>"
    assert read_one(tmp_path, "a.html", page).text == "Model: Kestrel.\nToner: K-88."


def test_a_table_beyond_the_bounds_is_text_only() -> None:
    rows = [["a", "b"]] * (MAX_TABLE_CELLS // 2 + 1)
    lines, table = make_table(["x", "y"], rows)
    assert len(lines) == len(rows)
    assert table is None


def test_a_pipe_table_in_fenced_code_stays_as_it_is() -> None:
    text = "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```"
    assert pipe_tables(text) == (text, [])


def test_a_file_of_names_with_values_has_a_unit_for_each_block() -> None:
    found = pair_lines("host = hermes\nport = 587\nowner = Dev\n\nhost = atlas\nport = 8443\nowner = Ines\n")
    assert found is not None
    lines, table = found
    assert lines == ["host: hermes; port: 587; owner: Dev.", "host: atlas; port: 8443; owner: Ines."]
    assert table is not None
    assert table.columns == ("host", "port", "owner")


def test_a_conversation_is_no_file_of_names_with_values() -> None:
    assert pair_lines("Anna: Yes.\nBen: No.\nAnna: Why?\nBen: Because.\nAnna: Well.\nBen: Right.\n") is None


def test_a_list_of_parts_with_descriptions_is_a_table_and_long_descriptions_are_documents(
    tmp_path: Path,
) -> None:
    parts = "Part,Description,Stock\nP-1,Shaft seal,180\nP-2,Ball bearing,95\n"
    assert read_one(tmp_path, "parts.csv", parts).tables[0].columns == ("Part", "Description", "Stock")
    long = "The lamp of the northern tower was out for three nights in a row, and nobody knew why."
    (tmp_path / "reports.csv").write_text(
        f"No,Description,Where\n1,{long},North\n2,{long},South\n".replace("row, and", "row and")
    )
    assert len(load_documents([tmp_path / "reports.csv"]).documents) == 2


def test_a_chunk_of_a_table_names_its_columns(tmp_path: Path) -> None:
    rows = "\n".join(f"Ship {n},Port {n},{n}" for n in range(60))
    document = read_one(tmp_path, "a.csv", f"Ship,Port,Crew\n{rows}\n")
    chunks = chunk(document, lambda texts: [len(text.split()) for text in texts], max_tokens=50)
    assert len(chunks) > 5
    assert all(each.text.startswith("Ship: Ship ") and "; Crew: " in each.text for each in chunks)
    assert all(line.endswith(".") for each in chunks for line in each.text.split("\n"))


# --- PDF ------------------------------------------------------------------------------------------


def test_a_table_in_the_layout_of_a_page_gets_its_columns() -> None:
    layout = (
        "Ships of 1871\nShip         Port     Crew\nHalcyon      Wick       12\nPetrel       Leith       7\n"
        "The end."
    )
    found = page_by_layout(
        layout, "Ships of 1871\nShip\nHalcyon\nPetrel\nPort\nWick\nLeith\nCrew\n12\n7\nThe end."
    )
    assert found is not None
    text, [table] = found
    assert text == "Ships of 1871\n\n" + "\n".join(LINES) + "\n\nThe end."
    assert table.columns == ("Ship", "Port", "Crew")


def test_two_columns_of_prose_are_no_table() -> None:
    left, right = "the lamp of the tower went out again", "and nobody knew what the reason was"
    layout = "\n".join(f"{left}      {right}" for _ in range(12))
    assert page_by_layout(layout, layout) is None


def test_a_layout_that_lacks_words_of_the_page_is_not_used() -> None:
    layout = "Ship         Port\nHalcyon      Wick\nPetrel       Leith"
    assert page_by_layout(layout, layout + "\nMuch more stands on this page in another form.") is None


def test_hyphens_at_line_ends_go_and_compounds_stay() -> None:
    assert join_hyphens("silicon car-\nbide") == "silicon carbide"
    assert (
        join_hyphens("a well-known lamp, well-\nknown; MX-\n400") == "a well-known lamp, well-known; MX-\n400"
    )


def test_running_heads_and_page_numbers_go_and_numbers_in_the_text_stay() -> None:
    pages = [f"The Log\nRain of day {day}.\nPage {n} of 3" for n, day in enumerate("abc", 1)]
    assert without_running_heads(pages)[1] == "Rain of day b."
    assert without_running_heads(["It rained.\n1871", "Then fog.\n12"]) == [
        "It rained.\n1871",
        "Then fog.\n12",
    ]


def test_titles_that_programs_write_are_no_titles_of_a_pdf() -> None:
    written = ("(anonymous)", "Untitled", "Microsoft Word - log.doc", "print.html", "notes.md", "The Log")
    assert [pdf_title(title) for title in written] == ["", "", "", "", "", "The Log"]


def test_code_with_blank_lines_is_one_sentence() -> None:
    text = "To read it:\n\n```\nfc3 login\n\nfc3 logout\n```\n\nThen stop."
    assert [text[a:b] for a, b in sentence_spans(text)] == [
        "To read it:",
        "```\nfc3 login\n\nfc3 logout\n```",
        "Then stop.",
    ]


def test_rules_that_are_none_are_read_in_linear_time() -> None:
    begin = time.process_time()
    pipe_tables(f"| a | b |\n|-{' ' * 1_990}x\n" * 500)
    assert time.process_time() - begin < 2
