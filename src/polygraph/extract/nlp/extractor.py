"""Extraction without a language model.

English is parsed by spaCy: named entities, noun phrases, capitalised spans and dates become entities; typed
triples come from the dependency tree; what else shares a sentence is joined by weighted co-occurrence. Other
languages, and everything where spaCy is not installed, give capitalised names, dates, recurring phrases and
co-occurrence. Descriptions are the sentences themselves.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from polygraph.extract.locate import ChunkMap
from polygraph.extract.nlp import dependency_trees
from polygraph.extract.nlp.workers import Outcome, Task, n_cores, read, read_parallel
from polygraph.records import EntityRow, Extraction, RelationRow, Window
from polygraph.text.language import detect_language, has_capitals

VERSION = 1
"""Raised whenever the same text would give other rows."""

PARALLEL_CHARS = 350_000
"""Text from which worker processes pay for their start (about 60,000 words)."""

_BATCH_CHARS = 24_000


def extract(
    windows: Sequence[Window],
    *,
    language: str = "en",
    processes: int = 0,
    on_done: Callable[[int], None] | None = None,
    notes: list[str] | None = None,
    reader: Callable[[Sequence[Task]], list[Outcome]] = read,
) -> Iterator[Extraction]:
    """Read windows without a language model.

    Args:
        windows: in the order of their documents.
        language: taken for documents that are too short, or too unlike prose, to tell.
        processes: worker processes; 1 reads in this process, 0 decides by the amount of text and the
            number of processors.
        on_done: called with the number of windows that were finished since the last call.
        notes: receives plain warnings when the last window is done: what is weaker, and why.
        reader: what turns texts into rows, in each process.

    Yields:
        One extraction per window, in their order, the same whatever the number of processes. A window that
        could not be read has status ``failed`` and the problem; it stops nothing.
    """
    languages = window_languages(windows, language)
    if processes == 0:
        processes = n_cores() if sum(len(w.text) for w in windows) >= PARALLEL_CHARS else 1
    batches = _batches(windows)
    tasks = ([(windows[i].text, languages[i], windows[i].title) for i in batch] for batch in batches)
    answers: Iterable[list[Outcome]]
    answers = read_parallel(tasks, processes, reader) if processes > 1 else map(reader, tasks)
    n_failed = 0
    for batch, answer in zip(batches, answers, strict=True):
        for i, outcome in zip(batch, answer, strict=True):
            extraction = _records(windows[i], outcome)
            n_failed += extraction.status == "failed"
            yield extraction
        if on_done is not None:
            on_done(len(batch))
    if notes is not None:
        notes += warnings(windows, languages)
        if n_failed:
            notes.append(f"{n_failed} of {len(windows)} windows could not be read; see their problems")


def window_languages(windows: Sequence[Window], language: str = "en") -> list[str]:
    """Language of each window: its own where it can be told, else its document's, else the one given."""
    own = [detect_language(window.text) for window in windows]
    votes: dict[str, Counter[str]] = {}
    for window, code in zip(windows, own, strict=True):
        if code:
            votes.setdefault(window.document, Counter())[code] += len(window.text)
    of_document = {doc: min(count, key=lambda c: (-count[c], c)) for doc, count in votes.items()}
    return [code or of_document.get(w.document, language) for w, code in zip(windows, own, strict=True)]


def warnings(windows: Sequence[Window], languages: Sequence[str]) -> list[str]:
    """Say in plain words what is weaker than it would be in English prose.

    Args:
        windows: as given to `extract`.
        languages: of each, from `window_languages`.
    """
    found: list[str] = []
    if not dependency_trees.installed() and windows:
        found.append(
            "the parser of English is not installed: names by capitals and co-occurrence only, no typed relations. "
            'Install it with: pip install "polygraph-rag[local]"'
        )
    foreign: dict[str, str] = {}
    bare: dict[str, bool] = {}
    for window, code in zip(windows, languages, strict=True):
        if code != "en":
            foreign.setdefault(window.document, code)
        elif len(window.text) > 200:
            bare[window.document] = bare.get(window.document, True) and not has_capitals(window.text)
    if foreign:
        codes = ", ".join(sorted(set(foreign.values())))
        are = "document is" if len(foreign) == 1 else "documents are"
        found.append(
            f"{len(foreign)} {are} not, or not wholly, English ({codes}): "
            "names, recurring phrases and co-occurrence only, no typed relations"
        )
    n_bare = sum(bare.values())
    if n_bare:
        have = "document has" if n_bare == 1 else "documents have"
        found.append(
            f"{n_bare} {have} no capitals that tell names: noun phrases stand in for them, types are missing"
        )
    return found


def _batches(windows: Sequence[Window]) -> list[range]:
    """Runs of windows of about `_BATCH_CHARS`."""
    found, start, size = [], 0, 0
    for i, window in enumerate(windows):
        size += len(window.text)
        if size >= _BATCH_CHARS:
            found.append(range(start, i + 1))
            start, size = i + 1, 0
    if start < len(windows):
        found.append(range(start, len(windows)))
    return found


def _records(window: Window, outcome: Outcome) -> Extraction:
    """Turn what a process wrote into records with offsets in the document."""
    entities, relations, problem = outcome
    chunk_map = ChunkMap(window)
    return Extraction(
        window=window.id,
        entities=tuple(
            EntityRow(
                name=name, type=kind, description=text, spans=chunk_map.spans((a, b) for a, b in places)
            )
            for name, kind, text, places in entities
        ),
        relations=tuple(
            RelationRow(
                source=source,
                target=target,
                predicate=predicate,
                description=text,
                strength=strength,
                chunks=tuple(dict.fromkeys(c for place in places for c in chunk_map.chunks_at(place))),
            )
            for source, target, predicate, text, strength, places in relations
        ),
        status="failed" if problem else "ok",
        problem=problem,
    )


def identity() -> str:
    """Name this extractor by all that decides its rows: its own version and the parser's."""
    return f"nlp:{VERSION}:{'en_core_web_sm-3.8.0' if dependency_trees.installed() else 'capitals'}"
