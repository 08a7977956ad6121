"""The check of citations on a labelled set: how many correct ones it keeps, and how many wrong ones it finds.

    python benchmarks/citations.py [--set NAME] [--part open|held-out|all] [--errors] [--reranker] [--model] [--ask DIR]
        [--behind N]
    python benchmarks/citations.py --replies DATA [--errors]

`benchmarks/citations/cases.txt`: questions (``Q:``), their evidence in the order of its numbers (``E:``), and answers
of one sentence: ``+`` with correct citations, ``-kind`` with a wrong one. The kinds are another piece's number
(`neighbour`), a changed `name`, `number` or `unit`, a `negation` added or dropped, two parts exchanged (`swap`), a
detail that stands nowhere (`invented`), and a number that a document `forged`.
Every second question is held out; `--errors` shows no case of those. Intervals are 95% (Wilson). `--set blind` reads
`blind.txt` instead, written without knowledge of the rules of the check. `fresh` was written when four of those had
shown mechanisms at fault, `final` after that; `blind2` to `blind9` later, each before the check was changed for it.

`--replies DATA`: instead, how many citations the check removes from the recorded answers of a strong model
(`DATA/replies-sample-strong`), of which none is known to be wrong; it sees the evidence of the prompt alone.

words       a fifth of the claim's content words in the evidence, the only rule before
check       the check that answers go through
model       `citation_check = "model"`: a chat model, and the check for what it leaves undecided. Replies of a strong
            model to the prompts of one set are recorded (`citations/model_replies.jsonl`, by the hash of the prompt);
            --ask DIR writes prompts without a reply to ``DIR/prompts.jsonl``, answers about one passage far apart
--behind N  the evidence of the check is empty and rests on N passages, its own and those of other questions
reranker    the logit of the local cross-encoder (extra `local`) for claim and evidence is above zero
"""

import argparse
import json
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from polygraph.models.protocols import ChatReply, ChatRequest, Message
from polygraph.prompts import neutralize
from polygraph.records import digest
from polygraph.retrieve.citations import judge_citations
from polygraph.retrieve.model_check import check_by_model
from polygraph.tasks.answers.answer import NO_ANSWER
from polygraph.testing import hashed_models
from polygraph.testing.scripts.prompt_reading import asked, blocks, fenced
from polygraph.text.words import content_stems

CASES = Path(__file__).parent / "citations"
UNDECIDED = '{"supported": [], "unsupported": []}'
Judge = Callable[[str, Sequence[str], str], list[bool]]


@dataclass
class Case:
    """A question with its evidence and answers."""

    question: str
    evidence: list[str] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    """Kind (``+`` for correct) and text."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--set",
        choices=[
            "cases",
            "blind",
            "fresh",
            "final",
            "blind2",
            "blind3",
            "blind4",
            "blind5",
            "blind6",
            "blind7",
            "blind8",
            "blind9",
        ],
        default="cases",
        help="which labelled set",
    )
    parser.add_argument("--part", choices=["open", "held-out", "all"], default="all")
    parser.add_argument("--errors", action="store_true", help="wrong verdicts of the check in open cases")
    parser.add_argument("--reranker", action="store_true", help="also the local cross-encoder")
    parser.add_argument("--replies", type=Path, metavar="DATA", help="judge recorded answers instead")
    parser.add_argument("--model", action="store_true", help="also the recorded verdicts of a chat model")
    parser.add_argument("--ask", type=Path, metavar="DIR", help="write the prompts for a model instead")
    parser.add_argument("--behind", type=int, default=0, metavar="N", help="passages behind each piece")
    options = parser.parse_args()
    if options.replies:
        judge_replies(options.replies / "replies-sample-strong" / "replies.jsonl", errors=options.errors)
        return
    cases = read_cases(CASES / f"{options.set}.txt")
    held_out = cases[1::2]
    cases = {"open": cases[::2], "held-out": held_out, "all": cases}[options.part]
    recorded = RecordedChat()
    if options.ask:
        write_prompts(options.ask, cases, recorded)
        return
    judges: dict[str, Judge] = {"words": words, "check": check}
    if options.behind:
        judges["check"] = among_passages(cases, options.behind)
    if options.model:
        judges["model"] = by_model(recorded)
    if options.reranker:
        judges["reranker"] = reranker()
        judges["check and reranker"] = both(check, judges["reranker"])
    for name, judge in judges.items():
        started = time.perf_counter()
        verdicts = [
            (case, kind, text, verdict)
            for case in cases
            for kind, text in case.answers
            for verdict in judge(text, shown(case), case.question)
        ]
        seconds = time.perf_counter() - started
        report(name, [(kind, verdict) for _, kind, _, verdict in verdicts], seconds)
        if options.errors and name == "check":
            for case, kind, text, verdict in verdicts:
                if verdict != (kind == "+") and case not in held_out:
                    print(f"  {kind} {text}")


def judge_replies(path: Path, *, errors: bool) -> None:
    """Print how many citations of recorded answers the check removes."""
    n_citations = n_removed = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["task"] != "answer" or NO_ANSWER in row["reply"]:
            continue  # the citations of a refusal are not checked
        evidence = [(text,) for _, text in blocks(fenced(row["user"], "evidence"))]
        for _, verdicts in judge_citations(row["reply"], evidence, question=asked(row["user"])):
            n_citations += len(verdicts)
            removed = [v for v in verdicts if v.removed_because]
            n_removed += len(removed)
            for v in removed if errors else ():
                print(f"  [{v.n}] {v.removed_because}: {v.claim}")
    print(f"{n_removed} of {n_citations} citations of recorded answers are removed")


def read_cases(path: Path) -> list[Case]:
    """Read a labelled set."""
    cases: list[Case] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "Q:":
            cases.append(Case(rest))
        elif mark == "E:":
            cases[-1].evidence.append(rest)
        elif mark:
            cases[-1].answers.append(("+" if mark == "+" else mark[1:], rest))
    return cases


def shown(case: Case) -> list[str]:
    """Return the evidence as a model sees it."""
    return [neutralize(text, n_items=len(case.evidence)) for text in case.evidence]


def check(text: str, evidence: Sequence[str], question: str) -> list[bool]:
    return kept(text, [(e,) for e in evidence], question)


def kept(text: str, pieces: Sequence[tuple[str, ...]], question: str) -> list[bool]:
    """Return for each citation whether the check keeps it."""
    return [
        not v.removed_because
        for _, verdicts in judge_citations(text, pieces, question=question)
        for v in verdicts
    ]


def among_passages(cases: Sequence[Case], n: int) -> Judge:
    """Return the check where a piece of evidence is empty and rests on its passage and others of other questions."""
    others = {
        case.question: [e for other in cases if other is not case for e in shown(other)] for case in cases
    }

    def judge(text: str, evidence: Sequence[str], question: str) -> list[bool]:
        rng = Random(question)
        pieces = []
        for passage in evidence:
            behind = rng.sample(others[question], n - 1)
            behind.insert(rng.randrange(n), passage)
            pieces.append(("", *behind))
        return kept(text, pieces, question)

    return judge


class RecordedChat:
    """A chat model whose replies were recorded; to other prompts it replies nothing, and keeps them."""

    name, local = "recorded", True

    def __init__(self) -> None:
        path = CASES / "model_replies.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._replies: dict[str, str] = {row["key"]: row["reply"] for row in map(json.loads, lines)}
        self.without_reply: dict[str, tuple[Message, ...]] = {}

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:  # noqa: ARG002
        key = digest(request.messages[-1].content)
        if key not in self._replies:
            self.without_reply[key] = request.messages
        return ChatReply(text=self._replies.get(key, UNDECIDED), prompt_tokens=0, completion_tokens=0)


def by_model(chat: RecordedChat) -> Judge:
    models = hashed_models(chat)

    def judge(text: str, evidence: Sequence[str], question: str) -> list[bool]:
        decide = partial(check_by_model, question, models=models, method="")
        found = judge_citations(text, [(e,) for e in evidence], question=question, decide=decide)
        return [not v.removed_because for _, verdicts in found for v in verdicts]

    return judge


def write_prompts(folder: Path, cases: Sequence[Case], chat: RecordedChat) -> None:
    """Write the prompts that have no recorded reply."""
    judge = by_model(chat)
    for case in cases:
        for _, text in case.answers:
            judge(text, shown(case), case.question)
    rows = sorted(chat.without_reply.items())  # by hash, so that no order tells the label
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "prompts.jsonl").open("w", encoding="utf-8") as file:
        for key, (system, user) in rows:
            row = {"key": key, "system": system.content, "user": user.content}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(rows)} prompts in {folder / 'prompts.jsonl'}")


def words(text: str, evidence: Sequence[str], _question: str) -> list[bool]:
    claim = set(content_stems(re.sub(r"\[\d+\]", "", text)))
    numbers = [int(n) for n in re.findall(r"\[(\d+)\]", text)]
    return [
        n <= len(evidence) and len(claim & set(content_stems(evidence[n - 1]))) >= 0.2 * len(claim)
        for n in numbers
    ]


def both(first: Judge, second: Judge) -> Judge:
    def judge(text: str, evidence: Sequence[str], question: str) -> list[bool]:
        a, b = first(text, evidence, question), second(text, evidence, question)
        return [x and y for x, y in zip(a, b, strict=True)]

    return judge


def reranker() -> Judge:
    from polygraph.models.providers.onnx import OnnxReranker

    model = OnnxReranker()

    def judge(text: str, evidence: Sequence[str], question: str) -> list[bool]:
        return [
            v.n <= len(evidence) and bool(model.score(v.claim, [evidence[v.n - 1]])[0] > 0)
            for _, verdicts in judge_citations(text, [(e,) for e in evidence], question=question)
            for v in verdicts
        ]

    return judge


def report(name: str, verdicts: Sequence[tuple[str, bool]], seconds: float) -> None:
    """Print a table of one judge."""
    right = [kept for kind, kept in verdicts if kind == "+"]
    wrong = [not kept for kind, kept in verdicts if kind != "+"]
    removed = wrong.count(True) + right.count(False)
    print(f"\n{name}: {len(verdicts)} citations, {1000 * seconds / len(verdicts):.2f} ms each")
    print("| | share | 95% | n |\n|---|---|---|---|")
    print(row("correct kept", right.count(True), len(right)))
    print(row("wrong found", wrong.count(True), len(wrong)))
    print(row("removed that are wrong", wrong.count(True), removed))
    for kind in sorted({kind for kind, _ in verdicts} - {"+"}):
        found = [not kept for k, kept in verdicts if k == kind]
        print(row(f"wrong found: {kind}", found.count(True), len(found)))


def row(name: str, hits: int, n: int) -> str:
    if n == 0:
        return f"| {name} | - | - | 0 |"
    z, p = 1.96, hits / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return f"| {name} | {p:.3f} | {max(0.0, centre - half):.3f} to {min(1.0, centre + half):.3f} | {n} |"


if __name__ == "__main__":
    main()
