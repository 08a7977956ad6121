"""Pairs that no rule compares and that are left undecided."""

from polygraph.extract.resolution.records import Mention
from polygraph.extract.resolution.resolve import resolve


def undecided(*rows):
    mentions = [
        Mention(document=d, window=f"{d}@0", name=n, type=t, description=text) for d, n, t, text in rows
    ]
    return {frozenset(pair.names) for pair in resolve(mentions).pairs if pair.decision == "undecided"}


PLACE = ("place", "City.")


def test_names_of_two_scripts_that_share_a_context_name_are_undecided():
    rows = (
        ("a", "Yuko Tanaka", "person", "Professor of botany."), ("a", "Tokyo", *PLACE),
        ("b", "田中裕子", "person", "東京の教授。"), ("b", "東京", *PLACE),
        ("c", "佐藤健", "person", "俳優。"), ("c", "大阪", *PLACE),
    )  # fmt: skip
    # The cities are described alike.
    assert undecided(*rows) == {frozenset({"yuko tanaka", "田中裕子"}), frozenset({"tokyo", "大阪"})}


def test_names_that_stand_in_one_text_are_two():
    rows = (
        ("a", "Yuko Tanaka", "person", "Professor of botany."), ("a", "Tokyo", *PLACE),
        ("a", "田中裕子", "person", "東京の教授。"), ("b", "Tokyo", *PLACE),
    )  # fmt: skip
    assert undecided(*rows) == set()
