"""Everything public is documented, and everything documented exists."""

import dataclasses
import html
import importlib
import importlib.util
import inspect
import re
import sys
import tomllib
from pathlib import Path

import pytest
import typer.main

import polygraph
from polygraph import errors, records
from polygraph.cli import COMMAND_GROUPS, app
from polygraph.config import OPENAI_VARIABLES, SECRET, Settings
from polygraph.ingest import FORMATS
from polygraph.retrieve import METHODS
from polygraph.store.layers import DEPENDENCIES


def _pages():
    # The test folders are not packages.
    spec = importlib.util.spec_from_file_location("docs_pages", Path(__file__).with_name("pages.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_pages"] = module
    spec.loader.exec_module(module)
    return module


def _commands(group, before=""):
    """Yield commands by name, in the order of the help; commands of a group have its name as a prefix."""
    for name in group.list_commands(None):
        command = group.commands[name]
        is_group = hasattr(command, "commands")
        if not is_group or command.invoke_without_command:
            yield f"{before}{name}", command
        if is_group:
            yield from _commands(command, f"{before}{name} ")


pages = _pages()
ROOT, DOCS = pages.ROOT, pages.DOCS
COMMANDS = dict(_commands(typer.main.get_command(app)))
METHOD_PAGES = pages.method_pages()
EVERYTHING = "\n".join(page.read_text(encoding="utf-8") for page in pages.PAGES)
_OPTION = re.compile(r"`[^`]*`")
_FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ROW = re.compile(r"^\| `([\w./]+)`((?:, `[\w./]+`)*) \|(.*)\|$", re.MULTILINE)


def read(name):
    return (DOCS / name).read_text(encoding="utf-8")


def sections(text):
    """Return the text below each second-level heading, by heading."""
    parts = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    return {
        head.strip("` ").removeprefix("polygraph "): body
        for head, body in zip(parts[1::2], parts[2::2], strict=True)
    }


# --- commands -----------------------------------------------------------------------------------------


def test_every_command_has_a_section_in_the_order_of_the_help():
    assert list(sections(read("commands.md"))) == list(COMMANDS)


def test_every_command_is_in_one_group_of_the_help():
    listed = [name for names in COMMAND_GROUPS.values() for name in names]
    assert sorted(listed) == sorted(typer.main.get_command(app).commands)


def test_every_command_is_in_the_table_for_choosing_one():
    table, _, _ = read("commands.md").partition("\n## ")
    named = set(re.findall(r"\]\(#polygraph-(\w+)", table))
    assert named == {name.split()[0] for name in COMMANDS}


def _documented_options(text):
    """Return the options in the first column of the tables."""
    firsts = [re.split(r"(?<!\\)\|", line)[1] for line in text.splitlines() if line.startswith("| `")]
    return {flag for cell in firsts for code in _OPTION.findall(cell) for flag in _FLAG.findall(code)}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_of_a_command_is_documented_and_no_other(name):
    page = read("commands.md")
    # Options that mean the same everywhere stand at the beginning of the page only.
    shared = _documented_options(page.partition("\n## ")[0])
    documented = _documented_options(sections(page)[name])
    real = {opt for p in COMMANDS[name].params if p.param_type_name == "option" for opt in p.opts} - {
        "--help",
        "-h",
    }
    switched_off = {opt for p in COMMANDS[name].params for opt in p.secondary_opts}
    assert real - shared <= documented <= real | switched_off


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_help_of_a_command_is_its_first_sentence_in_the_docs(name):
    # One wording in both places.
    body = sections(read("commands.md"))[name]
    first = COMMANDS[name].help.strip().split("\n")[0]
    assert " ".join(first.split()).rstrip(".") in " ".join(body.split())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_help_of_a_command_is_not_cut_in_the_list_of_commands(name):
    first = COMMANDS[name].help.strip().split(". ")[0].rstrip(".")
    # 80 columns, less those of the longest name, two spaces on each side of it, and the full stop.
    longest = max(len(other.split()[-1]) for other in COMMANDS)
    assert len(first) <= 80 - longest - 2 - 2 - 1


def test_options_in_shown_commands_exist():
    for page in pages.PAGES:
        for block in pages.blocks(page):
            for line in block.text.replace("\\\n", " ").splitlines():
                words = line.removeprefix("$ ").split()
                named = next((n for n in (" ".join(words[1:3]), *words[1:2]) if n in COMMANDS), "")
                if block.language == "console" and words[:1] == ["polygraph"] and named:
                    real = {opt for p in COMMANDS[named].params for opt in p.opts} | {"--help"}
                    used = {w.partition("=")[0] for w in words if w.startswith("--")}
                    assert used <= real, f"{block.name}: {line}"


# --- methods ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", sorted(set(METHOD_PAGES.values())), ids=lambda p: p.stem)
def test_every_method_has_a_page_with_its_parameters_needs_and_presets(page):
    text = page.read_text(encoding="utf-8")
    defaults = {name: METHODS[name] for name, where in METHOD_PAGES.items() if where == page}
    rows = {found[1]: found[3] for found in _ROW.finditer(text)}
    for field in dataclasses.fields(next(iter(defaults.values()))):
        # Methods of one page differ in a parameter or two, whose row has the value of each.
        values = dict.fromkeys(getattr(default, field.name) for default in defaults.values())
        shown = ", ".join(f'`"{value}"`' if isinstance(value, str) else f"`{value}`" for value in values)
        assert rows.get(field.name, "").strip().startswith(f"{shown} |"), f"{field.name}: {shown}"
    needs = re.search(r"\*\*Needs\*\* (.*?)\. \*\*", text, re.DOTALL)
    assert {frozenset(re.findall(r"`(\w+)`", needs[1]))} == {default.needs for default in defaults.values()}
    for preset, method in METHODS.items():
        name, is_preset, _ = preset.partition(":")
        if is_preset and name in defaults:
            row = _row_of_preset(text, preset)
            for field in dataclasses.fields(method):
                value = getattr(method, field.name)
                if value != getattr(defaults[name], field.name) and value != 1_000_000:
                    assert f"`{value}`" in row or f'`"{value}"`' in row, f"{preset}: {field.name}"
    parts = (
        "Idea",
        "Steps",
        "Parameters",
        "Needs",
        "Calls",
        "Good at",
        "Bad at",
        "With and without",
        "Presets",
    )
    assert all(f"**{part}" in text for part in parts)


def _row_of_preset(text, preset):
    """Return the row of a preset, with the row of the one that it builds on: "as `...`"."""
    row = next(line for line in text.splitlines() if re.match(rf"\| [^|]*`{preset}`", line))
    base = re.search(r"\| as `([\w:-]+)`", row)
    return f"{row} {_row_of_preset(text, base[1])}" if base else row


def test_the_readme_lists_every_method_and_every_page_is_of_a_method():
    assert set(METHOD_PAGES) == {name.partition(":")[0] for name in METHODS}
    assert set((DOCS / "methods").glob("*.md")) == set(METHOD_PAGES.values())


def test_presets_named_in_the_docs_exist():
    bases = "|".join(sorted({name.partition(":")[0] for name in METHODS}, key=len, reverse=True))
    named = set(re.findall(rf"(?<![\w-])((?:{bases}):[a-z][\w-]*)", EVERYTHING))
    assert named <= set(METHODS)


# --- settings -----------------------------------------------------------------------------------------


def test_every_setting_is_documented_with_its_environment_name_and_default():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.+) \|$", read("configuration.md"), re.MULTILINE)
    assert [row[0] for row in rows] == list(Settings.model_fields)
    for name, environment, default, meaning in rows:
        field = Settings.model_fields[name]
        value = field.get_default(call_default_factory=True)
        plain = {"": "empty", "()": "none", "None": "none", "{}": "none"}.get(str(value))
        assert default == (plain or f"`{value}`"), name
        assert f"`POLYGRAPH_{name.upper()}`" in environment or name == "prices"
        if name in OPENAI_VARIABLES:
            assert f"`{OPENAI_VARIABLES[name]}`" in environment
        # One wording in the documentation and in `polygraph config --explain`.
        assert re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", meaning) == field.description
    assert SECRET in [row[0] for row in rows]


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_the_documented_environment_name_is_read(name, tmp_path):
    from polygraph.config import explain_settings

    if name == "prices":  # a table, only in the file
        return
    examples = {
        "reranker": "none",
        "extractor": "nlp",
        "gleaning": "base",
        "durability": "full",
        "offline": "true",
        "max_gleanings": "2",
        "profile": "lightrag",
        "community_weight": "mentions",
        "reader_form": "raft",
        "citation_check": "model",
    }
    environ = {f"POLYGRAPH_{name.upper()}": examples.get(name, "50")}
    row = next(r for r in explain_settings(environ=environ, folder=tmp_path) if r.name == name)
    assert row.source == f"environment POLYGRAPH_{name.upper()}"


# --- errors, names, records, layers -------------------------------------------------------------------


def test_every_error_is_documented_with_its_exit_code():
    real = {
        name: cls
        for name, cls in vars(errors).items()
        if inspect.isclass(cls) and issubclass(cls, errors.PolygraphError)
    }
    branches = {"PolygraphError", "UserError", "WorkFailed"}
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (\d) \|$", read("errors.md"), re.MULTILINE))
    assert rows == {name: str(cls.exit_code) for name, cls in real.items() if name not in branches}
    assert all(f"`{name}`" in read("errors.md") for name in branches)


def test_every_file_format_is_documented():
    rows = [line for line in sections(read("commands.md"))["index"].splitlines() if line.startswith("| ")]
    assert set(re.findall(r"`(\.[a-z\d]+)`", "\n".join(rows))) == set(FORMATS)


def test_every_extra_is_documented():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"^\| `([\w-]+)` \|", sections(read("configuration.md"))["Extras"], re.MULTILINE)
    assert sorted(named) == sorted(set(project["optional-dependencies"]) - {"dev"})


def test_every_public_name_is_documented():
    for name in polygraph.__all__:
        assert re.search(rf"`(?:polygraph\.)?{name}`", EVERYTHING), name


def test_every_record_and_its_fields_are_in_the_table_of_the_data_model():
    page = read("data-model.md")
    for name, cls in vars(records).items():
        if dataclasses.is_dataclass(cls) and cls.__module__ == records.__name__:
            row = next((line for line in page.splitlines() if line.startswith(f"| `{name}` |")), "")
            fields = re.findall(r"`(\w+)`", re.split(r"(?<!\\)\|", row)[4]) if row else []
            assert fields == [f.name for f in dataclasses.fields(cls)], name


def test_every_layer_is_in_the_data_model_with_what_it_rests_on():
    page = read("data-model.md")
    for layer, below in DEPENDENCIES.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{layer}` |"))
        rests_on = row.split("|")[3].strip()
        assert rests_on == (", ".join(f"`{b}`" for b in below) or "documents"), layer


# --- the map for contributors -------------------------------------------------------------------------


def test_paths_that_contributors_are_sent_to_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [path for path in re.findall(r"`([\w.]+/[\w/.]+)`", text) if "NAME" not in path]
    assert len(named) > 10
    built = (ROOT / ".gitignore").read_text(encoding="utf-8").split()  # a fresh clone has none of it
    missing = [p for p in named if not ((ROOT / p).exists() or (ROOT / "src" / "polygraph" / p).exists())]
    assert not [p for p in missing if f"src/polygraph/{p}" not in built]


# --- links and pictures -------------------------------------------------------------------------------


LINKED = [
    *pages.PAGES,
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "benchmarks" / "results").iterdir()),
]


@pytest.mark.parametrize("page", LINKED, ids=lambda p: str(p.relative_to(pages.ROOT)))
def test_no_relative_link_is_broken(page):
    for target in _LINK.findall(pages.prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            heads = re.findall(r"^#+ +(.+)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}
            assert anchor in slugs, f"{page.name}: {target}"


def test_every_page_is_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        for target in _LINK.findall(pages.prose(page)):
            there = (page.parent / target.partition("#")[0]).resolve()
            if not re.match(r"[a-z]+:", target) and there.is_file():
                waiting.append(there)
    assert set(LINKED) <= reached


def test_no_page_or_picture_contains_a_path_of_a_machine():
    for path in [*LINKED, ROOT / "CHANGELOG.md", *(DOCS / "images").iterdir()]:
        # Bytes, since the text fields of a PNG count too.
        assert not re.search(rb"/(?:tmp|home|root|work|Users)/", path.read_bytes()), path.name


def test_the_picture_shows_the_questions_of_the_demo():
    demo = importlib.import_module("polygraph.cli.demo")
    drawn = html.unescape(re.sub(r"<[^>]+>", "", (DOCS / "images" / "demo.svg").read_text(encoding="utf-8")))
    drawn = " ".join(drawn.split())
    for question, method in demo.SAMPLE_QUESTIONS:
        both = question in drawn and f"[{method}]" in drawn
        assert both, (
            f"{question!r} is not in the picture; update it with: python docs/make_terminal_picture.py"
        )
