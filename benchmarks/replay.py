"""The graph of a strong model beside the parser's: how much evidence each finds.

    python benchmarks/replay.py DATA [--set NAME] [--methods NAME,...] [--keep DIR] [--questions] [--tokens] [--ask DIR]

`DATA/replies-sample-strong` has real replies of a strong model to extraction and report prompts about 27 files of the
sample collection. Two indexes of these files are built: one with the parser, one with the replies, found by the text of
the document in the prompt, so that prompts may change. Questions are those of the collection whose evidence lies in
these files; they are read without a model on both sides, so only the graphs differ.

Replies about names (`suggest_same`, `same`) were recorded for the graph of these replies, from a strong model that saw
only the prompts, by what stands below the instructions (replay/name_replies.jsonl); where a prompt shows more of the
same names, or its instructions are worded differently, they are those to the earlier prompt. Where a prompt has none,
the model cannot tell and rules decide; how many have none is printed. `--ask DIR` writes those to ``DIR/prompts.jsonl``
instead: first the lists of names, and once they have replies, the pairs.

`--set` chooses other questions about the same files (replay/*questions.jsonl), written from the documents alone: `dev`
and `dev-2` to look at while rules are made, `final` and `held-out` for the figure at the end. Questions of `held-out`
were written after `final` had been read for a figure, before the next change; those of `dev-2` later, before their own
results were read.

Prints one row for each method and one for their mean: chunk recall among the first ten and the share of questions with
all evidence among them, parser and strong model, and the difference paired by question with its 95% interval: what
holds 0 cannot be told from no difference. --questions lists each question that one
graph answers better. --tokens adds calls and tokens of a question with a scripted model on the graph of the strong
model, answer included: means over every sixth question and an overview. --keep DIR keeps the indexes.
"""

import argparse
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeAlias

import numpy as np

from polygraph.config import load_settings
from polygraph.evaluate.statistics.intervals import paired_means
from polygraph.models.open import open_models
from polygraph.models.protocols import ChatReply, ChatRequest
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

METHODS = ("graphrag-local", "lightrag-mix", "hipporag", "fg-rag", "rograg")
DEPTH = 10
OWN = Path(__file__).parent / "replay"
"""Questions and replies about names."""
OVERVIEW = "In what ways do the sources in this collection prove unreliable?"
MIN_SHARED = 0.9
"""Share of the words of a recorded prompt that another must have to be about the same text; prompts may add words."""

UNDECIDED = {"suggest_same": '{"groups": []}', "same": '{"same": [], "different": []}'}
"""Replies about names where none is recorded, in the order in which a build asks. A scripted reply would put names
together that the strong model did not."""

Ranks: TypeAlias = dict[str, dict[str, list[int | None]]]
"""Ranks of gold passages by method and question."""


class ReplayedChat:
    """A chat model that gives the recorded reply to the prompt about the same text."""

    def __init__(self, replies: Path) -> None:
        self.name = "replayed"
        self._recorded: dict[str, list[tuple[frozenset[str], str]]] = {"extract": [], "report": []}
        self._scripted = scripted_chat()
        self.used: Counter[str] = Counter()
        self.unanswered: list[tuple[str, dict[str, object]]] = []
        """Task and text of prompts about names without a recorded reply."""
        lines = (OWN / "name_replies.jsonl").read_text(encoding="utf-8").splitlines()
        self._about_names: dict[str, str] = {row["prompt"]: row["reply"] for row in map(json.loads, lines)}
        for line in replies.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["task"] in self._recorded:
                self._recorded[row["task"]].append((word_runs(body(row["user"])), row["reply"]))

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        task = request.messages[0].content.split("\n", 1)[0].removeprefix("Task: ")
        if task in UNDECIDED:
            return ChatReply(text=self._names(task, request), prompt_tokens=0, completion_tokens=0)
        if task not in self._recorded or len(request.messages) > 2:
            return self._scripted.chat(request, on_text)
        runs = word_runs(body(request.messages[1].content))
        _, shared, reply = max(
            (len(theirs & runs) / len(theirs), len(words(theirs) & words(runs)) / len(words(theirs)), text)
            for theirs, text in self._recorded[task]
        )
        if task == "extract" and shared < MIN_SHARED:
            raise SystemExit(f"no recorded reply fits this prompt:\n{request.messages[1].content}")
        self.used[task] += 1
        return ChatReply(text=reply, prompt_tokens=sum(len(m.content) // 4 for m in request.messages),
                         completion_tokens=len(reply) // 4)  # fmt: skip

    def _names(self, task: str, request: ChatRequest) -> str:
        instructions, shown = (message.content for message in request.messages)
        if shown in self._about_names:
            self.used[task] += 1
            return self._about_names[shown]
        self.unanswered.append((task, {"instructions": instructions, "prompt": shown}))
        return UNDECIDED[task]


def body(user: str) -> str:
    """Return what stands between the marks of a prompt."""
    return re.sub(r"(?s)^.*?<(document|material)>\n|\n</(document|material)>.*$", "", user)


def words(runs: frozenset[str]) -> frozenset[str]:
    return frozenset(word for run in runs for word in run.split())


def word_runs(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W_]+", text.casefold())
    return frozenset(" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the data sets")
    parser.add_argument(
        "--set", choices=("gold", "dev", "dev-2", "final", "held-out"), default="gold", help="which questions"
    )
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--keep", type=Path, help="where the indexes are kept (default: a temporary folder)")
    parser.add_argument("--questions", action="store_true", help="list the questions whose figures differ")
    parser.add_argument("--tokens", action="store_true", help="also calls and tokens of a question")
    parser.add_argument("--ask", type=Path, metavar="DIR", help="write prompts about names without a reply")
    options = parser.parse_args()
    source = options.data / "replies-sample-strong"
    methods = options.methods.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        papers, questions = copy_sample(source, folder, options.set)
        chat = ReplayedChat(source / "replies.jsonl")
        build(folder / "strong.index", papers, chat)
        if chat.used:
            print(f"replies replayed: {dict(chat.used)}; {len(chat.unanswered)} about names not recorded")
        if options.ask:
            write_unanswered(chat, options.ask)
            return
        build(folder / "parser.index", papers, None)
        print(f"questions: {len(questions.read_text().splitlines())}")
        ranks = {name: measure(folder / f"{name}.index", questions, methods) for name in ("parser", "strong")}
        spent = tokens(folder / "strong.index", questions, methods) if options.tokens else []
    print("\n".join(table(methods, ranks)))
    print("\n".join(spent))
    if options.questions:
        print("\n".join(differing(methods, ranks)))


def write_unanswered(chat: ReplayedChat, folder: Path) -> None:
    """Write the prompts about names without a reply: lists of names, or pairs where all lists have one."""
    first = next((task for task in UNDECIDED if task in {task for task, _ in chat.unanswered}), "")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for task, row in chat.unanswered if task == first]
    (folder / "prompts.jsonl").write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} prompts in {folder / 'prompts.jsonl'}")


def copy_sample(source: Path, folder: Path, chosen: str) -> tuple[Path, Path]:
    """Copy the documents and the chosen questions about them; return their paths."""
    papers = folder / "papers"
    names = (source / "documents.txt").read_text(encoding="utf-8").split()
    with as_file(files("polygraph") / "sample") as sample:
        for name in names:
            target = papers / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(sample / "papers" / name, target)
        lines = (sample / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [
        line
        for line in lines
        if (evidence := json.loads(line)["evidence"]) and all(e.split("#")[0] in names for e in evidence)
    ]
    if chosen != "gold":
        rows = [
            json.loads(line)
            for file in sorted(OWN.glob("*questions.jsonl"))
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        kept = [json.dumps(row) for row in rows if row.pop("half") == chosen]
    questions = folder / "questions.jsonl"
    questions.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return papers, questions


def build(folder: Path, papers: Path, chat: ReplayedChat | None) -> None:
    if folder.exists():
        return
    settings = load_settings({"offline": True, "concurrency": 1})
    models = replace(open_models(settings, folder.with_suffix(".calls.sqlite"), None), chat=chat)
    with Index.open(folder, settings=settings, models=models) as index:
        index.add(papers)


def measure(folder: Path, questions: Path, methods: Sequence[str]) -> Ranks:
    """Return, by method and question, the rank of each gold passage, None for those not found."""
    output = folder.with_suffix(".results.jsonl")
    output.unlink(missing_ok=True)
    with Index.open(folder, offline=True) as index:
        index.evaluate_retrieval(questions, methods, metric="chunk_recall@10", output=output)
    ranks: Ranks = {}
    for line in output.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        ranks.setdefault(row["method"], {})[row["question"]] = row["ranks"]["chunk"]
    return ranks


def table(methods: Sequence[str], ranks: Mapping[str, Ranks]) -> list[str]:
    """One row for each method, and one for their mean."""
    rows = [
        "| method | chunk recall@10, parser | strong | difference | all evidence, parser | strong |",
        "|---|---|---|---|---|---|",
    ]
    found = {
        name: np.array([[scores(row) for _, row in sorted(ranks[name][m].items())] for m in methods])
        for name in ("parser", "strong")
    }
    # One row more for the mean of the methods, so that its interval is over questions as well.
    parser, strong = (np.concatenate([f, f.mean(axis=0)[None]]) for f in found.values())
    gaps = paired_means((strong - parser)[:, :, 0].T, np.random.default_rng(0))
    for title, of_parser, of_strong, paired in zip(
        [*(f"`{m}`" for m in methods), "mean"], parser.mean(axis=1), strong.mean(axis=1), gaps, strict=True
    ):
        gap = paired.interval()
        recalls, alls = zip(of_parser, of_strong, strict=True)
        cells = [f"{c:.3f}" for c in (*recalls, *alls)]
        cells.insert(2, f"{gap.mean:+.3f} [{gap.low:+.2f}, {gap.high:+.2f}]")
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return rows


def scores(ranks: Sequence[int | None]) -> tuple[float, float]:
    """Return recall among the first ten, and 1 if everything is among them."""
    found = [rank is not None and rank <= DEPTH for rank in ranks]
    return sum(found) / len(found), float(all(found))


def differing(methods: Sequence[str], ranks: Mapping[str, Ranks]) -> list[str]:
    return [
        f"{method} {question}: parser {row}, strong {ranks['strong'][method][question]}"
        for method in methods
        for question, row in sorted(ranks["parser"][method].items())
        if scores(row) != scores(ranks["strong"][method][question])
    ]


def tokens(folder: Path, questions: Path, methods: Sequence[str]) -> list[str]:
    """One row for each method: calls and tokens of prompts and replies, means over questions."""
    lines = questions.read_text(encoding="utf-8").splitlines()[::6]
    asked = [*(json.loads(line)["question"] for line in lines), OVERVIEW]
    settings = load_settings({"offline": True, "concurrency": 1})
    models = replace(open_models(settings, None, None), chat=scripted_chat())
    rows = ["", "| method | calls | tokens |", "|---|---|---|"]
    with Index.open(folder, settings=settings, models=models) as index:
        for method in methods:
            used = [index.ask(question, method).usage for question in asked]
            calls = np.mean([u.calls + u.cached_calls for u in used])
            spent = np.mean([u.prompt_tokens + u.completion_tokens + u.cached_tokens for u in used])
            rows.append(f"| `{method}` | {calls:.1f} | {spent:,.0f} |")
    return rows


if __name__ == "__main__":
    main()
