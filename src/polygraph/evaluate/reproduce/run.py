"""Run a published table: the same protocol on the user's copy of the data, our numbers beside the published ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from polygraph.errors import BadInput
from polygraph.evaluate.judging.length_alignment import ATTEMPTS
from polygraph.evaluate.judging.pairwise import DESIGNS, JudgingDesign
from polygraph.evaluate.questions.file import Question, sample_questions
from polygraph.evaluate.questions.generate import SUMMARY_QUESTIONS, summary_questions
from polygraph.evaluate.records import is_tuned
from polygraph.evaluate.reproduce.measure import TableValue, measure_table
from polygraph.evaluate.reproduce.tables import TABLES, QuestionSource, Table
from polygraph.evaluate.runs.by_document import OpenDocument, answer_by_document
from polygraph.evaluate.runs.experiment import Experiment, n_judge_calls
from polygraph.models import ChatModel, Models
from polygraph.prompts import prompt
from polygraph.records import Answer, Json, Retrieval
from polygraph.retrieve.answer import answer as write_answer
from polygraph.store.snapshot import Snapshot
from polygraph.text.tokens import count_tokens

GROUNDED = 50
"""Grounded questions per level (arXiv:2506.06331, section 5.1)."""
_ANSWER_TOKENS = {"prose": 270, "word": 10}
"""Assumed length of an answer: about 200 words (arXiv:2506.06331, figure 6), or one word or name."""
_VERDICT_TOKENS = 60
"""Assumed length of a judge's reply per aspect."""
_N_ASPECTS = 4
_CONTEXT_TOKENS = 12_000
"""Assumed length of the context that an answer is rewritten from: the usual token budget."""
_CORPUS_FILES = ("corpus.jsonl", "corpus.jsonl.gz")
_QUESTION_FILES = ("questions.jsonl", "questions.jsonl.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEstimate:
    """Estimated cost of one step of a reproduction."""

    stage: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


def find_table(paper: str, name: str) -> Table:
    """Return a table of a paper.

    Raises:
        BadInput: if there is none, listing those there are.
    """
    of_paper = [t for t in TABLES if t.paper == paper]
    if not of_paper:
        papers = ", ".join(dict.fromkeys(t.paper for t in TABLES))
        raise BadInput(f"there is no paper {paper!r}. Choose one of: {papers}")
    for table in of_paper:
        if table.name == name:
            return table
    names = ", ".join(t.name for t in of_paper)
    raise BadInput(
        f"{paper} has no table {name!r}. Choose one of: {names}"
        if name
        else f"name a table of {paper}: {names}"
    )


def data_files(folder: Path, table: Table) -> tuple[Path, Path | None]:
    """Return the corpus and the questions in the folder of a data set; no questions if the table generates its own.

    Raises:
        BadInput: if a file is missing.
    """
    corpus, questions = (
        next((folder / n for n in names if (folder / n).is_file()), None)
        for names in (_CORPUS_FILES, _QUESTION_FILES)
    )
    if table.question_source != "data":
        questions = None
    elif questions is None:
        raise BadInput(
            f"{folder} has no questions.jsonl. This table needs {table.data}; see: polygraph eval datasets"
        )
    if corpus is None:
        raise BadInput(
            f"{folder} has no corpus.jsonl. This table needs {table.data}; see: polygraph eval convert"
        )
    return corpus, questions


def select(table: Table, questions: Sequence[Question], *, seed: int = 0, limit: int = 0) -> list[Question]:
    """Return the questions that a table asks, in the order of the file.

    Args:
        table: with the types it asks, and how many of each.
        questions: of the data set.
        seed: of the sample.
        limit: maximum number of questions; 0: as many as the paper.

    Raises:
        BadInput: if none is left.
    """
    kept = [q for q in questions if not table.types or q.type in table.types]
    if table.scope == "single":
        kept = [q for q in kept if q.evidence]
    if not kept:
        types = f" of the types {', '.join(table.types)}" if table.types else ""
        named = " that names its document" if table.scope == "single" else ""
        raise BadInput(f"the data has no question{types}{named}. This table needs {table.data}")
    if table.per_type:
        kept = [
            q
            for type_ in table.types
            for q in sample_questions([q for q in kept if q.type == type_], table.per_type, seed)
        ]
    n = min(x for x in (limit or len(kept), table.n or len(kept), len(kept)) if x)
    position = {q.id: i for i, q in enumerate(questions)}
    return sorted(sample_questions(kept, n, seed), key=lambda q: position[q.id])


def design_of(table: Table, trials: int = 0) -> JudgingDesign:
    """Return the judging design of a table, with another number of trials if given.

    Raises:
        ValueError: if the table has no judges.
    """
    if table.judging is None:
        raise ValueError(f"table {table.name} of {table.paper} has no judges")
    design = DESIGNS[table.judging.protocol]
    return replace(design, trials=trials or table.judging.trials or design.trials)


def n_questions(table: Table, questions: Sequence[Question], limit: int = 0) -> int:
    """Return the number of questions that are asked: those given, or those the table generates."""
    if table.question_source == "data":
        return len(questions)
    if table.question_source == "summary":
        return min(limit or SUMMARY_QUESTIONS, SUMMARY_QUESTIONS)
    return 3 * _per_level(limit)


def judging_stages(
    table: Table, questions: Sequence[Question], trials: int = 0, limit: int = 0
) -> list[StageEstimate]:
    """Estimate the calls and tokens of questions, alignment and judges; no model is called.

    Lengths are upper bounds where a step has them, and the assumptions at the top of this module elsewhere.
    """
    if table.judging is None:
        return []
    n, design = n_questions(table, questions, limit), design_of(table, trials)
    stages = []
    if table.question_source == "grounded":
        calls = n + _per_level(limit)  # one per question, and one more per subgraph
        stages.append(
            StageEstimate(
                stage="questions", calls=calls, prompt_tokens=6_500 * calls, completion_tokens=100 * calls
            )
        )
    elif table.question_source == "summary":
        calls = 1 + 5  # the users, then the questions of each of the five
        stages.append(
            StageEstimate(
                stage="questions", calls=calls, prompt_tokens=100_500 * calls, completion_tokens=5_000
            )
        )
    pairs = sum(bool(p.methods) for p in table.judged_pairs)
    answer = _ANSWER_TOKENS[table.form]
    if design.protocol == "unbiased" and table.judging.align is not False:
        calls = (ATTEMPTS + 1) * pairs * n
        stages.append(
            StageEstimate(
                stage="alignment",
                calls=calls,
                prompt_tokens=_CONTEXT_TOKENS * calls,
                completion_tokens=answer * calls,
            )
        )
    calls = pairs * n_judge_calls(n, 2, 1, design)
    judge_prompt = prompt("judge_scores" if design.protocol == "unbiased" else "judge_winner")
    read = count_tokens(judge_prompt.system) + count_tokens(judge_prompt.user) + 30 + 2 * answer
    stages.append(
        StageEstimate(
            stage="judge",
            calls=calls,
            prompt_tokens=read * calls,
            completion_tokens=_VERDICT_TOKENS * _N_ASPECTS * calls,
        )
    )
    return stages


def ask_in_form(
    retrieve: Callable[[str, str], Retrieval], snapshot: Callable[[], Snapshot], models: Models, table: Table
) -> Callable[[str, str], Answer]:
    """Return a function that answers a question with a method in the form of a table: prose, or a word or name."""

    def ask(question: str, method: str) -> Answer:
        with models.calls.batch_round():
            found = retrieve(question, method)
            if table.form == "word" and not found.draft:
                found = replace(found, answer_form="short")
            return write_answer(question, found, snapshot(), models)

    return ask


def run(
    table: Table,
    experiment: Experiment,
    questions: Sequence[Question],
    open_document: OpenDocument,
    judge: ChatModel,
    *,
    seed: int = 0,
    trials: int = 0,
    limit: int = 0,
    bert: bool = False,
    tuned: Experiment | None = None,
) -> list[TableValue]:
    """Run or resume a table, and measure it.

    Args:
        table: to run.
        experiment: over the index of all documents; if each question is about one document, only its folder and models
            are used.
        questions: selected; none if the table generates its own.
        open_document: opens the index of one document.
        judge: the model that judges.
        seed: of generated questions and of the intervals.
        trials: of the judges; 0: as in the paper.
        limit: maximum number of generated questions; 0: as in the paper.
        bert: whether to measure BERTScore, if the table has it.
        tuned: the same experiment with a tuned reader; needed if the table has one.

    Raises:
        BadInput: if the study was made with other settings, or a question does not name its document.
    """
    folder, progress = experiment.folder, experiment.progress
    settings: dict[str, Json] = {"paper": table.paper, "table": table.name, "seed": seed, "limit": limit}
    folder.fix_settings("reproduction", settings)
    asked = list(questions)
    if table.question_source == "data":
        experiment.import_questions(asked)
    else:
        asked = _generate(experiment, table.question_source, seed, limit)
    if table.scope == "single":
        answer_by_document(folder, asked, table.methods, open_document, experiment.models, progress)
    else:
        experiment.answer([m for m in table.methods if not is_tuned(m)])
        if tuned is not None:
            tuned.answer([m for m in table.methods if is_tuned(m)])
    if table.judging is not None:
        for pair in table.judged_pairs:
            if pair.methods:
                experiment.judge(
                    [judge],
                    design_of(table, trials),
                    methods=[pair.first.method, pair.second.method],
                    align=table.judging.align,
                )
    return measure_table(
        table, asked, folder.answers(), folder.judgements(), experiment.models, seed=seed, bert=bert
    )


# --- parts --------------------------------------------------------------------------------------------


def _per_level(limit: int) -> int:
    return min(GROUNDED, ceil(limit / 3)) if limit else GROUNDED


def _generate(experiment: Experiment, source: QuestionSource, seed: int, limit: int) -> list[Question]:
    """Return the questions of the study, generated if it has none."""
    if not experiment.folder.has_questions:
        if source == "summary" and limit:
            # There are always 125, of which some are sampled.
            generated = summary_questions(experiment.snapshot(), experiment.models).questions
            experiment.import_questions(sample_questions(generated, limit, seed))
        else:
            experiment.generate_questions(
                "summary" if source == "summary" else "grounded", n=_per_level(limit), seed=seed
            )
    return experiment.questions()
