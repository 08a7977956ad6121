"""Run the application with uvicorn: bounded connections, no slow heads, a graceful stop."""

import asyncio
import contextlib
import json
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from polygraph.errors import BadInput
from polygraph.memory import rare_collections
from polygraph.server.gate import Gate
from polygraph.server.problems import Problem
from polygraph.server.settings import ServerSettings

_IDLE_S = 30
"""Seconds that a connection stays open between requests."""
_MAX_HEAD = 32_768
"""Largest head of a request, in bytes."""
_OTHER_FILES = 256
"""Open files that are left to indexes, models and logs."""
_BACKLOG = 256
"""Connections that wait to be accepted."""
_ACCEPTED_AT_ONCE = 32
"""Connections that the event loop accepts in one pass."""
_UNCOUNTED = 4 * _ACCEPTED_AT_ONCE
"""Connections that are open and not counted: each is accepted, set up, refused and closed in passes of its own."""
_LEAST_CONNECTIONS = 16
_MOST_REFUSALS = 64
"""Connections beyond the limit that get an error reply at one time; the others are only closed."""
_REFUSAL_S = 1.0
"""Time to read the refusal. A connection that is closed before its request was read loses what was sent on it."""


def serve(app: Gate, settings: ServerSettings, on_start: Callable[[int], None]) -> None:
    """Serve until SIGINT or SIGTERM; running requests are finished, up to a limit.

    Args:
        app: from `create_app`.
        settings: of the server.
        on_start: called with the port when connections are accepted.

    Raises:
        BadInput: if the address cannot be used.
    """
    listening = listen(settings.host, settings.port)
    # Questions make thousands of objects each, nearly all of them without cycles.
    with rare_collections():
        asyncio.run(make_server(app, settings, on_start).serve(sockets=[listening]))


def make_server(app: Gate, settings: ServerSettings, on_start: Callable[[int], None]) -> uvicorn.Server:
    """Return a server for an application, to be run with `serve(sockets=[listen(...)])`."""
    config = uvicorn.Config(
        app,
        http=_protocol(settings, _allowed_connections(settings.max_connections)),
        ws="none",
        lifespan="on",
        # A configuration of its own would close the handlers of every library, absl's with its stream among them.
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=int(settings.stop_timeout_s),
        h11_max_incomplete_event_size=_MAX_HEAD,
        backlog=_ACCEPTED_AT_ONCE,
    )
    return _Server(config, on_start, app.stop_soon)


class _Server(uvicorn.Server):
    """A server that says when it is ready, and for which a signal is a normal end."""

    def __init__(
        self, config: uvicorn.Config, on_start: Callable[[int], None], on_stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_start, self._on_stop = on_start, on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start and report it."""
        asyncio.get_running_loop().set_exception_handler(_log_unless_out_of_files)
        await super().startup(sockets)
        if self.started and sockets:
            # asyncio has one number for both, the queue of the system and how many it accepts at once.
            sockets[0].listen(_BACKLOG)
            self._on_start(sockets[0].getsockname()[1])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; streams that would go on for ever end first."""
        self._on_stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at the first signal, at once at the second; do not raise it again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        earlier = {each: signal.signal(each, self.handle_exit) for each in signals}
        try:
            yield
        finally:
            for each, handler in earlier.items():
                signal.signal(each, handler)


def _log_unless_out_of_files(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error of the event loop; without a file to spare, that fails too and must not end the server.

    Where no more connections can be opened, asyncio waits a second by itself.
    """
    with contextlib.suppress(OSError):
        loop.default_exception_handler(context)


def _allowed_connections(wanted: int) -> int:
    """Return how many connections fit into the limit of open files, which is raised as far as the system lets it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    others = _UNCOUNTED + _MOST_REFUSALS + _OTHER_FILES
    needed = wanted + others
    if soft != resource.RLIM_INFINITY and soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
        return max(_LEAST_CONNECTIONS, min(wanted, soft - others))
    return wanted


def _refusal() -> bytes:
    """Return the response to a connection beyond the limit."""
    detail = "too many connections are open. Try again in some seconds"
    body = json.dumps(Problem(503, "busy", detail).as_dict()).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 5\r\n"
        f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _protocol(settings: ServerSettings, max_connections: int) -> type[H11Protocol]:
    """Return a protocol that bounds connections and the time for the head of a request."""
    refusal, refused = _refusal(), set[asyncio.Transport]()

    class _Bounded(H11Protocol):
        _waiting: asyncio.TimerHandle | None = None
        _refused = False
        _refused_on: Any = None

        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= max_connections:
                self._refuse(transport)
                return
            super().connection_made(transport)
            self._wait_for_head()

        def _refuse(self, transport: Any) -> None:
            self._refused = True
            if len(refused) >= _MOST_REFUSALS:
                transport.abort()
                return
            refused.add(transport)
            self._refused_on = transport
            transport.write(refusal)
            self.loop.call_later(_REFUSAL_S, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            if self._refused:
                refused.discard(self._refused_on)
            else:
                super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._refused:
                return
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()
            elif self._waiting is None:
                self._wait_for_head()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._stop_waiting()

        def eof_received(self) -> None:
            return None if self._refused else super().eof_received()

        def _wait_for_head(self) -> None:
            self._waiting = self.loop.call_later(settings.header_timeout_s, self._too_slow)

        def _stop_waiting(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _too_slow(self) -> None:
            self._waiting = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.abort()

    return _Bounded


def listen(host: str, port: int) -> socket.socket:
    """Open the socket of a server.

    Raises:
        BadInput: if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends small pieces at once (TCP_NODELAY); else each response waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise BadInput(
            f"cannot listen on {host}:{port}: {error.strerror or error}. Choose another port with --port"
        ) from error
    listening.setblocking(False)
    return listening
