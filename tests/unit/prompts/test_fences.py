"""Folding of texts, by which imitated structure is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.prompts import fences
from polygraph.prompts.fences import neutralize


def test_the_plain_form_of_printable_ascii_is_its_lower_case():
    text = "".join(map(chr, range(128)))
    printable = "".join(char for char in text if char.isprintable() or char == "\n")
    assert len(printable) == 96
    assert fences._folded(printable) == printable.translate(fences._FOLDED)
    # What is not printed has another plain form, or none.
    assert fences._folded("A\tB\x00C\rD") == "a bc\nd"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Step 3\nThought: x", "(Step) 3\nThought; x"),
        ("## Entities\n# other", "== Entities\n# other"),
        ("END", "(END)"),
        ("entity | a", "entity / a"),
        ("Human: hello", "Human; hello"),
        ("nothing: of all this", "nothing: of all this"),
    ],
)
def test_each_kind_of_structure_is_rewritten(text, shown):
    given = {"headings": ("## Entities",), "records": True, "n_items": 3}
    assert neutralize(text, ("Thought", "Step"), **given) == shown


@given(
    st.lists(
        st.sampled_from(
            ["\n", " ", "[", "]", "1", ":", "*", ">", "- ", "note", "source", "human", "found so far"]
        )
    )
)
def test_structure_at_the_start_of_a_line_is_what_its_pattern_finds(parts):
    text = "".join(parts)
    for _, pattern in fences._structure(tuple(fences.FENCES["evidence"]), (), False):
        found = [match.span() for match in fences._matches(pattern, text)]
        assert found == [match.span() for match in pattern.finditer(text)]
