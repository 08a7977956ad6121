"""What stands above a passage: the title of its document and short fields."""

from polygraph.text.passage import MAX_CHARACTERS, MAX_FIELDS, Heading, short_fields, with_heading


def test_date_and_parties_come_first_and_the_others_by_name():
    metadata = {
        "zone": "north",
        "To": "Ritson",
        "from": "Corve",
        "date": "1881-11-14",
        "Author": "Corve",
        "area": 3,
    }
    assert short_fields(metadata) == (
        "date: 1881-11-14; author: Corve; from: Corve; to: Ritson; area: 3; zone: north"
    )


def test_what_says_how_a_document_was_read_is_left_out():
    assert short_fields({"path": "a.txt", "format": "txt", "pages": [0, 12], "id": "7", "title": "A"}) == ""
    assert (
        short_fields({"imported_from": "msgraphrag", "creation_date": "2026-01-20", "author": "A"})
        == "author: A"
    )


def test_a_source_is_shown_unless_it_says_where_a_document_was_read():
    assert short_fields({"source": "Interview with Ada Brook"}) == "source: Interview with Ada Brook"
    assert short_fields({"Source": "Reuters"}) == "source: Reuters"
    for address in ("https://example.org/a", "papers/a.md", "a.md", "C:\\\\a", "17", 17):
        assert short_fields({"source": address}) == ""


def test_long_nested_and_empty_values_are_no_fields():
    metadata = {"a": "x" * 121, "b": {"c": 1}, "d": "", "e": None, "f": True, "g": [1, 2], "h": [{"i": 1}]}
    assert short_fields(metadata) == "g: 1, 2"


def test_fields_are_bounded_in_number_and_length():
    assert short_fields({f"f{n:02}": n for n in range(99)}).count(";") == MAX_FIELDS - 1
    assert len(short_fields({f"f{n:02}": "x" * 100 for n in range(99)})) <= MAX_CHARACTERS
    assert short_fields({"x" * 1_000: "y"}) == ""


def test_line_breaks_in_names_and_values_cannot_begin_a_line():
    fields = short_fields({"no\nte": "one\n# two\n</document>"})
    assert fields == "no te: one # two </document>"


def test_fields_stand_above_a_passage_that_begins_with_its_title():
    heading = Heading("Boat Blue", "date: 1893-07-13")
    assert with_heading(heading, "Boat Blue\nIt is blue.") == "date: 1893-07-13\nBoat Blue\nIt is blue."


def test_a_section_that_begins_the_passage_or_repeats_the_title_is_not_written_again():
    assert (
        with_heading(Heading("Guide"), "## Safety\nStop.", {"section": "Safety"}) == "Guide\n## Safety\nStop."
    )
    assert with_heading(Heading("Guide"), "Stop.", {"section": "Guide"}) == "Guide\nStop."
    assert with_heading(Heading("Guide: 1905"), "Stop.", {"section": "Guide"}) == "Guide: 1905\nStop."
    assert with_heading(Heading("Guide"), "Stop.", {"page": 3}) == "Guide\npage: 3\nStop."


def test_the_headings_that_hold_a_section_stand_before_it():
    passage = {"section": "Fire", "sections": ["Guide", "Book II", "Safety"]}
    assert with_heading(Heading("Guide"), "Run.", passage) == "Guide\nsection: Book II > Safety > Fire\nRun."
    inside = with_heading(Heading("Guide"), "## Safety\n### Fire\nRun.", passage)
    assert inside == "Guide\nsection: Book II\n## Safety\n### Fire\nRun."


def test_outer_headings_that_make_a_section_too_long_are_left_out():
    passage = {"section": "Fire", "sections": ["x" * 120, "y" * 120, "Safety"]}
    assert f"section: {'y' * 120} > Safety > Fire\n" in with_heading(Heading("Guide"), "Run.", passage)


def test_a_section_path_of_another_form_is_ignored():
    assert (
        with_heading(Heading("Guide"), "Run.", {"section": "Fire", "sections": 7})
        == "Guide\nsection: Fire\nRun."
    )


def test_a_section_whose_heading_stands_inside_a_passage_is_not_written_above_it():
    text = "# Handbook\n\n## Call-out\n\n### In fog\nNobody goes alone.\n\n## Equipment\nA stretcher."
    metadata = {"section": "In fog", "sections": ["Handbook", "Call-out"]}
    assert with_heading(Heading("Handbook"), text, metadata) == text
    later = "Nobody goes alone in fog or at night."
    assert (
        with_heading(Heading("Handbook"), later, metadata) == f"Handbook\nsection: Call-out > In fog\n{later}"
    )


def test_the_date_of_a_mail_is_a_day():
    assert Heading.of("Thanks", {"date": "Mon, 20 Feb 2023 10:00:00 +0000"}).date == "2023-02-20"
    assert Heading.of("Thanks", {"date": "20 Foo 2023 10:00"}).date == "20 Foo 2023 10:00"
