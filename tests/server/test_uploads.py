"""Ownership of uploaded files: no order of uploads, cancellations and crashes loses a promised file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="needs the extra `server`")

from polygraph.server.uploads.folder import UploadFolder

NAMES = ("one", "two", "three")


def held(uploads: UploadFolder, text: bytes = b"Mara lit the lamp.") -> str:
    received = uploads.receive(1_000, 2)
    received.begin("lamp.txt")
    received.write(text)
    received.end()
    return uploads.hold(received)


def take_back(uploads: UploadFolder, upload: str) -> None:
    """As the job `revert` does."""
    uploads.remove(uploads.placed(upload))
    uploads.discard(upload)


def texts(uploads: UploadFolder) -> list[bytes]:
    return [file.read_bytes() for file in uploads.folder.glob("[0-9a-f]*/*")]


def test_a_cancelled_upload_leaves_the_file_of_a_second_one(tmp_path):
    uploads = UploadFolder(tmp_path)
    first, second = held(uploads), held(uploads)
    uploads.place(first)
    uploads.place(second)
    uploads.commit(second)
    take_back(uploads, first)
    assert texts(uploads) == [b"Mara lit the lamp."]


def test_the_file_of_two_cancelled_uploads_goes(tmp_path):
    uploads = UploadFolder(tmp_path)
    first, second = held(uploads), held(uploads)
    uploads.place(first)
    uploads.place(second)
    take_back(uploads, first)
    assert len(texts(uploads)) == 1
    take_back(uploads, second)
    assert texts(uploads) == []


def test_files_are_unsettled_until_their_upload_ends_also_those_that_were_there(tmp_path):
    uploads = UploadFolder(tmp_path)
    assert (uploads.uncommitted(), uploads.files()) == ([], [])
    first, second = held(uploads), held(uploads)
    assert uploads.uncommitted() == [], "nothing is in its place yet"
    uploads.place(first)
    uploads.commit(first)
    assert uploads.uncommitted() == []
    uploads.place(second)
    assert uploads.uncommitted() == uploads.files()
    assert len(uploads.files()) == 1
    take_back(uploads, second)
    assert uploads.uncommitted() == []
    assert texts(uploads) == [b"Mara lit the lamp."]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(["place", "settle", "take back"])), max_size=12
    )
)
def test_a_finished_upload_keeps_its_file_whatever_the_others_do(tmp_path_factory, steps):
    uploads = UploadFolder(tmp_path_factory.mktemp("index"))
    ids = {name: held(uploads) for name in NAMES}
    state = dict.fromkeys(NAMES, "held")
    for name, step in steps:
        if step == "place" and state[name] in ("held", "placed"):
            uploads.place(ids[name])
            state[name] = "placed"
        elif step == "settle" and state[name] == "placed":
            uploads.commit(ids[name])
            state[name] = "finished"
        elif step == "take back" and state[name] in ("held", "placed"):
            take_back(uploads, ids[name])
            state[name] = "gone"
        assert bool(texts(uploads)) == bool({"placed", "finished"} & set(state.values()))
