"""Reports made of sentences: what a community is about when no model writes it down.

The sentences are those of the descriptions. Without a model these are sentences of the documents, each
with the entities that it names.
"""

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from polygraph.columns import text_hash
from polygraph.graph.communities import chunk_key
from polygraph.graph.members import Members, inner_strength
from polygraph.graph.readable import LEGAL_NOTICE, LEGAL_SHARE, cut, pieces, quality, shown, tidy
from polygraph.graph.view import GraphView
from polygraph.records import Community, Entity, Finding, Relation

_MAX_FINDINGS = 5
_LONG_SUMMARY = 420  # characters of two sentences together
_ALIKE = 0.5  # share of the shorter sentence's words that makes it a repetition
_KNOWN = 0.25  # what is left of an entity's worth once a sentence about it is chosen
_POOR = 0.25  # sentences of lower quality are shown only where there is no better one
_MAX_NAMES = 8  # in a report of names alone
_PASSAGES = 4  # chunks that are read where nothing is described

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """The text of a report."""

    title: str
    summary: str
    findings: tuple[Finding, ...]
    chunks: tuple[str, ...]
    """What all of it rests on, also the names in the title."""
    legal: float
    """Share of the text that is boilerplate, in [0, 1]."""


@dataclass(slots=True)
class _Sentence:
    text: str
    chunk: str
    names: list[str]
    """Ids of the entities that it is known to name."""
    quality: float
    words: frozenset[str] | None = None


class Extracts:
    """Chooses sentences for communities. The sentences are gathered at the first use."""

    def __init__(
        self,
        members: Members,
        view: GraphView,
        chunk_text: Callable[[Sequence[str]], Mapping[str, str]],
        language: str,
        known: Mapping[int, float] | None = None,
    ) -> None:
        """Prepare.

        Args:
            members: of the communities.
            view: the graph that they divide.
            chunk_text: texts of chunks by id.
            language: of the documents.
            known: by `columns.text_hash`, the quality of descriptions that are one sentence each.
        """
        self._known = known or {}
        self._members = members
        self._view = view
        self._chunk_text = chunk_text
        self._language = language

    def of(self, community: Community) -> Extract:
        """Compose the report of a community.

        A sentence is worth the square roots of the weights that the entities it names have inside the
        community (the best three), more if it joins two of them, less if it is mostly about others, times
        its quality: whole, of readable length, understandable by itself, no legal notice. Sentences are
        chosen greedily; an entity already spoken of counts a quarter, and repetitions are passed over. The
        best one or two make the summary, up to five more the findings; both stand in the order of the
        documents. Ties are broken by that order too.
        """
        entities = self._members.entities(community)
        relations = self._members.relations(community)
        worth = _worth(entities, relations)
        candidates = self._candidates(entities, relations)
        if not candidates:
            candidates = self._from_passages(entities)
        chosen = _choose(candidates, worth, 2 + _MAX_FINDINGS)
        named = title_entities(entities, worth)
        if not chosen:
            named = sorted(entities, key=lambda entity: (-worth[entity.id], entity.id))[:_MAX_NAMES]
            chosen = [_sentence_of_names(named, len(entities))]
        n = 2 if len(chosen) > 1 and len(chosen[0].text) + len(chosen[1].text) < _LONG_SUMMARY else 1
        # Two sentences and no more read better as two statements.
        n = 1 if len(chosen) == 2 else n
        head, rest = _in_text_order(chosen[:n]), _in_text_order(chosen[n:])
        return Extract(
            title=_joined(title_entities(entities, worth)),
            summary=" ".join(shown(sentence.text) for sentence in head),
            findings=tuple(Finding(summary=shown(s.text), chunks=(s.chunk,)) for s in rest),
            chunks=_grounds(chosen, named),
            legal=sum(sentence.quality < LEGAL_NOTICE for sentence in chosen) / len(chosen),
        )

    def title(self, community: Community) -> str:
        """The title alone."""
        entities = self._members.entities(community)
        return _joined(title_entities(entities, _worth(entities, self._members.relations(community))))

    @cached_property
    def _table(self) -> tuple[dict[str, list[_Sentence]], dict[str, list[_Sentence]]]:
        """Sentences about each entity and each relation, by their ids."""
        by_description: dict[str, list[_Sentence]] = {}
        by_text: dict[str, _Sentence] = {}

        def sentence(text: str, chunk: str, known: float | None = None) -> _Sentence:
            found = by_text.get(text)
            if found is None:
                value = quality(text, self._language) if known is None else known
                found = by_text[text] = _Sentence(text, chunk, [], value)
            return found

        def sentences(text: str, chunk: str) -> list[_Sentence]:
            known = self._known.get(text_hash(text)) if self._known else None
            if known is not None:
                return [sentence(text, chunk, known)]
            return [sentence(piece, chunk) for piece in pieces(text, self._language)]

        def read(item: Entity | Relation, names: Iterable[str]) -> list[_Sentence]:
            found = []
            for description in item.descriptions:
                parts = by_description.get(description.text)
                if parts is None:
                    parts = by_description[description.text] = sentences(description.text, description.chunk)
                for part in parts:
                    part.names += [name for name in names if name not in part.names]
                found += parts
            return found

        by_entity = {entity.id: read(entity, (entity.id,)) for entity in self._view.entities}
        by_relation = {r.id: read(r, (r.source, r.target)) for r in self._view.relations}
        _discount_legal_chunks(list(by_text.values()))
        return by_entity, by_relation

    def _candidates(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> list[_Sentence]:
        by_entity, by_relation = self._table
        found: dict[str, _Sentence] = {}
        for relation in relations:
            for sentence in by_relation[relation.id]:
                found[sentence.text] = sentence
        for entity in entities:
            for sentence in by_entity[entity.id]:
                found[sentence.text] = sentence
        return list(found.values())

    def _from_passages(self, entities: Sequence[Entity]) -> list[_Sentence]:
        mentions: dict[str, int] = {}
        for entity in entities:
            for chunk in entity.chunks:
                mentions[chunk] = mentions.get(chunk, 0) + 1
        chunks = sorted(mentions, key=lambda chunk: (-mentions[chunk], chunk_key(chunk)))[:_PASSAGES]
        names = {entity.id: entity.name.casefold() for entity in entities[:100]}
        texts = self._chunk_text(chunks)
        found = []
        for chunk in chunks:
            for text in pieces(texts.get(chunk, ""), self._language):
                folded = text.casefold()
                named = [entity for entity, name in names.items() if name in folded]
                if named:
                    found.append(_Sentence(text, chunk, named, quality(text, self._language)))
        return found


def title_entities(entities: Sequence[Entity], worth: Mapping[str, float]) -> list[Entity]:
    """Choose the two or three most central entities; names of things before common words.

    Ties by id. Of names that contain each other only the first is taken, if there are others.
    """
    ranked = sorted(entities, key=lambda e: (-worth[e.id] * _namely(e.name), e.id))
    chosen: list[Entity] = []
    for entity in ranked:
        words = _words(entity.name)
        if all(not (words <= _words(other.name) or _words(other.name) <= words) for other in chosen):
            chosen.append(entity)
        if len(chosen) == 3:
            break
    if len(chosen) == 3 and worth[chosen[2].id] < worth[chosen[0].id] / 4:
        chosen.pop()
    return chosen


def _joined(entities: Sequence[Entity]) -> str:
    names = [_shown_name(entity) for entity in entities]
    title = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
    return title[:1].upper() + title[1:]


def _grounds(chosen: Sequence[_Sentence], named: Sequence[Entity]) -> tuple[str, ...]:
    """Chunks of the sentences, and one for each name that none of them mentions."""
    chunks = {sentence.chunk for sentence in chosen if sentence.chunk}
    for entity in named:
        if entity.chunks and chunks.isdisjoint(entity.chunks):
            chunks.add(entity.chunks[0])
    return tuple(sorted(chunks, key=lambda chunk: (chunk_key(chunk), chunk)))


def _worth(entities: Sequence[Entity], relations: Sequence[Relation]) -> dict[str, float]:
    strength = inner_strength(relations)
    if not strength:
        return {entity.id: sqrt(len(entity.chunks)) or 0.1 for entity in entities}
    # Members that hang on others' relations alone still count a little.
    return {entity.id: sqrt(strength.get(entity.id, 0.0)) or 0.1 for entity in entities}


def _namely(name: str) -> float:
    """How much a name looks like one: common words make poor titles."""
    fit = 1.0 if len(name) <= 40 else 0.5
    if name == name.lower() != name.upper() and not any(character.isdigit() for character in name):
        fit *= 0.4
    return fit


def _choose(candidates: Sequence[_Sentence], worth: Mapping[str, float], most: int) -> list[_Sentence]:
    spoken: set[str] = set()

    def score(sentence: _Sentence) -> float:
        inside = [name for name in sentence.names if name in worth]
        values = [worth[name] * (_KNOWN if name in spoken else 1.0) for name in inside]
        if len(values) > 3:
            values = sorted(values)[-3:]
        focus = 0.5 + 0.5 * len(inside) / max(len(sentence.names), 1)
        joining = 1.25 if len(inside) > 1 else 1.0
        return sentence.quality * sqrt(sentence.quality) * focus * joining * sum(values)

    # Scores only fall as entities are spoken of, so the best is known once its own score is fresh.
    heap = [(-score(s), chunk_key(s.chunk), i, 0) for i, s in enumerate(candidates)]
    heapq.heapify(heap)
    chosen: list[_Sentence] = []
    while heap and len(chosen) < most:
        _, place, i, when = heapq.heappop(heap)
        sentence = candidates[i]
        if when < len(chosen):
            heapq.heappush(heap, (-score(sentence), place, i, len(chosen)))
            continue
        if chosen and sentence.quality < (_POOR if chosen[0].quality >= LEGAL_NOTICE else 0.0):
            continue
        if any(_alike(sentence, other) for other in chosen):
            continue
        chosen.append(sentence)
        spoken.update(sentence.names)
    return chosen


def _sentence_of_names(named: Sequence[Entity], n_all: int) -> _Sentence:
    names = ", ".join(_shown_name(entity) for entity in named)
    more = f" and {n_all - len(named)} more" if n_all > len(named) else ""
    # Its chunks are those of the names.
    return _Sentence(
        f"Mentioned together: {names}{more}." if n_all > 1 else f"Mentioned: {names}.", "", [], 1.0
    )


def _in_text_order(chosen: Sequence[_Sentence]) -> list[_Sentence]:
    # Sentences of one chunk keep the order in which they were chosen, as their offsets are not known here.
    return sorted(chosen, key=lambda sentence: chunk_key(sentence.chunk))


def _discount_legal_chunks(table: Sequence[_Sentence]) -> None:
    """Extend the verdict on legal notices to the sentences that stand among them."""
    legal = {sentence.text for sentence in table if sentence.quality < LEGAL_NOTICE}
    n_all = Counter(sentence.chunk for sentence in table)
    n_legal = Counter(sentence.chunk for sentence in table if sentence.text in legal)
    for sentence in table:
        n = n_legal[sentence.chunk]
        if n > 1 and n > 0.25 * n_all[sentence.chunk] and sentence.text not in legal:
            sentence.quality *= LEGAL_SHARE


def _words(text: str) -> frozenset[str]:
    found = _WORD.findall(text.casefold())
    if sum(map(len, found)) > 12 * len(found):  # a script without spaces: pairs of characters
        found = [word[i : i + 2] for word in found for i in range(max(len(word) - 1, 1))]
    return frozenset(found)


def _alike(one: _Sentence, other: _Sentence) -> bool:
    for sentence in (one, other):
        if sentence.words is None:
            sentence.words = frozenset(word for word in _words(sentence.text) if len(word) > 3) or _words(
                sentence.text
            )
    a, b = one.words or frozenset(), other.words or frozenset()
    return len(a & b) >= _ALIKE * max(min(len(a), len(b)), 1)


def _shown_name(entity: Entity) -> str:
    return cut(tidy(entity.name) or entity.id, 60)
