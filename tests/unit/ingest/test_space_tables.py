"""Tables that are aligned by spaces, and texts that only look like them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.ingest import load_documents
from polygraph.ingest.layout.space_tables import space_tables
from polygraph.records import Document, Table

BOATS = """\
Boat       Berth   Crew   Sail   Remarks
--------   -----   ----   ----   --------------------
Dunlin     A4      2      1
Petrel     B11     4      none   on loan, see Cem Dag
"""


def only_table(text: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    written, [table] = space_tables(text)
    assert [line for line in table.lines if line not in written.split("\n")] == []
    return table.columns, table.rows


def read_one(path: Path, text: str) -> Document:
    path.write_text(text, encoding="utf-8")
    [document] = load_documents([path]).documents
    return document


def test_a_rule_with_a_part_for_each_column_marks_a_table() -> None:
    columns, rows = only_table(f"The boats:\n{BOATS}\nAll are insured.")
    assert columns == ("Boat", "Berth", "Crew", "Sail", "Remarks")
    assert rows == (("Dunlin", "A4", "2", "1", ""), ("Petrel", "B11", "4", "none", "on loan, see Cem Dag"))


def test_the_lines_of_a_table_take_the_place_of_its_header_rule_and_rows() -> None:
    assert space_tables(f"The boats:\n{BOATS}\nAll are insured.")[0] == (
        "The boats:\n\nBoat: Dunlin; Berth: A4; Crew: 2; Sail: 1.\n"
        "Boat: Petrel; Berth: B11; Crew: 4; Sail: none; Remarks: on loan, see Cem Dag.\n\nAll are insured."
    )


def test_one_rule_over_the_whole_width_marks_a_table() -> None:
    text = "  Tool       Kept in\n  ------------------\n  Bradawl    blue chest\n  Adze       the loft\n"
    assert only_table(text) == (("Tool", "Kept in"), (("Bradawl", "blue chest"), ("Adze", "the loft")))


def test_a_cell_goes_on_in_the_next_line_and_rules_around_a_table_go() -> None:
    text = (
        "====  ======\nTool  Use\n====  ======\nAdze  shapes\n      beams\nAwl   pricks\n====  ======\nDone."
    )
    written, [table] = space_tables(text)
    assert table.rows == (("Adze", "shapes beams"), ("Awl", "pricks"))
    assert written == "Tool: Adze; Use: shapes beams.\nTool: Awl; Use: pricks.\n\nDone."


def test_prose_directly_below_a_table_is_no_row() -> None:
    written, [table] = space_tables(f"{BOATS}Ask the harbour master before you take one.\n")
    assert len(table.rows) == 2
    assert written.endswith("\n\nAsk the harbour master before you take one.\n")
    written, [table] = space_tables(f"{BOATS}Ask.\n")
    assert len(table.rows) == 2
    assert written.endswith("\n\nAsk.\n")


def test_a_column_of_numbers_below_words_marks_a_table_without_a_rule() -> None:
    text = "Cloth     Width    Per metre\nGingham   140 cm       4.20\nOrgandie  90 cm       11.00\n"
    assert only_table(text) == (
        ("Cloth", "Width", "Per metre"),
        (("Gingham", "140 cm", "4.20"), ("Organdie", "90 cm", "11.00")),
    )


def test_names_in_capitals_mark_a_table_without_a_rule() -> None:
    text = "SHIFT   ROOM    LEAD\nearly   Alder   Ana Ruiz\nlate    Rowan   Ben Cole\n"
    assert only_table(text)[0] == ("SHIFT", "ROOM", "LEAD")


def test_a_data_sheet_names_its_columns_beside_an_empty_corner() -> None:
    text = (
        "                       GH-20         GH-20X\n"
        "  Lifting force        1.5 kN        2.5 kN\n"
        "  Oil temperature      -             80 °C  (short peaks 95 °C)\n"
        "  Rope, max.           12 m          20 m\n"
    )
    columns, rows = only_table(text)
    assert columns == ("row", "GH-20", "GH-20X")
    assert rows[1:] == (("Oil temperature", "-", "80 °C (short peaks 95 °C)"), ("Rope, max.", "12 m", "20 m"))


def test_years_name_columns() -> None:
    text = "              2022     2023\nSales         14.2     15.9\nWages          6.0      6.8\n"
    assert only_table(text)[0] == ("row", "2022", "2023")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "The kiln was lit.  Nobody spoke.\nIt was late.  The rain fell.\nWe ate.  Then we slept.\n",
            id="two spaces behind each sentence",
        ),
        pytest.param(
            "Grey is the morning      grey is the mere\nSlow are the oxen        slow is the year\n"
            "Low burns the candle     low runs the weir\n",
            id="verse with a gap",
        ),
        pytest.param(
            "Ruiz & Cole Ltd          Orrin Glass        Dag Brothers\n"
            "12 Quay Street           4 High Row         9 Mill Lane\n"
            "Wick KW1 4AB             Leith EH6 1AA      Corve CV1 2AB\n",
            id="addresses side by side",
        ),
        pytest.param(
            "Ana Ruiz                 Ben Cole           Cem Dag\n"
            "Chair                    Treasurer          Secretary\n"
            "3 May 2024               4 May 2024         6 May 2024\n",
            id="signatures",
        ),
        pytest.param(
            "______________           ______________\nAna Ruiz                 Ben Cole\n"
            "Chair                    Treasurer\n",
            id="signatures below lines",
        ),
        pytest.param(
            "Gloves        when torn\nHelmets       5 years\nBoots         2 years\n", id="names with values"
        ),
        pytest.param(
            "Ana Ruiz      Chair        none\nBen Cole      Treasurer    4960\nCem Dag       Secretary    4961\n",
            id="a list without a header",
        ),
        pytest.param("int   width    = 3;\nint   height   = 4;\nchar  letter   = 5;\n", id="code"),
        pytest.param("mov   eax   4   \nadd   eax   5\nsub   ebx   6\n", id="assembler"),
        pytest.param("Rope       12.00\nOil         4.50\nTotal      16.50\n", id="a bill"),
        pytest.param(
            "08:00   open the gate      Ana\n09:30   first ferry        Ben\n11:00   second ferry       Cem\n",
            id="a timetable without a header",
        ),
        pytest.param("To:     Ana Ruiz\nFrom:   Ben Cole\nDate:   3 May 2024\n", id="the head of a letter"),
        pytest.param("Ruiz & Cole Ltd                    12 May 2024\n-----------------------------------\n"
            "We thank you for your order.\n", id="a letterhead with a rule"),
        pytest.param("Wool      12      4.50\n--------------------\nTotal     12      4.50\nPaid      12      4.50\n",
            id="the last row above a rule"),
        pytest.param("            Left     Right\n  Lamp    |  4 m      5 m\n  Mast    |  6 m      7 m\n", id="bars"),
        pytest.param("Chapter   One\n-------   ---\n\nIt rained.\n", id="a rule without rows"),
    ],
)  # fmt: skip
def test_what_is_not_clearly_a_table_stays_as_it_is(text: str) -> None:
    assert space_tables(text) == (text, [])


def test_code_of_markdown_stays_as_it_is() -> None:
    for code in (f"```\n{BOATS}```\n", "".join(f"    {line}\n" for line in BOATS.splitlines())):
        assert space_tables(code, markdown=True) == (code, [])


def test_a_row_below_lines_that_are_no_table_names_no_columns() -> None:
    text = "The lamp  went out\nBoat      Berth    Crew\nDunlin    4        2\nPetrel    11       4\n"
    assert space_tables(text) == (text, [])


@pytest.mark.parametrize("suffix", [".txt", ".md", ".rst"])
def test_text_files_keep_such_tables_with_the_spans_of_their_rows(tmp_path: Path, suffix: str) -> None:
    document = read_one(tmp_path / f"boats{suffix}", f"Handbook\n========\n\nBERTHS\n\n{BOATS}\nMoor well.\n")
    [table] = document.tables
    assert [document.text[a:b] for a, b in table.spans] == [
        "Boat: Dunlin; Berth: A4; Crew: 2; Sail: 1.",
        "Boat: Petrel; Berth: B11; Crew: 4; Sail: none; Remarks: on loan, see Cem Dag.",
    ]
    assert (document.title, table.title) == ("Handbook", "BERTHS")


def test_a_header_above_a_rule_is_no_title(tmp_path: Path) -> None:
    text = "Tool     Kept in\n----------------\nAdze     the loft\nAwl      the shed\n"
    assert read_one(tmp_path / "tools.md", text).title == "tools"
    assert read_one(tmp_path / "tools.txt", text).title == "tools"


def test_tables_of_markdown_with_bars_and_with_spaces_are_kept_in_their_order(tmp_path: Path) -> None:
    bars = "| Tool | Use |\n|---|---|\n| Adze | beams |\n"
    found = read_one(tmp_path / "a.md", f"# Yard\n\n{BOATS}\n{bars}\n{BOATS.replace('Boat', 'Ship')}")
    assert [table.columns[0] for table in found.tables] == ["Boat", "Tool", "Ship"]


def word_tables(path: Path, *paragraphs: str) -> tuple[str, tuple[Table, ...]]:
    made = pytest.importorskip("docx").Document()
    for paragraph in paragraphs:
        made.add_paragraph(paragraph)
    made.save(str(path))
    [document] = load_documents([path]).documents
    return document.text, document.tables


def test_paragraphs_of_word_that_are_aligned_are_a_table(tmp_path: Path) -> None:
    sheet = (
        "                 GH-20     GH-20X",
        "Lifting force    1.5 kN    2.5 kN",
        "Rope             12 m      20 m",
    )
    text, tables = word_tables(
        tmp_path / "a.docx", "The hoists:", *sheet, "Stop at once.  Then wait.", "End."
    )
    assert [table.columns for table in tables] == [("row", "GH-20", "GH-20X")]
    assert text.startswith("The hoists:\n\nrow: Lifting force; GH-20: 1.5 kN; GH-20X: 2.5 kN.\n")
    assert text.endswith("\n\nStop at once.  Then wait.\n\nEnd.")


def test_paragraphs_of_word_with_gaps_stay_paragraphs(tmp_path: Path) -> None:
    found = word_tables(tmp_path / "a.docx", "It was late.  Rain fell.", "We ate.  Then we slept.")
    assert found == ("It was late.  Rain fell.\n\nWe ate.  Then we slept.", ())


@given(st.text(alphabet="ab1 \n\t-=|.", max_size=400))
def test_no_word_is_lost(text: str) -> None:
    written, tables = space_tables(text)
    kept = set(written.replace(":", " ").replace(";", " ").split())
    for word in text.replace("-", " ").replace("=", " ").split():
        assert any(word in one for one in kept)
    assert (written == text) == (not tables)
