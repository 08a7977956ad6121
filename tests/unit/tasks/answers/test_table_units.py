"""Units: in a column beside the numbers, or in the header."""

import pytest

from polygraph.tasks.answers.table_answer.units import header_unit
from tests.unit.tasks.answers.conftest import Ask, table_of

BERTHS = table_of(
    "Harbour dues",
    """
    Harbour  | Fee | Currency | Fee in summer | Berths
    Aalvik   | 300 | NOK      | 420           | 60
    Bergsund | 280 | NOK      | 310           | 75
    Corran   | 31  | GBP      | 44            | 20
    Dinard   | 38  | EUR      | 52            | 90
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the fee in Dinard?", "Fee: 38 EUR"),
        ("What is the fee in summer in Corran?", "Fee in summer: 44 GBP"),
        ("Which harbour has the highest fee in NOK?", "Aalvik (Fee: 300 NOK)"),
        ("What is the average fee in NOK?", "290 NOK"),
        (
            "Which has the higher fee, Aalvik or Bergsund?",
            "Aalvik (Fee: 300 NOK), against Bergsund (280 NOK)",
        ),
        ("How many harbours have a fee over 290 NOK?", "1"),
    ],
)
def test_a_column_of_units_gives_the_unit_of_the_numbers_beside_it(
    ask: Ask, question: str, answer: str
) -> None:
    assert ask(question, BERTHS) == answer


@pytest.mark.parametrize(
    "question",
    [
        "Which harbour has the highest fee?",
        "Which harbour has the lowest fee in summer?",
        "What is the average fee of the harbours?",
        "What is the total fee of the harbours?",
        "Which has the higher fee, Aalvik or Dinard?",
        "Does Aalvik have a higher fee than Dinard?",
        "How many harbours have a fee over 100?",
    ],
)
def test_numbers_of_several_units_are_not_compared_or_added(ask: Ask, question: str) -> None:
    assert ask(question, BERTHS) is None


def test_each_column_of_units_is_about_its_own_numbers(ask: Ask) -> None:
    larder = table_of(
        "larder", "Food | Amount | Unit | Price | Currency\nRye | 40 | kg | 30 | EUR\nOil | 9 | l | 54 | EUR"
    )
    assert ask("What is the amount of rye?", larder) == "Amount: 40 kg"
    assert ask("Which food has the highest price?", larder) == "Oil (Price: 54 EUR)"
    assert ask("Which food has the highest amount?", larder) is None
    assert ask("How many kg of rye are in the larder?", larder) is None


def test_a_unit_of_a_company_is_no_unit_of_numbers(ask: Ask) -> None:
    heads = table_of(
        "heads", "Team | Business unit | Headcount\nRed | Sales | 4\nTeal | Legal | 9\nRose | Sales | 2"
    )
    assert ask("Which team has the highest headcount?", heads) == "Teal (Headcount: 9)"


def test_a_price_may_have_a_currency_and_a_unit(ask: Ask) -> None:
    shop = table_of(
        "Preise",
        """
        Ware  | Preis | Währung | Einheit   | Bestand
        Nagel | 4,50  | EUR     | 100 Stück | 40
        Bolzen| 3,20  | EUR     | 100 Stück | 0
        Zange | 12,00 | EUR     | Stück     | 7
        """,
    )
    assert ask("What is the Preis of Nagel?", shop) == "Preis: 4,50 EUR"
    assert ask("What is the Bestand of Nagel?", shop) == "Bestand: 40"
    assert ask("Which Ware has the highest Preis?", shop) is None


def test_the_unit_of_a_header_is_shown_with_computed_numbers(ask: Ask) -> None:
    stones = table_of("stones", "Stone | Weight (kg) | value_usd\nA | 1.5 | 20\nB | 2.25 | 25")
    assert ask("What is the average weight of the stones?", stones) == "1.88 kg"
    assert ask("What is the total value of the stones?", stones) == "45 USD"
    assert ask("What is the average value of the stones?", stones) == "22.50 USD"


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("Flow [m³/h]", "m³/h"),
        ("price_eur", "EUR"),
        ("delay_days", "days"),
        ("Weekly hours", ""),
        ("Days (full time)", ""),
        ("UK (£)", "£"),
        ("eur", ""),
    ],
)
def test_the_unit_of_a_header(name: str, unit: str) -> None:
    assert header_unit(name) == unit
