"""Operators over sets that code works out; every expected value is by hand."""

import pytest

from polygraph.retrieve.methods.rograg import operators
from polygraph.retrieve.methods.rograg.operators import (
    Row,
    compare,
    condition,
    count,
    satisfies,
    sort,
    total,
    value_of,
    written,
)
from polygraph.text.quantities import dates, quantities


def row(key, *texts, entity=None):
    return Row(key=key, name=key.title(), texts=texts, entity=entity)


ALDER = row("alder", "Alder Mill was built in 1871.", "It cost £12.")
BROOK = row("brook", "Brook Mill was built in March 1889.", "Its price was £30 in 1890.")
CROSS = row("cross", "Cross Mill is a ruin.")


def test_rows_are_counted_once_per_key():
    assert count([ALDER, BROOK, ALDER, row("alder", "another spelling")]) == 2
    assert count([]) == 0


def test_the_value_comes_from_the_text_that_shares_words_with_the_key():
    assert value_of(BROOK, "price").value == 30.0
    assert value_of(BROOK, "year built").first == (1889, 3, 1)
    assert value_of(BROOK, "year of the price").first == (1890, 1, 1)
    assert value_of(CROSS, "price") is None
    # Without a key numbers go before dates, and the first text before others.
    assert value_of(ALDER).first == (1871, 1, 1)


def test_sorting_is_stable_and_rows_without_a_value_go_last_in_both_directions():
    same = row("same", "Same Mill was built in 1871.")
    rows = [CROSS, BROOK, ALDER, same]
    assert [r.key for r in sort(rows, "year built", "min")] == ["alder", "same", "brook", "cross"]
    assert [r.key for r in sort(rows, "year built", "max")] == ["brook", "alder", "same", "cross"]
    assert [r.key for r in sort(rows, "year built", "min", 1)] == ["alder"]


def test_values_of_another_dimension_are_not_sorted_among_the_first():
    rows = [row("a", "3 km"), row("b", "2 miles"), row("c", "£5")]
    assert [r.key for r in sort(rows, "length", "min")] == ["a", "b", "c"]
    assert [r.key for r in sort(rows, "length", "max")] == ["b", "a", "c"]


def test_sums_add_one_dimension_and_name_the_rows_left_out():
    summed, left = total([ALDER, BROOK, CROSS, ALDER, row("far", "3 km")], "price")
    assert (summed.value, summed.dimension) == (42.0, "£")
    assert [r.key for r in left] == ["cross", "far"]
    assert written(summed) == "£42"
    assert total([CROSS], "price") == (None, [CROSS])


def test_sums_are_written_in_the_unit_of_the_first():
    summed, _ = total([row("a", "2 km"), row("b", "500 m")], "length")
    assert written(summed) == "2.5 km"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("built after 1870", True),
        ("built before 1871", False),
        ("built in 1871", True),
        ("built since 1871", True),
        ("no later than 1870", False),
        ("between 1870 and 1880", True),
        ("between 1872 and 1880", False),
        ("not in 1871", False),
        ("cost at least £12", True),
        ("cost more than £12", False),
        ("price under £13", True),
        ("cost $12", None),
    ],
)
def test_conditions_are_decided_by_code_where_it_can(text, holds):
    assert satisfies(ALDER, condition(text), text) is holds


def test_a_condition_without_a_value_is_not_parsed():
    assert condition("is a barque") is None
    assert satisfies(CROSS, condition("after 1870")) is None


def test_a_year_contains_its_days():
    assert satisfies(BROOK, condition("in 1889"), "built") is True
    assert satisfies(BROOK, condition("in April 1889"), "built") is False


def test_the_earlier_later_larger_and_smaller_are_found_with_their_values():
    assert compare([ALDER, BROOK], "earlier", "built").row is ALDER
    assert compare([ALDER, BROOK], "later", "built").row is BROOK
    assert compare([ALDER, BROOK], "max", "price").text == "Brook (Alder: £12; Brook: £30)"
    assert compare([ALDER, BROOK], "min", "price").row is ALDER


def test_differences_are_in_years_days_or_the_unit_read():
    a, b = row("a", "1871"), row("b", "1889")
    assert compare([a, b], "diff").value.value == 18.0
    a, b = row("a", "1 March 1900"), row("b", "28 February 1900")
    assert compare([a, b], "diff").text.startswith("1 day (")
    assert compare([ALDER, BROOK], "diff", "price").text == "£18 (£12; £30)"


def test_incomparable_values_have_no_order():
    assert compare([ALDER, CROSS], "earlier", "built").text == ""
    assert compare([row("a", "3 km"), row("b", "£3")], "max").text == ""
    assert compare([ALDER], "diff").text == ""
    assert compare([row("a", "1889"), row("b", "March 1889")], "earlier").text == ""


def test_equality_is_of_values_or_of_the_things_themselves():
    assert compare([row("a", "£3"), row("b", "£3.00")], "eq").text.startswith("equal")
    assert compare([row("a", "£3"), row("b", "£4")], "eq").text.startswith("not equal")
    assert compare([row("a", "x", entity=1), row("b", "y", entity=2)], "eq").text.startswith("not the same")
    assert compare([row("a", "£3"), row("b", "£3")], "max").text.startswith("equal")


def test_merged_rows_keep_the_texts_of_both():
    merged = operators.distinct([row("a", "one"), row("b"), row("a", "two", entity=3)])
    assert [(r.key, r.texts, r.entity) for r in merged] == [("a", ("one", "two"), 3), ("b", (), None)]


def test_dates_and_numbers_are_never_ordered_against_each_other():
    assert operators.order(dates("1871")[0], quantities("£5")[0]) is None


def test_a_value_is_the_number_next_to_its_key_with_its_unit():
    text = "Alder has 300 employees and revenue of $2bn; Brook, with 900 employees, sold goods for £3 million in 1899."
    row = Row(key="a", name="Alder", texts=(text,))
    assert value_of(row, "revenue").text == "$2bn"
    assert value_of(row, "employees").value == 300
    assert value_of(row, "price of the goods sold").text == "£3 million"
    assert value_of(row, "year of the sale").text == "1899"
    assert value_of(row).value == 300


def test_rows_are_sorted_by_the_value_of_their_key():
    rows = [
        Row(key=name, name=name, texts=(f"{name} has {staff} employees and revenue of ${revenue}bn.",))
        for name, staff, revenue in (("Alder", 300, 2), ("Brook", 900, 1), ("Cove", 20, 5))
    ]
    assert [r.name for r in sort(rows, "revenue")] == ["Cove", "Alder", "Brook"]
    assert [r.name for r in sort(rows, "employees")] == ["Brook", "Alder", "Cove"]


def test_a_number_beyond_all_bounds_is_written_like_any_other():
    (endless,) = quantities(f"one {'hundred ' * 160}pounds")
    assert written(endless) == "£inf"
    found = compare([row("a", f"It cost one {'hundred ' * 160}pounds."), ALDER], "diff", "cost")
    assert found.text.startswith("£inf (")
