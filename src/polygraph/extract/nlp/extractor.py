"""Extraction without a language model.

English is parsed by spaCy. Named entities, noun phrases, capitalised spans and dates become entities; typed
triples come from the dependency tree; other entities of one sentence are related by weighted co-occurrence. Other
languages, and all texts if spaCy is not installed, give capitalised names, dates, nouns or recurring phrases, and
co-occurrence. Descriptions are sentences of the text.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from polygraph.execution.cores import n_cores
from polygraph.execution.protocol import Executor
from polygraph.extract.locate import ChunkMap
from polygraph.extract.nlp import dependency_trees
from polygraph.extract.nlp.workers import LocalExecutor, Outcome, Task, extract_texts
from polygraph.records import EntityRow, Extraction, RelationRow, Window
from polygraph.text.language import LANGUAGE_NAMES, detect_language, has_capitals
from polygraph.text.prose import join_list

VERSION = 9
"""Incremented whenever the same text would give different rows."""

PARALLEL_CHARS = 350_000
"""Characters of text from which worker processes are faster, including their start (about 60,000 words)."""

_BATCH_CHARS = 24_000
_NAMED = 3
"""Documents that a warning names."""


def extract(
    windows: Sequence[Window],
    *,
    language: str = "en",
    processes: int = 0,
    on_done: Callable[[int], None] | None = None,
    notes: list[str] | None = None,
    extract_batch: Callable[[Sequence[Task]], list[Outcome]] = extract_texts,
    executor: Executor | None = None,
) -> Iterator[Extraction]:
    """Extract windows without a language model.

    Args:
        windows: in the order of their documents.
        language: of documents whose language cannot be detected, because they are short or not prose.
        processes: number of worker processes; 0 is one per processor. Less text than `PARALLEL_CHARS` is extracted in
            this process unless several workers are asked for.
        on_done: called with the number of windows finished since the last call.
        notes: receives warnings about reduced quality when the last window is done.
        extract_batch: the extraction of one batch in one process.
        executor: runs the batches; default: this machine.

    Yields:
        One extraction per window, in their order, independent of processes and executor. A window that failed has
        status ``failed`` and the problem; the others continue.
    """
    languages = window_languages(windows, language)
    executor = executor or LocalExecutor()
    # A worker returns the memory of the parser when it ends; this process could release only two thirds of it.
    in_workers = processes > 1 or sum(len(window.text) for window in windows) >= PARALLEL_CHARS
    batches = _batches(windows)
    tasks = ([(windows[i].text, languages[i], windows[i].title) for i in batch] for batch in batches)
    results = executor.map(extract_batch, tasks, processes=(processes or n_cores()) if in_workers else 0)
    n_failed = 0
    for batch, result in zip(batches, results, strict=True):
        for i, outcome in zip(batch, result, strict=True):
            extraction = _to_extraction(windows[i], outcome)
            n_failed += extraction.status == "failed"
            yield extraction
        if on_done is not None:
            on_done(len(batch))
    if notes is not None:
        notes += warnings(windows, languages)
        if n_failed:
            notes.append(f"{n_failed} of {len(windows)} windows could not be extracted; see their problems")


def window_languages(windows: Sequence[Window], language: str) -> list[str]:
    """Return the language of each window: its own if it can be detected, else its document's, else the default."""
    own = [detect_language(window.text) for window in windows]
    votes: dict[str, Counter[str]] = {}
    for window, code in zip(windows, own, strict=True):
        if code:
            votes.setdefault(window.document, Counter())[code] += len(window.text)
    of_document = {doc: min(count, key=lambda c: (-count[c], c)) for doc, count in votes.items()}
    return [code or of_document.get(w.document, language) for w, code in zip(windows, own, strict=True)]


def warnings(windows: Sequence[Window], languages: Sequence[str]) -> list[str]:
    """Return messages about what is extracted less well than from English prose.

    Args:
        windows: as given to `extract`.
        languages: of each window, from `window_languages`.
    """
    found: list[str] = []
    if not dependency_trees.installed() and windows:
        found.append(
            "the parser of English is not installed: names by capitals and co-occurrence only, no typed relations. "
            'Install it with: pip install "polygraph-rag[local]"'
        )
    foreign: dict[str, str] = {}
    without_capitals: dict[str, bool] = {}
    for window, code in zip(windows, languages, strict=True):
        if code != "en":
            foreign.setdefault(window.document, code)
        elif len(window.text) > 200:
            without_capitals[window.document] = without_capitals.get(
                window.document, True
            ) and not has_capitals(window.text)
    if foreign:
        are = "document is" if len(foreign) == 1 else "documents are"
        named = [f"{doc} ({LANGUAGE_NAMES.get(code, code)})" for doc, code in foreign.items()]
        more = [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
        found.append(
            f"{len(foreign)} {are} not, or only partly, English: {join_list([*named[:_NAMED], *more])}. "
            "There: names, nouns or recurring phrases, and co-occurrence only, no typed relations"
        )
    n_without_capitals = sum(without_capitals.values())
    if n_without_capitals:
        have = "document has" if n_without_capitals == 1 else "documents have"
        found.append(
            f"{n_without_capitals} {have} no capitals that mark names: noun phrases are used instead, without types"
        )
    return found


def _batches(windows: Sequence[Window]) -> list[range]:
    """Return batches of consecutive windows with about `_BATCH_CHARS` characters."""
    found, start, size = [], 0, 0
    for i, window in enumerate(windows):
        size += len(window.text)
        if size >= _BATCH_CHARS:
            found.append(range(start, i + 1))
            start, size = i + 1, 0
    if start < len(windows):
        found.append(range(start, len(windows)))
    return found


def _to_extraction(window: Window, outcome: Outcome) -> Extraction:
    """Convert the outcome of a window to records with offsets in the document."""
    entities, relations, problem = outcome
    chunk_map = ChunkMap(window)
    return Extraction(
        window=window.id,
        entities=tuple(
            EntityRow(
                name=name, type=type_, description=text, spans=chunk_map.spans((a, b) for a, b in spans)
            )
            for name, type_, text, spans in entities
        ),
        relations=tuple(
            RelationRow(
                source=source,
                target=target,
                predicate=predicate,
                description=text,
                strength=strength,
                chunks=tuple(
                    dict.fromkeys(c for position in positions for c in chunk_map.chunks_at(position))
                ),
            )
            for source, target, predicate, text, strength, positions in relations
        ),
        status="failed" if problem else "ok",
        problem=problem,
    )


def identity() -> str:
    """Return the identity of this extractor: its version and the parser's, which together determine the rows."""
    return f"nlp:{VERSION}:{'en_core_web_sm-3.8.0' if dependency_trees.installed() else 'capitals'}"
