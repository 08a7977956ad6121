"""What every retrieval method must keep to, checked on small indexes that are built for it."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path

from polygraph.errors import MissingLayer
from polygraph.extract.llm import extractor as llm
from polygraph.indexing.build import build
from polygraph.indexing.documents import update_documents
from polygraph.indexing.progress import BuildReport
from polygraph.ingest import Loaded
from polygraph.models import Calls, ChatModel, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Answer, Document, Retrieval, Usage
from polygraph.retrieve.answer import answer
from polygraph.retrieve.base import Method, with_budget
from polygraph.store.database import SqliteStore
from polygraph.store.layers import DEPENDENCIES, with_dependencies
from polygraph.store.manifest import Manifest
from polygraph.store.snapshot import Snapshot
from polygraph.testing.check_retrieval import expected_calls, faults_of_answer, faults_of_retrieval
from polygraph.testing.scripted_model import scripted_chat

HIDDEN = "zyxomant"
"""A word that stands in the sealed document only: in its id, title, text and entities."""

_OPEN = {
    "letter.txt": (
        "Letter of Mara Quill",
        "Mara Quill wrote to Old Tobin in 1871. She had built the Skerry Light with her own money. Tobias Wren "
        "of the Harbour Board refused to pay for the lamp. Mara Quill never forgave Tobias Wren.",
    ),
    "log.txt": (
        "Log of the Halcyon",
        "The Halcyon left Sallow Bay at dawn. Old Tobin was her master. Near the Skerry Light the fog came "
        "down, and the Halcyon struck the Grey Reef. Old Tobin brought the crew ashore.",
    ),
    "minutes.txt": (
        "Minutes of the Harbour Board",
        "The Harbour Board met in March. Tobias Wren reported that the Skerry Light had been dark. Mara Quill "
        "answered that the oil had not been paid for. The Harbour Board resolved to pay Mara Quill.",
    ),
    "news.txt": (
        "The Sallow Courier",
        "The Halcyon is lost on the Grey Reef. The Harbour Board blames the keeper of the Skerry Light. Old "
        "Tobin says that Tobias Wren saved on oil. An inquiry will be held in Sallow Bay.",
    ),
}
_SEALED = {
    f"{HIDDEN}.txt": (
        f"The {HIDDEN.title()} papers",
        f"Mara Quill hid the {HIDDEN.title()} under the Skerry Light. Old Tobin knew of the {HIDDEN.title()}. "
        f"Tobias Wren paid for the {HIDDEN} in secret. The Harbour Board never heard of the {HIDDEN.title()}.",
    ),
}
_ONE_CHUNK = {"note.txt": ("A note", "Mara Quill keeps the Skerry Light for Old Tobin.")}
_ONE_ENTITY = {
    "page.txt": ("A page", "Quill slept all day. In the evening rain fell on the roof of the house.")
}

QUESTION = "Who refused to pay Mara Quill for the lamp of the Skerry Light?"
_QUESTIONS = {
    "a plain question": QUESTION,
    "a question about the whole": "What are the main themes of these documents?",
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
_TELLING = ("a plain question", "a question in German", "a question of stop words only")
"""Those of the questions that a quick check asks."""
_FILTERED = (*_TELLING, "a question about the whole")
"""Those that are asked again behind a filter."""
_TELLING_BUDGETS = (5, 40, 400)


def check_method(
    method: Method,
    *,
    n_calls: Callable[[Retrieval], int] | None = None,
    models: Models | None = None,
    quick: bool = False,
) -> None:
    """Check that a method keeps to what all methods promise. No network, no downloads, a few seconds.

    Checked on small indexes, with no chat model and with `scripted_chat`: it runs on any question and on the
    smallest indexes; the same input gives the same result, whatever the order in which documents were added;
    every evidence resolves to text of a document; the context is numbered as the evidence and keeps within
    the budget; a filter lets nothing through from documents that it excludes; a missing layer raises
    `MissingLayer`; nothing found is said with its reason; calls are as many as the method says.

    Args:
        method: with its parameters.
        n_calls: how many calls of the chat model belong to a retrieval, its answer included, read off its
            trace; needed if ``method.calls`` is not a number and the method is none of `METHODS`.
        models: whose embedders and reranker are used; default: hashed vectors and no reranker. Their chat model
            and calls are not used.
        quick: every promise is checked, with fewer questions and budgets: for a method that differs in numbers only
            from one that was checked in full.

    Raises:
        AssertionError: naming what was broken, and on what input.
    """
    _check_form(method)
    given = models or _hashed()
    places = _places(given)
    for chat in (None, scripted_chat()):
        run = _Run(method, given, chat, n_calls, quick)
        with _snapshot(places["all"]) as index, _snapshot(places["reversed"]) as other:
            run.check_questions(index, other)
            run.check_budgets(index)
            run.check_filter(index)
            run.check_layers(index)
            run.check_calls(index)
        for name in ("one chunk", "one entity"):
            with _snapshot(places[name]) as index:
                for what in _TELLING[::2]:
                    run.retrieve(_QUESTIONS[what], index, f"{what}, index of {name}")


class _Run:
    """One method with or without a chat model."""

    def __init__(
        self,
        method: Method,
        models: Models,
        chat: ChatModel | None,
        n_calls: Callable[[Retrieval], int] | None,
        quick: bool,
    ) -> None:
        self.method = method
        self.chat = chat
        self.n_calls = n_calls
        self.about = f"{type(method).__name__} {'with a scripted model' if chat else 'without a model'}"
        self.questions = {what: _QUESTIONS[what] for what in (_TELLING if quick else _QUESTIONS)}
        self.budgets = _TELLING_BUDGETS if quick else _BUDGETS
        self._given = models
        # One cache for the run: what a method asks twice in the same words is replied to once.
        self.models = self.fresh()

    def fresh(self) -> Models:
        """The models with a ledger and a cache of their own."""
        return replace(self._given, chat=self.chat, calls=Calls(None))

    def expect(self, condition: object, message: str) -> None:
        """Raise if a promise is broken."""
        if not condition:
            raise AssertionError(f"{self.about}: {message}")

    # --- checks -------------------------------------------------------------------------------------

    def check_questions(self, index: Snapshot, other: Snapshot) -> None:
        """Any question works, twice the same, whatever the order of the documents."""
        for what, question in self.questions.items():
            found = self.retrieve(question, index, what)
            moved = self.retrieve(question, other, f"{what}, documents added in another order")
            if _written(found) != _written(moved):
                again = self.retrieve(question, index, what)
                self.expect(
                    _written(found) == _written(again), f"{what}: the second run gives another result"
                )
                self.expect(False, f"{what}: the result depends on the order in which documents were added")
            self.check_answer(found, index, what)
        self.expect(
            self.retrieve(QUESTION, index, "a plain question").evidence,
            f"nothing is found for {QUESTION!r}, which three documents answer",
        )

    def check_answer(self, found: Retrieval, index: Snapshot, what: str) -> None:
        """Whatever is found can be answered from, and citations resolve."""
        for fault in faults_of_answer(self.answer(found, index), index):
            self.expect(False, f"{what}: {fault}")

    def check_budgets(self, index: Snapshot) -> None:
        """No context is longer than its budget."""
        for budget in self.budgets:
            what = f"budget of {budget} tokens"
            found = self.retrieve(QUESTION, index, what, with_budget(self.method, budget))
            for fault in faults_of_retrieval(found, index, max_tokens=budget):
                self.expect(False, f"{what}: {fault}")

    def check_filter(self, index: Snapshot) -> None:
        """Nothing of an excluded document comes through."""
        scoped = index.where({"part": "open"})
        near = {"a question near the secret": "What did Mara Quill hide, and what did Tobias Wren pay for?"}
        for what, question in {**near, **{what: _QUESTIONS[what] for what in _FILTERED}}.items():
            found = self.retrieve(question, scoped, f"{what}, filtered")
            written = _written(found).casefold()
            at = written.find(HIDDEN)
            self.expect(
                at < 0,
                f"{what}: a filter lets text of an excluded document through: …{written[max(0, at - 80) : at + 40]}…",
            )
            for item in found.evidence:
                for span in item.spans:
                    self.expect(span.document in _OPEN, f"{what}: evidence rests on {span.document!r}")
            given = self.answer(found, scoped)
            self.expect(
                HIDDEN not in given.text.casefold(), f"{what}: the answer tells of an excluded document"
            )
        nobody = index.where({"part": "nowhere"})
        found = self.retrieve(QUESTION, nobody, "a filter that no document passes")
        self.expect(
            not found.evidence and not found.ranking, "a filter that no document passes gives evidence"
        )
        given = self.answer(found, nobody)
        self.expect(given.refused, "a filter that no document passes gives an answer")

    def check_layers(self, index: Snapshot) -> None:
        """A missing layer is an error with the command; what is not declared is not read."""
        for layer in sorted(self.method.needs):
            with _snapshot(index.folder) as bare:
                bare.versions = {name: v for name, v in bare.versions.items() if name != layer}
                try:
                    self.method(QUESTION, bare, self.models)
                except MissingLayer as error:
                    self.expect(layer in error.missing, f"without {layer}: MissingLayer does not name it")
                    said = "polygraph index" in str(error) and "--for" in str(error)
                    self.expect(said, f"without {layer}: the message names no command: {error}")
                else:
                    self.expect(
                        False, f"without the layer {layer!r}, which it needs, no MissingLayer is raised"
                    )
        with _snapshot(index.folder) as enough:
            wanted = with_dependencies(self.method.needs)
            enough.versions = {name: v for name, v in enough.versions.items() if name in wanted}
            try:
                self.method(QUESTION, enough, self.models)
            except (KeyError, MissingLayer) as error:
                self.expect(False, f"it reads a layer that `needs` does not name: {error}")

    def check_calls(self, index: Snapshot) -> None:
        """The ledger shows as many calls for an answered question as the method says."""
        models = self.fresh()
        found = self.method(QUESTION, index, models)
        answer(QUESTION, found, index, models)
        try:
            expected = self.n_calls(found) if self.n_calls else expected_calls(self.method, found)
        except ValueError as error:
            raise AssertionError(f"{self.about}: {error}") from error
        if self.chat is None:
            expected = 0
        names = {self.chat.name} if self.chat else set()
        made = sum(row.attempts + row.cached for row in models.calls.ledger() if row.model in names)
        self.expect(
            made == expected, f"one question made {made} calls; {self.method.calls!r} means {expected}"
        )

    # --- one retrieval ------------------------------------------------------------------------------

    def answer(self, found: Retrieval, index: Snapshot) -> Answer:
        """Answer from a retrieval."""
        return answer(found.question, found, index, self.models)

    def retrieve(self, question: str, index: Snapshot, what: str, method: Method | None = None) -> Retrieval:
        """Retrieve, and check the form of what comes back."""
        found = (method or self.method)(question, index, self.models)
        self.expect(found.question == question, f"{what}: the retrieval carries another question")
        for fault in faults_of_retrieval(found, index):
            self.expect(False, f"{what}: {fault}")
        return found


def _check_form(method: Method) -> None:
    name = type(method).__name__
    if not isinstance(method, Method):
        raise AssertionError(f"{name} lacks a part of `Method`: needs, calls, max_tokens")
    if not is_dataclass(method):
        raise AssertionError(
            f"{name} is not a dataclass: its parameters are fields, so that a budget can be set"
        )
    unknown = sorted(method.needs - set(DEPENDENCIES))
    if unknown:
        raise AssertionError(
            f"{name} needs {unknown}, which are not layers. Layers are: {', '.join(DEPENDENCIES)}"
        )
    if not method.calls.strip():
        raise AssertionError(f"{name}.calls is empty")


def _written(found: Retrieval) -> str:
    # What was paid differs between a first time and a second.
    return repr(replace(found, usage=Usage()))


# --- indexes --------------------------------------------------------------------------------------------


def _hashed() -> Models:
    embedder = HashEmbedder()
    return Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))


@contextmanager
def _snapshot(folder: Path) -> Iterator[Snapshot]:
    opened = Snapshot(folder)
    try:
        yield opened
    finally:
        opened.close()


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """One for the process; deleted at its end."""
    return tempfile.TemporaryDirectory(prefix="polygraph-check-", ignore_cleanup_errors=True)


def _places(given: Models) -> Mapping[str, Path]:
    """Build the indexes, once for each pair of embedders."""
    key = (given.embedder.name, given.name_embedder.name)
    if key not in _BUILT:
        base = Path(_folder().name) / str(len(_BUILT))
        texts: Mapping[str, Mapping[str, tuple[str, str]]] = {
            "all": {**_OPEN, **_SEALED},
            "reversed": dict(reversed({**_OPEN, **_SEALED}.items())),
            "one chunk": _ONE_CHUNK,
            "one entity": _ONE_ENTITY,
        }
        for name, documents in texts.items():
            _build(base / name, documents, given)
        _BUILT[key] = {name: base / name for name in texts}
    return _BUILT[key]


_BUILT: dict[tuple[str, str], Mapping[str, Path]] = {}
"""Folders of the indexes by the names of their embedders."""


def _build(folder: Path, documents: Mapping[str, tuple[str, str]], given: Models) -> None:
    chat = scripted_chat()
    models = replace(given, chat=chat, calls=Calls(None))
    manifest = Manifest(
        chunk_tokens=32,
        window_tokens=64,
        language="en",
        embedder=models.embedder.name,
        dimension=models.embedder.dimension,
        name_embedder=models.name_embedder.name,
        name_dimension=models.name_embedder.dimension,
        extractor=llm.identity(chat.name),
        extractor_settings={"entity_types": [], "gleaning": "none", "max_gleanings": 1},
        reports="extractive",
        community_size=3,
    )
    store = SqliteStore(folder, mode="write")
    try:
        for name, (title, text) in documents.items():
            part = "sealed" if name in _SEALED else "open"
            document = Document(id=name, title=title, text=text, metadata={"part": part})
            loaded = Loaded(documents=(document,), unread=())
            update_documents(store, loaded, [name], manifest, models.embedder, _silent)
        build(store, manifest, models, list(DEPENDENCIES), BuildReport(), _silent)
    finally:
        store.close()


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""
