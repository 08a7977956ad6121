"""A rehearsal of the build with no model: how large the graph will be, and what its reports are made of.

Windows that the model has read bring their own rows. In the others a reader that goes by capitals finds names;
of these as many are kept as the model would find, the most frequent in the window first, topped up with pairs of
neighbouring content words where there are too few, and joined to as many relations. Resolution, merging,
communities and the material of reports are then the code of the build itself, so that what several windows
share, and how the number of communities grows more slowly than the text, is counted and not guessed.

Where enough windows are known, these alone are rehearsed both ways, with the model's rows and with ours: to what
the known windows give, the others add what they add in a rehearsal with our rows throughout, times the ratio of the
two. That is averaged with a rehearsal of the mixed rows, which weighs as much as the share of windows that is known.
Common words are mixed with pairs of words so that the known windows have as many different names as they do.

More than `MOST_WINDOWS` are not rehearsed: on nested samples of an eighth, a quarter, a half and the whole of so
many, taken document by document in a seeded order, a power law is fitted to each figure by least squares of
logarithms, and continued from the largest sample.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log
from typing import TypeAlias

import numpy as np

from polygraph.extract.nlp.capitalized_names import capitalised_spans
from polygraph.extract.resolution.resolve import Mention, resolve
from polygraph.graph.communities import communities
from polygraph.graph.merge.view import GraphView, merge
from polygraph.graph.reports.context import Material, Materials
from polygraph.graph.reports.members import Members
from polygraph.indexing.estimate.model_profile import Habits, ReportHabits
from polygraph.models.protocols import Vectors
from polygraph.records import Community, EntityRow, Extraction, RelationRow, Report, Span, Window
from polygraph.text.normalize import normalise
from polygraph.text.sentences import sentences
from polygraph.text.tokens import truncate
from polygraph.text.words import STOP

MOST_WINDOWS = 3_000
"""Windows that are rehearsed: about 4 million tokens of text, a minute."""
LEAST_COMPARED = 3
"""Known windows that a comparison needs."""
_SAMPLES = (8, 4, 2, 1)
_FEW = 3.0
_SEED = 20
_WORD = re.compile(r"[^\W\d_][\w’'-]{3,40}")
_Places: TypeAlias = dict[str, list[tuple[int, int, int]]]
"""Sentence, start and end of each place where a name stands."""
_CHARACTERS = 6
"""Of a description, for each of its tokens: enough to cut from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The graph as it might be."""

    view: GraphView
    communities: tuple[Community, ...]
    materials: tuple[Material, ...]
    """Of each community."""
    embedded: tuple[str, ...]
    """Names whose vectors resolution asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How a figure of a sample goes on."""

    power: float
    """Of the number of windows."""
    error: float
    """Relative error of continuing, by how well the half foretold the whole."""


def reading_by_capitals(window: Window, n_tokens: int, habits: Habits) -> Extraction:
    """Rows as a model with some habits might write them; see the module."""
    text = window.text
    spans = sentences(text)
    found: dict[str, list[tuple[int, int, int]]] = {}
    sure: set[str] = set()
    for k, (begin, end) in enumerate(spans):
        for span in capitalised_spans(text[begin:end]):
            if span.date:
                continue
            name = text[begin + span.start : begin + span.end]
            found.setdefault(name, []).append((k, begin + span.start, begin + span.end))
            if not span.doubtful:
                sure.add(name)
    wanted = max(1, round(habits.amount(habits.entities, n_tokens)))
    names = sorted(
        (name for name in found if name in sure), key=lambda name: (-len(found[name]), found[name][0])
    )[:wanted]
    missing = wanted - len(names)
    if missing > 0:
        words, pairs_of_words = _common(text, spans)
        n_words = round(missing * habits.common)
        for extra, n in ((words, n_words), (pairs_of_words, missing - n_words)):
            chosen = sorted(extra, key=lambda name: (-len(extra[name]), extra[name][0]))[:n]
            names += [name for name in chosen if name not in found]
            found |= {name: extra[name] for name in chosen if name not in found}
    described = _descriptions(text, spans, habits, n_tokens)
    entities = tuple(
        EntityRow(
            name=name,
            type="concept",
            description=described(name, found[name][0][0], habits.entity_tokens),
            spans=_spans(window, found[name]),
        )
        for name in sorted(names, key=lambda name: found[name][0])
    )
    pairs = _pairs(names, found, round(habits.amount(habits.relations, n_tokens)))
    chunks = {row.name: tuple(dict.fromkeys(s.chunk for s in row.spans)) for row in entities}
    relations = tuple(
        RelationRow(
            source=a,
            target=b,
            predicate="is related to",
            description=described(f"{a} and {b}", k, habits.relation_tokens),
            strength=5.0,
            chunks=tuple(c for c in chunks[a] if c in chunks[b]) or chunks[a][:1],
        )
        for a, b, k in pairs
    )
    return Extraction(window=window.id, entities=entities, relations=relations)


def rehearse(
    windows: Sequence[Window],
    rows: Iterable[Extraction],
    *,
    community_size: int,
    room: int,
    report: ReportHabits,
    materials: bool = True,
) -> Rehearsal:
    """Make the graph, its communities and the material of their reports.

    Args:
        windows: whose chunks the rows name.
        rows: of each window.
        community_size: as for the build.
        room: tokens of a report's material.
        report: how long a report will be that stands for a part of a larger community.
        materials: False to leave them out.
    """
    extractions = list(rows)
    document = {w.id: w.document for w in windows}
    order = {c.id: n for n, c in enumerate(c for w in windows for c in w.chunks)}
    texts = {c.id: c.text for w in windows for c in w.chunks}
    mentions = [
        Mention(
            document=document[e.window],
            window=e.window,
            name=row.name,
            type=row.type,
            description=row.description,
            chunks=tuple(dict.fromkeys(span.chunk for span in row.spans)),
        )
        for e in extractions
        for row in e.entities
    ]
    embedded: list[str] = []

    def similar(names: Sequence[str]) -> Vectors:
        # Zeros are similar to nothing: names that only vectors would join stay apart.
        embedded.extend(names)
        return np.zeros((len(names), 1), dtype=np.float32)

    view = merge(extractions, resolve(mentions, similar=similar).entity_of, order)
    found = list(
        communities(
            view.graph(),
            [e.id for e in view.entities],
            [e.chunks for e in view.entities],
            max_size=community_size,
        )
    )
    made: dict[str, Material] = {}
    if materials:
        writer = Materials(Members(found, view), lambda ids: {i: texts[i] for i in ids if i in texts}, room)
        written: dict[str, Report] = {}
        for community in sorted(found, key=lambda c: -c.level):
            material = made[community.id] = writer.of(community, written)
            # The length is what matters: it decides how many parts of a larger community find room.
            length = report.tokens(len(material.text) / 4)
            written[community.id] = Report(
                community=community.id,
                level=community.level,
                title="",
                summary="word " * round(length),
                findings=(),
                rating=5.0,
                chunks=community.chunks[:1],
            )
    return Rehearsal(
        view=view,
        communities=tuple(found),
        materials=tuple(made[c.id] for c in found if c.id in made),
        embedded=tuple(embedded),
    )


def nested_samples(windows: Sequence[Window], most: int) -> list[list[Window]]:
    """Draw samples, each a part of the next, whole documents as far as they fit; smallest first."""
    by_document: dict[str, list[Window]] = {}
    for window in windows:
        by_document.setdefault(window.document, []).append(window)
    names = sorted(by_document)
    drawn: list[Window] = []
    for i in np.random.default_rng(_SEED).permutation(len(names)).tolist():
        drawn += by_document[names[i]]
        if len(drawn) >= most:
            break
    drawn = drawn[:most]
    return [
        sorted(drawn[: -(-len(drawn) // part)], key=lambda w: (w.document, w.ordinal)) for part in _SAMPLES
    ]


def growth(sizes: Sequence[int], values: Sequence[float], n: int) -> Growth:
    """Fit ``value = a * size ** power`` and say how far it may be off at `n`.

    >>> growth([100, 200, 400, 800], [10, 20, 40, 80], 1600)
    Growth(power=1.0, error=0.0)
    """
    points = [(log(s), log(v)) for s, v in zip(sizes, values, strict=True) if s > 0 and v > 0]
    if len(points) < 2:
        return Growth(power=1.0, error=1.0)
    power = _slope(points)
    # What the same rule would have got wrong from the second last sample to the last, for each doubling.
    (x0, y0), (x1, y1) = points[-2], points[-1]
    before = _slope(points[:-1]) if len(points) > 2 else 1.0
    step = max(x1 - x0, 1e-9)
    error = abs(y1 - (y0 + before * step)) / step * max(0.0, log(n) - x1)
    return Growth(power=round(power, 6), error=round(min(error, 1.0), 6))


def _slope(points: Sequence[tuple[float, float]]) -> float:
    x = sum(a for a, _ in points) / len(points)
    y = sum(b for _, b in points) / len(points)
    spread = sum((a - x) ** 2 for a, _ in points)
    return sum((a - x) * (b - y) for a, b in points) / spread if spread else 1.0


def compared(
    windows: Sequence[Window],
    known: Mapping[str, Extraction],
    ours: Callable[[Window], Extraction],
    rehearsed: Callable[[Sequence[Window], Sequence[Extraction]], tuple[float, ...]],
) -> tuple[float, ...] | None:
    """Continue from the known windows to all, for each figure; see the module. None if too few are known."""
    some = [w for w in windows if w.id in known]
    if len(some) < LEAST_COMPARED:
        return None
    theirs = rehearsed(some, [known[w.id] for w in some])
    mine = rehearsed(some, [ours(w) for w in some])
    whole = rehearsed(windows, [ours(w) for w in windows])
    # A few are added to both sides of the ratio, because small graphs are a matter of luck.
    return tuple(
        a + max(0.0, c - b) * (a + _FEW) / (b + _FEW) for a, b, c in zip(theirs, mine, whole, strict=True)
    )


def share_of_common(
    known: Sequence[tuple[Window, int, Extraction]],
    habits: Habits,
    shares: Sequence[float] = (0, 0.25, 0.5, 0.75, 1),
) -> float:
    """Find the share of common words that gives the known windows the right number of different names."""
    theirs = {normalise(row.name) for _, _, e in known for row in e.entities}

    def off(share: float) -> int:
        tried = replace(habits, common=share)
        names = {
            normalise(row.name) for w, n, _ in known for row in reading_by_capitals(w, n, tried).entities
        }
        return abs(len(names) - len(theirs))

    return min(shares, key=lambda share: (off(share), share))


# --- parts of the reading -----------------------------------------------------------------------------


def _common(text: str, spans: Sequence[tuple[int, int]]) -> tuple[_Places, _Places]:
    """Content words, which recur, and pairs of neighbouring ones, which do so little."""
    single: _Places = {}
    found: _Places = {}
    for k, (begin, end) in enumerate(spans):
        words = [m for m in _WORD.finditer(text, begin, end) if m.group().lower() not in STOP]
        for word in words:
            single.setdefault(word.group().lower(), []).append((k, word.start(), word.end()))
        for a, b in pairwise(words):
            if b.start() - a.end() <= 2:
                name = f"{a.group()} {b.group()}".lower()
                found.setdefault(name, []).append((k, a.start(), b.end()))
    return single, found


def _descriptions(
    text: str, spans: Sequence[tuple[int, int]], habits: Habits, n_tokens: int
) -> Callable[[str, int, float], str]:
    """Texts of the right length: the same part of each sentence where the model quotes, else one of its own."""
    told = (habits.entity_tokens + habits.relation_tokens) / 2
    part = min(1.0, told * len(spans) / max(1, n_tokens))

    def describe(about: str, k: int, wanted: float) -> str:
        begin, end = spans[k]
        if habits.repeats:
            return " ".join(text[begin : begin + max(1, round(part * (end - begin)))].split())
        source = f"{about}: {' '.join(text[begin : begin + round(wanted) * _CHARACTERS].split())}"
        return truncate(source, max(1, round(wanted)))

    return describe


def _spans(window: Window, places: Sequence[tuple[int, int, int]]) -> tuple[Span, ...]:
    found = []
    for _, begin, end in places:
        at = window.start + begin
        chunk = next((c for c in window.chunks if c.start <= at < c.end), window.chunks[0])
        found.append(Span(window.document, chunk.id, at, window.start + end))
    return tuple(found)


def _pairs(
    names: Sequence[str], found: Mapping[str, Sequence[tuple[int, int, int]]], wanted: int
) -> list[tuple[str, str, int]]:
    """Names that share a sentence, nearest first in the text; then neighbours across sentences."""
    places = sorted((begin, k, name) for name in names for k, begin, _ in found[name])
    near: Counter[tuple[str, str]] = Counter()
    sentence: dict[tuple[str, str], int] = {}
    for inside in (True, False):
        for (_, k, a), (_, m, b) in pairwise(places):
            pair = (a, b) if a < b else (b, a)
            if a != b and (k == m) == inside and (inside or pair not in near):
                near[pair] += 1
                sentence.setdefault(pair, k)
        if len(near) >= wanted:
            break
    chosen = list(near)[:wanted]
    return [(a, b, sentence[a, b]) for a, b in chosen]
