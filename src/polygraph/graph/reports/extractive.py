"""Reports made of sentences: what a community is about when no model writes it down.

The sentences are those of the descriptions. Without a model these are sentences of the documents, each
with the entities that it names. Raise `revisions.EXTRACTIVE_REPORTS` whenever the same graph may give other reports.
"""

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from typing import TypeVar

import numpy as np

from polygraph.columnar import Array
from polygraph.graph.reports.members import Members, Outline, inner_strength
from polygraph.graph.reports.scoring import JOINING, LEAST, TOP, Candidates, Weighed, weigh
from polygraph.graph.reports.sentence_quality import LEGAL_NOTICE, cut, namely, pieces, quality, shown, tidy
from polygraph.graph.reports.sentence_table import Told
from polygraph.records import Community, Entity, Finding, Relation

_MAX_FINDINGS = 5
_LONG_SUMMARY = 420  # characters of two sentences together
_ALIKE = 0.5  # share of the shorter sentence's words that makes it a repetition
_KNOWN = 0.25  # what is left of an entity's worth once a sentence about it is chosen
_POOR = 0.25  # sentences of lower quality are shown only where there is no better one
_MAX_NAMES = 8  # in a report of names alone
_PASSAGES = 4  # chunks that are read where nothing is described
_LOOKED_FOR = 100  # members whose names are looked for in them
_BLOCK = 50_000  # members, their sentences and relations, of communities that are weighed together
_CANDIDATES = 20_000  # of a large community; of more than some hundred few are ever looked at
_WORDS = 2_000  # sentences whose words are kept at hand

_SPACED = 12  # characters of a word at most, on the average, in a script with spaces
_WORD = re.compile(r"[^\W_]+")
_LONGER = re.compile(r"[^\W_]{4,}")
T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    place: int
    """Of its chunk in `Told.chunks`; -1 if it has none."""
    quality: float


class Extracts:
    """Chooses sentences for communities.

    Args:
        members: of the communities.
        told: what is said of their graph.
        chunk_text: texts of chunks by id; asked only for communities of which nothing is described.
        language: of the documents.
    """

    def __init__(
        self,
        members: Members,
        told: Told,
        chunk_text: Callable[[Sequence[str]], Mapping[str, str]],
        language: str,
    ) -> None:
        self._members = members
        self._told = told
        self._chunk_text = chunk_text
        self._language = language
        self._words: dict[int, frozenset[str]] = {}

    def of(self, communities: Iterable[Community | Outline]) -> Iterator[Extract]:
        """Compose the reports of some communities, in the order given.

        A sentence is worth the square roots of the weights that the entities it names have inside the
        community (the best three), more if it joins two of them, less if it is mostly about others, times
        its quality: whole, of readable length, understandable by itself, no legal notice. Sentences are
        chosen greedily; an entity already spoken of counts a quarter, and repetitions are passed over. The
        best one or two make the summary, up to five more the findings; both stand in the order of the
        documents. Ties are broken by that order too, then by the order in which sentences are told.
        """
        for block in self._blocks(communities):
            for weighed in weigh(block, self._members, self._told, most=_CANDIDATES):
                yield self._extract(weighed)

    def _blocks(self, communities: Iterable[Community | Outline]) -> Iterator[list[Array]]:
        """Members of communities that are weighed together: enough for arrays to pay, and no more."""
        block: list[Array] = []
        size = 0
        n_said = 1 + np.diff(self._told.entity_ends) + self._members.n_relations()
        for community in communities:
            rows = self._members.rows(community)
            own = int(n_said[rows].sum())
            if block and size + own > _BLOCK:
                yield block
                block, size = [], 0
            block.append(rows)
            size += own
        if block:
            yield block

    def _extract(self, weighed: Weighed) -> Extract:
        told = self._told
        rows, worth, candidates = weighed.rows, weighed.worth, weighed.candidates
        picked = _choose(candidates, worth, self._words_of, 2 + _MAX_FINDINGS)
        if picked is None:
            (weighed,) = weigh([np.array(rows)], self._members, told)
            candidates = weighed.candidates
            picked = _choose(candidates, worth, self._words_of, 2 + _MAX_FINDINGS) or []
        chosen = [
            _Sentence(told.text(candidates.sentence[i]), candidates.place[i], candidates.quality[i])
            for i in picked
        ] or self._from_passages(weighed)
        titled = _central((told.names[rows[i]], worth[i], rows[i]) for i in weighed.central)
        named = titled
        if not chosen:
            by_worth = sorted(zip(worth, rows, strict=True), key=lambda pair: (-pair[0], pair[1]))
            named = [row for _, row in by_worth[:_MAX_NAMES]]
            chosen = [_sentence_of_names([self._shown_name(row) for row in named], len(rows))]
        n = 2 if len(chosen) > 1 and len(chosen[0].text) + len(chosen[1].text) < _LONG_SUMMARY else 1
        # Two sentences and no more read better as two statements.
        n = 1 if len(chosen) == 2 else n
        head, rest = _in_text_order(chosen[:n]), _in_text_order(chosen[n:])
        return Extract(
            title=_joined([self._shown_name(row) for row in titled]),
            summary=" ".join(shown(sentence.text) for sentence in head),
            findings=tuple(
                Finding(summary=shown(sentence.text), chunks=(told.chunks[sentence.place],))
                for sentence in rest
            ),
            chunks=self._grounds(chosen, named),
            legal=sum(sentence.quality < LEGAL_NOTICE for sentence in chosen) / len(chosen),
        )

    def _words_of(self, sentence: int) -> frozenset[str]:
        found = self._words.get(sentence)
        if found is None:
            if len(self._words) >= _WORDS:
                self._words.clear()
            found = self._words[sentence] = _telling_words(self._told.text(sentence))
        return found

    def _from_passages(self, weighed: Weighed) -> list[_Sentence]:
        told, rows = self._told, weighed.rows
        mentions = Counter(place for row in rows for place in told.chunks_of(row).tolist())
        places = sorted(mentions, key=lambda place: (-mentions[place], place))[:_PASSAGES]
        names = [told.names[row].casefold() for row in rows[:_LOOKED_FOR]]
        texts = self._chunk_text([told.chunks[place] for place in places])
        found: list[_Sentence] = []
        named: list[list[int]] = []
        for place in places:
            for text in pieces(texts.get(told.chunks[place], ""), self._language):
                folded = text.casefold()
                inside = [i for i, name in enumerate(names) if name in folded]
                if inside:
                    found.append(_Sentence(text, place, quality(text, self._language)))
                    named.append(inside)
        candidates = _as_candidates(found, named, weighed.worth)
        words = [_telling_words(sentence.text) for sentence in found]
        picked = _choose(candidates, weighed.worth, words.__getitem__, 2 + _MAX_FINDINGS)
        return [found[candidates.sentence[i]] for i in picked or ()]

    def _grounds(self, chosen: Sequence[_Sentence], named: Sequence[int]) -> tuple[str, ...]:
        """Chunks of the sentences, and one for each name that none of them mentions."""
        places = {sentence.place for sentence in chosen if sentence.place >= 0}
        for row in named:
            theirs = self._told.chunks_of(row)
            if len(theirs) and not any((theirs == place).any() for place in places):
                places.add(int(theirs[0]))
        return tuple(self._told.chunks.named(np.array(sorted(places), dtype=np.int64)))

    def _shown_name(self, row: int) -> str:
        return _shown_name(self._told.names[row], self._members.ids[row])


def title_of(entities: Sequence[Entity], relations: Sequence[Relation]) -> str:
    """The title of a report on a community with these members and relations among them."""
    titled = title_entities(entities, _worth(entities, relations))
    return _joined([_shown_name(entity.name, entity.id) for entity in titled])


def title_entities(entities: Sequence[Entity], worth: Mapping[str, float]) -> list[Entity]:
    """Choose the two or three most central entities; names of things before common words.

    Ties by id. Of names that contain each other only the first is taken, if there are others.
    """
    ranked = sorted(entities, key=lambda e: (-worth[e.id] * namely(e.name), e.id))
    return _central((entity.name, worth[entity.id], entity) for entity in ranked)


def _central(ranked: Iterable[tuple[str, float, T]]) -> list[T]:
    """Choose among items with their names and worths, the best first."""
    chosen: list[tuple[frozenset[str], float, T]] = []
    for name, worth, item in ranked:
        words = frozenset(_words_in(name))
        if all(not (words <= other or other <= words) for other, _, _ in chosen):
            chosen.append((words, worth, item))
        if len(chosen) == 3:
            break
    if len(chosen) == 3 and chosen[2][1] < chosen[0][1] / 4:
        chosen.pop()
    return [item for _, _, item in chosen]


def _joined(names: Sequence[str]) -> str:
    title = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
    return title[:1].upper() + title[1:]


def _worth(entities: Sequence[Entity], relations: Sequence[Relation]) -> dict[str, float]:
    """The same as in `weighing`, by id."""
    strength = inner_strength(relations)
    if not strength:
        return {entity.id: sqrt(len(entity.chunks)) or LEAST for entity in entities}
    return {entity.id: sqrt(strength.get(entity.id, 0.0)) or LEAST for entity in entities}


def _as_candidates(
    sentences: Sequence[_Sentence], named: Sequence[Sequence[int]], worth: Sequence[float]
) -> Candidates:
    """Sentences that name none but members."""
    factors = [
        sentence.quality * sqrt(sentence.quality) * (JOINING if len(names) > 1 else 1.0)
        for sentence, names in zip(sentences, named, strict=True)
    ]
    scores = [
        factor * _top([worth[name] for name in names]) for factor, names in zip(factors, named, strict=True)
    ]
    order = sorted(range(len(sentences)), key=lambda i: (-scores[i], sentences[i].place, i))
    begins = list(accumulate((len(names) for names in named), initial=0))
    return Candidates(
        sentence=order,
        place=[sentences[i].place for i in order],
        quality=[sentences[i].quality for i in order],
        factor=[factors[i] for i in order],
        score=[scores[i] for i in order],
        begin=[begins[i] for i in order],
        count=[len(named[i]) for i in order],
        named=[name for names in named for name in names],
    )


def _choose(
    candidates: Candidates, worth: Sequence[float], words: Callable[[int], frozenset[str]], most: int
) -> list[int] | None:
    """Choose sentences, the best first; returns positions of candidates, None if it takes those that were left out."""
    scores, places, sentences = candidates.score, candidates.place, candidates.sentence
    qualities, factors, named = candidates.quality, candidates.factor, candidates.named
    begins, counts = candidates.begin, candidates.count
    spoken: set[int] = set()
    # Scores only fall as members are spoken of, so the best is known once its own score is fresh.
    heap: list[tuple[float, int, int, int, int]] = []
    chosen: list[int] = []
    said: list[frozenset[str]] = []
    least = 0.0
    at, n = 0, len(scores)
    head = (-scores[0], places[0], sentences[0], 0, 0) if n else None
    while len(chosen) < most and (heap or head):
        if head is None or (heap and heap[0] < head):
            _, _, _, i, when = heapq.heappop(heap)
        else:
            i, when = at, 0
            at += 1
            if at == n and candidates.n_left_out:
                return None
            head = (-scores[at], places[at], sentences[at], at, 0) if at < n else None
        names = named[begins[i] : begins[i] + counts[i]]
        if when == len(chosen):
            if not chosen and qualities[i] >= LEGAL_NOTICE:
                least = _POOR
            chosen.append(i)
            said.append(words(sentences[i]))
            spoken.update(names)
        # What is poor, or repeats a chosen sentence, will never do; of the rest the score is made fresh.
        elif qualities[i] >= least and not _repeats(words(sentences[i]), said[when:]):
            value = _top([worth[name] * (_KNOWN if name in spoken else 1.0) for name in names])
            fresh = (-factors[i] * value, places[i], sentences[i], i, len(chosen))
            heapq.heappush(heap, fresh)
    return chosen


def _top(values: list[float]) -> float:
    if len(values) < TOP:
        return sum(values)  # of two terms, in either order
    values.sort()
    return sum(values[-TOP:])


def _sentence_of_names(names: Sequence[str], n_all: int) -> _Sentence:
    more = f" and {n_all - len(names)} more" if n_all > len(names) else ""
    # Its chunks are those of the names.
    text = (
        f"Mentioned together: {', '.join(names)}{more}." if n_all > 1 else f"Mentioned: {', '.join(names)}."
    )
    return _Sentence(text, -1, 1.0)


def _in_text_order(chosen: Sequence[_Sentence]) -> list[_Sentence]:
    # Sentences of one chunk keep the order in which they were chosen, as their offsets are not known here.
    return sorted(chosen, key=lambda sentence: sentence.place)


def _words_in(text: str) -> list[str]:
    found = _WORD.findall(text.casefold())
    if sum(map(len, found)) > _SPACED * len(found):  # a script without spaces: pairs of characters
        found = [word[i : i + 2] for word in found for i in range(max(len(word) - 1, 1))]
    return found


def _telling_words(text: str) -> frozenset[str]:
    """The longer words of a sentence; all, if all are short."""
    longer = _LONGER.findall(text.casefold())
    if longer and sum(map(len, longer)) <= _SPACED * len(longer):
        return frozenset(longer)
    words = _words_in(text)
    return frozenset([word for word in words if len(word) > 3]) or frozenset(words)


def _repeats(words: frozenset[str], said: Sequence[frozenset[str]]) -> bool:
    """Whether a sentence has too many words of another."""
    n = len(words)
    for other in said:  # noqa: SIM110 - done so often that a generator would cost as much as the rest
        if len(words & other) >= _ALIKE * (min(n, len(other)) or 1):
            return True
    return False


def _shown_name(name: str, id: str) -> str:
    return cut(tidy(name) or id, 60)
