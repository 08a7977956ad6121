"""Mails, notebooks, RTF, OpenDocument, source code and archives."""

import base64
import io
import json
import random
import textwrap
import time
import zipfile

import pytest

from polygraph.ingest import load_documents

MAIL = """\
From: Mara Quill <mara@skerry.example>
To: Tobias Wren
Subject: =?utf-8?q?The_l=C3=A4mp?=
Date: Mon, 14 Nov 1881 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: multipart/alternative; boundary=c

--c
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Oil is d=E9ar.
--c
Content-Type: text/html

<p>The same for <b>browsers</b>.</p>
--c--
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename=bill.pdf

xx
--b
Content-Type: message/rfc822

From: Old Tobin <t@reef.example>
Subject: Fog

I saw no lamp.
--b--
"""
CONTENT = (
    '<?xml version="1.0"?><office:document-content><office:body><office:text>'
    "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
    '<text:h text:outline-level="1">Log</text:h>'
    '<text:p>The <text:span>Halcyon</text:span> <text:span>sank</text:span> &amp; Tobin<text:s text:c="2"/>swam.'
    "<office:annotation><text:p>a remark</text:p></office:annotation></text:p>"
    "<text:list><text:list-item><text:p>oil</text:p></text:list-item>"
    "<text:list-item><text:p>rope</text:p></text:list-item></text:list>"
    "<table:table><table:table-row><table:table-cell><text:p>Ship</text:p></table:table-cell>"
    "<table:table-cell><text:p>Year</text:p></table:table-cell>"
    '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
    "<table:table-row><table:table-cell><text:p>Halcyon</text:p></table:table-cell>"
    "<table:table-cell><text:p>1874</text:p></table:table-cell></table:table-row></table:table>"
    "</office:text></office:body></office:document-content>"
)
META = "<office:meta><dc:title>Log &amp; register</dc:title><dc:creator>A. Vane</dc:creator></office:meta>"


def pack(parts, **options):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data, **options)
    return out.getvalue()


def read(folder, name, data, **options):
    """Write a file beside a readable one, and return its documents and the reasons of what is unread."""
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    (folder / "zz.txt").write_text("Always readable.")
    found = load_documents([folder], **options)
    documents = [each for each in found.documents if each.id != "zz.txt"]
    return documents, {each.path: each.reason for each in found.unread}


# --- mail ---------------------------------------------------------------------------------------------


def test_a_mail_has_its_headers_its_plain_text_and_the_mails_inside(tmp_path):
    (mail,), unread = read(tmp_path, "a.eml", MAIL)
    assert mail.title == "The lämp"
    assert mail.metadata["from"] == "Mara Quill <mara@skerry.example>"
    assert mail.metadata["date"] == "Mon, 14 Nov 1881 10:00:00 +0000"
    assert "Oil is déar." in mail.text
    assert "browsers" not in mail.text
    assert "Attachments: bill.pdf" in mail.text
    assert mail.text.endswith("From: Old Tobin <t@reef.example>\nSubject: Fog\n\nI saw no lamp.")
    assert not unread


def test_a_mail_of_html_alone_is_read_as_a_page(tmp_path):
    (mail,), _ = read(
        tmp_path,
        "a.eml",
        "From: Mara\nSubject: Oil\nContent-Type: text/html\n\n<p>Buy <b>oil</b>.</p><script>x()</script>",
    )
    assert mail.text.endswith("Buy oil.")


def test_headers_that_are_not_encoded_and_a_wrong_charset_are_read(tmp_path):
    head = "From: Jürgen <j@x>\nSubject: Grüße aus Köln\nContent-Type: text/plain; charset=us-ascii\n\n"
    for data in ((head + "Café").encode(), (head + "It’s a café").encode("cp1252")):
        (mail,), _ = read(tmp_path, "a.eml", data)
        assert (mail.title, mail.metadata["from"]) == ("Grüße aus Köln", "Jürgen <j@x>")
        assert mail.text.endswith("afé")
        assert "Its" not in mail.text


def test_a_mail_in_japanese_is_read(tmp_path):
    head = (
        b"From: =?ISO-2022-JP?B?GyRCRXRCZhsoQg==?= <a@b>\nContent-Type: text/plain; charset=ISO-2022-JP\n\n"
    )
    (mail,), _ = read(tmp_path, "a.eml", head + "灯台の報告".encode("iso2022_jp"))
    assert mail.text == "From: 灯台 <a@b>\n\n灯台の報告"
    assert mail.title == "Mail from 灯台"


def test_an_empty_plain_text_does_not_hide_the_page_beside_it(tmp_path):
    parts = "--b\nContent-Type: text/plain\n\n \n--b\nContent-Type: text/html\n\n<p>Oil is dear.</p>\n--b--\n"
    (mail,), _ = read(
        tmp_path, "a.eml", f"From: a\nContent-Type: multipart/alternative; boundary=b\n\n{parts}"
    )
    assert mail.text.endswith("Oil is dear.")


def test_parts_that_are_not_read_are_named(tmp_path):
    parts = "--b\nContent-Type: text/markdown\n\n# Oil\n--b\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\n--b--\n"
    (mail,), _ = read(tmp_path, "a.eml", f"From: a\nContent-Type: multipart/mixed; boundary=b\n\n{parts}")
    assert mail.text == "From: a\nAttachments: text/calendar\n\n# Oil"


def test_a_mail_of_too_many_parts_is_refused_before_it_is_parsed(tmp_path):
    _, unread = read(
        tmp_path, "a.eml", "From: a\nContent-Type: multipart/mixed; boundary=b\n" + "\n--b\n" * 30_000
    )
    assert "parts, more than a mail" in unread["a.eml"]


@pytest.mark.parametrize("name", ["Content-Type", "From", "Subject", "Content-Disposition"])
@pytest.mark.parametrize("value", ["<" * 200_000, "a;" * 200_000, '"(' * 100_000, "=?utf-8?q?" * 50_000])
def test_a_header_of_any_length_is_read_or_refused_quickly(tmp_path, name, value):
    started = time.process_time()
    read(tmp_path, "a.eml", f"From: a\n{name}: {value}\n\nText.")
    assert time.process_time() - started < 5


def test_mails_inside_mails_end_somewhere(tmp_path):
    head = "From: a\nContent-Type: message/rfc822\n\n"
    _, unread = read(tmp_path, "a.eml", head * 60 + "From: a\n\nend")
    assert "levels deep" in unread["a.eml"]


def test_a_text_without_headers_is_no_mail(tmp_path):
    _, unread = read(tmp_path, "a.eml", "Just a text.\n")
    assert "none of the headers" in unread["a.eml"]


# --- notebooks ----------------------------------------------------------------------------------------


def test_a_notebook_has_text_code_and_outputs_in_order(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Oil prices\n", "By year."]},
        {
            "cell_type": "code",
            "source": "print(1)\n",
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[31mone\x1b[0m\n"]},
                {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": ["<Figure>"]}},
                {"output_type": "stream", "text": "x" * 10_000},
            ],
        },
    ]
    notebook = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
    (found,), _ = read(tmp_path, "n.ipynb", json.dumps(notebook))
    assert found.title == "Oil prices"
    assert found.text.startswith(
        "# Oil prices\nBy year.\n\n```python\nprint(1)\n```\n\none\n\n<Figure>\n\nxxx"
    )
    assert "AAAA" not in found.text
    assert len(found.text) < 2_200


def test_a_notebook_of_version_3_is_read(tmp_path):
    notebook = {"worksheets": [{"cells": [{"cell_type": "code", "input": "1 + 1", "outputs": []}]}]}
    (found,), _ = read(tmp_path, "n.ipynb", json.dumps(notebook))
    assert found.text == "```\n1 + 1\n```"


@pytest.mark.parametrize("text", ["[]", "{}", '{"cells": 3}', "{", "[" * 100_000])
def test_what_is_no_notebook_is_refused(tmp_path, text):
    _, unread = read(tmp_path, "n.ipynb", text)
    assert "not a notebook" in unread["n.ipynb"]


# --- RTF ----------------------------------------------------------------------------------------------


def test_rtf_is_read_without_fonts_and_comments(tmp_path):
    (found,), _ = read(
        tmp_path,
        "r.rtf",
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title The Lamp}{\author X}}"
        rb"\f0 Caf\'e9 \u8364? costs\par {\*\generator Msftedit;}\b Oil\b0  is dear\rquote s.\par"
        rb"\trowd A\cell B\cell\row\trowd 1\cell 2\cell\row }",
    )
    assert found.title == "The Lamp"
    assert found.text == "Café € costs\nOil is dear’s.\nA | B\n1 | 2"


def test_rtf_of_other_code_pages_and_beyond_the_basic_plane(tmp_path):
    (found,), _ = read(
        tmp_path,
        "r.rtf",
        rb"{\rtf1\ansi\ansicpg932 \'93\'fa\'96\'7b {\uc1\u-10179 ?\u-8704 ?} {\uc0\u233}t\'e9}",
    )
    assert found.text.startswith("日本 \U0001f600 ét")


@pytest.mark.parametrize(
    "data", [rb"{\rtf1" + b"{" * 20_000, rb"{\rtf1 a\bin500000 x}", b"plain", rb"{\rtf1\u99999999}"]
)
def test_odd_rtf_is_refused_or_read(tmp_path, data):
    documents, unread = read(tmp_path, "r.rtf", data)
    assert len(documents) + len(unread) == 1
    assert not any("cannot be read as" in reason for reason in unread.values())


# --- OpenDocument -------------------------------------------------------------------------------------


def test_an_odt_has_headings_lists_and_tables_without_remarks(tmp_path):
    (found,), _ = read(tmp_path, "o.odt", pack({"content.xml": CONTENT, "meta.xml": META}))
    assert found.title == "Log & register"
    assert found.metadata["author"] == "A. Vane"
    assert found.text == (
        "# Log\n\nThe Halcyon sank & Tobin  swam.\n\n- oil\n- rope\n\nShip: Halcyon; Year: 1874."
    )
    assert found.tables[0].rows == (("Halcyon", "1874"),)


def test_an_odt_keeps_superscripts_and_the_author_who_began_it(tmp_path):
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties style:text-position="{position} 58%"/></style:style>'
        for name, position in (("T1", "super"), ("T2", "sub"))
    )
    text = (
        '<text:p>2<text:span text:style-name="T1">64</text:span>, H<text:span text:style-name="T2">2</text:span>O, '
        '<text:span text:style-name="T3">bold</text:span></text:p>'
    )
    meta = "<office:meta><meta:initial-creator>A. Vane</meta:initial-creator></office:meta>"
    (found,), _ = read(tmp_path, "o.odt", pack({"content.xml": f"<a>{styles}{text}</a>", "meta.xml": meta}))
    assert found.text == "2⁶⁴, H₂O, bold"
    assert found.metadata["author"] == "A. Vane"


def test_an_odt_that_unpacks_to_gigabytes_is_refused(tmp_path):
    _, unread = read(tmp_path, "o.odt", pack({"content.xml": "<a>" * 1_000_000}), max_bytes=2_000_000)
    assert "unpacks to" in unread["o.odt"]
    _, unread = read(tmp_path, "o.odt", pack({"content.xml": "<a>" * 3_100_000}))
    assert "parts" in unread["o.odt"]


def test_a_list_of_an_odt_is_one_block_however_long_it_is(tmp_path):
    items = "<text:list-item><text:p>Bring oil.</text:p></text:list-item>" * 20_000
    content = f"<text:p>A list:</text:p><text:list>{items}</text:list><text:p>No more.</text:p>"
    (found,), _ = read(tmp_path, "o.odt", pack({"content.xml": content}))
    assert found.text == "\n\n".join(["A list:", "\n".join(["- Bring oil."] * 20_000), "No more."])


# --- source code --------------------------------------------------------------------------------------


def test_code_and_settings_are_kept_as_written_under_the_name_of_the_file(tmp_path):
    text = "# A comment\n\ndef build(lamp):\n    return lamp\n"
    (found,), _ = read(tmp_path, "lamp.py", text)
    assert (found.title, found.text, found.metadata["format"]) == ("lamp.py", text, "code")
    (tmp_path / "lamp.py").unlink()
    (found,), _ = read(tmp_path, "a.yaml", "lamp:\n  - oil\n")
    assert found.text == "lamp:\n  - oil\n"


# --- archives -----------------------------------------------------------------------------------------


def test_a_zip_is_read_as_a_folder(tmp_path):
    inner = {
        "b/log.md": "# Log\n\nFog.",
        "a.txt": "Oil.",
        ".hidden/x.txt": "no",
        "__MACOSX/a.txt": "no",
        "bad.png": "no",
        "deep.zip": pack({"x.txt": "no"}),
        "../../etc/out.txt": "no",
        "/abs.txt": "no",
    }
    documents, unread = read(tmp_path, "all.zip", pack(inner))
    assert [each.id for each in documents] == ["all.zip/a.txt", "all.zip/b/log.md"]
    assert documents[1].metadata["path"] == "all.zip/b/log.md"
    assert documents[1].title == "Log"
    assert "is not read" in unread["all.zip/bad.png"]
    assert "inside an archive" in unread["all.zip/deep.zip"]
    assert "leads out" in unread["all.zip/../../etc/out.txt"]
    assert "leads out" in unread["all.zip//abs.txt"]


def test_records_of_a_file_in_a_zip_have_ids_of_their_own(tmp_path):
    documents, _ = read(
        tmp_path, "all.zip", pack({"t.jsonl": '{"id": "a", "text": "Oil."}\n{"id": "b", "text": "Fog."}'})
    )
    assert [each.id for each in documents] == ["all.zip/t.jsonl#a", "all.zip/t.jsonl#b"]


def test_a_damaged_member_does_not_hide_the_others(tmp_path):
    data = bytearray(pack({"a.txt": "Oil. " * 200, "b.txt": "Fog."}))
    data[40:50] = bytes(10)
    documents, unread = read(tmp_path, "all.zip", bytes(data))
    assert [each.id for each in documents] == ["all.zip/b.txt"]
    assert "is damaged" in unread["all.zip/a.txt"]


def test_a_zip_bomb_is_refused(tmp_path):
    _, unread = read(tmp_path, "all.zip", pack({"a.txt": "x" * 3_000_000}), max_bytes=1_000_000)
    assert "unpacks to" in unread["all.zip"]
    _, unread = read(tmp_path, "all.zip", pack({f"{n}.txt": "" for n in range(20_001)}))
    assert "20,000 files" in unread["all.zip"]


def test_of_embedded_pictures_nothing_is_read(tmp_path):
    data = "iVBORw0KGgo/+" * 3_000
    text = (
        "![The mole](data:image/png;base64,{0})\n\nThe mole is 40 m long.\n\n[a]: <data:image/gif;base64,{0}>"
    )
    (tmp_path / "plan.md").write_text(text.format(data))
    (document,) = load_documents([tmp_path]).documents
    assert document.text == text.format("…")


def test_a_file_of_encoded_data_is_listed_with_the_reason_and_long_lines_of_other_scripts_are_read(tmp_path):
    (tmp_path / "dump.txt").write_text("attachment: " + "Q29udGVudHMgb2Y" * 200_000)
    (tmp_path / "novel.txt").write_text("灯塔建于一八六九年，由玛拉奎尔出资。" * 2_000)
    (tmp_path / "small.txt").write_text("The key is " + "Q29udGVudHMgb2Y" * 60)
    loaded = load_documents([tmp_path])
    assert [document.id for document in loaded.documents] == ["novel.txt", "small.txt"]
    (unread,) = loaded.unread
    assert unread.path == "dump.txt"
    assert unread.reason.startswith(
        "is mostly encoded data, such as base64, and no text: 3,000,000 characters "
    )


def test_base64_in_lines_is_left_out_and_the_text_around_it_is_read(tmp_path):
    data = random.Random(0).randbytes(2_001)
    mail = base64.encodebytes(data).decode()
    pem = "\n".join(textwrap.wrap(base64.b64encode(data).decode(), 64))
    text = "Dear Ada,\n\nthe plan of the mole is attached.\n\n--part\n{0}--part--\n\n    {1}\n\nJohn\n"
    (tmp_path / "mail.txt").write_text(text.format(mail, pem.replace("\n", "\n    ")))
    (tmp_path / "signed.txt").write_text(mail[: 77 * 9 - 1] + "\nJohn")
    (tmp_path / "dump.txt").write_text(mail)
    loaded = load_documents([tmp_path])
    found = {document.id: document.text for document in loaded.documents}
    assert found == {"mail.txt": text.format("…\n", "…"), "signed.txt": "…\nJohn"}
    (unread,) = loaded.unread
    assert unread.reason.startswith("is encoded data, such as base64, and no text: 2,")


@pytest.mark.parametrize(
    "line",
    [
        "GATTACA" * 10,  # a sequence of genes
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",  # a list of hashes
        "Rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetzes",
        "The harbour was built in 1871 with stone from the quarry at Wick, and",
    ],
)
def test_lines_that_are_no_base64_are_read(tmp_path, line):
    (tmp_path / "a.txt").write_text("\n".join([line] * 5))
    (document,) = load_documents([tmp_path]).documents
    assert document.text.count(line) == 5


def test_words_that_are_almost_encoded_data_take_no_longer(tmp_path):
    (tmp_path / "words.txt").write_text(" ".join(["a" * 9_999] * 100))
    began = time.perf_counter()
    load_documents([tmp_path])
    assert time.perf_counter() - began < 5
