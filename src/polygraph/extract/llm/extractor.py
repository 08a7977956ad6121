"""Extraction of entities and relations with a language model.

One call reads a window; gleaning asks for what was missed. A window is done when
all its calls are: its rows are handed over at once, and every finished call is in `calls.sqlite`, so that an
interrupted run pays for nothing twice.

Gleaning follows the two loops of ROGRAG's Algorithm 3. ``base`` (also Microsoft GraphRAG's): ask for more,
and between two such calls ask whether anything is left, so that one gleaning costs one call. ``trial``
(FG-RAG's): ask first whether anything is left. Both end early when a call brings nothing new, which the
papers do not do: another identical question cannot help then.
"""

import queue
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.extract.llm.parser import ParsedExtraction, parse_extraction
from polygraph.extract.locate import Locator
from polygraph.models import ChatModel, ChatRequest, Models
from polygraph.prompts import prompt
from polygraph.records import Chunk, EntityRow, Extraction, RelationRow, Span, Window, digest
from polygraph.tasks import extract as task
from polygraph.tasks.output_parsing import printable
from polygraph.text.words import content_stems

Gleaning: TypeAlias = Literal["none", "base", "trial"]

MAX_RECORDS = 60
"""Entities and relations asked for per reply."""
MAX_RAW = 50_000
"""Characters of a model's text that are kept with a window that is not simply ok."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What became of the windows of a run."""

    ok: int = 0
    repaired: int = 0
    failed: int = 0
    entities: int = 0
    relations: int = 0


def counts(extractions: Iterable[Extraction]) -> Counts:
    """Count windows by status, and rows."""
    some = list(extractions)
    by_status = Counter(extraction.status for extraction in some)
    return Counts(
        ok=by_status["ok"],
        repaired=by_status["repaired"],
        failed=by_status["failed"],
        entities=sum(len(extraction.entities) for extraction in some),
        relations=sum(len(extraction.relations) for extraction in some),
    )


def identity(
    model: str,
    *,
    entity_types: Sequence[str] = (),
    gleaning: Gleaning = "none",
    max_gleanings: int = 1,
    max_records: int = MAX_RECORDS,
) -> str:
    """Name an extractor by all that decides its rows: model, prompts and settings.

    >>> identity("gpt-4o", gleaning="none", max_gleanings=1) == identity("gpt-4o", max_gleanings=3)
    True
    """
    names = ["extract"]
    if gleaning == "none":
        max_gleanings = 0
    else:
        names += ["glean", "more_left"] if gleaning == "trial" or max_gleanings > 1 else ["glean"]
    settings = [gleaning, str(max_gleanings), str(max_records), *entity_types]
    return f"llm:{model}:{digest(*(prompt(name).hash for name in names), *settings)[:12]}"


def extract(
    windows: Sequence[Window],
    models: Models,
    *,
    entity_types: Sequence[str] = (),
    gleaning: Gleaning = "none",
    max_gleanings: int = 1,
    max_records: int = MAX_RECORDS,
    on_extraction: Callable[[Extraction], None] | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Extraction]:
    """Read each window with the chat model, several at a time.

    A window whose reply cannot be used ends as ``failed`` with the problem and the raw text; the others go
    on. If all of them fail, it is for the caller to raise `NothingExtracted`: `counts` tells.

    Args:
        windows: in any order; each must fit the model together with about 550 tokens of instructions and
            ``64 * max_records`` tokens of reply.
        models: with a chat model.
        entity_types: the only types to look for; empty for any.
        gleaning: whether to ask for what was missed, see the module.
        max_gleanings: most rounds of gleaning, at least 1; without effect for ``none``.
        max_records: entities and relations together that one reply may hold.
        on_extraction: takes each window's rows as soon as they are there, in the caller's thread, in the
            order in which windows end; also those that ended before an error is raised.
        on_done: told how many windows are done, after `on_extraction`.

    Returns:
        One extraction per window, in their order.

    Raises:
        BudgetReached, ModelUnavailable, ModelRefused: as the gate raises them, after the windows under way
            were handed over.
        ValueError: if there is no chat model, or a limit is below 1.
    """
    if models.chat is None:
        raise ValueError("extraction with a model needs a chat model; without one use extract.nlp")
    if max_gleanings < 1 or max_records < 1:
        raise ValueError(
            f"max_gleanings ({max_gleanings}) and max_records ({max_records}) must be at least 1"
        )
    work = _Extractor(models, models.chat, tuple(entity_types), gleaning, max_gleanings, max_records)
    ended: queue.SimpleQueue[Extraction] = queue.SimpleQueue()

    def read(window: Window) -> Extraction:
        extraction = work.read(window)
        ended.put(extraction)
        return extraction

    def hand_over() -> None:
        while on_extraction is not None and not ended.empty():
            on_extraction(ended.get())

    def done(n: int) -> None:
        hand_over()
        if on_done is not None:
            on_done(n)

    try:
        found = models.calls.map(read, windows, on_done=done)
    finally:
        # Windows that ended while others failed are paid for: they are kept whatever happens next.
        hand_over()
    return found


_CUT = "the reply was cut off at the limit of its length, so records may be missing"


@cache
def example_names() -> tuple[str, ...]:
    """Names in the example of the prompt, which weak models copy into their replies."""
    records = prompt("extract").system.partition("</document>")[2]
    return tuple(entity.name for entity in parse_extraction(records).entities)


@dataclass(frozen=True, slots=True)
class _Extractor:
    models: Models
    model: ChatModel
    entity_types: tuple[str, ...]
    gleaning: Gleaning
    max_gleanings: int
    max_records: int

    def read(self, window: Window) -> Extraction:
        """Read one window, with its gleanings."""
        request = task.extract_request(
            window.text, title=window.title, entity_types=self.entity_types, max_records=self.max_records
        )
        reader = self._reader(window, may_be_empty=False)
        try:
            found = task.extract(self.models.calls, self.model, request, reader, reader.ended)
        except UnusableReply as error:
            return Extraction(window=window.id, status="failed", problem=error.problem, raw=_kept(error.raw))
        problems = [f"the first reply was not usable: {fault}" for fault in reader.faults]
        if reader.finish == "length":
            problems.append(_CUT)
        raws = [reader.raw]
        if self.gleaning != "none":
            found = self._glean(window, request, found, problems, raws)
        problems += _losses(found)
        entities, relations = rows(found, window)
        return Extraction(
            window=window.id,
            entities=entities,
            relations=relations,
            status="repaired" if problems else "ok",
            problem="; ".join(problems),
            raw=_kept("\n\n".join(raws)) if problems else "",
        )

    def _glean(
        self,
        window: Window,
        request: ChatRequest,
        found: ParsedExtraction,
        problems: list[str],
        raws: list[str],
    ) -> ParsedExtraction:
        calls = self.models.calls
        for n in range(self.max_gleanings):
            try:
                judge = self.gleaning == "trial" or n > 0
                if judge and not task.more_left(calls, self.model, task.more_left_request(request, raws[-1])):
                    break
                request = task.glean_request(request, raws[-1])
                reader = self._reader(window, may_be_empty=True)
                more = task.glean(calls, self.model, request, reader, reader.ended)
            except UnusableReply as error:
                # What was read before stands.
                problems.append(f"gleaning {n + 1} was not usable: {error.problem}")
                break
            raws.append(reader.raw)
            if reader.finish == "length":
                problems.append(f"gleaning {n + 1}: {_CUT}")
            both = found + more
            if len(both.entities) == len(found.entities) and len(both.relations) == len(found.relations):
                found = both
                break
            found = both
        return found

    def _reader(self, window: Window, *, may_be_empty: bool) -> "_Reader":
        text = f"{window.title}\n{window.text}"
        return _Reader(text, self.entity_types, self.max_records, may_be_empty)


@dataclass(slots=True)
class _Reader:
    """Reads the replies to one call, keeping the text of the last and the faults of those before it."""

    window: str
    types: tuple[str, ...]
    max_records: int
    may_be_empty: bool
    raw: str = ""
    finish: str = ""
    """How the last reply ended."""
    faults: list[str] = field(default_factory=list)

    def ended(self, finish: str) -> None:
        """Take note of how a reply ended."""
        self.finish = finish

    def __call__(self, text: str) -> ParsedExtraction:
        self.raw = text
        try:
            return parse_extraction(
                text,
                window=self.window,
                example=example_names(),
                types=self.types,
                max_records=self.max_records,
                may_be_empty=self.may_be_empty,
            )
        except UnusableReply as error:
            self.faults.append(error.problem.partition(":")[0])
            raise


def rows(found: ParsedExtraction, window: Window) -> tuple[tuple[EntityRow, ...], tuple[RelationRow, ...]]:
    """Place what was read in the chunks of its window.

    An entity whose name does not stand in the text (another form, a translation) gets the whole chunk that
    shares most words with its name and description, the first of equals. A relation was read from the chunks
    that hold both its ends; if none does, from the one that shares most words with it.
    """
    locator = Locator(window)
    overlap = _Overlap(window)
    places: dict[str, tuple[Span, ...]] = {}
    entities = []
    for entity in found.entities:
        spans = locator.locate(entity.name)
        if not spans:
            chunk = overlap.best(f"{entity.name} {entity.description}")
            spans = (Span(window.document, chunk.id, chunk.start, chunk.end),)
        places[entity.name] = spans
        entities.append(
            EntityRow(name=entity.name, type=entity.type, description=entity.description, spans=spans)
        )
    relations = []
    for relation in found.relations:
        of_target = {span.chunk for span in places[relation.target]}
        shared = [span.chunk for span in places[relation.source] if span.chunk in of_target]
        if not shared:
            told = f"{relation.source} {relation.target} {relation.predicate} {relation.description}"
            shared = [overlap.best(told).id]
        relations.append(
            RelationRow(
                source=relation.source,
                target=relation.target,
                predicate=relation.predicate,
                keywords=relation.keywords,
                description=relation.description,
                strength=relation.strength,
                chunks=tuple(dict.fromkeys(shared)),
            )
        )
    return tuple(entities), tuple(relations)


class _Overlap:
    """Finds the chunk of a window that shares most words with a text; chunks are split in words once."""

    def __init__(self, window: Window) -> None:
        self._chunks = window.chunks
        self._words: list[set[str]] | None = None

    def best(self, text: str) -> Chunk:
        if len(self._chunks) == 1:
            return self._chunks[0]
        if self._words is None:
            self._words = [set(content_stems(chunk.text)) for chunk in self._chunks]
        wanted = set(content_stems(text))
        shared = [len(wanted & words) for words in self._words]
        return self._chunks[shared.index(max(shared))]


def _losses(found: ParsedExtraction) -> list[str]:
    """Say in one line what of a reply was not used."""
    if not found.n_dropped:
        return []
    reasons = Counter(dropped.reason for dropped in found.dropped)
    most = "; ".join(f"{reason} ({n})" for reason, n in reasons.most_common(3))
    parts = "part was" if found.n_dropped == 1 else "parts were"
    return [f"{found.n_dropped} {parts} not used: {most}"]


def _kept(raw: str) -> str:
    return printable(raw[:MAX_RAW])
