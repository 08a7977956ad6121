"""Reports made of sentences of the documents, where no model writes them.

The sentences are those of the descriptions. Without a model these are sentences of the documents, each with the
entities that it names. The steps are described in docs/design/extractive-reports.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt

import numpy as np

from polygraph.arrays import Array
from polygraph.graph.reports.members import Members, Outline
from polygraph.graph.reports.scoring import JOINS, Candidates, ScoredCommunity, score_communities
from polygraph.graph.reports.selection import salient_words, select, sum_of_top
from polygraph.graph.reports.sentence_quality import LEGAL_NOTICE, end_sentence, quality, split_sentences
from polygraph.graph.reports.sentence_table import SentenceTable
from polygraph.graph.reports.titles import is_named, join_names, most_central, shown_name
from polygraph.records import Community, Finding

_MAX_FINDINGS = 5
_LONG_SUMMARY = 420
"""Characters of two sentences from which on the summary is one sentence."""
_MAX_NAMES = 8
"""Names in a report of names alone."""
_PASSAGES = 4
"""Chunks that are read where nothing is described."""
_MAX_SEARCHED = 100
"""Members whose names are searched for in them."""
_BATCH = 50_000
"""Members, their descriptions and relations, of communities that are scored together."""
_CACHED_WORDS = 2_000
"""Sentences whose words are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveReport:
    """The text of a report."""

    title: str
    summary: str
    findings: tuple[Finding, ...]
    chunks: tuple[str, ...]
    """Sources of all of it, also of the names in the title."""
    legal: float
    """Share of the sentences that are legal notices, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    chunk: int
    """Position in `SentenceTable.chunks`; -1 if it has none."""
    quality: float


class ExtractiveWriter:
    """Composes reports.

    Args:
        members: of the communities.
        table: the sentences of their graph.
        chunk_text: texts of chunks by id; requested only for communities without any description.
        language: of the documents.
    """

    def __init__(
        self,
        members: Members,
        table: SentenceTable,
        chunk_text: Callable[[Sequence[str]], Mapping[str, str]],
        language: str,
    ) -> None:
        self._members = members
        self._table = table
        self._chunk_text = chunk_text
        self._language = language
        self._words: dict[int, frozenset[str]] = {}

    def write(self, communities: Iterable[Community | Outline]) -> Iterator[ExtractiveReport]:
        """Compose the reports on some communities, in the order given.

        A sentence scores the importance of the members that it names (the best three), more if it names several, less
        if it is also about others, times its quality. Sentences are chosen greedily (see `select`). The best one or
        two make the summary, up to five more the findings; both are in the order of the documents.
        """
        for batch in self._batches(communities):
            for scored in score_communities(batch, self._members, self._table):
                yield self._compose(scored)

    def _batches(self, communities: Iterable[Community | Outline]) -> Iterator[list[Array]]:
        """Yield rows of members of communities that are scored together: enough for arrays to pay."""
        batch: list[Array] = []
        size = 0
        sizes = 1 + np.diff(self._table.entity_offsets) + self._members.n_relations()
        for community in communities:
            rows = self._members.rows(community)
            own = int(sizes[rows].sum())
            if batch and size + own > _BATCH:
                yield batch
                batch, size = [], 0
            batch.append(rows)
            size += own
        if batch:
            yield batch

    def _compose(self, scored: ScoredCommunity) -> ExtractiveReport:
        table, rows, importance = self._table, scored.rows, scored.importance
        chosen = self._from_descriptions(scored) or self._from_passages(scored)
        titled = most_central((table.names[rows[i]], importance[i], rows[i]) for i in scored.central)
        named = titled
        if not chosen:
            ranked = sorted(zip(importance, rows, strict=True), key=lambda pair: (-pair[0], pair[1]))
            named = [row for _, row in ranked[:_MAX_NAMES]]
            chosen = [_sentence_of_names([self._shown_name(row) for row in named], len(rows))]
        n = 2 if len(chosen) > 1 and len(chosen[0].text) + len(chosen[1].text) < _LONG_SUMMARY else 1
        # Two sentences and no more read better as two statements.
        n = 1 if len(chosen) == 2 else n
        # Sentences of one chunk keep the order of choice, as their offsets are not known here.
        summary, rest = (sorted(part, key=lambda s: s.chunk) for part in (chosen[:n], chosen[n:]))
        return ExtractiveReport(
            title=join_names([self._shown_name(row) for row in titled]),
            summary=" ".join(end_sentence(sentence.text) for sentence in summary),
            findings=tuple(
                Finding(summary=end_sentence(sentence.text), chunks=(table.chunks[sentence.chunk],))
                for sentence in rest
            ),
            chunks=self._sources(chosen, named),
            legal=sum(sentence.quality < LEGAL_NOTICE for sentence in chosen) / len(chosen),
        )

    def _from_descriptions(self, scored: ScoredCommunity) -> list[_Sentence]:
        candidates = scored.candidates
        chosen = select(candidates, scored.importance, self._words_of, 2 + _MAX_FINDINGS)
        sentences = (candidates.sentence[i] for i in chosen)
        return [
            _Sentence(self._with_subject(n), candidates.chunk[n], candidates.quality[n]) for n in sentences
        ]

    def _with_subject(self, sentence: int) -> str:
        """Return the text of a sentence, below the names of the one or two entities that it is about if it has neither.

        A model describes an entity as "Publication that printed a copy of the balance sheet", and says of a relation
        that "he was shown the will".
        """
        table, text = self._table, self._table.text(sentence)
        begin, end = table.name_offsets[sentence : sentence + 2]
        rows = table.named[begin:end].tolist()
        if len(rows) > 2 or any(is_named(table.names[row], text) for row in rows):
            return text
        return f"{join_names([self._shown_name(row) for row in rows])}: {text}"

    def _words_of(self, sentence: int) -> frozenset[str]:
        words = self._words.get(sentence)
        if words is None:
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            words = self._words[sentence] = salient_words(self._table.text(sentence))
        return words

    def _from_passages(self, scored: ScoredCommunity) -> list[_Sentence]:
        """Choose sentences of the chunks that mention most members."""
        table, rows = self._table, scored.rows
        mentions = Counter(chunk for row in rows for chunk in table.chunks_of(row).tolist())
        chunks = sorted(mentions, key=lambda chunk: (-mentions[chunk], chunk))[:_PASSAGES]
        names = [table.names[row].casefold() for row in rows[:_MAX_SEARCHED]]
        texts = self._chunk_text([table.chunks[chunk] for chunk in chunks])
        sentences: list[_Sentence] = []
        named: list[list[int]] = []
        for chunk in chunks:
            for text in split_sentences(texts.get(table.chunks[chunk], ""), self._language):
                folded = text.casefold()
                inside = [i for i, name in enumerate(names) if name in folded]
                if inside:
                    sentences.append(_Sentence(text, chunk, quality(text, self._language)))
                    named.append(inside)
        candidates = _as_candidates(sentences, named, scored.importance)
        words = [salient_words(sentence.text) for sentence in sentences]
        chosen = select(candidates, scored.importance, words.__getitem__, 2 + _MAX_FINDINGS)
        return [sentences[candidates.sentence[i]] for i in chosen]

    def _sources(self, chosen: Sequence[_Sentence], named: Sequence[int]) -> tuple[str, ...]:
        """Return the chunks of the sentences, and one for each name that none of them mentions."""
        sources = {sentence.chunk for sentence in chosen if sentence.chunk >= 0}
        for row in named:
            chunks = self._table.chunks_of(row).tolist()
            if chunks and sources.isdisjoint(chunks):
                sources.add(chunks[0])
        return tuple(self._table.chunks[chunk] for chunk in sorted(sources))

    def _shown_name(self, row: int) -> str:
        return shown_name(self._table.names[row], self._members.ids[row])


def _as_candidates(
    sentences: Sequence[_Sentence], named: Sequence[Sequence[int]], importance: Sequence[float]
) -> Candidates:
    """Return sentences that name members only, as `score_communities` would."""
    factors = [
        sentence.quality * sqrt(sentence.quality) * (JOINS if len(names) > 1 else 1.0)
        for sentence, names in zip(sentences, named, strict=True)
    ]
    scores = [
        factor * sum_of_top([importance[name] for name in names])
        for factor, names in zip(factors, named, strict=True)
    ]
    order = sorted(range(len(sentences)), key=lambda i: (-scores[i], sentences[i].chunk, i))
    begins = list(accumulate((len(names) for names in named), initial=0))
    return Candidates(
        sentence=order,
        score=[scores[i] for i in order],
        factor=[factors[i] for i in order],
        begin=[begins[i] for i in order],
        count=[len(named[i]) for i in order],
        named=[name for names in named for name in names],
        chunk=[sentence.chunk for sentence in sentences],
        quality=[sentence.quality for sentence in sentences],
    )


def _sentence_of_names(names: Sequence[str], n_all: int) -> _Sentence:
    more = f" and {n_all - len(names)} more" if n_all > len(names) else ""
    # Its sources are those of the names.
    text = (
        f"Mentioned together: {', '.join(names)}{more}." if n_all > 1 else f"Mentioned: {', '.join(names)}."
    )
    return _Sentence(text, -1, 1.0)
