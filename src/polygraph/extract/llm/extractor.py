"""Extraction of entities and relations with a language model.

One call extracts a window; gleaning asks for missed records. A window is done when all its calls are done, and its
rows are passed on at once. Every finished call is in `calls.sqlite`, so an interrupted run pays for nothing twice.

Gleaning follows the two loops of ROGRAG's Algorithm 3. ``base`` (as in Microsoft GraphRAG): ask for more,
and between two such calls ask whether anything is left, so that one gleaning costs one call. ``trial``
(as in FG-RAG): first ask whether anything is left. Unlike in the papers, both end when a call adds nothing new,
because repeating the same question cannot help.
"""

import queue
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.extract.llm.chunk_support import ChunkSupport
from polygraph.extract.llm.parsed_records import Dropped, ParsedEntity, ParsedExtraction
from polygraph.extract.llm.parser import parse_extraction
from polygraph.extract.locate import Locator
from polygraph.models import ChatModel, ChatRequest, Models
from polygraph.models.reply_work import ReplyWork, reply_work
from polygraph.prompts import prompt
from polygraph.records import EntityRow, Extraction, RelationRow, Span, Window, digest
from polygraph.revisions import EXTRACTION_PROMPT, EXTRACTION_ROWS
from polygraph.tasks.indexing import extract as task
from polygraph.tasks.parsing.short_replies import printable
from polygraph.text.passage import as_read, fields_above
from polygraph.text.words import content_stem_set

Gleaning: TypeAlias = Literal["none", "base", "trial"]
_Rows: TypeAlias = tuple[tuple[EntityRow, ...], tuple[RelationRow, ...]]

MAX_RECORDS = 60
"""Entities and relations requested per reply."""
KEPT_RECORDS = 2
"""Times as many records as requested that are kept. A good model may write a few more for a dense text, and to cut them
off would lose the end of it; one that repeats itself is bounded."""
MAX_RAW = 50_000
"""Characters of a model's reply that are kept with a window that was repaired or failed."""


def identity(
    model: str,
    *,
    entity_types: Sequence[str] = (),
    gleaning: Gleaning = "none",
    max_gleanings: int = 1,
    max_records: int = MAX_RECORDS,
) -> str:
    """Return the identity of an extractor: the model, prompts, revisions and settings that determine its rows.

    >>> identity("gpt-4o", gleaning="none", max_gleanings=1) == identity("gpt-4o", max_gleanings=3)
    True
    """
    names = ["extract"]
    if gleaning == "none":
        max_gleanings = 0
    else:
        names += ["glean", "more_left"] if gleaning == "trial" or max_gleanings > 1 else ["glean"]
    settings = [
        gleaning,
        str(max_gleanings),
        str(max_records),
        *entity_types,
        EXTRACTION_PROMPT,
        EXTRACTION_ROWS,
    ]
    return f"llm:{model}:{digest(*(prompt(name).hash for name in names), *settings)[:12]}"


def extract(
    windows: Sequence[Window],
    models: Models,
    *,
    entity_types: Sequence[str] = (),
    gleaning: Gleaning = "none",
    max_gleanings: int = 1,
    max_records: int = MAX_RECORDS,
    on_extractions: Callable[[Sequence[Extraction]], None] | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Extraction]:
    """Extract windows with the chat model, several at a time.

    A window whose reply cannot be used has status ``failed`` with the problem and the raw text; the others continue.
    If all windows fail, the caller raises `NothingExtracted`.

    Args:
        windows: in any order; each must fit the model together with about 550 tokens of instructions and
            ``64 * max_records`` tokens of reply.
        models: with a chat model.
        entity_types: the only types to extract; empty for any.
        gleaning: whether to ask for missed records, see the module.
        max_gleanings: maximum rounds of gleaning, at least 1; no effect for ``none``.
        max_records: number of entities and relations that is requested of one reply; up to `KEPT_RECORDS` times as many
            are kept.
        on_extractions: receives the rows of windows as soon as they are finished, in the caller's thread, in the order
            of completion, those of several windows together where they finished meanwhile; also those that were
            finished before an error is raised.
        on_done: called with the number of finished windows, after `on_extractions`.

    Returns:
        One extraction per window, in their order.

    Raises:
        BudgetReached, ModelUnavailable, ModelRefused: as raised by `models.calls`, after the windows in progress
            were passed on.
        ValueError: if there is no chat model, or a limit is below 1.
    """
    if models.chat is None:
        raise ValueError("extraction with a model needs a chat model; without one use extract.nlp")
    if max_gleanings < 1 or max_records < 1:
        raise ValueError(
            f"max_gleanings ({max_gleanings}) and max_records ({max_records}) must be at least 1"
        )
    extractor = _Extractor(models, models.chat, tuple(entity_types), gleaning, max_gleanings, max_records)
    finished: queue.SimpleQueue[tuple[int, _Read]] = queue.SimpleQueue()
    extractions: dict[int, Extraction] = {}

    def read_one(item: tuple[int, Window]) -> None:
        number, window = item
        finished.put((number, extractor.read(window)))

    def pass_on() -> None:
        # Rows are located here, so that threads make the next call at once.
        some: list[Extraction] = []
        while not finished.empty():
            number, read = finished.get()
            extractions[number] = extraction = read.extraction(windows[number])
            some.append(extraction)
        if some and on_extractions is not None:
            on_extractions(some)

    def done(n: int) -> None:
        pass_on()
        if on_done is not None:
            on_done(n)

    try:
        models.calls.map(read_one, enumerate(windows), on_done=done)
    finally:
        # Windows that were finished before an error are paid for, so they are always passed on.
        pass_on()
    return [extractions[number] for number in range(len(windows))]


_TRUNCATED = "the reply was cut off at the limit of its length, so records may be missing"


@cache
def example_names() -> tuple[str, ...]:
    """Return the names in the example of the prompt, which weak models copy into their replies."""
    records = prompt("extract").system.partition("</document>")[2]
    return tuple(entity.name for entity in parse_extraction(records).entities)


@dataclass(frozen=True, slots=True)
class _Read:
    """What the replies about one window say."""

    found: ParsedExtraction | None
    """None if they could not be used."""
    problem: str
    raw: str
    """Replies as they were, if there was a problem."""
    rows: _Rows | None = None
    """Rows of `found`, if they are known already."""

    def extraction(self, window: Window) -> Extraction:
        """Return the rows of the window."""
        if self.found is None:
            return Extraction(window=window.id, status="failed", problem=self.problem, raw=self.raw)
        entities, relations = self.rows if self.rows is not None else to_rows(self.found, window)
        return Extraction(
            window=window.id,
            entities=entities,
            relations=relations,
            status="repaired" if self.problem else "ok",
            problem=self.problem,
            raw=self.raw,
        )


@dataclass(frozen=True, slots=True)
class _Extractor:
    models: Models
    model: ChatModel
    entity_types: tuple[str, ...]
    gleaning: Gleaning
    max_gleanings: int
    max_records: int

    def read(self, window: Window) -> _Read:
        """Have one window read, with its gleanings."""
        request = task.extract_request(
            window.text,
            title=window.title,
            fields=fields_above(window),
            entity_types=self.entity_types,
            max_records=self.max_records,
        )
        parser = self._parser(window, may_be_empty=False)
        ahead = ReplyWork(_parse_and_locate, (window, self.entity_types, self.max_records), parser.set_ahead)
        try:
            with reply_work(ahead):
                found = task.extract(self.models.calls, self.model, request, parser, parser.set_finish)
        except UnusableReply as error:
            return _Read(None, error.problem, _for_storage(error.raw))
        problems = [f"{_PUT_RIGHT}{fault}" for fault in parser.faults]
        if parser.finish == "length":
            problems.append(_TRUNCATED)
        raws = [parser.raw]
        if self.gleaning != "none":
            found = self._glean(window, request, found, problems, raws)
        problems += _dropped_parts(found)
        raw = _for_storage("\n\n".join(raws)) if problems else ""
        return _Read(found, "; ".join(problems), raw, parser.rows_of(found))

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
                ask_first = self.gleaning == "trial" or n > 0
                if ask_first and not task.more_left(
                    calls, self.model, task.more_left_request(request, raws[-1])
                ):
                    break
                request = task.glean_request(request, raws[-1])
                parser = self._parser(window, may_be_empty=True)
                more = task.glean(calls, self.model, request, parser, parser.set_finish)
            except UnusableReply as error:
                # The records of earlier replies are kept.
                problems.append(f"gleaning {n + 1} was not usable: {error.problem}")
                break
            raws.append(parser.raw)
            if parser.finish == "length":
                problems.append(f"gleaning {n + 1}: {_TRUNCATED}")
            before = len(found.entities), len(found.relations)
            found = found + more
            if (len(found.entities), len(found.relations)) == before:
                break
        return found

    def _parser(self, window: Window, *, may_be_empty: bool) -> "_ReplyParser":
        return _ReplyParser(as_read(window), self.entity_types, self.max_records, may_be_empty)


@dataclass(slots=True)
class _ReplyParser:
    """Parses the replies to one call; keeps the text of the last reply and the faults of those before it."""

    window: str
    types: tuple[str, ...]
    max_records: int
    may_be_empty: bool
    raw: str = ""
    finish: str = ""
    """Finish reason of the last reply."""
    faults: list[str] = field(default_factory=list)
    ahead: tuple[str, ParsedExtraction, _Rows] | None = None
    """A reply that a worker parsed, what it holds, and the rows."""

    def set_ahead(self, text: str, found: tuple[ParsedExtraction, _Rows]) -> None:
        """Set what a worker found in a reply."""
        self.ahead = (text, *found)

    def rows_of(self, found: ParsedExtraction) -> _Rows | None:
        """Return the rows of what a worker parsed, and nothing for anything else."""
        return self.ahead[2] if self.ahead is not None and self.ahead[1] is found else None

    def set_finish(self, finish: str) -> None:
        """Set the finish reason of a reply."""
        self.finish = finish

    def __call__(self, text: str) -> ParsedExtraction:
        self.raw = text
        if self.ahead is not None and self.ahead[0] == text:
            return self.ahead[1]
        try:
            return parse_extraction(
                text,
                window=self.window,
                example=example_names(),
                types=self.types,
                max_records=KEPT_RECORDS * self.max_records,
                may_be_empty=self.may_be_empty,
            )
        except UnusableReply as error:
            self.faults.append(error.problem.partition(" (")[0])
            raise


def _parse_and_locate(text: str, item: tuple[Window, tuple[str, ...], int]) -> tuple[ParsedExtraction, _Rows]:
    """Parse the first reply about a window and locate its rows, in a worker."""
    window, types, max_records = item
    found = _ReplyParser(as_read(window), types, max_records, may_be_empty=False)(text)
    return found, to_rows(found, window)


def to_rows(found: ParsedExtraction, window: Window) -> _Rows:
    """Convert parsed records to rows, located in the chunks of their window.

    A window has several chunks, and a record does not say which of them it rests on. An entity is mentioned where its
    name occurs, and each statement of its description rests on the chunk that supports it (see `ChunkSupport`), which
    often says "he" or "the boat" only: the entity has one row for each chunk that supports a statement, and one for the
    other chunks that mention it. A relation rests on the chunks that support its statements; if none of its words
    occur, on the first chunk that mentions both entities, or the first.

    Raise `revisions.EXTRACTION_ROWS` whenever the same records give other rows.
    """
    locator = Locator(window)
    support = ChunkSupport(window)
    spans_of: dict[str, tuple[Span, ...]] = {}
    entities: list[EntityRow] = []
    for entity in found.entities:
        spans = spans_of[entity.name] = locator.locate(entity.name)
        entities += _rows_of_entity(entity, spans, support)
    relations = []
    for relation in found.relations:
        of_target = {span.chunk for span in spans_of[relation.target]}
        shared = [span.chunk for span in spans_of[relation.source] if span.chunk in of_target]
        text = f"{relation.predicate}: {relation.description}"
        ends = content_stem_set(relation.source) | content_stem_set(relation.target)
        parts = support.assign(text, ends, shared)
        relations.append(
            RelationRow(
                source=relation.source,
                target=relation.target,
                predicate=relation.predicate,
                keywords=relation.keywords,
                description=relation.description,
                strength=relation.strength,
                chunks=tuple(parts),
            )
        )
    return tuple(entities), tuple(relations)


def _rows_of_entity(entity: ParsedEntity, spans: Sequence[Span], support: ChunkSupport) -> list[EntityRow]:
    """Make a row for each chunk that supports a part of the description, and one for other mentions."""
    mentions = [span.chunk for span in spans]
    parts = support.assign(entity.description, content_stem_set(entity.name), mentions)
    rows = []
    for chunk, description in parts.items():
        own = tuple(span for span in spans if span.chunk == chunk)
        rows.append(
            EntityRow(
                name=entity.name,
                type=entity.type,
                description=description,
                spans=own or (support.whole(chunk),),
            )
        )
    others = tuple(span for span in spans if span.chunk not in parts)
    if others:
        rows.append(EntityRow(name=entity.name, type=entity.type, description="", spans=others))
    return rows


def lost_relations(
    raw: str, window: Window, *, entity_types: Sequence[str] = (), max_gleanings: int = 0
) -> list[Dropped]:
    """Return the relations of a reply that were not used, in their order.

    Args:
        raw: the reply as it was stored, with those of its gleanings.
        window: that was read.
        entity_types: as for `extract`.
        max_gleanings: rounds of gleaning whose replies `raw` may hold.
    """
    found = parse_extraction(
        raw,
        window=as_read(window),
        example=example_names(),
        types=entity_types,
        max_records=KEPT_RECORDS * MAX_RECORDS * (1 + max_gleanings),
        may_be_empty=True,
    )
    return [dropped for dropped in found.dropped if dropped.kind == "relation"]


_NOT_USED = " not used: "
"""Stands in the problem of every window of whose reply a part was dropped."""


_PUT_RIGHT = "the first reply was not usable: "
"""Begins the problem of a window whose reply was usable in the repair round."""


def is_incomplete(status: str, problem: str) -> bool:
    """Tell whether something of a window is missing; one that was put right in the repair round is complete."""
    return status == "failed" or not (problem.startswith(_PUT_RIGHT) and "; " not in problem)


def may_have_lost_relations(problem: str) -> bool:
    """Tell from the problem of a repaired window whether `lost_relations` may find any."""
    return _NOT_USED in problem


def _dropped_parts(found: ParsedExtraction) -> list[str]:
    """Return a message about the parts of a reply that were not used, or nothing."""
    if not found.n_dropped:
        return []
    reasons = Counter(dropped.reason for dropped in found.dropped)
    most = "; ".join(f"{reason} ({n})" for reason, n in reasons.most_common(3))
    parts = "part was" if found.n_dropped == 1 else "parts were"
    return [f"{found.n_dropped} {parts}{_NOT_USED}{most}"]


def _for_storage(raw: str) -> str:
    return printable(raw[:MAX_RAW])
