"""A published table again: the same protocol on the user's copy of the data, ours beside the published numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import numpy as np

from polygraph.errors import BadInput
from polygraph.evaluate.judging.length_alignment import ATTEMPTS
from polygraph.evaluate.judging.pairwise import DESIGNS, Design
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.questions.generate import summary_questions
from polygraph.evaluate.reproduce.measure import Figure, figures
from polygraph.evaluate.reproduce.tables import TABLES, Posing, Table
from polygraph.evaluate.runs.by_document import Open, answer_by_document
from polygraph.evaluate.runs.experiment import Experiment, n_judge_calls
from polygraph.models import ChatModel, Models
from polygraph.prompts import prompt
from polygraph.records import Answer, Json, Retrieval
from polygraph.retrieve.answer import answer as write
from polygraph.store.snapshot import Snapshot
from polygraph.text.tokens import count_tokens

GROUNDED = 50
"""Questions of each level (arXiv:2506.06331, section 5.1)."""
_SUMMARY = 125
_ANSWER_TOKENS = {"prose": 270, "word": 10}
"""What an answer is taken for beforehand: about 200 words (arXiv:2506.06331, figure 6), or one word or name."""
_VERDICT_TOKENS = 60
"""What a judge is taken to write for each aspect."""
_N_ASPECTS = 4
_FILES = ("corpus.jsonl", "corpus.jsonl.gz"), ("questions.jsonl", "questions.jsonl.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one step of a reproduction takes, before it is taken."""

    stage: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


def find_table(paper: str, name: str) -> Table:
    """The table of a paper.

    Raises:
        BadInput: if there is none, naming those there are.
    """
    of_paper = [t for t in TABLES if t.paper == paper]
    if not of_paper:
        papers = ", ".join(dict.fromkeys(t.paper for t in TABLES))
        raise BadInput(f"there is no paper {paper!r}. Choose one of: {papers}")
    for table in of_paper:
        if table.name == name:
            return table
    raise BadInput(
        f"{paper} has no table {name!r} here. Choose one of: {', '.join(t.name for t in of_paper)}"
    )


def data_files(folder: Path, table: Table) -> tuple[Path, Path | None]:
    """Corpus and questions in the folder of a data set; no questions are needed where they are posed.

    Raises:
        BadInput: if a file is missing.
    """
    corpus, asked = (next((folder / n for n in names if (folder / n).is_file()), None) for names in _FILES)
    if table.contest is not None and table.contest.posing != "data":
        asked = None
    elif asked is None:
        raise BadInput(
            f"{folder} has no questions.jsonl. This table needs {table.data}; see: polygraph eval datasets"
        )
    if corpus is None:
        raise BadInput(
            f"{folder} has no corpus.jsonl. This table needs {table.data}; see: polygraph eval convert"
        )
    return corpus, asked


def select(table: Table, questions: Sequence[Question], *, seed: int = 0, limit: int = 0) -> list[Question]:
    """The questions that a table asks, in the order of the file.

    Args:
        table: with the types it asks, and how many of each.
        questions: of the data set.
        seed: of what is drawn.
        limit: at most so many, drawn evenly; 0: as many as the paper.

    Raises:
        BadInput: if none is left.
    """
    kept = [q for q in questions if not table.types or q.type in table.types]
    if table.scope == "single":
        kept = [q for q in kept if q.evidence]
    if not kept:
        wanted = f" of the types {', '.join(table.types)}" if table.types else ""
        told = " that names its document" if table.scope == "single" else ""
        raise BadInput(f"the data has no question{wanted}{told}. This table needs {table.data}")
    if table.per_type:
        kept = [
            q
            for kind in table.types
            for q in _drawn([q for q in kept if q.type == kind], table.per_type, seed)
        ]
    most = min(x for x in (limit or len(kept), table.n or len(kept), len(kept)) if x)
    place = {q.id: i for i, q in enumerate(questions)}
    return sorted(_drawn(kept, most, seed), key=lambda q: place[q.id])


def design_of(table: Table, trials: int = 0) -> Design:
    """The protocol of a contest, with other trials if asked for.

    Raises:
        ValueError: if the table has no contest.
    """
    if table.contest is None:
        raise ValueError(f"table {table.name} of {table.paper} has no judges")
    design = DESIGNS[table.contest.protocol]
    return replace(design, trials=trials or design.trials)


def n_questions(table: Table, questions: Sequence[Question], limit: int = 0) -> int:
    """Questions that are asked: those given, or as many as are posed."""
    posing = table.contest.posing if table.contest else "data"
    posed = {"summary": min(limit or _SUMMARY, _SUMMARY), "grounded": 3 * _per_level(limit)}
    return posed.get(posing, len(questions))


def judging_stages(
    table: Table, questions: Sequence[Question], trials: int = 0, limit: int = 0
) -> list[Stage]:
    """Calls and tokens of posing, alignment and judging, by formula.

    At most so many calls: answers of equal length need no alignment, and discarded pairs are not judged. Tokens take an
    answer for 270 tokens and 60 tokens of a judge's reply for each aspect; the context that a shorter answer is written
    from again is taken for twelve thousand tokens, the usual budget.
    """
    if table.contest is None:
        return []
    n, design = n_questions(table, questions, limit), design_of(table, trials)
    stages = []
    if table.contest.posing == "grounded":
        calls = n + _per_level(limit)  # one for each question, and one more for each subgraph
        stages.append(
            Stage(stage="questions", calls=calls, prompt_tokens=6_500 * calls, completion_tokens=100 * calls)
        )
    elif table.contest.posing == "summary":
        stages.append(Stage(stage="questions", calls=1, prompt_tokens=100_500, completion_tokens=4_000))
    pairs = (len(table.methods) - 1) * n
    answer = _ANSWER_TOKENS[table.form]
    if design.protocol == "unbiased":
        calls = (ATTEMPTS + 1) * pairs
        stages.append(
            Stage(
                stage="alignment", calls=calls, prompt_tokens=12_000 * calls, completion_tokens=answer * calls
            )
        )
    # Each other system is a study of two with the reference.
    calls = (len(table.methods) - 1) * n_judge_calls(n, 2, 1, design)
    name = "judge_scores" if design.protocol == "unbiased" else "judge_winner"
    asked = prompt(name)
    read = count_tokens(asked.system) + count_tokens(asked.user) + 30 + 2 * answer
    stages.append(
        Stage(
            stage="judge",
            calls=calls,
            prompt_tokens=read * calls,
            completion_tokens=_VERDICT_TOKENS * _N_ASPECTS * calls,
        )
    )
    return stages


def asker(
    retrieve: Callable[[str, str], Retrieval], snapshot: Callable[[], Snapshot], models: Models, table: Table
) -> Callable[[str, str], Answer]:
    """Answers a question with a method in the form of a table: short answers are asked for in one word."""

    def ask(question: str, method: str) -> Answer:
        with models.calls.round():
            found = retrieve(question, method)
            if table.form == "word" and not found.draft:
                found = replace(found, answer_form="word")
            return write(question, found, snapshot(), models)

    return ask


def run(
    table: Table,
    experiment: Experiment,
    questions: Sequence[Question],
    alone: Open,
    judge: ChatModel,
    *,
    seed: int = 0,
    trials: int = 0,
    limit: int = 0,
    bert: bool = False,
) -> list[Figure]:
    """Run a table, or go on with it, and measure it.

    Args:
        table: what to run.
        experiment: over the index of all documents; of a table whose questions are about one document each, only its
            study and models are used.
        questions: selected; none where they are posed.
        alone: opens the index of one document.
        judge: the model that judges.
        seed: of posed questions and of the intervals.
        trials: of the judges; 0: as in the paper.
        limit: questions at most where they are posed; 0: as in the paper.
        bert: whether to measure BERTScore, where the table has it.

    Raises:
        BadInput: if the study was made with other settings, or a question does not name its document.
    """
    study, told = experiment.study, experiment.told
    wanted: dict[str, Json] = {"paper": table.paper, "table": table.name, "seed": seed, "limit": limit}
    study.settle("reproduction", wanted)
    posed = list(questions)
    posing = table.contest.posing if table.contest else "data"
    if posing == "data":
        experiment.take(posed)
    else:
        posed = _posed(experiment, posing, seed, limit)
    if table.scope == "single":
        answer_by_document(study, posed, table.methods, alone, experiment.models, told)
    else:
        experiment.answer(table.methods)
    if table.contest is not None:
        _judge(table, experiment, judge, trials)
    return figures(table, posed, study.answers(), study.judgements(), experiment.models, seed=seed, bert=bert)


# --- parts --------------------------------------------------------------------------------------------


def _drawn(questions: Sequence[Question], n: int, seed: int) -> list[Question]:
    if len(questions) <= n:
        return list(questions)
    chosen = np.random.default_rng(seed).permutation(len(questions))[:n]
    return [questions[int(i)] for i in sorted(chosen)]


def _per_level(limit: int) -> int:
    return min(GROUNDED, ceil(limit / 3)) if limit else GROUNDED


def _posed(experiment: Experiment, posing: Posing, seed: int, limit: int) -> list[Question]:
    """The questions of the study; made if it has none."""
    if not experiment.study.path("questions").is_file() and posing == "summary" and limit:
        # There are always 125, of which some are drawn.
        experiment.take(_drawn(summary_questions(experiment.index, experiment.models).questions, limit, seed))
    elif not experiment.study.path("questions").is_file():
        experiment.pose("summary" if posing == "summary" else "grounded", n=_per_level(limit), seed=seed)
    return experiment.questions()


def _judge(table: Table, experiment: Experiment, chat: ChatModel, trials: int) -> None:
    assert table.contest is not None  # noqa: S101 - asked by the caller
    methods = {s.name: s.method for s in table.systems}
    reference = methods[table.contest.reference]
    for system in table.systems:
        if system.method and system.method != reference:
            experiment.judge([chat], design_of(table, trials), methods=[reference, system.method])
