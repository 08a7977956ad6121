"""Answers computed from tables: what is answered, and what is left alone."""

import pytest

from polygraph.records import Table
from polygraph.tasks.answers.table_answer import NamedTable, answer_from_tables
from polygraph.tasks.answers.table_answer.cells import parse_days, parse_number, read_column
from polygraph.tasks.answers.table_answer.view import name_stems

ORDERS = [
    ("order_id", "customer", "product", "quantity", "unit_price_eur", "order_date", "status"),
    ("SO-1001", "Marrow Dairy", "MX-200", "6", "1840.00", "2024-01-09", "delivered"),
    ("SO-1002", "Hale Brewing", "MX-110", "2", "960.00", "2024-01-15", "delivered"),
    ("SO-1003", "Marrow Dairy", "MX-110", "5", "960.00", "2024-02-27", "cancelled"),
    ("SO-1004", "Riu Sec", "MX-400", "3", "5200.00", "2024-06-21", "open"),
    ("Total", "", "", "16", "", "", ""),
]
STAFF = [
    ("Name", "Department", "Site", "Manager", "Weekly hours"),
    ("Petra Holm", "Quality", "Bremen", "Ines Radtke", "38"),
    ("Aidan Roe", "Service", "Leeds", "Petra Holm", "40"),
    ("Lena Voss", "Quality", "Bremen", "Petra Holm", "20"),
]


def named(title: str, rows: list[tuple[str, ...]]) -> NamedTable:
    spans = tuple((100 * n, 100 * n + 50) for n in range(len(rows) - 1))
    table = Table(title="", columns=rows[0], rows=tuple(rows[1:]), spans=spans)
    return NamedTable(document=f"{title}.csv", title=title, table=table)


TABLES = [named("orders-2024", ORDERS), named("staff", STAFF)]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many orders did Marrow Dairy place?", "2"),
        ("How many orders are open?", "1"),
        ("What is the total quantity of MX-110 ordered?", "7"),
        ("What is the total quantity of all orders?", "16"),
        ("What is the total quantity?", "16"),  # the answer says of which table
        ("What is the average unit price of MX-110?", "960 EUR"),
        ("Which order has the highest quantity?", "order_id: SO-1001 (quantity: 6)"),
        ("When was order SO-1004 placed?", "order_date: 2024-06-21"),
        ("How many orders have a quantity over 4?", "2"),
        ("How many orders were placed in January 2024?", "2"),
        ("Which customer placed the most orders?", "Marrow Dairy (2)"),
        ("Who is the manager of Petra Holm?", "Manager: Ines Radtke"),
        ("How many staff work in Bremen?", "2"),
        ("What is the mean weekly hours in the Quality department?", "29"),
        ("Does Aidan Roe work in Bremen?", "No: Name: Aidan Roe, Site: Leeds"),
        (
            "Which has the higher weekly hours, Lena Voss or Aidan Roe?",
            "Aidan Roe (Weekly hours: 40), against Lena Voss (20)",
        ),
    ],
)
def test_a_question_of_columns_values_and_operators_is_answered(question: str, answer: str) -> None:
    found = answer_from_tables(question, TABLES)
    assert found is not None
    assert found.text.split(". (")[0] == answer


@pytest.mark.parametrize(
    "question",
    [
        "What is the salary of Petra Holm?",  # no such column
        "How many orders did Fonteval place?",  # no such value
        "How many orders did Hale Brewing not place?",  # negation
        "How many MX-110 were ordered?",  # rows or pieces
        "What is the total of SO-1004?",  # a code is no number
        "What is the quantity of Marrow Dairy?",  # of which order
        "Who are Petra Holm and Lena Voss?",  # what the table does not say
        "How many orders did Marrow Dairy cancel after the fire?",
        "Who is the mayor of Bremen?",
        "Why was order SO-1003 cancelled by the customer?",
        "Is the order SO-1001 not open?",
        "Which customer placed all orders?",
        "Are all orders delivered?",
        "Did Marrow Dairy or Riu Sec order more?",
        "Which orders have a larger quantity than the average?",  # not the average
        "What is the manager?",
        "Petra Holm",
        "",
    ],
)
def test_a_question_with_another_word_or_two_readings_is_left_alone(question: str) -> None:
    assert answer_from_tables(question, TABLES) is None


def test_an_answer_shows_filter_and_rows_and_cites_the_rows() -> None:
    found = answer_from_tables("How many orders did Marrow Dairy place?", TABLES)
    assert found is not None
    assert found.text == "2. (Counted with customer: Marrow Dairy; 2 of 5 rows of “orders-2024”.)"
    assert found.document == "orders-2024.csv"
    assert found.spans == ((0, 50), (200, 250))


def test_tables_that_answer_differently_give_no_answer() -> None:
    other = [("Name", "Manager"), ("Petra Holm", "Tom Sedge"), ("Aidan Roe", "Tom Sedge")]
    question = "Who is the manager of Petra Holm?"
    assert answer_from_tables(question, [*TABLES, named("old staff", other)]) is None
    same = [("Name", "Manager"), ("Petra Holm", "Ines Radtke"), ("Aidan Roe", "Tom Sedge")]
    assert answer_from_tables(question, [*TABLES, named("old staff", same)]) is not None


def test_a_row_of_totals_is_not_added_again() -> None:
    found = answer_from_tables("What is the total quantity of orders?", TABLES)
    assert found is not None
    assert found.text.startswith("16.")


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (("12.450,00", "3.980,50"), "number", (12450.0, 3980.5)),
        (("1,200", "350"), "number", (1200.0, 350.0)),
        (("€5.50", "-", "€2"), "number", (5.5, None, 2.0)),
        (("(120)", "80"), "number", (-120.0, 80.0)),
        (("2.2 kW", "11 kW"), "number", (2.2, 11.0)),
        (("1.250", "3.400"), "text", (None, None)),  # one and a quarter, or 1250
        (("2 kg", "300 g"), "text", (None, None)),
        (("SO-1004", "SO-1005"), "text", (None, None)),
        (("0113 555", "0114 556"), "text", (None, None)),
        (("31.12.2024", "01.02.2024"), "date", (739251.0, 738917.0)),
        (("03/04/2024", "05/06/2024"), "text", (None, None)),  # which is the month
        (("12", "many"), "text", (None, None)),
    ],
)
def test_a_column_is_numeric_or_dated_as_a_whole(
    cells: tuple[str, ...], kind: str, values: tuple[float | None, ...]
) -> None:
    column = read_column("figure", cells)
    assert column.kind == kind
    assert tuple(value and value.value for value in column.values) == values


def test_numbers_of_a_column_of_codes_are_not_added() -> None:
    assert read_column("invoice no", ("1004", "1005")).kind == "code"
    assert read_column("year", ("1990", "1991")).kind == "code"


def test_doctests_of_small_readers() -> None:
    assert parse_number("SO-1004") is None
    assert parse_days("2024-02") == (738917.0, 738945.0)
    assert name_stems("unit_price_eur") == ["unit", "price"]


def test_a_row_is_called_by_its_name_rather_than_its_number() -> None:
    members = named(
        "members", [("id", "name", "role"), ("m1", "Ada Brook", "chair"), ("m2", "Tom Sedge", "treasurer")]
    )
    found = answer_from_tables("Which member is the treasurer?", [members])
    assert found is not None
    assert found.text.startswith("name: Tom Sedge. ")
    by_number = answer_from_tables("What is the role of m2?", [members])
    assert by_number is not None
    assert by_number.text.startswith("role: treasurer. ")


TICKETS = [
    ("ticket", "opened", "customer", "status"),
    ("8801", "2025-02-20", "Harlow", "closed"),
    ("8866", "2025-06-04", "Corve", "open"),
    ("8880", "2025-06-23", "Corve", "closed"),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many tickets of Corve are closed?", "1. (Counted"),
        ("How many tickets does Corve have?", "2. (Counted"),
        ("Which tickets are still open?", "ticket: 8866. (Looked up with status: open"),
        ("When was ticket 8866 opened?", "opened: 2025-06-04."),
    ],
)
def test_a_row_is_called_by_the_number_in_a_column_that_the_table_is_named_after(
    question: str, answer: str
) -> None:
    found = answer_from_tables(question, [named("tickets", TICKETS)])
    assert found is not None
    assert found.text.startswith(answer)


def test_a_verb_is_not_taken_for_a_value_where_a_column_is_named_by_it() -> None:
    found = answer_from_tables("How many tickets did Corve open?", [named("tickets", TICKETS)])
    assert found is None
