"""Pictures of the graph of an index, without a server: SVG, a page around it, and PNG.

Entities are dots in the colour of their community; the largest communities have a colour and a line in the legend.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polygraph.errors import BadInput, MissingExtra
from polygraph.text.prose import count_noun

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from polygraph.workspace.graph_map import GraphMap, MappedCommunity

PALETTE = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#332288", "#44aa99", "#882255",
    "#999933", "#b07aa1",
)  # fmt: skip
"""Colours that remain distinct with the common kinds of colour blindness (after Tol 2021, SRON/EPS/TN/09-002)."""
OTHER = "#b8bcc4"
"""Colour of the smaller communities, and of entities without one."""
_INK, _SOFT, _PAPER = "#1f2328", "#656d76", "#ffffff"
_MAX_EDGES = 40_000
_MAX_LABELS = 40
_MAX_TITLE = 44
_WIDTH, _HEIGHT, _MAP = 1500, 1000, 1000
"""Pixels of the picture; the map is the square at its left."""
_MARGIN = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the legend."""

    color: str
    title: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Everything that is drawn, in pixels of the picture, from the back to the front."""

    title: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    r: NDArray[np.float64]
    """Radii of the dots."""
    colors: Sequence[str]
    names: Sequence[str]
    edges: NDArray[np.int64]
    """Pairs of dots, shape ``(n, 2)``."""
    edge_colors: Sequence[str]
    labels: Sequence[tuple[float, float, str]]
    legend: Sequence[Line]
    facts: str
    """What the picture shows, in one line."""


def make_picture(
    graph: GraphMap, title: str, *, level: int | None = None, max_entities: int = 20_000
) -> Picture:
    """Return a picture of a graph.

    Args:
        graph: of an index.
        title: above the legend.
        level: of the communities that give the colours; default: the coarsest with at least four communities.
        max_entities: the best connected are drawn.

    Raises:
        BadInput: if there are no entities, or no communities at the level.
    """
    if not graph.ids:
        raise BadInput("the graph has no entities, so there is nothing to draw")
    if level is not None and level not in graph.levels:
        raise BadInput(
            f"there are no communities at level {level}. Levels: {', '.join(map(str, graph.levels))}"
        )
    level = _default_level(graph) if level is None else level
    communities = graph.at_level(level) if level is not None else []
    of = graph.community_of(level) if level is not None else np.full(len(graph.ids), -1)
    degrees = graph.graph.degrees
    # The best connected are drawn last, above the others.
    shown = np.lexsort((np.arange(len(degrees)), -degrees))[:max_entities][::-1]
    palette = [PALETTE[n] if n < len(PALETTE) else OTHER for n in range(len(communities))]
    colors = [palette[of[n]] if of[n] >= 0 else OTHER for n in shown]
    x, y, scale = _fitted(graph.places[shown])
    spacing = np.sqrt(np.pi * 1e6 / max(1, len(graph.ids))) * scale * 0.27
    largest = max(2.0, float(degrees.max(initial=1)))
    r = np.clip(spacing * (0.55 + 0.9 * np.sqrt(degrees[shown] / largest)), 0.6, 16.0)
    edges = _heaviest_edges(graph, shown)
    inside = of[shown[edges[:, 0]]] == of[shown[edges[:, 1]]]
    edge_colors = [
        colors[a] if same else OTHER for (a, _), same in zip(edges.tolist(), inside.tolist(), strict=True)
    ]
    names = [graph.names[n] for n in shown]
    facts = f"{count_noun(len(graph.ids), 'entity')}, {count_noun(graph.graph.n_edges, 'relation')}"
    if len(shown) < len(graph.ids):
        facts += f"; the {len(shown):,} best connected are drawn"
    return Picture(
        title=title,
        x=x,
        y=y,
        r=r,
        colors=colors,
        names=names,
        edges=edges,
        edge_colors=edge_colors,
        labels=_labels(x, y, r, names, degrees[shown]),
        legend=_legend(communities, len(graph.ids)),
        facts=facts,
    )


def _heaviest_edges(graph: GraphMap, shown: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the edges to draw as positions in `shown`, heaviest first; shape ``(n, 2)``."""
    number = np.full(len(graph.ids), -1, dtype=np.int64)
    number[shown] = np.arange(len(shown))
    sources, targets, weights = graph.graph.edges()
    kept = np.flatnonzero((number[sources] >= 0) & (number[targets] >= 0))
    kept = kept[np.argsort(-weights[kept], kind="stable")[:_MAX_EDGES]]
    return np.column_stack([number[sources[kept]], number[targets[kept]]])


def _legend(communities: Sequence[MappedCommunity], n_entities: int) -> list[Line]:
    """Return a line for each community with a colour of its own, and one for the rest."""
    legend = [
        Line(color=PALETTE[n], title=_clipped(c.title), size=c.size)
        for n, c in enumerate(communities[: len(PALETTE)])
    ]
    rest = n_entities - sum(line.size for line in legend)
    if rest and legend:
        legend.append(Line(color=OTHER, title="all others", size=rest))
    return legend


def svg(picture: Picture) -> str:
    """Return a picture as SVG; hovering over a dot shows its name."""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif">',
        f"<title>{_text(picture.title)}: {_text(picture.facts)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="{_PAPER}"/>',
        '<g fill="none" stroke-width="0.6" stroke-opacity="0.28">',
    ]
    by_color: dict[str, list[str]] = {}
    x, y = np.round(picture.x, 1).tolist(), np.round(picture.y, 1).tolist()
    for (a, b), color in zip(picture.edges.tolist(), picture.edge_colors, strict=True):
        by_color.setdefault(color, []).append(f"M{x[a]:g} {y[a]:g}L{x[b]:g} {y[b]:g}")
    out += [f'<path stroke="{color}" d="{"".join(paths)}"/>' for color, paths in sorted(by_color.items())]
    out.append(f'</g><g stroke="{_PAPER}" stroke-width="0.5">')
    for n, (radius, color, name) in enumerate(
        zip(picture.r.tolist(), picture.colors, picture.names, strict=True)
    ):
        out.append(
            f'<circle cx="{x[n]:g}" cy="{y[n]:g}" r="{radius:.1f}" fill="{color}"><title>{_text(name)}</title></circle>'
        )
    out.append(
        f'</g><g font-size="12" fill="{_INK}" text-anchor="middle" paint-order="stroke" stroke="{_PAPER}" '
        'stroke-width="3" stroke-linejoin="round">'
    )
    out += [f'<text x="{at:.1f}" y="{down:.1f}">{_text(name)}</text>' for at, down, name in picture.labels]
    out.append("</g>")
    out += _svg_legend(picture)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def page(picture: Picture) -> str:
    """Return a picture as a page of its own: drag to move, wheel to zoom."""
    return _PAGE.replace("TITLE", _text(picture.title)).replace("PICTURE", svg(picture))


def write_png(picture: Picture, file: Path) -> None:
    """Draw a picture with matplotlib.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import EllipseCollection, LineCollection
        from matplotlib.figure import Figure
        from matplotlib.patheffects import withStroke
    except ModuleNotFoundError as error:
        raise MissingExtra("polygraph graph --png", "eval") from error
    figure = Figure(figsize=(_WIDTH / 100, _HEIGHT / 100), dpi=200, facecolor=_PAPER)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, _WIDTH), ylim=(_HEIGHT, 0))
    axes.set_axis_off()
    places = np.column_stack([picture.x, picture.y])
    axes.add_collection(
        LineCollection(
            list(places[picture.edges]), colors=list(picture.edge_colors), linewidths=0.45, alpha=0.3
        )
    )
    axes.add_collection(
        EllipseCollection(
            2 * picture.r, 2 * picture.r, np.zeros(len(places)), offsets=places, units="xy",
            offset_transform=axes.transData, facecolors=list(picture.colors), edgecolors=_PAPER, linewidths=0.3,
            zorder=2,
        )
    )  # fmt: skip
    halo = [withStroke(linewidth=2.2, foreground=_PAPER)]
    # Characters that look like formulas are not.
    plain: dict[str, Any] = {"parse_math": False, "fontfamily": "sans-serif"}
    for x, y, name in picture.labels:
        axes.text(x, y, name, fontsize=8.5, color=_INK, ha="center", path_effects=halo, **plain)
    axes.text(_MAP + 20, 70, picture.title, fontsize=17, color=_INK, weight="bold", **plain)
    axes.text(_MAP + 20, 98, picture.facts, fontsize=9.5, color=_SOFT, **plain)
    for n, line in enumerate(picture.legend):
        down = _legend_y(n)
        axes.scatter([_MAP + 27], [down - 4], s=70, color=line.color)
        axes.text(_MAP + 44, down, line.title, fontsize=10.5, color=_INK, **plain)
        axes.text(_WIDTH - _MARGIN, down, f"{line.size:,}", fontsize=10.5, color=_SOFT, ha="right", **plain)
    figure.savefig(file, dpi=200, format="png", metadata={"Software": None})


def _default_level(graph: GraphMap) -> int | None:
    for level in graph.levels:
        if sum(c.size >= 3 for c in graph.at_level(level)) >= 4:
            return level
    return graph.levels[0] if graph.levels else None


def _fitted(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return places in pixels of the map, and pixels per unit."""
    low, high = places.min(axis=0), places.max(axis=0)
    scale = (_MAP - 2 * _MARGIN) / max(float((high - low).max()), 1e-9) if len(places) > 1 else 1.0
    middle = (low + high) / 2
    at = (places - middle) * scale + _MAP / 2
    return at[:, 0], at[:, 1], scale


def _labels(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    r: NDArray[np.float64],
    names: Sequence[str],
    degrees: NDArray[np.int64],
) -> list[tuple[float, float, str]]:
    """Return names of the best connected entities where they do not cover each other."""
    taken: list[tuple[float, float, float, float]] = []
    found: list[tuple[float, float, str]] = []
    for n in np.lexsort((np.arange(len(names)), -degrees))[:400]:
        if len(found) == _MAX_LABELS or degrees[n] < 2:
            break
        name = _clipped(names[n], 28)
        half, above = 3.6 * len(name) + 4, float(y[n] - r[n] - 3)
        at = float(np.clip(x[n], half + 4, _MAP - half))
        box = (at - half, above - 13, at + half, above + 4)
        if above < 16 or any(
            box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken
        ):
            continue
        taken.append(box)
        found.append((at, above, name))
    return found


def _svg_legend(picture: Picture) -> list[str]:
    out = [
        f'<text x="{_MAP + 20}" y="70" font-size="24" font-weight="600" fill="{_INK}">{_text(picture.title)}</text>',
        f'<text x="{_MAP + 20}" y="98" font-size="13" fill="{_SOFT}">{_text(picture.facts)}</text>',
    ]
    for n, line in enumerate(picture.legend):
        down = _legend_y(n)
        out += [
            f'<circle cx="{_MAP + 27}" cy="{down - 5}" r="6" fill="{line.color}"/>',
            f'<text x="{_MAP + 44}" y="{down}" font-size="15" fill="{_INK}">{_text(line.title)}</text>',
            f'<text x="{_WIDTH - _MARGIN}" y="{down}" font-size="15" fill="{_SOFT}" text-anchor="end">'
            f"{line.size:,}</text>",
        ]
    return out


def _legend_y(n: int) -> int:
    return 146 + 32 * n


def _clipped(text: str, most: int = _MAX_TITLE) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[: most - 3].rstrip() + "..."


def _text(text: str) -> str:
    """Return a text for XML, which has no control characters."""
    return html.escape("".join(c for c in text if c.isprintable()), quote=True)


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<style>
html, body { margin: 0; height: 100%; background: #fff; overflow: hidden }
svg { width: 100%; height: 100%; touch-action: none; cursor: grab }
</style>
PICTURE
<script>
const picture = document.querySelector("svg"), box = picture.viewBox.baseVal;
let last = null;
const scale = () => Math.max(box.width / picture.clientWidth, box.height / picture.clientHeight);
picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  const by = Math.exp(event.deltaY / 500), at = new DOMPoint(event.clientX, event.clientY)
    .matrixTransform(picture.getScreenCTM().inverse());
  box.x = at.x - (at.x - box.x) * by; box.y = at.y - (at.y - box.y) * by; box.width *= by; box.height *= by;
}, { passive: false });
picture.addEventListener("pointerdown", (event) => { last = event; picture.setPointerCapture(event.pointerId); });
picture.addEventListener("pointerup", () => { last = null; });
picture.addEventListener("pointermove", (event) => {
  if (!last) return;
  box.x -= (event.clientX - last.clientX) * scale(); box.y -= (event.clientY - last.clientY) * scale(); last = event;
});
</script>
</html>
"""
