"""The binary files of the messy folder: PDF, Word, PowerPoint, Excel and EPUB files made by their libraries.

PDF files are written here, since no library that the project installs writes them: pages of text at given places, in
a font that every reader has.
"""

import io
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path

import docx
import openpyxl  # type: ignore[import-untyped]
import pptx
from pptx.util import Inches

Placed = tuple[float, float, str]
"""Text at a distance from the left and the lower edge of its page, in points."""


def write_binary_files(folder: Path) -> None:
    """Write ten files below a folder."""
    _inventory(folder / "stock" / "inventory.xlsx")
    _budget(folder / "finance" / "budget-2024.xlsx")
    _warranty(folder / "machines" / "warranty.docx")
    _remote_work(folder / "policy" / "remote-work.docx")
    _training(folder / "machines" / "training.pptx")
    _roadmap(folder / "sales" / "roadmap.pptx")
    _datasheet(folder / "machines" / "datasheet-mx.pdf")
    _maintenance(folder / "machines" / "maintenance.pdf")
    _pump_test(folder / "machines" / "pump-test.pdf")
    _chronicle(folder / "history" / "chronicle.epub")


def _inventory(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Vans"
    sheet.append(["Vehicles of the service, as of 1 September 2024"])
    sheet.append([])
    sheet.append(["Plate", "Site", "Driver", "Mileage (km)", "Next inspection"])
    for row in (
        ("LS-11", "Leeds", "Aidan Roe", 84200, "2025-02-01"),
        ("LS-14", "Leeds", "Owen Pryce", 131500, "2024-11-15"),
        ("HB-07", "Bremen", "Yusuf Kaya", 46800, "2025-06-30"),
        ("HB-09", "Bremen", "Lena Voss", 15300, "2026-01-31"),
    ):
        sheet.append(row)
    tools = book.create_sheet("Tools")
    tools.append(["Tool", "Cabinet", "Count", "Calibrated until"])
    for tool in (
        ("Torque wrench 200 Nm", 3, 4, "2025-03-31"),
        ("Laser aligner", 5, 1, "2024-12-31"),
        ("Vibration meter", 5, 2, "2025-08-31"),
        ("Bearing puller", 7, 6, None),
    ):
        tools.append(tool)
    book.save(path)


def _budget(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Budget 2024"
    sheet.append(["Department", "Q1", "Q2", "Q3", "Q4"])
    rows = [
        ("Sales", 120000, 135000, 128000, 150000),
        ("Service", 95000, 91000, 99000, 104000),
        ("Quality", 60000, 62000, 58000, 61000),
        ("IT", 45000, 47000, 72000, 46000),
    ]
    for row in rows:
        sheet.append(row)
    sheet.append(["Total", *(sum(int(row[n]) for row in rows) for n in range(1, 5))])
    book.save(path)


def _warranty(path: Path) -> None:
    document = docx.Document()
    document.add_heading("Service intervals", 1)
    document.add_paragraph(
        "A pump loses its warranty if an interval is missed by more than four weeks. Work by other firms is allowed, "
        "as long as original parts are used."
    )
    table = document.add_table(rows=1, cols=4)
    for cell, text in zip(
        table.rows[0].cells, ("Model", "Oil change", "Seal check", "Overhaul"), strict=True
    ):
        cell.text = text
    for row in (
        ("MX-110", "every 12 months", "every 6 months", "after 20,000 hours"),
        ("MX-200", "every 12 months", "every 6 months", "after 24,000 hours"),
        ("MX-400", "every 9 months", "every 3 months", "after 24,000 hours"),
        ("MX-650", "every 6 months", "every 3 months", "after 30,000 hours"),
    ):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.add_heading("Hotline", 2)
    document.add_paragraph(
        "The hotline answers from 7 to 19 o'clock on working days; at night only for dairies and hospitals."
    )
    document.save(str(path))


def _remote_work(path: Path) -> None:
    document = docx.Document()
    document.add_heading("Working from home in Leeds", 1)
    document.add_paragraph("Employees in Leeds may work from home on up to three days a week.")
    document.add_paragraph("Not allowed from home are:")
    for text in ("fitters of the service", "apprentices in their first year", "reception"):
        document.add_paragraph(text, style="List Bullet")
    document.add_paragraph("A chair is paid for up to 250 pounds. A second monitor is lent, not given.")
    document.save(str(path))


def _training(path: Path) -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "Courses in the second half of 2024"
    rows = [
        ("Course", "Trainer", "Days", "Seats", "Place"),
        ("Seal fitting", "Aidan Roe", "1", "8", "Leeds"),
        ("Vibration analysis", "Yusuf Kaya", "3", "6", "Bremen"),
        ("Safe lifting", "Marta Soler", "1", "12", "Valencia"),
        ("Converter FC-3", "Owen Pryce", "2", "10", "Leeds"),
    ]
    table = slide.shapes.add_table(len(rows), 5, Inches(1), Inches(2), Inches(8), Inches(3)).table
    for r, row in enumerate(rows):
        for c, text in enumerate(row):
            table.cell(r, c).text = text
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "How to sign up"
    slide.placeholders[1].text = "Write to training@brannock.example\nName your manager\nWait for the reply"
    slide.notes_slide.notes_text_frame.text = "Lunch is included except in Valencia."
    show.save(str(path))


def _roadmap(path: Path) -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Plan for 2025"
    slide.placeholders[1].text = (
        "MX-800 on sale from April 2025\nWorkshop in Gdansk opens in June 2025\n"
        "Old data logger is no longer supported after 2025"
    )
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Risks"
    slide.placeholders[1].text = "Bearings come late\nOne supplier for all castings\nFew fitters speak Polish"
    show.save(str(path))


def _datasheet(path: Path) -> None:
    columns = (60.0, 180.0, 300.0, 420.0)
    rows = [
        ("Model", "Max. pressure", "Max. temperature", "Connection"),
        ("MX-110", "6 bar", "70 °C", "DN 32"),
        ("MX-200", "8 bar", "90 °C", "DN 50"),
        ("MX-400", "10 bar", "110 °C", "DN 80"),
        ("MX-650", "16 bar", "120 °C", "DN 125"),
    ]
    first = [
        (60.0, 760.0, "Technical data of the MX series"),
        (60.0, 730.0, "The values hold for clean water at sea level. With glycol the pressure is re-"),
        (60.0, 716.0, "duced by a tenth. Sea water needs the bronze impeller."),
        # Column by column, as some programs write tables.
        *((x, 680.0 - 18 * r, row[c]) for c, x in enumerate(columns) for r, row in enumerate(rows)),
        (60.0, 560.0, "The connection is a flange to EN 1092."),
    ]
    second = [
        (60.0, 760.0, "Materials"),
        (60.0, 730.0, "The shaft is made of steel 1.4571, the seal of silicon car-"),
        (60.0, 716.0, "bide. The paint is blue, on request green."),
    ]
    _write_pdf(path, [_page(first, 1), _page(second, 2)], title="(anonymous)")


def _maintenance(path: Path) -> None:
    first = [
        (60.0, 760.0, "Maintenance of the MX-650"),
        (
            60.0,
            730.0,
            "Before work begins, the pump is disconnected from the mains and the pressure is let off.",
        ),
        (60.0, 716.0, "The casing may be opened only when the water is below 40 °C. Two persons are"),
        (60.0, 702.0, "needed, since the lid weighs 38 kg. The lid is tightened with 85 Nm crosswise."),
        (60.0, 672.0, "Grease of type G2 is used. Grease of type G4 must not be used, because it attacks"),
    ]
    second = [
        (60.0, 760.0, "the seal. A bearing gets 25 g of grease every 2,000 hours."),
        (60.0, 730.0, "After the work, the pump runs for 15 minutes without load."),
    ]
    _write_pdf(path, [_page(first, 1), _page(second, 2)], title="untitled")


def _pump_test(path: Path) -> None:
    seeded = random.Random(7)
    columns = (60.0, 150.0, 260.0, 370.0, 470.0)
    rows = [("Serial", "Model", "Tested on", "Leakage", "Result")]
    leaks = (0, 1, 0, 5, 2, 0, 4, 1)
    for n, leak in enumerate(leaks):
        model = seeded.choice(("MX-110", "MX-200", "MX-400"))
        rows.append(
            (
                f"B{2301 + 13 * n}",
                model,
                f"2024-09-{10 + n}",
                f"{leak} drops",
                "rejected" if leak > 3 else "passed",
            )
        )
    placed = [
        (60.0, 760.0, "Pump test, week 37 and 38"),
        *(
            (x, 730.0 - 16 * r, text)
            for r, row in enumerate(rows)
            for x, text in zip(columns, row, strict=True)
        ),
        (60.0, 560.0, "Tester: Lena Voss. The bench was calibrated on 2 September 2024."),
    ]
    _write_pdf(path, [_page(placed, 1)], title="")


def _page(placed: Sequence[Placed], number: int) -> list[Placed]:
    """Add the running head and the page number."""
    return [(60.0, 810.0, "Brannock Pumps Ltd"), *placed, (290.0, 30.0, str(number))]


def _write_pdf(path: Path, pages: Sequence[Sequence[Placed]], *, title: str) -> None:
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for page in pages:
        lines = []
        for x, y, text in page:
            escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            lines.append(b"BT /F1 10 Tf %d %d Td (%s) Tj ET" % (x, y, escaped.encode("cp1252")))
        stream = b"\n".join(lines)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    objects.append(b"<< /Title (%s) >>" % title.replace("(", "\\(").replace(")", "\\)").encode("cp1252"))
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    offsets = []
    for n, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (n, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    out.write(b"trailer << /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, len(objects)))
    out.write(b"startxref\n%d\n%%%%EOF\n" % start)
    path.write_bytes(out.getvalue())


def _chronicle(path: Path) -> None:
    chapters = {
        "one.xhtml": "<h1>The canal years</h1><p>In the flood of 1931 the foundry stood under water for nine days. "
        "The patterns were saved by the caretaker, Silas Orme, who carried them to the chapel.</p>",
        "two.xhtml": "<h1>Bremen</h1><p>The factory in Bremen began with 22 workers. It makes the large pumps, while "
        "Leeds makes the small ones. In 1986 a strike of eleven weeks ended with the week of 38 hours.</p>",
    }
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
        )
        book.writestr(
            "book.opf",
            "<package><metadata><dc:title>A chronicle of Brannock</dc:title></metadata>"
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for name, body in chapters.items():
            book.writestr(name, f"<html><body>{body}</body></html>")
