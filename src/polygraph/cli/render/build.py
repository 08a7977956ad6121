"""Show in a terminal what a build did, and what one would cost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polygraph.cli.render import answer as show
from polygraph.errors import quoted
from polygraph.ids import document_name
from polygraph.indexing.progress import BuildReport
from polygraph.text.prose import count_noun

if TYPE_CHECKING:
    from polygraph.indexing.estimate.ranges import Estimate

_REASONS_SHOWN = 10
"""Reasons for unread files that are printed after a build."""
_SLOWEST = 3
"""Layers named with their time after a build."""


def show_build(report: BuildReport, place: str) -> None:
    """Print what a build did, and what could not be read.

    Args:
        report: of the build.
        place: the folder or URL of the index.
    """
    c = report.counts
    if report.source:
        held = ", ".join(f"{what.replace('_', ' ')} {n:,}" for what, n in report.source.items())
        show.out.print(f"imported: {held}")
    if report.added or report.changed or report.removed or report.unchanged:
        show.out.print(
            f"{count_noun(report.added, 'document')} added, {report.changed:,} changed, {report.removed:,} removed, "
            f"{report.unchanged:,} unchanged"
        )
    kinds = {
        "document": "documents",
        "passage": "chunks",
        "entity": "entities",
        "relation": "relations",
        "report": "reports",
    }
    # A kind that was not asked for would read as one that was looked for and not found.
    shown = [
        count_noun(c[key], what)
        for what, key in kinds.items()
        if c[key]
        or key in ("documents", "chunks")
        or ("reports" if key == "reports" else "graph") in report.built
    ]
    show.out.print(f"{place}: {', '.join(shown)}")
    show.show_lost_relations(c, place)
    if report.built:
        slowest = sorted(report.built, key=lambda name: (-report.built[name], name))[:_SLOWEST]
        took = ", ".join(f"{name} {report.built[name]:.1f} s" for name in slowest)
        show.out.print(
            f"built: {count_noun(len(report.built), 'layer')} in {sum(report.built.values()):.1f} s ({took})",
            style="dim",
        )
    else:
        show.out.print("nothing to build: all requested layers are up to date", style="dim")
    if report.usage.calls or report.usage.cached_calls:
        show.out.print(show.calls_line(report.usage), style="dim")
    if report.forgotten:
        show.out.print("no file of the index contains a trace of the removed documents")
    for note in report.notes:
        show.warn(f"note: {note}")
    _show_unread(report.unread, place)


def _show_unread(unread: Sequence[tuple[str, str]], place: str) -> None:
    """Print each reason once, with the first file and how many others have it."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in unread:
        by_reason.setdefault(reason, []).append(path)
    common = sorted(by_reason.items(), key=lambda each: (-len(each[1]), each[1][0]))
    for reason, paths in common[:_REASONS_SHOWN]:
        more = f" and {count_noun(len(paths) - 1, 'other file')}" if len(paths) > 1 else ""
        show.warn(f"not read: {document_name(paths[0])}{more}: {reason}")
    if len(unread) > min(len(common), _REASONS_SHOWN):
        total = count_noun(len(unread), "file")
        show.warn(f"{total} not read; see: polygraph status --failed --index {quoted(place)}")


def show_estimate(found: "Estimate", command: list[str]) -> None:
    """Print an estimate, and the command that it is for with a cap."""
    to_read = f"{found.windows_to_read:,} to be read"
    show.out.print(
        f"{count_noun(found.documents, 'document')}, {count_noun(found.windows, 'window')}, of which {to_read}",
        style="bold",
    )
    if found.communities.high:
        show.out.print(
            f"graph: about {show.span(found.entities)} entities, {show.span(found.communities)} communities",
            style="dim",
        )
    lines = [*found.lines, *([found.total] if len(found.lines) > 1 else []), *found.questions]
    if lines:
        columns = ("stage", "calls", "free", "tokens in", "tokens out", "cost")
        rows = [
            (
                f"one question, {each.method}" if each.method else each.stage,
                show.span(each.calls),
                f"{each.free:,}" if each.free else "",
                show.span(each.prompt_tokens),
                show.span(each.completion_tokens),
                show.span(each.cost, money=True),
            )
            for each in lines
        ]
        show.show_table(columns, rows, right=columns[1:])
    for each in (*found.lines, *found.questions):
        show.out.print(f"{each.method or each.stage}: {each.basis}", style="dim")
    for note in found.notes:
        show.warn(f"note: {note}")
    total = found.total
    if total.cost is not None and total.cost.high > 0:
        cap = f"--max-cost {show.round_up(total.cost.high)}"
    elif total.cost is None and total.prompt_tokens is not None and total.completion_tokens is not None:
        cap = f"--max-spend-tokens {int(total.prompt_tokens.high + total.completion_tokens.high):d}"
    else:
        show.out.print("indexing costs nothing", style="dim")
        return
    show.out.print(f"with a cap: {' '.join(map(quoted, command))} {cap}", soft_wrap=True)
