"""Small indexes, one for each document of a corpus: made when needed, kept, and made again only if it changed."""

import gzip
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.retrieval import KS
from polygraph.evaluate.questions.document import document_of
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reports.retrieval_report import RetrievalReport
from polygraph.evaluate.runs.by_document import DocumentIndex, answer_by_document, evaluate_by_document
from polygraph.evaluate.runs.retrieval import RetrievalOptions
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.indexing.progress import Progress
from polygraph.records import digest
from polygraph.retrieve import method as find_method
from polygraph.workspace.index import Index

FOLDER = "documents"
"""Within the folder of the index: one folder for each document's own."""


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


class PerDocument:
    """The documents of a ``corpus.jsonl``, each with an index of its own.

    ```python
    with Index.open("novels.index") as index:
        small = PerDocument(index, "corpus.jsonl")
        report = small.evaluate_retrieval(questions, ["bm25", "naive"])
    ```

    Args:
        index: whose folder, settings, models and store of calls serve all of them; it need not hold anything.
        corpus: of JSON lines with `id` and `text`, also packed; read once.

    Raises:
        BadInput: if it cannot be read, or has no such lines.
    """

    def __init__(self, index: Index, corpus: str | Path) -> None:
        self._index = index
        self._corpus = Path(corpus)
        self._places = documents_of(self._corpus)

    def __len__(self) -> int:
        return len(self._places)

    def folder(self, document: str) -> Path:
        """Where the index of a document is, or will be. Ids are of any form, a folder's name is not."""
        return self._index.folder / FOLDER / digest("document", document)[:16]

    @contextmanager
    def opened(
        self, document: str, methods: Collection[str], max_tokens: int | None = None
    ) -> Iterator[DocumentIndex]:
        """Open the index of a document, with the layers that some methods need; made if it is not there.

        Raises:
            BadInput: if the corpus has no such document.
        """
        place = self.folder(document)
        source = self._alone(document, place.with_suffix(".jsonl"))
        # The models are those of all: a small index does not close them.
        small = Index(place, self._index.settings, self._index.models)
        try:
            small.add(source, methods=sorted(methods))
            yield DocumentIndex(
                index=small.snapshot(),
                retrieve=partial(small.retrieve, max_tokens=max_tokens),
                ask=small.ask,
            )
        finally:
            small.release()

    def evaluate_retrieval(
        self,
        questions: Sequence[Question],
        methods: Sequence[str],
        *,
        max_tokens: int | None = None,
        ks: Sequence[int] = KS,
        metric: str = "",
        limit: int | None = None,
        seed: int = 0,
        output: str | Path | None = None,
        progress: Progress = _silent,
    ) -> RetrievalReport:
        """Measure what methods find within the document of each question; arguments as `Index.evaluate_retrieval`."""
        options = RetrievalOptions(
            ks=tuple(sorted(set(ks))),
            metric=metric,
            limit=limit,
            seed=seed,
            output=Path(output) if output is not None else None,
            scope={"per_document": True, "max_tokens": max_tokens},
        )
        self._check(questions)
        with self._index.models.calls.batch_round():
            return evaluate_by_document(
                questions,
                {name: find_method(name) for name in methods},
                lambda document: self.opened(document, methods, max_tokens),
                self._index.models,
                options,
                progress,
            )

    def answer(
        self, study: StudyFolder, questions: Sequence[Question], methods: Sequence[str], progress: Progress = _silent
    ) -> list[StudyAnswer]:
        """Answer the questions of a study, each from its own document; those that are there stay."""
        for name in methods:
            find_method(name)
        self._check(questions)
        models = self._index.models
        return answer_by_document(
            study, questions, methods, lambda document: self.opened(document, methods), models, progress
        )

    def _check(self, questions: Sequence[Question]) -> None:
        """Find out before any work whether the corpus has what the questions are about."""
        for question in questions:
            if not question.null and document_of(question) not in self._places:
                raise BadInput(
                    f"{self._corpus} has no document {document_of(question)!r}, which the question {question.id!r} is "
                    "about. Take corpus and questions from one data set"
                )

    def _alone(self, document: str, place: Path) -> Path:
        """One document as a corpus of its own."""
        line = self._places.get(document)
        if line is None:
            raise BadInput(
                f"{self._corpus} has no document {document!r}. Its lines name them in the field `id`"
            )
        if not place.is_file() or place.read_text(encoding="utf-8") != line:
            place.parent.mkdir(parents=True, exist_ok=True)
            temporary = place.with_suffix(".tmp")
            temporary.write_text(line, encoding="utf-8")
            temporary.replace(place)
        return place


def documents_of(corpus: Path) -> dict[str, str]:
    """The line of each document of a ``corpus.jsonl``, also packed, by its id.

    Raises:
        BadInput: if it cannot be read, or has no such lines.
    """
    found: dict[str, str] = {}
    opener = gzip.open if corpus.suffix == ".gz" else open
    try:
        with opener(corpus, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                row = json.loads(line)
                if not isinstance(row, dict) or not isinstance(row.get("text"), str) or "id" not in row:
                    raise BadInput(f"{corpus}, line {number}, is not a document with `id` and `text`")
                found[str(row["id"])] = line.rstrip("\n") + "\n"
    except (OSError, ValueError, EOFError) as problem:
        raise BadInput(
            f"{corpus} cannot be read as a corpus of JSON lines: {problem}. Name another with --per-document"
        ) from problem
    if not found:
        raise BadInput(f"{corpus} has no documents. Name another with --per-document")
    return found
