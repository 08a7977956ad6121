"""Loading: which files are read, their ids, every format, and every fault of a file."""

import codecs
import gzip
import io
import json
import os
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.errors import BadInput
from polygraph.ingest import Loaded, find_files, load, load_documents, read_documents
from polygraph.ingest.decode import clean, decode
from polygraph.ingest.discover import SourceFile
from polygraph.ingest.limits import ReadLimits
from polygraph.ingest.readers.html import page_text, tags
from polygraph.ingest.readers.plain_text import file_title, first_line_title
from polygraph.ingest.readers.tables import read_csv, read_json
from polygraph.records import Document

DATA = Path(__file__).parents[3].parent / "shared" / "data"


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def ids(loaded: Loaded) -> list[str]:
    return [document.id for document in loaded.documents]


def reasons(loaded: Loaded) -> dict[str, str]:
    return {each.path: each.reason for each in loaded.unread}


def read_one(tmp_path: Path, name: str, content: str | bytes) -> Document:
    [document] = load_documents([put(tmp_path, {name: content}) / name]).documents
    return document


# --- which files ----------------------------------------------------------------------------------


def test_a_folder_is_read_recursively_without_hidden_files_and_indexes(tmp_path: Path) -> None:
    files = ["b.txt", "a/z.md", "a/y.txt", ".hidden.txt", ".git/x.txt", "old.index/x.txt", "a.index.d/x.txt"]
    put(tmp_path, {name: f"text of {name}" for name in files})
    assert [f.id for f in find_files([tmp_path])] == ["a.index.d/x.txt", "a/y.txt", "a/z.md", "b.txt"]
    loaded = load_documents([str(tmp_path)])
    assert ids(loaded) == ["a.index.d/x.txt", "a/y.txt", "a/z.md", "b.txt"]
    assert loaded.documents[1].source == str(tmp_path.resolve() / "a" / "y.txt")


def test_an_index_of_any_name_below_a_folder_is_listed_and_not_read(tmp_path: Path) -> None:
    put(tmp_path, dict.fromkeys(("a.txt", "i/index.sqlite", "i/calls.sqlite", "i/derived/y.json"), "x"))
    loaded = load_documents([str(tmp_path)])
    assert ids(loaded) == ["a.txt"]
    assert [(u.path, u.reason) for u in loaded.unread] == [("i", "is the folder of an index")]


def test_a_single_file_has_its_name_as_id_and_a_glob_ids_below_its_fixed_part(tmp_path: Path) -> None:
    put(tmp_path, {"a/b/c.txt": "text", "a/d.txt": "text", "a/e.md": "text"})
    assert [f.id for f in find_files([tmp_path / "a" / "b" / "c.txt"])] == ["c.txt"]
    assert [f.id for f in find_files([f"{tmp_path}/a/**/*.txt"])] == ["b/c.txt", "d.txt"]
    assert [f.id for f in find_files([f"{tmp_path}/*/*.md"])] == ["a/e.md"]


def test_a_file_with_wildcards_in_its_name_is_a_file(tmp_path: Path) -> None:
    put(tmp_path, {"notes [1].txt": "text", "notes 1.txt": "other"})
    assert [f.id for f in find_files([tmp_path / "notes [1].txt"])] == ["notes [1].txt"]


def test_equal_ids_get_the_folder_in_front_in_any_order_of_the_paths(tmp_path: Path) -> None:
    put(tmp_path, {"one/docs/a.txt": "1", "two/docs/a.txt": "2", "two/docs/b.txt": "3"})
    expected = ["b.txt", "one/docs/a.txt", "two/docs/a.txt"]
    paths = [tmp_path / "one" / "docs", tmp_path / "two" / "docs"]
    assert [f.id for f in find_files(paths)] == [f.id for f in find_files(paths[::-1])] == expected
    assert [f.id for f in find_files([tmp_path / "one", paths[1]])] == ["a.txt", "b.txt", "docs/a.txt"]


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    put(tmp_path, {"docs/sub/a.txt": "1"})
    paths = [tmp_path / "docs", tmp_path / "docs" / "sub", tmp_path / "docs" / "sub" / "a.txt"]
    assert [f.id for f in find_files(paths)] == [f.id for f in find_files(paths[::-1])] == ["sub/a.txt"]


def test_links_are_followed_inside_the_folder_only(tmp_path: Path) -> None:
    put(tmp_path, {"docs/a.txt": "in", "secret.txt": "out", "other/x.txt": "out"})
    docs = tmp_path / "docs"
    (docs / "alias.txt").symlink_to(docs / "a.txt")
    (docs / "leak.txt").symlink_to(tmp_path / "secret.txt")
    (docs / "leak").symlink_to(tmp_path / "other")
    (docs / "loop").symlink_to(docs)
    (docs / "dead.txt").symlink_to(docs / "nowhere.txt")
    loaded = load_documents([docs])
    assert ids(loaded) == ["a.txt"]
    assert set(reasons(loaded)) == {"leak.txt", "leak", "dead.txt"}
    assert "leaves the folder" in reasons(loaded)["leak.txt"]
    assert load_documents([f"{docs}/*.txt"]) == loaded or ids(load_documents([f"{docs}/*.txt"])) == ["a.txt"]


@pytest.mark.parametrize("path", ["missing", "missing/*.txt", "empty", "docs/*.pdf", "only.index", "*", ""])
def test_a_path_without_files_is_bad_input(tmp_path: Path, path: str) -> None:
    put(tmp_path, {"docs/a.txt": "text"})
    (tmp_path / "empty" / "sub").mkdir(parents=True)
    (tmp_path / "only.index" / ".x").mkdir(parents=True)
    with pytest.raises(BadInput, match=r"\. |Name"):
        find_files([f"{tmp_path}/{path}"] if path else [])


def test_a_path_with_a_nul_is_bad_input() -> None:
    with pytest.raises(BadInput):
        find_files(["a\0b"])


def test_a_link_that_is_given_is_read_under_its_own_name(tmp_path: Path) -> None:
    put(tmp_path, {"blobs/a1b2": '{"id": "x", "text": "From a cache."}\n'})
    (tmp_path / "corpus.jsonl").symlink_to(tmp_path / "blobs" / "a1b2")
    assert ids(load_documents([tmp_path / "corpus.jsonl"])) == ["x"]


def test_a_pattern_does_not_leave_its_folder_or_enter_an_index(tmp_path: Path) -> None:
    put(tmp_path, {"docs/a.txt": "in", "docs/x.index/b.txt": "no", "other/c.txt": "out"})
    (tmp_path / "docs" / "away").symlink_to(tmp_path / "other")
    loaded = load_documents([f"{tmp_path}/docs/*/*.txt", f"{tmp_path}/docs/*.txt"])
    assert ids(loaded) == ["a.txt"]
    assert set(reasons(loaded)) == {"away/c.txt"}


def test_one_path_as_a_string_is_one_path(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "text"})
    assert ids(load_documents(str(tmp_path))) == ["a.txt"]


# --- one by one -----------------------------------------------------------------------------------


def test_a_file_is_read_when_its_document_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(
        tmp_path,
        {"a.txt": "1", "b.png": b"\x89", "c.jsonl": '{"text": "2"}\nno\n{"text": "3"}\n', "d.txt": "4"},
    )
    seen: list[str] = []
    read_source = load.read_source

    def read_and_note(file: SourceFile, max_bytes: int) -> Iterator[tuple[int, load.ReadText]]:
        seen.append(file.id)
        return read_source(file, max_bytes)

    monkeypatch.setattr(load, "read_source", read_and_note)
    reading = read_documents([tmp_path])
    # The first shows that something can be read at all.
    assert seen == ["a.txt"]
    told = [
        (document.id, list(seen), reading.total, [each.path for each in reading.unread])
        for document in reading.documents
    ]
    assert told == [
        ("a.txt", ["a.txt"], 4, []),
        # A line may be a document.
        ("c.jsonl#1", ["a.txt", "b.png", "c.jsonl"], 6, ["b.png"]),
        ("c.jsonl#3", ["a.txt", "b.png", "c.jsonl"], 6, ["b.png"]),
        ("d.txt", ["a.txt", "b.png", "c.jsonl", "d.txt"], 4, ["b.png", "c.jsonl:2"]),
    ]
    assert list(reading.documents) == []


def test_documents_come_file_by_file_and_all_at_once_by_id(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": "".join(f'{{"text": "{n}"}}\n' for n in range(11)), "a.jsonl#1.txt": "text"})
    lines = [f"a.jsonl#{n}" for n in range(1, 12)]
    assert [document.id for document in read_documents([tmp_path]).documents] == [*lines, "a.jsonl#1.txt"]
    assert ids(load_documents([tmp_path])) == sorted([*lines, "a.jsonl#1.txt"])


def test_memory_grows_with_the_largest_file_and_not_with_all_of_them(tmp_path: Path) -> None:
    record = json.dumps({"text": "It rained on the reef. " * 400})
    put(tmp_path, {f"{n:03}.txt": record for n in range(150)} | {"all.jsonl": f"{record}\n" * 150})
    tracemalloc.start()
    try:
        peaks = []
        for path in (f"{tmp_path}/*.txt", tmp_path / "all.jsonl"):
            tracemalloc.reset_peak()
            assert sum(1 for _ in read_documents([path]).documents) == 150
            peaks.append(tracemalloc.get_traced_memory()[1] / len(record))
    finally:
        tracemalloc.stop()
    assert peaks[0] < 30
    # Once as bytes and once as text, and then one record at a time.
    assert peaks[1] < 2.2 * 150


# --- what cannot be read ---------------------------------------------------------------------------


def test_what_cannot_be_read_is_listed_with_its_reason_and_the_rest_is_read(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "good.txt": "text",
            "empty.txt": "",
            "blank.md": " \n ",
            "binary.txt": bytes(range(256)) * 20,
            "photo.jpg": b"\xff\xd8",
            "README": "text",
            "broken.txt.gz": b"\x1f\x8b\x08nonsense",
            "cut.txt.gz": gzip.compress(b"text " * 1000)[:-20],
            "broken.json": "{",
            "nolines.jsonl": "not json\n",
            "headeronly.csv": "a,b\n",
            "broken.pdf": b"%PDF-1.4 nothing",
            "broken.docx": b"PK\x03\x04 nothing",
            "broken.epub": b"nothing",
            "large.txt": "x" * 60_000,
            "bomb.txt.gz": gzip.compress(b"x" * 60_000),
        },
    )
    loaded = load_documents([tmp_path], max_bytes=50_000)
    assert ids(loaded) == ["good.txt"]
    found = reasons(loaded)
    assert len(found) == 15
    expected = {
        "empty.txt": "is empty",
        "blank.md": "is empty",
        "binary.txt": "binary",
        "photo.jpg": "'.jpg'",
        "README": "as plain text",
        "broken.txt.gz": "damaged gzip",
        "cut.txt.gz": "damaged gzip",
        "broken.json": "is not JSON",
        "nolines.jsonl": "no line that is JSON",
        "headeronly.csv": "no rows",
        "large.txt": "larger than",
        "bomb.txt.gz": "when unpacked",
        "broken.epub": "damaged",
    }
    for path, reason in expected.items():
        assert reason in found[path]
    assert [each.path for each in loaded.unread] == sorted(found)
    assert all(len(reason) <= 300 and "\n" not in reason for reason in found.values())


def test_if_nothing_can_be_read_the_error_gives_the_first_reasons(tmp_path: Path) -> None:
    put(tmp_path, {f"{n}.png": b"x" for n in range(5)})
    with pytest.raises(BadInput, match=r"nothing could be read.*0\.png has the suffix '\.png'.*and 2 more"):
        load_documents([tmp_path])


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything"
)
def test_a_file_without_permission_is_listed(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "text", "b.txt": "text", "c/d.txt": "text"})
    (tmp_path / "b.txt").chmod(0)
    (tmp_path / "c").chmod(0)
    try:
        assert set(reasons(load_documents([tmp_path]))) == {"b.txt", "c"}
    finally:
        (tmp_path / "c").chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "text"})
    os.mkfifo(tmp_path / "b.txt")
    assert "regular file" in reasons(load_documents([tmp_path]))["b.txt"]


def test_a_file_of_unknown_suffix_is_plain_text_if_it_is_given_itself(tmp_path: Path) -> None:
    document = read_one(tmp_path, "README", "How to start\n\nBegin here.")
    assert (document.id, document.title, document.metadata["format"]) == ("README", "How to start", "txt")


def test_without_the_extra_the_reason_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"a.txt": "text", "b.pdf": b"%PDF-1.4", "c.docx": b"x", "d.pptx": b"x", "e.xlsx": b"x"})
    for library in ("pypdf", "docx", "pptx", "openpyxl"):
        monkeypatch.setitem(sys.modules, library, None)
    loaded = load_documents([tmp_path])
    assert len(loaded.unread) == 4
    assert all('pip install "polygraph-rag[documents]"' in each.reason for each in loaded.unread)


# --- text and encodings -----------------------------------------------------------------------------

TEXT = (
    "Der Hafenmeister fragte: „Wie groß ist die Möwe über dem Wärterhäuschen?“ – „Größer als früher.“\n" * 5
)


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-32-le", codecs.BOM_UTF32_LE),
        ("cp1252", b""),
    ],
)
def test_encodings_are_recognised(encoding: str, mark: bytes) -> None:
    text, used = decode(mark + TEXT.encode(encoding))
    assert text == TEXT
    assert (used == "utf-8") == (encoding == "utf-8")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("shift_jis", "港の記録によれば、潮の満ち引きは変わらない。" * 20),
        ("koi8-r", "Начальник порта сказал, что прилив будет вечером. " * 20),
    ],
)
def test_encodings_of_other_scripts_are_recognised(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "It’s “naïve” – £5."),
        ("cp1252", "Les élèves sont allés à l’école. Ça va très bien, merci. Il fait chaud à Besançon."),
        ("cp1252", "På öarna är det många båtar."),
        ("cp1252", "Temperature 20°C ± 2"),
        ("cp1250", "Rząd przyjął uchwałę o łączności. Środki zostały wypłacone w maju."),
        ("cp1250", "Ředitel školy řekl, že děti přijdou později. Všichni souhlasili s návrhem."),
        ("cp1252", "Stjórnin ákvað í gærkvöldi að selja lóðirnar við ána. Þetta er skrýtið."),
        (
            "cp1254",
            "Kimse itiraz etmedi, çünkü fiyatın düşük olduğunu herkes biliyordu. Şimdi ne olacağı bilinmiyor.",
        ),
        ("cp1250", "Árvíztűrő tükörfúrógép. Ez egy próba, hogy őszinte."),
        ("iso2022_jp", "これは灯台の報告です。"),
        ("iso2022_kr", "등대는 바다를 비춘다."),
        ("utf-16-le", "Die Stadt Köln liegt am Rhein."),
        ("utf-16-be", "Die Stadt Köln liegt am Rhein."),
    ],
)
def test_encodings_that_are_mistaken_for_others_are_recognised(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("ISO-8859-1", "cp1252", "It’s “quoted” – €5 café"),
        ("us-ascii", "cp1252", "It’s café time"),
        ("Shift_JIS", "cp932", "①灯台の報告"),
        ("GB2312", "gb18030", "灯塔的報告"),
        ("ISO-2022-JP", "iso2022_jp", "灯台"),
        ("UTF-7", "utf-7", "Köln"),
        ("no-such", "utf-8", "Köln"),
    ],
)
def test_a_declared_encoding_is_read_as_browsers_do(declared: str, encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), declared)[0] == text


def test_escapes_of_a_terminal_are_no_japanese() -> None:
    assert decode(b"\x1b[31mred\x1b[0m \x1b(B") == ("\x1b[31mred\x1b[0m \x1b(B", "utf-8")


def test_one_damaged_byte_does_not_turn_utf8_into_another_encoding() -> None:
    data = TEXT.encode() + b"\xff" + TEXT.encode()
    text, used = decode(data)
    assert used == "utf-8"
    assert text.count("\ufffd") == 1
    assert text.count("Möwe") == 10


def test_encoding_is_recorded_unless_it_is_utf8(tmp_path: Path) -> None:
    assert "encoding" not in read_one(tmp_path, "a.txt", TEXT).metadata
    assert read_one(tmp_path, "b.txt", TEXT.encode("utf-16")).metadata["encoding"] == "utf-16-le"
    page = b'<html><head><meta charset="koi8-r"></head><body>' + "Прилив".encode("koi8-r")
    assert read_one(tmp_path, "c.html", page).text == "Прилив"


def test_control_characters_and_line_ends_are_cleaned(tmp_path: Path) -> None:
    document = read_one(
        tmp_path, "a.txt", b"One\x00\r\nTwo\rThree\x0cFour\x1b[0m" + "\u2028Five e\u0301".encode()
    )
    assert document.text == "One\nTwo\nThree\nFour[0m\nFive e\u0301"


@given(st.text(alphabet=st.characters(), max_size=80))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    once.encode("utf-8")


def test_titles_of_plain_text() -> None:
    assert first_line_title("\n\nThe Halcyon Affair\n\nIt began.") == "The Halcyon Affair"
    assert first_line_title("Report on tides\n===============\nIt began.") == "Report on tides"
    assert first_line_title("THE HALCYON\nby A. Vane") == "THE HALCYON"
    for text in (
        "It began in May.\n\nThen",
        "Dear Anna,\n\nI",
        "the tide that turned on\nthe day",
        "x" * 90,
        "12\n\n",
        "",
    ):
        assert first_line_title(text) == ""
    assert file_title("a/harbour_log_1921.txt.gz") == "harbour log 1921"
    assert file_title(".txt")


def test_a_text_without_a_title_is_titled_by_its_file(tmp_path: Path) -> None:
    assert (
        read_one(tmp_path, "harbour_log.txt", "it began in may and then\nit went on.").title == "harbour log"
    )


# --- Markdown and reStructuredText -------------------------------------------------------------------


def test_simple_front_matter_becomes_metadata(tmp_path: Path) -> None:
    front = "title: 'The Log'\nauthor: A. Vane\ntags: [tide, \"moon\"]\nplaces:\n  - Wick\n  - Leith\n"
    text = f"---\n{front}---\n\n# Other\n\nBody."
    document = read_one(tmp_path, "a.md", text)
    assert document.text == "\n# Other\n\nBody."
    assert document.title == "The Log"
    assert document.metadata == {
        "title": "The Log",
        "author": "A. Vane",
        "tags": ["tide", "moon"],
        "places": ["Wick", "Leith"],
        "path": "a.md",
        "format": "md",
    }


def test_front_matter_that_is_not_simple_stays_in_the_text(tmp_path: Path) -> None:
    text = "---\nauthor: A. Vane\nmap:\n  deep: {x: 1}\n---\nBody."
    document = read_one(tmp_path, "a.md", text)
    assert document.text == text
    assert document.metadata["author"] == "A. Vane"


def test_a_rule_at_the_start_is_no_front_matter(tmp_path: Path) -> None:
    assert read_one(tmp_path, "a.md", "---\nBody without an end").text == "---\nBody without an end"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("```\n# code\n```\n\n## The *real* [title](x.html) ##\ntext", "The real title"),
        ("Set apart\n---------\ntext", "Set apart"),
        ("just text that goes on. And on.", "a"),
    ],
)
def test_title_of_markdown_is_its_first_heading(tmp_path: Path, text: str, title: str) -> None:
    document = read_one(tmp_path, "a.md", text)
    assert (document.title, document.text) == (title, text)


def test_title_of_restructuredtext_is_underlined(tmp_path: Path) -> None:
    assert read_one(tmp_path, "a.rst", ".. note:: x\n\n=======\nThe Log\n=======\n\ntext").title == "The Log"


# --- HTML ---------------------------------------------------------------------------------------------

PAGE = """<!DOCTYPE html><html><head><title>The  Log &amp; more</title><style>p{}</style>
<script>if (a<b) document.write("<p>no</p>")</script></head><body>
<header><h1>Site</h1></header><nav><ul><li>Home</ul></nav>
<main><article><header><h1>The Log</h1></header>
<p>First   paragraph with <b>bold</b>&nbsp;text<br>and a break.<p>Unclosed &lt;second&gt;.
<!-- a > comment --><ul><li>one<li><p>two</p><ul><li>deep</li></ul></li></ul>
<table><tr><th>Ship</th><th></th><th>Port</th></tr>
<tr><td>Halcyon</td><td>1</td><td><p>Wick</p></td></tr></table>
<pre>  kept
    as is</pre><div hidden>no <div>no</div> no</div><h2>Next
part</h2><p title="a>b">Last.</p><noscript>no</noscript><template>no</template></article></main>
<footer>no</footer></body></html>"""


def test_html_gives_its_visible_text_in_blocks(tmp_path: Path) -> None:
    document = read_one(tmp_path, "a.html", PAGE)
    assert document.title == "The Log & more"
    assert document.text == (
        "# The Log\n\nFirst paragraph with bold text\nand a break.\n\nUnclosed <second>.\n\n"
        "- one\n- two\n  - deep\n\n"
        "Ship: Halcyon; column 2: 1; Port: Wick.\n\n```\n  kept\n    as is\n```\n\n## Next part\n\nLast."
    )


@pytest.mark.parametrize(
    "item",
    [
        "<div class='preview'></div>{}",
        "<p></p><div>{}</div>",
        "<center>{}</center>",
        "<figure><p>{}</p></figure>",
    ],
)
def test_an_item_stays_one_within_blocks_and_behind_empty_ones(tmp_path: Path, item: str) -> None:
    formula = "<math><mi>E</mi><mo>=</mo><mi>m</mi></math>"
    page = f"<p>Laws:</p><ul><li>{item.format(formula)}</li><li>b</li><li><div></div></li></ul><p>End.</p>"
    assert read_one(tmp_path, "a.html", page).text == "Laws:\n\n- E=m\n- b\n\nEnd."


def test_html_without_a_title_is_titled_by_its_first_heading(tmp_path: Path) -> None:
    assert read_one(tmp_path, "a.htm", "<header><h1>The <i>Log</i></h1></header><p>Text.").title == "The Log"


def test_formulas_are_read_once_and_calls_of_notes_do_not_lengthen_numbers() -> None:
    page = (
        "<p>In 1869<a epub:type='noteref' href='#n'>1</a> <a href='#m'>12</a> of 1870<sup><a href='#k'>3</a></sup> "
        "<math><semantics><mi>m</mi><mi>c</mi><mn>2</mn>"
        "<annotation encoding='application/x-tex'>mc^2</annotation></semantics></math> <math><mi>x</mi></math>.</p>"
    )
    assert page_text(page)[0] == "In 1869¹ 12 of 1870³ mc^2 x."


def test_a_page_that_is_all_header_is_read_nevertheless() -> None:
    assert page_text("<nav>Home</nav><header><p>Only this.</p></header>")[0] == "Home\n\nOnly this."


def test_parts_that_are_never_closed_do_not_swallow_the_page() -> None:
    assert page_text("<nav>Home<main><p>Text.</main>")[0] == "Text."
    assert page_text("<title>T<p>Text.")[0] == "Text."
    assert page_text("<!-- open <p>Text.")[0] == "open\n\nText."
    assert "Text." in page_text('<p class="open>Text.</p><p>More.</p>')[0]


def test_text_with_angle_brackets_that_are_no_tags_is_kept() -> None:
    assert page_text("<p>1 < 2 and 3 > 2 <- x </p>")[0] == "1 < 2 and 3 > 2 <- x"


MARKUP = ["<", ">", "</", "p", " a=", '"', "'", "!--", "-->", "script", "x ", "td", "tr>", "<li>", "/", "h1>"]
MARKUP += ["&lt;", "<title>", "nav>", "<pre>", "İ"]
OPEN_ENDS = ["<a ", "<!--", "<!", '<a b="', "</a ", "<script>", '<p t="x<', "<a b='<a c=\"", "&", "&#", "<!["]
OPEN_ENDS += ["<title>x</b>", "<td>", "<li><p>", "<nav>", "<h1>", "<title>", "<a =  ", "<pre>\n"]


@given(st.lists(st.sampled_from(MARKUP), max_size=40).map("".join))
def test_any_page_is_read(source: str) -> None:
    page_text(source)
    page_text(source, xml=True)
    assert sum(len(text) for text, _, _ in tags(source)) <= len(source)


@pytest.mark.parametrize("unit", OPEN_ENDS)
def test_cost_of_html_is_linear(unit: str) -> None:
    begin = time.process_time()
    page_text(unit * (50_000 // len(unit)))
    page_text(unit * (50_000 // len(unit)) + "'>\">")
    assert time.process_time() - begin < 4  # the standard library needs 15 s


def test_a_list_item_is_one_however_many_empty_paragraphs_it_begins_with() -> None:
    assert page_text("<li>" + "<p> " * 60_000 + "Oil.")[0] == "- Oil."


# --- records ------------------------------------------------------------------------------------------


def test_rows_of_a_csv_with_a_text_column_are_documents(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "a.csv": 'ID;Title;Body;year\nh1;The Log;"Tide;\nturned.";1921\n'
            ";;Second.;1922;extra\nh3;x;;1923\n\n"
        },
    )
    loaded = load_documents([tmp_path])
    assert ids(loaded) == ["a.csv#3", "a.csv#h1"]
    second, first = loaded.documents
    assert (first.title, first.text) == ("The Log", "Tide;\nturned.")
    assert first.metadata == {"year": "1921", "path": "a.csv", "format": "csv"}
    assert second.title == "a 3"
    assert second.metadata["column 5"] == "extra"
    assert reasons(loaded) == {"a.csv:4": "has an empty 'Body'"}


def test_a_csv_without_a_text_column_is_one_document_of_lines(tmp_path: Path) -> None:
    document = read_one(
        tmp_path, "ships_of_wick.tsv", "Ship\tPort\tShip\nHalcyon\tWick\t\nDunlin\tLeith\tx, y\n"
    )
    assert document.text == "Ship: Halcyon; Port: Wick.\nShip: Dunlin; Port: Leith; Ship 2: x, y."
    assert (document.id, document.title) == ("ships_of_wick.tsv", "ships of wick")


def test_a_field_longer_than_the_library_allows_is_read() -> None:
    [loaded] = read_csv('text,n\n"' + "long " * 60_000 + '",1\n').texts
    assert len(loaded.text) > 200_000


def test_the_delimiter_is_the_most_frequent_one_in_the_header() -> None:
    for mark in (",", ";", "\t", "|"):
        assert read_csv(f"a{mark}text\n1{mark}hello\n").texts[0].metadata == {"a": "1"}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('Name,Note\n"A","1;2;3;4"\n"B","x;y;z;w"\n', ("Name", "Note")),
        ("Name,Note\nA,1;2;3\nB,none\n", ("Name", "Note")),
        ("Name;Betrag\nA;1,5\nB;7,25\n", ("Name", "Betrag")),
        ('"Ort; Land";Betrag\n"a,b,\nc";1,5\n', ("Ort; Land", "Betrag")),
        ("sep=;\r\nName;Betrag\r\nA,B,C;1\r\n", ("Name", "Betrag")),
    ],
)
def test_the_delimiter_is_the_same_in_most_lines_or_named(text: str, columns: tuple[str, ...]) -> None:
    [found] = read_csv(text).texts
    assert found.tables[0].columns == columns


def test_a_file_with_ten_thousand_bad_lines_is_no_json_lines(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": '{"text": "Oil."}\n' + "x\n" * 10_001, "b.jsonl": "x\n" * 10_001})
    loaded = load_documents([put(tmp_path, {"c.txt": "Fog."})])
    assert "check that it is JSON Lines" in reasons(loaded)["a.jsonl"]
    assert "check that it is JSON Lines" in reasons(loaded)["b.jsonl"]


def test_records_in_a_folder_have_the_file_in_their_ids_and_in_a_corpus_file_not(tmp_path: Path) -> None:
    line = '{"id": "%s", "title": "T", "text": "Some text."}\n'
    put(
        tmp_path,
        {
            "letters/one.json": line % "H-1",
            "letters/two.jsonl": line % "H-2" + '{"text": "No id."}\n',
            "corpus.jsonl.gz": gzip.compress((line % "c1").encode()),
            "list.json": "[" + line % "H-3" + ', {"text": "No id either."}]',
            "single.json": '{"text": "Alone."}',
        },
    )
    loaded = load_documents([tmp_path])
    assert ids(loaded) == [
        "c1",
        "letters/one.json#H-1",
        "letters/two.jsonl#2",
        "letters/two.jsonl#H-2",
        "list.json#2",
        "list.json#H-3",
        "single.json",
    ]
    assert ids(load_documents([tmp_path / "letters" / "two.jsonl"])) == ["H-2", "two.jsonl#2"]
    assert ids(load_documents([f"{tmp_path}/letters/*.jsonl"])) == ["two.jsonl#2", "two.jsonl#H-2"]


def test_other_keys_of_a_record_are_metadata_and_do_not_replace_our_own(tmp_path: Path) -> None:
    record = {
        "_id": 7,
        "TITLE": "T",
        "content": ["One.", "Two."],
        "year": 1921,
        "path": "/x",
        "pages": [9],
        "a": {"b": None},
    }
    document = read_one(tmp_path, "r.json", json.dumps(record))
    assert (document.id, document.title, document.text) == ("7", "T", "One.\nTwo.")
    assert document.metadata == {
        "year": 1921,
        "path_": "/x",
        "pages_": [9],
        "a": {"b": None},
        "path": "r.json",
        "format": "json",
    }


def test_a_bad_line_is_listed_with_its_number_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = ['{"id": "a", "text": "A."}', "{oops", "", '{"id": "b", "text": " "}', '{"id": "c"}', "[1]"]
    lines += ['{"id": "a", "text": "Again."}', json.dumps({"id": "x" * 300, "text": "B."}), "9" * 5000]
    lines += ['{"id": "d", "text": "D."}']
    loaded = load_documents([put(tmp_path, {"corpus.jsonl": "\n".join(lines)})])
    assert ids(loaded) == ["a", "d"]
    assert loaded.documents[0].text == "A."
    found = reasons(loaded)
    assert set(found) == {f"corpus.jsonl:{n}" for n in (2, 4, 5, 6, 7, 8, 9)}
    assert "is not JSON" in found["corpus.jsonl:2"]
    assert "taken" in found["corpus.jsonl:7"]


def test_equal_ids_in_two_corpus_files_are_listed_not_overwritten(tmp_path: Path) -> None:
    loaded = load_documents(
        [
            put(
                tmp_path,
                {"a/corpus.jsonl": '{"id":"1","text":"A."}', "b/corpus.jsonl": '{"id":"1","text":"B."}'},
            )
        ]
    )
    assert [d.text for d in loaded.documents] == ["A."]
    assert "a/corpus.jsonl" in reasons(loaded)["b/corpus.jsonl:1"]


def test_strings_that_json_can_encode_but_nobody_can_store_are_cleaned(tmp_path: Path) -> None:
    document = read_one(
        tmp_path, "r.json", '{"id": "a\\ud800", "text": "x\\u0000y\\ud83d z\\r\\n", "k\\udfff": ["\\udc00"]}'
    )
    assert (document.id, document.text) == ("a\ufffd", "xy\ufffd z\n")
    assert document.metadata["k\ufffd"] == ["\ufffd"]
    json.dumps(document.metadata, ensure_ascii=False).encode()
    assert document.hash


def test_odd_line_ends_inside_a_field_end_no_record(tmp_path: Path) -> None:
    line = json.dumps({"id": "a", "text": "One\u2028two\x85three"}, ensure_ascii=False)
    put(
        tmp_path,
        {
            "corpus.jsonl": line + "\r\n" + line.replace('"a"', '"b"'),
            "t.csv": "id,text\r\n1,One\u2028two\r\n",
        },
    )
    assert {d.id: d.text for d in load_documents([tmp_path]).documents} == {
        "a": "One\ntwo\nthree",
        "b": "One\ntwo\nthree",
        "t.csv#1": "One\ntwo",
    }


def test_other_json_becomes_readable_lines(tmp_path: Path) -> None:
    value = {
        "name": "Halcyon",
        "crew": [{"name": "A", "skills": ["rope", "sail"]}, {"name": "B", "age": 9}],
        "gone": None,
    }
    document = read_one(tmp_path, "ship.json", json.dumps(value))
    assert document.text == "name: Halcyon\n\ncrew: name: A; skills: rope, sail.\n\ncrew: name: B; age: 9."
    assert (document.id, document.title) == ("ship.json", "ship")


def test_deep_json_is_bounded_and_nothing_of_it_is_lost() -> None:
    value: object = "bottom"
    for _ in range(100):
        value = {"key": [value]}
    [loaded] = read_json(json.dumps(value)).texts
    assert "bottom" in loaded.text
    [loaded] = read_json('{"text": "x", "deep": ' + "[" * 100 + "]" * 100 + "}").texts
    assert str(loaded.metadata["deep"]).count("[") <= 100
    with pytest.raises(BadInput, match="nested too deeply"):
        read_json("[" * 200_000)


def test_names_of_objects_that_have_a_name_of_their_own_are_kept() -> None:
    pumps = {"P-101": {"name": "feed", "key": "a"}, "P-102": {"name": "drain", "key": "b"}}
    [loaded] = read_json(json.dumps(pumps)).texts
    assert loaded.text.split("\n")[0] == "key 2: P-101; name: feed; key: a."
    [loaded] = read_json(json.dumps({"name": pumps})).texts
    assert "P-102" in loaded.text


# --- office formats -----------------------------------------------------------------------------------


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text to a page, written by hand."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R {font} /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out = "%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    xref = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{xref}\n%%EOF\n"
    return out.encode("latin-1")


def test_pdf_pages_start_where_the_metadata_says(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    document = read_one(tmp_path, "a.pdf", pdf("The tide turns at", "noon on Friday.", "Nobody came."))
    assert document.text == "The tide turns at\nnoon on Friday.\n\nNobody came."
    pages = document.metadata["pages"]
    assert isinstance(pages, list)
    assert [document.text[start:].split()[0] for start in pages] == ["The", "noon", "Nobody"]


def test_a_small_pdf_that_stands_for_millions_of_instructions_is_refused(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("The tide turns.")))
    contents = pypdf.generic.StreamObject()
    contents.set_data(b"q Q\n" * 15_100_000)
    writer.pages[0][pypdf.generic.NameObject("/Contents")] = writer._add_object(contents.flate_encode())
    packed = io.BytesIO()
    writer.write(packed)
    assert len(packed.getvalue()) < 100_000
    put(tmp_path, {"a.txt": "text", "bomb.pdf": packed.getvalue()})
    assert "more than a document for people" in reasons(load_documents([tmp_path]))["bomb.pdf"]


def test_a_pdf_page_whose_parts_repeat_each_other_is_stopped_within_the_page(
    tmp_path: Path, monkeypatch
) -> None:
    pypdf = pytest.importorskip("pypdf")
    name = pypdf.generic.NameObject
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("The tide turns.")))
    page = writer.pages[0]
    form = pypdf.generic.StreamObject()
    form.update(
        {
            name("/Type"): name("/XObject"),
            name("/Subtype"): name("/Form"),
            name("/Resources"): page["/Resources"],
        }
    )
    form.set_data(b"BT /F1 9 Tf " + b"(ab) Tj " * 200 + b"ET")
    objects = pypdf.generic.DictionaryObject({name("/X"): writer._add_object(form)})
    page["/Resources"][name("/XObject")] = objects
    contents = pypdf.generic.StreamObject()
    contents.set_data(b"/X Do " * 200)
    page[name("/Contents")] = writer._add_object(contents)
    packed = io.BytesIO()
    writer.write(packed)
    put(tmp_path, {"a.txt": "text", "nested.pdf": packed.getvalue()})
    assert "nested.pdf" not in reasons(load_documents([tmp_path]))
    monkeypatch.setattr("polygraph.ingest.readers.pdf.ReadLimits", lambda: ReadLimits(max_elements=20_000))
    assert "more than a document for people" in reasons(load_documents([tmp_path]))["nested.pdf"]


def test_the_author_in_the_properties_of_a_pdf_is_a_field(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("The tide turns.")))
    writer.add_metadata({"/Author": "A. Vane"})
    writer.write(tmp_path / "a.pdf")
    [document] = load_documents([tmp_path]).documents
    assert document.metadata["author"] == "A. Vane"


def test_a_pdf_of_pictures_says_that_it_needs_ocr(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    put(tmp_path, {"a.txt": "text", "scan.pdf": pdf("", "")})
    assert "OCR" in reasons(load_documents([tmp_path]))["scan.pdf"]


def test_locked_pdfs_are_reported_and_those_without_a_user_password_are_read(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    pytest.importorskip("cryptography")
    for name, password in (("open.pdf", ""), ("locked.pdf", "secret")):
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("The tide turns.")))
        writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
        writer.write(tmp_path / name)
    loaded = load_documents([tmp_path])
    assert [d.text for d in loaded.documents] == ["The tide turns."]
    assert "password" in reasons(loaded)["locked.pdf"]


def test_docx_keeps_headings_lists_and_tables_in_order(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    made = docx.Document()
    made.add_heading("The Log", level=1)
    made.add_paragraph("It began.")
    made.add_paragraph("one", style="List Bullet")
    made.add_paragraph("two", style="List Number")
    table = made.add_table(rows=2, cols=2)
    for cell, text in zip(
        [c for row in table.rows for c in row.cells], ["Ship", "Port", "Halcyon", "Wick"], strict=True
    ):
        cell.text = text
    made.add_heading("Next", level=2)
    made.add_paragraph("It ended.")
    made.save(str(tmp_path / "a.docx"))
    [document] = load_documents([tmp_path]).documents
    assert (
        document.text
        == "# The Log\n\nIt began.\n\n- one\n- two\n\nShip: Halcyon; Port: Wick.\n\n## Next\n\nIt ended."
    )
    assert document.title == "The Log"


def test_nothing_of_a_word_file_is_lost(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    part = pytest.importorskip("docx.opc.part")
    uri = pytest.importorskip("docx.opc.packuri")
    document = docx.Document()
    space = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    box = "<w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent>"
    contents = '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
    raw = (
        '<w:p><w:r><w:t>H</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="subscript"/></w:rPr><w:t>2</w:t></w:r>'
        "<w:hyperlink><w:r><w:t>O, linked</w:t></w:r></w:hyperlink>"
        "<w:ins><w:r><w:t>, inserted</w:t></w:r></w:ins><w:del><w:r><w:delText>, deleted</w:delText></w:r></w:del>"
        "<m:oMath><m:sSup><m:e><m:r><m:t>, c</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
        '<w:r><w:footnoteReference w:id="7"/></w:r></w:p>',
        f"<w:p><w:r><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback><w:t>Beside a box.</w:t></w:r></w:p>",
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>In a control.</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        f"<w:sdt><w:sdtPr>{contents}</w:sdtPr><w:sdtContent><w:p><w:r><w:t>Contents</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        "<w:tbl><w:tr><w:tc><w:tbl><w:tr><w:tc><w:p><w:r><w:t>In a table</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
        "<w:p><w:r><w:t>in a cell.</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
    )
    for xml in raw:
        document.element.body.append(docx.oxml.parse_xml(xml.replace(">", f" {space}>", 1)))
    note = '<w:footnote w:id="7"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote>'
    notes = f"<w:footnotes {space}>{note}</w:footnotes>"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    document.part.relate_to(
        part.Part(
            uri.PackURI("/word/footnotes.xml"), "application/xml", notes.encode(), document.part.package
        ),
        f"{office}/footnotes",
    )
    document.save(tmp_path / "a.docx")
    assert load_documents([tmp_path]).documents[0].text == (
        "H₂O, linked, inserted, c²\n\nNote: A note.\n\nBeside a box.\n\nIn a box.\n\nIn a control.\n\n"
        "In a table in a cell."
    )


def test_pptx_slides_are_pages(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    made = pptx.Presentation()
    for title, body in (("The Log", "It began."), ("Next", "It ended.")):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    slide.notes_slide.notes_text_frame.text = "Say thanks."
    made.save(str(tmp_path / "a.pptx"))
    [document] = load_documents([tmp_path]).documents
    assert document.text == "# The Log\n\nIt began.\n\n# Next\n\nIt ended.\n\nNotes: Say thanks."
    assert document.metadata["pages"] == [0, document.text.index("# Next")]


def test_xlsx_sheets_are_lines_under_headings(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Ships"
    for row in (
        ["Ship", "Port", "Crew"],
        [None, None, None],
        ["Halcyon", "Wick", 12.0],
        ["Dunlin", date(1921, 5, 1), 1.5],
    ):
        book.active.append(row)
    book.create_sheet("Empty")
    book.create_sheet("Only header").append(["x"])
    book.save(tmp_path / "a.xlsx")
    [document] = load_documents([tmp_path]).documents
    assert document.text == (
        "# Ships\n\nShip: Halcyon; Port: Wick; Crew: 12.\nShip: Dunlin; Port: 1921-05-01; Crew: 1.5.\n\n"
        "# Only header\n\nx."
    )


def test_empty_rows_above_a_stray_cell_of_a_sheet_do_not_count_as_its_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.setattr("polygraph.ingest.readers.office.MAX_CELLS", 1_000)
    book = openpyxl.Workbook()
    for row in (["Ship", "Port", *[""] * 24, "Crew"], ["Halcyon", "Wick", *[""] * 24, 12]):
        book.active.append(row)
    book.active["A400"] = "Dunlin"
    book.active["B300"] = "Thurso"
    book.active.merge_cells("B300:B301")
    book.save(tmp_path / "a.xlsx")
    [document] = load_documents([tmp_path]).documents
    assert document.text.splitlines()[2:] == [
        "Ship: Halcyon; Port: Wick; Crew: 12.",
        "Port: Thurso.",
        "Port: Thurso.",
        "Ship: Dunlin.",
    ]


def epub(**replaced: str) -> bytes:
    parts = {
        "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
        "OPS/book.opf": '<package><metadata><dc:title>The Log</dc:title></metadata><manifest>'
        '<item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="a" href="one%20a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="i" href="i.png" media-type="image/png"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="gone"/></spine></package>',
        "OPS/one a.xhtml": '<html><head><title/><script src="x"/></head>'
        "<body><h1>One</h1><p>It began.</p></body></html>",
        "OPS/two.xhtml": "<html><body><h1>Two</h1><p>It ended.</p></body></html>",
    } | replaced  # fmt: skip
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def test_epub_chapters_are_read_in_the_order_of_the_spine(tmp_path: Path) -> None:
    document = read_one(tmp_path, "a.epub", epub())
    assert document.text == "# One\n\nIt began.\n\n# Two\n\nIt ended."
    assert document.title == "The Log"


def test_archives_that_unpack_to_too_much_are_not_read(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "text", "bomb.epub": epub(**{"OPS/two.xhtml": "x" * 3_000_000})})
    assert "unpacks to" in reasons(load_documents([tmp_path], max_bytes=1_000_000))["bomb.epub"]


def test_a_protected_book_says_so(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "text", "drm.epub": epub(**{"META-INF/rights.xml": "x"})})
    assert "DRM" in reasons(load_documents([tmp_path]))["drm.epub"]


# --- whole corpora ------------------------------------------------------------------------------------


def test_loading_twice_gives_equal_documents(tmp_path: Path) -> None:
    put(tmp_path, {"b.html": PAGE, "a.csv": "text,x\nhello,1\n", "c.txt": TEXT})
    assert load_documents([tmp_path]) == load_documents([tmp_path])
    os.utime(tmp_path / "c.txt", (1, 1))
    assert load_documents([tmp_path]) == load_documents([f"{tmp_path}/*"])


@pytest.mark.skipif(not DATA.exists(), reason="the shared data sets are not beside this checkout")
def test_shared_corpora_keep_their_ids_and_texts() -> None:
    loaded = load_documents([DATA / "2wiki" / "corpus.jsonl.gz"])
    assert len(loaded.documents) == 7_005
    assert loaded.unread == ()
    first = loaded.documents[0]
    assert (first.id, first.title) == ("wi00000", "Teutberga")
    assert first.metadata == {"source": "hipporag", "path": "corpus.jsonl.gz", "format": "jsonl"}
    [carol] = load_documents([DATA / "graph-christmas-carol" / "corpus.jsonl"]).documents
    assert carol.id == "carol"
    assert "\r" not in carol.text


# --- what one file may cost -----------------------------------------------------------------------


def _packed(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_a_book_whose_spine_repeats_a_chapter_is_read_once(tmp_path: Path) -> None:
    chapter = b"<html><body><p>" + b"The light was built. " * 2_000 + b"</p></body></html>"
    package = (
        b'<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>'
        + b'<itemref idref="a"/>' * 100_000
        + b"</spine></package>"
    )
    container = b'<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>'
    book = _packed({"META-INF/container.xml": container, "o.opf": package, "a.xhtml": chapter})
    assert len(book) < 20_000
    document = read_one(tmp_path, "book.epub", book)
    assert len(document.text) < 50_000


def test_a_small_word_file_that_stands_for_millions_of_paragraphs_is_refused_before_it_is_built(
    tmp_path: Path,
) -> None:
    docx = pytest.importorskip("docx")
    out = io.BytesIO()
    docx.Document().save(out)
    parts = {}
    with zipfile.ZipFile(io.BytesIO(out.getvalue())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    body = parts["word/document.xml"]
    parts["word/document.xml"] = body.replace(b"<w:body>", b"<w:body>" + b"<w:p/>" * 4_000_000, 1)
    file = put(tmp_path, {"a.txt": "The light.", "big.docx": _packed(parts)})
    before = time.process_time()
    loaded = load_documents([file])
    assert time.process_time() - before < 5
    assert ids(loaded) == ["a.txt"]
    assert "over 3,000,000 parts" in reasons(loaded)["big.docx"]


def test_a_limit_stops_by_elements_and_by_time() -> None:
    seconds = iter([0.0, 1.0, 2.0, 99.0])
    limits = ReadLimits(max_elements=2, max_seconds=50, clock=lambda: next(seconds))
    limits.count()
    limits.count()
    with pytest.raises(BadInput, match="over 2 parts"):
        limits.count()
    seconds = iter([0.0, 1.0, 99.0])
    limits = ReadLimits(max_seconds=50, clock=lambda: next(seconds))
    limits.count()
    with pytest.raises(BadInput, match="longer than 50 s"):
        limits.count()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take only valid names")
def test_names_that_are_not_utf_8_are_read_told_apart_and_can_be_stored(tmp_path: Path) -> None:
    for name in (b"caf\xe9.txt", b"caf\xe8.txt", b"ok.txt", b"broken\xff.xyz"):
        with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
            file.write("Mara Quill built the Skerry Light.")
    os.symlink("/etc", os.path.join(os.fsencode(tmp_path), b"link\xff"))
    loaded = load_documents([tmp_path])
    assert ids(loaded) == ["caf\\udce8.txt", "caf\\udce9.txt", "ok.txt"]
    assert list(reasons(loaded)) == ["broken\\udcff.xyz", "link\\udcff"]
    for document in loaded.documents:
        (document.id + document.source + document.title + json.dumps(document.metadata)).encode("utf-8")
