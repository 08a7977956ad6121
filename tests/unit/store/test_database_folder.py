"""The local folder of an index in a database."""

from pathlib import Path

import pytest

from polygraph.errors import BadInput, StorageFailed
from polygraph.postgresql import parse_url
from polygraph.store.postgres.folder import URL_FILE, database_of, database_url_of, folder_for, place_of

URL = "postgresql://ann:secret@db.example/texts?schema=handbook"


def test_a_folder_names_its_database_without_the_password(tmp_path):
    folder = folder_for(parse_url(URL), tmp_path)
    assert "secret" not in "".join(path.read_text(encoding="utf-8") for path in folder.iterdir())
    assert place_of(folder) == "postgresql://ann@db.example/texts?schema=handbook"
    assert "secret" in database_of(folder).conninfo
    copied = tmp_path / "copied"
    folder.rename(copied)
    assert (copied / URL_FILE).is_file()
    assert database_of(copied).shown == place_of(folder)
    assert "secret" not in database_of(copied).conninfo


def test_each_index_has_a_folder_of_its_own_whatever_the_password(tmp_path):
    one = folder_for(parse_url(URL), tmp_path)
    assert folder_for(parse_url(URL.replace("secret", "other")), tmp_path) == one
    assert folder_for(parse_url(URL.replace("handbook", "letters")), tmp_path) != one


def test_a_folder_that_is_none_names_no_database(tmp_path):
    assert database_of(tmp_path) is None
    assert place_of(tmp_path) == str(tmp_path)


def test_a_damaged_name_of_a_database_is_an_error_and_no_folder(tmp_path):
    (tmp_path / URL_FILE).write_text("mysql://db", encoding="utf-8")
    with pytest.raises(BadInput):
        database_of(tmp_path)


def test_a_cache_that_cannot_be_written_names_the_setting(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageFailed, match="setting cache"):
        folder_for(parse_url(URL), tmp_path / "file")


@pytest.mark.parametrize("url", [URL, "postgresql:///texts?host=%2Frun", "postgres://db.example:5433/texts"])
def test_a_url_survives_being_a_path(url):
    assert database_url_of(Path(url)) == url
    assert database_url_of(url) == url


@pytest.mark.parametrize(
    "place", ["polygraph.index", "s3://bucket/handbook", "file:///shared/handbook", "C:/handbook"]
)
def test_other_places_are_no_database(place):
    assert database_url_of(place) is None
    assert database_url_of(Path(place)) is None
