"""How much a model finds and writes: as it did before, else as others were measured to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from statistics import fmean

from polygraph.records import Extraction
from polygraph.text.tokens import count_tokens

LEAST_KNOWN = 2
"""Windows that a model must have read before its own habits are believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """Of an extractor. Rates are for 1,000 tokens of text, read in windows of about `window` tokens."""

    entities: float
    relations: float
    entity_tokens: float
    """Of a description."""
    relation_tokens: float
    written: float
    """Tokens of a first reply."""
    repeats: bool = False
    """True if one text describes several rows, as where sentences are quoted."""
    window: float = 1200.0
    power: float = 0.5
    """How what is written of a window grows with its length. Of the same text in windows of 600 tokens, GPT-4 named
    nearly twice as many entities as in windows of 2,400 (Edge et al. 2024, arXiv:2404.16130, on chunk size)."""
    common: float = 0.0
    """Share of single common words among what is taken for an entity and is no name: those recur more."""
    error: float = 0.0
    """Relative error of the rates, two standard errors."""

    def amount(self, rate: float, n_tokens: float) -> float:
        """How much is found in, or written of, a window.

        >>> round(GPT_4O.amount(10.0, 1200)), round(GPT_4O.amount(10.0, 300))
        (12, 6)
        """
        return rate * self.window / 1000 * (n_tokens / self.window) ** self.power if n_tokens else 0.0


# Replies to extraction prompts in shared/data/graph-christmas-carol/llm_outputs.jsonl, each to about 1,200
# tokens of text, parsed and written in our notation: 84 by gpt-3.5-turbo (7.6 entities and 3.0 relations, 329
# tokens; 31 per record) and 108 by gpt-4o (8.6 and 5.9, 518 tokens; 36 per record).
GPT_3_5 = Habits(entities=6.3, relations=2.5, entity_tokens=20, relation_tokens=20, written=274)
GPT_4O = Habits(entities=7.2, relations=4.9, entity_tokens=23, relation_tokens=22, written=432)
# The graph that Microsoft GraphRAG made of the same book with one gleaning: 529 entities and 978 relations of 42
# windows of 1,200 tokens, at 36 tokens each. Entities that several windows name were counted once, which the
# gleaning, a second reply, is taken to outweigh.
THOROUGH = Habits(entities=10.5, relations=19.4, entity_tokens=30, relation_tokens=25, written=1075)
DEFAULTS = (GPT_3_5, GPT_4O, THOROUGH)
BASIS = "measured on 192 replies of gpt-3.5-turbo and gpt-4o, and on a graph by Microsoft GraphRAG"

# Tokens of 134 reports in the same file, as JSON: gpt-3.5-turbo 498 on average, gpt-4o 782. Our prompt asks for at
# most 500 words, and for little where there is little material.
REPORT_TOKENS = (300.0, 500.0, 780.0)
REPORT_BASIS = "measured on 134 reports of gpt-3.5-turbo and gpt-4o"
_FRAME = 120
"""Tokens of a report's JSON and title, whatever the material."""


def scaled(habits: Habits, factor: float) -> Habits:
    """The same manner of writing, more or less of it."""
    return replace(
        habits,
        entities=habits.entities * factor,
        relations=habits.relations * factor,
        written=habits.written * factor,
    )


def learn(known: Sequence[tuple[int, Extraction, int]]) -> Habits | None:
    """Learn habits from windows that were read.

    Args:
        known: tokens of a window's text, its rows, and the tokens of the first reply, 0 if that is not known.
    """
    if len(known) < LEAST_KNOWN:
        return None
    text = sum(n for n, _, _ in known) / 1000
    entities = [row for _, e, _ in known for row in e.entities]
    relations = [row for _, e, _ in known for row in e.relations]
    if not text or not entities:
        return None
    replies = [(n, written) for n, _, written in known if written]
    told = [row.description for row in entities] + [row.description for row in relations]
    record = fmean(count_tokens(d) for d in told) + 14  # names, type, marks
    rate = ratio(replies)[0] * 1000 if replies else record * len(told) / text
    return Habits(
        entities=len(entities) / text,
        relations=len(relations) / text,
        entity_tokens=fmean(count_tokens(row.description) for row in entities),
        relation_tokens=fmean(count_tokens(row.description) for row in relations) if relations else 0.0,
        written=rate,
        repeats=len(set(told)) < 0.8 * len(told),
        window=text * 1000 / len(known),
        # The windows to come are as long as these: no need to know how habits change with length.
        power=1.0,
        error=ratio(replies or [(n, len(e.entities) + len(e.relations)) for n, e, _ in known])[1],
    )


def ratio(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Estimate the ratio of two sums from a sample, with two standard errors relative to it.

    Cochran (1977), Sampling Techniques, section 6.4, without the correction for a finite population.

    >>> ratio([(10, 20), (20, 40)])
    (2.0, 0.0)
    """
    n, x, y = len(pairs), sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    if not x or not y:
        return 0.0, 1.0
    r = y / x
    if n < 2:
        return r, 1.0
    spread = sum((b - r * a) ** 2 for a, b in pairs) / (n - 1)
    return r, 2 * sqrt(spread / n) / (y / n)


@dataclass(frozen=True, slots=True)
class ReportHabits:
    """Tokens of a report by the tokens of its material: ``base + scale * material ** power``, within bounds."""

    base: float
    scale: float
    power: float
    least: float
    most: float

    def tokens(self, material: float) -> float:
        """Length of a report."""
        wanted: float = self.base + self.scale * max(material, 1.0) ** self.power
        return min(max(wanted, self.least), self.most)


def typical_report(tokens: float) -> ReportHabits:
    """A report of usual length; of little material it is hardly longer than that."""
    return ReportHabits(base=_FRAME, scale=1.0, power=1.0, least=_FRAME, most=tokens)


def learn_reports(pairs: Sequence[tuple[int, int]], most: int) -> ReportHabits | None:
    """Fit a power law to tokens of material and of the report, its power between 0 and 1.

    Args:
        pairs: at least one, else there is nothing to learn.
        most: the longest reply.
    """
    points = [(log(max(a, 1)), log(max(b, 1))) for a, b in pairs]
    if not points:
        return None
    x, y = fmean(a for a, _ in points), fmean(b for _, b in points)
    spread = sum((a - x) ** 2 for a, _ in points)
    power = sum((a - x) * (b - y) for a, b in points) / spread if spread > 0.1 else 0.0
    power = min(max(power, 0.0), 1.0)
    # Through the sum of the lengths, not of their logarithms: it is tokens that are paid.
    scale = sum(b for _, b in pairs) / sum(max(a, 1) ** power for a, _ in pairs)
    return ReportHabits(base=0.0, scale=scale, power=power, least=min(b for _, b in pairs) / 2, most=most)
