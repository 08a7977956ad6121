"""Mails of Outlook (`.msg`); their libraries come with the extra `documents`.

Microsoft, [MS-OXMSG]: Outlook Item (.msg) File Format; [MS-OXRTFCP]: RTF Compression Algorithm.
"""

from collections.abc import Iterator
from email.parser import HeaderParser
from email.utils import format_datetime
from typing import Any

from polygraph.errors import BadInput
from polygraph.ingest.content import FileContent
from polygraph.ingest.decode import decode
from polygraph.ingest.library import import_library, without_warnings
from polygraph.ingest.readers.html import page_text
from polygraph.ingest.readers.mail import MAX_HEADER, mail_content, shown_headers
from polygraph.ingest.readers.rtf import read_rtf

_HTML = 0x1013
_COMPRESSED_RTF = 0x1009
_RECIPIENT_TYPE = 0x0C15
_TRANSPORT_HEADERS = 0x007D
_RECIPIENTS = {1: "To", 2: "Cc"}
"""Header by the type of a recipient; blind copies are not shown."""
_MAX_RECIPIENTS = 200
_MAX_ATTACHMENTS = 1_000
_MAX_RTF_BYTES = 4_000_000
"""Most bytes of a packed body: its library unpacks byte by byte, about a second for each megabyte."""


def read_msg(data: bytes) -> FileContent:
    """Read a mail of Outlook: the usual headers as lines, the text, the names of the attachments.

    Of several forms of the text the plain one is read, else HTML, else RTF. Attachments are not read, nor are mails
    inside of the mail; save them beside it.

    Raises:
        BadInput: if it is damaged or holds neither headers nor text.
        MissingExtra: without `python-oxmsg`.
    """
    oxmsg = import_library("oxmsg", "Outlook mail")
    with without_warnings("olefile"):
        try:
            mail = oxmsg.Message.load(data)
            head = _headers(mail)
            text = _text(mail)
            attached = [name for name, _ in zip(_attachments(mail), range(_MAX_ATTACHMENTS), strict=False)]
        except BadInput:
            raise
        except Exception as problem:  # whatever a foreign library raises on a damaged file
            raise BadInput(f"is not a mail of Outlook, or is damaged ({type(problem).__name__})") from problem
    if not head and not text.strip():
        raise BadInput("holds neither headers nor text of a mail")
    return mail_content(head, [text], attached)


def _headers(mail: Any) -> dict[str, str]:
    """Return the headers that are shown: those that came with the mail, else the properties that Outlook keeps."""
    # A mail that was never sent, or only within one server, has no headers of transport.
    found = shown_headers(HeaderParser().parsestr(mail.properties.str_prop_value(_TRANSPORT_HEADERS) or ""))
    parties: dict[str, list[str]] = {"To": [], "Cc": []}
    for recipient in mail.recipients[:_MAX_RECIPIENTS]:
        kind = recipient.properties.int_prop_value(_RECIPIENT_TYPE)
        if kind in _RECIPIENTS:
            parties[_RECIPIENTS[kind]].append(_party(recipient.name, recipient.email_address))
    sent = mail.sent_date
    own = {
        "From": mail.sender or "",
        "To": ", ".join(parties["To"]),
        "Cc": ", ".join(parties["Cc"]),
        "Date": format_datetime(sent) if sent else "",
        "Subject": mail.subject,
    }
    merged = {name: found.get(name) or " ".join(value[:MAX_HEADER].split()) for name, value in own.items()}
    return {name: value for name, value in merged.items() if value}


def _party(name: str, address: str) -> str:
    if not address or address == name:
        return name
    return f"{name} <{address}>" if name else address


def _text(mail: Any) -> str:
    """Return the text of a mail in the simplest form that it has."""
    plain = mail.body
    if plain and plain.strip():
        return str(plain)
    raw = mail.properties.binary_prop_value(_HTML)
    html = decode(raw, mail.properties.body_encoding)[0] if raw else mail.html_body
    if html and html.strip():
        return page_text(html)[0]
    packed = mail.properties.binary_prop_value(_COMPRESSED_RTF)
    if not packed:
        return ""
    if len(packed) > _MAX_RTF_BYTES:
        raise BadInput(f"has over {_MAX_RTF_BYTES // 1_000_000} MB of packed RTF; save it as text")
    rtf = import_library("compressed_rtf", "Outlook mail").decompress(packed)
    return "\n\n".join(text.text for text in read_rtf(rtf).texts)


def _attachments(mail: Any) -> Iterator[str]:
    for each in mail.attachments:
        yield " ".join(str(each.file_name or "attachment")[:200].split())
