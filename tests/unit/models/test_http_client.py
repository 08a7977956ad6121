"""How endpoints are reached: kept connections, logins, proxies of the environment, certificates."""

import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import urllib3

from polygraph.errors import BadInput
from polygraph.models.protocols import ChatRequest, Message
from polygraph.models.providers import http_client
from polygraph.models.providers.openai import OpenAIChat
from polygraph.models.transport import TransportError

REQUEST = ChatRequest(messages=(Message("user", "Who keeps the light?"),))
TEXT = "Ada keeps the light."


class Seen(ThreadingHTTPServer):
    """Answers each request and keeps its target, its headers and the port of its connection."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[str, Any, int]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that refuses the certificate is no error of the test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, self.headers, self.client_address[1]))
        choice = {"message": {"content": TEXT}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_proxies_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[Seen]:
    with Seen() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def test_a_connection_is_kept_for_the_next_call(server: Seen) -> None:
    model = OpenAIChat("small", base_url=f"http://{server.url}/v1")
    assert [model.chat(REQUEST).text for _ in range(3)] == [TEXT] * 3
    assert len({port for _, _, port in server.requests}) == 1


def test_a_request_is_sent_by_one_operation(server: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    send = http_client._TimedSocket.sendall

    def count(socket: http_client._TimedSocket, data: bytes) -> None:
        sent.append(data)
        send(socket, data)

    monkeypatch.setattr(http_client._TimedSocket, "sendall", count)
    assert OpenAIChat("small", base_url=f"http://{server.url}/v1").chat(REQUEST).text == TEXT
    assert len(sent) == len(server.requests)
    assert all(data.startswith(b"POST /v1/chat/completions ") and data.endswith(b"}") for data in sent)


def test_the_key_is_sent_and_a_login_in_the_base_url_comes_before_it(server: Seen) -> None:
    OpenAIChat("small", base_url=f"http://{server.url}/v1", api_key="sk-1").chat(REQUEST)
    OpenAIChat("small", base_url=f"http://ada:p%40ss@{server.url}/v1", api_key="sk-1").chat(REQUEST)
    # base64 of `ada:p@ss`, by another tool.
    sent = dict.fromkeys(headers["authorization"] for _, headers, _ in server.requests)
    assert list(sent) == ["Bearer sk-1", "Basic YWRhOnBAc3M="]


@pytest.mark.parametrize("key", ["sk-1\n", "sk-\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(server: Seen, key: str) -> None:
    with pytest.raises(BadInput, match="OPENAI_API_KEY") as caught:
        OpenAIChat("small", base_url=f"http://{server.url}/v1", api_key=key).chat(REQUEST)
    assert key not in str(caught.value)
    assert not server.requests


def test_a_proxy_of_the_environment_is_asked_unless_the_host_is_excepted(
    server: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{server.url}")
    monkeypatch.setenv("http_proxy", f"http://{server.url}")
    OpenAIChat("small", base_url="http://models.test/v1").chat(REQUEST)
    assert server.requests[-1][0] == "http://models.test/v1/chat/completions"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    OpenAIChat("small", base_url=f"http://{server.url}/v1").chat(REQUEST)
    assert server.requests[-1][0] == "/v1/chat/completions"


def test_a_reply_through_a_socks_proxy_is_read_in_pieces_between_which_the_deadline_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The package for SOCKS need not be installed.
    monkeypatch.setattr(http_client, "_proxied", lambda *_: urllib3.PoolManager())
    for proxy, whole in (("", True), ("http://127.0.0.1:1", True), ("socks5://127.0.0.1:1", False)):
        monkeypatch.setenv("http_proxy", proxy)
        client = http_client.HttpClient("http://models.test/v1", None, timeout_s=1, connect_s=1)
        assert client.keeps_deadline == whole


def test_a_certificate_is_checked_against_those_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Seen(context) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://{server.url}/v1"
        with pytest.raises(TransportError, match="the connection failed"):
            OpenAIChat("small", base_url=url).chat(REQUEST)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert OpenAIChat("small", base_url=url).chat(REQUEST).text == TEXT
        server.shutdown()


def self_signed(folder: Path) -> Path:
    """Write a certificate for 127.0.0.1 and its key to one file."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), 7, now - timedelta(1), now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(
        signed.public_bytes(pem)
        + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return file


def test_the_json_of_a_request_is_strict():
    assert json.loads(http_client._as_json({"text": "NaN — Infinity", "n": 0.25})) == {
        "text": "NaN — Infinity",
        "n": 0.25,
    }
    with pytest.raises(ValueError, match="JSON compliant"):
        http_client._as_json({"temperature": float("nan")})
