"""The context that a model is given to write a report from."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from polygraph.graph.reports.kept_records import MOST_KEPT, KeptRecords
from polygraph.graph.reports.members import Members
from polygraph.graph.reports.titles import is_named
from polygraph.prompts import neutralize, one_line
from polygraph.records import Community, Description, Entity, Relation, Report
from polygraph.text.prose import shorten
from polygraph.text.statements import as_sentence, statements
from polygraph.text.tokens import count_tokens

T = TypeVar("T")

_BRACKET = re.compile(r"\[(\d[\d\s,;–-]{0,40})\]")
_ANY_NUMBER = 10**9
"""No number in brackets that a text from outside holds is that of a source."""
_MAX_DESCRIPTIONS = 8
"""Descriptions of one entity or relation; an entity that is everywhere would fill the context alone."""
_MAX_DESCRIPTION = 1_200
"""Characters of one description."""
_MAX_PASSAGE = 4_000
"""Characters of one passage."""
_MAX_PREDICATES = 3
"""Predicates of one relation."""
_LAST_LINE = 24
"""Tokens of the line that counts what is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContext:
    """A text with numbered sources."""

    text: str
    sources: tuple[tuple[str, ...], ...]
    """Chunks behind ``[n]`` at index ``n - 1``; a report on a part of the community rests on several."""
    n_left_out: int = 0
    """Entities, relations and passages that did not fit."""


class ContextBuilder:
    """Writes the contexts of communities."""

    def __init__(
        self,
        members: Members,
        chunk_text: Callable[[Sequence[str]], Mapping[str, str]],
        max_tokens: int,
        date_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._members = members
        self._records = KeptRecords(members)
        self._wording = _Wording()
        self._chunk_text = chunk_text
        self._max_tokens = max_tokens
        self._date_of = date_of

    def build(self, community: Community, report_on: Callable[[str], Report | None]) -> ReportContext:
        """Return the context of one report.

        Relations come by the sum of the degrees of their ends, descending, each after the descriptions of its ends;
        then entities without a relation inside, by number of chunks; ties by id. No description is shown twice. If that
        is too long, the largest parts of the community are replaced by their reports, one after the other, until it
        fits; what still does not fit is left out and counted. Where nothing is described, passages are shown instead:
        the chunks that mention most members. The date of a source stands before its number where that is first used.

        Args:
            community: of the communities that `Members` was built from.
            report_on: gives the report on a part of the community, if there is one.
        """
        entities = self._records.entities(community)
        relations = self._records.relations(community)
        if not (any(e.descriptions for e in entities) or any(r.descriptions for r in relations)):
            return self._passages(entities, relations)
        names = {entity.id: entity.name for entity in entities}
        shared = _shared_chunks(entities)
        owner = self._members.owners(community)
        items = _in_order(entities, relations, owner)
        whole = _Page(None, names, shared, self._wording, self._date_of)
        for item, _ in items:
            whole.add(item)
        if whole.n_bytes <= self._max_tokens:  # a token is at least one byte
            return whole.context()
        cost: Counter[str] = Counter()
        for n_tokens, (_, part) in zip(whole.counts(), items, strict=True):
            cost[part] += n_tokens
        if cost.total() <= self._max_tokens:
            return whole.context()

        reports = {part: report for part in cost if (report := report_on(part)) is not None}
        replaced: list[Report] = []
        rest = cost.total()
        for part in sorted(reports, key=lambda part: (-cost[part], part)):
            if rest <= self._max_tokens:
                break
            gain = cost[part] - count_tokens(reports[part].text)
            if gain > 0:
                replaced.append(reports[part])
                rest -= gain
        page = _Page(self._max_tokens - _LAST_LINE, names, shared, self._wording, self._date_of)
        for report in replaced:
            page.add(report)
        replaced_ids = {report.community for report in replaced}
        for item, part in items:
            if part not in replaced_ids:
                page.add(item)
        return page.context()

    def _passages(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> ReportContext:
        names = {entity.id: entity.name for entity in entities}
        page = _Page(self._max_tokens - _LAST_LINE, names, frozenset(), self._wording, self._date_of)
        for item, _ in _in_order(entities, relations, {}):
            page.add(item)
        mentions = Counter(chunk for entity in entities for chunk in entity.chunks)
        # Far more than the budget can hold need not be read.
        likely = sorted(mentions, key=lambda chunk: (-mentions[chunk], chunk))[: self._max_tokens // 20]
        texts = self._chunk_text(likely)
        for chunk in likely:
            if chunk in texts:
                page.add(Description(texts[chunk], chunk))
        page.n_left_out += len(mentions) - len(likely)
        return page.context()


def _in_order(
    entities: Sequence[Entity], relations: Sequence[Relation], owner: Mapping[str, str]
) -> list[tuple[Entity | Relation, str]]:
    """Return the items of a context, each with the part of the community that it belongs to (empty: to none alone)."""
    by_id = {entity.id: entity for entity in entities}
    items: dict[str, tuple[Entity | Relation, str]] = {}
    degree = {
        relation.id: by_id[relation.source].degree + by_id[relation.target].degree for relation in relations
    }
    for relation in sorted(relations, key=lambda relation: (-degree[relation.id], relation.id)):
        for end in (relation.source, relation.target):
            items.setdefault(f"entity {end}", (by_id[end], owner.get(end, "")))
        same = owner.get(relation.source) == owner.get(relation.target)
        items[f"relation {relation.id}"] = (relation, owner.get(relation.source, "") if same else "")
    for entity in sorted(entities, key=lambda entity: (-len(entity.chunks), entity.id)):
        items.setdefault(f"entity {entity.id}", (entity, owner.get(entity.id, "")))
    return list(items.values())


def _shared_chunks(entities: Sequence[Entity]) -> frozenset[str]:
    """Return the chunks that mention more than one entity."""
    mentions = Counter(chunk for entity in entities for chunk in entity.chunks)
    return frozenset(chunk for chunk, n in mentions.items() if n > 1)


class _Page:
    """Lines up to a number of tokens, with their sources numbered as they come; with no such number, all lines."""

    def __init__(
        self,
        max_tokens: int | None,
        names: Mapping[str, str],
        shared: frozenset[str],
        wording: "_Wording",
        date_of: Callable[[str], str],
    ) -> None:
        self._max_tokens = max_tokens
        self._names = names
        self._shared = shared
        self._wording = wording
        self._date_of = date_of
        self._lines: list[str] = []
        self._numbers: dict[tuple[str, ...], int] = {}
        self._shown: dict[str, str] = {}
        """Descriptions that are on the page, each with the name of the entity that it stands at; "" for a relation."""
        self.n_tokens = 0
        """Tokens of all lines, counted only where their number is limited."""
        self.n_left_out = 0

    @property
    def n_bytes(self) -> int:
        """Bytes of all lines and the ends of lines."""
        return sum(len(line.encode("utf-8", "replace")) + 1 for line in self._lines)

    def counts(self) -> list[int]:
        """Return the tokens of each line with its end."""
        return [count_tokens(line) + 1 for line in self._lines]

    def add(self, item: Entity | Relation | Description | Report) -> None:
        """Add a line if it fits."""
        numbers: dict[tuple[str, ...], int] = {}
        shown: dict[str, str] = {}
        line = self._line(item, numbers, shown)
        if self._max_tokens is not None:
            n_tokens = count_tokens(line) + 1
            if self.n_tokens + n_tokens > self._max_tokens:
                self.n_left_out += 1
                return
            self.n_tokens += n_tokens
        self._lines.append(line)
        self._numbers.update(numbers)
        self._shown |= shown

    def context(self) -> ReportContext:
        lines = self._lines
        if self.n_left_out:
            lines = [*lines, f"({self.n_left_out} more entities, relations or passages are not shown.)"]
        return ReportContext(text="\n".join(lines), sources=tuple(self._numbers), n_left_out=self.n_left_out)

    def _line(
        self,
        item: Entity | Relation | Description | Report,
        new: dict[tuple[str, ...], int],
        shown: dict[str, str],
    ) -> str:
        """Return a line; new numbers of sources are added to `new`, descriptions in it to `shown`."""

        def source(*chunks: str) -> str:
            known = self._numbers.get(chunks) or new.get(chunks)
            if known is not None:
                return f"[{known}]"
            number = new[chunks] = len(self._numbers) + len(new) + 1
            date = self._date_of(chunks[0]) if len(chunks) == 1 else ""
            return f"({date}) [{number}]" if date else f"[{number}]"

        if isinstance(item, Report):
            return f"Briefing on a part of the group: {_one_line(item.text)} {source(*item.chunks)}"
        if isinstance(item, Description):
            return f"Passage: {shorten(_one_line(item.text), _MAX_PASSAGE)} {source(item.chunk)}"
        parts, says_more = [], False
        head = self._wording.head(item, self._names)
        stated = head.casefold().removeprefix("relation ") if isinstance(item, Relation) else None
        new_descriptions = [d for d in item.descriptions if d.text not in self._shown]
        for description in self._chosen(new_descriptions):
            shown[description.text] = item.name if isinstance(item, Entity) else ""
            said, number = self._wording.description(description.text), source(description.chunk)
            is_repeated = stated is not None and said.rstrip(".").casefold() == stated
            parts.append(number if is_repeated else f"{said} {number}")
            says_more |= not is_repeated
        if not parts and item.chunks:
            # Even a bare name has a source, and a filter on documents must see it.
            repeated = [d for d in item.descriptions if d.text in self._shown]
            chunks = [*(d.chunk for d in repeated), *item.chunks]
            number = source(next((chunk for chunk in chunks if (chunk,) in self._numbers), item.chunks[0]))
            pointer = self._pointer(item, repeated) if repeated else ""
            parts.append(f"{pointer} {number}".lstrip())
            says_more = bool(pointer)
        return f"{head}{':' if says_more else ''} {' '.join(parts)}".rstrip()

    def _chosen(self, descriptions: Sequence[Description]) -> Sequence[Description]:
        """Return at most `_MAX_DESCRIPTIONS`, in order, those from chunks shared with other members rather than others.

        They say more about the group; but what the others say stands in no other report of the level.
        """
        if len(descriptions) <= _MAX_DESCRIPTIONS:
            return descriptions
        near = [d for d in descriptions if d.chunk in self._shared]
        far = [d for d in descriptions if d.chunk not in self._shared]
        n_far = max(_MAX_DESCRIPTIONS - len(near), 0)
        chosen = {*spread(near, _MAX_DESCRIPTIONS), *(spread(far, n_far) if n_far else ())}
        return [d for d in descriptions if d in chosen]

    def _pointer(self, item: Entity | Relation, repeated: Sequence[Description]) -> str:
        """Return where the same is said above: of which entity, where a reader would not find it by name.

        A sentence that does not name both ends of a relation was said of others; the head states the relation.
        """
        if isinstance(item, Relation):
            ends = [self._names.get(end, end) for end in (item.source, item.target)]
            found = any(all(is_named(end, d.text) for end in ends) for d in repeated)
            return "as said above" if found or not item.predicates else ""
        if any(is_named(item.name, d.text) for d in repeated):
            return "as said above"
        name = self._shown[repeated[0].text]
        return f"as said above of {_one_line(name)}" if name else "as said above"


class _Wording:
    """How items are written; an item in the context of a community is in those of all communities around it."""

    def __init__(self) -> None:
        self.description = lru_cache(MOST_KEPT)(_shown_description)
        """Returns a description as it is shown."""
        self._entities: dict[str, str] = {}
        self._relations: dict[str, str] = {}

    def head(self, item: Entity | Relation, names: Mapping[str, str]) -> str:
        """Return what stands before the descriptions of an item.

        Args:
            item: of the community.
            names: of its entities, by id. Both ends of a relation are among them, so that its head is the same in every
                community.
        """
        written = self._entities if isinstance(item, Entity) else self._relations
        found = written.get(item.id)
        if found is None:
            head = _entity_head(item) if isinstance(item, Entity) else _relation_head(item, names)
            found = _one_line(head)
            if len(written) < MOST_KEPT:
                written[item.id] = found
        return found


def _shown_description(text: str) -> str:
    return shorten(as_sentence(_one_line(text)), _MAX_DESCRIPTION)


def _entity_head(item: Entity) -> str:
    # No aliases: which chunk each comes from is not known.
    return f"Entity {item.name}" + (f" ({item.type})" if item.type else "")


def _relation_head(item: Relation, names: Mapping[str, str]) -> str:
    source, target = (names.get(end, end) for end in (item.source, item.target))
    stated = statements(item.predicates[:_MAX_PREDICATES], source, target)
    return f"Relation {stated.removesuffix('.') or f'{source} and {target}'}"


def spread(items: Sequence[T], most: int) -> list[T]:
    """Return at most `most` items, evenly spaced, the first and the last included.

    >>> spread("abcdefghi", 3)
    ['a', 'e', 'i']
    """
    n = len(items)
    if n <= most:
        return list(items)
    if most == 1:
        return [items[0]]
    return [items[i * (n - 1) // (most - 1)] for i in range(most)]


def _one_line(text: str) -> str:
    text = one_line(text)
    if "[" in text:  # numbers in brackets name our sources
        text = _BRACKET.sub(r"(\1)", text)
    return neutralize(text, n_items=_ANY_NUMBER)
