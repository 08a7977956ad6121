"""The commands that list entities, explain why names are one entity, and correct it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from polygraph.cli.open_index import open_index, open_without_models
from polygraph.cli.options import IndexOption, JsonOption, WaitOption
from polygraph.errors import quoted
from polygraph.ids import document_name

if TYPE_CHECKING:
    from polygraph.extract.resolution.records import Merge, PairDecision
    from polygraph.indexing.entities.decisions import Decision
    from polygraph.indexing.entities.history import EntityHistory, PairHistory
    from polygraph.store.protocol import EntityOverview
    from polygraph.workspace.entities import EntityChange
    from polygraph.workspace.index import Index

app: typer.Typer = typer.Typer()
entities_app: typer.Typer = typer.Typer(invoke_without_command=True)
app.add_typer(entities_app, name="entities")

LimitOption = Annotated[Optional[int], typer.Option("--limit", metavar="N", help="Maximum number.")]
_LISTED = 20
"""Entities that are listed if no limit is given."""
_DOCUMENTS = 5
"""Documents of an entity that are named."""
_TYPED, _TYPES = 1_000, 10
"""Entities whose types are looked at, and types that are named, where none has the type that was asked for."""


@entities_app.callback()
def entities(
    context: typer.Context,
    index: IndexOption = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """List entities, explain merges, and correct them. Without a command, lists the most mentioned."""
    if context.invoked_subcommand is None:
        list_(index=index, limit=_LISTED if limit is None else limit, as_json=as_json)
    elif index is not None or limit is not None or as_json:
        raise typer.BadParameter(
            f"options belong behind the command: polygraph entities {context.invoked_subcommand} …"
        )


@entities_app.command(name="list")
def list_(
    index: IndexOption = None,
    sort: Annotated[
        str, typer.Option("--sort", metavar="mentions|name", help="Most mentioned first, or by name.")
    ] = "mentions",
    type: Annotated[
        Optional[str], typer.Option("--type", metavar="TYPE", help="Only entities of this type.")
    ] = None,
    limit: LimitOption = _LISTED,
    as_json: JsonOption = False,
) -> None:
    """List the entities of the index."""
    with open_without_models(index) as opened:
        found = opened.entities.list(order=sort, type=type, limit=limit)  # type: ignore[arg-type]
        types = _common_types(opened) if type is not None and not found else ""
    _show_entities(found, as_json, f"no entity has the type {type!r}. Common types: {types}" if types else "")


@entities_app.command()
def find(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A part of a name.")],
    index: IndexOption = None,
    limit: LimitOption = _LISTED,
    as_json: JsonOption = False,
) -> None:
    """Find entities by a part of a name or alias."""
    with open_without_models(index) as opened:
        found = opened.entities.find(text, limit=limit)
    _show_entities(found, as_json)


@entities_app.command()
def why(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, an id, or NAME @ DOCUMENT.")],
    other: Annotated[
        Optional[str],
        typer.Argument(metavar="OTHER", help="A second name: why both are one entity or two."),
    ] = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show why names were merged into an entity or kept apart. Gives the rule and the evidence for each."""
    from dataclasses import asdict

    from polygraph.cli.render import answer as show

    with open_without_models(index) as opened:
        if other is not None:
            pair = opened.entities.why_pair(name, other)
            if as_json:
                show.as_json(asdict(pair))
            else:
                _show_pair(pair, name, other)
            return
        found = opened.entities.why(name)
    if as_json:
        show.as_json([asdict(each) for each in found])
        return
    for each in found:
        _show_history(each)


@entities_app.command()
def merge(
    a: Annotated[str, typer.Argument(metavar="A", help="A name, an id, or NAME @ DOCUMENT.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, for the other entity.")],
    index: IndexOption = None,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Merge two entities. No chat model is called, and every later build follows the decision."""
    _change(index, lambda opened, more: opened.entities.merge(a, b, wait_s=wait, **more), as_json)


@entities_app.command()
def split(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of the entity.")],
    other: Annotated[
        Optional[str],
        typer.Argument(metavar="OTHER", help="Another name of it, which becomes an entity of its own."),
    ] = None,
    by: Annotated[
        Optional[str],
        typer.Option(
            "--by", metavar="document|type", help="One entity for each document or type that has the name."
        ),
    ] = None,
    index: IndexOption = None,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Split an entity by one of its names, by document or by type."""

    def change(opened: "Index", more: dict[str, Any]) -> "EntityChange":
        return opened.entities.split(name, other, by=by, wait_s=wait, **more)  # type: ignore[arg-type]

    _change(index, change, as_json)


@entities_app.command()
def rename(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A name, an id, or NAME @ DOCUMENT.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The name that is shown from now on.")],
    index: IndexOption = None,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Rename an entity. Its old name becomes an alias."""
    _change(index, lambda opened, more: opened.entities.rename(old, new, wait_s=wait, **more), as_json)


@entities_app.command()
def undo(
    number: Annotated[
        Optional[int],
        typer.Argument(metavar="NUMBER", help="From `entities decisions`; default: the last."),
    ] = None,
    index: IndexOption = None,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Undo a decision about entities. A decision that it had replaced is in force again."""
    _change(
        index, lambda opened, more: opened.entities.undo(number, wait_s=wait, **more), as_json, "undone: "
    )


@entities_app.command()
def decisions(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """List the decisions about entities, the earliest first."""
    from dataclasses import asdict

    from polygraph.cli.render import answer as show

    with open_without_models(index) as opened:
        found = opened.entities.decisions()
    if as_json:
        show.as_json([asdict(each) for each in found])
    elif not found:
        show.out.print("there are no decisions about entities")
    else:
        rows = [(d.number, d.kind, d.a, d.b, "yes" if d.in_force else "replaced") for d in found]
        show.show_table(("number", "decision", "name", "other", "in force"), rows, right=("number",))


@entities_app.command()
def lost(
    index: IndexOption = None,
    self_loops: Annotated[
        bool, typer.Option("--self-loops", help="Also list relations whose two names are one entity.")
    ] = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """List extracted relations that could not be used. Gives the reason for each, and what can be done."""
    from polygraph.cli.render import answer as show

    with open_without_models(index) as opened:
        found = opened.entities.lost(self_loops=self_loops)
    shown = found[:limit]
    if as_json:
        show.as_json([each._asdict() for each in shown])
        return
    if not found:
        show.out.print("no relation was lost: all that were extracted are used")
        return
    for each in shown:
        chunks = ", ".join(map(document_name, each.chunks)) or document_name(each.window)
        said = f"{each.source} | {each.predicate or 'related to'} | {each.target}" if each.source else ""
        reason = f"{each.reason}: {each.entity}" if each.entity else each.reason
        show.out.print(f"{chunks}: {said or each.description}: {reason}")
        if said and each.description:
            show.out.print(f"  {each.description}", style="dim")
    if len(shown) < len(found):
        show.out.print(f"and {len(found) - len(shown):,} more", style="dim")
    place = quoted(opened.place)
    if any(each.entity for each in found):
        show.out.print(
            f"to part two names that are not one entity: polygraph entities split NAME OTHER --index {place}"
        )
    # Only replies that could not be parsed have no names.
    if not all(each.source for each in found):
        show.out.print(
            f"to have the model read again what could not be used: polygraph retry --index {place}"
        )


def _change(
    index: Any,
    change: Callable[["Index", dict[str, Any]], "EntityChange"],
    as_json: bool,
    what_happened: str = "",
) -> None:
    """Make or undo a decision with progress bars, and print what it changed."""
    from polygraph.cli.progress import Bars
    from polygraph.cli.render import answer as show
    from polygraph.workspace.json_views import entity_change_json

    # Not offline: parts of the graph may have to be embedded again, perhaps by an endpoint.
    with (
        open_index(index, change=True) as opened,
        Bars(quiet=as_json, spent=lambda: opened.models.calls.spent) as bars,
    ):
        found = change(opened, {"progress": bars})
    if as_json:
        show.as_json(entity_change_json(found))
        return
    for decision in found.decisions:
        show.out.print(f"{what_happened}decision {decision.number}: {_phrase(decision)}")
    _show_entities(found.entities)
    for note in found.report.notes:
        show.warn(f"note: {note}")


def _common_types(opened: "Index") -> str:
    """Return the types of the most mentioned entities, the commonest first."""
    counts = Counter(entity.type for entity in opened.entities.list(limit=_TYPED) if entity.type)
    return ", ".join(type for type, _ in counts.most_common(_TYPES))


def _show_entities(found: "Sequence[EntityOverview]", as_json: bool = False, none_found: str = "") -> None:
    from polygraph.cli.render import answer as show

    if none_found and not found:
        show.warn(none_found)
    if as_json:
        show.as_json(_plain(found))
    if as_json or not found:
        return
    columns = ("mentions", "relations")
    rows = [(e.id, e.name, e.type, f"{e.n_chunks:,}", f"{e.degree:,}") for e in found]
    show.show_table(("id", "name", "type", *columns), rows, right=columns)


def _plain(found: "Sequence[EntityOverview]") -> list[dict[str, Any]]:
    return [{name: value for name, value in each._asdict().items() if name != "row"} for each in found]


def _show_history(found: "EntityHistory") -> None:
    from polygraph.cli.render import answer as show
    from polygraph.text.prose import count_noun

    entity = found.entity
    show.out.print(f"{entity.name}{f' ({entity.type})' if entity.type else ''}: {entity.id}", style="bold")
    documents = ", ".join(f"{document_name(document)} ({n})" for document, n in found.documents[:_DOCUMENTS])
    more = "" if len(found.documents) <= _DOCUMENTS else f" and {len(found.documents) - _DOCUMENTS} more"
    show.out.print(f"  {count_noun(len(found.documents), 'document')}: {documents}{more}", style="dim")
    for merge in found.merges:
        show.out.print(f"  {_merge_line(merge)}")
    for pair in found.kept_apart:
        show.out.print(f"  {_pair_line(pair)}")
    for decision in found.decisions:
        replaced = "" if decision.in_force else ", replaced"
        show.out.print(f"  decision {decision.number}{replaced}: {_phrase(decision)}")


def _show_pair(found: "PairHistory", a: str, b: str) -> None:
    from polygraph.cli.render import answer as show

    first, second = found.entities
    if found.same:
        show.out.print(f"{a} and {b} are one entity: {first}", style="bold")
    else:
        show.out.print(f"{a} and {b} are two entities: {first}; {second}", style="bold")
    for merge in found.merges:
        show.out.print(f"  {_merge_line(merge)}")
    for pair in found.kept_apart:
        show.out.print(f"  {_pair_line(pair)}")
    for decision in found.decisions:
        show.out.print(f"  decision {decision.number}: {_phrase(decision)}")
    if not (found.merges or found.kept_apart or found.decisions):
        reason = "both are one name" if found.same else "no rule compared them"
        show.out.print(f"  {reason}")


def _merge_line(merge: "Merge") -> str:
    where = f" in {merge.document}" if merge.document else ""
    why = f": {merge.evidence}" if merge.evidence else ""
    return f"merged: {merge.name}{where}, as {merge.other} ({merge.rule}, {merge.score:.2f}){why}"


def _pair_line(pair: "PairDecision") -> str:
    why = f": {pair.evidence}" if pair.evidence else ""
    names = " | ".join(pair.entities)
    return f"{pair.decision}: {names} ({pair.rule}, {pair.score:.2f}){why}"


def _phrase(decision: "Decision") -> str:
    if decision.kind == "rename":
        return f"rename {decision.a!r} to {decision.b!r}"
    if decision.kind == "split" and decision.a == decision.b:
        by = "type" if decision.a.endswith(" # *") else "document"
        return f"split {decision.a.rpartition(' ')[0].rpartition(' ')[0]!r} by {by}"
    return f"{decision.kind} {decision.a!r} and {decision.b!r}"
