"""Addresses of pages: their normal form, lists of them, and the names of their files."""

import re
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from polygraph.errors import BadInput

MAX_ADDRESS = 2_000
"""Characters."""
_MAX_LIST_BYTES = 20_000_000
_MAX_SLUG = 60
_SAFE = "/%:=&?~+!$,;'@()*[]-._"
_HOST = re.compile(r"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def normal_address(text: str, base: str = "") -> str:
    """Return the address that a text stands for, without fragment, in ASCII.

    Args:
        text: an address, relative to `base` if there is one.
        base: an address in normal form.

    Raises:
        BadInput: if it is not an http or https address, names a password, or is too long.

    >>> normal_address(" HTTPS://Example.org:443/a b#part"), normal_address("../c?q=ü", "http://example.org/a/b")
    ('https://example.org/a%20b', 'http://example.org/c?q=%C3%BC')
    """
    text = text.strip()
    shown = repr(text[:100])
    if len(text) > MAX_ADDRESS:
        raise BadInput(f"the address {shown} has over {MAX_ADDRESS:,} characters")
    try:
        parts = urlsplit(urljoin(base, text) if base else text)
        scheme, host, port = parts.scheme.lower(), (parts.hostname or "").rstrip("."), parts.port
        host = host if ":" in host else host.encode("idna").decode("ascii")
    except ValueError as problem:
        raise BadInput(f"{shown} is not an address ({problem})") from problem
    if scheme not in _DEFAULT_PORTS or not _HOST.fullmatch(host):
        raise BadInput(f"{shown} is not the address of a page. Write it as in https://example.org/page")
    if parts.username or parts.password:
        raise BadInput(
            f"the address of {host} names a user or a password. Pages behind a login are not fetched"
        )
    host = f"[{host}]" if ":" in host else host
    netloc = host if port in (None, _DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    return urlunsplit(
        (scheme, netloc, quote(parts.path or "/", safe=_SAFE), quote(parts.query, safe=_SAFE), "")
    )


def read_list(path: Path) -> list[str]:
    """Return the addresses of a text file, one per line; empty lines and those that begin with ``#`` are skipped.

    Raises:
        BadInput: if the file cannot be read, or a line is not an address; the error names the line.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_LIST_BYTES + 1)
    except OSError as problem:
        raise BadInput(
            f"there is no list of addresses at {path} ({problem.strerror}). Name a file or an address beginning with "
            "https://"
        ) from problem
    if len(data) > _MAX_LIST_BYTES:
        raise BadInput(f"the list {path} has over {_MAX_LIST_BYTES // 1_000_000} MB. Split it")
    found = []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(normal_address(line))
        except BadInput as problem:
            raise BadInput(f"{path}, line {number}: {problem}") from problem
    return found


def site_of(address: str) -> str:
    """Return scheme, host and port of an address in normal form.

    >>> site_of("https://example.org/a?b")
    'https://example.org'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def folder_name(address: str) -> str:
    """Return the name of the folder for the pages of a host, made of its letters, digits, dots and dashes.

    >>> folder_name("https://example.org:8443/a"), folder_name("http://[::1]/")
    ('example.org-8443', '1')
    """
    return re.sub(r"[^a-z0-9.-]+", "-", urlsplit(address).netloc).strip("-.") or "host"


def file_name(address: str, suffix: str) -> str:
    """Return the name of the file for a page: words of its path for people, then a digest of its address.

    >>> file_name("https://example.org/Guide/Set-up.html?x=1", ".html")
    'guide-set-up-c0d06808bf.html'
    """
    parts = urlsplit(address)
    words = re.sub(r"\.[a-z0-9]{1,5}$", "", parts.path.lower())
    slug = re.sub(r"[^a-z0-9]+", "-", words)[: _MAX_SLUG + 1].strip("-")[:_MAX_SLUG] or "index"
    return f"{slug}-{blake2b(address.encode(), digest_size=5).hexdigest()}{suffix}"
