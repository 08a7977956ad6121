"""A hundred ordinary questions about tables, 25 of them traps, answered without a model.

    python benchmarks/ordinary_tables.py [--index DIR] [--show]

The folder has ten small documents (`benchmarks/tables/files`): five CSV files in different dialects, three Markdown
pages and an HTML page with tables and prose, and a page of prose. It is indexed offline with the default settings and
asked with the default method. Questions and gold were written before any answer was seen. The traps are questions that
a naive reading of a table answers wrongly, such as a value that also occurs in another column, amounts in several
currencies, a row of totals, or an event that only the prose tells.

Ratings. An answer is right if it states every fact and nothing listed under `not`, and does not begin with the opposite
of the verdict. Facts are compared as in `messy.py`.

- computed right, computed wrong: answers computed from a table, which say of how many rows.
- quoted right: other answers that are right within their first 80 words. What follows them is not looked at.
- quoted otherwise: any other answer.
- refused although answerable, refused rightly: a question without facts has no honest answer but a refusal.

A short number or a name may stand in a quoted row by chance, so that `quoted right` is an upper bound.
"""

from pathlib import Path
from typing import Any

from messy import plain, stands_in
from question_set import ask_all, print_ratings

from polygraph import Answer

HERE = Path(__file__).parent / "tables"
RATINGS = (
    "computed right",
    "computed wrong",
    "quoted right",
    "quoted otherwise",
    "refused although answerable",
    "refused rightly",
)
COMPUTED_MARK = " rows of “"
MAX_WORDS = 80
OPPOSITE = {"yes": "no", "no": "yes"}


def main() -> None:
    asked, show = ask_all(HERE, str(__doc__))
    print_ratings([(q, a, rate(q, a)) for q, a in asked], RATINGS, "type", show=show)


def rate(question: dict[str, Any], answer: Answer) -> str:
    """Return the rating of an answer by the rules above."""
    if answer.refused:
        return "refused although answerable" if question["facts"] else "refused rightly"
    if COMPUTED_MARK in answer.text:
        return "computed right" if is_right(question, plain(answer.text)) else "computed wrong"
    beginning = " ".join(plain(answer.text).split()[:MAX_WORDS])
    return "quoted right" if is_right(question, beginning) else "quoted otherwise"


def is_right(question: dict[str, Any], text: str) -> bool:
    """Return whether a text that `plain` returned states what it should, and nothing that it should not."""
    first_word = text.split(maxsplit=1)[0].strip(".,:;") if text else ""
    return (
        bool(question["facts"])
        and all(any(stands_in(wording, text) for wording in wordings) for wordings in question["facts"])
        and not any(stands_in(wrong, text) for wrong in question["not"])
        and ("verdict" not in question or first_word != OPPOSITE[question["verdict"]])
    )


if __name__ == "__main__":
    main()
