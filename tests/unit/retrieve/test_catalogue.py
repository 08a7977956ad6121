"""The table of methods loads what is asked for, and the catalogue describes every method."""

import re
import subprocess
import sys
from pathlib import Path

from polygraph.retrieve import METHODS, describe
from polygraph.retrieve.base import Method
from polygraph.retrieve.catalogue import CATALOGUE

README = Path(__file__).parents[3] / "README.md"


def test_looking_up_one_method_loads_no_other():
    code = """
import sys
from polygraph.retrieve import METHODS, method
list(METHODS), "hipporag" in METHODS
print([name for name in sys.modules if name.startswith("polygraph.retrieve.methods")])
method("bm25")
print([name for name in sys.modules if name.startswith("polygraph.retrieve.methods.")])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[]", "['polygraph.retrieve.methods.lexical']"]


def test_every_entry_of_the_table_is_a_method_and_is_made_once():
    assert all(isinstance(method, Method) for method in METHODS.values())
    assert METHODS["naive"] is METHODS["naive"]


def test_every_method_is_described_and_presets_share_the_description_of_their_method():
    assert list(CATALOGUE) == list(dict.fromkeys(name.partition(":")[0] for name in METHODS))
    assert describe("naive:graft") is describe("naive")
    for name, about in CATALOGUE.items():
        assert all((about.summary, about.source, about.tokens, about.good, about.bad)), name
    # Where methods are chosen, only the summary tells them apart.
    assert len({about.summary for about in CATALOGUE.values()}) == len(CATALOGUE)


def test_the_readme_groups_the_methods_as_the_catalogue_does():
    groups: dict[str, str] = {}
    group = ""
    for line in README.read_text(encoding="utf-8").splitlines():
        group = found[1] if (found := re.match(r"\| \*\*(\w+)\*\* \|", line)) else group
        names = "".join(re.findall(r"\[([^]]+)\]\(docs/methods/", line))
        groups |= dict.fromkeys(re.findall(r"`([\w-]+)`", names), group)
    assert groups == {name: about.group for name, about in CATALOGUE.items()}
