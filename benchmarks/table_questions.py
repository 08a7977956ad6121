"""A hundred questions about tables of three public data sets, and 400 questions that no table answers.

    python benchmarks/table_questions.py DATA [--show]

The tables come with `statsmodels`: crime in the states of the USA (51 rows), investment of eleven firms over twenty
years (220 rows), and fertility by country and year of the World Bank (219 rows). Questions are made from templates with
seeded rows; gold is computed here from the files, apart from the code that is measured. The other questions are the
dev questions of nq and hotpotqa below DATA, 400 together, asked of these tables and of all tables of the messy folder.

right: the answer begins with the gold value, or names it first. wrong: it says something else.
"""

import argparse
import csv
import json
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from messy_files import write_binary_files

from polygraph.ingest import load_documents
from polygraph.records import Document
from polygraph.tasks.answers.table_answer import NamedTable, answer_from_tables

SETS = ("statecrime", "grunfeld", "fertility")
UNRELATED = {"nq": 257, "hotpotqa": 143}
Row = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--show", action="store_true", help="print what is not right")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in SETS:
            source = files(f"statsmodels.datasets.{name}") / f"{name}.csv"
            (folder / f"{name}.csv").write_bytes(source.read_bytes())
        public = tables_of(load_documents([folder]).documents)
        messy = folder / "messy"
        shutil.copytree(Path(__file__).parent / "messy" / "files", messy)
        write_binary_files(messy)
        everything = [*public, *tables_of(load_documents([messy]).documents)]
        questions = make_questions(folder)
    counts = {"right": 0, "wrong": 0, "not answered": 0}
    started = time.process_time()
    for question, gold in questions:
        answer = answer_from_tables(question, public)
        rating = "not answered" if answer is None else "right" if is_right(answer.text, gold) else "wrong"
        counts[rating] += 1
        if options.show and rating != "right":
            print(f"{rating}: {question} {gold!r}: {answer.text if answer else ''}")
    print(f"{len(questions)} questions about {len(public)} tables: {counts}")
    print(f"CPU a question: {(time.process_time() - started) / len(questions) * 1000:.1f} ms")
    n_unrelated = n_answered = 0
    started = time.process_time()
    for name, most in UNRELATED.items():
        lines = (options.data / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()[:most]
        for line in lines:
            question = json.loads(line)["question"]
            answer = answer_from_tables(question, everything)
            n_unrelated += 1
            n_answered += answer is not None
            if answer is not None and options.show:
                print(f"answered: {question}: {answer.text}")
    print(f"{n_unrelated} unrelated questions, {len(everything)} tables: {n_answered} answered")
    print(f"CPU a question: {(time.process_time() - started) / n_unrelated * 1000:.1f} ms")


def tables_of(documents: tuple[Document, ...]) -> list[NamedTable]:
    return [NamedTable(document=d.id, title=d.title, table=table) for d in documents for table in d.tables]


def is_right(text: str, gold: str) -> bool:
    result = text.split(". (", maxsplit=1)[0]
    begins = re.match(rf"{re.escape(gold)}(?![\w.,]*\d)", result) is not None
    return begins or result.endswith(f": {gold}")


def make_questions(folder: Path) -> list[tuple[str, str]]:
    seeded = random.Random(20240229)
    rows = {name: list(csv.DictReader((folder / f"{name}.csv").open(encoding="utf-8"))) for name in SETS}
    made = crime(rows["statecrime"], seeded) + investment(rows["grunfeld"], seeded)
    made += fertility(rows["fertility"], seeded)
    assert len(made) == 100
    return made


def crime(rows: list[Row], seeded: random.Random) -> list[tuple[str, str]]:
    columns = {
        "violent": "violent",
        "murder": "murder",
        "poverty": "poverty",
        "urban": "urban",
        "hs grad": "hs_grad",
    }
    made: list[tuple[str, str]] = []
    for n in range(12):
        row, (words, column) = seeded.choice(rows), seeded.choice(list(columns.items()))
        form = (
            "What is the {} of {}?",
            "What is {1}'s {0}?",
            "Please tell me the {} in {}.",
            "how much {} does {} have?",
        )[n % 4]
        made.append((form.format(words, row["state"]), row[column]))
    for n in range(8):
        words, column = seeded.choice(list(columns.items()))
        best: Callable[..., Row] = max if n % 2 else min
        holder = best(rows, key=lambda row: float(row[column]))
        made.append((f"Which state has the {'highest' if n % 2 else 'lowest'} {words}?", holder["state"]))
    for n in range(8):
        words, column = seeded.choice(list(columns.items()))
        bound = round(statistics.median(float(row[column]) for row in rows) * seeded.uniform(0.7, 1.3), 1)
        above = n % 2 == 0
        count = sum((float(row[column]) > bound) if above else (float(row[column]) < bound) for row in rows)
        how = ("above", "below", "over", "less than")[n % 4]
        made.append((f"How many states have a {words} {how} {bound}?", str(count)))
    for words, column in list(columns.items())[:4]:
        mean = statistics.mean(float(row[column]) for row in rows)
        made.append((f"What is the average {words} of the states?", f"{round(mean, 2):,.2f}".rstrip("0")))
    for n in range(8):
        a, b = seeded.sample(rows, 2)
        words, column = seeded.choice(list(columns.items()))
        if float(a[column]) == float(b[column]):
            b = next(row for row in rows if row[column] != a[column])
        larger = a if float(a[column]) > float(b[column]) else b
        if n % 2:
            made.append((f"Which has the higher {words}, {a['state']} or {b['state']}?", larger["state"]))
        else:
            verdict = "Yes" if larger is a else "No"
            made.append((f"Does {a['state']} have a higher {words} than {b['state']}?", verdict))
    return made


def investment(rows: list[Row], seeded: random.Random) -> list[tuple[str, str]]:
    firms = sorted({row["firm"] for row in rows})
    made: list[tuple[str, str]] = []
    for n in range(14):
        row, column = seeded.choice(rows), seeded.choice(("invest", "capital", "value"))
        form = (
            "What was the {} of {} in {}?",
            "What {} did {} have in {}?",
            "In {2}, what was the {0} of {1}?",
        )[n % 3]
        made.append((form.format(column, row["firm"], row["year"]), row[column]))
    for n in range(10):
        firm, column = seeded.choice(firms), ("invest", "capital")[n % 2]
        values = [float(row[column]) for row in rows if row["firm"] == firm]
        if n < 5:
            total = sum(values)
            made.append((f"What is the total {column} of {firm}?", _number(total)))
        else:
            made.append((f"What is the mean {column} of {firm}?", _number(statistics.mean(values))))
    for n in range(8):
        firm, column = seeded.choice(firms), ("invest", "capital")[n % 2]
        own = [row for row in rows if row["firm"] == firm]
        top = max(own, key=lambda row: float(row[column]))
        made.append((f"In which year did {firm} have the highest {column}?", top["year"]))
    for year in ("1940", "1950", "1954"):
        own = [row for row in rows if row["year"] == year]
        top = max(own, key=lambda row: float(row["invest"]))
        made.append((f"Which firm had the largest invest in {year}?", top["firm"]))
    return made


def fertility(rows: list[Row], seeded: random.Random) -> list[tuple[str, str]]:
    filled = [row for row in rows if row["1960"] and row["1990"] and row["2005"]]
    plain = [row for row in filled if row["Country Name"].replace(" ", "").isalpha()]
    made: list[tuple[str, str]] = []
    for n in range(15):
        row, year = seeded.choice(plain), seeded.choice(("1960", "1990", "2005"))
        form = (
            "What was the fertility of {} in {}?",
            "What was {}'s fertility rate in {}?",
            "fertility in {} in {}?",
        )[n % 3]
        made.append((form.format(row["Country Name"], year), row[year]))
    for _ in range(5):
        a, b = seeded.sample(plain, 2)
        larger = a if float(a["1990"]) > float(b["1990"]) else b
        made.append(
            (
                f"Which had the higher fertility in 1990, {a['Country Name']} or {b['Country Name']}?",
                larger["Country Name"],
            )
        )
    for _ in range(5):
        row = seeded.choice(plain)
        made.append((f"What is the country code of {row['Country Name']}?", row["Country Code"]))
    return made


def _number(value: float) -> str:
    rounded = round(value, 2)
    return f"{rounded:,.0f}" if float(rounded).is_integer() else f"{rounded:,.2f}".rstrip("0")


if __name__ == "__main__":
    main()
