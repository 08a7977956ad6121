"""What a model is given to write a report from."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polygraph.graph.merge.view import spread
from polygraph.graph.reports.members import Members
from polygraph.graph.reports.sentence_quality import cut
from polygraph.records import Community, Description, Entity, Relation, Report
from polygraph.text.tokens import count_tokens

_BRACKET = re.compile(r"\[(\d[\d\s,;–-]{0,40})\]")
_MAX_SAID = 8
"""Descriptions of one entity or relation; an entity that is everywhere would fill the material alone."""
_MAX_TEXT = 1_200  # characters of one description
_MAX_PASSAGE = 4_000  # characters of one passage
_MAX_PREDICATES = 3  # of one relation
_NOTE = 24  # tokens for the last line


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A text with numbered sources."""

    text: str
    sources: tuple[tuple[str, ...], ...]
    """Chunks behind ``[n]`` at index ``n - 1``; a briefing on a part of the community rests on several."""
    n_left_out: int = 0
    """Entities, relations and passages for which there was no room."""


class Materials:
    """Writes down what is known of communities."""

    def __init__(
        self, members: Members, chunk_text: Callable[[Sequence[str]], Mapping[str, str]], max_tokens: int
    ) -> None:
        self._members = members
        self._chunk_text = chunk_text
        self._max_tokens = max_tokens

    def of(self, community: Community, reports: Mapping[str, Report]) -> Material:
        """Return the material for one report.

        Relations come by the sum of the degrees of their ends, descending, each after the descriptions of
        its ends; then entities without a relation inside, by number of chunks; ties by id. Nothing is said
        twice. If that is too long, the largest parts of the community are replaced by their reports, one
        after the other, until it fits; what still finds no room is left out and counted. Where nothing is
        described at all, passages stand in: the chunks that mention most members.

        Args:
            community: of the communities that `Members` was built from.
            reports: by community; those of the parts must be there if they are to be used.
        """
        entities = self._members.entities(community)
        relations = self._members.relations(community)
        if not (any(e.descriptions for e in entities) or any(r.descriptions for r in relations)):
            return self._passages(entities, relations)
        names = {entity.id: entity.name for entity in entities}
        shared = _shared_chunks(entities)
        whole = _Page(None, names, shared)
        owner = self._members.owners(community)
        cost: Counter[str] = Counter()
        for item, part in _in_order(entities, relations, owner):
            cost[part] += whole.put(item)
        if whole.n_tokens <= self._max_tokens:
            return whole.material()

        replaced: list[Report] = []
        rest = whole.n_tokens
        for part in sorted((part for part in cost if part in reports), key=lambda part: (-cost[part], part)):
            if rest <= self._max_tokens:
                break
            gain = cost[part] - count_tokens(reports[part].text)
            if gain > 0:
                replaced.append(reports[part])
                rest -= gain
        page = _Page(self._max_tokens - _NOTE, names, shared)
        for report in replaced:
            page.put(report)
        gone = {report.community for report in replaced}
        for item, part in _in_order(entities, relations, owner):
            if part not in gone:
                page.put(item)
        return page.material()

    def _passages(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> Material:
        names = {entity.id: entity.name for entity in entities}
        page = _Page(self._max_tokens - _NOTE, names, frozenset())
        for item, _ in _in_order(entities, relations, {}):
            page.put(item)
        mentions = Counter(chunk for entity in entities for chunk in entity.chunks)
        # Far more than the budget can hold need not be read.
        likely = sorted(mentions, key=lambda chunk: (-mentions[chunk], chunk))[: self._max_tokens // 20]
        texts = self._chunk_text(likely)
        for chunk in likely:
            if chunk in texts:
                page.put(Description(texts[chunk], chunk))
        page.n_left_out += len(mentions) - len(likely)
        return page.material()


def _in_order(
    entities: Sequence[Entity], relations: Sequence[Relation], owner: Mapping[str, str]
) -> list[tuple[Entity | Relation, str]]:
    """Items of a material and the part of the community that each belongs to (empty: to none alone)."""
    by_id = {entity.id: entity for entity in entities}
    found: dict[str, tuple[Entity | Relation, str]] = {}
    degree = {
        relation.id: by_id[relation.source].degree + by_id[relation.target].degree for relation in relations
    }
    for relation in sorted(relations, key=lambda relation: (-degree[relation.id], relation.id)):
        for end in (relation.source, relation.target):
            found.setdefault(f"entity {end}", (by_id[end], owner.get(end, "")))
        same = owner.get(relation.source) == owner.get(relation.target)
        found[f"relation {relation.id}"] = (relation, owner.get(relation.source, "") if same else "")
    for entity in sorted(entities, key=lambda entity: (-len(entity.chunks), entity.id)):
        found.setdefault(f"entity {entity.id}", (entity, owner.get(entity.id, "")))
    return list(found.values())


def _shared_chunks(entities: Sequence[Entity]) -> frozenset[str]:
    mentions = Counter(chunk for entity in entities for chunk in entity.chunks)
    return frozenset(chunk for chunk, n in mentions.items() if n > 1)


class _Page:
    """Collects lines up to a number of tokens and numbers their sources as they come."""

    def __init__(self, max_tokens: int | None, names: Mapping[str, str], shared: frozenset[str]) -> None:
        self._max_tokens = max_tokens
        self._names = names
        self._shared = shared
        self._lines: list[str] = []
        self._numbers: dict[tuple[str, ...], int] = {}
        self._said: set[str] = set()
        self.n_tokens = 0
        self.n_left_out = 0

    def put(self, item: Entity | Relation | Description | Report) -> int:
        """Add a line if there is room; return its tokens, 0 if there is none."""
        numbers: dict[tuple[str, ...], int] = {}
        said: set[str] = set()
        line = self._line(item, numbers, said)
        n_tokens = count_tokens(line) + 1
        if self._max_tokens is not None and self.n_tokens + n_tokens > self._max_tokens:
            self.n_left_out += 1
            return 0
        self._lines.append(line)
        self._numbers.update(numbers)
        self._said |= said
        self.n_tokens += n_tokens
        return n_tokens

    def material(self) -> Material:
        lines = self._lines
        if self.n_left_out:
            lines = [*lines, f"({self.n_left_out} more entities, relations or passages are not shown.)"]
        return Material(text="\n".join(lines), sources=tuple(self._numbers), n_left_out=self.n_left_out)

    def _line(
        self, item: Entity | Relation | Description | Report, new: dict[tuple[str, ...], int], said: set[str]
    ) -> str:
        def source(*chunks: str) -> str:
            number = self._numbers.get(chunks)
            if number is None:
                number = new.setdefault(chunks, len(self._numbers) + len(new) + 1)
            return f"[{number}]"

        if isinstance(item, Report):
            return f"Briefing on a part of the group: {_one_line(item.text)} {source(*item.chunks)}"
        if isinstance(item, Description):
            return f"Passage: {cut(_one_line(item.text), _MAX_PASSAGE)} {source(item.chunk)}"
        parts = []
        unsaid = [d for d in item.descriptions if d.text not in self._said]
        # What is said of an entity beside other members tells more of the group than its other affairs.
        near = [d for d in unsaid if d.chunk in self._shared] or unsaid
        for description in spread(near, _MAX_SAID):
            said.add(description.text)
            parts.append(f"{cut(_one_line(description.text), _MAX_TEXT)} {source(description.chunk)}")
        if not parts and item.chunks:
            # Even a bare name comes from somewhere, and a filter on documents must see it.
            at_hand = (chunk for chunk in item.chunks if (chunk,) in self._numbers)
            parts.append(source(next(at_hand, item.chunks[0])))
        if isinstance(item, Entity):
            # No aliases: which chunk each comes from is not known.
            head = f"Entity {item.name}" + (f" ({item.type})" if item.type else "")
        else:
            head = self._relation(item)
        return f"{head}: {' '.join(parts)}" if parts else head

    def _relation(self, item: Relation) -> str:
        source, target = (self._names.get(end, end) for end in (item.source, item.target))
        if not item.predicates:
            return f"Relation {source} – {target}"
        said = [
            f"{target} – {predicate[2:]} – {source}"
            if predicate.startswith("<-")
            else f"{source} – {predicate} – {target}"
            for predicate in item.predicates[:_MAX_PREDICATES]
        ]
        return f"Relation {'; '.join(said)}"


def _one_line(text: str) -> str:
    # Numbers in brackets are ours: they name sources.
    return _BRACKET.sub(r"(\1)", " ".join(text.split()))
