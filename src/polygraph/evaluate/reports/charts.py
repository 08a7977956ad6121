"""Charts of a study report as SVG that adopts the colours of the page (matplotlib, extra `eval`)."""

import importlib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.extra import import_optional
from polygraph.evaluate.metrics.oracle import Confusion
from polygraph.evaluate.reports.findings import MethodSummary, PairSummary
from polygraph.evaluate.reports.formatting import percent, shorten, signed_percent
from polygraph.evaluate.statistics.win_rates import WinRates

_INK = "#010203"
"""Placeholder that is replaced by the colour of the page's text."""
_COLOURS = ("#0072b2", "#c08400", "#009e73", "#c8699d", "#d55e00", "#2f93cf", "#8b7d3a", "#7f7f7f")
"""Okabe and Ito's palette, safe for colour blindness, with a contrast of 3 to 1 on light and dark backgrounds."""
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_UMAP_NEIGHBOURS = 15
"""The default of UMAP."""
_LEAST_FOR_UMAP = 6
_LABEL, _LETTER, _LINE = 8, 5.0, 10.0
"""Size, width of a letter and height of a line of a label, in points."""
_WIN, _TIE, _LOSE = "#0072b2", "#a6a6a6", "#e07a2e"
_MAX_LABELS = 22
"""Numbers that fit into the bars of one row over all panels."""


def box_plots(pairs: Sequence[PairSummary]) -> str:
    """Draw the relative win rate of each pair over trials, with its interval over questions.

    As in figure 10 of arXiv:2506.06331.
    """
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
        for y, p in enumerate(reversed(pairs), 1):
            axis.plot([p.relative.low, p.relative.high], [y - 0.36] * 2, color=_COLOURS[0], linewidth=2.4)
        axis.axvline(0.0, color=_INK, linewidth=0.6)
        axis.set_xlim(-1.02, 1.02)
        axis.xaxis.set_major_formatter(lambda value, _: percent(value))
        axis.set_xlabel("relative win rate of the first method")
        return finish()


def heat_map(methods: Sequence[str], pairs: Sequence[PairSummary]) -> str:
    """Draw the relative win rate of row over column (arXiv:2506.06331, figure 11)."""
    position = {name: i for i, name in enumerate(methods)}
    grid = np.full((len(methods), len(methods)), np.nan)
    for p in pairs:
        grid[position[p.a], position[p.b]] = p.relative.mean
        grid[position[p.b], position[p.a]] = -p.relative.mean
    size = 1.8 + 0.7 * len(methods)
    with _figure(width=size + 0.8, height=size) as ((axis,), finish):
        centres = np.arange(len(methods))
        axis.pcolormesh(centres, centres, grid, cmap="RdBu", vmin=-1, vmax=1, shading="nearest")
        axis.invert_yaxis()
        axis.set_aspect("equal")
        for i in range(len(methods)):
            for j in range(len(methods)):
                if not np.isnan(grid[i, j]):
                    colour = "#ffffff" if abs(grid[i, j]) > 0.6 else "#111111"
                    rate = signed_percent(grid[i, j])
                    axis.text(j, i, rate, ha="center", va="center", color=colour, fontsize=9)
        names = [shorten(name) for name in methods]
        axis.set_xticks(range(len(methods)), names, rotation=40, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(methods)), names)
        return finish()


def rate_bars(rows: Mapping[tuple[str, str], Mapping[str, WinRates]]) -> str:
    """Draw win, tie and lose rates: one panel per aspect or type, one bar per pair of methods.

    As in figures 12 and 18 to 20 of arXiv:2506.06331.

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
                for y, (start, value) in enumerate(zip(left, values, strict=True)):
                    if value * _MAX_LABELS > len(panels):
                        axis.text(start + value / 2, y, f"{100 * value:.0f}", ha="center", va="center",
                                  color=ink, fontsize=7)  # fmt: skip
                left = left + values
            axis.set_title(shorten(panel or "no type", 26), fontsize=9)
            axis.set_xlim(0, 1)
            axis.set_xticks([0, 0.5, 1], ["0", "50", "100"])
            axis.set_ylim(-0.6, len(pairs) - 0.4)
            axis.set_yticks(range(len(pairs)), [pair_label(*pair) for pair in pairs], fontsize=8)
        axes[0].figure.legend(
            *axes[0].get_legend_handles_labels(), ncols=3, loc="outside upper center", frameon=False
        )
        return finish()


def cost_scatter(
    methods: Sequence[MethodSummary], quality: Mapping[str, tuple[float, float, float]], name: str
) -> str:
    """Draw quality with its interval against tokens per question."""
    with _figure(width=8.0, height=4.2) as ((axis,), finish):
        places: list[tuple[str, float, float]] = []
        for i, m in enumerate(methods):
            if m.method in quality:
                mean, low, high = quality[m.method]
                x = max(m.tokens, 1.0)
                axis.plot([x, x], [low, high], color=_COLOURS[i % len(_COLOURS)], linewidth=1.4)
                axis.plot([x], [mean], "o", color=_COLOURS[i % len(_COLOURS)])
                places.append((shorten(m.method), x, mean))
        spent = [max(m.tokens, 1.0) for m in methods if m.method in quality]
        if max(spent, default=1.0) > 1:
            # Within one power of ten, only minor ticks are visible.
            axis.set_xscale("log", subs=(2, 3, 5, 7) if max(spent) < 10 * min(spent) else (2, 5))
            for formatter in (axis.xaxis.set_major_formatter, axis.xaxis.set_minor_formatter):
                formatter(lambda x, _: f"{x:,.0f}")
        axis.margins(x=0.12, y=0.1)
        axis.set_xlabel("tokens per question (prompt and completion)")
        axis.set_ylabel(name)
        _label_points(axis, places)
        return finish()


def _label_points(axis: Any, places: Sequence[tuple[str, float, float]]) -> None:
    """Write the name of each point to its right, above those of other points that it would cover.

    Args:
        axis: with all that is drawn on it.
        places: name and coordinates of each point; at least one.
    """
    # What a point is in pixels is known only once the figure has its layout.
    axis.figure.draw_without_rendering()
    at = axis.transData.transform([place[1:] for place in places]) * 72 / axis.figure.dpi
    taken: list[tuple[float, float, float]] = []
    for (name, *place), (x, y) in sorted(zip(places, at, strict=True), key=lambda each: each[1][1]):
        width, up = _LETTER * len(name), 4.0
        while any(start < x + width and x < end and abs(y + up - line) < _LINE for start, end, line in taken):
            up += _LINE
        taken.append((x, x + width, y + up))
        axis.annotate(name, place, xytext=(6, up), textcoords="offset points", fontsize=_LABEL, color=_INK)


def confusion_bars(confusions: Mapping[tuple[str, str], Confusion]) -> str:
    """Draw the confusion of each pair of methods as a bar (arXiv:2502.11371, figure 2)."""
    rows = list(confusions.items())[::-1]
    totals = np.asarray([max(c.n, 1) for _, c in rows], dtype=float)
    parts = (
        ("both correct", "#009e73", [c.both for _, c in rows]),
        ("only the first", _WIN, [c.a_only for _, c in rows]),
        ("only the second", _LOSE, [c.b_only for _, c in rows]),
        ("neither", _TIE, [c.neither for _, c in rows]),
    )
    with _figure(width=8.6, height=0.9 + 0.36 * len(rows)) as ((axis,), finish):
        left = np.zeros(len(rows))
        for label, colour, counts in parts:
            values = np.asarray(counts) / totals
            axis.barh(range(len(rows)), values, left=left, color=colour, label=label, height=0.72)
            for y, (start, value) in enumerate(zip(left, values, strict=True)):
                if value > 0.04:
                    axis.text(start + value / 2, y, f"{value * totals[y]:.0f}", ha="center", va="center",
                              color="#ffffff" if colour == _WIN else "#111111", fontsize=7)  # fmt: skip
            left = left + values
        axis.set_yticks(range(len(rows)), [pair_label(*pair) for pair, _ in rows], fontsize=8)
        axis.set_ylim(-0.6, len(rows) - 0.4)
        axis.set_xlim(0, 1)
        axis.xaxis.set_major_formatter(lambda value, _: percent(value))
        axis.figure.legend(
            *axis.get_legend_handles_labels(), ncols=4, loc="outside upper center", frameon=False
        )
        return finish()


def pair_label(a: str, b: str) -> str:
    """Return the names of two methods on two lines."""
    return f"{shorten(a)}\n– {shorten(b)}"


def answer_map(points: NDArray[np.float64], methods: Sequence[str], types: Sequence[str]) -> str:
    """Draw answers as points, coloured by method and marked by type of question.

    Args:
        points: shape ``(n, 2)``.
        methods: of each point.
        types: of the question of each point.
    """
    marks = {name: _MARKS[i % len(_MARKS)] for i, name in enumerate(sorted(set(types)))}
    shown = np.asarray([marks[name] for name in types])
    with _figure(width=8.6, height=4.6) as ((axis,), finish):
        for i, name in enumerate(dict.fromkeys(methods)):
            mine = np.asarray([m == name for m in methods])
            colour = _COLOURS[i % len(_COLOURS)]
            for mark in sorted(set(shown[mine])):
                these = mine & (shown == mark)
                axis.plot(points[these, 0], points[these, 1], mark, markersize=3, alpha=0.7, color=colour)
            axis.plot([], [], "o", markersize=3, color=colour, label=shorten(name))
        for name, mark in marks.items() if len(marks) > 1 else ():
            axis.plot([], [], mark, markersize=3, color=_INK, label=shorten(name or "no type"))
        axis.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axis.set_xticks([])
        axis.set_yticks([])
        return finish()


def loss_chart(
    trained: Sequence[tuple[int, float]],
    held_out: Sequence[tuple[int, float]],
    shares: Mapping[str, Sequence[tuple[int, float]]],
) -> str:
    """Draw the loss of a training over its steps, with shares of held-out rows.

    Args:
        trained: step and loss on the rows of the step.
        held_out: step and loss on held-out rows.
        shares: step and share, by what it is of.
    """
    with _figure(width=6.4, height=3.2) as ((axis,), finish):
        for points, label, style in ((trained, "rows to train on", "-"), (held_out, "held-out rows", "o-")):
            if points:
                steps, losses = zip(*points, strict=True)
                axis.plot(steps, losses, style, markersize=3, linewidth=1, label=label)
        for label, points in shares.items():
            if points:
                steps, values = zip(*points, strict=True)
                axis.plot(steps, values, "s--", markersize=3, linewidth=1, label=label)
        axis.set_xlabel("step")
        axis.set_ylabel("loss; share of rows" if any(shares.values()) else "loss")
        axis.legend(fontsize=8, frameon=False)
        return finish()


def pca_2d(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Project vectors onto their first two principal components, with fixed signs; shape ``(n, 2)``."""
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    two = axes[:2]
    # The sign of a component is arbitrary; making its largest entry positive keeps pages reproducible.
    signs = np.sign(two[np.arange(len(two)), np.abs(two).argmax(axis=1)])
    points = centred @ (two * signs[:, None]).T
    return np.round(np.pad(points, ((0, 0), (0, 2 - points.shape[1]))), 4)


def umap_2d(vectors: NDArray[np.floating[Any]], *, seed: int) -> NDArray[np.float64] | None:
    """Place vectors in two dimensions by UMAP (arXiv:1802.03426) with cosine distance; shape ``(n, 2)``.

    Args:
        vectors: shape ``(n, dimension)``.
        seed: of the places, which are the same for the same vectors on one machine.

    Returns:
        None if `umap-learn` is not installed, or if there are fewer than six vectors.
    """
    if len(vectors) < _LEAST_FOR_UMAP:
        return None
    try:
        umap = importlib.import_module("umap")
    except ImportError:
        return None
    neighbours = min(_UMAP_NEIGHBOURS, len(vectors) - 1)
    reducer = umap.UMAP(n_neighbors=neighbours, metric="cosine", init="random", random_state=seed, n_jobs=1)
    return np.asarray(reducer.fit_transform(np.asarray(vectors, dtype=np.float32)), dtype=np.float64)


@contextmanager
def _figure(
    *, width: float, height: float, columns: int = 1
) -> Iterator[tuple[list[Any], Callable[[], str]]]:
    matplotlib = import_optional("matplotlib", "a report with charts")
    figures = import_optional("matplotlib.figure", "a report with charts")
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
            # Tight, since the browser's letters are not exactly as wide as those that were measured.
            figure.savefig(
                out,
                format="svg",
                transparent=True,
                bbox_inches="tight",
                pad_inches=0.15,
                metadata={"Date": None, "Creator": None},
            )
            return _inline(out.getvalue())

        yield axes, finish


def _inline(svg: str) -> str:
    """Remove the header of an SVG, and let it adopt the text colour and the width of its container."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) width="([^"]*)"', r'\1 style="width: min(100%, \2)"', body, count=1)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    return body.replace(_INK, "currentColor").replace("\n", " ")
