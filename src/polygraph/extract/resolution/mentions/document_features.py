"""Features of the mentions of one document: base names after alias resolution, attributes, context.

They depend on the document alone, so they are computed once per document and kept when other documents change.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from polygraph.extract.resolution.constraints import Constraints
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.evidence.description_attributes import describe
from polygraph.extract.resolution.evidence.sentence_attributes import extract_attributes, mentions_namesake
from polygraph.extract.resolution.evidence.statements import LISTED, Statements, WindowName, read_statements
from polygraph.extract.resolution.mentions.aliases import DocumentName, find_aliases
from polygraph.extract.resolution.names.name_parts import split_typed_name
from polygraph.extract.resolution.records import RULES, Mention, NameRelation
from polygraph.extract.resolution.vocabulary.kinds import kind_of_type
from polygraph.extract.resolution.vocabulary.regions import place_in_english, region
from polygraph.text.language import detect_language
from polygraph.text.normalize import fold

MAX_CONTEXT_NAMES = 40
"""Context names kept per window."""
_MONSIEUR = re.compile(r"M\. (?=\w{2})")
_NO_ATTRIBUTES = Attributes().to_json()
COLUMNS: Mapping[str, str] = {
    "window": "i",
    "written": "s",
    "type": "s",
    "base": "s",
    "rule": "b",
    "score": "d",
    "attributes": "s",
    "has_namesake": "b",
    "is_context": "b",
    "links": "s",
}
"""Columns of the features, for `polygraph.arrays.TableBuilder`.

There is a row for each distinct name of a window; windows are numbered within the document. `attributes` and `links`
are in JSON; a link is ``[row within the document, "equates" or "apart", predicate]``.
"""


def extract_features(
    document: str,
    mentions: Sequence[Mention],
    constraints: Constraints,
    relations: Iterable[NameRelation] = (),
    *,
    by_model: bool = True,
) -> tuple[list[tuple[str, str]], dict[str, list[Any]]]:
    """Compute the features of the names of one document.

    Args:
        document: the document of all mentions.
        mentions: one per entity row, in any order.
        constraints: of the user; they can forbid an alias.
        relations: between names of one window each.
        by_model: whether a language model wrote the rows. Types, descriptions and relations of an extractor without a
            model are too noisy to part or join names.

    Returns:
        ``(window id, name as written)`` of every row, ascending; and the rows, by the columns of `COLUMNS`.
    """
    ordered = sorted(mentions, key=lambda m: (m.window, m.name, m.type, m.description))
    items = [
        WindowName(m, parts := split_typed_name(m.name, m.type), parts.base)
        for m in _one_per_window_and_name(ordered)
    ]
    if by_model:
        _read_monsieur(items)
    statements = read_statements(items, relations) if by_model else Statements()
    _apply_aliases(document, items, constraints, statements, by_model=by_model)
    known = {fold(item.base) for item in items}
    regions = _regions_of_windows(items) if by_model else {}
    numbers: dict[str, int] = {}
    context: dict[int, set[str]] = defaultdict(set)
    columns: dict[str, list[Any]] = {column: [] for column in COLUMNS}
    for n, item in enumerate(items):
        mention, base = item.mention, item.base
        window = numbers.setdefault(mention.window, len(numbers))
        if not base:
            found = Attributes()
        elif by_model:
            found = _described(item, known)
            statements.add_to(found, n)
            near = regions.get(mention.window, frozenset())
            if len(near) == 1 and not found.within and found.kind == "place":
                found.regions = near - {fold(base)}
        else:
            found = extract_attributes(item.parts, mention.name, mention.type, mention.description)
        is_name = not item.parts.is_lower_case and mention.type not in ("date", "quantity", "concept")
        is_context = bool(base) and is_name and len(context[window]) < MAX_CONTEXT_NAMES
        if is_context:
            context[window].add(base)
        columns["window"].append(window)
        columns["written"].append(mention.name)
        columns["type"].append(mention.type)
        columns["base"].append(base or None)
        columns["rule"].append(RULES.index(item.rule))
        columns["score"].append(item.score)
        attributes = found.to_json()
        columns["attributes"].append(attributes if attributes != _NO_ATTRIBUTES else None)
        columns["has_namesake"].append(not found.is_empty() and mentions_namesake(mention.description))
        columns["is_context"].append(is_context)
        links = statements.links.get(n)
        columns["links"].append(json.dumps(links, ensure_ascii=False) if links else None)
    return [(item.mention.window, item.mention.name) for item in items], columns


def _regions_of_windows(items: Sequence[WindowName]) -> dict[str, frozenset[str]]:
    """Return the known countries and their parts that each window names, by window id."""
    found: dict[str, frozenset[str]] = defaultdict(frozenset)
    for item in items:
        if place := region(fold(item.base)):
            found[item.mention.window] |= {place}
    return found


def _described(item: WindowName, known: Set[str]) -> Attributes:
    """Return the attributes from a description; where it lies only if the document or a list knows the place."""
    mention = item.mention
    found = describe(item.parts, mention.name, mention.type, mention.description)
    if found.within:
        found.within = frozenset(
            place_in_english(place)
            for place in found.within
            if place in known or region(place) or item.parts.apposition
        )
    return found


def _read_monsieur(items: Sequence[WindowName]) -> None:
    """Read ``M.`` before a surname as a title where the rows are in French."""
    named = [item for item in items if _MONSIEUR.match(item.mention.name) and item.parts.words[:1] == ("m",)]
    if not named or detect_language(" ".join(item.mention.description for item in items)) != "fr":
        return
    for item in named:
        parts = split_typed_name(_MONSIEUR.sub("monsieur ", item.mention.name), item.mention.type)
        item.parts = replace(parts, key=item.parts.key)
        item.base = item.parts.base


def _one_per_window_and_name(ordered: Iterable[Mention]) -> list[Mention]:
    """Merge the mentions of one name in one window, since relation rows refer to entities by name.

    The most frequent type and all descriptions are kept.
    """
    rows: dict[tuple[str, str], list[Mention]] = defaultdict(list)
    for mention in ordered:
        rows[mention.window, mention.name].append(mention)
    found = []
    for same in rows.values():
        first = same[0]
        if len(same) > 1:
            types = Counter(m.type for m in same)
            majority = min(types, key=lambda t: (t == "", -types[t], t))
            first = replace(
                first, type=majority, description=" ".join(dict.fromkeys(m.description for m in same))
            )
        found.append(first)
    return found


def _apply_aliases(
    document: str,
    items: Sequence[WindowName],
    constraints: Constraints,
    statements: Statements,
    *,
    by_model: bool,
) -> None:
    """Give aliases the base name of the longer name that they stand for.

    A model that lists a person's short name beside the longer one in one reply may mean two people: these are linked.
    """
    by_key: dict[str, list[WindowName]] = defaultdict(list)
    for item in items:
        if item.parts.key and item.mention.type not in ("date", "quantity"):
            by_key[item.parts.key].append(item)
    names = [
        DocumentName(
            parts=group[0].parts,
            written=group[0].mention.name,
            types=frozenset([i.mention.type for i in group]),
            windows=frozenset([i.mention.window for i in group]),
        )
        for group in by_key.values()
    ]

    def describe_key(key: str) -> str:
        return " ".join(i.mention.description for i in by_key[key][:3])

    found = find_aliases(names, describe_key, by_model=by_model)
    refused = {
        (by_key[key][0].parts.words, alias.base)
        for key, alias in found.items()
        if statements.are_apart(key, alias.base)
    }
    by_parts = _ItemsByParts(items) if by_model else None
    for key, alias in found.items():
        # ``Threave`` may be either where ``Alderman Threave`` is not ``Silas Threave``.
        if (by_key[key][0].parts.words, alias.base) in refused:
            continue
        if constraints.forbid(
            constraints.keys(key, document, ""), constraints.keys(alias.base, document, "")
        ):
            continue
        if by_parts is not None and (pair := by_parts.listed_people(key, alias.base)):
            statements.links[pair[0]].append((pair[1], LISTED, "beside the longer name"))
            continue
        for item in by_key[key]:
            item.base, item.rule, item.score = alias.base, "alias in document", alias.score


class _ItemsByParts:
    """Names of windows by what is written in them, to find people under two names in one window."""

    def __init__(self, items: Sequence[WindowName]) -> None:
        self._items = items
        self._of_key: dict[str, list[int]] = defaultdict(list)
        self._of_base: dict[str, list[int]] = defaultdict(list)
        for n, item in enumerate(items):
            self._of_key[item.parts.key].append(n)
            self._of_base[item.parts.base].append(n)

    def listed_people(self, key: str, base: str) -> tuple[int, int] | None:
        """Return the positions of a person's surname, or name with an initial, and the full name in one window.

        Given names are left out: a text that has the full name once uses them for the same person.

        Args:
            key: of the shorter name.
            base: of the full name.

        Returns:
            Of the first such window, ascending; None if there is none.
        """
        items, surname = self._items, base.rpartition(" ")[2]
        long = {items[n].mention.window: n for n in self._of_base[base] if items[n].parts.key != key}
        for n in self._of_key[key]:
            m, words = long.get(items[n].mention.window), items[n].parts.words
            if m is None or kind_of_type(items[n].mention.type) != "person":
                continue
            if words == (surname,) or (len(words) > 1 and len(words[0]) == 1):
                return min(n, m), max(n, m)
        return None
