"""The rows that a model with some profile might extract from a window, found without a model.

Names are found by their capitals. As many are kept as the model would extract, the most frequent in the window first;
where there are too few, common words and pairs of neighbouring content words make up the number. They are joined as in
a window that the model has read. Where it has read none, they are joined by as many relations as it would write: names
that share a sentence, nearest first, then neighbours across sentences.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from polygraph.extract.nlp.capitalized_names import capitalized_spans
from polygraph.indexing.estimate.model_profile import ModelProfile
from polygraph.indexing.estimate.window_structure import choose_structure
from polygraph.records import EntityRow, Extraction, RelationRow, Span, Window
from polygraph.text.normalize import normalize_name
from polygraph.text.sentences import sentence_spans
from polygraph.text.tokens import truncate
from polygraph.text.words import STOP_WORDS

_WORD = re.compile(r"[^\W\d_][\w’'-]{3,40}")
_CHARACTERS_PER_TOKEN = 6
"""Characters of a sentence that are cut to a description, for each of its tokens: more than enough."""
_SHARES = (0, 0.25, 0.5, 0.75, 1)
"""Shares of common words that `fit_common_words` tries."""

_Occurrences: TypeAlias = dict[str, list[tuple[int, int, int]]]
"""Sentence, start and end of each occurrence of a name."""


def simulate_extraction(window: Window, n_tokens: int, profile: ModelProfile) -> Extraction:
    """Return rows as a model with this profile might write them.

    Args:
        window: to read.
        n_tokens: tokens of its text.
        profile: of the model.
    """
    text = window.text
    spans = sentence_spans(text)
    names, found = _names(text, spans, max(1, round(profile.amount(profile.entities, n_tokens))), profile)
    describe = _description_writer(text, spans, profile, n_tokens)
    entities = tuple(
        EntityRow(
            name=name,
            type="concept",
            description=describe(name, found[name][0][0], profile.entity_tokens),
            spans=_spans(window, found[name]),
        )
        for name in sorted(names, key=lambda name: found[name][0])
    )
    structure = choose_structure(profile.structures, window.id, n_tokens)
    if structure is not None:
        ranked = _most_frequent({name: found[name] for name in names}, len(names))
        pairs = [
            (ranked[a], ranked[b], _shared_sentence(found[ranked[a]], found[ranked[b]]))
            for a, b in structure.pairs_of(len(ranked))
        ]
    else:
        pairs = _pairs(names, found, round(profile.amount(profile.relations, n_tokens)))
    chunks = {row.name: tuple(dict.fromkeys(s.chunk for s in row.spans)) for row in entities}
    relations = tuple(
        RelationRow(
            source=a,
            target=b,
            predicate="is related to",
            description=describe(f"{a} and {b}", k, profile.relation_tokens),
            strength=5.0,
            chunks=tuple(c for c in chunks[a] if c in chunks[b]) or chunks[a][:1],
        )
        for a, b, k in pairs
    )
    return Extraction(window=window.id, entities=entities, relations=relations)


def fit_common_words(known: Sequence[tuple[Window, int, Extraction]], profile: ModelProfile) -> float:
    """Return the share of common words that gives the known windows the right number of different names.

    Args:
        known: windows, tokens of their text, and the rows that the model extracted.
        profile: of the model.

    Returns:
        One of `_SHARES`; of equally good ones the smallest.
    """
    wanted = len({normalize_name(row.name) for _, _, e in known for row in e.entities})

    def difference(share: float) -> int:
        tried = replace(profile, common=share)
        names = {
            normalize_name(row.name) for w, n, _ in known for row in simulate_extraction(w, n, tried).entities
        }
        return abs(len(names) - wanted)

    return min(_SHARES, key=lambda share: (difference(share), share))


def _names(
    text: str, spans: Sequence[tuple[int, int]], wanted: int, profile: ModelProfile
) -> tuple[list[str], _Occurrences]:
    """Return the names of the entities, best first, and the occurrences of these and others."""
    found: _Occurrences = {}
    certain: set[str] = set()
    for k, (begin, end) in enumerate(spans):
        for span in capitalized_spans(text[begin:end]):
            if span.date:
                continue
            name = text[begin + span.start : begin + span.end]
            found.setdefault(name, []).append((k, begin + span.start, begin + span.end))
            if not span.doubtful:
                certain.add(name)
    names = _most_frequent({name: where for name, where in found.items() if name in certain}, wanted)
    missing = wanted - len(names)
    if missing > 0:
        words, pairs = _content_words(text, spans)
        n_words = round(missing * profile.common)
        for extra, n in ((words, n_words), (pairs, missing - n_words)):
            chosen = _most_frequent(extra, n)
            names += [name for name in chosen if name not in found]
            found |= {name: extra[name] for name in chosen if name not in found}
    return names, found


def _most_frequent(found: _Occurrences, n: int) -> list[str]:
    """Return the `n` most frequent names; ties by first occurrence."""
    return sorted(found, key=lambda name: (-len(found[name]), found[name][0]))[:n]


def _content_words(text: str, spans: Sequence[tuple[int, int]]) -> tuple[_Occurrences, _Occurrences]:
    """Return content words, which recur, and pairs of neighbouring ones, which seldom do."""
    single: _Occurrences = {}
    pairs: _Occurrences = {}
    for k, (begin, end) in enumerate(spans):
        words = [m for m in _WORD.finditer(text, begin, end) if m.group().lower() not in STOP_WORDS]
        for word in words:
            single.setdefault(word.group().lower(), []).append((k, word.start(), word.end()))
        for a, b in pairwise(words):
            if b.start() - a.end() <= 2:
                name = f"{a.group()} {b.group()}".lower()
                pairs.setdefault(name, []).append((k, a.start(), b.end()))
    return single, pairs


def _description_writer(
    text: str, spans: Sequence[tuple[int, int]], profile: ModelProfile, n_tokens: int
) -> Callable[[str, int, float], str]:
    """Return a function that writes a description of the right length about a name in a sentence.

    Where the model quotes, descriptions from one sentence are the same part of it; else each begins with its name.
    """
    described = (profile.entity_tokens + profile.relation_tokens) / 2
    part = min(1.0, described * len(spans) / max(1, n_tokens))

    def describe(subject: str, k: int, wanted: float) -> str:
        begin, end = spans[k]
        if profile.repeats:
            return " ".join(text[begin : begin + max(1, round(part * (end - begin)))].split())
        source = " ".join(text[begin : begin + round(wanted) * _CHARACTERS_PER_TOKEN].split())
        return truncate(f"{subject}: {source}", max(1, round(wanted)))

    return describe


def _spans(window: Window, occurrences: Sequence[tuple[int, int, int]]) -> tuple[Span, ...]:
    spans = []
    for _, begin, end in occurrences:
        at = window.start + begin
        chunk = next((c for c in window.chunks if c.start <= at < c.end), window.chunks[0])
        spans.append(Span(window.document, chunk.id, at, window.start + end))
    return tuple(spans)


def _shared_sentence(a: Sequence[tuple[int, int, int]], b: Sequence[tuple[int, int, int]]) -> int:
    """Return the first sentence with occurrences of both names, else the first of the first name."""
    of_b = {k for k, _, _ in b}
    return next((k for k, _, _ in a if k in of_b), a[0][0])


def _pairs(
    names: Sequence[str], found: Mapping[str, Sequence[tuple[int, int, int]]], wanted: int
) -> list[tuple[str, str, int]]:
    """Return pairs of names, each with a sentence: those that share it first, then neighbours across sentences."""
    occurrences = sorted((begin, k, name) for name in names for k, begin, _ in found[name])
    near: Counter[tuple[str, str]] = Counter()
    sentence: dict[tuple[str, str], int] = {}
    for inside in (True, False):
        for (_, k, a), (_, m, b) in pairwise(occurrences):
            pair = (a, b) if a < b else (b, a)
            if a != b and (k == m) == inside and (inside or pair not in near):
                near[pair] += 1
                sentence.setdefault(pair, k)
        if len(near) >= wanted:
            break
    return [(a, b, sentence[a, b]) for a, b in list(near)[:wanted]]
