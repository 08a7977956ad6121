"""Reports on communities, from the finest level to the coarsest."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from math import log1p
from pathlib import Path

from polygraph.columnar import Qualities
from polygraph.errors import RequestsWaiting, UnusableReply
from polygraph.graph.chunk_numbers import chunk_key
from polygraph.graph.reports.context import Material, Materials
from polygraph.graph.reports.extractive import Extract, Extracts, title_of
from polygraph.graph.reports.members import GraphRows, Members, Outline
from polygraph.graph.reports.sentence_table import Told
from polygraph.models import Models
from polygraph.prompts import prompt
from polygraph.records import Community, CountedCommunity, Finding, Report, digest
from polygraph.tasks import report as task
from polygraph.text.tokens import count_tokens

MAX_INPUT_TOKENS = 8_000
"""Length of a request, instructions included (GraphRAG: 8,000)."""
MAX_WORDS = 500
"""Length that a model is asked to keep to (GraphRAG: 2,000)."""
_BLOCK = 256
"""Communities whose material is held in memory together."""
_LEAST_ROOM = 200
"""Tokens of material without which a report cannot be asked for."""


def write_reports(
    communities: Sequence[Community],
    graph: GraphRows,
    chunk_text: Callable[[Sequence[str]], Mapping[str, str]],
    models: Models | None,
    *,
    max_input_tokens: int = MAX_INPUT_TOKENS,
    max_words: int = MAX_WORDS,
    min_size: int = 1,
    language: str = "en",
    qualities: Qualities | None = None,
    folder: Path | None = None,
    known: Callable[[str], Report | None] | None = None,
    keep: Callable[[str, Report], None] | None = None,
    on_done: Callable[[int], None] | None = None,
    on_problem: Callable[[str, str], None] | None = None,
) -> list[Report]:
    """Write one report for each community.

    After Microsoft GraphRAG (Edge et al., 2024, https://arxiv.org/abs/2404.16130), with the whole context of
    edges instead of at most one for each entity, and with every statement tied to its chunks. With a chat
    model one call is made for each community, level by level from the finest, so that a community too large
    for the model's input can be told by the reports on its parts. A reply that cannot be used, also after
    the repair round, is replaced by an extractive report, which `Report.written_by` shows. Without a model
    all reports are extractive.

    Args:
        communities: of all levels.
        graph: what they divide; its records are read a few at a time.
        chunk_text: texts of chunks by id; asked only for communities of which nothing is described.
        models: with a chat model, or None.
        max_input_tokens: length of a request, instructions included (GraphRAG: 8,000).
        max_words: length that the model is asked to keep to (GraphRAG: 2,000).
        min_size: communities with fewer entities get no report.
        language: of the documents, ISO 639-1.
        qualities: what is known of texts; see `Told`.
        folder: see `Told`.
        known: finds a report that was written for an input, by the hash of it. A report by another model
            than the one in use is not taken; without a model in use any is.
        keep: keeps a report that a model wrote, under the hash of its input. `known` and `keep` are
            called from the caller's thread.
        on_done: told how many communities are done so far.
        on_problem: told the id of a community and why the model's reply about it could not be used.

    Returns:
        Reports in the order of `communities`.

    Raises:
        ValueError: if `max_input_tokens` leaves no room for material.
        BudgetReached, ModelUnavailable, ModelRefused: as the model's calls do; what `keep` was given is kept.
        RequestsWaiting: with a batch, after all reports were asked for that can be without those that are not there.
    """
    wanted = [community for community in communities if len(community.entities) >= min_size]
    if not wanted:
        return []
    chat = models.chat if models is not None else None
    reports = _Reports()
    progress = on_done or (lambda _: None)
    if chat is None and known is None:
        extracted = extractive_reports(
            wanted, graph, chunk_text, language=language, qualities=qualities, folder=folder, on_done=on_done
        )
        reports.update((report.community, report) for report in extracted)
        return [reports[community.id] for community in wanted]

    members = Members(communities, graph, folder=folder)
    # Read when a report is first made of sentences.
    extracts = cache(lambda: _extracts(members, graph, chunk_text, language, qualities, folder))
    writer = _Writer([members.outlines[community.id] for community in wanted], members, extracts)
    materials = Materials(members, chunk_text, _room(max_input_tokens, max_words))
    for block in _blocks(wanted):
        missing: list[tuple[Community, Material, str]] = []
        for community in block:
            try:
                material = materials.of(community, reports)
            except RequestsWaiting as error:
                reports.wait(community, error)
                continue
            key = _key(material, max_words)
            found = known(key) if known is not None else None
            if found is not None and (chat is None or found.written_by == chat.name):
                reports[community.id] = writer.renewed(found, community)
            elif chat is None:
                (reports[community.id],) = writer.extractive([community])
            else:
                missing.append((community, material, key))
        n_before = len(reports)
        progress(n_before)
        if models is None or chat is None or not missing:
            continue
        drafts = models.calls.map(
            partial(_draft, models, max_words),
            [material.text for _, material, _ in missing],
            on_done=partial(_onwards, progress, n_before),
        )
        for (community, material, key), draft in zip(missing, drafts, strict=True):
            if isinstance(draft, RequestsWaiting):
                reports.wait(community, draft)
            elif isinstance(draft, UnusableReply):
                (reports[community.id],) = writer.extractive([community])
                if on_problem is not None:
                    on_problem(community.id, draft.problem)
            else:
                report = reports[community.id] = writer.written(community, draft, material, chat.name)
                if keep is not None:
                    keep(key, report)
    if reports.waiting is not None:
        raise reports.waiting
    return [reports[community.id] for community in wanted]


def extractive_reports(
    communities: Iterable[Community | CountedCommunity],
    graph: GraphRows,
    chunk_text: Callable[[Sequence[str]], Mapping[str, str]],
    *,
    language: str = "en",
    qualities: Qualities | None = None,
    folder: Path | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Iterator[Report]:
    """Write one report for each community without a model, one after the other.

    Args:
        communities: as for `write_reports`, which gives the same reports; gone through once.
        graph: the same.
        chunk_text: the same.
        language: the same.
        qualities: the same.
        folder: the same.
        on_done: the same.

    Yields:
        A report on each community, followed by those on its parts.
    """
    members = Members(communities, graph, folder=folder)
    outlines = list(members.outlines.values())
    if not outlines:
        return
    extracts = _extracts(members, graph, chunk_text, language, qualities, folder)
    writer = _Writer(outlines, members, lambda: extracts)
    for n, report in enumerate(writer.extractive(_with_parts(outlines)), 1):
        yield report
        if on_done is not None:
            on_done(n)


def _extracts(
    members: Members,
    graph: GraphRows,
    chunk_text: Callable[[Sequence[str]], Mapping[str, str]],
    language: str,
    qualities: Qualities | None,
    folder: Path | None,
) -> Extracts:
    told = Told(graph, language, qualities, edges=members.edges, folder=folder)
    return Extracts(members, told, chunk_text, language)


class _Writer:
    """Makes the records."""

    def __init__(
        self, communities: Sequence[Outline], members: Members, extracts: Callable[[], Extracts]
    ) -> None:
        self._members, self._extracts = members, extracts
        self._largest = max(members.volume(community) for community in communities)
        self._most_chunks = max(1, *(community.n_chunks for community in communities))

    def extractive(self, communities: Sequence[Community | Outline]) -> Iterator[Report]:
        for community, extract in zip(communities, self._extracts().of(communities), strict=True):
            yield self._extractive(community, extract)

    def _extractive(self, community: Community | Outline, extract: Extract) -> Report:
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

    def written(self, community: Community, draft: task.ParsedReport, material: Material, model: str) -> Report:
        everything = _in_order(chunk for source in material.sources for chunk in source) or community.chunks

        def rests_on(*statements: task.SourcedText) -> tuple[str, ...]:
            numbers = {n for statement in statements for n in statement.sources}
            valid = [n for n in numbers if 1 <= n <= len(material.sources)]
            return _in_order(chunk for n in valid for chunk in material.sources[n - 1]) or everything

        return Report(
            community=community.id,
            level=community.level,
            title=draft.title
            or title_of(self._members.entities(community), self._members.relations(community)),
            summary=draft.summary.text,
            findings=tuple(
                Finding(
                    summary=summary.text, explanation=explanation.text, chunks=rests_on(summary, explanation)
                )
                for summary, explanation in draft.findings
            ),
            rating=self._rating(community) if draft.rating is None else draft.rating,
            chunks=everything,
            weight=self._weight(community),
            written_by=model,
        )

    def renewed(self, report: Report, community: Community) -> Report:
        weight = self._weight(community)
        return replace(report, community=community.id, level=community.level, weight=weight)

    def _rating(self, community: Community | Outline, share: float = 1.0) -> float:
        """From 0 to 10 by the logarithm of the community's volume; the largest has 10."""
        return round(10.0 * share * log1p(self._members.volume(community)) / log1p(self._largest), 1)

    def _weight(self, community: Community | Outline) -> float:
        return self._members.outlines[community.id].n_chunks / self._most_chunks


class _Reports(dict[str, Report]):
    """Reports by community; to look for one that waits in a batch makes the community that looks wait, too."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: RequestsWaiting | None = None
        """The first that waits."""
        self._wait: set[str] = set()

    def wait(self, community: Community, error: RequestsWaiting) -> None:
        """Note that the report on a community is not there yet."""
        self._wait.add(community.id)
        self.waiting = self.waiting or error

    def __contains__(self, community: object) -> bool:
        if community in self._wait:
            raise RequestsWaiting
        return super().__contains__(community)


def _draft(models: Models, max_words: int, material: str) -> task.ParsedReport | UnusableReply | RequestsWaiting:
    try:
        return task.write_report(models, material, max_words=max_words)
    except (UnusableReply, RequestsWaiting) as error:
        return error


def _onwards(progress: Callable[[int], None], n_before: int, n: int) -> None:
    progress(n_before + n)


def _room(max_input_tokens: int, max_words: int) -> int:
    """Tokens that the instructions leave for the material."""
    empty = task.report_request("", max_words=max_words)
    instructions = sum(count_tokens(message.content) for message in empty.messages)
    if max_input_tokens - instructions < _LEAST_ROOM:
        raise ValueError(
            f"max_input_tokens must be at least {instructions + _LEAST_ROOM}, not {max_input_tokens}"
        )
    return max_input_tokens - instructions


def _key(material: Material, max_words: int) -> str:
    # The chunks belong to the key, because a kept report says which chunks it rests on.
    sources = [chunk for source in material.sources for chunk in ("", *source)]
    return digest("report", prompt("report").hash, str(max_words), material.text, *sources)


def _blocks(communities: Sequence[Community]) -> list[list[Community]]:
    """Finest level first, so that a community's parts are done before it."""
    levels: dict[int, list[Community]] = defaultdict(list)
    for community in communities:
        levels[community.level].append(community)
    return [
        levels[level][i : i + _BLOCK]
        for level in sorted(levels, reverse=True)
        for i in range(0, len(levels[level]), _BLOCK)
    ]


def _with_parts(communities: Sequence[Outline]) -> list[Outline]:
    """Each community followed by its parts, so that what was read of it is still at hand."""
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
