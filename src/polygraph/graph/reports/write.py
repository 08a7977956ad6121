"""Reports on communities, from the finest level to the coarsest."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from math import log1p
from pathlib import Path
from typing import TypeAlias

from polygraph.errors import RequestsWaiting, UnusableReply
from polygraph.graph.reports.context import ContextBuilder, ReportContext
from polygraph.graph.reports.extractive import ExtractiveReport, ExtractiveWriter
from polygraph.graph.reports.members import GraphRows, Members, Outline
from polygraph.graph.reports.sentence_table import Qualities, SentenceTable
from polygraph.graph.reports.titles import title_of
from polygraph.ids import chunk_key
from polygraph.models import Background, ChatModel, Models
from polygraph.prompts import prompt
from polygraph.records import Community, CountedCommunity, Finding, Report, digest
from polygraph.tasks.indexing import report as task

MAX_INPUT_TOKENS = 8_000
"""Length of a request, instructions included (GraphRAG: 8,000)."""
MAX_WORDS = 500
"""Length that a model is asked to keep to (GraphRAG: 2,000)."""
MIN_SIZE = 3
"""Entities of a community that the model is asked about: one relation needs no report that costs a call."""
_MAX_ASKED = 256
"""Communities that the model is asked about at once, whose contexts are in memory."""
_MIN_CONTEXT = 200
"""Tokens of context without which a report cannot be asked for."""

_Reply: TypeAlias = task.ParsedReport | UnusableReply | RequestsWaiting
ChunkTexts = Callable[[Sequence[str]], Mapping[str, str]]


def write_reports(
    communities: Sequence[Community],
    graph: GraphRows,
    chunk_text: ChunkTexts,
    models: Models | None,
    *,
    max_input_tokens: int = MAX_INPUT_TOKENS,
    max_words: int = MAX_WORDS,
    language: str = "en",
    date_of: Callable[[str], str] = lambda _: "",
    qualities: Qualities | None = None,
    folder: Path | None = None,
    known: Callable[[str], Report | None] | None = None,
    keep: Callable[[str, Report], None] | None = None,
    on_done: Callable[[int], None] | None = None,
    on_problem: Callable[[str, str], None] | None = None,
) -> list[Report]:
    """Write one report for each community.

    After Microsoft GraphRAG (Edge et al., 2024, https://arxiv.org/abs/2404.16130), with the whole context of edges
    instead of at most one for each entity, and with every statement tied to its chunks. With a chat model one call is
    made for each other community, from the finest level on. Calls wait for others only where a community is too large
    for the model's input, so that the reports on its parts stand for them. A reply that is unusable, also after the
    repair round, is replaced by an extractive report, which `Report.written_by` shows. Reports on communities of fewer
    than `MIN_SIZE` entities are extractive, and so are all reports without a model.

    Args:
        communities: of all levels.
        graph: that they divide; its records are read a few at a time.
        chunk_text: texts of chunks by id; requested only for communities without any description.
        models: with a chat model, or None.
        max_input_tokens: length of a request, instructions included (GraphRAG: 8,000).
        max_words: length that the model is asked to keep to (GraphRAG: 2,000).
        language: of the documents, ISO 639-1.
        date_of: date of the document of a chunk; empty if it has none.
        qualities: see `SentenceTable`.
        folder: for temporary files; see `SentenceTable`.
        known: finds a report that was written for an input, by the hash of the input. A report by another model than
            the one in use is not taken; without a model in use any is.
        keep: stores a report that a model wrote, under the hash of its input. `known` and `keep` are called from the
            caller's thread.
        on_done: called with the number of communities that are done.
        on_problem: called with the id of a community and why the model's reply about it is unusable.

    Returns:
        Reports in the order of `communities`.

    Raises:
        ValueError: if `max_input_tokens` leaves no tokens for the context.
        BudgetReached, ModelUnavailable, ModelRefused: as the model's calls do; what `keep` was given is kept.
        RequestsWaiting: with a batch, after all reports were asked for that do not depend on one that is waiting.
    """
    if not communities:
        return []
    members = Members(communities, graph)
    writer = partial(_extractive_writer, members, graph, chunk_text, language, qualities, folder)
    records = _Records([members.outlines[c.id] for c in communities], members, writer)
    contexts = ContextBuilder(members, chunk_text, _max_context(max_input_tokens, max_words), date_of)
    with (
        nullcontext()
        if models is None
        else models.calls.background(partial(_ask, models, max_words)) as calls
    ):
        chat = models.chat if models is not None else None
        reports = _Reports(records, contexts, max_words, chat, calls, known, keep, on_done)
        finest_first = sorted(communities, key=lambda each: -each.level)
        for _, of_level in groupby(finest_first, lambda each: each.level):
            small: list[Community] = []
            for community in of_level:
                if len(community.entities) < MIN_SIZE:
                    small.append(community)
                else:
                    reports.begin(community)
            # The model replies meanwhile.
            if small:
                for community, report in zip(small, records.extractive(small), strict=True):
                    reports.put(community, report)
        reports.receive_finished(1)
    if reports.waiting is not None:
        raise reports.waiting
    for community in communities:
        if on_problem is not None and community.id in reports.problems:
            on_problem(community.id, reports.problems[community.id])
    return [reports.written[community.id] for community in communities]


def extractive_reports(
    communities: Iterable[Community | CountedCommunity],
    graph: GraphRows,
    chunk_text: ChunkTexts,
    *,
    language: str = "en",
    qualities: Qualities | None = None,
    folder: Path | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Iterator[Report]:
    """Write one report for each community without a model, one after the other.

    The arguments are those of `write_reports`, which returns the same reports; `communities` is read once.

    Yields:
        A report on each community, followed by those on its parts.
    """
    members = Members(communities, graph)
    outlines = list(members.outlines.values())
    if not outlines:
        return
    writer = partial(_extractive_writer, members, graph, chunk_text, language, qualities, folder)
    records = _Records(outlines, members, writer)
    for n, report in enumerate(records.extractive(_with_parts(outlines)), 1):
        yield report
        if on_done is not None:
            on_done(n)


def _extractive_writer(
    members: Members,
    graph: GraphRows,
    chunk_text: ChunkTexts,
    language: str,
    qualities: Qualities | None,
    folder: Path | None,
) -> ExtractiveWriter:
    table = SentenceTable(
        graph, members.sources, members.targets, language=language, qualities=qualities, folder=folder
    )
    return ExtractiveWriter(members, table, chunk_text, language)


class _Records:
    """Reports as records, with ratings and weights."""

    def __init__(
        self,
        communities: Sequence[Outline],
        members: Members,
        extractive_writer: Callable[[], ExtractiveWriter],
    ) -> None:
        self._members, self._extractive_writer = members, extractive_writer
        self._largest = max(members.volume(community) for community in communities)
        self._most_chunks = max(1, *(community.n_chunks for community in communities))

    def extractive(self, communities: Sequence[Community | Outline]) -> Iterator[Report]:
        for community, extract in zip(communities, self._writer.write(communities), strict=True):
            yield self._of_extract(extract, community)

    @cached_property
    def _writer(self) -> ExtractiveWriter:
        return self._extractive_writer()  # descriptions are read when the first report is extractive

    def _of_extract(self, extract: ExtractiveReport, community: Community | Outline) -> Report:
        return Report(
            community=community.id,
            level=community.level,
            title=extract.title,
            summary=extract.summary,
            findings=extract.findings,
            # A licence may be long and well connected; it is still no topic.
            rating=self._rating(community, 1.0 - 0.8 * extract.legal),
            chunks=extract.chunks,
            weight=self._weight(community),
        )

    def of_reply(
        self, reply: task.ParsedReport, community: Community, context: ReportContext, chat: ChatModel
    ) -> Report:
        everything = _in_order(chunk for source in context.sources for chunk in source) or community.chunks

        def sources_of(*statements: task.SourcedText) -> tuple[str, ...]:
            numbers = {n for statement in statements for n in statement.sources}
            valid = [n for n in numbers if 1 <= n <= len(context.sources)]
            return _in_order(chunk for n in valid for chunk in context.sources[n - 1]) or everything

        members = self._members
        return Report(
            community=community.id,
            level=community.level,
            title=reply.title or title_of(members.entities(community), members.relations(community)),
            summary=reply.summary.text,
            findings=tuple(
                Finding(
                    summary=summary.text,
                    explanation=explanation.text,
                    chunks=sources_of(summary, explanation),
                )
                for summary, explanation in reply.findings
            ),
            rating=self._rating(community) if reply.rating is None else reply.rating,
            chunks=everything,
            weight=self._weight(community),
            written_by=chat.name,
        )

    def of_stored(self, report: Report, community: Community) -> Report:
        weight = self._weight(community)
        return replace(report, community=community.id, level=community.level, weight=weight)

    def _rating(self, community: Community | Outline, share: float = 1.0) -> float:
        """Return the rating, from 0 to 10, by the logarithm of the community's volume; the largest has 10."""
        return round(10.0 * share * log1p(self._members.volume(community)) / log1p(self._largest), 1)

    def _weight(self, community: Community | Outline) -> float:
        return self._members.outlines[community.id].n_chunks / self._most_chunks


class _Reports:
    """Reports by community, as the model writes them.

    Args:
        records: makes the reports.
        contexts: makes what the model reads.
        chat: the model, or None.
        calls: takes contexts and returns replies; None without a model.
        max_words, known, keep, on_done: see `write_reports`.
    """

    def __init__(
        self,
        records: _Records,
        contexts: ContextBuilder,
        max_words: int,
        chat: ChatModel | None,
        calls: Background[str, _Reply] | None,
        known: Callable[[str], Report | None] | None,
        keep: Callable[[str, Report], None] | None,
        on_done: Callable[[int], None] | None,
    ) -> None:
        self.written: dict[str, Report] = {}
        """By community."""
        self.waiting: RequestsWaiting | None = None
        """The first that waits."""
        self.problems: dict[str, str] = {}
        """Why the model's reply is unusable, by community."""
        self._records, self._contexts, self._max_words = records, contexts, max_words
        self._chat, self._calls = chat, calls
        self._known, self._keep, self._on_done = known, keep, on_done
        self._asked: dict[int, tuple[Community, ReportContext, str]] = {}
        """What the model is asked about, by number of the call."""
        self._unwritten: set[str] = set()
        """The communities of these calls."""
        self._waiting: set[str] = set()

    def put(self, community: Community, report: Report) -> None:
        """Add a report."""
        self.written[community.id] = report
        if self._on_done is not None:
            self._on_done(len(self.written))

    def begin(self, community: Community) -> None:
        """Add the report that is stored for the input of a community, an extractive one, or have the model write it."""
        self.receive_finished(_MAX_ASKED)
        try:
            context = self._contexts.build(community, self._report_on)
        except RequestsWaiting as error:
            self._wait(community, error)
            return
        key = _key(context, self._max_words)
        stored = self._known(key) if self._known is not None else None
        if stored is not None and (self._chat is None or stored.written_by == self._chat.name):
            self.put(community, self._records.of_stored(stored, community))
        elif self._chat is None:
            self.put(community, *self._records.extractive([community]))
        else:
            self._ask(community, context, key)

    def _wait(self, community: Community, error: RequestsWaiting) -> None:
        """Note that the report on a community is not there yet."""
        self._waiting.add(community.id)
        self.waiting = self.waiting or error

    def _ask(self, community: Community, context: ReportContext, key: str) -> None:
        """Ask the model as soon as a thread is free."""
        assert self._calls is not None  # noqa: S101  there is a model
        self._unwritten.add(community.id)
        self._asked[self._calls.add(context.text)] = community, context, key

    def receive_finished(self, below: int) -> None:
        """Take the replies that are there, and wait for more until fewer than `below` are missing."""
        while self._asked and self._receive(wait=len(self._asked) >= below):
            pass

    def _receive(self, *, wait: bool) -> bool:
        """Take the next reply; return whether there was one."""
        assert self._calls is not None and self._chat is not None  # noqa: S101, PT018  there is a model
        found = self._calls.receive(wait=wait)
        if found is None:
            return False
        number, reply = found
        community, context, key = self._asked.pop(number)
        self._unwritten.discard(community.id)
        if isinstance(reply, RequestsWaiting):
            self._wait(community, reply)
        elif isinstance(reply, UnusableReply):
            self.problems[community.id] = reply.problem
            self.put(community, *self._records.extractive([community]))
        else:
            report = self._records.of_reply(reply, community, context, self._chat)
            if self._keep is not None:
                self._keep(key, report)
            self.put(community, report)
        return True

    def _report_on(self, community: str) -> Report | None:
        """Return the report on a community, as soon as the model has written it; None if there is none.

        Raises:
            RequestsWaiting: if it waits in a batch.
        """
        while community in self._unwritten:
            self._receive(wait=True)
        if community in self._waiting:
            raise RequestsWaiting
        return self.written.get(community)


def _ask(models: Models, max_words: int, context: str) -> _Reply:
    try:
        return task.write_report(models, context, max_words=max_words)
    except (UnusableReply, RequestsWaiting) as error:
        return error


def _max_context(max_input_tokens: int, max_words: int) -> int:
    """Return the tokens that the instructions leave for the context."""
    empty = task.report_request("", max_words=max_words)
    instructions = empty.n_tokens
    if max_input_tokens - instructions < _MIN_CONTEXT:
        raise ValueError(
            f"max_input_tokens must be at least {instructions + _MIN_CONTEXT}, not {max_input_tokens}"
        )
    return max_input_tokens - instructions


def _key(context: ReportContext, max_words: int) -> str:
    # The chunks belong to the key, because a stored report names the chunks it rests on.
    sources = [chunk for source in context.sources for chunk in ("", *source)]
    return digest("report", prompt("report").hash, str(max_words), context.text, *sources)


def _with_parts(communities: Sequence[Outline]) -> list[Outline]:
    """Return each community followed by its parts, so that what was read of it is still cached."""
    known = {community.id for community in communities}
    parts: dict[str, list[Outline]] = defaultdict(list)
    for community in communities:
        parts[community.parent if community.parent in known else ""].append(community)
    found: list[Outline] = []
    open_ = parts[""][::-1]
    while open_:
        community = open_.pop()
        found.append(community)
        open_ += parts.get(community.id, [])[::-1]
    return found


def _in_order(chunks: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(chunks), key=lambda chunk: (chunk_key(chunk), chunk)))
