"""Files that are left out, by `.polygraphignore` and by patterns."""

import shutil
import subprocess
import time

import pytest

from polygraph.errors import BadInput
from polygraph.ingest import find_files, select
from polygraph.ingest.ignore import IgnoreRules

FILES = [
    "a.txt", "b.log", "keep.log", "docs/a.txt", "docs/build/x.txt", "build/x.txt", "docs/deep/er/a.md",
    "logs/1.log", "logs/a/2.log", "odd name.txt", "#hash.txt", "x1.txt", "x2.txt", "xa.txt", "star.txt",
]  # fmt: skip
PATTERNS = [
    "*.log",
    "*.log\n!keep.log",
    "/build/",
    "build/",
    "docs/**/a.*",
    "**/er/",
    "docs/*",
    "docs/**",
    "/*.txt",
    "x[0-9].txt",
    "x[!0-9].txt",
    "?1.txt",
    "# comment\n\\#hash.txt",
    "odd name.txt   ",
    "logs\n!logs/1.log",
    "s**r.txt",
    "*a*t*t",
    "**/d*p/**/*.*d",
    "[",
    "a/b/../c",
]


def _folder(folder):
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("Text.")
    return folder


def _found(folder, **patterns):
    return [each.id for each in find_files([folder], select(**patterns))]


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@pytest.mark.parametrize("patterns", PATTERNS)
def test_the_patterns_mean_what_they_mean_to_git(tmp_path, patterns):
    folder = _folder(tmp_path / "files")
    (folder / ".gitignore").write_text(patterns)
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    listed = subprocess.run(
        [*git, "-c", "core.quotepath=off", "ls-files", "-o", "--exclude-standard"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    wanted = sorted(name for name in listed.stdout.splitlines() if name != ".gitignore")
    (folder / ".polygraphignore").write_text(patterns)
    assert sorted(_found(folder)) == wanted


def test_a_file_of_patterns_in_a_folder_below_counts_there_and_first(tmp_path):
    folder = _folder(tmp_path)
    (folder / ".polygraphignore").write_text("*.txt\n")
    (folder / "docs" / ".polygraphignore").write_text("!a.txt\n")
    assert "docs/a.txt" in _found(folder)
    assert "a.txt" not in _found(folder)


def test_include_and_exclude_select_files(tmp_path):
    folder = _folder(tmp_path)
    assert _found(folder, include=["*.md", "keep.*"]) == ["docs/deep/er/a.md", "keep.log"]
    assert _found(folder, include=["docs/**"], exclude=["build/"]) == ["docs/a.txt", "docs/deep/er/a.md"]


def test_a_file_that_was_given_is_read_whatever_the_patterns(tmp_path):
    folder = _folder(tmp_path)
    (folder / ".polygraphignore").write_text("*\n")
    found = find_files([folder / "a.txt"], select(exclude=["*"]))
    assert [each.id for each in found] == ["a.txt"]


def test_patterns_apply_to_what_a_glob_finds(tmp_path):
    folder = _folder(tmp_path)
    found = find_files([str(folder / "**" / "*.txt")], select(exclude=["docs/"]))
    assert "a.txt" in [each.id for each in found]


def test_a_pattern_that_is_too_long_is_refused():
    with pytest.raises(BadInput, match="the pattern"):
        select(exclude=["x" * 1001])


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*a" * 50 + "b", "a" * 200 + "b"), ("**/a/" * 50 + "b", "a/" * 300 + "b"), ("**/" * 50 + "b", "a/" * 300 + "b")],
    ids=["stars", "folders", "any folders"],
)  # fmt: skip
def test_a_pattern_with_many_wildcards_is_compared_in_linear_time(pattern, path):
    rules = IgnoreRules([pattern], "here")
    begin = time.process_time()
    assert rules.ignores(path, folder=False)
    assert rules.ignores(f"{path[:-1]}c", folder=False) is None
    assert time.process_time() - begin < 1  # to try all places takes years
