"""The answers of a study: each question answered by each method, resumed from the lines of the file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from polygraph.errors import BadInput, PolygraphError, WorkFailed, quoted
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import MadeWith, StudyAnswer, instance_of, method_of
from polygraph.evaluate.runs.made_with import Describe, describe_answerer, differences
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.indexing.progress import Progress, SharedCounter
from polygraph.models import Models
from polygraph.models.reply_cache import about_question
from polygraph.models.sampling import sampled
from polygraph.models.thread_pool import map_in_order
from polygraph.records import Answer, AnswerForm
from polygraph.retrieve import method as named_method
from polygraph.store.snapshot import Snapshot
from polygraph.text.prose import count_noun

SAMPLING_TEMPERATURE = 0.7
"""Temperature of answers, if any is to be sampled again."""
_INSTANCES = 100
"""More than the instances of a method in any study."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Options of `answer_questions`."""

    temperature: float | None = None
    """Temperature of the answerer; None: as in earlier answers of the study, else 0, or `SAMPLING_TEMPERATURE` if a
    method has several instances or trials."""
    max_tokens: int | None = None
    """Budget of the context; None: each method's own."""
    form: AnswerForm | None = None
    """Form of the answers; None: each method's own."""
    trials: int = 1
    """Trials that have answers of their own."""
    again: bool = False
    """Answer again what was answered with other models, settings or another index; judgements of these answers are
    deleted."""


def answer_questions(
    study: StudyFolder,
    questions: Sequence[Question],
    methods: Sequence[str],
    ask: Callable[..., Answer],
    snapshot: Callable[[], Snapshot],
    models: Models,
    progress: Progress,
    options: AnswerOptions | None = None,
    *,
    document: str = "",
) -> list[StudyAnswer]:
    """Answer every question with every method, unless the study already has the answer.

    The answers stand in the study in the order in which they were made; `sort_answers` brings them into theirs.

    Args:
        study: gets each answer as soon as it exists.
        questions: in order.
        methods: names, in order; ``METHOD#2`` is a second instance of a method, answered independently.
        ask: answers a question (its text) with a method (its name); called with `max_tokens` and `form` only where
            the options set them.
        snapshot: opens the index that `ask` reads.
        models: that `ask` uses.
        progress: called after each answer.
        options: see `AnswerOptions`.
        document: id of the document, if the index is that of one document.

    Returns:
        All answers, by trial, then question, then method, in the orders given.

    Raises:
        BadInput: if the answers would differ in more than question and method.
        WorkFailed: if a method raised an error of its own; it was asked nothing more, and the answers of the others
            are in the study.
    """
    options = options or AnswerOptions()
    earlier = study.answers(all_trials=True)
    temperature = _temperature(earlier, methods, models, options)

    def describe(method: str) -> MadeWith:
        return describe_answerer(
            method,
            snapshot(),
            models,
            temperature=temperature,
            max_tokens=options.max_tokens,
            form=options.form,
            document=document,
        )

    listed, kept = _reconcile(study, earlier, questions, methods, describe, options)
    done = {(*a.key, a.trial): a for a in kept}
    keys = [(q.id, m, t) for t in range(options.trials) for q in questions for m in listed]
    missing = {key for key in keys if key not in done}
    planned = {m: describe(m) for m in listed if any(m == method for _, method, _ in missing)}
    if options.max_tokens is not None:
        ask = partial(ask, max_tokens=options.max_tokens)
    if options.form is not None:
        ask = partial(ask, form=options.form)
    n_done = len(keys) - len(missing)
    progress("answers", n_done, len(keys))
    answered = SharedCounter(progress, "answers", n_done, len(keys))
    answerer = _Answerer(study, ask, describe, planned, temperature)

    def work(item: tuple[Question, int]) -> None:
        question, trial = item

        def answer_with(method: str) -> None:
            if (question.id, method, trial) not in missing:
                return
            answer = answerer.answer(question, method, trial)
            if answer is not None:
                done[question.id, method, trial] = answer
                missing.discard((question.id, method, trial))
                answered.add_one()

        # Methods run in turn, so that calls they share are made once.
        with about_question(question.id):
            map_in_order(answer_with, listed)

    wanted = {(question, trial) for question, _, trial in missing}
    items = [(q, t) for t in range(options.trials) for q in questions if (q.id, t) in wanted]
    # Answers by batch have no times; an index of one document has too few questions to load it twice.
    if items and not document and models.calls.batch is None:
        _warm_up(items[0][0].question, list(planned), snapshot(), models)
    models.calls.map(work, items)
    answerer.raise_failures()
    return [done[key] for key in keys if key[1] in methods]


def sort_answers(study: StudyFolder, questions: Sequence[Question]) -> None:
    """Sort the file of answers by trial, question and method, so that the same study gives the same bytes."""
    position = {q.id: i for i, q in enumerate(questions)}
    ordered = sorted(
        study.answers(all_trials=True),
        key=lambda a: (a.trial, position.get(a.question, len(position)), a.question, a.method),
    )
    study.write("answers", [a.as_json() for a in ordered])


def require_comparable(study: StudyFolder, answers: Sequence[StudyAnswer]) -> None:
    """Check that answers differ in nothing but question and method.

    Raises:
        BadInput: naming what differs.
    """
    found = differences((a.method, a.made_with) for a in answers)
    if found:
        raise BadInput(
            f"the answers of the study at {study.path} cannot be compared, because they were made differently "
            f"({'; '.join(found)}). Answer again what differs with: polygraph eval answers --again -m METHOD,METHOD "
            f"--output {quoted(study.path)}; or start another study"
        )


def run_number(method: str, trial: int) -> int:
    """Return the number of the independent run that answers for an instance of a method in a trial; 0 for the first."""
    return trial * _INSTANCES + instance_of(method) - 1


def today() -> str:
    """Return the day (ISO 8601, UTC)."""
    return datetime.now(UTC).date().isoformat()


# --- parts --------------------------------------------------------------------------------------------


def _warm_up(question: str, methods: Sequence[str], index: Snapshot, models: Models) -> None:
    """Load embedders, reranker and layers before the answers are timed; no language model is called."""
    for name in methods:
        try:
            named_method(method_of(name))(question, index, replace(models, chat=None))
        except Exception:  # noqa: S112 - the question is asked again, and its problem is reported
            continue


def _temperature(
    earlier: Sequence[StudyAnswer], methods: Sequence[str], models: Models, options: AnswerOptions
) -> float:
    """Return the temperature of the answerer; 0 without one.

    Raises:
        BadInput: if answers are to be sampled again at temperature 0.
    """
    if models.chat is None:
        return 0.0
    known = [a.made_with.temperature for a in earlier if a.trial == 0]
    sampled_again = options.trials > 1 or any(instance_of(m) > 1 for m in methods)
    default = known[0] if known else SAMPLING_TEMPERATURE if sampled_again else 0.0
    chosen = default if options.temperature is None else options.temperature
    if sampled_again and not chosen:
        raise BadInput(
            "at temperature 0 a second answer is a copy of the first. Give --answer-temperature "
            f"{SAMPLING_TEMPERATURE}"
            + (", and --again or another folder, since the study has answers at 0" if 0.0 in known else "")
        )
    return chosen


class _Answerer:
    """Answers questions and stores the answers; a method that fails is asked nothing more.

    Args:
        study: gets the answers.
        ask: see `answer_questions`.
        describe: what answers of a method are made with now.
        planned: what they were to be made with, by method.
        temperature: of the answerer.
    """

    def __init__(
        self,
        study: StudyFolder,
        ask: Callable[..., Answer],
        describe: Describe,
        planned: Mapping[str, MadeWith],
        temperature: float,
    ) -> None:
        self._study, self._ask, self._describe, self._planned = study, ask, describe, planned
        self._temperature = temperature
        self._failed: dict[str, tuple[str, Exception]] = {}
        """By method, the id of the question that it failed at, and its error."""

    def answer(self, question: Question, method: str, trial: int) -> StudyAnswer | None:
        """Answer a question and store the answer; None if the method fails, or failed before.

        Raises:
            BadInput: if the index or the models changed meanwhile.
        """
        if method in self._failed:
            return None
        try:
            with sampled(run_number(method, trial), self._temperature):
                found = self._ask(question.question, method_of(method))
        except (PolygraphError, MemoryError):
            raise
        except Exception as error:
            # A method of the user's own, or a defect of ours: no reason to lose the answers of the others.
            self._failed.setdefault(method, (question.id, error))
            return None
        answer = StudyAnswer.from_answer(
            question.id, method, found, trial=trial, made_with=self._describe(method), date=today()
        )
        changed = differences([(method, self._planned[method]), (method, answer.made_with)])
        if changed:
            raise BadInput(
                f"the index or the models changed while questions were answered ({'; '.join(changed)}). Run the "
                "command again with --again"
            )
        self._study.add_answer(answer)
        return answer

    def raise_failures(self) -> None:
        """Raise `WorkFailed` if a method failed."""
        if not self._failed:
            return
        each = "; ".join(
            f"{m} at {q!r} with {type(e).__name__}: {e}" for m, (q, e) in sorted(self._failed.items())
        )
        raise WorkFailed(
            f"{count_noun(len(self._failed), 'method')} failed: {each}. The answers of the others are kept, and the "
            "same command continues from there"
        ) from next(iter(self._failed.values()))[1]


def _reconcile(
    study: StudyFolder,
    answers: Sequence[StudyAnswer],
    questions: Sequence[Question],
    methods: Sequence[str],
    describe: Describe,
    options: AnswerOptions,
) -> tuple[list[str], Sequence[StudyAnswer]]:
    """Check that new answers fit the earlier ones, or remove those that do not fit.

    Returns:
        The methods to answer with: those given, then those whose answers were removed. And the answers that stay.

    Raises:
        BadInput: if answers do not fit and are not to be answered again.
    """
    plan = [(m, describe(m)) for m in methods]
    if not options.again:
        found = differences([*((a.method, a.made_with) for a in answers), *plan])
        if found:
            raise BadInput(
                f"the study at {study.path} has answers that were made differently ({'; '.join(found)}). Name another "
                "folder with --output, or answer again what differs with --again"
            )
        return list(methods), answers
    ids = {q.id for q in questions}
    fresh = {m: describe(m) for m in {*methods, *(a.method for a in answers if a.question in ids)}}
    stale = {
        a.key for a in answers if a.question in ids and differences([*fresh.items(), (a.method, a.made_with)])
    }
    study.forget_answers(stale)
    listed = list(dict.fromkeys([*methods, *sorted({method for _, method in stale})]))
    return listed, [a for a in answers if a.key not in stale]
