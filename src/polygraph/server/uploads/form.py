"""Bodies of the form `multipart/form-data`: the files go to a receiver while they come in, short fields are kept."""

import re
from email.message import Message

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from polygraph.server.problems import Problem
from polygraph.server.uploads.folder import Receiver

_MAX_FIELD = 10_000
_MAX_FIELDS = 20


class MultipartForm:
    """Parses a body piece by piece.

    Args:
        content_type: header of the request.
        receiver: takes the files.

    Raises:
        Problem: 400 for a body of another form, also from `feed` and `finish`.
    """

    def __init__(self, content_type: str, receiver: Receiver) -> None:
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise _unusable()
        self._receiver = receiver
        self.fields: dict[str, str] = {}
        self._name, self._value = bytearray(), bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._part, self._is_file, self._text = "", False, bytearray()
        self._complete = False
        self._parser = MultipartParser(
            options[b"boundary"],
            {
                "on_part_begin": self._headers.clear,
                "on_header_field": lambda data, start, end: self._name.extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
                "on_header_end": self._end_header,
                "on_headers_finished": self._begin_part,
                "on_part_data": self._take,
                "on_part_end": self._end_part,
                "on_end": self._end,
            },
        )

    def feed(self, data: bytes) -> None:
        """Take a piece of the body."""
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _unusable() from error

    def finish(self) -> None:
        """End the body."""
        if not self._complete:
            raise _unusable()

    def _end(self) -> None:
        self._complete = True

    def _end_header(self) -> None:
        self._headers[bytes(self._name).lower()] = bytes(self._value)
        self._name.clear()
        self._value.clear()

    def _begin_part(self) -> None:
        header = Message()
        given = self._headers.get(b"content-disposition", b"").decode("utf-8", "replace")
        header["content-disposition"] = re.sub(r"[\r\n\x00]", " ", given)
        self._part = str(header.get_param("name", "", "content-disposition"))[:100]
        name = header.get_filename()
        self._is_file, self._text = name is not None, bytearray()
        if name is not None:
            self._receiver.begin(name)

    def _take(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._receiver.write(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > _MAX_FIELD:
            raise _too_large()

    def _end_part(self) -> None:
        if self._is_file:
            self._receiver.end()
        else:
            self.fields[self._part] = self._text.decode("utf-8", "replace")
            if len(self.fields) > _MAX_FIELDS:
                raise _too_large()


def _too_large() -> Problem:
    return Problem(413, "too-large", "besides its files, a form may have only a few short fields")


def _unusable() -> Problem:
    return Problem(
        400,
        "bad-upload",
        "the body is not a complete form of files. Send multipart/form-data with parts named files",
    )
