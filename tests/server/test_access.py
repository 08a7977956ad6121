"""Who may call: tokens, scopes, Host and Origin."""

import pytest

from polygraph.errors import BadInput
from polygraph.server.access.tokens import foreign_request, new_token, parse_tokens, read_tokens, token_line
from polygraph.server.settings import LOOPBACK

LIST = "/api/v1/indexes"


@pytest.mark.parametrize("path", [LIST, "/api/v1/nothing", "/v1/models", "/metrics", "/openapi.json", "/mcp"])
def test_without_a_token_nothing_is_told(server, path):
    with server.client(token="") as client:
        response = client.get(path)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("given", ["Bearer x", "Bearer", "Basic cnI=", "r" * 32, "Bearer " + "r" * 31])
def test_a_wrong_token_is_refused(server, given):
    with server.client(token="") as client:
        assert client.get(LIST, headers={"authorization": given}).status_code == 401


def test_health_needs_no_token(server):
    with server.client(token="") as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "evil.example@127.0.0.1"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
    ],
)
def test_a_foreign_host_or_origin_is_refused_even_with_a_token(client, headers):
    assert client.get(LIST, headers=headers).status_code == 403


def test_the_own_page_is_not_foreign(server, client):
    assert client.get(LIST, headers={"origin": server.url}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost", "[::1]:8321", "LOCALHOST:1"])
def test_every_name_of_this_machine_is_allowed(host):
    assert foreign_request({"host": host}, LOOPBACK) == ""


def test_every_response_has_safe_headers_and_an_id(server):
    with server.client(token="") as client:
        found = [client.get(path).headers for path in ("/healthz", LIST, "/nothing")]
    for headers in found:
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers
    assert len({headers["x-request-id"] for headers in found}) == 3


def test_tokens_are_kept_as_hashes_and_have_scopes():
    token = new_token()
    tokens = parse_tokens(f"# who may come\n\n{token_line('ada', 'write', token)}  # Ada\n", "test")
    ada = tokens.principal(f"bearer {token}")
    assert (ada.name, ada.may("read"), ada.may("write"), ada.may("admin")) == ("ada", True, True, False)
    assert tokens.principal(f"Bearer {token}x") is None
    assert token not in repr(vars(tokens))


def test_a_name_that_no_line_can_hold_gets_no_token():
    with pytest.raises(BadInput, match="'a b' is not valid"):
        token_line("a b", "read", new_token())


@pytest.mark.parametrize(
    "line",
    [
        "ada",
        "ada owner " + "x" * 30,
        "ada read short-and-sweet",
        "ada read sha256:12",
        "a/b read " + "x" * 30,
    ],
)
def test_a_wrong_line_is_named_without_its_secret(line):
    with pytest.raises(BadInput, match="line 1") as caught:
        parse_tokens(line, "tokens.txt")
    assert line.split()[-1] not in str(caught.value) or line == "ada"


def test_a_file_of_tokens_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"none\.txt cannot be read: No such file or directory$"):
        read_tokens(tmp_path / "none.txt")


def test_a_file_without_tokens_is_refused(tmp_path):
    (tmp_path / "tokens.txt").write_text("# none yet\n")
    with pytest.raises(BadInput, match="polygraph token"):
        read_tokens(tmp_path / "tokens.txt")
