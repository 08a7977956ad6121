"""The drawing in `docs/design/architecture.md` is the contract that import-linter enforces."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def drawn_layers():
    page = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")
    drawing = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    rows = (re.split(r"\s{3,}", line.strip()) for line in drawing.splitlines() if set(line) - set(" |"))
    # The last column of a row explains it.
    return [
        {name.strip(" /") for part in row[:-1] for name in part.split("|") if name.strip()} for row in rows
    ]


def contracts():
    """Return the contracts; those on packages below `polygraph` as well as the one on `polygraph` itself."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]


def test_the_drawing_shows_the_layers_of_the_contract():
    contract = next(c for c in contracts() if c["name"] == "Data flows one way")
    enforced = [{name.strip() for name in layer.split("|")} for layer in reversed(contract["layers"])]
    assert [layer for layer in enforced if layer != {"__main__"}] == drawn_layers()


def test_the_map_for_contributors_names_every_room():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z]+)/?`", guide.partition("## I want to add")[0]))
    rooms = {
        path.stem
        for path in (ROOT / "src" / "polygraph").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").is_file()) and not path.stem.startswith("_")
    }
    assert rooms <= named


def test_every_package_with_rooms_of_its_own_has_a_contract():
    contained = {container for c in contracts() for container in c.get("containers", ())}
    source = ROOT / "src" / "polygraph"
    packages = {
        ".".join(("polygraph", *path.parent.relative_to(source).parts))
        for path in source.rglob("__init__.py")
        if any((child / "__init__.py").is_file() for child in path.parent.iterdir() if child.is_dir())
    }
    assert packages <= contained
