"""Author, date and parties that a source states beside its text, as fields of the document."""

import io
import zipfile
from pathlib import Path

import pytest

from polygraph.ingest import load_documents
from polygraph.records import Document


def read_one(tmp_path: Path, name: str, content: str | bytes) -> Document:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    [document] = load_documents([path]).documents
    return document


def fields_of(document: Document) -> dict[str, object]:
    return {
        name: value for name, value in document.metadata.items() if name not in ("path", "format", "pages")
    }


def test_header_lines_of_a_mail_are_fields_and_stay_in_the_text(tmp_path: Path) -> None:
    text = "From: Corve\nTo: Captain Ritson\nDate: 14 Nov 1881\nSubject: The Constancy\nX-Id: 7\n\nSir, she is lost."
    document = read_one(tmp_path, "a.txt", text)
    assert fields_of(document) == {"from": "Corve", "to": "Captain Ritson", "date": "14 Nov 1881"}
    assert (document.title, document.text) == ("The Constancy", text)


@pytest.mark.parametrize(
    "text",
    [
        "To: do\nFrom here on it rains.\n\nBuy oil.",
        "Date: today\n\nIt rains.",
        "From: A\nDate: B\nno blank line",
    ],
)
def test_lines_that_only_resemble_headers_are_text(tmp_path: Path, text: str) -> None:
    assert fields_of(read_one(tmp_path, "a.txt", text)) == {}


def test_the_day_on_a_line_of_its_own_dates_a_text(tmp_path: Path) -> None:
    letter = (
        "Dray to Miss Vane\n\nMeridian Street\nSunday, 19 January 1890\n\nMadam,\nI sailed on\n3 May 1887\n."
    )
    assert fields_of(read_one(tmp_path, "1890-01-20-a.txt", letter)) == {"date": "19 January 1890"}


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("CONTRACT\n\nDate of signature: 14 March 2019\n\n§ 1 Rent", "14 March 2019"),
        ("# Pump 4.2\n\nReleased 12 February 2025. Maintainer: P. Oke.", "12 February 2025"),
        (
            "AMENDMENT\n" + "\nThe rent rises." * 20 + "\n\nSigned on 9 September 2021\nC. Brandt",
            "9 September 2021",
        ),
    ],
)
def test_a_line_that_says_when_a_document_was_signed_or_released_dates_it(
    tmp_path: Path, text: str, date: str
) -> None:
    assert fields_of(read_one(tmp_path, "a.txt", text)) == {"date": date}


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("# Board\n\nDate: 14 March 2019, 09:30 to 12:10\nPlace: Hall 2\n\nAgreed.", "14 March 2019"),
        ("# Board\n\n**Date:** Thursday, 14 March 2019 at 9 a.m.\n\nAgreed.", "14 March 2019"),
        ("# Board\n\nDate: 16/05/2019\nPlace: Hall 2\n\nAgreed.", "16/05/2019"),
        ("# Rat\n\nDatum: Dienstag, 14. März 2019, 18 Uhr\n\nBeschlossen.", "14. März 2019"),
        ("# Failure\n\nPrepared by: R. Oke\nDate of report: 30 April 2019\n\nIt broke.", "30 April 2019"),
    ],
)
def test_a_label_dates_a_text_whatever_stands_behind_the_day(tmp_path: Path, text: str, date: str) -> None:
    assert fields_of(read_one(tmp_path, "a.md", text)) == {"date": date}


@pytest.mark.parametrize(
    "text",
    [
        "# Thread\n\nDate: 3 May 1881, 9:00\n\nFog.\n\nDate: 4 May 1881, 7:00\n\nRain.",
        "# Skipper\n\nDate of birth: 3 May 1881\n\nBorn at Wick.",
        "# Launch\n\nDate: to be fixed after 3 May 1881\n\nNot yet.",
    ],
)
def test_a_label_of_several_days_or_of_something_else_dates_no_text(tmp_path: Path, text: str) -> None:
    assert fields_of(read_one(tmp_path, "a.md", text)) == {}


@pytest.mark.parametrize(
    "text",
    [
        "It was lost on 14 November 1881.",
        "Released on 3 May 1881 from prison, he sailed.",
        "Signed on 3 May 1881 or on 4 May 1881",
        "Minutes\n\nNovember 1881\n\nPresent: all.",
    ],
)
def test_a_day_in_a_sentence_or_a_month_dates_no_text(tmp_path: Path, text: str) -> None:
    assert fields_of(read_one(tmp_path, "a.txt", text)) == {}


ENTRIES = "\n\nFog.\n\n## 4 May 1881, Wick\n\nRain.\n\n## 5 May 1881\n\nFog.\n"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("# Log\n\n## 3 May 1881" + ENTRIES, {}),
        ("Log\n\n3 May 1881" + ENTRIES.replace("## ", "").replace(", Wick", ""), {}),
        ("# Log\n\nReleased 9 May 1881\n\n## 3 May 1881" + ENTRIES, {"date": "9 May 1881"}),
        ("# 3 May 1881\n\n## Tides of 4 May 1881\n\nFog.", {"date": "3 May 1881"}),
        ("Wick\n3 May 1881\n\nSir,\nI sailed on\n4 May 1881\n.", {"date": "3 May 1881"}),
    ],
)
def test_the_day_of_one_entry_does_not_date_a_journal(
    tmp_path: Path, text: str, date: dict[str, object]
) -> None:
    assert fields_of(read_one(tmp_path, "a.md", text)) == date


def test_rows_of_a_table_do_not_date_a_document(tmp_path: Path) -> None:
    head = "# Account\n\n| Date | Item |\n|---|---|\n| 9 Jan. 1909 | Tug |\n"
    assert fields_of(read_one(tmp_path, "a.md", head + "| 10 Jan. 1909 | Berth |\n")) == {}
    assert fields_of(read_one(tmp_path, "b.md", head)) == {"date": "9 Jan. 1909"}


def test_an_iso_date_at_the_start_of_a_file_name_dates_its_text_if_nothing_else_does(tmp_path: Path) -> None:
    assert fields_of(read_one(tmp_path, "1881-11-14-a.txt", "It rains.")) == {"date": "1881-11-14"}
    assert fields_of(read_one(tmp_path, "1881-11-14-b.md", "---\nDate: 1880\n---\nIt rains.")) == {
        "Date": "1880"
    }
    assert fields_of(read_one(tmp_path, "1881-13-14-c.txt", "It rains.")) == {}
    assert fields_of(read_one(tmp_path, "1881-11-14.csv", "id,text\n7,It rains.")) == {}


def test_a_page_states_author_and_date_in_its_head(tmp_path: Path) -> None:
    page = (
        '<head><title>T</title><meta name="Author" content="H. Minchin"><meta name="author" content="other">'
        '<meta property="article:published_time" content="1871-06-24T08:00Z"><meta name="viewport" content="x">'
        "</head><body><p>It rains.</p></body>"
    )
    assert fields_of(read_one(tmp_path, "a.html", page)) == {"author": "H. Minchin", "date": "1871-06-24"}


def test_the_author_of_file_properties_is_kept_and_names_of_programs_are_not(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    for name, author in (("a.docx", "A. Vane"), ("b.docx", "python-docx")):
        made = docx.Document()
        made.add_paragraph("It rains.")
        made.core_properties.author = author
        made.save(str(tmp_path / name))
    assert [fields_of(d) for d in load_documents([tmp_path]).documents] == [{"author": "A. Vane"}, {}]


def test_a_book_has_its_creator_as_author(tmp_path: Path) -> None:
    parts = {
        "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
        "OPS/a.xhtml": "<html><body><p>It rains.</p></body></html>",
        "OPS/book.opf": '<package><metadata><dc:title>T</dc:title><dc:creator>A. &amp; B.</dc:creator></metadata>'
        '<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    }  # fmt: skip
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    assert fields_of(read_one(tmp_path, "a.epub", made.getvalue())) == {"author": "A. & B."}
