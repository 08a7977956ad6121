"""What a collection holds, as far as it can be counted: its documents, and what most of its passages name."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from polygraph.graph.reports.selection import words_of
from polygraph.graph.reports.sentence_quality import name_likeness
from polygraph.graph.reports.titles import shown_name
from polygraph.store.snapshot import Snapshot
from polygraph.text.prose import count_noun, join_list, shorten

_MOST_DOCUMENTS = 20_000
"""Documents up to which their dates and folders are read."""
_CANDIDATES = 200
"""Entities with the most neighbours, of which those in the most passages are named."""
_FEW = 4
"""Documents up to which their titles are listed."""
_MAX_TITLE = 100
_SHOWN = 8
"""Names, subjects and folders that are listed."""
_MOST_CHUNKS = 200_000
"""Mentions of the candidates up to which those within a filter are counted."""
_LEAST_PASSAGES = 2
_NOT_NAMED = frozenset({"date", "time", "quantity", "number"})
"""Types of entities that say little about a collection."""
_CONCEPT = "concept"
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2})\b")
_KIND = re.compile(r"\.(\w{2,5})(?:#|$)")


def describe_collection(index: Snapshot) -> list[str]:
    """Return lines that say how many documents there are, of which years and folders, and what they name most often.

    Subjects are concepts, and what has no capital. Names and subjects are ordered by the number of passages that
    mention them, then by id. Only what lies within the filter of the snapshot is counted.
    """
    return [_documents(index), *_named(index)]


def _documents(index: Snapshot) -> str:
    allowed = index.documents_allowed
    n = index.store.count("documents") if allowed is None else len(allowed)
    line = count_noun(n, "document")
    if n > _MOST_DOCUMENTS:
        return f"{line}."
    ids = sorted(allowed) if allowed is not None else [id for id, _ in index.store.documents.content_hashes()]
    if n <= _FEW:
        titles = index.titles(ids)
        return f"{line}: {join_list([shorten(titles.get(id) or id, _MAX_TITLE) for id in ids])}."
    if years := _years(list(index.dates(ids).values())):
        line = f"{line}, {years}"
    if groups := _groups(ids):
        line = f"{line}: {groups}"
    return f"{line}."


def _years(dates: Sequence[str]) -> str:
    """Say between which years documents are dated; empty if half of them or more have no year."""
    years = sorted(int(found[0]) for date in dates if (found := _YEAR.search(date)))
    if 2 * len(years) <= len(dates):
        return ""
    span = f"{years[0]} to {years[-1]}" if years[0] < years[-1] else f"{years[0]}"
    return f"dated {span}" if len(years) == len(dates) else f"{len(years):,} of them dated {span}"


def _groups(ids: Sequence[str]) -> str:
    """List the folders of some documents, the largest first; without folders their kinds; empty if there is one."""
    folders = Counter(id.partition("/")[0] if "/" in id else "" for id in ids)
    kinds = Counter(found[1].casefold() if (found := _KIND.search(id)) else "" for id in ids)
    for counts, preposition in ((folders, " in "), (kinds, " ")):
        ranked = sorted(((-n, name) for name, n in counts.items() if name))
        if len(counts) == 1 or 2 * len(ranked) > len(ids) or not ranked:
            continue
        listed = [f"{-n:,}{preposition}{name}" for n, name in ranked[:_SHOWN]]
        rest = len(ids) + sum(n for n, _ in ranked[:_SHOWN])
        return join_list([*listed, count_noun(rest, "other")] if rest else listed)
    return ""


def _named(index: Snapshot) -> list[str]:
    """List the names and subjects that most passages mention."""
    if "graph" not in index.layers:
        return []
    degrees = index.graph.degrees
    rows = np.argsort(-degrees, kind="stable")[:_CANDIDATES].tolist()
    found = index.store.graph.entity_overview(order="mentions", rows=rows, limit=len(rows))
    counts = {each.row: each.n_chunks for each in found}
    if index.documents_allowed is not None:
        if sum(counts.values()) > _MOST_CHUNKS:
            return []
        within = {entity.id: len(entity.chunks) for entity in index.entities([each.row for each in found])}
        counts = {each.row: within.get(each.id, 0) for each in found}
    names, subjects = list[str](), list[str]()
    taken: list[frozenset[str]] = []
    for each in sorted(found, key=lambda each: (-counts[each.row], each.id)):
        words = frozenset(words_of(each.name))
        likeness = name_likeness(each.name)
        # Of a date and a number nobody says that documents are about them.
        if counts[each.row] < _LEAST_PASSAGES or each.type in _NOT_NAMED or likeness < 0.2:
            continue
        # Scripts without capitals have only names; in German, subjects have capitals, too.
        is_name = each.name != each.name.lower() or each.name == each.name.upper()
        chosen = names if is_name and each.type != _CONCEPT else subjects
        if len(chosen) == _SHOWN or not words or any(words <= other or other <= words for other in taken):
            continue
        taken.append(words)
        chosen.append(f"{shown_name(each.name, each.id)} ({counts[each.row]:,})")
    lines = [("Names in the most passages", names), ("Subjects in the most passages", subjects)]
    return [f"{what}: {join_list(listed)}." for what, listed in lines if listed]
