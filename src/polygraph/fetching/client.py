"""One request to a server that nobody vouches for: public addresses only, bounded in bytes, time and redirects."""

import ipaddress
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpcore2

from polygraph.errors import BadInput
from polygraph.fetching.addresses import normal_address

AGENT = "polygraph"
"""Name of this program in requests and in robots.txt."""
MAX_REDIRECTS = 5
_CONNECT_S = 10.0
_READ_S = 20.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL = [ipaddress.ip_network(each) for each in ("::/96", "64:ff9b:1::/48", "fec0::/10")]
"""Forms of local addresses that Python counts as global."""


class FetchFailed(Exception):
    """A page could not be fetched; the text says why. It becomes a line of the report."""


class PrivateAddress(FetchFailed):
    """A host is of this machine or of a private network, which were not to be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server sent."""

    url: str
    """After redirects."""
    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes


class Client:
    """Gets addresses, one after the other.

    Args:
        allow_private: whether addresses of this machine and of private networks may be reached.
        deadline_s: for one page, with its redirects.
        clock: in seconds.
    """

    def __init__(
        self,
        *,
        allow_private: bool,
        deadline_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deadline_s, self._clock = deadline_s, clock
        self._pool = httpcore2.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=8,
            keepalive_expiry=30.0,
            network_backend=_PublicOnly(allow_private),
        )

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def get(
        self,
        url: str,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        *,
        allowed: Callable[[str], None] | None = None,
    ) -> Reply:
        """Get an address, following redirects.

        Args:
            url: in normal form.
            max_bytes: of the body, sent and unpacked.
            headers: further ones; they are sent to the first address only.
            allowed: called with each address before it is requested, those of redirects too; raises `FetchFailed` to
                refuse it.

        Raises:
            FetchFailed: if there is no reply within the bounds.
        """
        ends = self._clock() + self._deadline_s
        for _ in range(MAX_REDIRECTS + 1):
            if allowed is not None:
                allowed(url)
            with (
                _explained(),
                self._pool.stream(
                    "GET", url, headers=_headers(headers), extensions={"timeout": _timeouts()}
                ) as response,
            ):
                found = _fields(response.headers)
                if response.status not in _REDIRECTS or "location" not in found:
                    body = self._body(response, found, max_bytes, ends)
                    return Reply(url=url, status=response.status, headers=found, body=body)
                target = found["location"]
            try:
                url, headers = normal_address(target, url), None
            except BadInput as problem:
                raise FetchFailed(f"is redirected to what is not a page: {problem}") from problem
            if self._clock() > ends:
                raise FetchFailed(f"takes longer than {self._deadline_s:g} s")
        raise FetchFailed(f"is redirected more than {MAX_REDIRECTS} times")

    def _body(self, response: Any, headers: Mapping[str, str], max_bytes: int, ends: float) -> bytes:
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip", "deflate"):
            raise FetchFailed(f"is compressed by {encoding[:20]!r}, which was not asked for")
        unpack = zlib.decompressobj(47) if encoding in ("gzip", "deflate") else None
        found = bytearray()
        n_sent = 0
        for piece in response.iter_stream():
            n_sent += len(piece)
            if unpack is None:
                found += piece
            else:
                found += unpack.decompress(piece, max_bytes + 1 - len(found))
            if max(len(found), n_sent) > max_bytes:
                raise FetchFailed(f"has over {max_bytes / 1e6:g} MB")
            if self._clock() > ends:
                raise FetchFailed(f"takes longer than {self._deadline_s:g} s")
        if unpack is not None and n_sent and not unpack.eof:
            raise FetchFailed("ends before its packed content does")
        return bytes(found)


class _PublicOnly(httpcore2.NetworkBackend):
    """Connects to the address that was checked, so that a name cannot change between check and connection."""

    def __init__(self, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to a host by one of its public addresses.

        Raises:
            FetchFailed: if it is not known, `PrivateAddress` if it has no public address.
        """
        try:
            listed = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as problem:
            raise FetchFailed(f"the host {host} is not known") from problem
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in listed))
        open_ones = [each for each in addresses if self._allow_private or is_public(each)]
        if not open_ones:
            raise PrivateAddress(
                f"{host} is an address of this machine or of a private network. To fetch from it, give --allow-private"
            )
        for n, address in enumerate(open_ones, 1):
            try:
                return self._sockets.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if n == len(open_ones):
                    raise
        raise AssertionError  # the last round returns or raises

    def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore2.NetworkStream:
        """Refuse: a page has no such address."""
        raise FetchFailed("is not an address of the web")

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._sockets.sleep(seconds)


def is_public(address: str) -> bool:
    """Tell whether an IP address belongs to the public internet, also one that is embedded in another.

    >>> [is_public(a) for a in ("93.184.216.34", "10.0.0.1", "127.0.0.1", "169.254.169.254", "::ffff:127.0.0.1")]
    [True, False, False, False, False]
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    is_local = ip.version == 6 and any(ip in each for each in _LOCAL)
    return ip.is_global and not ip.is_multicast and not is_local


def _headers(more: Mapping[str, str] | None) -> list[tuple[str, str]]:
    own = [("User-Agent", AGENT), ("Accept", "*/*"), ("Accept-Encoding", "gzip, deflate")]
    return [*own, *(more or {}).items()]


def _fields(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


def _timeouts() -> dict[str, float]:
    return {"connect": _CONNECT_S, "read": _READ_S, "write": _READ_S, "pool": _READ_S}


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except httpcore2.TimeoutException as problem:
        raise FetchFailed("the server does not answer in time") from problem
    except (
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.UnsupportedProtocol,
        OSError,
    ) as problem:
        raise FetchFailed(f"the connection failed ({problem or type(problem).__name__})") from problem
    except zlib.error as problem:
        raise FetchFailed(f"cannot be unpacked ({problem})") from problem
