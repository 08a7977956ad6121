"""Retrieval evaluations over HTTP: a real measurement, saved as the command prints it."""

import json

import pytest

from polygraph.evaluate.questions.file import Question
from tests.server.conftest import PAPERS, READ, build, serving
from tests.server.test_jobs import FAST


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    index = build(folder / "papers")
    return folder, index


@pytest.fixture(scope="module")
def report(measured):
    index = measured[1]
    gold = next(iter(PAPERS))
    asked = [Question(id=f"q{n}", question=f"Who built light {n}?", evidence=(gold,)) for n in range(3)]
    return index.evaluate_retrieval(asked, ["bm25", "naive"], ks=[1, 5]).as_dict()


@pytest.fixture(scope="module")
def reader(measured, report):
    folder, index = measured
    studies = folder / "studies"
    studies.mkdir()
    (studies / "first.json").write_text(json.dumps(report))
    (studies / "other.json").write_text('{"methods": []}')
    (studies / "large.json").write_text(json.dumps(report) + " " * 20_000_000)
    (studies / "nan.json").write_text(json.dumps(report | {"methods": _with_nan(report)}))
    (folder / "secret.json").write_text(json.dumps(report))
    with (
        serving({"papers": index}, studies=studies, open_index=FAST) as server,
        server.client(READ) as client,
    ):
        yield client


def _with_nan(report):
    return {name: values | {report["metric"]: float("nan")} for name, values in report["methods"].items()}


def test_only_retrieval_evaluations_are_listed(reader, report):
    (found,) = reader.get("/api/v1/evaluations").json()["evaluations"]
    assert found == {
        "name": "first",
        "metric": report["metric"],
        "questions": 3,
        "methods": ["bm25", "naive"],
    }


def test_the_table_has_the_figures_of_the_report(reader, report):
    table = reader.get("/api/v1/evaluations/first").json()
    assert table["questions"] == {"asked": 3, "total": 3}
    for method in table["methods"]:
        values = report["methods"][method["name"]]
        assert method["metrics"].keys() == values["intervals"].keys()
        for metric, shown in method["metrics"].items():
            assert [shown["mean"], shown["low"], shown["high"]] == [
                values[metric],
                *values["intervals"][metric],
            ]
    (difference,), (expected,) = table["differences"], report["comparisons"]
    assert [difference["low"], difference["high"]] == expected["interval"]
    assert difference["decision"] == expected["decision"]
    assert difference["wins"] + difference["ties"] + difference["losses"] == difference["n"] == 3


@pytest.mark.parametrize("name", ["none", "..", "%2e%2e%2fsecret", "..%5csecret"])
def test_a_name_is_never_a_path(reader, name):
    assert reader.get(f"/api/v1/evaluations/{name}").status_code == 404


@pytest.mark.parametrize("name", ["other", "nan", "large"])
def test_a_file_of_another_kind_says_how_to_write_one(reader, name):
    response = reader.get(f"/api/v1/evaluations/{name}")
    assert response.status_code == 422
    assert "polygraph eval retrieval --json" in response.text
