"""One small index for each document of a corpus: built when needed, kept, and built again if the document changes."""

import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.retrieval import KS
from polygraph.evaluate.questions.document import document_of
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer, method_of
from polygraph.evaluate.reports.retrieval_report import RetrievalReport
from polygraph.evaluate.runs.answer_steps import AnswerOptions
from polygraph.evaluate.runs.by_document import DocumentIndex, answer_by_document, evaluate_by_document
from polygraph.evaluate.runs.retrieval import RetrievalOptions
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.indexing.progress import Progress, no_progress
from polygraph.records import digest
from polygraph.retrieve import method as find_method
from polygraph.store.atomic_files import write_file
from polygraph.workspace.index import Index

FOLDER = "documents"
"""Folder, within that of the index, of the indexes of single documents."""


class PerDocument:
    """The documents of a ``corpus.jsonl``, each with an index of its own.

    ```python
    with Index.open("novels.index") as index:
        small = PerDocument(index, "corpus.jsonl")
        report = small.evaluate_retrieval(questions, ["bm25", "naive"])
    ```

    Args:
        index: provides folder, settings, models and stored calls for all of them; it may be empty.
        corpus: JSON Lines with `id` and `text`, also gzipped; read once.

    Raises:
        BadInput: if the corpus cannot be read, or a line is not a document.
    """

    def __init__(self, index: Index, corpus: str | Path) -> None:
        self._index = index
        self._corpus = Path(corpus)
        self._lines = documents_of(self._corpus)

    def __len__(self) -> int:
        return len(self._lines)

    def folder(self, document: str) -> Path:
        """Return the folder of a document's index; its name is a hash, because ids may hold any characters."""
        return self._index.folder / FOLDER / digest("document", document)[:16]

    @contextmanager
    def opened(
        self, document: str, methods: Collection[str], max_tokens: int | None = None
    ) -> Iterator[DocumentIndex]:
        """Open the index of a document with the layers that some methods need; it is built if it is not there.

        Raises:
            BadInput: if the corpus has no such document.
        """
        folder = self.folder(document)
        source = self._write_source(document, folder.with_suffix(".jsonl"))
        # All small indexes share the models, so none of them closes them.
        small = Index(folder, self._index.settings, self._index.models)
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
        margin: float = 0.05,
        limit: int | None = None,
        seed: int = 0,
        output: str | Path | None = None,
        progress: Progress = no_progress,
    ) -> RetrievalReport:
        """Measure what methods retrieve within the document of each question.

        The arguments are those of `Index.evaluate_retrieval`.
        """
        options = RetrievalOptions(
            ks=tuple(sorted(set(ks))),
            metric=metric,
            margin=margin,
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
        self,
        study: StudyFolder,
        questions: Sequence[Question],
        methods: Sequence[str],
        progress: Progress = no_progress,
        options: AnswerOptions | None = None,
    ) -> list[StudyAnswer]:
        """Answer the questions of a study, each from its own document; existing answers are kept.

        Args:
            study: with the questions.
            questions: to answer.
            methods: that answer them, or instances of methods.
            progress: called after each document.
            options: of the answers.
        """
        bases = list(dict.fromkeys(map(method_of, methods)))
        for name in bases:
            find_method(name)
        self._check(questions)
        models = self._index.models
        return answer_by_document(
            study,
            questions,
            methods,
            lambda document: self.opened(document, bases),
            models,
            progress,
            options,
        )

    def _check(self, questions: Sequence[Question]) -> None:
        """Check before any work that the corpus has the document of every question."""
        for question in questions:
            if not question.null and document_of(question) not in self._lines:
                raise BadInput(
                    f"{self._corpus} has no document {document_of(question)!r}, which the question {question.id!r} is "
                    "about. Take corpus and questions from one data set"
                )

    def _write_source(self, document: str, path: Path) -> Path:
        """Write one document as a corpus of its own, unless the file has it already."""
        line = self._lines.get(document)
        if line is None:
            raise BadInput(
                f"{self._corpus} has no document {document!r}. Its lines name them in the field `id`"
            )
        if not path.is_file() or path.read_text(encoding="utf-8") != line:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, [line.encode()])
        return path


def documents_of(corpus: Path) -> dict[str, str]:
    """Return the line of each document of a ``corpus.jsonl``, also gzipped, by id.

    Raises:
        BadInput: if the corpus cannot be read, or a line is not a document.
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
    except (OSError, ValueError, EOFError, zlib.error, RecursionError) as problem:
        raise BadInput(
            f"{corpus} cannot be read as a corpus of JSON lines: {problem}. Name another with --per-document"
        ) from problem
    if not found:
        raise BadInput(f"{corpus} has no documents. Name another with --per-document")
    return found
