"""Words around a column or a condition, and words of the title."""

import pytest

from tests.unit.tasks.answers.conftest import Ask, table_of

STORE = table_of(
    "ship spares",
    """
    item_no | description | stock | delivery_time_weeks
    SP-1    | Anchor      | 0     | 9
    SP-2    | Bell        | 14    | 2
    SP-3    | Compass     | 0     | 3
    SP-4    | Davit       | 3     | 12
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many spares have stock 0?", "2"),
        ("How many ship spares have a stock of 0?", "2"),
        ("How many spares are out of stock?", "2"),
        ("Which spares are out of stock?", "item_no: SP-1 (Anchor) and SP-3 (Compass)"),
        (
            "Which ship spares have a delivery time of more than 8 weeks?",
            "item_no: SP-1 (Anchor; delivery_time_weeks: 9) and SP-4 (Davit; delivery_time_weeks: 12)",
        ),
        ("How many spares have a delivery time of 9 weeks or more?", "2"),
        ("How many spares have a stock of 3 or less?", "3"),
        ("What is the item number of the bell?", "item_no: SP-2"),
    ],
)
def test_words_that_link_a_column_to_its_condition(ask: Ask, question: str, answer: str) -> None:
    assert ask(question, STORE) == answer


def test_out_of_stock_needs_one_column_of_stock(ask: Ask) -> None:
    two = table_of("spares", "no | stock_north | stock_south\nSP-1 | 0 | 3\nSP-2 | 1 | 0")
    assert ask("How many spares are out of stock?", two) is None
    assert ask("How many spares are not out of stock?", STORE) is None


FAULTS = table_of(
    "Service guide",
    """
    Code | Meaning
    H1   | Door open
    H2   | Lid sensor (ZR-40, ZR-60)
    """,
    heading="Fault codes",
    headings="Service guide Dryers ZR",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does fault code H1 mean?", "Meaning: Door open"),
        ("What does fault code H1 mean on a ZR dryer?", "Meaning: Door open"),
        ("What does fault code H1 mean on the ZR-50?", "Meaning: Door open"),
        ("What does fault code H2 mean on the ZR-60?", "Meaning: Lid sensor (ZR-40, ZR-60)"),
        ("What does fault code H2 mean on the ZR-50?", None),  # the row names other models
        ("What does fault code H1 mean on the QT-50?", None),
        ("What does fault code H1 mean on a ZR mixer?", None),
    ],
)
def test_a_model_of_the_series_in_a_heading_may_be_named(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, FAULTS) == answer


def test_a_title_with_one_model_is_not_about_another(ask: Ask) -> None:
    guide = table_of("ZR-40 guide", "Code | Meaning\nH1 | Door open\nH2 | Lid sensor")
    assert ask("What does H1 mean on the ZR-40?", guide) == "Meaning: Door open"
    assert ask("What does H1 mean on the ZR-50?", guide) is None
    of_series = table_of(
        "ZR-40 guide", "Code | Meaning\nH1 | Door open\nH2 | Lid sensor", headings="ZR series"
    )
    assert ask("What does H1 mean on the ZR-50?", of_series) is None


KEEPERS = table_of("Keepers", "Name | Job | Age\nIda Marsh | Cook | 61\nTom Wren | Mate | 24")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who is the cook?", "Name: Ida Marsh"),
        ("Who is the new cook?", None),
        ("Who is the old mate?", None),
        ("How old is the mate?", "Age: 24"),
        ("Who is the oldest?", "Name: Ida Marsh (Age: 61)"),
    ],
)
def test_an_adjective_that_compares_nothing_is_not_passed_over(
    ask: Ask, question: str, answer: str | None
) -> None:
    assert ask(question, KEEPERS) == answer
