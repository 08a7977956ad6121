"""What every request passes, whatever its route: Host and Origin, token, rate, limits, safe headers, errors."""

import asyncio
import logging
import secrets
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polygraph.server.access.limits import ClientTooSlow, RateLimit, limited_receive, limited_send
from polygraph.server.access.tokens import foreign_request
from polygraph.server.events import to_json
from polygraph.server.log import REQUEST_ID, problem_and_log
from polygraph.server.problems import MEDIA_TYPE, Problem, no_valid_token
from polygraph.server.state import ServerState

PROTECTED = ("/api/", "/v1/", "/mcp", "/metrics", "/openapi.json")
"""Beginnings of paths that need a token. The others are the page, which holds no data, and the health checks."""
_UPLOADS = ("/documents", "/estimate")
_HEADERS = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'; form-action 'self'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
_log = logging.getLogger("polygraph.server")


class Gate:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app, self._state = app, state
        settings = state.settings
        self._rate = RateLimit(settings.requests_per_minute, settings.burst)
        # Whoever tries tokens is stopped long before the rate of a caller with one.
        self._wrong_tokens = RateLimit(60, 30)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, answer = time.perf_counter(), _Response(send, self._state.settings.send_timeout_s)
        REQUEST_ID.set(answer.request_id)
        try:
            limited = self._check(scope, receive)
            await self._app(scope, limited, answer)
        except asyncio.CancelledError:
            # The server stops, and this takes too long; the framework would log a traceback and say that it failed.
            if not self._state.stopping:
                raise
            if not answer.status:
                problem = Problem(503, "stopping", "the server has stopped. Ask again in some seconds")
                await _send_problem(problem, scope["path"], answer)
        except ClientTooSlow:
            _log.info("%s %s: the client does not read", scope["method"], scope["path"])
        except Exception as error:  # the edge: a client sees no traceback
            if not answer.status:
                await _send_problem(problem_and_log(error, self._state.secrets), scope["path"], answer)
            elif not answer.is_complete:
                raise  # the connection is closed, so that the client sees that something is missing
        finally:
            self._state.metrics.request(scope, answer.status, time.perf_counter() - started)

    def stop_soon(self) -> None:
        """Let streams that have no end of their own know that the server stops."""
        self._state.stop_soon()

    def is_working(self) -> bool:
        """Tell whether a thread still works, such as one that waits for a model: the interpreter would wait for it."""
        return self._state.threads.running > 0

    def _check(self, scope: Scope, receive: Receive) -> Receive:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        reason = foreign_request(headers, self._state.settings.hosts)
        if reason:
            raise Problem(
                403,
                "foreign-request",
                f"{reason}. Call it by one of its names, from no other site; allow a name with --allow-host",
            )
        path: str = scope["path"]
        protected = path.startswith(PROTECTED)
        given = headers.get("authorization", "")
        principal = self._state.tokens.principal(given) if given else None
        client = scope.get("client") or ("", 0)
        if protected and principal is None:
            self._wrong_tokens.take(str(client[0]))
            raise no_valid_token()
        scope["principal"] = principal
        self._rate.take(principal.name if principal else f"address {client[0]}")
        upload = scope["method"] == "POST" and path.endswith(_UPLOADS)
        return limited_receive(receive, headers.get("content-length"), upload, self._state.settings)


class _Response:
    """Sends a response with the headers that all have, and remembers its status."""

    def __init__(self, send: Send, timeout_s: float) -> None:
        self._send = limited_send(send, timeout_s)
        self.status = 0
        self.is_complete = False
        self.request_id = secrets.token_hex(8)

    async def __call__(self, message: Message) -> None:
        """Send a message of ASGI."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {name for name, _ in message.get("headers", ())}
            more = [(name, value) for name, value in _HEADERS if name not in own]
            message["headers"] = [
                *message.get("headers", ()),
                *more,
                (b"x-request-id", self.request_id.encode()),
            ]
        await self._send(message)
        if message["type"] == "http.response.body":
            self.is_complete = not message.get("more_body", False)


async def _send_problem(problem: Problem, path: str, send: Any) -> None:
    body = to_json(problem.body(path)).encode("utf-8", "backslashreplace")
    headers = [(name.encode(), value.encode()) for name, value in problem.headers.items()]
    headers += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
