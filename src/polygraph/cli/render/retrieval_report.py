"""Show in a terminal what methods found against known evidence."""

from polygraph.cli.render import answer as show
from polygraph.evaluate.metrics.retrieval import metric_unit
from polygraph.evaluate.records import Unit
from polygraph.evaluate.reports.retrieval_report import RetrievalReport
from polygraph.evaluate.statistics.intervals import Interval
from polygraph.text.prose import count_noun

_MAX_PAIRS = 10
"""Largest number of pairs of methods that are all shown: those of five methods."""
_CELL = 16
"""Width of a mean with its interval."""


def show_retrieval_report(found: RetrievalReport, depths: list[int]) -> None:
    """Print what methods found: the metrics, what they cost, by type of question, overlaps and conclusions."""
    best = max(found.methods, key=lambda m: m.scores.metrics[found.metric].mean).name
    head = f"{found.metric} [95%]"
    room = show.out.width - max(len(m.name) for m in found.methods) - len(head) - 10
    wanted = _columns(found.metric, list(found.methods[0].scores.metrics), depths, room)
    rows = [
        (
            m.name,
            _with_interval(m.scores.metrics[found.metric]),
            *(f"{m.scores.metrics[n].mean:.3f}" for n in wanted),
        )
        for m in found.methods
    ]
    units = ", ".join(f"{n} by {unit}" for unit, n in found.methods[0].scores.n.items())
    asked = count_noun(found.counts.asked, "question")
    show.out.print(f"{asked} asked, of {found.counts.total}: {units}", style="bold")
    show.show_table(("method", head, *wanted), rows, right=(head, *wanted))
    show.out.print()
    _show_costs(found)
    _show_types(found)
    _show_confusions(found, best)
    show.out.print()
    for sentence in found.conclusions:
        show.out.print(f"- {sentence}", soft_wrap=True)
    for note in found.notes:
        show.warn(f"note: {note}")


def _show_costs(found: RetrievalReport) -> None:
    """Print time per question, and the cost of models if any was called."""
    called = any(m.calls_per_question or m.cached_calls_per_question for m in found.methods)
    columns = ("ms", "ms 95th", "cpu ms", *(("calls", "tokens", "cost") if called else ()), "context")
    rows = []
    for m in found.methods:
        cpu = "–" if m.cpu_ms_per_question is None else f"{m.cpu_ms_per_question:,.0f}"
        paid = (
            f"{m.calls_per_question:.1f}",
            f"{m.tokens_per_question:,.0f}",
            "unknown" if m.cost_per_question is None else f"${m.cost_per_question:.4f}",
        )
        times = (f"{m.ms_per_question:,.0f}", f"{m.ms_p95:,.0f}", cpu)
        rows.append((m.name, *times, *(paid if called else ()), f"{m.context_tokens:,.0f}"))
    show.show_table(("cost per question", *columns), rows, right=columns)
    if not called:
        show.out.print("no model was called; context: tokens of the context for an answer", style="dim")


def _show_types(found: RetrievalReport) -> None:
    """Print the metric of comparison by type of question, with intervals if they fit.

    If the methods do not fit side by side, each gets its own line.
    """
    unit = metric_unit(found.metric)
    kinds = list(dict.fromkeys(kind for m in found.methods for kind in m.by_type))
    if not kinds:
        return
    head = f"{found.metric} by type"
    room = show.out.width - max(len(head), *map(len, kinds)) - 8
    full = sum(max(len(m.name), _CELL) + 2 for m in found.methods) <= room
    if not full and sum(max(len(m.name), 5) + 2 for m in found.methods) > room:
        _show_types_across(found, kinds, head, unit)
        return
    rows = []
    for kind in kinds:
        cells = []
        for m in found.methods:
            score = m.by_type[kind].metrics.get(found.metric) if kind in m.by_type else None
            cells.append("–" if score is None else _with_interval(score) if full else f"{score.mean:.3f}")
        n = max(m.by_type[kind].n.get(unit, 0) for m in found.methods if kind in m.by_type)
        rows.append((kind or "no type", n, *cells))
    columns = ("n", *(m.name for m in found.methods))
    show.out.print()
    show.show_table((head, *columns), rows, right=columns)


def _show_types_across(found: RetrievalReport, kinds: list[str], head: str, unit: Unit) -> None:
    """Print one line per method and one column per type, as many as fit."""
    names: dict[str, str] = {}
    room = show.out.width - max(len(head), *(len(m.name) for m in found.methods)) - 2
    for kind in kinds:
        n = max(m.by_type[kind].n.get(unit, 0) for m in found.methods if kind in m.by_type)
        name = f"{kind or 'no type'} ({n})"
        if names and sum(len(each) + 2 for each in (*names.values(), name)) > room:
            break
        names[kind] = name
    rows = []
    for m in found.methods:
        scores = [m.by_type[kind].metrics.get(found.metric) if kind in m.by_type else None for kind in names]
        rows.append((m.name, *("–" if score is None else f"{score.mean:.3f}" for score in scores)))
    columns = tuple(names.values())
    show.out.print()
    show.show_table((head, *columns), rows, right=columns)
    if len(names) < len(kinds):
        show.out.print(f"and {len(kinds) - len(names)} more types; --json has all", style="dim")


def _show_confusions(found: RetrievalReport, best: str) -> None:
    """Print the confusion of each pair of methods; of many methods only those with the best."""
    pairs = list(found.confusions.items())
    if len(pairs) > _MAX_PAIRS:
        pairs = [(pair, c) for pair, c in pairs if best in pair]
    rows = [(f"{a}, {b}", c.both, c.a_only, c.b_only, c.neither) for (a, b), c in pairs]
    if rows:
        columns = ("both", "first only", "second only", "neither")
        show.out.print()
        show.show_table((f"{found.metric} = 1 for", *columns), rows, right=columns)
    if len(pairs) < len(found.confusions):
        show.out.print(f"and {len(found.confusions) - len(pairs)} more pairs; --json has all", style="dim")


def _with_interval(score: Interval) -> str:
    """Format a mean with its interval in two decimals, so that several fit in a line."""
    low, high = (f"{x:.2f}".removeprefix("0") for x in (score.low, score.high))
    return f"{score.mean:.3f} [{low}, {high:>4}]"


def _columns(metric: str, known: list[str], depths: list[int], room: int) -> list[str]:
    """Choose the metrics that fit: for each kind of gold the depth nearest to 10, and the rank of the first."""
    k = min(depths, key=lambda d: (abs(d - 10), d))
    some = (
        f"recall@{k}",
        f"all@{k}",
        f"answer_hit@{k}",
        "mrr",
        f"ndcg@{k}",
        f"chunk_recall@{k}",
        "mhrag_map@10",
    )
    wanted: list[str] = []
    for name in some:
        if name in known and name != metric and sum(len(n) + 2 for n in [*wanted, name]) <= room:
            wanted.append(name)
    return wanted
