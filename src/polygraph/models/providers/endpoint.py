"""The connection to an OpenAI-compatible endpoint: bounded in bytes and time, and without redirects."""

import re
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from polygraph.errors import BadInput, ModelRefused, PolygraphError
from polygraph.models.chat_completion import MAX_REPLY_CHARS, describe_error, is_rejected, parse_json
from polygraph.models.providers.deadline import OutOfTime, deadline, shortened
from polygraph.models.rate_limit import limit_in_message
from polygraph.models.transport import TransportError, report_headers

if TYPE_CHECKING:
    from polygraph.models.providers.http_client import HttpClient

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_S = 15.0
"""Timeout of a connection; `timeout_s` applies to answers."""
DEADLINE_S = 600.0
"""Longest time of one attempt, unless another is given."""
_READ_BYTES = 1 << 16
"""Most bytes of a body that are read at once."""
MAX_IDLE_TIMEOUTS = 10
"""A stream of keep-alive messages without any text ends after this many times `timeout_s`."""
MAX_REPLY_BYTES = 64_000_000
"""Largest reply, and largest stream."""
MAX_LINE_BYTES = 8 * MAX_REPLY_CHARS
"""Longest event of a stream."""
_GATHERED_S = 1.0
"""Longest time in which events that nobody watches are gathered."""
_GATHERED = 256
"""Most chunks that are gathered."""
_DATA, _DONE, _ERROR = b"data:", b"[DONE]", b'"error"'
"""Parts of server-sent events: what begins one with data, the last one, and the name in one of an error."""
MAX_ERROR_BYTES = 64_000
"""How much of the body of an error is read."""
ERROR_BODY_S = 10.0
"""How long the body of an error is read."""
SECRET_CHARS = 12
"""A shorter key, such as `any` for a local server, is an ordinary word and is not masked."""


class FormRefused(Exception):
    """The endpoint does not accept a request of this form (400 or 422, or it does not stream)."""


class _StatusError(Exception):
    """A response with a status that is not 2xx."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str, code: str) -> None:
        self.status = status
        self.headers = headers
        self.text = text
        self.code = code
        super().__init__(f"{status}: {text}")


class Endpoint:
    """The connection of a chat model or embedder, and the meaning of its errors.

    Args:
        model: name at the endpoint.
        base_url: of the endpoint; None for OpenAI.
        api_key: the key, or None.
        timeout_s: longest time without data.
        deadline_s: longest time of one attempt, however steadily its data arrives.

    Raises:
        BadInput: if the base URL or a time is not valid.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None,
        api_key: str | None,
        timeout_s: float,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        base_url = base_url or OPENAI_URL
        if not base_url.startswith(("http://", "https://")):
            raise BadInput(
                f"the base URL {base_url!r} does not begin with http:// or https://. It looks like "
                "http://localhost:11434/v1"
            )
        for name, seconds in (("timeout_s", timeout_s), ("deadline_s", deadline_s)):
            if not seconds > 0:
                raise BadInput(f"{name} is {seconds}; it must be more than 0")
        self.model = model
        self.base_url = base_url
        self.timeout_s = timeout_s
        self.deadline_s = deadline_s
        self._api_key = api_key
        self._lock = threading.Lock()
        self._client: HttpClient | None = None

    @contextmanager
    def send(self, path: str, body: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """Send a request; give its response, whose body is still to be read with `json` or `events`.

        Args:
            path: below the base URL.
            body: JSON to post; None for a request that only gets.
        """
        with self._connected().send(path, body) as response:
            self._check(response)
            yield response

    def _connected(self) -> "HttpClient":
        """Return the HTTP client, made at the first call because importing it takes time."""
        with self._lock:
            if self._client is None:
                from polygraph.models.providers.http_client import HttpClient

                self._client = HttpClient(self.base_url, self._api_key, self.timeout_s, CONNECT_S)
            return self._client

    def _check(self, response: Any) -> None:
        """Read the headers of a response, and the bounded body of an error.

        A redirect is an error: to follow it would send the key and the documents to another host.
        """
        report_headers(response.headers)
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in {"", "identity", "gzip", "deflate"}:
            raise TransportError(f"the reply is compressed by {self.clean(encoding)!r}", kind="malformed")
        if 200 <= response.status < 300:
            return
        data = b""
        try:
            with deadline(ERROR_BODY_S):
                for chunk in _arriving(response):
                    data += chunk
                    if len(data) >= MAX_ERROR_BYTES:
                        break
        except Exception:  # noqa: S110  the status says enough without the rest of the body
            pass
        text, code = data[:MAX_ERROR_BYTES].decode("utf-8", "replace"), ""
        try:
            body = parse_json(data)
        except TransportError:
            pass
        else:
            error = body.get("error", body) if isinstance(body, dict) else body
            code = describe_error(error.get("code")) if isinstance(error, dict) else ""
            text = describe_error(error)
        # Some servers repeat the status as the code of the error.
        text = self.clean(text).removeprefix(f"{response.status}: ")
        raise _StatusError(response.status, response.headers, text, self.clean(code))

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Bound the time of the attempt in the ``with`` block, and convert its errors into ours.

        Raises:
            TransportError: if the attempt failed.
            FormRefused: if the endpoint does not accept the form of the request.
            ModelRefused: if it rejects the key or the model, or redirects to another address.
        """
        ends = time.monotonic() + self.deadline_s
        try:
            with deadline(self.deadline_s):
                yield
        except (PolygraphError, FormRefused):
            raise
        except Exception as error:
            if time.monotonic() >= ends:
                raise self._too_late() from error
            explained = self._explain(error)
            if explained is error:
                raise
            # The texts of other libraries may hold the key, so they are not chained.
            raise explained from None

    def _too_late(self) -> TransportError:
        return TransportError(
            f"the reply was not complete after {self.deadline_s:g} s (call_deadline_s)", kind="timeout"
        )

    def _explain(self, error: Exception) -> Exception:
        """Convert an error of the HTTP client into one of ours."""
        from urllib3 import exceptions as http

        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, OutOfTime):
                return self._too_late()
            if isinstance(cause, _StatusError):
                return self._explain_status(cause)
            cause = cause.__cause__
        # What the system says is shorter than what the library says about it.
        first: BaseException = error
        while first.__cause__ is not None:
            first = first.__cause__
        text = self.clean(str(first))
        if isinstance(error, http.NewConnectionError | http.ProxyError | http.SSLError):
            through = (
                " through the proxy of HTTP_PROXY or HTTPS_PROXY"
                if isinstance(error, http.ProxyError)
                else ""
            )
            fix = (
                ". To trust a certificate of your own: SSL_CERT_FILE"
                if isinstance(first, ssl.SSLCertVerificationError)
                else ""
            )
            return TransportError(
                f"the connection{through} failed ({text}){fix}", kind="connection", connected=False
            )
        if isinstance(error, http.TimeoutError):
            return TransportError(f"no data for {self.timeout_s:g} s (timeout_s)", kind="timeout")
        if isinstance(error, http.DecodeError):
            return TransportError(f"the reply cannot be decompressed ({text})", kind="malformed")
        if isinstance(error, http.HTTPError):
            return TransportError(f"the connection was interrupted ({text})", kind="connection")
        return error

    def _explain_status(self, error: _StatusError) -> Exception:
        status, text, code = error.status, error.text, error.code
        if 300 <= status < 400:
            return self._redirected(error)
        if status == 429 and "insufficient_quota" not in f"{code} {text}":
            wait = parse_retry_after(error.headers)
            named = limit_in_message(text)
            return TransportError(f"429: {text}", kind="rate_limit", retry_after_s=wait, limit_kind=named)
        if status in {408, 409, 425} or (status >= 500 and status != 501):
            wait = parse_retry_after(error.headers)
            return TransportError(f"{status}: {text}", kind="server", retry_after_s=wait)
        if is_rejected(status, f"{code} {text}"):
            message = f"the endpoint rejects this request ({status}: {text})"
            return TransportError(message, kind="rejected", retryable=False)
        if status in {400, 422}:
            return FormRefused(f"{status}: {text}")
        return self.refused(f"{status}: {text}", status)

    def _redirected(self, error: _StatusError) -> ModelRefused:
        try:
            target = urlsplit(urljoin(self.base_url, error.headers.get("location", "")))
            host = self.clean(f"{target.scheme}://{target.netloc.rpartition('@')[2]}")
        except ValueError:
            host = "an address that cannot be read"
        return ModelRefused(
            f"{self.base_url} redirects to {host} ({error.status}). Redirects are not followed, because they would "
            "send your key and documents there. If that is where they belong, set the base URL (OPENAI_BASE_URL) to it"
        )

    def refused(self, text: str, status: int = 400) -> ModelRefused:
        """Return an error that says what the user can do."""
        if status in {401, 403}:
            fix = "Check the key in OPENAI_API_KEY, and that it belongs to this base URL (OPENAI_BASE_URL)"
        elif status == 404:
            fix = (
                f"Check that the model {self.model!r} exists there, and the base URL (OPENAI_BASE_URL), "
                "which usually ends in /v1"
            )
        elif status in {402, 429}:
            fix = "The account has no credit left: add some, or use another endpoint (OPENAI_BASE_URL)"
        else:
            fix = "Check the model's name and the base URL (OPENAI_BASE_URL)"
        return ModelRefused(
            f"{self.base_url} refuses {self.model!r} ({text}). {fix}. To test it: polygraph doctor"
        )

    def clean(self, text: str) -> str:
        """Shorten a message of the endpoint, put it on one line, and mask the key in it."""
        text = " ".join(self.without_key(text)[:2000].split())
        # Control characters could rewrite the terminal.
        text = "".join(c if c.isprintable() else "\ufffd" for c in text)
        return text if len(text) <= 300 else f"{text[:300]}..."

    def without_key(self, text: str) -> str:
        """Mask the key in a text of the endpoint, which is stored or printed."""
        if self._api_key and len(self._api_key) >= SECRET_CHARS:
            for form in {self._api_key, quote(self._api_key, safe="")}:
                text = text.replace(form, "***")
        return text

    # --- bodies -------------------------------------------------------------------------------------------

    def json(self, response: Any) -> Any:
        """Read the whole reply as JSON.

        Raises:
            TransportError: if it is too large or not JSON.
            ModelRefused: if it is a page of a web site.
        """
        return parse_json(self.body(response))

    def body(self, response: Any) -> bytes:
        """Read the whole reply, which should be JSON; raises as `json` does, except if it is malformed."""
        size = response.length_remaining
        compressed = bool(response.headers.get("content-encoding"))
        if size is None or size > MAX_REPLY_BYTES or compressed or not self._connected().keeps_deadline:
            data = b"".join(_bounded(_arriving(response), MAX_REPLY_BYTES))
        else:
            # Half of the time of joining what arrives, and the deadline holds for each read of the socket.
            data = response.read(decode_content=False)
        kind = str(response.headers.get("content-type", ""))
        if "json" not in kind and not data.lstrip().startswith((b"{", b"[")):
            raise self.refused("it answers with something that is not JSON", 404)
        return data

    def events(self, response: Any, progress: "Progress", *, watched: bool) -> Iterator[list[Any]]:
        """Read server-sent events, each JSON on one line, in groups of those that are parsed together.

        Args:
            response: whose body is read.
            progress: ends a stream without any.
            watched: whether somebody waits for each event, which is then given as soon as it arrives. Parsing the
                events of up to a second together takes half of the time.

        Raises:
            TransportError: if the stream is too large, is not JSON, reports an error, or makes no progress.
        """
        gathered_s = 0.0 if watched else min(_GATHERED_S, self.timeout_s)
        chunks = _bounded(_arriving(response, gathered_s), MAX_REPLY_BYTES)
        for lines in _lines(progress.watch(chunks)):
            found = [line[len(_DATA) :].strip() for line in lines if line.startswith(_DATA)]
            ends = _DONE in found
            events = _parse_all([data for data in found[: found.index(_DONE) if ends else None] if data])
            for event in events:
                if isinstance(event, dict) and event.get("error"):
                    problem = self.clean(describe_error(event["error"]))
                    raise TransportError(f"the server reported: {problem}", kind="server")
            if events:
                yield events
            if ends:
                return


class Progress:
    """Ends a stream that is kept alive but makes no progress."""

    def __init__(self, timeout_s: float) -> None:
        self._max_idle_s = MAX_IDLE_TIMEOUTS * timeout_s
        self._at = time.monotonic()

    def made(self) -> None:
        """Record progress."""
        self._at = time.monotonic()

    def watch(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the data while there is progress."""
        for chunk in chunks:
            if time.monotonic() - self._at > self._max_idle_s:
                raise TransportError(f"only keep-alive messages for {self._max_idle_s:g} s", kind="timeout")
            yield chunk


def _arriving(response: Any, gathered_s: float = 0.0) -> Iterator[bytes]:
    """Yield the body of a response as it arrives, and check the deadline also while data keeps arriving.

    What arrives within `gathered_s` seconds is joined, up to a chunk after which the server may be silent.
    """
    # Most replies are not compressed, and the library need not hold them for a decoder.
    decode = bool(response.headers.get("content-encoding"))
    # Taking a chunk as soon as it arrives costs half of a call of `read1`.
    pieces = (
        response.stream(_READ_BYTES, decode_content=decode) if response.chunked else _read(response, decode)
    )
    held: list[bytes] = []
    due, before = 0.0, b""
    for data in pieces:
        now = time.monotonic()
        due = due if held else now + gathered_s
        held.append(data)
        # A mark may arrive in two pieces.
        recent, before = before[-len(_ERROR) :] + data, data
        if now >= due or len(held) == _GATHERED or _DONE in recent or _ERROR in recent:
            shortened(None)
            yield b"".join(held)
            held = []
    yield b"".join(held)


def _read(response: Any, decode: bool) -> Iterator[bytes]:
    while data := response.read1(_READ_BYTES, decode_content=decode):
        yield data


def _bounded(chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    n = 0
    for chunk in chunks:
        n += len(chunk)
        if n > most:
            raise TransportError(f"the reply is larger than {most // 1_000_000} MB", kind="malformed")
        yield chunk


def _lines(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Split bytes at line feeds only: text would also be split at U+2028, which JSON strings may contain.

    Yields:
        The lines that end in each chunk.
    """
    held: list[bytes] = []
    n_held = 0
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        held.append(first)
        n_held += len(first)
        if n_held > MAX_LINE_BYTES:
            raise TransportError("a line of the reply is too long", kind="malformed")
        if rest:
            yield [b"".join(held), *rest[:-1]]
            held, n_held = [rest[-1]], len(rest[-1])
    yield [b"".join(held)]


def _parse_all(values: Sequence[bytes]) -> list[Any]:
    """Parse several JSON values, all at once if each is well formed.

    Raises:
        TransportError: as `parse_json` does.
    """
    if len(values) > 1:
        try:
            together = parse_json(b"[" + b",".join(values) + b"]")
        except TransportError:
            pass
        else:
            if len(together) == len(values):
                return list(together)
    return [parse_json(value) for value in values]


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, given as milliseconds, seconds or a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "")
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time()) if value else None
    except (ValueError, TypeError, OverflowError):
        return None
