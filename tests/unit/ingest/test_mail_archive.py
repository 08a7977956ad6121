"""Archives of mails: which message begins where, its id, and what becomes of copies, deleted and damaged ones."""

import gzip
import json
import mailbox
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.errors import BadInput
from polygraph.ingest import load_documents, read_documents
from polygraph.ingest.readers.mail_archive import read_mbox


def mail(key, text, *, subject="Oil", beginning="From mara@skerry.example Mon Nov 14 10:00:00 1881", more=""):
    head = f"Message-ID: <{key}>\n" if key else ""
    return (
        f"{beginning}\n{head}From: Mara Quill <mara@skerry.example>\nTo: Tobias Wren\n{more}"
        f"Date: Mon, 14 Nov 1881 10:00:00 +0000\nSubject: {subject}\n\n{text}\n\n"
    )


def read(tmp_path, *mails, name="a.mbox"):
    """Return the documents by id and the reasons of what is unread."""
    data = "".join(mails)
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    found = load_documents([tmp_path / name])
    return {each.id: each for each in found.documents}, {each.path: each.reason for each in found.unread}


def keys(data, max_bytes=1_000_000):
    content = read_mbox(data, max_bytes)
    return [text.key for text in content.texts], [bad.reason for bad in content.bad_records]


# --- messages -----------------------------------------------------------------------------------------


def test_each_message_is_a_document_as_a_mail_of_its_own_would_be(tmp_path):
    found, unread = read(tmp_path, mail("1@x", "Oil is dear."), mail("2@x", "Fog.", subject="Re: Oil"))
    assert list(found) == ["a.mbox#1@x", "a.mbox#2@x"]
    assert not unread
    (tmp_path / "b.eml").write_text(mail("1@x", "Oil is dear.").partition("\n")[2])
    [alone] = load_documents([tmp_path / "b.eml"]).documents
    first = found["a.mbox#1@x"]
    assert (first.title, first.text) == (alone.title, alone.text)
    assert first.metadata == alone.metadata | {"path": "a.mbox", "format": "mbox"}
    assert first.metadata["date"] == "Mon, 14 Nov 1881 10:00:00 +0000"


def test_the_library_writes_archives_that_are_read(tmp_path):
    archive = mailbox.mbox(tmp_path / "a.mbox")
    for n in range(3):
        archive.add(f"Message-ID: <{n}@x>\nSubject: Oil {n}\n\nFrom here on:\n>From there\n")
    archive.close()
    found = load_documents([tmp_path / "a.mbox"]).documents
    assert [each.title for each in found] == ["Oil 0", "Oil 1", "Oil 2"]
    # The library writes both lines with one `>`.
    assert found[0].text.endswith("From here on:\nFrom there")


@pytest.mark.parametrize(
    "beginning",
    [
        "From mara@skerry.example Mon Nov 14 10:00:00 1881",
        "From 1534560000000000000@xxx Mon Aug 20 10:00:00 +0000 2018",  # Google Takeout
        "From - Mon Aug 20 10:00:00 2018",  # Thunderbird
        "From ",  # Thunderbird since 2023
        "From mara at skerry.example  Mon Aug 20 10:00:00 2018",  # Mailman
        "From MAILER-DAEMON Mon Aug 20 10:00 2018",
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_lines_of_many_programs_begin_a_message(beginning, line_end):
    data = (mail("1@x", "a", beginning=beginning) + mail("2@x", "b", beginning=beginning)).encode()
    assert keys(data.replace(b"\n", line_end.encode())) == (["1@x", "2@x"], [])


@pytest.mark.parametrize(
    "text", ["From Wick to Skerry\nNote: by boat", "From 10:00 on\nthere is fog.", "I came\nFrom Wick."]
)
def test_a_line_of_the_text_begins_no_message(text):
    [found] = read_mbox(mail("1@x", text).encode(), 10_000).texts
    assert found.text.endswith(text)


def test_lines_that_were_quoted_are_read_as_they_were_written():
    [found] = read_mbox(mail("1@x", ">From Wick to Skerry\n>>From Bob").encode(), 10_000).texts
    assert found.text.endswith("From Wick to Skerry\n>From Bob")


def test_a_file_of_apple_mail_and_packed_files_are_read(tmp_path):
    folder = tmp_path / "Inbox.mbox"
    folder.mkdir()
    (folder / "mbox").write_text(mail("1@x", "a"))
    (tmp_path / "b.mbox.gz").write_bytes(gzip.compress(mail("2@x", "b").encode()))
    assert [d.id for d in load_documents([tmp_path]).documents] == ["Inbox.mbox/mbox#1@x", "b.mbox.gz#2@x"]


def test_an_archive_without_its_suffix_says_how_to_read_it(tmp_path):
    (tmp_path / "Inbox").write_text(mail("1@x", "a"))
    for path in (tmp_path, tmp_path / "Inbox"):
        with pytest.raises(BadInput, match=r"copy it to Inbox\.mbox"):
            load_documents([path])


def test_a_mail_without_the_line_before_it_is_read(tmp_path):
    found, _ = read(tmp_path, mail("1@x", "a").partition("\n")[2])
    assert list(found) == ["a.mbox#1@x"]


@pytest.mark.parametrize(("data", "reason"), [("", "is empty"), ("Just a text.\n", "none of the headers")])
def test_what_is_no_archive_is_refused(tmp_path, data, reason):
    with pytest.raises(BadInput, match=reason):
        read(tmp_path, data)


# --- ids ----------------------------------------------------------------------------------------------


def test_ids_do_not_depend_on_the_other_messages(tmp_path):
    nameless = mail("", "No id.")
    found, _ = read(tmp_path, mail("1@x", "a"), nameless, mail("9" * 300, "long"))
    more, _ = read(tmp_path, mail("0@x", "z"), mail("9" * 300, "long"), nameless, mail("1@x", "a"))
    assert set(found) < set(more)
    assert all(more[id_].hash == each.hash for id_, each in found.items())
    assert all(len(id_) < 220 for id_ in found)


def test_a_message_of_the_same_id_and_another_text_is_a_document_too(tmp_path):
    mails = [mail("1@x", text) for text in ("draft", "final", "draft", "final")]
    found, unread = read(tmp_path, *mails)
    assert [each.text.split()[-1] for each in found.values()] == ["draft", "final"]
    first, second = found
    assert first == "a.mbox#1@x"
    assert second.startswith("a.mbox#1@x~")
    assert unread == dict.fromkeys(["a.mbox#3", "a.mbox#4"], "is a copy of another message of the archive")


def test_what_thunderbird_marks_as_deleted_is_not_read(tmp_path):
    mails = [
        mail(f"{mark}@x", "a", more=f"X-Mozilla-Status: {mark}\n") for mark in ("0001", "0009", "0008", "?")
    ]
    found, unread = read(tmp_path, *mails)
    assert list(found) == ["a.mbox#0001@x", "a.mbox#?@x"]
    assert list(unread) == ["a.mbox#2", "a.mbox#3"]
    assert "compact the folder" in unread["a.mbox#2"]


def test_of_very_many_messages_that_are_left_out_the_further_ones_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("polygraph.ingest.readers.mail_archive.MAX_BAD_RECORDS", 2)
    mails = [mail(f"{n}@x", "a", more="X-Mozilla-Status: 0009\n") for n in range(5)]
    found, unread = read(tmp_path, *mails, mail("5@x", "b"))
    assert list(found) == ["a.mbox#5@x"]
    assert list(unread) == ["a.mbox#1", "a.mbox#2", "a.mbox#3"]
    assert unread["a.mbox#3"].endswith("(one of 3 further messages that are not listed)")
    # One whose document may be in the index stands for all, so that no document is taken to be gone.
    damaged = mail("6@x", "\n--b\n" * 30_000, more="Content-Type: multipart/mixed; boundary=b\n")
    _, unread = read(tmp_path, *mails, damaged, mail("5@x", "b"))
    assert list(unread) == ["a.mbox#1", "a.mbox#2", "a.mbox:6"]


# --- damage and hostile input -------------------------------------------------------------------------


def test_a_damaged_message_is_listed_and_the_others_are_read(tmp_path):
    parts = "Content-Type: multipart/mixed; boundary=b\n"
    bad = mail("2@x", "\n--b\n" * 30_000, more=parts)
    nothing = "From a Mon Nov 14 10:00:00 1881\nX-Mailer: none\n\ntext\n\n"
    found, unread = read(tmp_path, mail("1@x", "a"), bad, nothing, mail("3@x", "c"))
    assert list(found) == ["a.mbox#1@x", "a.mbox#3@x"]
    assert "parts, more than a mail" in unread["a.mbox#2@x"]
    assert "none of the headers" in unread["a.mbox#3"]


def test_a_message_that_is_too_large_is_listed_and_the_others_are_read():
    data = (mail("1@x", "a" * 90_000) + mail("2@x", "b") + mail("3@x", "From 1:00\n" * 90_000)).encode()
    found, reasons = keys(data, 80_000)
    assert found == ["2@x"]
    assert len(reasons) == 2
    assert "is a message of over" in reasons[0]


def test_memory_holds_one_message(tmp_path):
    with (tmp_path / "a.mbox").open("w") as file:
        for n in range(24):
            file.write(mail(f"{n}@x", f"{'Oil is dear. ' * 40}\n" * 1_000))
    tracemalloc.start()
    n_read = sum(1 for _ in read_documents([tmp_path / "a.mbox"]).documents)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_read == 24
    assert peak < 12_000_000 < (tmp_path / "a.mbox").stat().st_size


def test_packed_archives_that_are_damaged_or_stand_for_too_much_are_refused(tmp_path):
    data = gzip.compress(mail("1@x", "a").encode() + bytes(3_000_000))
    (tmp_path / "a.mbox.gz").write_bytes(data)
    with pytest.raises(BadInput, match="unpacks to more than 50 times"):
        load_documents([tmp_path])
    (tmp_path / "a.mbox.gz").write_bytes(gzip.compress(mail("1@x", "a").encode())[:-20])
    with pytest.raises(BadInput, match="damaged gzip file"):
        load_documents([tmp_path])


PIECES = st.sampled_from(
    (
        b"From a@b Mon Nov 14 10:00:00 1881\n", b"From \n", b"Message-ID: <1@x>\n", b"Subject: Oil\n", b"From: Mara\n",
        b"X-Mozilla-Status: zz\n", b"Content-Type: multipart/mixed; boundary=b\n", b"--b\n", b"\n", b"\r\n",
        b">From b\n", b"text", b"\x00\xff", b"a" * 70_000,
    )
)  # fmt: skip


@given(st.lists(PIECES | st.binary(max_size=30), max_size=30).map(b"".join))
def test_any_bytes_are_read_or_listed(data):
    content = read_mbox(data, 100_000)
    n_most = len(content.texts)
    texts = list(content.texts)
    assert len(texts) + len(content.bad_records) <= n_most
    assert len({text.key for text in texts}) == len(texts)
    assert all(text.key and len(text.key) < 220 and text.text.strip() for text in texts)
    assert list(content.texts) == texts


# --- through the command ------------------------------------------------------------------------------


def test_messages_are_added_changed_and_removed_one_by_one(call, tmp_path):
    place, index = tmp_path / "a.mbox", tmp_path / "mails.index"
    first, second, third = (
        mail(f"{n}@x", text)
        for n, text in enumerate(("The Halcyon sank.", "Tobin refused to pay.", "Fog came."))
    )

    def run(*mails):
        place.write_text("".join(mails))
        ended = call("index", place, "--index", index, "--for", "bm25", "--json")
        assert ended.code == 0, ended.err
        told = json.loads(ended.out)
        return tuple(told[name] for name in ("added", "changed", "unchanged", "removed"))

    assert run(first, second) == (2, 0, 0, 0)
    assert run(third, first, second) == (1, 0, 2, 0)
    # A message that can never be read does not keep others in the index.
    damaged = "From a Mon Nov 14 10:00:00 1881\nX-Mailer: none\n\ntext\n\n"
    assert run(damaged, third, second.replace("refused", "agreed"), third) == (0, 1, 1, 1)
    asked = call("ask", "Who agreed to pay?", "-m", "bm25", "--index", index, "--json")
    assert json.loads(asked.out)["evidence"][0]["document"] == "a.mbox#1@x"
    assert call("remove", "a.mbox#1@x", "--index", index).code == 0
    listed = call("status", "--documents", "--index", index).out
    assert "a.mbox#2@x" in listed
    assert "a.mbox#1@x" not in listed
