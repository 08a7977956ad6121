"""Emphasis is removed where it is one, and nothing else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.text.emphasis import without_emphasis


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Call **+49 30 901820** at night.", "Call +49 30 901820 at night."),
        ("Choose *Ring the Bell*, then _Stop_.", "Choose Ring the Bell, then Stop."),
        ("**Grade** 2: __Urgent__ (*today*).", "Grade 2: Urgent (today)."),
        ("***Never*** open **the *inner* door**.", "Never open the inner door."),
        ("“*Petrel*” and “**Dunlin**”: *two* boats", "“Petrel” and “Dunlin”: two boats"),
        ("Press *+* or *–*.", "Press + or –."),
        ("- **A lamp**\n- *oil*", "- A lamp\n- oil"),
        ("*Run* `**kwargs`, `a_b` and ``*x* ` *y*``.", "Run `**kwargs`, `a_b` and ``*x* ` *y*``."),
    ],
)
def test_marks_around_words_go(text: str, shown: str) -> None:
    assert without_emphasis(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "max_load_kg and 4*5*6",
        "a * b * c = d_1 * e_2",
        "Copy *.txt and *.md to */old/*.",
        "Name: ________ Date: ____",
        "The class has __init__ and __repr__.",
        r"\*not bold\* and \_not either\_",
        "* an item with one star * in it",
        "5* hotel and 4* inn",
        "```\n*keep* **this** _here_\n```",
        "a footnote* and another**",
    ],
)
def test_other_stars_and_underscores_stay(text: str) -> None:
    assert without_emphasis(text) == text


def test_text_after_a_fence_is_shown_without_marks() -> None:
    assert without_emphasis("Type:\n```\n*a*\n```\n*Then* wait.") == "Type:\n```\n*a*\n```\nThen wait."


@given(st.text(alphabet="ab_*` \n\\1", max_size=60))
def test_only_marks_go(text: str) -> None:
    def bare(some: str) -> str:
        return some.replace("*", "").replace("_", "")

    assert bare(without_emphasis(text)) == bare(text)


def test_many_marks_take_no_quadratic_time() -> None:
    started = time.perf_counter()
    without_emphasis("*a " * 10_000)
    without_emphasis("`" * 50_000 + "*a*")
    assert time.perf_counter() - started < 2
