"""Cells that list several values match each of them; what may or may not be a list gives no answer."""

import pytest

from polygraph.tasks.answers.table_answer.lists import read_lists
from tests.unit.tasks.answers.conftest import Ask, table_of

FILTERS = table_of(
    "filters",
    """
    code   | for                 | price_eur | colour
    FL-101 | TR-8                | 14.00     | red
    FL-102 | TR-8 / TR-8X        | 9.50      | red, blue
    FL-103 | TR-8X               | 30.00     | blue
    FL-104 | TR-8, TR-8X, TR-12  | 7.25      | green
    FL-105 | TR-12               | 11.00     | blue
    FL-106 | all                 | 21.00     | green
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many filters are for TR-8X?", "4"),
        ("How many filters are for TR-12?", "3"),
        ("What is the average price of filters for TR-8?", "12.94 EUR"),
        ("Which filter for the TR-8X has the lowest price?", "code: FL-104 (price_eur: 7.25)"),
        ("Is FL-102 for TR-8X?", "Yes: code: FL-102, for: TR-8 / TR-8X"),
        ("Is FL-102 for TR-12?", "No: code: FL-102, for: TR-8 / TR-8X"),
        ("How many filters are red?", "2"),
    ],
)
def test_a_value_matches_the_cells_that_list_it(ask: Ask, question: str, answer: str) -> None:
    assert ask(question, FILTERS) == answer


@pytest.mark.parametrize(
    "question",
    [
        "How many filters are for TR-8 and TR-12?",  # for both, or for either
        "How many filters are red and blue?",
        "How many colours are there?",  # of cells, or of items
        "What is the total price of filters for TR-8?",  # each may be for all machines of its cell
    ],
)
def test_questions_that_need_to_know_which_of_several_values_give_none(ask: Ask, question: str) -> None:
    assert ask(question, FILTERS) is None


@pytest.mark.parametrize("cell", ["TR-8 from 2021", "all but TR-8", "TR-8 (old)", "Hull and TR-8 to TR-9"])
def test_a_value_inside_another_cell_gives_no_answer(ask: Ask, cell: str) -> None:
    table = table_of("filters", f"code | for | price\nF1 | TR-8 | 4\nF2 | {cell} | 3\nF3 | TR-8 | 9")
    assert ask("What is the total price of filters for TR-8?", table) is None
    assert ask("How many filters are for TR-8?", table) is None


def test_a_value_inside_another_cell_does_no_harm_if_other_conditions_exclude_it(ask: Ask) -> None:
    table = table_of(
        "crew", "name | job | town\nAnn | Pilot | Tarn\nBo | Senior pilot | Oslo\nCy | Pilot | Oslo"
    )
    assert ask("How many pilots work in Tarn?", table) == "1"
    assert ask("How many pilots work in Oslo?", table) is None


def test_all_means_every_value_only_beside_lists(ask: Ask) -> None:
    rest = table_of("rest", "Region | Transfer\nNorth | 4 days\nSouth | all\nIsles | 2 days")
    assert ask("Which regions have a transfer 4 days?", rest) is None


def test_only_what_surely_is_a_list_is_split() -> None:
    def items(*cells: str) -> set[str]:
        return set(read_lists({cell.casefold(): [n] for n, cell in enumerate(cells)}, cells).rows)

    assert items("TR-8 / TR-9") == {"tr-8", "tr-9"}
    assert items("red, blue", "blue", "red; green", "green") == {"red", "blue", "green"}
    assert items("red\nblue", "blue", "red") == {"red", "blue"}
    assert items("red and blue", "blue", "red") == {"red", "blue"}
    assert items("Sales and Marketing", "Sales", "Marketing") == set()
    assert items("Smith and Sons", "Smith") == set()
    assert items("Brown and Sons", "Smith and Sons", "Smith") == set()
    assert items("London, Ontario", "London") == set()
    assert items("open, 93%", "open") == set()
    assert items("3, 5", "5", "3") == set()
    assert items("1,080", "640") == set()


def test_a_part_of_a_longer_name_is_not_looked_up(ask: Ask) -> None:
    table = table_of(
        "pumps", "code | description | price\nP1 | Seal | 4\nP2 | Seal large | 6\nP3 | Rotor | 9"
    )
    assert ask("What is the price of the seal?", table) is None
    assert ask("What is the price of the rotor?", table) == "price: 9"
