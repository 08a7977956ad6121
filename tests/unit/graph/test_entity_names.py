"""The spelling that names an entity."""

import pytest

from polygraph.graph.merge.entity_names import shown_spelling


@pytest.mark.parametrize(
    ("spelt", "shown"),
    [
        ([(-5, "HONORA VANE"), (-2, "Honora Vane")], "Honora Vane"),
        ([(-5, "HONORA VANE"), (-2, "Miss Vane")], "HONORA VANE"),
        ([(-5, "HONORA VANE")], "HONORA VANE"),
        ([(-5, "VANE"), (-2, "Vane")], "VANE"),
    ],
)
def test_words_in_capitals_name_an_entity_unless_they_are_also_spelt_with_small_letters(spelt, shown):
    assert shown_spelling(spelt, "honora vane", is_person=True, of_several=False) == shown
