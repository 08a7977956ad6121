import pytest

from polygraph.config import Settings, explain_settings, load_settings
from polygraph.errors import BadInput
from polygraph.models.open import open_models


def test_flags_win_over_environment_over_file_over_defaults(tmp_path):
    (tmp_path / "polygraph.toml").write_text('concurrency = 2\nmethod = "bm25"\nlanguage = "de"\n')
    environ = {"POLYGRAPH_CONCURRENCY": "3", "POLYGRAPH_METHOD": "naive"}
    settings = load_settings({"method": "hybrid"}, environ=environ, folder=tmp_path)
    assert (settings.method, settings.concurrency, settings.language) == ("hybrid", 3, "de")
    origins = {
        o.name: o.source for o in explain_settings({"method": "hybrid"}, environ=environ, folder=tmp_path)
    }
    assert origins["method"] == "flag"
    assert origins["concurrency"] == "environment POLYGRAPH_CONCURRENCY"
    assert origins["language"] == str(tmp_path / "polygraph.toml")
    assert origins["chunk_tokens"] == "default"


def test_the_nearest_file_above_the_folder_is_found(tmp_path):
    (tmp_path / "polygraph.toml").write_text("concurrency = 2\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert load_settings(environ={}, folder=below).concurrency == 2


def test_the_usual_openai_variables_are_read_after_our_own(tmp_path):
    environ = {
        "OPENAI_API_KEY": "sk-theirs",
        "OPENAI_BASE_URL": "http://a/v1",
        "POLYGRAPH_BASE_URL": "http://b/v1",
    }
    settings = load_settings(environ=environ, folder=tmp_path)
    assert (settings.api_key, settings.base_url) == ("sk-theirs", "http://b/v1")


def test_a_key_is_never_shown(tmp_path):
    shown = {
        o.name: o.value
        for o in explain_settings({"api_key": "sk-1234567890abcdef"}, environ={}, folder=tmp_path)
    }
    assert "4567890" not in shown["api_key"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("concurrency = 0", "concurrency 0 does not fit"),
        ("concurency = 4", "there is no setting 'concurency'"),
        ("concurrency = ", "cannot be read"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path, content, message):
    (tmp_path / "polygraph.toml").write_text(content)
    with pytest.raises(BadInput, match=message) as caught:
        load_settings(environ={}, folder=tmp_path)
    assert "polygraph.toml" in str(caught.value)


def test_prices_in_the_environment_are_json_and_replace_those_of_the_file(tmp_path):
    (tmp_path / "polygraph.toml").write_text('[prices."my-model"]\ninput = 0.1\noutput = 0.4\n')
    environ = {"POLYGRAPH_PRICES": '{"other": {"input": 2, "output": 3.5}}'}
    settings = load_settings(environ=environ, folder=tmp_path)
    assert set(settings.prices) == {"other"}
    assert str(settings.prices["other"]) == "2 in, 3.5 out"
    shown = {row.name: row for row in explain_settings(environ=environ, folder=tmp_path)}
    assert shown["prices"].source == "environment POLYGRAPH_PRICES"


@pytest.mark.parametrize("value", ["0.15", "{", "[]", '{"m": 3}', '{"m": {"input": -1}}', '{"m": {"in": 1}}'])
def test_prices_that_cannot_be_read_name_the_variable(tmp_path, value):
    with pytest.raises(BadInput, match="POLYGRAPH_PRICES"):
        load_settings(environ={"POLYGRAPH_PRICES": value}, folder=tmp_path)


def test_lists_and_prices_can_be_written_in_a_file_and_lists_in_the_environment(tmp_path):
    (tmp_path / "polygraph.toml").write_text('[prices."my-model"]\ninput = 0.1\noutput = 0.4\n')
    settings = load_settings(environ={"POLYGRAPH_ENTITY_TYPES": "person, ship"}, folder=tmp_path)
    assert settings.entity_types == ("person", "ship")
    assert settings.prices["my-model"].output == 0.4


def test_local_models_are_asked_one_question_at_a_time_unless_it_is_said_otherwise():
    local = {"embedder": "hash", "name_embedder": "hash", "reranker": "none"}
    for given, concurrency in (
        ({"offline": True}, 1),
        ({"offline": True, "concurrency": 3}, 3),
        ({"base_url": "http://127.0.0.1:9/v1", "api_key": "any", "chat_model": "any"}, 8),
    ):
        assert open_models(Settings(**local, **given), None).calls.concurrency == concurrency
