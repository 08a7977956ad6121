"""The layer `descriptions`: one text for each entity and relation of which the documents say more than a budget."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from polygraph.errors import RequestsWaiting, UnusableReply
from polygraph.graph.descriptions import outgrows, select_statements
from polygraph.indexing.layer_task import LayerTask
from polygraph.prompts import prompt
from polygraph.records import Description, Relation, digest
from polygraph.store.protocol import SUMMARY_KINDS, SummaryKind, WrittenSummary
from polygraph.tasks.indexing.describe import MAX_INPUT_TOKENS, Statements, describe, max_words, share_calls

_ROWS = 1_000
"""Rows that are read together."""


@dataclass(frozen=True, slots=True)
class _Item:
    """An entity or relation whose descriptions outgrow the budget."""

    kind: SummaryKind
    row: int
    key: str
    statements: Statements
    selection: str
    """What stands for its descriptions without a model."""
    chunks: tuple[str, ...]
    """That the statements rest on."""


def describe_graph(task: LayerTask) -> int:
    """Have the model describe what outgrows the budget and is not described yet; without one, select statements.

    A description depends on the statements alone, so only entities and relations of which something else is said than
    before are asked about. Nothing is kept before every reply is there: calls would be shared differently, and a batch
    would not find its replies.
    """
    store, chat, manifest = task.store, task.models.chat, task.manifest
    items = list(_items(task))
    texts: dict[str, tuple[str, str]] = {}
    by_model = manifest.descriptions != "extractive"
    if by_model:
        for item in items:
            written = store.graph.written_summary(item.key)
            if written is not None and (chat is None or written.written_by == chat.name):
                texts[item.key] = (written.text, written.written_by)
    missing = {item.key: item for item in items if item.key not in texts}
    problems: list[str] = []
    if by_model and chat is not None and missing:
        texts.update(_ask(task, list(missing.values()), problems))
    with store.transaction():
        for item in missing.values():
            if item.key in texts:
                text, model = texts[item.key]
                store.graph.put_written_summary(item.key, WrittenSummary(text, model, item.chunks))
        store.graph.keep_written_summaries({item.key for item in items} if by_model else ())
        store.graph.put_summaries(
            (item.kind, item.row, texts[item.key][0] if item.key in texts else item.selection)
            for item in items
        )
    _note(task, len(items), sum(item.key not in texts for item in items) if by_model else 0, problems)
    return len(items)


def _note(task: LayerTask, n_items: int, n_selected: int, problems: Sequence[str]) -> None:
    if problems:
        task.notes.append(
            f"{n_selected} of {n_items} long descriptions are selections, because the model's replies could not be "
            f"used (first: {problems[0]})"
        )
    elif n_selected:
        task.notes.append(
            f"{n_selected} of {n_items} long descriptions are selections, because what a model had written is out "
            "of date. Have them written again with: polygraph refresh"
        )


def _items(task: LayerTask) -> Iterator[_Item]:
    """Yield the entities, then the relations, whose descriptions outgrow the budget, by row."""
    graph, budget = task.store.graph, task.manifest.description_tokens
    for kind in SUMMARY_KINDS:
        rows = graph.long_descriptions(kind, budget)
        for at in range(0, len(rows), _ROWS):
            some = rows[at : at + _ROWS]
            if kind == "entity":
                entities = graph.entities_by_row(some)
                names = [f"{e.name} ({e.type})" if e.type else e.name for e in entities]
                descriptions = [e.descriptions for e in entities]
            else:
                relations = graph.relations_by_row(some)
                names = _ends(task, relations)
                descriptions = [r.descriptions for r in relations]
            for row, name, own in zip(some, names, descriptions, strict=True):
                if outgrows(own, budget):
                    yield _item(kind, row, name, own, budget)


def _ends(task: LayerTask, relations: Sequence[Relation]) -> list[str]:
    """Return both ends of each relation by name."""
    graph = task.store.graph
    ids = sorted(set(chain.from_iterable((r.source, r.target) for r in relations)))
    rows = graph.entity_rows(ids)
    names = {e.id: e.name for e in graph.entities_by_row(sorted(rows.values()))}
    return [f"{names.get(r.source, r.source)} and {names.get(r.target, r.target)}" for r in relations]


def _item(kind: SummaryKind, row: int, name: str, descriptions: Sequence[Description], budget: int) -> _Item:
    shown = select_statements(descriptions, MAX_INPUT_TOKENS)
    selection = select_statements(descriptions, budget) if budget else descriptions
    parts = [part for d in shown for part in (d.text, d.chunk)]
    return _Item(
        kind=kind,
        row=row,
        key=digest("description", prompt("describe").hash, str(max_words(budget)), kind, name, *parts),
        statements=Statements(name, tuple(d.text for d in shown)),
        selection=" ".join(d.text for d in selection),
        chunks=tuple(dict.fromkeys(d.chunk for d in shown)),
    )


def _ask(task: LayerTask, items: Sequence[_Item], problems: list[str]) -> dict[str, tuple[str, str]]:
    """Return text and writer by key of what the model described.

    Raises:
        RequestsWaiting: with a batch, after everything was asked.
    """
    chat, calls = task.models.chat, task.models.calls
    assert chat is not None  # noqa: S101 - the caller checks it
    length = max_words(task.manifest.description_tokens)

    def ask(some: Sequence[Statements]) -> tuple[str, ...] | UnusableReply | RequestsWaiting:
        try:
            return describe(some, chat, calls, max_words=length)
        except (UnusableReply, RequestsWaiting) as error:
            return error

    groups = list(share_calls(item.statements for item in items))
    replies = calls.map(ask, groups, on_done=task.counter(len(groups)))
    found: dict[str, tuple[str, str]] = {}
    waiting: RequestsWaiting | None = None
    rest = iter(items)
    for group, reply in zip(groups, replies, strict=True):
        members = [next(rest) for _ in group]
        if isinstance(reply, RequestsWaiting):
            waiting = waiting or reply
        elif isinstance(reply, UnusableReply):
            problems.append(reply.problem)
        else:
            found.update(
                (item.key, (text, chat.name)) for item, text in zip(members, reply, strict=True) if text
            )
            if not all(reply):
                problems.append("a reply left out a number")
    if waiting is not None:
        raise waiting
    return found
