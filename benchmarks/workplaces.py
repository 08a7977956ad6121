"""Questions about the wiki of a software company and the papers of a school, without a model.

    python benchmarks/workplaces.py [--index DIR] [--show]

The folder has 28 documents (`benchmarks/workplaces/files`): runbooks, reports of incidents, decisions of which one
replaces another, release notes, a rota and costs as CSV, a chat and a list of questions; policies, fees, timetables,
newsletters, minutes, a complaint with its reply, and dates of terms. It is indexed offline with the default settings
and asked with the default method. Documents, questions and gold are by one author; the first part of the questions was
written before any code was changed for them, the second after some of the changes. Ratings are those of `library.py`.
"""

from pathlib import Path

from library import RATINGS, rate
from question_set import ask_all, print_ratings

HERE = Path(__file__).parent / "workplaces"


def main() -> None:
    asked, show = ask_all(HERE, str(__doc__))
    for kind in ("kind", "part"):
        print_ratings([(q, a, rate(q, a)) for q, a in asked], RATINGS, kind, show=show and kind == "kind")


if __name__ == "__main__":
    main()
