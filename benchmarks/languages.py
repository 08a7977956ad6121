"""Sixty questions in German, French and Spanish about documents in these languages, without a model.

    python benchmarks/languages.py [--index DIR] [--show]

The folder has 30 documents (`benchmarks/languages/files`) of a housing association, a cooperative of market gardeners
and a museum: statutes, minutes, letters with their replies, rules, notices, reports, lists of questions, and tables as
CSV with decimal commas. They are indexed together, offline and with the default settings, and asked with the default
method. Many questions have other forms of the documents' words; two in each language have no answer. Documents,
questions and gold are by one author, who had read the code. Every second question is `blind`: its answer was not looked
at while code was changed, and `--show` does not print it. Ratings are those of `library.py`.

The last table has, of the questions with an answer, for how many the passage with the answer is retrieved first, and
among the first three.
"""

from pathlib import Path
from typing import Any

from library import RATINGS, rate
from question_set import ask_all, print_ratings

from polygraph import Answer

HERE = Path(__file__).parent / "languages"


def main() -> None:
    asked, show = ask_all(HERE, str(__doc__))
    rated = [(q, a, rate(q, a)) for q, a in asked]
    print_ratings([each for each in rated if each[0]["part"] == "open"], RATINGS, "kind", show=show)
    for kind in ("part", "language"):
        print_ratings(rated, RATINGS, kind, show=False)
    print("| language | n | passage first | among three |\n|---|---|---|---|")
    for language in dict.fromkeys(q["language"] for q, _ in asked):
        places = [place(q, a) for q, a in asked if q["language"] == language and q["gold"]]
        print(f"| {language} | {len(places)} | {places.count(1)} | {sum(1 <= n <= 3 for n in places)} |")


def place(question: dict[str, Any], answer: Answer) -> int:
    """Return the place, from 1, of the first passage of the gold document with a gold wording; 0 if there is none."""
    for n, item in enumerate(answer.retrieval.evidence, 1):
        text = " ".join(item.text.split())
        if item.document == question["evidence"] and any(wording in text for wording in question["gold"]):
            return n
    return 0


if __name__ == "__main__":
    main()
