"""Fifty questions about frequently asked questions, glossaries, headed paragraphs and corrections, without a model.

    python benchmarks/library.py [--index DIR] [--show]

The folder has twelve documents of a library with a workshop (`benchmarks/library/files`): three lists of frequently
asked questions in different forms and an interview, three glossaries in different forms, guides with bold words at the
beginning of paragraphs, rules, minutes and a newsletter with corrections. It is indexed offline with the default
settings and asked with the default method. Documents, questions and gold were written by an author who had not read the
code. A third of the questions about lists are in the documents' words, a third in others, a third about a detail.

- answered: one of the gold wordings stands in the first 80 words of the answer, as in `messy.py`.
- answered otherwise: any other answer.
- refused although answerable, refused rightly: eight questions have no answer.
"""

from pathlib import Path
from typing import Any

from messy import plain, stands_in
from question_set import ask_all, print_ratings

from polygraph import Answer

HERE = Path(__file__).parent / "library"
RATINGS = ("answered", "answered otherwise", "refused although answerable", "refused rightly")
MAX_WORDS = 80


def main() -> None:
    asked, show = ask_all(HERE, str(__doc__))
    print_ratings([(q, a, rate(q, a)) for q, a in asked], RATINGS, "kind", show=show)


def rate(question: dict[str, Any], answer: Answer) -> str:
    """Return the rating of an answer by the rules above."""
    if answer.refused:
        return "refused although answerable" if question["gold"] else "refused rightly"
    beginning = " ".join(plain(answer.text).split()[:MAX_WORDS])
    is_right = any(stands_in(wording, beginning) for wording in question["gold"])
    return "answered" if is_right else "answered otherwise"


if __name__ == "__main__":
    main()
