"""How much a model extracts and writes: fitted to what it wrote before, else as measured on other models."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from statistics import fmean

from polygraph.indexing.estimate.window_structure import WindowStructure, structure_of
from polygraph.records import Extraction
from polygraph.text.normalize import normalize_name
from polygraph.text.tokens import count_tokens

MIN_WINDOWS = 2
"""Windows that a model must have read before a profile is fitted to them."""
_PENALTY = 1.5
"""Weight of what is known of other models in the power of a reply's growth: its variance given the length, 0.3 squared
for logarithms of replies, by that of the power, 0.25 squared for one between 0 and 1."""
_RECORD_TOKENS = 14
"""Tokens of a row beside its description: names, type, separators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """Output of a model that extracts. Rates are per 1,000 tokens of text, in windows of `window_tokens`."""

    entities: float
    """Different names; a name may have several rows, one for each passage that says something of it."""
    relations: float
    entity_tokens: float
    """Tokens of an entity's description."""
    relation_tokens: float
    """Tokens of a relation's description."""
    reply_tokens: float
    """Tokens of a first reply."""
    repeats: bool = False
    """True if one text describes several rows, as where sentences are quoted."""
    window_tokens: float = 1200.0
    power: float = 0.5
    """Exponent of a reply's growth with the length of the window. Of the same text in windows of 600 tokens, GPT-4
    named nearly twice as many entities as in windows of 2,400 (Edge et al. 2024, arXiv:2404.16130, on chunk size)."""
    common: float = 0.0
    """Share of single common words among the entities that are no names; these recur more than pairs of words."""
    error: float = 0.0
    """Relative error of the rates, two standard errors."""
    structures: tuple[WindowStructure, ...] = ()
    """Structures of windows that the model has read."""

    def amount(self, rate: float, n_tokens: float) -> float:
        """Return how much is extracted from, or written about, a window of `n_tokens`.

        >>> round(GPT_4O.amount(10.0, 1200)), round(GPT_4O.amount(10.0, 300))
        (12, 6)
        """
        return rate * self.window_tokens / 1000 * _relative(n_tokens, self.window_tokens, self.power)

    def scaled(self, factor: float) -> "ModelProfile":
        """Return a profile with `factor` times as many rows and tokens, each row as long as before."""
        return replace(
            self,
            entities=self.entities * factor,
            relations=self.relations * factor,
            reply_tokens=self.reply_tokens * factor,
        )


# Replies to extraction prompts in shared/data/graph-christmas-carol/llm_outputs.jsonl, each to about 1,200
# tokens of text, parsed and written in our notation: 84 by gpt-3.5-turbo (7.6 entities and 3.0 relations, 329
# tokens; 31 per record) and 108 by gpt-4o (8.6 and 5.9, 518 tokens; 36 per record).
GPT_3_5 = ModelProfile(entities=6.3, relations=2.5, entity_tokens=20, relation_tokens=20, reply_tokens=274)
GPT_4O = ModelProfile(entities=7.2, relations=4.9, entity_tokens=23, relation_tokens=22, reply_tokens=432)
# The graph that Microsoft GraphRAG made of the same book with one gleaning: 529 entities and 978 relations of 42
# windows of 1,200 tokens, at 36 tokens each. Entities that several windows name were counted once, which the
# gleaning, a second reply, is taken to outweigh.
THOROUGH = ModelProfile(
    entities=10.5, relations=19.4, entity_tokens=30, relation_tokens=25, reply_tokens=1075
)
DEFAULT_PROFILES = (GPT_3_5, GPT_4O, THOROUGH)
DEFAULT_BASIS = "measured on 192 replies of gpt-3.5-turbo and gpt-4o, and on a graph by Microsoft GraphRAG"


def fit_profile(
    windows: Sequence[tuple[int, Extraction, int]], *, power: float | None = None
) -> ModelProfile | None:
    """Fit a profile to windows that a model has read; None if there are too few, or no rows.

    Args:
        windows: tokens of the text, extracted rows, and tokens of the first reply, 0 if they are not known.
        power: exponent of the growth with the length of the window; None: fitted to these windows too.
    """
    if len(windows) < MIN_WINDOWS:
        return None
    text = sum(n for n, _, _ in windows)
    names = [len({normalize_name(row.name) for row in e.entities}) for _, e, _ in windows]
    n_entities = sum(names)
    relations = [row for _, e, _ in windows for row in e.relations]
    if not text or not n_entities:
        return None
    replies = [(n, written) for n, _, written in windows if written]
    rows = [(n, n_names + len(e.relations)) for (n, e, _), n_names in zip(windows, names, strict=True)]
    if power is None:
        power = _fit_power(replies or rows)
    window_tokens = text / len(windows)

    def rate(n_written: float, lengths: Iterable[int]) -> float:
        """Return what is written for 1,000 tokens, so that the amounts of these windows have the right sum."""
        return n_written / sum(_relative(n, window_tokens, power) for n in lengths) * 1000 / window_tokens

    lengths = [n for n, _, _ in windows]
    of_entities = [row.description for _, e, _ in windows for row in e.entities if row.description]
    of_relations = [row.description for row in relations]
    descriptions = of_entities + of_relations
    n_described, n_related = (sum(map(count_tokens, some)) for some in (of_entities, of_relations))
    written = n_described + n_related + _RECORD_TOKENS * (n_entities + len(relations))
    measured = [(_relative(n, window_tokens, power), y) for n, y in replies or rows]
    return ModelProfile(
        entities=rate(n_entities, lengths),
        relations=rate(len(relations), lengths),
        entity_tokens=n_described / n_entities,
        relation_tokens=n_related / len(relations) if relations else 0.0,
        reply_tokens=rate(sum(y for _, y in replies), [n for n, _ in replies])
        if replies
        else rate(written, lengths),
        repeats=len(set(descriptions)) < 0.8 * len(descriptions),
        window_tokens=window_tokens,
        power=power,
        error=ratio_of_sums(measured)[1],
        structures=tuple(structure_of(n, e) for n, e, _ in windows if e.entities),
    )


def ratio_of_sums(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Estimate the ratio of two sums from a sample of pairs ``(x, y)``, with two standard errors relative to it.

    Cochran (1977), Sampling Techniques, section 6.4, without the correction for a finite population.

    >>> ratio_of_sums([(10, 20), (20, 40)])
    (2.0, 0.0)
    """
    n, x, y = len(pairs), sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    if not x or not y:
        return 0.0, 1.0
    r = y / x
    if n < 2:
        return r, 1.0
    variance = sum((b - r * a) ** 2 for a, b in pairs) / (n - 1)
    return r, 2 * sqrt(variance / n) / (y / n)


def _relative(n_tokens: float, window_tokens: float, power: float) -> float:
    """Return how much is written about a window, relative to one of `window_tokens`."""
    relative: float = (n_tokens / window_tokens) ** power if n_tokens else 0.0
    return relative


def _fit_power(pairs: Sequence[tuple[float, float]]) -> float:
    """Fit the power between 0 and 1 with which what is written grows with the length of a text.

    By least squares of logarithms, with a penalty for its distance from that of other models, so that a few windows
    that hardly differ in length do not decide it.

    >>> round(_fit_power([(10, 7), (1_000, 7), (100_000, 7)]), 2), _fit_power([(400, 100), (400, 200)])
    (0.02, 0.5)
    """
    slope, variance = _log_slope(pairs)
    power = (slope * variance + GPT_4O.power * _PENALTY) / (variance + _PENALTY)
    return min(max(power, 0.0), 1.0)


def _log_slope(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the slope of the logarithms of some pairs, and the sum of the squared deviations of those of the first."""
    points = [(log(max(a, 1)), log(max(b, 1))) for a, b in pairs]
    x, y = fmean(a for a, _ in points), fmean(b for _, b in points)
    variance = sum((a - x) ** 2 for a, _ in points)
    return sum((a - x) * (b - y) for a, b in points) / variance if variance else 0.0, variance


# --- length of reports ------------------------------------------------------------------------------------

# Tokens of 134 reports in the same file, as JSON: gpt-3.5-turbo 498 on average, gpt-4o 782. Our prompt asks for at
# most 500 words, and for little where the context is short.
REPORT_TOKENS = (300.0, 500.0, 780.0)
REPORT_BASIS = "measured on 134 reports of gpt-3.5-turbo and gpt-4o"
_EMPTY_REPORT = 120
"""Tokens of a report's JSON and title, however short its context."""


@dataclass(frozen=True, slots=True)
class ReportLength:
    """Tokens of a report by the tokens of its context: ``base + scale * context ** power``, within bounds."""

    base: float
    scale: float
    power: float
    least: float
    most: float

    def tokens(self, context_tokens: float) -> float:
        """Return the length of a report."""
        wanted: float = self.base + self.scale * max(context_tokens, 1.0) ** self.power
        return min(max(wanted, self.least), self.most)


def default_report_length(tokens: float) -> ReportLength:
    """Return a length of at most `tokens`, hardly above that of the context."""
    return ReportLength(base=_EMPTY_REPORT, scale=1.0, power=1.0, least=_EMPTY_REPORT, most=tokens)


def fit_report_length(pairs: Sequence[tuple[int, int]], most: int) -> ReportLength | None:
    """Fit a power law to tokens of context and of report, with a power between 0 and 1; None without pairs.

    Args:
        pairs: tokens of the context and of the report.
        most: tokens of the longest reply.
    """
    if not pairs:
        return None
    slope, variance = _log_slope(pairs)
    power = min(max(slope, 0.0), 1.0) if variance > 0.1 else 0.0
    # Through the sum of the lengths, not of their logarithms: tokens are what is paid.
    scale = sum(b for _, b in pairs) / sum(max(a, 1) ** power for a, _ in pairs)
    return ReportLength(base=0.0, scale=scale, power=power, least=min(b for _, b in pairs) / 2, most=most)
