"""Lists in a text, and how they are quoted."""

from polygraph.text.lists import find_lists, in_lines
from polygraph.text.sentences import sentence_spans

TRIM = """## Trimming the lamp

  1. Put out the flame.
  2. Cut the wick:
     ```
     cut --level
     ```
     Use the brass shears.

  3. Wipe the glass
     with a dry cloth.

The keeper signs the book.

- Oil is in the shed.
"""


def quoted(text):
    return [text[found.start : found.end] for found in find_lists(text)]


def test_a_list_holds_lines_and_code_that_continue_an_item_and_ends_at_the_next_paragraph():
    steps, oil = quoted(TRIM)
    assert steps.startswith("1. Put out")
    assert steps.endswith("with a dry cloth.")
    assert oil == "- Oil is in the shed."
    assert [len(found.items) for found in find_lists(TRIM)] == [3, 1]
    assert [found.is_ordered for found in find_lists(TRIM)] == [True, False]


def test_each_item_ends_where_its_last_line_does():
    (found, _) = find_lists(TRIM)
    assert [TRIM[: end].rsplit("\n", 1)[-1].strip() for end in found.items] == [
        "1. Put out the flame.",
        "Use the brass shears.",
        "with a dry cloth.",
    ]  # fmt: skip


def test_letters_and_brackets_are_marks_and_a_heading_ends_a_list():
    text = "(a) wicks;\n(b) glass.\n# Other\nc) nothing"
    assert quoted(text) == ["(a) wicks;\n(b) glass.", "c) nothing"]


def test_prose_and_dates_are_no_lists():
    assert quoted("He came on\nMay 3. It rained - a lot.\n1871 was dry.") == []


def test_items_keep_their_lines_and_their_place_in_a_quotation():
    steps = quoted("You do this.\n  1. Bring\n     - oil\n     - a wick\n  2. Climb.")[0]
    assert in_lines(steps) == "1. Bring\n   - oil\n   - a wick\n2. Climb."
    assert in_lines("Bring oil and\n- as always - a wick.") == "Bring oil and - as always - a wick."


def test_the_number_of_an_indented_item_is_no_sentence():
    text = "  4. Let the oil run out.\n  5. Close the tap."
    assert [text[a:b] for a, b in sentence_spans(text)] == ["4. Let the oil run out.", "5. Close the tap."]
