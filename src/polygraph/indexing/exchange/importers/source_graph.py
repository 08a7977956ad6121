"""A graph that another program made, as it was read: before any of it has a place in an index."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

from polygraph.ingest.decode import clean
from polygraph.records import Document

MAX_NAME = 500
"""Characters; a longer one is a text and not a name."""
MAX_PREDICATE = 500
MAX_DESCRIPTION = 50_000
"""Characters of one description; the rest is cut off, and counted."""
MAX_KEYWORDS = 50
MAX_ITEMS = 5_000_000
"""Entities, relations or text units of one graph."""
_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUnit:
    """A piece of text that the other program read at once."""

    id: str
    text: str
    title: str = ""
    documents: tuple[str, ...] = ()
    """Ids of the documents that it may stand in, as the other program calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntity:
    """An entity as the other program merged it."""

    name: str
    type: str = ""
    descriptions: tuple[str, ...] = ()
    """One, if the program merged what its text units say; several, if it kept them apart."""
    units: tuple[str, ...] = ()
    """Ids of the text units that it comes from; they need not be among those that were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRelation:
    """A relation as the other program merged it."""

    source: str
    target: str
    predicate: str = ""
    keywords: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    strength: float = 1.0
    """Of all its text units together; positive."""
    units: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Loss:
    """Things of one kind that were left out for one reason."""

    n: int = 0
    first: str = ""
    """The beginning of the first."""
    changed: bool = False
    """Whether they were taken in with a change instead."""


@dataclass(slots=True, kw_only=True)
class SourceGraph:
    """Everything that was read, in the order of the source."""

    program: str
    """Name of the form: ``msgraphrag``, ``lightrag``, ``nano-graphrag``, ``openie``, ``csv``."""
    documents: dict[str, Document] = field(default_factory=dict)
    """By the other program's id. Their own id is the one that they get in the index."""
    taken: set[str] = field(default_factory=set)
    """Ids that the documents get in the index."""
    units: dict[str, SourceUnit] = field(default_factory=dict)
    entities: list[SourceEntity] = field(default_factory=list)
    relations: list[SourceRelation] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """What the files hold, whether it could be used or not."""
    losses: dict[str, Loss] = field(default_factory=dict)
    """What was left out or changed, by words that say what and why."""
    lost_in: dict[str, list[str]] = field(default_factory=dict)
    """By text unit, what of it could not be used, word for word."""
    notes: list[str] = field(default_factory=list)

    def lose(self, what: str, shown: object, unit: str = "", *, changed: bool = False) -> None:
        """Count something that is left out, or changed."""
        loss = self.losses.setdefault(what, Loss(changed=changed))
        loss.n += 1
        text = shown if isinstance(shown, str) else repr(shown)
        loss.first = loss.first or clean(text)[:_SHOWN]
        if unit:
            self.lost_in.setdefault(unit, []).append(clean(text)[: 5 * _SHOWN])

    def add_entity(
        self,
        name: object,
        kind: object = "",
        descriptions: Sequence[object] = (),
        units: Sequence[object] = (),
    ) -> None:
        """Take in an entity, cleaned and bounded; one that cannot be used is counted."""
        known = tidy_name(name)
        if not known:
            self.lose("entities without a usable name", name)
            return
        self.entities.append(
            SourceEntity(
                name=known,
                type=_tidy_type(kind),
                descriptions=self._descriptions(descriptions),
                units=_ids(units),
            )
        )

    def add_relation(
        self,
        source: object,
        target: object,
        *,
        predicate: object = "",
        keywords: Sequence[object] = (),
        descriptions: Sequence[object] = (),
        strength: object = 1.0,
        units: Sequence[object] = (),
    ) -> None:
        """Take in a relation, cleaned and bounded; one that cannot be used is counted."""
        ends = tidy_name(source), tidy_name(target)
        if not all(ends):
            self.lose("relations without two usable ends", (source, target))
            return
        if ends[0] == ends[1]:
            self.lose("relations of an entity with itself", ends[0])
            return
        told = " ".join(_text(predicate).split()).lower()
        if len(told) > MAX_PREDICATE:
            self.lose("relations whose predicate is too long", told)
            return
        weight = _positive(strength)
        if weight is None:
            self.lose("strengths that are no positive number, taken as 1", strength, changed=True)
        words = dict.fromkeys(" ".join(_text(word).split())[:MAX_PREDICATE] for word in keywords)
        kept = [word for word in words if word]
        if len(kept) > MAX_KEYWORDS:
            self.lose(
                f"relations with more than {MAX_KEYWORDS} keywords", f"{ends[0]}, {ends[1]}", changed=True
            )
        self.relations.append(
            SourceRelation(
                source=ends[0],
                target=ends[1],
                predicate=told,
                keywords=tuple(kept[:MAX_KEYWORDS]),
                descriptions=self._descriptions(descriptions),
                strength=1.0 if weight is None else weight,
                units=_ids(units),
            )
        )

    def add_unit(
        self, unit: object, text: object, documents: Sequence[object] = (), title: object = ""
    ) -> None:
        """Take in a text unit; an id that is there already, or no text, is counted."""
        key, told = _id(unit), clean(_text(text)).strip()
        if not key or not told:
            self.lose("text units without an id or a text", unit)
        elif key in self.units:
            self.lose("text units with an id that another one has", key)
        else:
            self.units[key] = SourceUnit(id=key, text=told, title=_id(title), documents=_ids(documents))

    def remarks(self) -> list[str]:
        """The notes, and a line for everything that was left out or changed."""
        lines = [
            f"{'changed' if loss.changed else 'left out'}: {loss.n} {what} (first: {loss.first})"
            for what, loss in self.losses.items()
        ]
        return [*self.notes, *lines]

    def _descriptions(self, said: Sequence[object]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for each in said:
            text = clean(_text(each)).strip().strip('"').strip()
            if len(text) > MAX_DESCRIPTION:
                self.lose(f"descriptions cut off at {MAX_DESCRIPTION:,} characters", text, changed=True)
                text = text[:MAX_DESCRIPTION]
            if text:
                found[text] = None
        return tuple(found)


def tidy_name(name: object) -> str:
    r"""A name on one line without the quotes around it; empty if it cannot be one.

    >>> tidy_name('"MRS.\nFEZZIWIG"')
    'MRS. FEZZIWIG'
    >>> tidy_name(None)
    ''
    """
    # A text of many megabytes is not split in words to learn that it is no name.
    text = _text(name)[: 4 * MAX_NAME]
    tidy = " ".join(clean(text).split()).strip()
    if len(tidy) > 2 and tidy[0] == tidy[-1] == '"' and '"' not in tidy[1:-1]:
        tidy = tidy[1:-1].strip()
    return tidy if len(tidy) <= MAX_NAME and any(map(str.isalnum, tidy)) else ""


def _tidy_type(kind: object) -> str:
    text = " ".join(clean(_text(kind)[: 4 * MAX_NAME]).split()).strip("\"'<> ").lower()
    return "" if len(text) > 100 or text in ("unknown", "none", "null", "nan", "other") else text


def _text(value: object) -> str:
    """A text as it is, a number as one would write it, anything else as nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return str(value) if isfinite(value) else ""


def _id(value: object) -> str:
    return " ".join(clean(_text(value)[: 4 * MAX_NAME]).split())[:MAX_NAME]


def _ids(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for key in map(_id, values) if key))


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) and 0 < number < 1e12 else None
