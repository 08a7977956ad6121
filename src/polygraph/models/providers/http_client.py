"""The HTTP client of an endpoint: kept connections, proxies of the environment, and a deadline for a whole attempt.

Timeouts of HTTP libraries apply to each read alone, so that one byte a minute would keep a call open for ever, also
within the headers, which no iterator over a body sees. Here every read and write ends at the deadline, too.
"""

import io
import json
import os
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import urllib3
from pydantic_core import to_json
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from polygraph.errors import BadInput
from polygraph.models.providers.deadline import shortened

_KEPT_CONNECTIONS = 100
# `json.dumps` with options makes an encoder each time.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class HttpClient:
    """Sends requests to one base URL, from any thread.

    How many are in flight is decided elsewhere. Redirects are not followed.

    Args:
        base_url: of the endpoint.
        api_key: the key, or None.
        timeout_s: longest time without data.
        connect_s: longest time for a connection.

    Raises:
        BadInput: if the key cannot be sent, or the environment names a proxy that cannot be used.
    """

    def __init__(self, base_url: str, api_key: str | None, timeout_s: float, connect_s: float) -> None:
        self._url = base_url.rstrip("/")
        self._headers = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "polygraph"}
        if api_key:
            if not (api_key.isascii() and api_key.isprintable()):
                raise BadInput("the key holds a character that no key has. Copy it to OPENAI_API_KEY again")
            self._headers["Authorization"] = f"Bearer {api_key}"
        parts = urlsplit(base_url)
        if parts.username is not None:
            self._headers["Authorization"] = urllib3.make_headers(basic_auth=_login(parts))["authorization"]
        options: dict[str, Any] = {
            "maxsize": _KEPT_CONNECTIONS,
            "timeout": urllib3.Timeout(connect=min(connect_s, timeout_s), read=timeout_s),
            "retries": False,
        }
        proxy = _proxy(parts.scheme, parts.hostname or "")
        if parts.scheme == "https" or proxy.startswith("https:"):
            options["ssl_context"] = _tls()
        manager = _manager(proxy, options)
        self.keeps_deadline = not proxy.startswith("socks")
        """Whether a read of any size ends at the deadline; through a SOCKS proxy, only a wait for data does."""
        self._urlopen: Callable[..., urllib3.BaseHTTPResponse]
        if proxy:
            self._target, self._urlopen = self._url, manager.urlopen
        else:
            # Finding the connections of an address again takes a tenth of a call.
            self._target = urllib3.util.parse_url(self._url).request_uri.rstrip("/")
            self._urlopen = manager.connection_from_url(self._url).urlopen

    @contextmanager
    def send(self, path: str, body: Mapping[str, Any] | None) -> Iterator[urllib3.BaseHTTPResponse]:
        """Send a request and give its response, of whatever status, whose body is still to be read.

        Args:
            path: below the base URL.
            body: JSON to post; None for a request that only gets.
        """
        data, headers = None, self._headers
        if body is not None:
            data = _as_json(body)
            headers = {**headers, "Content-Type": "application/json"}
        response = self._urlopen(
            "GET" if body is None else "POST",
            self._target + path,
            body=data,
            headers=headers,
            redirect=False,
            preload_content=False,
        )
        try:
            yield response
        finally:
            # A connection with unread data is not kept.
            if not response.closed:
                response.close()
            response.release_conn()


def _as_json(body: Mapping[str, Any]) -> bytes:
    """Return the JSON of a body, of a long context much faster than by `json`.

    Raises:
        ValueError: if it has a number that JSON does not know.
    """
    data = to_json(body)
    # It writes such numbers as these words, which texts may hold, too.
    return _encode(body).encode() if b"NaN" in data or b"Infinity" in data else data


# --- connections ------------------------------------------------------------------------------------------


class _TimedSocket:
    """A socket whose reads and writes end at the deadline."""

    def __init__(self, below: Any) -> None:
        self._below = below
        # The timeout of the connection does not apply to what is sent; that of replies is set before they are read.
        self._timeout_s: float | None = None
        self._set_s: float | None = below.gettimeout()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)

    def settimeout(self, timeout_s: float | None) -> None:
        self._timeout_s = timeout_s

    def sendall(self, data: Any) -> None:
        self.shorten_timeout()
        self._below.sendall(data)

    def makefile(self, mode: str, buffering: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
        """Return a file that reads from the socket, as `http.client` asks for: ``rb``, buffered."""
        return io.BufferedReader(_TimedReader(self, self._below.makefile(mode, 0)), max(buffering, 1))

    def shorten_timeout(self) -> None:
        """Let the next operation end at the deadline."""
        timeout_s = shortened(self._timeout_s)
        # Setting it is a call of the system, which a stream would make for every event.
        if timeout_s != self._set_s:
            self._below.settimeout(timeout_s)
            self._set_s = timeout_s


class _TimedReader(io.RawIOBase):
    """What a socket receives, until the deadline."""

    def __init__(self, socket: _TimedSocket, below: Any) -> None:
        self._socket = socket
        self._below = below

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.shorten_timeout()
        n: int | None = self._below.readinto(buffer)
        return n

    def close(self) -> None:
        if not self.closed:
            self._below.close()
        super().close()


class _Connection(HTTPConnection):
    """A connection whose every operation ends at the deadline.

    It sends the headers of a request together with its body, so that nobody is woken up twice.
    """

    _held: list[bytes] | None = None

    def request(self, *given: Any, **options: Any) -> None:
        self._held = []
        try:
            super().request(*given, **options)
            data = b"".join(self._held)
        finally:
            self._held = None
        self.send(data)

    def send(self, data: Any) -> None:
        if self._held is None:
            super().send(data)
        else:
            self._held.append(data)

    def connect(self) -> None:
        self.timeout = shortened(self.timeout)
        super().connect()
        self.sock = _TimedSocket(self.sock)


class _TlsConnection(_Connection, HTTPSConnection):
    """The same for TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


# --- the environment --------------------------------------------------------------------------------------


def _tls() -> ssl.SSLContext:
    """Return what decides which certificates are trusted: those of the environment, or else of the system."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _proxy(scheme: str, host: str) -> str:
    """Return the URL of the proxy that the environment, or the system, asks for; empty for none."""
    named = {name.lower() for name, value in os.environ.items() if value}
    if sys.platform == "linux" and named.isdisjoint({"http_proxy", "https_proxy", "all_proxy"}):
        return ""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    url = proxies.get(scheme) or proxies.get("all") or ""
    if not url or proxy_bypass(host):
        return ""
    return url if "://" in url else f"http://{url}"


def _manager(proxy: str, options: Mapping[str, Any]) -> urllib3.PoolManager:
    manager = _proxied(proxy, options) if proxy else urllib3.PoolManager(**options)
    if not proxy.startswith("socks"):
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return manager


def _proxied(proxy: str, options: Mapping[str, Any]) -> urllib3.PoolManager:
    parts = urlsplit(proxy)
    if parts.scheme.startswith("socks"):
        try:
            from urllib3.contrib.socks import SOCKSProxyManager
        except ImportError as error:
            raise BadInput(
                f"the environment names the proxy {parts.scheme}://{parts.hostname}, which needs a package more. "
                "Install it with: pip install PySocks"
            ) from error
        return SOCKSProxyManager(proxy, **options)
    headers = {}
    if parts.username is not None:
        headers = urllib3.make_headers(proxy_basic_auth=_login(parts))
    return urllib3.ProxyManager(proxy, proxy_headers=headers, **options)


def _login(parts: SplitResult) -> str:
    """Return the user and password of a URL, in the form of basic authentication."""
    return f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
