"""Mails of Outlook."""

from contextlib import suppress
from datetime import UTC, datetime

import compressed_rtf
import pytest

from polygraph.errors import BadInput
from polygraph.ingest import load_documents
from polygraph.ingest.readers.outlook import read_msg
from tests.unit.ingest.outlook_file import compound_file, message

SUBJECT, SENDER, ADDRESS, SENT, BODY, HTML, RTF = 0x0037, 0x0C1A, 0x0C1F, 0x0039, 0x1000, 0x1013, 0x1009
TRANSPORT, TYPE, NAME, SMTP, FILE_NAME, CODE_PAGE = 0x007D, 0x0C15, 0x3001, 0x39FE, 0x3707, 0x3FDE
HEAD = {SUBJECT: "The lämp", SENDER: "Mara Quill", ADDRESS: "mara@skerry.example"}
WREN = {TYPE: 1, NAME: "Tobias Wren", SMTP: "t@reef.example"}


def text_of(data):
    (found,) = read_msg(data).texts
    return found


def test_a_mail_has_parties_date_text_and_the_names_of_its_attachments(tmp_path):
    data = message(
        {**HEAD, SENT: datetime(2024, 3, 5, 8, 30, tzinfo=UTC), BODY: "Oil is dear.\r\nBuy less."},
        recipients=[WREN, {TYPE: 2, NAME: "A. Vane"}, {TYPE: 3, NAME: "Hidden"}],
        attachments=[{FILE_NAME: "bill.pdf"}],
    )
    (tmp_path / "a.msg").write_bytes(data)
    (mail,) = load_documents([tmp_path]).documents
    assert mail.title == "The lämp"
    assert mail.metadata["from"] == '"Mara Quill" <mara@skerry.example>'
    assert mail.metadata["to"] == "Tobias Wren <t@reef.example>"
    assert mail.metadata["cc"] == "A. Vane"
    assert mail.metadata["date"] == "Tue, 05 Mar 2024 08:30:00 +0000"
    assert "Attachments: bill.pdf" in mail.text
    assert mail.text.endswith("Oil is dear.\nBuy less.")
    assert "Hidden" not in mail.text


def test_headers_of_transport_are_preferred_to_the_properties():
    headers = "From: =?utf-8?q?M=C3=A4ra?= <m@x.example>\r\nDate: Mon, 4 Mar 2024 10:00:00 +0100\r\n"
    found = text_of(message({**HEAD, TRANSPORT: headers, BODY: "Oil."}))
    assert found.metadata["from"] == "Mära <m@x.example>"
    assert found.metadata["date"] == "Mon, 4 Mar 2024 10:00:00 +0100"
    assert found.title == "The lämp"


def test_a_mail_without_plain_text_is_read_from_html():
    page = "<p>Öl is <b>dear</b>.</p><script>x()</script>".encode("cp1252")
    assert text_of(message({**HEAD, CODE_PAGE: 1252, HTML: page})).text.endswith("Öl is dear.")


@pytest.mark.parametrize("compressed", [True, False])
def test_a_mail_of_rich_text_alone_is_unpacked(compressed):
    packed = compressed_rtf.compress(b"{\\rtf1\\ansi Oil is {\\b dear}.\\par Buy less.}", compressed)
    assert text_of(message({**HEAD, RTF: packed})).text.endswith("Oil is dear.\nBuy less.")


def test_plain_text_is_preferred():
    assert "browsers" not in text_of(message({**HEAD, BODY: "Oil.", HTML: b"<p>For browsers.</p>"})).text


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"Just a text.", "is not a mail of Outlook"),
        (message(HEAD)[:700], "is not a mail of Outlook"),
        (compound_file({"WordDocument": b"x" * 600}), "is not a mail of Outlook"),
        (message({}), "neither headers nor text"),
        (message({**HEAD, RTF: b"\x10\0\0\0" * 5}), "is damaged"),
    ],
)
def test_what_is_no_mail_is_refused_with_the_reason(data, problem):
    with pytest.raises(BadInput, match=problem):
        read_msg(data)


def test_a_mail_damaged_at_any_place_is_read_or_refused():
    whole = bytearray(message({**HEAD, BODY: "Oil is dear."}, recipients=[WREN]))
    for at in range(0, len(whole), 7):
        damaged = bytes(whole[:at]) + bytes([whole[at] ^ 0xA5]) + bytes(whole[at + 1 :])
        with suppress(BadInput):  # any other error fails the test
            read_msg(damaged)
