"""The contract of retrieval methods, checked on small indexes."""

from collections.abc import Callable
from dataclasses import replace

from polygraph.errors import MissingLayer
from polygraph.models import Calls, ChatModel, Models
from polygraph.records import Answer, Retrieval, Usage
from polygraph.retrieve.answer import answer
from polygraph.retrieve.base import Method, why_no_method, why_no_retrieval, with_budget
from polygraph.store.layers import DEPENDENCIES, with_dependencies
from polygraph.store.snapshot import Snapshot
from polygraph.testing.check_retrieval import expected_calls, faults_of_answer, faults_of_retrieval
from polygraph.testing.scripted_model import scripted_chat
from polygraph.testing.small_indexes import (
    HIDDEN,
    OPEN_DOCUMENTS,
    hashed_models,
    open_snapshot,
    small_indexes,
)

QUESTION = "Who refused to pay Mara Quill for the lamp of the Skerry Light?"
_QUESTIONS = {
    "a plain question": QUESTION,
    "a question about the whole collection": "What are the main themes of these documents?",
    "a question in German": "Wer hat den Leuchtturm gebaut, und wer bezahlte das Öl?",
    "a question in Chinese": "谁建造了灯塔？",
    "a question of 10,000 characters": ("Who is Mara Quill, and why did Tobias Wren not pay? " * 200)[
        :10_000
    ],
    "one word of 10,000 characters": "q" * 10_000,
    "a question of stop words only": "What is the of and to?",
    "a question of punctuation only": "?! ... (?)",
    "a question that looks like a query": 'text:"Quill" AND (NOT * OR [1 TO 2]) ~ ^2 \\ \' " ; DROP TABLE chunks --',
    "a question about nothing in the index": "Quel est le prix du blé à Oulan-Bator ?",
}
_BUDGETS = (1, 5, 20, 40, 100, 400, 100_000)
_QUICK_QUESTIONS = ("a plain question", "a question in German", "a question of stop words only")
_QUICK_BUDGETS = (5, 40, 400)
_FILTERED_QUESTIONS = (*_QUICK_QUESTIONS, "a question about the whole collection")


def check_method(
    method: Method,
    *,
    n_calls: Callable[[Retrieval], int] | None = None,
    models: Models | None = None,
    quick: bool = False,
) -> None:
    """Check that a method keeps the contract of all methods. No network, no downloads, a few seconds.

    Checked on small indexes, without a chat model and with `scripted_chat`:

    - it works on any question and on the smallest indexes;
    - the same input gives the same result, whatever the order in which documents were added;
    - every piece of evidence points to text of a document;
    - the context numbers the evidence in order and keeps within its budget;
    - a filter hides everything of the documents that it excludes;
    - a missing layer raises `MissingLayer`, and no undeclared layer is read;
    - an empty result gives its reason;
    - the number of model calls is the declared one.

    Args:
        method: with its parameters.
        n_calls: returns the number of chat model calls of a retrieval and its answer, from its trace; needed if
            ``method.calls`` is not a number and the method is not one of `METHODS`.
        models: for the embedders and the reranker; default: hashed vectors and no reranker. Its chat model and calls
            are not used.
        quick: fewer questions and budgets, for a method that differs only in numbers from one checked in full.

    Raises:
        AssertionError: with the broken rule and the input that broke it.
    """
    _check_form(method)
    given = models or hashed_models()
    folders = small_indexes(given)
    for chat in (None, scripted_chat()):
        check = _MethodCheck(method, given, chat, n_calls, quick)
        with open_snapshot(folders["all"]) as index, open_snapshot(folders["reversed"]) as other:
            check.questions(index, other)
            check.budgets(index)
            check.filters(index)
            check.layers(index)
            check.calls(index)
        for name in ("one chunk", "one entity"):
            with open_snapshot(folders[name]) as index:
                for what in _QUICK_QUESTIONS[::2]:
                    check.retrieve(_QUESTIONS[what], index, f"{what}, index of {name}")


class _MethodCheck:
    """The checks of one method, with or without a chat model."""

    def __init__(
        self,
        method: Method,
        models: Models,
        chat: ChatModel | None,
        n_calls: Callable[[Retrieval], int] | None,
        quick: bool,
    ) -> None:
        self._method = method
        self._chat = chat
        self._n_calls = n_calls
        self._name = f"{type(method).__name__} {'with a scripted model' if chat else 'without a model'}"
        self._questions = {what: _QUESTIONS[what] for what in (_QUICK_QUESTIONS if quick else _QUESTIONS)}
        self._budgets = _QUICK_BUDGETS if quick else _BUDGETS
        self._given = models
        # One cache for all checks: the same request is answered once.
        self._models = self._fresh_models()

    def questions(self, index: Snapshot, other: Snapshot) -> None:
        """Check that any question works and that its result depends on nothing else."""
        for what, question in self._questions.items():
            found = self.retrieve(question, index, what)
            moved = self.retrieve(question, other, f"{what}, documents added in another order")
            if _comparable(found) != _comparable(moved):
                again = self.retrieve(question, index, what)
                self._expect(
                    _comparable(found) == _comparable(again), f"{what}: the second run gives another result"
                )
                self._expect(False, f"{what}: the result depends on the order in which documents were added")
            for fault in faults_of_answer(self._answer(found, index), index):
                self._expect(False, f"{what}: {fault}")
        self._expect(
            self.retrieve(QUESTION, index, "a plain question").evidence,
            f"there is no evidence for {QUESTION!r}, which three documents answer",
        )

    def budgets(self, index: Snapshot) -> None:
        """Check that no context is longer than its budget."""
        for budget in self._budgets:
            what = f"budget of {budget} tokens"
            found = self.retrieve(QUESTION, index, what, with_budget(self._method, budget))
            for fault in faults_of_retrieval(found, index, max_tokens=budget):
                self._expect(False, f"{what}: {fault}")

    def filters(self, index: Snapshot) -> None:
        """Check that nothing of an excluded document is returned."""
        scoped = index.where({"part": "open"})
        near = {"a question near the secret": "What did Mara Quill hide, and what did Tobias Wren pay for?"}
        for what, question in {**near, **{what: _QUESTIONS[what] for what in _FILTERED_QUESTIONS}}.items():
            found = self.retrieve(question, scoped, f"{what}, filtered")
            text = _comparable(found).casefold()
            at = text.find(HIDDEN)
            self._expect(
                at < 0,
                f"{what}: the retrieval holds text of an excluded document: …{text[max(0, at - 80) : at + 40]}…. Read "
                "with the methods of the snapshot, which apply the filter; `snapshot.store` holds every document",
            )
            for item in found.evidence:
                for span in item.spans:
                    self._expect(
                        span.document in OPEN_DOCUMENTS,
                        f"{what}: evidence comes from the excluded document {span.document!r}",
                    )
            given = self._answer(found, scoped)
            self._expect(
                HIDDEN not in given.text.casefold(),
                f"{what}: the answer holds text of an excluded document",
            )
        nobody = index.where({"part": "nowhere"})
        found = self.retrieve(QUESTION, nobody, "a filter that excludes every document")
        self._expect(
            not found.evidence and not found.ranking, "a filter that excludes every document leaves evidence"
        )
        given = self._answer(found, nobody)
        self._expect(given.refused, "a filter that excludes every document leaves an answer")

    def layers(self, index: Snapshot) -> None:
        """Check that a missing layer is an error with a command, and that all used layers are declared."""
        for layer in sorted(self._method.needs):
            with open_snapshot(index.folder) as bare:
                bare.versions = {name: v for name, v in bare.versions.items() if name != layer}
                try:
                    self._method(QUESTION, bare, self._models)
                except MissingLayer as error:
                    self._expect(layer in error.missing, f"without {layer}: MissingLayer does not name it")
                    has_command = "polygraph index" in str(error) and "--for" in str(error)
                    self._expect(has_command, f"without {layer}: the message names no command: {error}")
                else:
                    self._expect(
                        False, f"without the layer {layer!r}, which it needs, no MissingLayer is raised"
                    )
        with open_snapshot(index.folder) as enough:
            wanted = with_dependencies(self._method.needs)
            enough.versions = {name: v for name, v in enough.versions.items() if name in wanted}
            try:
                self._method(QUESTION, enough, self._models)
            except (KeyError, MissingLayer) as error:
                self._expect(False, f"it reads a layer that `needs` does not name: {error}")

    def calls(self, index: Snapshot) -> None:
        """Check that the ledger holds the declared number of calls after an answered question."""
        models = self._fresh_models()
        found = self._method(QUESTION, index, models)
        answer(QUESTION, found, index, models)
        try:
            expected = self._n_calls(found) if self._n_calls else expected_calls(self._method, found)
        except ValueError as error:
            raise AssertionError(f"{self._name}: {error}") from error
        if self._chat is None:
            expected = 0
        names = {self._chat.name} if self._chat else set()
        made = sum(row.attempts + row.cached for row in models.calls.ledger() if row.model in names)
        self._expect(
            made == expected, f"one question made {made} calls; {self._method.calls!r} means {expected}"
        )

    def retrieve(self, question: str, index: Snapshot, what: str, method: Method | None = None) -> Retrieval:
        """Retrieve, and check the form of the result."""
        found = (method or self._method)(question, index, self._models)
        if problem := why_no_retrieval(found):
            self._expect(False, f"{what}: the method {problem}")
        self._expect(found.question == question, f"{what}: the retrieval carries another question")
        for fault in faults_of_retrieval(found, index):
            self._expect(False, f"{what}: {fault}")
        return found

    def _answer(self, found: Retrieval, index: Snapshot) -> Answer:
        return answer(found.question, found, index, self._models)

    def _fresh_models(self) -> Models:
        """Return the models with an empty ledger and cache."""
        return replace(self._given, chat=self._chat, calls=Calls(None))

    def _expect(self, condition: object, message: str) -> None:
        if not condition:
            raise AssertionError(f"{self._name}: {message}")


def _check_form(method: Method) -> None:
    name = type(method).__name__
    if problem := why_no_method(method):
        raise AssertionError(f"{name} is not a method: {problem}")
    unknown = sorted(method.needs - set(DEPENDENCIES))
    if unknown:
        raise AssertionError(
            f"{name} needs {unknown}, which are not layers. Layers are: {', '.join(DEPENDENCIES)}"
        )
    if not method.calls.strip():
        raise AssertionError(f"{name}.calls is empty")


def _comparable(found: Retrieval) -> str:
    # Usage differs between a first and a second run, because replies are cached.
    return repr(replace(found, usage=Usage()))
