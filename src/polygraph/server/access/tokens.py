"""Who may call the server: tokens with scopes, and no request from a foreign page."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from polygraph.errors import BadInput
from polygraph.text.prose import count_noun

Scope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""From least to most; each includes those before it."""
MIN_TOKEN = 20
"""Fewest characters of a token that somebody chose."""
_HASHED = re.compile(r"sha256:([0-9a-f]{64})")
_NAME = re.compile(r"[\w.@-]{1,64}")


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a request."""

    name: str
    scope: Scope

    def may(self, scope: Scope) -> bool:
        """Tell whether the caller has a scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


class Tokens:
    """The tokens that are accepted. Only their hashes are kept.

    Args:
        accepted: SHA-256 of each token, and whose it is.
    """

    def __init__(self, accepted: Iterable[tuple[bytes, Principal]]) -> None:
        self._accepted = tuple(accepted)

    def __len__(self) -> int:
        return len(self._accepted)

    def principal(self, authorization: str) -> Principal | None:
        """Return the caller that a header `Authorization: Bearer TOKEN` names, or None.

        The time does not depend on which token is nearly right: all are compared, whole, as hashes.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        given = _digest(token.strip())
        found = None
        for digest, principal in self._accepted:
            if hmac.compare_digest(given, digest):
                found = principal
        return found


def new_token() -> str:
    """Return a random token of 256 bits."""
    return secrets.token_urlsafe(32)


def one_token(token: str, principal: Principal) -> Tokens:
    """Accept one token."""
    return Tokens([(_digest(token), principal)])


def token_line(name: str, scope: Scope, token: str) -> str:
    """Return the line of a file of tokens for a new token.

    Raises:
        BadInput: if the name has other characters than letters, digits and ``. _ @ -``.

    >>> token_line("ada", "read", "correct horse battery")
    'ada read sha256:9028ea0d15decaa35b2da21c0290af3b1a5ba0a30a591906f89b5074e209ea72'
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"the name {name!r} is not valid. Use at most 64 letters, digits and . _ @ -")
    return f"{name} {scope} sha256:{_digest(token).hex()}"


def parse_tokens(text: str, source: str) -> Tokens:
    """Read tokens from lines `NAME SCOPE SECRET`; empty lines and what follows ``#`` are ignored.

    Args:
        text: lines; a secret is ``sha256:`` with 64 hexadecimal digits, or the token itself.
        source: named in errors.

    Raises:
        BadInput: for a line that cannot be read, or a token that is too short; the secret is not repeated.
    """
    accepted: list[tuple[bytes, Principal]] = []
    for n, line in enumerate(text.splitlines(), 1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        if len(parts) != 3 or parts[1] not in SCOPES or not _NAME.fullmatch(parts[0]):
            raise BadInput(
                f"{source}, line {n} is not of the form NAME SCOPE SECRET with the scope read, write or admin. "
                "Make a line with: polygraph token NAME --scope read"
            )
        name, scope, secret = parts
        hashed = _HASHED.fullmatch(secret)
        if secret.startswith("sha256:") and not hashed:
            raise BadInput(f"{source}, line {n}: after sha256: come 64 hexadecimal digits")
        if not hashed and len(secret) < MIN_TOKEN:
            raise BadInput(
                f"{source}, line {n}: the token has {count_noun(len(secret), 'character')}; give at least {MIN_TOKEN}"
            )
        digest = bytes.fromhex(hashed[1]) if hashed else _digest(secret)
        accepted.append((digest, Principal(name, next(s for s in SCOPES if s == scope))))
    return Tokens(accepted)


def read_tokens(file: Path) -> Tokens:
    """Read a file of tokens.

    Raises:
        BadInput: if it cannot be read, or holds no token.
    """
    try:
        found = parse_tokens(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"the tokens in {file} cannot be read: {reason}") from error
    if not len(found):
        raise BadInput(f"{file} holds no token. Make a line with: polygraph token NAME --scope read")
    return found


def foreign_request(headers: Mapping[str, str], hosts: frozenset[str]) -> str:
    """Return why a request must come from a foreign page; empty if it need not.

    A page of another site can make a browser send requests to this server, and with DNS rebinding even read the
    replies. Such a request names the other site in `Host` or `Origin`.

    Args:
        headers: by name in lower case.
        hosts: names that the server answers to, without ports.

    >>> foreign_request({"host": "127.0.0.1:8321"}, frozenset({"127.0.0.1"}))
    ''
    >>> foreign_request({"host": "evil.example"}, frozenset({"127.0.0.1"}))
    'the host evil.example is not one of this server'
    """
    host = headers.get("host", "")
    name = _hostname(f"http://{host}")
    if name is None or name not in hosts:
        return f"the host {host[:100] or '(none)'} is not one of this server"
    origin = headers.get("origin")
    if origin is None:
        return ""
    try:
        parts = urlsplit(origin)
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in {"http", "https"} or parts.netloc.lower() != host.lower():
        return f"the origin {origin[:100]} is not this server"
    return ""


def _hostname(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        return None if parts.username is not None or parts.path else parts.hostname
    except ValueError:
        return None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
