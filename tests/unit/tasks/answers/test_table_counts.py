"""How many: rows are counted, cells that say how many are looked up, and a noun that is counted is no cell."""

import pytest

from tests.unit.tasks.answers.conftest import Ask, table_of

CREW = table_of(
    "crew-list",
    """
    Name         | Job            | Department | Station  | Grade
    Mira Falk    | Head of People | People     | Oakmouth | 6
    Jon Aske     | Recruiter      | People     | Tarn     | 4
    Ida Rehn     | Pilot          | Sales      | Oakmouth | 3
    Per Lund     | Senior pilot   | Flight     | Oakmouth | 5
    Ane Voll     | Pilot          | Flight     | Tarn     | 3
    """,
)
LEAVE = table_of(
    "Rest rules",
    """
    Region | Rest days per year      | Free Sundays  | Transfer
    North  | 24                      | 12, at least  | 4 days
    South  | 21, or 25 after 8 years | as agreed     | all
    Isles  | 28                      | as agreed     | 2 days
    """,
    heading="Annual rest",
)
ASSETS = table_of(
    "register",
    """
    Tag   | Kind    | Group   | Site
    A-001 | Printer | Sales   | Tarn
    A-002 | Printer | Support | Tarn
    A-003 | Scanner | Sales   | Tarn
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people work in Oakmouth?", "3"),
        ("How many employees are there in Tarn?", "2"),
        ("How many people have grade 3 in the Tarn station?", "1"),
        ("How many people are in the People department?", "2"),
        ("How many of our people work in Oakmouth?", "3"),
        ("Which people work in Tarn?", "Name: Jon Aske and Ane Voll"),
        ("What is the average grade of people in Oakmouth?", "4.67"),
        ("How many people have a grade of 5 or more?", "2"),
    ],
)
def test_people_are_the_rows_of_a_table_of_persons(ask: Ask, question: str, answer: str) -> None:
    assert ask(question, CREW) == answer


def test_persons_are_rows_although_a_column_numbers_them(ask: Ask) -> None:
    payroll = table_of(
        "payroll",
        """
        employee_no | name    | town | salary_eur
        7           | Ann Lee | Tarn | 30000
        8           | Bo Dahl | Oslo | 40000
        9           | Cy Tow  | Tarn | 50000
        """,
    )
    assert ask("What is the average salary of the employees in Tarn?", payroll) == "40,000 EUR"
    assert ask("How many employees are in Tarn?", payroll) == "2"


def test_people_are_not_the_rows_of_other_tables(ask: Ask) -> None:
    offices = table_of("offices", "Office | Department | Floor\nO1 | People | 2\nO2 | Flight | 3")
    assert ask("How many people are on floor 2?", offices) is None
    contacts = table_of("Check list", "Topic | Tarn\nKeys | Ida\nBadge | Jon", heading="People")
    assert ask("How many people are there?", contacts) is None
    levels = table_of(
        "flight/escalation", "Step | Person | When\n1 | the other crew | at once\n2 | Per Lund | later"
    )
    assert ask("How many people work in flight?", levels) is None


@pytest.mark.parametrize(
    "question",
    [
        "How many sales were made in Oakmouth?",  # a department
        "How many pilots are there?",  # senior ones too
        "How many crews work in Bergen?",
    ],
)
def test_a_counted_noun_is_no_filter_if_it_may_mean_something_else(ask: Ask, question: str) -> None:
    assert ask(question, CREW) is None


def test_the_plural_of_a_cell_may_be_counted(ask: Ask) -> None:
    assert ask("How many printers are in Tarn?", ASSETS) == "2"
    assert ask("How many sales are in Tarn?", ASSETS) is None
    assert ask("How many are in Tarn?", ASSETS) == "3"


def test_a_noun_that_shares_a_stem_with_the_title_is_not_what_rows_are(ask: Ask) -> None:
    versions = table_of("Engineering", "Version | Radio\nv1 | LoRa\nv2 | BLE")
    assert ask("How many engineers are there?", versions) is None
    assert ask("How many versions are there?", versions) == "2"


def test_a_part_of_a_book_has_no_parts(ask: Ask) -> None:
    manual = table_of("Manual, Part 2", "Accessory | Fits\nHose | TR-8\nRack | TR-9")
    assert ask("How many parts are there?", manual) is None
    assert ask("Which parts fit TR-8?", manual) is None
    catalogue = table_of("parts 2024", "Code | Fits\nHose | TR-8\nRack | TR-9")
    assert ask("How many parts are there?", catalogue) == "2"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many days of annual rest in the North?", "Rest days per year: 24"),
        ("How many rest days in the South?", "Rest days per year: 21, or 25 after 8 years"),
        ("How many Sundays do I get in the Isles?", "Free Sundays: as agreed"),
        ("How many free Sundays in the North?", "Free Sundays: 12, at least"),
    ],
)
def test_a_cell_that_says_how_many_is_looked_up(ask: Ask, question: str, answer: str) -> None:
    assert ask(question, LEAVE) == answer


def test_amounts_are_not_counted_as_different_values(ask: Ask) -> None:
    assert ask("How many rest days are there?", LEAVE) is None
    assert ask("How many departments are in Oakmouth?", CREW) == "3"


WATCH = table_of(
    "watch list",
    """
    Night      | Keeper    | Boatman
    2024-05-02 | Ida Marsh | Tom Wren
    2024-05-03 | Tom Wren  | Ida Marsh
    2024-05-04 | Ida Marsh | Ane Voll
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How often was Ida Marsh keeper?", "2"),
        ("How many times was Ida Marsh boatman?", "1"),
        ("How often was Ida Marsh late?", None),
        ("How often was Ida Marsh?", None),  # as what
        ("How many times was the boatman?", None),
    ],
)
def test_where_each_row_has_its_day_rows_are_times(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, WATCH) == answer
    assert ask("How often is the kind a printer?", ASSETS) is None


SPENDING = """
    Day        | Item | {}   | Shop
    2024-05-02 | Oil  | 40     | Lowther
    2024-05-09 | Oil  | 35     | Tarn
    2024-06-01 | Rope | 12     | Tarn
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much did we spend on oil?", "75"),
        ("How much was spent in May 2024?", "75"),
        ("How much did we spend on oil in total?", "75"),
        ("Who spent the most?", None),
        ("How much more was spent on oil than on rope?", None),
    ],
)
def test_what_was_spent_is_the_sum_of_the_costs(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, table_of("Purchases", SPENDING.format("Cost"))) == answer
    for name in ("Unit cost", "Price", "Income"):
        assert ask(question, table_of("Purchases", SPENDING.format(name))) is None


def test_costs_beside_a_quantity_may_be_for_one_piece(ask: Ask) -> None:
    assert (
        ask("How much did we spend on oil?", table_of("Stock", "Item | Cost | Quantity\nOil | 5 | 10"))
        is None
    )
