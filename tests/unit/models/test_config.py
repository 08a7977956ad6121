import pytest

from polygraph.config import Settings, UnknownVariable, UntrustedSettings, explain_settings, load_settings
from polygraph.config.files import HARMLESS, trust
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
        ("concurrency = 0", r"concurrency 0 is not valid\. Give at least 1$"),
        ("concurrency = 1.5", r"Give a whole number$"),
        ("timeout_s = 0", r"Give more than 0$"),
        ('reranker = "x"', r"Choose one of: 'auto', 'none' or 'minilm'$"),
        ('profile = "x"', r"Choose one of: 'fg-rag', 'microsoft', .* or 'graft'$"),
        ("entity_types = 3", r"Give a list of texts$"),
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
    file = tmp_path / "mine.toml"
    file.write_text('[prices."my-model"]\ninput = 0.1\noutput = 0.4\n')
    environ = {"POLYGRAPH_PRICES": '{"other": {"input": 2, "output": 3.5}}', "POLYGRAPH_CONFIG": str(file)}
    settings = load_settings(environ=environ, folder=tmp_path)
    assert set(settings.prices) == {"other"}
    assert str(settings.prices["other"]) == "2 in, 3.5 out"
    shown = {row.name: row for row in explain_settings(environ=environ, folder=tmp_path)}
    assert shown["prices"].source == "environment POLYGRAPH_PRICES"


@pytest.mark.parametrize(
    "value",
    [
        "0.15",
        "{",
        "[]",
        '{"m": 3}',
        '{"m": {"input": 1, "x": 2}}',
        '{"m": {"input": -1}}',
        '{"m": {"in": 1}}',
    ],
)
def test_prices_that_cannot_be_read_name_the_variable(tmp_path, value):
    with pytest.raises(BadInput, match=r"POLYGRAPH_PRICES.*Give prices such as"):
        load_settings(environ={"POLYGRAPH_PRICES": value}, folder=tmp_path)


def test_lists_and_prices_can_be_written_in_a_file_and_lists_in_the_environment(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[prices."my-model"]\ninput = 0.1\noutput = 0.4\n')
    environ = {"POLYGRAPH_ENTITY_TYPES": "person, ship", "POLYGRAPH_CONFIG": str(file)}
    settings = load_settings(environ=environ, folder=tmp_path)
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


def test_models_that_cannot_be_opened_leave_no_file_of_calls(tmp_path):
    place = tmp_path / "index" / "calls.sqlite"
    with pytest.raises(BadInput, match="no embedder 'none'"):
        open_models(Settings(embedder="none", offline=True), place)
    assert not place.parent.exists()


# --- whose file it is ---------------------------------------------------------------------------------


HOSTILE = 'base_url = "http://evil.example/v1"\napi_key = "sk-x"\nindex = "/tmp/elsewhere"\nconcurrency = 2\n'


def home(tmp_path, text=None):
    folder = tmp_path / "home" / ".config" / "polygraph"
    folder.mkdir(parents=True)
    if text is not None:
        (folder / "config.toml").write_text(text)
    return {"HOME": str(tmp_path / "home")}


def test_a_folder_of_somebody_else_cannot_redirect_key_and_documents(tmp_path):
    environ = {**home(tmp_path), "OPENAI_API_KEY": "sk-mine"}
    (tmp_path / "polygraph.toml").write_text(HOSTILE)
    (tmp_path / "a").mkdir()
    with pytest.warns(UntrustedSettings, match="ignored api_key, base_url, index .*polygraph config trust"):
        settings = load_settings(environ=environ, folder=tmp_path / "a")
    assert (settings.base_url, settings.api_key) == ("", "sk-mine")
    assert settings.index == Settings().index
    assert settings.concurrency == 2


def test_whatever_sends_spends_or_names_a_path_needs_trust():
    assert not HARMLESS & {
        *(
            "api_key",
            "base_url",
            "batch",
            "chat_model",
            "embedder",
            "extractor",
            "gleaning",
            "index",
            "max_cost",
        ),
        *("max_gleanings", "max_spend_tokens", "name_embedder", "offline", "prices", "batch_price"),
    }
    assert set(Settings.model_fields) >= HARMLESS


def test_a_file_is_trusted_once_and_again_after_it_changes(tmp_path, recwarn):
    environ = home(tmp_path)
    file = tmp_path / "polygraph.toml"
    file.write_text(HOSTILE)
    assert sorted(trust(file, environ)) == ["api_key", "base_url", "index"]
    assert load_settings(environ=environ, folder=tmp_path).base_url == "http://evil.example/v1"
    assert not recwarn
    file.write_text(HOSTILE.replace("evil", "worse"))
    with pytest.warns(UntrustedSettings):
        assert load_settings(environ=environ, folder=tmp_path).base_url == ""


def test_a_variable_that_is_almost_a_setting_is_warned_about(tmp_path, recwarn):
    environ = home(tmp_path)
    load_settings(environ={**environ, "POLYGRAPH_HOME": "x", "POLYGRAPH_SERVER_TOKENS": "x"}, folder=tmp_path)
    assert not recwarn
    with pytest.warns(
        UnknownVariable, match=r"POLYGRAPH_MODEL sets nothing. Did you mean POLYGRAPH_CHAT_MODEL\?"
    ):
        load_settings(environ={**environ, "POLYGRAPH_MODEL": "x"}, folder=tmp_path)


def test_the_users_own_file_may_set_everything_and_yields_to_the_folders(tmp_path, recwarn):
    environ = home(tmp_path, 'base_url = "http://mine/v1"\nconcurrency = 4\nretries = 1\n')
    (tmp_path / "polygraph.toml").write_text("concurrency = 2\n")
    settings = load_settings(environ=environ, folder=tmp_path)
    assert (settings.base_url, settings.concurrency, settings.retries) == ("http://mine/v1", 2, 1)
    assert not recwarn
    other = tmp_path / "other.toml"
    other.write_text('base_url = "http://other/v1"\n')
    environ["POLYGRAPH_CONFIG"] = str(other)
    assert load_settings(environ=environ, folder=tmp_path / "none").base_url == "http://other/v1"
    environ["POLYGRAPH_CONFIG"] = str(tmp_path / "missing.toml")
    with pytest.raises(BadInput, match="POLYGRAPH_CONFIG names"):
        load_settings(environ=environ, folder=tmp_path)


def test_explain_says_what_was_ignored_and_where_it_stands(tmp_path):
    (tmp_path / "polygraph.toml").write_text(HOSTILE)
    with pytest.warns(UntrustedSettings):
        rows = {row.name: row for row in explain_settings(environ=home(tmp_path), folder=tmp_path)}
    assert rows["base_url"].ignored == str(tmp_path / "polygraph.toml")
    assert rows["base_url"].source == "default"
    assert rows["concurrency"].ignored == ""


def test_a_huge_settings_file_is_refused(tmp_path):
    (tmp_path / "polygraph.toml").write_bytes(b"#" * 2_000_000)
    with pytest.raises(BadInput, match="more than 1,000,000 bytes"):
        load_settings(environ={}, folder=tmp_path)
