"""Digests that detect changes of the code behind a result."""

import importlib.util
import sys

import pytest

from polygraph.evaluate.runs.provenance import code_digest, package_digest
from polygraph.retrieve import METHODS


@pytest.fixture
def package(tmp_path):
    for name, text in (("retrieve/a.py", "A = 1"), ("prompts/a.md", "Say."), ("cli/b.py", "B = 1")):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_the_digest_covers_code_and_prompts_but_not_the_command_line(package):
    before = package_digest(package)
    (package / "cli" / "b.py").write_text("B = 2", encoding="utf-8")
    assert package_digest(package) == before
    (package / "retrieve" / "a.py").write_text("A = 2", encoding="utf-8")
    after = package_digest(package)
    assert after != before
    (package / "prompts" / "a.md").write_text("Say it.", encoding="utf-8")
    assert package_digest(package) not in (before, after)


def test_a_moved_module_changes_the_digest(package):
    before = package_digest(package)
    (package / "retrieve" / "a.py").rename(package / "retrieve" / "b.py")
    assert package_digest(package) != before


def own_method(path, text, monkeypatch):
    path.write_text(f"{text}\nclass Mine:\n    pass\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module.Mine()


def test_the_digest_covers_the_module_of_a_users_method(tmp_path, monkeypatch):
    names = ("own_a1", "own_b1", "own_c2")
    one, same, other = (own_method(tmp_path / f"{n}.py", f"K = {n[-1]}", monkeypatch) for n in names)
    assert code_digest(one) == code_digest(same) != code_digest(other)


def test_a_method_without_a_file_has_the_digest_of_the_package():
    typed = type("Typed", (), {"__module__": "__typed__"})()
    assert code_digest(typed) == code_digest(METHODS["bm25"])
