"""Every method on real documents and real graphs: without a model, and with the scripted model over HTTP.

    python benchmarks/every_method.py [DATA] [--methods NAME,...] [--corpora NAME,...] [--keep DIR] [--answers FILE]
    python benchmarks/every_method.py --documents PATH --questions FILE [...]

Corpora: the sample collection; with DATA also *A Christmas Carol* and imported indexes of other programs: two of the
same book by Microsoft GraphRAG and one by nano-graphrag, *Operation: Dulce* by Microsoft GraphRAG, and podcasts by
LightRAG. Every method and preset answers eight kinds of questions on each corpus. Checked are: an answer, or a refusal
with its reason; evidence and citations that resolve to the documents; the budget; and the number of calls by the
method's formula, in the ledger and on the server. The table counts answers by method. Faults are printed as they occur,
and the exit code is 1 if there are any.

--documents and --questions (one a line) take documents and questions of your own instead.
--keep DIR keeps the indexes for the next run. --answers FILE writes every answer with its first evidence.
"""

import argparse
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from polygraph.config import load_settings
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.records import Answer
from polygraph.retrieve import METHODS
from polygraph.testing import scripted_chat
from polygraph.testing.check_retrieval import expected_calls, faults_of_answer, faults_of_retrieval
from polygraph.workspace.index import Index

CAROL = (
    "Who was Scrooge's dead business partner?",
    "What illness had the son of Scrooge's clerk?",
    "Who was richer, Scrooge or Bob Cratchit?",
    "How many spirits visited Scrooge?",
    "What are the main themes of this story?",
    "What is the name of Scrooge's sister's doctor in Vienna?",
    "Wer war der tote Geschäftspartner von Scrooge?",
    "鬼魂对斯克鲁奇说了什么？",
)
QUESTIONS: Mapping[str, Sequence[str]] = {
    "sample": (
        "Who made the silvered glass mirror of the Tarrant telescope?",
        "Who built the barque that broke up on the Harrow in November 1881?",
        "Which cost more, the speculum mirror of 1868 or the glass mirror of 1880?",
        "How many were saved from the Constancy?",
        "Which disputes keep coming back in the papers of the town?",
        "Who won the marathon at the London Olympic Games of 1908?",
        "Wer wurde 1896 zur Leiterin der Sternwarte ernannt?",
        "谁是港务长？",
    ),
    "carol": CAROL,
    "carol-graphrag": CAROL,
    "carol-graphrag-gpt4": CAROL,
    "carol-nano": CAROL,
    "dulce": (
        "Who is Alex Mercer?",
        "Who is the mentor of the agent who discovers the hidden signal?",
        "Which of Taylor Cruz and Jordan Hayes gives the orders?",
        "How many members has the Paranormal Military Squad?",
        "What are the main themes of this story?",
        "What did Alex Mercer pay for the house in Lisbon?",
        "Wer führt die Operation: Dulce?",
        "谁是泰勒·克鲁兹？",
    ),
    "lenny": (
        "Who is Lenny Rachitsky?",
        "Which companies did the guests who worked at Airbnb found?",
        "Is Figma or Notion mentioned with more product managers?",
        "How many guests worked at Stripe?",
        "What are the main themes of these podcasts?",
        "Who won the marathon at the London Olympic Games of 1908?",
        "Was ist Produktmanagement?",
        "什么是产品管理？",
    ),
}
"""Eight kinds: single fact, two steps, comparison, counting, overview, unanswerable, German, Chinese."""
OWN = "documents"
"""Name of the corpus of `--documents`."""
IMPORTED = {
    "carol-graphrag": "graph-christmas-carol/msgraphrag-tests",
    "carol-graphrag-gpt4": "graph-christmas-carol/msgraphrag-gpt4turbo",
    "carol-nano": "graph-christmas-carol/nano-graphrag",
    "dulce": "graph-operation-dulce/v3",
    "lenny": "graph-lenny",
}


@dataclass(frozen=True, slots=True)
class Row:
    """The answer of one method to one question."""

    corpus: str
    model: str
    method: str
    answer: Answer
    cpu_s: float
    faults: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--methods", default=",".join(METHODS), help="default: every method and preset")
    parser.add_argument("--corpora", default=",".join(QUESTIONS))
    parser.add_argument("--documents", type=Path, help="documents of your own; with --questions")
    parser.add_argument("--questions", type=Path, help="a file with a question on each line")
    parser.add_argument("--models", default="none,scripted")
    parser.add_argument(
        "--keep",
        type=Path,
        help="folder of the indexes; missing ones are built here (default: a temporary folder)",
    )
    parser.add_argument("--answers", type=Path, help="write every answer to this file")
    options = parser.parse_args()
    if (options.documents is None) != (options.questions is None):
        parser.error("--documents and --questions go together")
    asked = dict(QUESTIONS)
    corpora = options.corpora.split(",")
    if options.documents:
        corpora = [OWN]
        asked[OWN] = options.questions.read_text(encoding="utf-8").splitlines()
    rows: list[Row] = []
    with ExitStack() as stack:
        keep = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for corpus in corpora:
            if corpus not in ("sample", OWN) and options.data is None:
                continue
            folder = built_index(corpus, options.documents or options.data, keep)
            for model in options.models.split(","):
                for row in answers(corpus, folder, model, options.methods.split(","), asked[corpus]):
                    rows.append(row)
                    for fault in row.faults:
                        print(
                            f"FAULT {corpus} {model} {row.method} {row.answer.question!r}: {fault}",
                            flush=True,
                        )
    print("\n".join(table(rows)))
    if options.answers:
        options.answers.write_text("\n".join(listing(rows)), encoding="utf-8")
    sys.exit(any(row.faults for row in rows))


def built_index(corpus: str, data: Path | None, keep: Path) -> Path:
    """Return the index of a corpus, built without a model if it is missing."""
    folder = keep / f"{corpus}.index"
    if folder.exists():
        return folder
    with Index.open(folder, offline=True) as index:
        if corpus == OWN:
            index.add(str(data))
        elif corpus == "sample" or data is None:
            with as_file(files("polygraph") / "sample") as sample:
                index.add(str(sample / "papers"))
        elif corpus == "carol":
            index.add(str(data / "graph-christmas-carol" / "corpus.jsonl"))
        else:
            index.import_(data / IMPORTED[corpus])
    return folder


def answers(
    corpus: str, folder: Path, model: str, methods: Sequence[str], questions: Sequence[str]
) -> Iterator[Row]:
    """Answer every question with every method; with a model, over HTTP and without cached replies."""
    with ExitStack() as stack:
        server, settings = None, load_settings({"offline": True})
        if model == "scripted":
            # A kept index has the replies of earlier runs; a model of another name has none there.
            name = f"scripted-{secrets.token_hex(4)}"
            server = stack.enter_context(ScriptedServer(chat=scripted_chat(), models=[name]))
            settings = load_settings(
                {"base_url": server.base_url, "api_key": "any", "chat_model": name, "offline": False}
            )
        index = stack.enter_context(Index.open(folder, settings=settings))
        snapshot = index.snapshot()
        index.ask("What is this?", "graphrag-local")  # loads vectors and models, which counts for no method
        for method in methods:
            for question in questions:
                served, began = server.calls if server else 0, time.process_time()
                answer = index.ask(question, method)
                cpu_s = time.process_time() - began
                faults = [
                    *faults_of_retrieval(answer.retrieval, snapshot, max_tokens=METHODS[method].max_tokens),
                    *faults_of_answer(answer, snapshot),
                ]
                calls = expected_calls(METHODS[method], answer.retrieval) if server else 0
                in_ledger = answer.usage.calls + answer.usage.cached_calls
                if in_ledger != calls:
                    faults.append(f"{in_ledger} calls in the ledger; {METHODS[method].calls!r} means {calls}")
                if server and server.calls - served != answer.usage.calls:
                    faults.append(f"{server.calls - served} calls served, {answer.usage.calls} in the ledger")
                yield Row(corpus, model, method, answer, cpu_s, tuple(faults))


def table(rows: Sequence[Row]) -> list[str]:
    """Tabulate one row for each method: answers, calls, tokens and CPU, with and without a model."""
    lines = [
        "| method | questions | answered, no model | answered, scripted | calls, most | tokens, median | "
        "CPU s, median | CPU s, most | faults |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for method in dict.fromkeys(row.method for row in rows):
        own = [row for row in rows if row.method == method]
        offline = [row for row in own if row.model == "none"]
        scripted = [row for row in own if row.model != "none"]
        cpu = sorted(row.cpu_s for row in offline or own)
        tokens = sorted(row.answer.retrieval.n_tokens for row in own)
        calls = max((r.answer.usage.calls + r.answer.usage.cached_calls for r in scripted), default=0)
        lines.append(
            f"| `{method}` | {len(own)} | {sum(not r.answer.refused for r in offline)} of {len(offline)} "
            f"| {sum(not r.answer.refused for r in scripted)} of {len(scripted)} | {calls} "
            f"| {tokens[len(tokens) // 2]:,} "
            f"| {cpu[len(cpu) // 2]:.2f} | {cpu[-1]:.2f} | {sum(len(r.faults) for r in own)} |"
        )
    return lines


def listing(rows: Sequence[Row]) -> Iterator[str]:
    """Yield every answer with the first pieces of its evidence."""
    for row in sorted(rows, key=lambda r: (r.corpus, r.model, r.answer.question)):
        found = row.answer.retrieval
        yield f"\n## {row.corpus} | {row.model} | {row.method} | {row.answer.question}  ({row.cpu_s:.2f} s CPU)\n"
        yield row.answer.text
        for note in row.answer.notes:
            yield f"  note: {note}"
        for n, item in enumerate(found.evidence[:3], 1):
            yield f"  [{n}] {item.kind} {item.id}: {' '.join(item.text.split())[:140]}\n      why: {item.why[:300]}"
        yield f"  {len(found.evidence)} pieces, {found.n_tokens} tokens, {len(found.ranking)} ranked"


if __name__ == "__main__":
    main()
