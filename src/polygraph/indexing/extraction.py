"""Extracting entities and relations from the windows that have not been read."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from polygraph.errors import NothingExtracted, quoted
from polygraph.extract.llm import extractor as llm
from polygraph.ids import document_of_window
from polygraph.indexing.layer_task import LayerTask
from polygraph.records import Extraction, Window
from polygraph.store.protocol import Store

_WINDOWS_READ = 512
"""Windows that are read from the store at once."""
_WINDOWS_COMMITTED = 32
"""Windows, extracted without a model, between two commits."""
_WINDOWS_HELD = 2_000
"""Windows, extracted without a model, whose text is held in memory; workers start again after each such part."""


def extract_pending(task: LayerTask, on_document: Callable[[str, list[Extraction] | None], object]) -> None:
    """Extract from every window that the extractor in use has still to read, and store the rows as they come.

    Args:
        task: of the layer.
        on_document: called with the id of a document when a model has read all its windows, while others are read,
            and with what was found in them, in their order; None if some had been read before.

    Raises:
        NothingExtracted: if a model was asked and every window failed.
    """
    extractor = task.manifest.reader
    pending = task.store.extractions.pending(extractor) if extractor and task.extract else []
    if not pending:
        return
    extract = _without_model(extractor)
    if extract is not None:
        _extract_without_model(task, extractor, pending, extract)
    elif task.models.chat is not None:
        _extract_with_model(task, extractor, pending, on_document)
    # Else the model is missing, as when a document is removed: windows that failed stay failed.


def _without_model(extractor: str) -> Callable[..., Iterator[Extraction]] | None:
    """Return the extraction that needs no chat model, imported only here because it loads all rules; else None."""
    match extractor.partition(":")[0]:
        case "nlp":
            from polygraph.extract.nlp import extractor as nlp

            return nlp.extract
        case "fast":
            from polygraph.extract.nlp import noun_phrases

            return noun_phrases.extract
    return None


def _extract_without_model(
    task: LayerTask, extractor: str, pending: Sequence[str], extract: Callable[..., Iterator[Extraction]]
) -> None:
    count, done = task.counter(len(pending), "extraction"), 0
    for ids in _whole_documents(pending, _WINDOWS_HELD):
        found = extract(
            list(_read_windows(task.store, ids)),
            language=task.manifest.language,
            processes=task.processes,
            notes=task.notes,
            executor=task.executor,
        )
        while batch := list(islice(found, _WINDOWS_COMMITTED)):
            with task.store.transaction():
                for extraction in batch:
                    task.store.extractions.put(extraction, extractor)
            done += len(batch)
            count(done)


def _extract_with_model(
    task: LayerTask,
    extractor: str,
    pending: Sequence[str],
    on_document: Callable[[str, list[Extraction] | None], object],
) -> None:
    lock = threading.Lock()
    left = Counter(map(document_of_window, pending))
    n_windows = Counter(document for _, document in task.store.extractions.window_documents())
    found: dict[str, dict[str, Extraction]] = {
        document: {} for document, n in left.items() if n == n_windows[document]
    }
    """What was found in the windows of each document of which none had been read, until all are."""
    order = {window: n for n, window in enumerate(pending)}
    settings = task.manifest.extractor_settings

    def store_at_once(extractions: Sequence[Extraction]) -> None:
        # One transaction for all that finished meanwhile, since each writes the same pages again.
        with lock, task.store.transaction():
            for extraction in extractions:
                task.store.extractions.put(extraction, extractor)
        for extraction in extractions:
            document = document_of_window(extraction.window)
            left[document] -= 1
            if document in found:
                found[document][extraction.window] = extraction
            if not left[document]:
                read = found.pop(document, None)
                on_document(
                    document, None if read is None else [read[i] for i in sorted(read, key=order.__getitem__)]
                )

    llm.extract(
        list(_read_windows(task.store, pending)),
        task.models,
        entity_types=tuple(settings["entity_types"]),
        gleaning=settings["gleaning"],
        max_gleanings=int(settings["max_gleanings"]),
        on_extractions=store_at_once,
        on_done=task.counter(len(pending), "extraction"),
    )
    states = task.store.extractions.states()
    if states and set(states) <= {"failed"}:
        raise NothingExtracted(why_nothing(task.store))


def why_nothing(store: Store) -> str:
    """Say why no entity came out of any text, and what to do."""
    failures = store.extractions.failures()
    if failures:
        window, _, problem, _ = failures[0]
        index = quoted(store.place)
        return (
            f"nothing could be extracted: every window failed ({len(failures):,}; first: {window}: {problem}). "
            f"Look at the replies with: polygraph status --failed --index {index}; once the model works, have it "
            f"read again: polygraph retry --index {index}; or extract without one: polygraph index --index {index} "
            "--extractor nlp"
        )
    return (
        "nothing could be extracted: no names or terms were found in any text. Check that the documents hold "
        "prose, or use `--for bm25`, which needs no graph"
    )


def _read_windows(store: Store, ids: Sequence[str]) -> Iterator[Window]:
    for at in range(0, len(ids), _WINDOWS_READ):
        yield from store.extractions.windows(ids[at : at + _WINDOWS_READ])


def _whole_documents(windows: Sequence[str], size: int) -> Iterator[list[str]]:
    """Cut a list of windows, sorted by document, at the first end of a document after `size` windows.

    >>> list(_whole_documents(["a@0", "a@1", "b@0", "c@0"], 1))
    [['a@0', 'a@1'], ['b@0'], ['c@0']]
    """
    part: list[str] = []
    for window in windows:
        if len(part) >= size and document_of_window(window) != document_of_window(part[-1]):
            yield part
            part = []
        part.append(window)
    if part:
        yield part
