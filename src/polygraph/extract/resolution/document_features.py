"""What one document contributes to the resolution of names: read once for each document, whatever becomes of others."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from json import dumps, loads
from typing import Any

from polygraph.extract.resolution.aliases import Alias, Local, aliases
from polygraph.extract.resolution.attributes import Evidence, Name, evidence, several, take_apart
from polygraph.extract.resolution.constraints import Decisions
from polygraph.extract.resolution.records import RULES, Mention, Rule

MAX_COMPANY = 40
"""Names of a window that are remembered as the company of each other."""
_WHOLE = frozenset(["person", "", "organization", "group"])


@dataclass(slots=True)
class _Item:
    """A name of a window."""

    mention: Mention
    name: Name
    base: str
    rule: Rule = "same name"
    score: float = 1.0


def read_names(
    document: str, mentions: Sequence[Mention], decisions: Decisions
) -> tuple[list[tuple[str, str]], dict[str, list[Any]]]:
    """Find out under which base each name of each window meets others, and what the text tells of its bearer.

    Args:
        document: where all of the mentions stand.
        mentions: one per entity row, in any order.
        decisions: of the user.

    Returns:
        ``(window id, name as written)`` of every row, ascending; and the rows: columns of the table ``names``
        (see `columns.TABLES`).
    """
    ordered = sorted(mentions, key=lambda m: (m.window, m.name, m.type, m.description, m.chunks))
    items = [_Item(m, name := name_of(m.name, m.type), name.base) for m in _distinct(ordered)]
    _alias(document, [item for item in items if item.name.key], decisions)
    numbers: dict[str, int] = {}
    company: dict[int, set[str]] = defaultdict(set)
    told: dict[str, list[Any]] = {
        c: [] for c in ("window", "written", "type", "base", "rule", "score", "told", "several", "near")
    }
    for item in items:
        mention, base = item.mention, item.base
        window = numbers.setdefault(mention.window, len(numbers))
        found = evidence(item.name, mention.name, mention.type, mention.description) if base else Evidence()
        plain = item.name.written_low or mention.type in ("date", "quantity", "concept")
        near = bool(base) and not plain and len(company[window]) < MAX_COMPANY
        if near:
            company[window].add(base)
        told["window"].append(window)
        told["written"].append(mention.name)
        told["type"].append(mention.type)
        told["base"].append(base or None)
        told["rule"].append(RULES.index(item.rule))
        told["score"].append(item.score)
        told["told"].append(None if found.empty() else evidence_to_text(found))
        told["several"].append(not found.empty() and several(mention.description))
        told["near"].append(near)
    return [(item.mention.window, item.mention.name) for item in items], told


@lru_cache(maxsize=8_192)
def name_of(written: str, kind: str) -> Name:
    """Take a name apart as its type allows.

    >>> name_of("Captain Quill", "person").base, name_of("King Street", "place").base
    ('quill', 'king street')
    """
    name = take_apart(written)
    if kind not in _WHOLE and name.titles:
        # ``Captain`` before the name of a ship or place is part of it.
        return Name(name.key, name.key, tuple(name.key.split()), frozenset(), "", name.written_low)
    return name


def evidence_to_text(found: Evidence) -> str:
    """Write evidence so that `evidence_from_text` gives it back."""
    return dumps([sorted(v) if isinstance(v, frozenset) else v for v in astuple(found)])


def evidence_from_text(text: str) -> Evidence:
    """Read what `evidence_to_text` wrote."""
    gender, suffix, married, kind, born, died, titles, occupations = loads(text)
    return Evidence(gender, suffix, married, kind, born, died, frozenset(titles), frozenset(occupations))


def _distinct(ordered: Iterable[Mention]) -> list[Mention]:
    """One mention per window and name: a name cannot mean two things where rows refer to it by name.

    The commonest type and all descriptions are kept.
    """
    rows: dict[tuple[str, str], list[Mention]] = defaultdict(list)
    for mention in ordered:
        rows[mention.window, mention.name].append(mention)
    found = []
    for same in rows.values():
        first = same[0]
        if len(same) > 1:
            types = Counter(m.type for m in same)
            kind = min(types, key=lambda t: (t == "", -types[t], t))
            first = replace(
                first, type=kind, description=" ".join(dict.fromkeys(m.description for m in same))
            )
        found.append(first)
    return found


def _alias(document: str, items: Sequence[_Item], decisions: Decisions) -> None:
    """Move short names to the base of the longer name that they stand for in their document."""
    by_key: dict[str, list[_Item]] = defaultdict(list)
    for item in items:
        if item.mention.type not in ("date", "quantity"):
            by_key[item.name.key].append(item)
    names = [
        Local(
            name=group[0].name,
            written=group[0].mention.name,
            types=frozenset(i.mention.type for i in group),
            windows=frozenset(i.mention.window for i in group),
        )
        for group in by_key.values()
    ]
    sentences = {key: " ".join(i.mention.description for i in group[:3]) for key, group in by_key.items()}
    found: Mapping[str, Alias] = aliases(names, sentences)
    for key, alias in found.items():
        if decisions.forbid(decisions.sides(key, document), decisions.sides(alias.base, document)):
            continue
        for item in by_key[key]:
            item.base, item.rule, item.score = alias.base, "alias in document", alias.score
