"""Numbers with units, and dates, read from any text."""

import calendar
import datetime
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.text.quantities import Date, dates, document_date, quantities

MONTHS = list(calendar.month_name)[1:]
SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety"
days = st.dates(datetime.date(1000, 1, 1), datetime.date(2999, 12, 31))


def value(text):
    (found,) = quantities(text)
    return found.value, found.dimension


@given(
    days,
    st.sampled_from(
        ["{d} {m} {y}", "{m} {d}, {y}", "the {d}th of {m} {y}", "{y}-{n:02d}-{d:02d}", "{d} {s}. {y}"]
    ),
)
def test_a_day_is_read_in_every_usual_form(day, form):
    month = MONTHS[day.month - 1]
    text = form.format(d=day.day, m=month, y=day.year, n=day.month, s=month[:3])
    assert [d.first for d in dates(f"On {text}, it rained.")] == [(day.year, day.month, day.day)]
    assert quantities(f"On {text}, it rained.") == []


@given(days)
def test_day_numbers_are_those_of_the_calendar(day):
    date = Date(first=(day.year, day.month, day.day), last=(day.year, day.month, day.day))
    assert date.day_number == day.toordinal()


@given(days, days)
def test_days_are_before_each_other_as_in_the_calendar(a, b):
    first, second = dates(a.isoformat())[0], dates(b.isoformat())[0]
    assert first.before(second) == (a < b)


@pytest.mark.parametrize(
    "text", ["QT-450S", "QT-450s", "450S", "1920S", "QT-1920S", "QT-1920s", "7-1920s", "450s"]
)
def test_the_end_of_a_code_is_no_decade(text):
    assert dates(f"Manual of the {text} pump") == []
    assert document_date("", f"Manual of the {text}") is None


@pytest.mark.parametrize("text", ["1920s", "mid-1920s", "pre-1920s"])
def test_a_decade_has_four_digits_and_a_small_s(text):
    assert [(d.first, d.last) for d in dates(f"Pumps of the {text}")] == [((1920, 1, 1), (1929, 12, 31))]


@given(st.integers(0, 10**12))
def test_whole_numbers_are_read_with_and_without_commas(n):
    if not 1_000 <= n <= 2_999:  # bare figures in that range are years
        assert value(f"about {n} of them") == (float(n), "")
    assert value(f"£{n:,}") == (float(n), "£")


@given(st.integers(2, 999_999))
def test_numbers_in_words_are_read(n):
    assert value(f"{spelled(n)} sheep") == (float(n), "")


def spelled(n):
    """English number words, independently of the reader."""
    small, tens = SMALL.split(), TENS.split()
    if n < 20:
        return small[n]
    if n < 100:
        return tens[n // 10] + (f"-{small[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{small[n // 100]} hundred" + (f" and {spelled(n % 100)}" if n % 100 else "")
    return f"{spelled(n // 1000)} thousand" + (f" {spelled(n % 1000)}" if n % 1000 else "")


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text):
    quantities(text)
    dates(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("£1.5m", (1_500_000.0, "£")),
        ("1.5 million dollars", (1_500_000.0, "$")),
        ("5 m tall", (5.0, "m")),
        ("three miles", (4828.032, "m")),
        ("five-and-twenty minutes fast", (1500.0, "s")),
        ("12%", (12.0, "%")),
        ("3/4", (0.75, "")),
        ("-5 degrees", (-5.0, "")),
        ("a price of 1200 tons", (1200 * 1016.0469088, "kg")),
        ("twenty-five pounds", (25.0, "£")),
    ],
)
def test_units_scales_and_signs_are_read(text, expected):
    found = value(text)
    assert (pytest.approx(expected[0]), expected[1]) == found


def test_text_without_numbers_has_no_quantities():
    assert [q.value for q in quantities("one of them, x12, 1/0, a hundred")] == []


def test_partial_dates_are_as_wide_as_they_are_written():
    year, month, decade, era = dates("1889; March 1889; the 1880s; 44 BC")
    assert (year.first, year.last) == ((1889, 1, 1), (1889, 12, 31))
    assert (month.first, month.last) == ((1889, 3, 1), (1889, 3, 31))
    assert decade.last == (1889, 12, 31)
    assert era.first == (-44, 1, 1)
    assert not year.before(month)
    assert not month.before(year)
    assert era.before(decade)


def test_long_texts_are_read_in_time_that_grows_with_their_length():
    started = time.process_time()
    for text in ("1," * 20_000, "1889 " * 10_000, "one " * 10_000, "12 March " * 5_000, "£" * 40_000):
        quantities(text)
        dates(text)
    assert time.process_time() - started < 3
