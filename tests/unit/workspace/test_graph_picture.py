"""Pictures of the graph without a server."""

import xml.etree.ElementTree as ET

import pytest
from typer.testing import CliRunner

from polygraph.cli import app
from polygraph.errors import BadInput
from polygraph.store.snapshot import Snapshot
from polygraph.testing import hashed_models
from polygraph.testing.small_indexes import small_indexes
from polygraph.workspace.graph_map import GraphMap
from polygraph.workspace.graph_picture import make_picture, page, svg


@pytest.fixture(scope="module")
def folder():
    return small_indexes(hashed_models())["all"]


@pytest.fixture(scope="module")
def graph(folder):
    return GraphMap(Snapshot(folder))


def test_every_entity_is_a_dot_with_its_name(graph):
    root = ET.fromstring(svg(make_picture(graph, "A <harbour> & more")))
    name = "{http://www.w3.org/2000/svg}"
    dots = [
        each.find(f"{name}title").text
        for each in root.iter(f"{name}circle")
        if each.find(f"{name}title") is not None
    ]
    assert sorted(dots) == sorted(graph.names)
    assert "A <harbour> & more" in {each.text for each in root.iter(f"{name}text")}


def test_a_name_cannot_become_markup_or_script(graph):
    picture = make_picture(graph, "</title><script>alert(1)</script>")
    assert "<script>alert" not in page(picture)
    assert "<script" not in svg(picture)


def test_places_are_stored_once_and_read_again(folder, graph):
    again = GraphMap(Snapshot(folder))
    assert (again.places == graph.places).all()
    assert len(list((folder / "derived").glob("layout-*/places.npy"))) == 1


def test_the_legend_counts_every_entity(graph):
    assert sum(line.size for line in make_picture(graph, "x").legend) == len(graph.ids)


def test_a_level_that_does_not_exist_is_an_error_with_those_that_do(graph):
    with pytest.raises(BadInput, match="Levels: 0"):
        make_picture(graph, "x", level=77)


def test_the_command_writes_the_pictures_that_it_is_asked_for(folder, tmp_path):
    files = [tmp_path / "graph.svg", tmp_path / "graph.html"]
    result = CliRunner().invoke(
        app, ["graph", "--index", str(folder), "--svg", str(files[0]), "--html", str(files[1])]
    )
    assert result.exit_code == 0, result.output
    assert files[0].read_text().startswith("<svg")
    assert files[1].read_text().startswith("<!doctype html>")
    assert "entities" in result.output
    assert CliRunner().invoke(app, ["graph", "--index", str(folder)]).exit_code != 0


@pytest.mark.slow
def test_a_png_is_drawn_with_matplotlib(folder, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra `eval`")
    file = tmp_path / "graph.png"
    assert CliRunner().invoke(app, ["graph", "--index", str(folder), "--png", str(file)]).exit_code == 0
    assert file.read_bytes().startswith(b"\x89PNG")
