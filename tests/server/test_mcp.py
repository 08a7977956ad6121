"""The official client of MCP against the server, over both transports."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from polygraph.workspace.index import Index
from tests.server.conftest import PAPERS, READ, WRITE, build, serving

httpx2 = pytest.importorskip("httpx2", reason="needs the extra `server`")

from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402

TOOLS = {"search", "ask", "explain", "list_documents", "read_document", "graph_neighbours"}
QUESTION = "Who built the Skerry Light?"


def run_apart(made):
    """Run a coroutine in a thread of its own: after tests of the page, a loop of the browser runs in the main one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, made).result()


def over_http(url, use, token=READ):
    """Run `use(client)` with a client over HTTP."""

    async def run():
        own = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=own, timeout=30) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            return await use(client)

    return run_apart(run())


def over_stdio(folder, use, *arguments):
    """Run `use(client)` with a client of `polygraph mcp`."""

    async def run():
        command = [
            "-c", "import sys; from polygraph.cli import main; main()",
            "mcp", "--offline", "--index", f"papers={folder}", *arguments,
        ]  # fmt: skip
        started = StdioServerParameters(command=sys.executable, args=command)
        async with Client(stdio_client(started)) as client:
            return await use(client)

    return run_apart(run())


async def use_everything(client):
    """Call each tool and read each kind of resource; return what came."""
    found = {"tools": {tool.name: tool for tool in (await client.list_tools()).tools}}
    steps = []

    async def on_progress(progress, total, message):
        steps.append(message)

    async def call(name, **arguments):
        reply = await client.call_tool(name, arguments, progress_callback=on_progress)
        assert not reply.is_error, reply.content
        return reply.structured_content

    found["search"] = await call("search", question=QUESTION, k=2)
    found["ask"] = await call("ask", question=QUESTION)
    found["explain"] = await call("explain", answer=found["ask"]["id"])
    found["list"] = await call("list_documents", limit=2)
    found["rest"] = await call("list_documents", after=found["list"]["next"])
    found["read"] = await call("read_document", id="light.txt", start=5, end=10)
    found["neighbours"] = await call("graph_neighbours", entity="Mara Quill")
    found["resources"] = {str(each.uri) for each in (await client.list_resources()).resources}
    document = await client.read_resource("polygraph://papers/documents/light.txt")
    found["document"] = document.contents[0].text
    report = next(uri for uri in sorted(found["resources"]) if "/reports/" in uri)
    found["report"] = (await client.read_resource(report)).contents[0].text
    found["steps"] = steps
    return found


def check_everything(found):
    assert set(found["tools"]) == TOOLS
    assert all(tool.output_schema for tool in found["tools"].values())
    assert all(tool.annotations.read_only_hint for tool in found["tools"].values())
    assert len(found["search"]["evidence"]) == 2
    assert found["search"]["evidence"][0]["document"] == "light.txt"
    assert found["ask"]["citations"][0]["document"] == "light.txt"
    assert found["explain"]["question"] == QUESTION
    assert found["explain"]["evidence"]
    listed = [each["id"] for each in found["list"]["documents"] + found["rest"]["documents"]]
    assert listed == ["light.txt", "page.txt", "ship.txt"]
    assert found["rest"]["next"] is None
    assert found["read"]["text"] == "Quill"
    assert found["neighbours"]["entity"]["name"] == "Mara Quill"
    assert found["neighbours"]["relations"][0]["documents"] == ["light.txt"]
    assert "polygraph://papers/documents/light.txt" in found["resources"]
    assert found["document"].startswith("Mara Quill built")
    assert found["report"].startswith("# ")
    assert "evidence found" in found["steps"]


def failure(url, name, arguments, token=READ):
    """Return the message with which a tool fails."""

    async def call(client):
        reply = await client.call_tool(name, arguments)
        assert reply.is_error
        return reply.content[0].text

    return over_http(url, call, token)


def test_every_tool_and_resource_over_http_is_read_only_for_a_server_that_is(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}, write=False) as running:
        check_everything(over_http(running.url, use_everything))


@pytest.mark.slow
def test_every_tool_and_resource_over_stdio(tmp_path):
    with build(tmp_path / "papers") as index:
        folder = index.folder
    check_everything(over_stdio(folder, use_everything))


def test_a_refusal_without_a_model_has_the_nearest_passages(offline_server):
    async def ask(client):
        asked = {"question": "Did Zebulon see the Skerry Light?", "method": "bm25"}
        return (await client.call_tool("ask", asked)).structured_content

    found = over_http(offline_server.url, ask)
    assert found["refused"]
    assert found["citations"] == []
    assert all(each["quote"] in PAPERS[each["document"]] for each in found["nearest"])
    assert len(found["nearest"]) >= 2


def test_without_a_token_nothing_is_answered(server):
    client = server.client(token="")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert client.post("/mcp", json=body).status_code == 401
    assert client.post("/mcp", json=body, headers={"authorization": "Bearer wrong"}).status_code == 401
    foreign = {"origin": "http://evil.example"}
    assert server.client().post("/mcp", json=body, headers=foreign).status_code == 403


def test_errors_are_the_sentences_of_the_command_line(server):
    assert "there is no document 'ghost'" in failure(server.url, "read_document", {"id": "ghost"})
    assert "there is no index 'other'" in failure(
        server.url, "search", {"question": QUESTION, "index": "other"}
    )
    assert "no entity is named 'Nobody'" in failure(server.url, "graph_neighbours", {"entity": "Nobody"})
    assert "nosuch" in failure(server.url, "ask", {"question": QUESTION, "method": "nosuch"})
    assert "no longer kept" in failure(server.url, "explain", {"answer": "0" * 16})


def test_a_wrong_argument_is_named_with_what_is_allowed(server):
    def said(name, **arguments):
        return failure(server.url, name, arguments)

    assert said("search", question=QUESTION, k=0) == "search: k is not valid. Give at least 1"
    assert said("search", question=["a"], k="many") == (
        "search: question is not valid. Give a text; k is not valid. Give a whole number"
    )
    assert said("search") == "search: question: this field is required"
    assert said("graph_neighbours", entity="Mara Quill", hops=7) == (
        "graph_neighbours: hops is not valid. Give at most 2"
    )


def test_an_argument_that_a_tool_does_not_take_is_not_ignored(server):
    assert failure(server.url, "search", {"question": QUESTION, "limit": 3}) == (
        "search has no argument 'limit'. It has: question, method, k, index"
    )


def test_ids_are_never_paths(server):
    async def read(client):
        with pytest.raises(MCPError, match="there is no document"):
            await client.read_resource("polygraph://papers/documents/../../../../etc/passwd")

    over_http(server.url, read)


def test_an_answer_is_explained_to_nobody_else(server):
    async def ask(client):
        return (await client.call_tool("ask", {"question": QUESTION})).structured_content["id"]

    answer = over_http(server.url, ask)
    assert "no longer kept" in failure(server.url, "explain", {"answer": answer}, token=WRITE)


def test_only_a_token_that_may_write_removes_a_document(tmp_path):
    async def remove(client):
        reply = await client.call_tool("remove_document", {"id": "ship.txt"})
        assert not reply.is_error, reply.content
        assert reply.structured_content["documents"] == ["ship.txt"]
        return (await client.call_tool("list_documents", {})).structured_content["documents"]

    with serving({"papers": build(tmp_path / "papers")}) as running:
        assert "scope write" in failure(running.url, "remove_document", {"id": "ship.txt"})
        left = over_http(running.url, remove, WRITE)
        assert [each["id"] for each in left] == ["light.txt", "page.txt"]
        said = failure(running.url, "remove_document", {"id": "ship.txt"}, token=WRITE)
        assert "there is no document 'ship.txt'. List them with the tool list_documents" in said


MILL = "Tobias Wren opened the Cork Mill in 1911."


async def add_and_remove(client):
    """Add a text, ask for it, add it again, and remove it; progress is reported."""
    heard = []

    async def progress(done, total, message):
        heard.append(message)

    given = {"text": MILL, "name": "../../mill.md"}
    reply = await client.call_tool("add_document", given, progress_callback=progress)
    assert not reply.is_error, reply.content
    (id,) = reply.structured_content["documents"]
    assert id.endswith("/mill.md")
    assert ".." not in id
    assert heard
    asked = await client.call_tool("ask", {"question": "Who opened the Cork Mill?", "method": "bm25"})
    cited = asked.structured_content["citations"][0]
    assert (cited["document"], cited["name"]) == (id, "mill.md")
    again = await client.call_tool("add_document", given)
    assert again.structured_content["documents"] == [id]
    assert not (await client.call_tool("remove_document", {"id": id})).is_error
    # It does not come back with the next text.
    await client.call_tool("add_document", {"text": "Ada Fenn sold the Cork Mill.", "name": "fenn.txt"})
    listed = (await client.call_tool("list_documents", {})).structured_content["documents"]
    return [each["name"] for each in listed]


def test_a_text_is_added_and_removed_over_http(tmp_path):
    with serving({"papers": build(tmp_path / "papers")}) as running:
        assert "scope write" in failure(running.url, "add_document", {"text": MILL})
        names = over_http(running.url, add_and_remove, WRITE)
        assert sorted(names) == ["fenn.txt", "light.txt", "page.txt", "ship.txt"]


@pytest.mark.slow
def test_a_text_is_added_and_removed_over_stdio(tmp_path):
    for name, text in PAPERS.items():
        (tmp_path / name).write_text(text)
    with Index.open(tmp_path / "index", offline=True) as index:
        index.add(*(tmp_path / name for name in PAPERS))
    names = over_stdio(tmp_path / "index", add_and_remove, "--write")
    assert sorted(names) == ["fenn.txt", "light.txt", "page.txt", "ship.txt"]
