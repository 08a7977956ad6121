"""The demo: an index, three questions with three methods, and suggested next commands."""

import time
from collections.abc import Iterable
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.text import Text

from polygraph.cli.demo_questions import answered_questions
from polygraph.cli.open_index import open_index
from polygraph.cli.progress import Bars
from polygraph.cli.render.answer import out, show_answer, warn
from polygraph.errors import quoted
from polygraph.records import Answer
from polygraph.text.prose import count_noun

SAMPLE_QUESTIONS = (
    ("How did the Constancy get her name?", "hybrid"),
    ("Who was Silas Threave?", "graphrag-local"),
    ("What are these papers mainly about?", "graphrag-global"),
)
"""Questions and methods for the papers of Sallowmouth, the sample collection of the package."""


def run(path: str | None, folder: Path | None, **flags: Any) -> None:
    """Run the demo on a folder or on the sample collection, with settings from the options of the command."""
    with ExitStack() as stack:
        if path is None:
            source = stack.enter_context(as_file(files("polygraph") / "sample" / "papers"))
            # Not the index of the settings, which may hold documents of the user.
            folder = folder or Path("polygraph-demo.index")
            out.print(
                "The papers of Sallowmouth: an invented harbour town, its observatory and a shipwreck.\n"
            )
        else:
            source = Path(path)
        opened = stack.enter_context(open_index(folder, new=True, documents=[str(source)], **flags))
        started = time.perf_counter()
        with Bars(spent=lambda: opened.models.calls.spent) as bars:
            report = opened.add(str(source), progress=bars)
        c = report.counts
        out.print(
            Text(
                f"{'Indexed' if report.built else 'Already indexed:'} {count_noun(c['documents'], 'document')}, "
                f"{count_noun(c['chunks'], 'passage')}, {count_noun(c['entities'], 'entity')}, "
                f"{count_noun(c['relations'], 'relation')} in {time.perf_counter() - started:.0f} s, with "
                f"{count_noun(report.usage.calls, 'model call')}. The index is in {opened.place}",
                style="bold",
            )
        )
        for note in report.notes:
            warn(f"note: {note}")
        for reason in report.unread[:5]:
            warn(f"not read: {reason[0]}: {reason[1]}")
        if path is None:
            answers: Iterable[Answer] = (opened.ask(q, method) for q, method in SAMPLE_QUESTIONS)
        else:
            answers = answered_questions(opened)
        first = ""
        for answer in answers:
            first = first or answer.question
            out.print()
            out.rule(style="dim")
            out.print(
                Text(f"{answer.question}  ", style="bold").append(f"[{answer.method}]", style="magenta")
            )
            out.print()
            show_answer(answer)
        if not first:
            out.print("\nNo question could be suggested that these documents answer; ask one of your own.")
        _next_steps(opened.place, first or "QUESTION", path is None, opened.models.chat is None)


def _next_steps(place: str, question: str, sample: bool, offline: bool) -> None:
    index = quoted(place)
    out.print()
    out.rule("next steps", align="left", style="dim")
    lines = [
        ("compare the methods on one question", f"polygraph compare {quoted(question)} --index {index}"),
        ("see why each passage was found", f"polygraph explain {quoted(question)} --index {index}"),
        ("talk to it", f"polygraph chat --index {index}"),
    ]
    if sample:
        lines.append(("your own folder", "polygraph demo PATH"))
    if offline:
        lines.append(
            ("answers written by a model", "export OPENAI_API_KEY=...   (or OPENAI_BASE_URL), same commands")
        )
    for what, command in lines:
        out.print(Text.assemble((f"  {what:<40}", "dim"), command), soft_wrap=True)
