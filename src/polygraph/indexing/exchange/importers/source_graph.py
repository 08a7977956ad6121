"""A graph that another program made, as it was read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

from polygraph.ingest.decode import clean
from polygraph.records import Document

MAX_NAME = 500
"""Characters; a longer one is a text and not a name."""
MAX_PREDICATE = 500
MAX_DESCRIPTION = 50_000
"""Characters of one description; the rest is cut off and counted."""
MAX_KEYWORDS = 50
MAX_ITEMS = 5_000_000
"""Entities, relations or text units of one graph."""
_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUnit:
    """A text unit: a piece of text that the other program read at once."""

    id: str
    text: str
    title: str = ""
    documents: tuple[str, ...] = ()
    """Ids, in the other program, of the documents that it may be a part of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntity:
    """An entity as the other program merged it."""

    name: str
    type: str = ""
    descriptions: tuple[str, ...] = ()
    """One, if the program merged those of its text units; several, if it kept them separate."""
    units: tuple[str, ...] = ()
    """Ids of the text units that it comes from, whether they were read or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRelation:
    """A relation as the other program merged it."""

    source: str
    target: str
    predicate: str = ""
    keywords: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    strength: float = 1.0
    """Strength of all its text units together; above 0."""
    units: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Loss:
    """Items of one kind that were left out, or changed, for one reason."""

    n: int = 0
    first: str = ""
    """The beginning of the first."""
    changed: bool = False
    """True if they were changed instead."""


@dataclass(slots=True, kw_only=True)
class SourceGraph:
    """Everything that was read, in the order of the source."""

    program: str
    """Name of the format: ``msgraphrag``, ``lightrag``, ``nano-graphrag``, ``openie``, ``csv``."""
    documents: dict[str, Document] = field(default_factory=dict)
    """By the other program's id; the id of the record is the one in the index."""
    taken: set[str] = field(default_factory=set)
    """Ids of the documents in the index."""
    units: dict[str, SourceUnit] = field(default_factory=dict)
    entities: list[SourceEntity] = field(default_factory=list)
    relations: list[SourceRelation] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """Items in the files, usable or not."""
    losses: dict[str, Loss] = field(default_factory=dict)
    """What was left out or changed, by kind and reason."""
    losses_by_unit: dict[str, list[str]] = field(default_factory=dict)
    """By text unit, its records that could not be used, as written."""
    notes: list[str] = field(default_factory=list)

    def record_loss(self, what: str, shown: object, unit: str = "", *, changed: bool = False) -> None:
        """Count an item that is left out, or changed."""
        loss = self.losses.setdefault(what, Loss(changed=changed))
        loss.n += 1
        text = shown if isinstance(shown, str) else repr(shown)
        loss.first = loss.first or clean(text)[:_SHOWN]
        if unit:
            self.losses_by_unit.setdefault(unit, []).append(clean(text)[: 5 * _SHOWN])

    def add_entity(
        self,
        name: object,
        kind: object = "",
        descriptions: Sequence[object] = (),
        units: Sequence[object] = (),
    ) -> None:
        """Add an entity, cleaned and bounded; one that cannot be used is counted as a loss."""
        known = tidy_name(name)
        if not known:
            self.record_loss("entities without a usable name", name)
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
        """Add a relation, cleaned and bounded; one that cannot be used is counted as a loss."""
        ends = tidy_name(source), tidy_name(target)
        if not all(ends):
            self.record_loss("relations without two usable ends", (source, target))
            return
        if ends[0] == ends[1]:
            self.record_loss("relations of an entity with itself", ends[0])
            return
        tidied = " ".join(_text(predicate).split()).lower()
        if len(tidied) > MAX_PREDICATE:
            self.record_loss("relations whose predicate is too long", tidied)
            return
        weight = _positive(strength)
        if weight is None:
            self.record_loss("strengths that are no positive number, taken as 1", strength, changed=True)
        words = dict.fromkeys(" ".join(_text(word).split())[:MAX_PREDICATE] for word in keywords)
        kept = [word for word in words if word]
        if len(kept) > MAX_KEYWORDS:
            self.record_loss(
                f"relations with more than {MAX_KEYWORDS} keywords", f"{ends[0]}, {ends[1]}", changed=True
            )
        self.relations.append(
            SourceRelation(
                source=ends[0],
                target=ends[1],
                predicate=tidied,
                keywords=tuple(kept[:MAX_KEYWORDS]),
                descriptions=self._descriptions(descriptions),
                strength=1.0 if weight is None else weight,
                units=_ids(units),
            )
        )

    def add_unit(
        self, unit: object, text: object, documents: Sequence[object] = (), title: object = ""
    ) -> None:
        """Add a text unit; a second one of an id, or one without a text, is counted as a loss."""
        key, cleaned = _id(unit), clean(_text(text)).strip()
        if not key or not cleaned:
            self.record_loss("text units without an id or a text", unit)
        elif key in self.units:
            self.record_loss("text units with an id that another one has", key)
        else:
            self.units[key] = SourceUnit(id=key, text=cleaned, title=_id(title), documents=_ids(documents))

    def import_notes(self) -> list[str]:
        """Return the notes, and a line for each kind of loss."""
        lines = [
            f"{'changed' if loss.changed else 'left out'}: {what} ({loss.n:,}; first: {loss.first})"
            for what, loss in self.losses.items()
        ]
        return [*self.notes, *lines]

    def _descriptions(self, descriptions: Sequence[object]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for each in descriptions:
            text = clean(_text(each)).strip().strip('"').strip()
            if len(text) > MAX_DESCRIPTION:
                self.record_loss(
                    f"descriptions cut off at {MAX_DESCRIPTION:,} characters", text, changed=True
                )
                text = text[:MAX_DESCRIPTION]
            if text:
                found[text] = None
        return tuple(found)


def tidy_name(name: object) -> str:
    r"""Return a name on one line, without quotes around it; empty if it cannot be a name.

    >>> tidy_name('"MRS.\nFEZZIWIG"')
    'MRS. FEZZIWIG'
    >>> tidy_name(None)
    ''
    """
    # A text of many megabytes need not be split in words to see that it is no name.
    text = _text(name)[: 4 * MAX_NAME]
    tidy = " ".join(clean(text).split()).strip()
    if len(tidy) > 2 and tidy[0] == tidy[-1] == '"' and '"' not in tidy[1:-1]:
        tidy = tidy[1:-1].strip()
    return tidy if len(tidy) <= MAX_NAME and any(map(str.isalnum, tidy)) else ""


def _tidy_type(kind: object) -> str:
    text = " ".join(clean(_text(kind)[: 4 * MAX_NAME]).split()).strip("\"'<> ").lower()
    return "" if len(text) > 100 or text in ("unknown", "none", "null", "nan", "other") else text


def _text(value: object) -> str:
    """Return a text as it is, a number as text, and an empty text for anything else."""
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
