"""The commands `polygraph eval retrieval` and `coverage`."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from polygraph.cli.evaluation.options import METHODS, PerDocumentOption
from polygraph.cli.open_index import open_index, open_without_models
from polygraph.cli.options import (
    BatchOption,
    CostOption,
    IndexOption,
    JsonOption,
    MarginOption,
    OfflineOption,
    SpendOption,
    TokensOption,
    WhereOption,
    caps,
    metadata_of,
    methods_of,
)
from polygraph.errors import BadInput

app: typer.Typer = typer.Typer()


@app.command()
def retrieval(
    questions: Annotated[
        Path,
        typer.Option(
            "--questions", metavar="FILE.jsonl", help="Questions with gold evidence (.jsonl or .jsonl.gz)."
        ),
    ],
    index: IndexOption = None,
    per_document: PerDocumentOption = None,
    methods: Annotated[
        str,
        typer.Option(
            "-m",
            "--methods",
            metavar="METHOD,...",
            help="Methods to measure; all: every method without presets.",
        ),
    ] = METHODS,
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    k: Annotated[
        str, typer.Option("--k", metavar="K,...", help="Depths of the metrics, such as recall@k.")
    ] = "1,2,5,10,20",
    metric: Annotated[
        Optional[str],
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Metric to compare methods by; default: recall@5, or the same for the gold that most questions have.",
        ),
    ] = None,
    margin: MarginOption = 5.0,
    evidence: Annotated[
        str, typer.Option("--evidence", metavar="FIELD", help="Field of the file with the gold document ids.")
    ] = "evidence",
    limit: Annotated[
        Optional[int], typer.Option("--limit", metavar="N", help="Ask a random sample of N questions.")
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the sample, the intervals and the tests.")
    ] = 0,
    output: Annotated[
        Optional[Path],
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.jsonl",
            help="Store single results; a later run resumes from them.",
        ),
    ] = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure what methods find against known evidence. No answer is written and no judge is asked."""
    from polygraph.cli.progress import Bars
    from polygraph.cli.render import answer as show
    from polygraph.cli.render.retrieval_report import show_retrieval_report
    from polygraph.evaluate.questions.file import read_questions

    listed = read_questions(questions, evidence=evidence)
    names = methods_of(methods)
    depths = _depths(k)
    flags = caps(max_cost, max_spend_tokens, batch, offline)
    with (
        open_index(index, new=per_document is not None, **flags) as opened,
        Bars(quiet=as_json, spent=lambda: opened.models.calls.spent) as bars,
    ):
        common: dict[str, Any] = {
            "max_tokens": max_tokens,
            "ks": depths,
            "metric": metric or "",
            "margin": margin / 100,
            "limit": limit,
            "seed": seed,
            "output": output,
            "progress": bars,
        }
        if per_document is None:
            found = opened.evaluate_retrieval(listed, names, where=metadata_of(where), **common)
        else:
            from polygraph.workspace.per_document import PerDocument

            if where:
                raise BadInput(
                    "--where selects documents, but with --per-document each question has its own document. Leave one "
                    "out"
                )
            found = PerDocument(opened, per_document).evaluate_retrieval(listed, names, **common)
    if as_json:
        show.as_json(found.as_dict())
    else:
        show_retrieval_report(found, depths)


def _depths(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found or min(found) < 1 or max(found) > 1000:
        raise BadInput(f"--k {text!r} is not a list of depths from 1 to 1000, such as --k 1,5,10")
    return found


@app.command()
def coverage(
    questions: Annotated[
        Path,
        typer.Option(
            "--questions", metavar="FILE.jsonl", help="Questions with gold answers (.jsonl or .jsonl.gz)."
        ),
    ],
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the gold answers that occur in the graph. This is an upper bound for methods that read nothing else."""
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.metrics.graph_coverage import answer_coverage
    from polygraph.evaluate.questions.file import read_questions
    from polygraph.text.prose import count_noun

    listed = read_questions(questions)
    with open_without_models(index) as opened:
        found = answer_coverage(listed, opened.snapshot())
    if as_json:
        show.as_json(
            {
                "questions": found.n,
                "named": found.named,
                "within": found.within,
                "described": found.described,
                "share": found.share,
                "absent": list(found.absent),
            }
        )
        return
    if not found.n:
        raise BadInput(f"no question of {questions} has an answer that could be a name")
    show.out.print(
        f"{count_noun(found.n, 'question')} with an answer that could be a name, of {len(listed)}",
        style="bold",
    )
    rows = [
        (what, n, f"{100 * n / found.n:.1f}%")
        for what, n in (
            ("the name of an entity", found.named),
            ("the name of an entity, or part of one", found.within),
            ("anywhere in the graph: names, descriptions, predicates", found.described),
            ("nowhere in the graph", len(found.absent)),
        )
    ]
    show.show_table(("an answer is", "questions", "share"), rows, right=("questions", "share"))
