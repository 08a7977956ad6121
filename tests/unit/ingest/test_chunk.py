"""Chunks: tiling, limits, boundaries, headings, pages, windows."""

import json
import re
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.ingest.chunk import chunk, windows
from polygraph.records import Chunk, Document
from polygraph.text.headings import heading_paths, headings
from polygraph.text.passage import joined_text
from polygraph.text.sentences import sentence_spans
from polygraph.text.tokens import count_many

DATA = Path(__file__).parents[3].parent / "shared" / "data"
BOOK = DATA / "graph-christmas-carol" / "corpus.jsonl"


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def pairs(texts: Sequence[str]) -> list[int]:
    """Counts that do not add up: joining two texts can cost two more."""
    return [len(re.findall(r"\w{1,4}|[^\w\s]", text)) + 2 * text.count(". ") for text in texts]


def document(text: str, **metadata: object) -> Document:
    return Document(id="d", title="D", text=text, metadata=metadata)  # type: ignore[arg-type]


def check_tiling(doc: Document, chunks: Sequence[Chunk]) -> None:
    position = 0
    for place, each in enumerate(chunks):
        assert (each.ordinal, each.id, each.document) == (place, f"{doc.id}:{place}", doc.id)
        assert position <= each.start < each.end
        assert not doc.text[position : each.start].strip()
        assert each.text == doc.text[each.start : each.end] == each.text.strip()
        position = each.end
    assert not doc.text[position:].strip()


PARTS = ["The tide turns. ", "Dr. Vane slept; then, at last, he woke. ", "\n\n", "\n", "# A heading\n"]
PARTS += ["CHAPTER II\n\n", "x" * 70 + " ", "word " * 30, "日本語の文です。", "😀", "• item. ", " \u200b "]
PARTS += ["a, b, c, d: e; f ", "\xa0", "“No. "]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


@given(TEXTS, st.sampled_from([words, characters, pairs]), st.integers(1, 40), st.integers(1, 40))
def test_chunks_tile_the_text_and_keep_the_limit(
    text: str, count: object, max_tokens: int, limit: int
) -> None:
    doc = document(text)
    chunks = chunk(doc, count, max_tokens=max_tokens, limit=limit)  # type: ignore[arg-type]
    check_tiling(doc, chunks)
    assert [c.n_tokens for c in chunks] == count([c.text for c in chunks])  # type: ignore[operator]
    assert all(c.n_tokens <= min(max_tokens, limit) or len(c.text) == 1 for c in chunks)


@given(st.text(max_size=400), st.integers(1, 60))
def test_any_text_is_tiled_by_any_tokenizer(text: str, max_tokens: int) -> None:
    doc = document(text)
    for count in (characters, pairs, words):
        check_tiling(doc, chunk(doc, count, max_tokens=max_tokens))


def test_the_same_text_gives_the_same_chunks() -> None:
    doc = document("One two three. Four five.\n\n" * 40)
    assert chunk(doc, words, max_tokens=11) == chunk(doc, words, max_tokens=11)


def test_white_space_gives_no_chunk_and_a_short_text_gives_one() -> None:
    assert chunk(document(" \n\t \u3000"), words) == []
    [only] = chunk(document("\n  One. Two.  "), words)
    assert (only.text, only.start, only.n_tokens, dict(only.metadata)) == ("One. Two.", 3, 2, {})


def test_sentences_are_packed_up_to_the_limit() -> None:
    text = " ".join(f"Sentence number {n} here." for n in range(10))  # 4 words each
    assert [c.n_tokens for c in chunk(document(text), words, max_tokens=13)] == [12, 12, 12, 4]


def test_a_document_is_cut_by_the_rules_of_its_own_language() -> None:
    first = "Der Hafen war voller Schiffe, und niemand wusste, woher sie kamen."
    second = "Die alten Tische holt die Fa. Kranz im Herbst mit einem großen Wagen ab."
    chunks = chunk(document(f"{first} {second}"), words, max_tokens=20, language="en")
    assert [each.text for each in chunks] == [first, second]


def test_limit_of_the_embedder_wins_over_the_wish() -> None:
    text = " ".join(f"Sentence number {n} here." for n in range(10))
    assert max(c.n_tokens for c in chunk(document(text), words, max_tokens=300, limit=8)) == 8


def test_a_chunk_prefers_to_end_with_a_paragraph() -> None:
    paragraph = "One two three four. One two three four. One two three four."
    text = "\n\n".join([paragraph, paragraph])
    # 16 words fit, but the paragraph's end at 12 (75 %) is the better place.
    assert [c.n_tokens for c in chunk(document(text), words, max_tokens=17)] == [12, 12]
    # At 12 of 24 words the chunk is too empty to stop.
    assert [c.n_tokens for c in chunk(document(text + " " + paragraph), words, max_tokens=23)] == [20, 16]


def test_a_chunk_ends_before_a_heading_and_the_heading_stays_with_its_text() -> None:
    text = "One two three four. One two three four.\n\n# Next\nFive six seven. Eight nine ten.\n\n"
    text += "CHAPTER II\n\nLast words."
    chunks = chunk(document(text), words, max_tokens=12)
    assert [c.text.split("\n")[0] for c in chunks] == [
        "One two three four. One two three four.",
        "# Next",
        "CHAPTER II",
    ]
    assert [c.metadata.get("section") for c in chunks] == [None, "Next", "CHAPTER II"]


def test_a_heading_moves_to_the_next_chunk_if_its_text_does_not_fit() -> None:
    text = "One two three.\n\n# Next\n\n# Sub\n\nFive six seven eight nine ten eleven."
    assert [c.text[:6] for c in chunk(document(text), words, max_tokens=11)] == ["One tw", "# Next"]


@pytest.mark.parametrize(
    "question",
    [
        "Q: Where do we moor?",
        "**Where do we moor?**",
        "**Where do we moor?**\n",
        "Where do we moor today?",
        "**Where we moor now.**",
        "**Where we moor now.**\n",
        "**Where we moor:**\n",
    ],
)
def test_a_question_on_its_own_line_moves_to_the_chunk_of_its_answer(question: str) -> None:
    text = f"One two three. Four five six.\n\n{question}\nMoor at the north quay by night."
    assert [c.text for c in chunk(document(text), words, max_tokens=12)] == [
        "One two three. Four five six.",
        f"{question}\nMoor at the north quay by night.",
    ]


@pytest.mark.parametrize(
    "question", ["Any more questions?", "**Any more questions?**", "**No more questions.**"]
)
def test_a_question_above_a_heading_stays_before_it(question: str) -> None:
    text = (
        f"# One\n\nOne two three. Four five six.\n\n{question}\n\n# Two\n\nMoor at the north quay by night."
    )
    assert [c.text for c in chunk(document(text), words, max_tokens=12)] == [
        f"# One\n\nOne two three. Four five six.\n\n{question}",
        "# Two\n\nMoor at the north quay by night.",
    ]


def test_a_question_within_a_paragraph_does_not_move() -> None:
    text = "One two three. Where do we moor today? Moor at the north quay by night."
    assert [c.text for c in chunk(document(text), words, max_tokens=12)] == [
        "One two three. Where do we moor today?",
        "Moor at the north quay by night.",
    ]


def test_a_long_sentence_is_cut_at_clause_marks_then_at_white_space_then_anywhere() -> None:
    clauses = "the boats lay on the sand, " * 40
    assert all(c.text.endswith(",") for c in chunk(document(clauses), words, max_tokens=30))
    plain = "tide " * 200
    assert set(" ".join(c.text for c in chunk(document(plain), characters, max_tokens=33)).split()) == {
        "tide"
    }
    unbroken = "x" * 1_000
    assert sum(len(c.text) for c in chunk(document(unbroken), characters, max_tokens=33)) == 1_000


def test_a_sentence_that_fits_is_never_cut() -> None:
    text = "".join(
        f"Here is sentence {n}, with some words; it ends soon. " * (n % 4) + "\n\n" * (n % 3)
        for n in range(60)
    )
    ends = {end for _, end in sentence_spans(text)}
    assert all(c.end in ends for c in chunk(document(text), words, max_tokens=25))


def test_text_that_counts_for_nothing_is_still_bounded() -> None:
    def nothing(texts: Sequence[str]) -> list[int]:
        return [0 for _ in texts]

    for text in ("\u200b. " * 5_000, "y" * 50_000, "Yes." + "\n" * 50_000 + "No."):
        doc = document(text)
        chunks = chunk(doc, nothing, max_tokens=10)
        check_tiling(doc, chunks)
        assert max(len(c.text) for c in chunks) <= 32 * 10 + 4


@pytest.mark.slow
def test_a_long_line_costs_linear_time_and_few_calls() -> None:
    calls = []

    def count(texts: Sequence[str]) -> list[int]:
        calls.append(len(texts))
        return words(texts)

    def seconds(text: str) -> float:
        calls.clear()
        begin = time.process_time()
        doc = document(text)
        check_tiling(doc, chunk(doc, count))
        return time.process_time() - begin

    for unit in ("word ", "a,b", "x", "(a. ", "So? "):
        few = seconds(unit * (100_000 // len(unit)))
        # Ten times the text: 100 times the time would be quadratic.
        assert seconds(unit * (1_000_000 // len(unit))) < 30 * few
        assert len(calls) < 40


def test_pages_are_named_from_one() -> None:
    text = "First page here.\n\nSecond page here.\n\nThird page here."
    starts = [0, text.index("Second"), text.index("Third")]
    chunks = chunk(document(text, pages=starts), words, max_tokens=3)
    assert [c.metadata["page"] for c in chunks] == [1, 2, 3]


@pytest.mark.parametrize("pages", ["1-3", [3, 1], [1, "x"], {}, None, [True]])
def test_a_field_called_pages_that_is_something_else_is_ignored(pages: object) -> None:
    [only] = chunk(document("Some text.", pages=pages), words)
    assert "page" not in only.metadata


def test_headings_of_several_kinds_are_found() -> None:
    text = (
        "# One #\ntext\n\nTwo\n===\n\n```\n# no heading\n```\n\n2.1 Three\n\nSTAVE FOUR\n\n"
        "MARLEY'S GHOST.\n\nA line of prose\n\nChapter the Fifth\n\n[ILLUSTRATION]\n\n"
        "Chapter six went on and on and\nwrapped.\n"
    )
    assert [title for _, title in headings(text)] == [
        "One",
        "Two",
        "2.1 Three",
        "STAVE FOUR",
        "MARLEY'S GHOST.",
        "Chapter the Fifth",
    ]
    assert all(text[start:].lstrip("# ").startswith(title) for start, title in headings(text))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("# Guide\n\n## Safety\nStop.\n\n### Fire\nRun.\n\n## Use\nGo.", ["Guide", "Use"]),
        ("PART I\n\nIntro.\n\nCHAPTER I\n\nOne.\n\nCHAPTER II\n\nTwo.", ["PART I", "CHAPTER II"]),
        ("Guide\n=====\n\nUse\n---\nGo.\n\nCare\n----\nWipe.", ["Guide", "Care"]),
        ("2 Scope\n\nAll.\n\n2.1 Terms\n\nMany.\n\n2.2 Limits\n\nFew.", ["2 Scope", "2.2 Limits"]),
        ("STAVE ONE\n\nMARLEY'S GHOST\n\nDead.", ["STAVE ONE", "MARLEY'S GHOST"]),
        ("# Guide\nGo.\n\n# Other\nStop.", ["Other"]),
    ],
)
def test_a_heading_has_those_that_hold_it(text: str, path: list[str]) -> None:
    assert heading_paths(text)[-1][1] == tuple(path)
    last = chunk(document(text), words, max_tokens=3)[-1]
    assert [*last.metadata.get("sections", []), last.metadata["section"]] == path


def test_a_text_without_levels_has_no_outer_sections() -> None:
    chunks = chunk(document("# One\nFirst text.\n\n# Two\nSecond text."), words, max_tokens=4)
    assert [c.metadata for c in chunks] == [{"section": "One"}, {"section": "Two"}]


def test_a_chunk_says_in_which_section_it_begins_where_its_middle_is_in_another() -> None:
    text = "# Log\n\n## May 1\nFog all day, no wind.\n\nRain at noon.\n\n## May 2\nSun. Wind. Calm. Heat. Snow. Hail."
    first, second = chunk(document(text), words, max_tokens=12)
    assert second.text.startswith("Rain at noon.")
    assert second.metadata == {"section": "May 2", "sections": ["Log"], "begins_in": ["Log", "May 1"]}
    assert "begins_in" not in first.metadata


def test_the_number_of_outer_headings_is_bounded() -> None:
    text = (
        "".join(f"{'#' * n} H{n}\nText {n}.\n\n" for n in range(1, 7))
        + "I.\n\nText.\n\nALL CAPITALS\n\nText."
    )
    assert heading_paths(text)[-1][1] == ("H1", "H2", "H3", "H4", "H5", "ALL CAPITALS")


def test_a_section_is_bounded_in_length() -> None:
    [only] = chunk(document("# " + "long " * 500 + "\ntext"), words, max_tokens=600, limit=600)
    assert len(str(only.metadata["section"])) <= 120


@pytest.mark.parametrize("bad", [{"max_tokens": 0}, {"limit": 0}])
def test_limits_below_one_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        chunk(document("text"), words, **bad)


def test_windows_hold_whole_neighbouring_chunks() -> None:
    doc = document("One two three. Four five six.\n\n" * 50)
    chunks = chunk(doc, words, max_tokens=7)
    found = windows(doc, chunks, max_tokens=20)
    assert [c for w in found for c in w.chunks] == chunks
    assert [w.id for w in found][:2] == ["d@0", "d@1"]
    for window in found:
        assert sum(c.n_tokens for c in window.chunks) <= 20
        assert window.text == doc.text[window.start : window.chunks[-1].end]
        assert window.title == "D"
    assert all(a.chunks[-1].ordinal + 1 == b.chunks[0].ordinal for a, b in pairwise(found))


def test_a_chunk_longer_than_a_window_is_a_window() -> None:
    doc = document("One two three. Four five six. Seven.")
    chunks = chunk(doc, words, max_tokens=3)
    assert [len(w.chunks) for w in windows(doc, chunks, max_tokens=1)] == [1, 1, 1]
    assert windows(doc, [], max_tokens=5) == []
    with pytest.raises(ValueError, match="at least 1"):
        windows(doc, chunks, max_tokens=0)


@pytest.mark.skipif(not BOOK.exists(), reason="the shared data sets are not beside this checkout")
def test_a_christmas_carol_is_cut_by_a_real_tokenizer() -> None:
    text = json.loads(BOOK.read_text(encoding="utf-8"))["text"].replace("\r\n", "\n")
    doc = document(text)
    chunks = chunk(doc, count_many)
    check_tiling(doc, chunks)
    assert max(c.n_tokens for c in chunks) <= 300
    assert sum(c.n_tokens for c in chunks) / len(chunks) > 220
    ends = {end for _, end in sentence_spans(text)}
    assert all(c.end in ends for c in chunks)
    ghost = next(c for c in chunks if "Old Marley was as dead" in " ".join(c.text.split()))
    assert ghost.metadata["section"] == "MARLEY'S GHOST"


@given(TEXTS, st.sampled_from([words, characters, pairs]), st.integers(1, 40), st.integers(1, 30))
def test_chunks_with_overlap_cover_the_text_in_order_and_keep_the_limit(
    text: str, count: object, max_tokens: int, overlap: int
) -> None:
    doc = document(text)
    chunks = chunk(doc, count, max_tokens=max_tokens, overlap_tokens=overlap)  # type: ignore[arg-type]
    position = 0
    for each in chunks:
        assert not doc.text[position : each.start].strip()
        assert each.text == doc.text[each.start : each.end] == each.text.strip()
        position = each.end
    assert not doc.text[position:].strip()
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(chunks))
    assert [c.n_tokens for c in chunks] == count([c.text for c in chunks])  # type: ignore[operator]
    assert all(c.n_tokens <= max_tokens or len(c.text) == 1 for c in chunks)
    for window in windows(doc, chunks, max_tokens=3 * max_tokens):
        joined = joined_text(window.chunks)
        assert len(joined) == len(window.text)
        assert all(a == b or (a + b).isspace() for a, b in zip(joined, window.text, strict=True))


def test_rows_and_items_of_two_chunks_stay_on_their_lines_in_a_window() -> None:
    rows = "\n".join(f"ship: Halcyon {i}; port: Wick; master: Ann Marsh." for i in range(6))
    items = "\n".join(f"- Item {i} is kept in the store room." for i in range(6))
    for text in (rows, items):
        doc = document(text)
        (window,) = windows(doc, chunk(doc, words, max_tokens=16), max_tokens=1_000)
        assert len(window.chunks) > 1
        assert joined_text(window.chunks) == window.text == text


SIX = "One two. Three four. Five six. Seven eight. Nine ten. Eleven twelve."


def test_a_chunk_begins_with_the_last_sentences_of_the_one_before() -> None:
    chunks = chunk(document(SIX), words, max_tokens=7, overlap_tokens=3)
    assert [c.text for c in chunks] == [
        "One two. Three four.",
        "Three four. Five six. Seven eight.",
        "Seven eight. Nine ten. Eleven twelve.",
    ]


def test_a_sentence_longer_than_the_overlap_is_not_shared() -> None:
    assert chunk(document(SIX), words, max_tokens=7, overlap_tokens=1) == chunk(
        document(SIX), words, max_tokens=6
    )


def test_windows_count_what_chunks_share_once_and_share_it_with_the_next() -> None:
    doc = document(SIX)
    first, second = windows(doc, chunk(doc, words, max_tokens=7, overlap_tokens=3), max_tokens=9)
    assert first.text == "One two. Three four. Five six. Seven eight."
    assert second.text == "Seven eight. Nine ten. Eleven twelve."


def test_a_negative_overlap_is_refused() -> None:
    with pytest.raises(ValueError, match="overlap_tokens"):
        chunk(document("One."), words, overlap_tokens=-1)
