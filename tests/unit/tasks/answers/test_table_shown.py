"""What an answer says of the rows that it names."""

import pytest

from tests.unit.tasks.answers.conftest import Ask, table_of

KEYS = table_of(
    "keys",
    """
    key_no | name        | depth_mm | price_eur | superseded_by
    K-10   | Cellar key  | 12       | 8.00      | K-12
    K-11   | Attic key   | 30       | 11.00     |
    K-12   | Cellar key 2| 14       | 9.00      | -
    """,
)
SETTINGS = table_of(
    "Boiler settings",
    """
    Setting | Purpose          | Range
    S1      | Night value      | 5-15 °C
    S2      | Flow temperature | 30-70 °C
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the most expensive key?", "K-11 (Attic key; price_eur: 11.00)"),
        (
            "Which keys have a depth over 13?",
            "key_no: K-11 (Attic key; depth_mm: 30) and K-12 (Cellar key 2; depth_mm: 14)",
        ),
    ],
)
def test_a_code_is_shown_with_its_description_and_what_was_compared(
    ask: Ask, question: str, answer: str
) -> None:
    assert ask(question, KEYS) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the price of K-10?", "price_eur: 8.00; superseded_by: K-12"),
        ("What is the price of K-11?", "price_eur: 11.00"),
        ("What is the price of K-12?", "price_eur: 9.00"),
        ("What is the cheapest key?", "K-10 (Cellar key; price_eur: 8.00; superseded_by: K-12)"),
        ("What is K-10 superseded by?", "superseded_by: K-12"),
    ],
)
def test_what_replaces_a_row_is_added(ask: Ask, question: str, answer: str) -> None:
    assert ask(question, KEYS) == answer


def test_a_key_is_not_given_for_a_value(ask: Ask) -> None:
    assert ask("What is the night value of the boiler?", SETTINGS) is None
    assert ask("What is the range of the night value?", SETTINGS) == "Range: 5-15 °C"
    assert ask("Which setting is the night value?", SETTINGS) == "Setting: S1"
