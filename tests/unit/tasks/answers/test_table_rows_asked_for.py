"""Questions for rows of a table: who, which not, those without a value; all values of a column; what two rows share."""

import pytest

from tests.unit.tasks.answers.conftest import Ask, table_of

STAFF = table_of(
    "staff",
    """
    Name | Department | Office | Salary (EUR) | Start date | Manager | Remote
    Ana Pereira | Research | Lisbon | 54,200 | 2019-03-01 | Tom Hale | yes
    Knut Lund | Research | Oslo | 61,000 | 2017-09-15 | Tom Hale | no
    Rita Amaral | Sales | Lisbon | 48,750 | 2021-01-11 | Rosa Diaz | yes
    Farid Nasser | Sales | Paris | | 2022-05-02 | Rosa Diaz | no
    Tom Hale | Research | Lisbon | 83,000 | 2010-01-04 | | no
    """,
)
STOCK = table_of(
    "stock",
    """
    Item | Stock | Unit | Supplier | Last delivery | Status
    Paint, red | 30 | l | Colora | 2024-03-09 | listed
    Paint, blue | 0 | l | Colora | 2024-03-09 | withdrawn
    Gloves | 200 | pairs | Safehand | 2024-02-22 | listed
    Steel sheet | 45 | m² | Orrin | 2023-11-28 |
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who works in Lisbon?", "Name: Ana Pereira, Rita Amaral and Tom Hale"),
        (
            "Who started before 2018?",
            "Name: Knut Lund (Start date: 2017-09-15) and Tom Hale (Start date: 2010-01-04)",
        ),
        ("Who joined after 2021?", "Name: Farid Nasser (Start date: 2022-05-02)"),
        ("When did Rita Amaral join?", "Start date: 2021-01-11"),
        ("Who started first?", "Name: Tom Hale (Start date: 2010-01-04)"),
        ("Who joined last?", "Name: Farid Nasser (Start date: 2022-05-02)"),
        (
            "Who earns more than 60,000?",
            "Name: Knut Lund (Salary (EUR): 61,000) and Tom Hale (Salary (EUR): 83,000)",
        ),
        ("Who earns the most in Sales?", None),  # of one of two nothing is known
        ("How much does Ana Pereira earn?", "Salary (EUR): 54,200"),
        ("Who does Rosa Diaz manage?", "Name: Rita Amaral and Farid Nasser"),
        ("Who is Rosa Diaz?", None),
        ("Who is the average?", None),
        ("Who was hired by Tom Hale?", None),
    ],
)
def test_who_asks_for_the_rows_of_a_table_of_persons(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, STAFF) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people work remotely?", "2"),
        ("Who works remotely in Lisbon?", "Name: Ana Pereira and Rita Amaral"),
        ("How many people in Research do not work remotely?", "2"),
        ("Who isn't remote?", "Name: Knut Lund, Farid Nasser and Tom Hale"),
        ("Is Knut Lund remote?", "No: Name: Knut Lund, Remote: no"),
        ("Is Knut Lund not remote?", None),
        ("Who is never remote?", None),
    ],
)
def test_the_name_of_a_column_of_yes_and_no_is_what_holds(
    ask: Ask, question: str, answer: str | None
) -> None:
    assert ask(question, STAFF) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people are not in Research?", "2"),
        ("Who does not work in Lisbon?", "Name: Knut Lund and Farid Nasser"),
        ("What is the average salary of people who are not in Sales?", "66,066.67 EUR"),
        ("Which items are not from Colora?", "Item: Gloves and Steel sheet"),
        ("Which items are not listed?", None),  # of one it is not said
        ("Who is not in Lisbon or Oslo?", None),
        ("How many people did Tom Hale not hire?", None),
    ],
)
def test_a_value_that_is_denied_asks_for_the_other_rows(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, STAFF, STOCK) == answer


def test_a_missing_value_is_named_and_found(ask: Ask) -> None:
    assert ask("What is the salary of Farid Nasser?", STAFF) == "Salary (EUR): empty"
    assert ask("Who has no manager?", STAFF) == "Name: Tom Hale"
    assert ask("Who does not have a manager?", STAFF) == "Name: Tom Hale"
    assert ask("Which items have no supplier?", STOCK) is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which departments are there?", "Research and Sales"),
        ("Who are the managers?", "Tom Hale and Rosa Diaz"),
        ("List the suppliers.", "Colora, Safehand and Orrin"),
        ("Which items are there?", "Paint, red; Paint, blue; Gloves; and Steel sheet"),
        ("What is the department?", None),
        ("Which departments are larger?", None),
    ],
)
def test_all_values_of_a_column_are_listed(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, STAFF, STOCK) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "Do Ana Pereira and Tom Hale work in the same office?",
            "Yes: Name: Ana Pereira, Office: Lisbon; Name: Tom Hale, Office: Lisbon",
        ),
        (
            "Do Ana Pereira and Knut Lund earn the same?",
            "No: Name: Ana Pereira, Salary (EUR): 54,200; Name: Knut Lund, Salary (EUR): 61,000",
        ),
        ("Do Ana Pereira and Farid Nasser earn the same?", None),
    ],
)
def test_two_rows_are_compared(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, STAFF) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the median salary?", "57,600 EUR"),
        ("What is the median salary in Research?", "61,000 EUR"),
        ("What is the average stock?", None),  # of litres, pairs and square metres
        ("How many items are out of stock?", "1"),  # nothing is nothing in any unit
        ("When was the last delivery from Colora?", "Last delivery: 2024-03-09"),
        ("Which item had the first delivery?", None),  # the column has last ones
        ("Who had the last delivery?", None),
    ],
)
def test_numbers_and_dates(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, STAFF, STOCK) == answer


SALES = table_of(
    "loans",
    """
    Loan | Borrower | Amount | Currency | Status
    L1 | Baker | 1000 | EUR | open
    L2 | Carter | 2500 | USD | repaid
    L3 | Baker | 750 | EUR | open
    L4 | Dunn | 900 | EUR | overdue
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people work in each office?", "Lisbon: 3; Oslo: 1; Paris: 1"),
        ("What is the average salary by department?", "Research: 66,066.67 EUR; Sales: 48,750 EUR"),
        ("How many people do not work remotely per office?", "Lisbon: 1; Oslo: 1; Paris: 1"),
        ("Which department has the highest average salary?", "Research (66,066.67 EUR)"),
        ("Which department has the lowest total salary?", "Sales (48,750 EUR)"),
        ("How many loans by status?", "open: 2; repaid: 1; overdue: 1"),
        ("What is the total amount per currency?", "EUR: 2,650 EUR; USD: 2,500 USD"),
        ("Which borrower has the highest total amount?", None),  # in several currencies
        ("How many people work in every department and office?", None),
        ("Does every office have a manager?", None),
        ("How many people were hired by each manager?", None),
    ],
)
def test_results_for_each_value_of_a_column(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, STAFF, SALES) == answer


FLEET = table_of(
    "vehicle fleet",
    """
    Vehicle | Plate | Driver | Fuel | Mileage (km) | Lease | Winter tyres
    Ford Transit | KB-102 | Owen Pryce | diesel | 131560 | 412.50 € | yes
    Fiat Doblo | KB-103 | Lena Fischer | petrol | 45600 | 265.00 € | no
    Ford Transit | KB-111 | Gareth Boyle | diesel | 82775 | 405.00 € | no
    """,
)
MEMBERS = table_of(
    "rowing club members",
    """
    No | First name | Last name | Joined | Squad | Coach | Fee paid
    101 | Eleanor | Voss | 2016-01-08 | Masters | Ingrid Solberg | yes
    109 | Yusuf | Demir | 2019-09-21 | Sweep | Paul Devlin | no
    112 | Naomi | Okonjo | 2019-08-17 | Sweep | Paul Devlin | yes
    """,
)
JOBS = table_of(
    "workshop",
    """
    Job | Fault | Hours
    62 | puncture | 0.5
    63 | bent wheel | 1.25
    64 | puncture | 0.25
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("who drives the ford transit", "Driver: Owen Pryce and Gareth Boyle"),
        ("Which diesels have under 100,000 km?", "Plate: KB-111 (Mileage (km): 82775)"),
        ("Which vehicle has done the most kilometres?", "Ford Transit (Mileage (km): 131560)"),
        ("Does the Fiat Doblo have winter tyres?", "No: Plate: KB-103, Winter tyres: no"),
        ("Does the Ford Transit have winter tyres?", None),  # there are two
        ("What does a lease cost on average?", "€360.83"),
    ],
)
def test_other_forms_of_the_words_of_a_table(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, FLEET) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("has Eleanor Voss paid?", "Yes: Name: Eleanor Voss, Fee paid: yes"),
        ("Who hasn't paid the fee?", "Name: Yusuf Demir"),
        ("How many people joined the rowing club in 2019?", "2"),
        ("How many members are in each rowing squad?", "Masters: 1; Sweep: 2"),
        ("Who joined first?", "Name: Eleanor Voss (Joined: 2016-01-08)"),
        ("How many employees are in Sweep?", None),  # they are members
        ("who is paul devlin", None),
    ],
)
def test_members_are_called_by_first_and_last_name(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, MEMBERS) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many punctures were there?", "2"),
        ("What is the average job?", None),
        ("Which job took 0.25 hours?", None),
    ],
)
def test_a_first_column_that_counts_the_rows_names_them(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, JOBS) == answer


WINES = table_of(
    "wine cellar",
    """
    Wine | Colour | Bottles | Area (ha) | Bought | Corked | Price per bottle
    Rioja | red | 12 | 3 | 2023-01-20 | no | 9.50 €
    Barolo | red | 6 | 1 | 2023-04-02 | yes | 48.50 €
    Riesling | white | 24 | 7 | 2022-04-11 | tbd | 8.00 €
    - | rosé | 3 | 2 | 2024-06-30 | no | 5.00 €
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many bottles do we have?", "45"),
        ("How many bottles of red wine do we have?", "18"),
        ("How many bottles do we have of each colour?", "red: 18; white: 24; rosé: 3"),
        ("How many bottles does the Rioja have?", "Bottles: 12"),
        ("How many bottles are red?", None),  # rows or bottles
        ("Which is the biggest wine?", "Riesling (Area (ha): 7)"),
        ("Which wines were bought in January?", "Wine: Rioja (Bought: 2023-01-20)"),
        ("Which wines were bought in April?", None),  # of which year
        (
            "Which wines were bought since the start of 2023?",
            "Wine: Rioja (Bought: 2023-01-20) and Barolo (Bought: 2023-04-02)",
        ),
        ("Which wines are not corked?", "Wine: Rioja"),
        ("How many red wines do we still have?", None),
        ("How many bottles of rosé do we have?", "3"),
        ("What is the average price per colour?", "red: €29; white: €8; rosé: €5"),
    ],
)
def test_counts_months_and_names_that_are_missing(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, WINES) == answer


INVOICES = table_of(
    "Small mills in the Ammel valley",
    """
    Invoice no. | Client | River | Sent on | Paid on
    2024-07 | Ann Rook | Ammel | 2024-06-28 | 2024-07-30
    2024-08 | Ivo Senn | Thur | 2024-07-02 |
    2024-09 | Ann Rook | Ammel | 2024-08-11 | 2024-09-01
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When did Ivo Senn's invoice go out?", None),  # sent on, or paid on
        ("When was Ivo Senn's invoice sent?", "Sent on: 2024-07-02"),
        ("Who has invoice 2024-08?", None),
        ("Which client has invoice 2024-08?", "Client: Ivo Senn"),
        ("How many mills are there in the Ammel valley?", "3"),
        ("How many mills are there on the Ammel?", "2"),
    ],
)
def test_when_is_no_number_of_a_row_and_a_title_no_value(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, INVOICES) == answer


LIGHTS = table_of(
    "lighthouses",
    """
    Lighthouse | Built | Altitude (m)
    Skarra Head | 1891 | 45
    Ruan Point | 1856 | 62
    Mill Stack | 1932 | 12
    """,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which is the oldest lighthouse?", "Ruan Point (Built: 1856)"),
        ("Which lighthouse is the newest?", "Mill Stack (Built: 1932)"),
        ("Which lighthouse was built first?", "Ruan Point (Built: 1856)"),
        ("Which lighthouse is the highest?", None),  # of which column
        ("What is the average of the years?", None),
    ],
)
def test_years_are_compared_as_dates(ask: Ask, question: str, answer: str | None) -> None:
    assert ask(question, LIGHTS) == answer
