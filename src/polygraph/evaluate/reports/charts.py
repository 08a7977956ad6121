"""The figures of the papers as small SVG texts that follow the colours of the page (matplotlib, extra `eval`)."""

import importlib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import MissingExtra
from polygraph.evaluate.reports.findings import MethodFigures, PairFigures
from polygraph.evaluate.statistics.win_rates import Rates

_INK = "#010203"
"""Stands for the colour of the page's text, and is replaced by it."""
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8b7d3a", "#7f7f7f")
"""Okabe and Ito's palette: told apart by eyes of every kind, on light and on dark."""
_WIN, _TIE, _LOSE = "#0072b2", "#a6a6a6", "#e07a2e"
_ROOM = 22
"""Numbers that the bars of one line have room for, in all panels."""
PARTED = " – "
"""Stands between the two methods of a pair."""


def box_plots(pairs: Sequence[PairFigures]) -> str:
    """Relative win rate of each pair over the trials (arXiv:2506.06331, figure 10), and the interval over questions."""
    with _figure(width=8.6, height=0.7 + 0.44 * len(pairs)) as ((axis,), finish):
        stats = [
            {
                "med": p.relative_box.median,
                "q1": p.relative_box.q1,
                "q3": p.relative_box.q3,
                "whislo": p.relative_box.low,
                "whishi": p.relative_box.high,
                "fliers": list(p.relative_box.outliers),
                "label": pair_label(p.a, p.b),
            }
            for p in reversed(pairs)
        ]
        axis.bxp(stats, orientation="horizontal", widths=0.42, medianprops={"color": _COLOURS[4]})
        for place, p in enumerate(reversed(pairs), 1):
            axis.plot([p.relative.low, p.relative.high], [place - 0.36] * 2, color=_COLOURS[0], linewidth=2.4)
        axis.axvline(0.0, color=_INK, linewidth=0.6)
        axis.set_xlim(-1.02, 1.02)
        axis.xaxis.set_major_formatter(_percent)
        axis.set_xlabel("relative win rate of the first method")
        return finish()


def heat_map(methods: Sequence[str], pairs: Sequence[PairFigures]) -> str:
    """Relative win rate of row over column (arXiv:2506.06331, figure 11)."""
    place = {name: i for i, name in enumerate(methods)}
    grid = np.full((len(methods), len(methods)), np.nan)
    for p in pairs:
        grid[place[p.a], place[p.b]] = p.relative.mean
        grid[place[p.b], place[p.a]] = -p.relative.mean
    size = 1.8 + 0.7 * len(methods)
    with _figure(width=size + 0.8, height=size) as ((axis,), finish):
        places = np.arange(len(methods))
        axis.pcolormesh(places, places, grid, cmap="RdBu", vmin=-1, vmax=1, shading="nearest")
        axis.invert_yaxis()
        axis.set_aspect("equal")
        for i in range(len(methods)):
            for j in range(len(methods)):
                if not np.isnan(grid[i, j]):
                    colour = "#ffffff" if abs(grid[i, j]) > 0.6 else "#111111"
                    axis.text(
                        j, i, f"{100 * grid[i, j]:+.0f}", ha="center", va="center", color=colour, fontsize=9
                    )
        names = [short(name) for name in methods]
        axis.set_xticks(range(len(methods)), names, rotation=40, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(methods)), names)
        return finish()


def rate_bars(rows: Mapping[tuple[str, str], Mapping[str, Rates]]) -> str:
    """Win, tie and lose rates: one panel for each aspect or type, one bar for each pair of methods.

    Figures 12 and 18 to 20 of arXiv:2506.06331.

    Args:
        rows: by pair, then by aspect or type.
    """
    panels = list(dict.fromkeys(name for each in rows.values() for name in each))
    pairs = list(rows)[::-1]
    with _figure(width=9.6, height=0.9 + 0.36 * len(pairs), columns=len(panels)) as (axes, finish):
        for axis, panel in zip(axes, panels, strict=True):
            found = [rows[pair].get(panel) for pair in pairs]
            left = np.zeros(len(pairs))
            for what, colour, ink in (
                ("win", _WIN, "#ffffff"),
                ("tie", _TIE, "#111111"),
                ("lose", _LOSE, "#111111"),
            ):
                values = np.asarray([0.0 if r is None else getattr(r, what) for r in found])
                axis.barh(range(len(pairs)), values, left=left, color=colour, label=what, height=0.72)
                for place, (start, value) in enumerate(zip(left, values, strict=True)):
                    if value * _ROOM > len(panels):
                        axis.text(start + value / 2, place, f"{100 * value:.0f}", ha="center", va="center",
                                  color=ink, fontsize=7)  # fmt: skip
                left = left + values
            axis.set_title(short(panel or "no type", 26), fontsize=9)
            axis.set_xlim(0, 1)
            axis.set_xticks([0, 0.5, 1], ["0", "50", "100"])
            axis.set_ylim(-0.6, len(pairs) - 0.4)
            axis.set_yticks(range(len(pairs)), [pair_label(*pair) for pair in pairs], fontsize=8)
        axes[0].figure.legend(
            *axes[0].get_legend_handles_labels(), ncols=3, loc="outside upper center", frameon=False
        )
        return finish()


def cost_scatter(
    methods: Sequence[MethodFigures], quality: Mapping[str, tuple[float, float, float]], name: str
) -> str:
    """Quality with its interval against tokens per question."""
    with _figure(width=8.0, height=4.2) as ((axis,), finish):
        for i, m in enumerate(methods):
            if m.method in quality:
                mean, low, high = quality[m.method]
                x = max(m.tokens, 1.0)
                axis.plot([x, x], [low, high], color=_COLOURS[i % len(_COLOURS)], linewidth=1.4)
                axis.plot([x], [mean], "o", color=_COLOURS[i % len(_COLOURS)])
                axis.annotate(
                    short(m.method),
                    (x, mean),
                    xytext=(6, 4),
                    textcoords="offset points",
                    fontsize=8,
                    color=_INK,
                )
        spent = [max(m.tokens, 1.0) for m in methods if m.method in quality]
        if max(spent, default=1.0) > 1:
            # Within one power of ten the marks between are all that there is to read.
            axis.set_xscale("log", subs=(2, 3, 5, 7) if max(spent) < 10 * min(spent) else (2, 5))
            for formatter in (axis.xaxis.set_major_formatter, axis.xaxis.set_minor_formatter):
                formatter(lambda x, _: f"{x:,.0f}")
        axis.margins(x=0.12, y=0.1)
        axis.set_xlabel("tokens per question, read and written")
        axis.set_ylabel(name)
        return finish()


def confusion_grid(cells: Sequence[tuple[str, int, int, int, int]]) -> str:
    """For pairs of methods: both right, only the first, only the second, neither (arXiv:2502.11371, figure 2)."""
    with _figure(width=8.6, height=0.9 + 0.36 * len(cells)) as ((axis,), finish):
        names = [pair_label(*c[0].split(PARTED, 1)) for c in cells][::-1]
        left = np.zeros(len(cells))
        kinds = (
            ("both right", "#009e73"),
            ("only the first", _WIN),
            ("only the second", _LOSE),
            ("neither", _TIE),
        )
        totals = np.asarray([max(sum(c[1:]), 1) for c in cells][::-1], dtype=float)
        for k, (label, colour) in enumerate(kinds, 1):
            values = np.asarray([c[k] for c in cells][::-1]) / totals
            axis.barh(range(len(cells)), values, left=left, color=colour, label=label, height=0.72)
            for place, (start, value) in enumerate(zip(left, values, strict=True)):
                if value > 0.04:
                    axis.text(start + value / 2, place, f"{value * totals[place]:.0f}", ha="center", va="center",
                              color="#ffffff" if k == 2 else "#111111", fontsize=7)  # fmt: skip
            left = left + values
        axis.set_yticks(range(len(cells)), names, fontsize=8)
        axis.set_ylim(-0.6, len(cells) - 0.4)
        axis.set_xlim(0, 1)
        axis.xaxis.set_major_formatter(_percent)
        axis.figure.legend(
            *axis.get_legend_handles_labels(), ncols=4, loc="outside upper center", frameon=False
        )
        return finish()


def short(name: str, most: int = 30) -> str:
    """A name without its middle if it is long.

    >>> short("rag-vs-graphrag-integrated-community-of-all", 20)
    'rag-vs-gra…ty-of-all'
    """
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most - most // 2 - 1) :]}"


def pair_label(a: str, b: str) -> str:
    """Two methods on two lines."""
    return f"{short(a)}\n{PARTED.strip()} {short(b)}"


def _percent(value: float, _: object) -> str:
    return f"{100 * value:.0f} %"


def answer_map(points: NDArray[np.float64], methods: Sequence[str]) -> str:
    """Answers on a plane by their meaning, coloured by method.

    Args:
        points: shape ``(n, 2)``.
        methods: of each point.
    """
    with _figure(width=8.6, height=4.6) as ((axis,), finish):
        for i, name in enumerate(dict.fromkeys(methods)):
            mine = np.asarray([m == name for m in methods])
            axis.plot(
                points[mine, 0], points[mine, 1], "o", markersize=3, alpha=0.7,
                color=_COLOURS[i % len(_COLOURS)], label=short(name),
            )  # fmt: skip
        axis.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axis.set_xticks([])
        axis.set_yticks([])
        return finish()


def plane(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The two directions in which vectors differ most (principal components), signs fixed; shape ``(n, 2)``."""
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    two = axes[:2]
    # The sign of a component is arbitrary: its largest part is made positive, so that pages are the same.
    signs = np.sign(two[np.arange(len(two)), np.abs(two).argmax(axis=1)])
    points = centred @ (two * signs[:, None]).T
    return np.round(np.pad(points, ((0, 0), (0, 2 - points.shape[1]))), 4)


@contextmanager
def _figure(
    *, width: float, height: float, columns: int = 1
) -> Iterator[tuple[list[Any], Callable[[], str]]]:
    try:
        matplotlib = importlib.import_module("matplotlib")
        figures = importlib.import_module("matplotlib.figure")
    except ImportError as problem:
        raise MissingExtra("the figures of a report", "eval") from problem
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "polygraph",
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": _INK,
        "axes.edgecolor": _INK,
        "axes.labelcolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "boxplot.boxprops.color": _INK,
        "boxplot.whiskerprops.color": _INK,
        "boxplot.capprops.color": _INK,
        "boxplot.flierprops.markeredgecolor": _INK,
        "boxplot.flierprops.markersize": 3,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(settings):
        figure = figures.Figure(figsize=(width, height), layout="constrained")
        axes = list(figure.subplots(1, columns, sharey=True, squeeze=False)[0])

        def finish() -> str:
            out = io.StringIO()
            # Tight: the browser's letters are not exactly as wide as those that were measured.
            figure.savefig(
                out,
                format="svg",
                transparent=True,
                bbox_inches="tight",
                pad_inches=0.15,
                metadata={"Date": None, "Creator": None},
            )
            return _embedded(out.getvalue())

        yield axes, finish


def _embedded(svg: str) -> str:
    """An SVG that stands in a page: its own header off, its ink that of the page, its size that of its place."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) width="([^"]*)"', r'\1 style="width: min(100%, \2)"', body, count=1)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    return body.replace(_INK, "currentColor").replace("\n", " ")
