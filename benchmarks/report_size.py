"""Measure the size of the report of a large study, the time to write it, and the time for a browser to open it.

    python benchmarks/report_size.py [--questions 150] [--trials 3] [--output DIR] [--browser chromium]

Six methods with long names, answers of realistic length from sentences of the sample papers with twenty pieces of
evidence each, 15 comparisons in both orders. Verdicts are random around the true quality of each method.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from ultradomain import UNKNOWN

import polygraph
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import AlignedPair, count_words
from polygraph.evaluate.metrics.answer_scores import correctness, score_answers
from polygraph.evaluate.metrics.oracle import confusions
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reports.study_conclusions import oracle_sentence
from polygraph.evaluate.reports.study_provenance import study_provenance
from polygraph.evaluate.reports.study_report import (
    StudyReport,
    embed_answers,
    html_report,
    json_report,
    markdown_report,
)
from polygraph.evaluate.reports.summarise_study import summarise_study
from polygraph.evaluate.runs.study_folder import FORMAT
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Usage
from polygraph.tasks.evaluation.judge import ASPECTS
from polygraph.text.sentences import sentence_spans

METHODS = {
    "naive": (2.6, 1_900, 320),
    "fg-rag:multi-hop": (3.1, 3_300, 300),
    "graphrag-global:microsoft": (2.9, 326_000, 410),
    "hipporag:2": (2.9, 4_400, 290),
    "lightrag-hybrid:unbiased-evaluation": (2.4, 19_700, 350),
    "rag-vs-graphrag-integrated-community": (2.8, 48_000, 380),
}
"""True quality in points, tokens per question, words of an answer."""
MADE_WITH = replace(
    UNKNOWN, chat="gpt-4o-mini-2024-07-18", embedder="bge-small", name_embedder="potion", version="0.1.0"
)
MOST_BYTES = 5_000_000
MOST_SECONDS = 2.0


def load_sentences() -> list[str]:
    """Return the sentences that answers consist of."""
    papers = Path(polygraph.__file__).parent / "sample" / "papers"
    texts = [path.read_text(encoding="utf-8") for path in sorted(papers.rglob("*.*"))]
    found = [" ".join(text[a:b].split()) for text in texts for a, b in sentence_spans(text)]
    return [s for s in found if 30 < len(s) < 400]


def make_answer(rng: random.Random, bank: list[str], words: int) -> str:
    """Return an answer of about `words` words, in paragraphs, with citations."""
    parts: list[str] = []
    n_words, n = 0, rng.gauss(words, words / 5)
    while n_words < n:
        end = "\n\n" if len(parts) % 4 == 3 else " "
        parts.append(f"{rng.choice(bank)} [{rng.randint(1, 20)}]{end}")
        n_words += count_words(parts[-1])
    return "".join(parts).strip()


def study(n_questions: int = 150, trials: int = 3, seed: int = 0) -> StudyReport:
    """Return the contents of the report of such a study."""
    rng, bank = random.Random(seed), load_sentences()
    kinds = ("node", "edge", "subgraph")
    questions = [
        Question(
            id=f"{kinds[i % 3]}-{i // 3 + 1}",
            question=re.sub(r"[.!]$", "?", f"How does this follow, and for whom: {rng.choice(bank)}"),
            type=kinds[i % 3],
            answers=("the Harbour Board",) if i % 2 else (),
            references=(make_answer(rng, bank, 120),) if i % 2 else (),
        )
        for i in range(n_questions)
    ]
    answers = [
        StudyAnswer(
            question=q.id,
            method=method,
            text=make_answer(rng, bank, words),
            refused=rng.random() < 0.02,
            extractive=False,
            made_with=MADE_WITH,
            evidence=tuple(
                {
                    "kind": rng.choice(("chunk", "entity", "relation", "report")),
                    "id": f"document-{rng.randint(1, 400)}.txt#{rng.randint(0, 90)}",
                    "document": "d",
                    "score": rng.random(),
                    "why": f"named in the question; {rng.choice(bank)[:90]}",
                }
                for _ in range(20)
            ),
            context="",
            usage=Usage(
                calls=1,
                prompt_tokens=int(rng.gauss(tokens, tokens / 8)),
                completion_tokens=2 * words,
                seconds=abs(rng.gauss(tokens / 15_000 + 2, 1)),
                cost=tokens * 1.5e-7,
            ),
        )
        for q in questions
        for method, (_, tokens, words) in METHODS.items()
    ]
    judgements = [
        Judgement(
            protocol="unbiased",
            question=q.id,
            methods=shown,
            judge="gpt-4o-mini-2024-07-18",
            trial=trial,
            repeat=repeat,
            scores={
                aspect: tuple(_score(rng, method, i) for i, method in enumerate(shown)) for aspect in ASPECTS
            },
        )
        for trial in range(trials)
        for pair in combinations(METHODS, 2)
        for q in questions
        for repeat in range(2)
        for shown in (pair, pair[::-1])
    ]
    aligned = [
        AlignedPair(question=q.id, a=a, b=b, texts=("", ""), words=(300, 300 + rng.randint(-10, 10)), attempts=1,
                how="discarded" if rng.random() < 0.05 else "regenerated")
        for a, b in combinations(METHODS, 2)
        for q in questions
    ]  # fmt: skip
    dropped = {(p.question, p.a, p.b) for p in aligned if p.how == "discarded"}
    kept = [
        j for j in judgements
        if (j.question, *j.methods) not in dropped and (j.question, *j.methods[::-1]) not in dropped
    ]  # fmt: skip
    return summarise(questions, answers, aligned, kept)


def summarise(
    questions: list[Question],
    answers: list[StudyAnswer],
    aligned: list[AlignedPair],
    judgements: list[Judgement],
) -> StudyReport:
    correct = correctness(questions, answers)
    embedder = HashEmbedder()
    models = Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    return StudyReport(
        title="Which method to trust",
        settings={
            "polygraph_study": FORMAT,
            "questions": {"kind": "grounded", "n": 50, "seed": 0, "generator": "gpt-4o-mini-2024-07-18"},
            "judgements, unbiased": {
                "align": True,
                "attempts": 3,
                "repeats": 2,
                "temperature": 0.7,
                "tolerance": 10,
            },
        },
        questions=tuple(questions),
        answers=tuple(answers),
        judgements=tuple(judgements),
        findings=summarise_study(questions, answers, aligned, judgements),
        protocol="unbiased",
        gold=score_answers(questions, answers, models),
        provenance=study_provenance(answers, judgements),
        confusions=confusions(correct),
        further_conclusions=(oracle_sentence(correct),),
    )


def _score(rng: random.Random, method: str, position: int) -> float:
    return float(min(5, max(0, round(rng.gauss(METHODS[method][0] + 0.3 * (position == 0), 0.9)))))


def opened_in_s(browser: str, page: Path) -> float:
    """Return the seconds from the request for a page to its load event in a browser, without its start."""
    frame = page.with_name("frame.html")
    frame.write_text(
        "<title>0</title><script>const began = performance.now()</script>"
        f'<iframe src="{page.name}" width="1000" height="900" '
        'onload="document.title = performance.now() - began"></iframe>',
        encoding="utf-8",
    )
    with tempfile.TemporaryDirectory() as profile:
        found = subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={profile}", "--dump-dom", frame.as_uri(),
            ],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
    frame.unlink()
    return float(re.findall(r"<title>([\d.]+)</title>", found.stdout)[0]) / 1000


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--browser", default="")
    args = parser.parse_args()
    began = time.perf_counter()
    report = study(args.questions, args.trials)
    summarised = time.perf_counter()
    vectors = embed_answers(report.answers, HashEmbedder())
    page = html_report(report, vectors)
    written = time.perf_counter()
    folder = args.output or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    (folder / "report.md").write_text(markdown_report(report), encoding="utf-8")
    (folder / "report.json").write_text(json.dumps(json_report(report), indent=1), encoding="utf-8")
    size = path.stat().st_size
    print(f"{len(report.answers)} answers, {len(report.judgements):,} judgements")
    print(
        f"summarised in {summarised - began:.1f} s (including random answers), written in {written - summarised:.1f} s"
    )
    print(f"{path}: {size / 1e6:.2f} MB of at most {MOST_BYTES / 1e6:.0f}")
    slow = False
    if args.browser:
        seconds = sorted(opened_in_s(args.browser, path) for _ in range(3))[1]
        slow = seconds > MOST_SECONDS
        print(f"opened in {seconds:.2f} s of at most {MOST_SECONDS:.0f} (median of 3)")
    return int(size > MOST_BYTES or slow)


if __name__ == "__main__":
    sys.exit(main())
