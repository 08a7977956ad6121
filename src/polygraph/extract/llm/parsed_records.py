"""The records of a model's reply: entities, relations and dropped lines, distinct and bounded."""

from dataclasses import dataclass, field, replace

from polygraph.text.normalize import normalize_name

MAX_KEYWORDS = 8
MAX_DESCRIPTION = 1_500
"""Characters of a description; the rest is cut off and reported."""
MAX_DROPPED = 100
"""Dropped lines that are kept verbatim; all are counted."""
UNSTATED_STRENGTH = 5.0
"""Strength of a relation for which the model gives none: the middle of the scale."""


class UnusableRecord(Exception):
    """A record that cannot be used, and why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEntity:
    """An entity as written, without markup."""

    name: str
    type: str = ""
    """Lower case; empty if it is not stated or if only a relation names the entity."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRelation:
    """A relation as written; both ends are names in `ParsedExtraction.entities`."""

    source: str
    target: str
    predicate: str = ""
    """Lower case."""
    keywords: tuple[str, ...] = ()
    description: str = ""
    strength: float = UNSTATED_STRENGTH
    """From 1 to 10."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A part of the reply that was not used."""

    line: str
    """The start of the line."""
    reason: str
    kind: str = ""
    """``entity`` or ``relation`` if a record is lost; empty if only a part of one is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedExtraction:
    """The records of a reply."""

    entities: tuple[ParsedEntity, ...] = ()
    """Distinct by normalised name, in order of appearance; entities that only relations name come last."""
    relations: tuple[ParsedRelation, ...] = ()
    """Distinct by source, target and predicate, capitals aside, in order of appearance."""
    dropped: tuple[Dropped, ...] = ()
    """Unusable records and truncated fields, at most `MAX_DROPPED`."""
    n_dropped: int = 0
    """Number of unusable records and truncated fields."""
    n_merged: int = 0
    """Records that were merged with an earlier one."""
    n_created: int = 0
    """Entities that only relations name, without type and description."""

    def __add__(self, other: "ParsedExtraction") -> "ParsedExtraction":
        """Add the records of a later reply about the same text; repeated records are merged."""
        merged = RecordCollector(max_records=None)
        for part in (self, other):
            for entity in part.entities:
                merged.add_entity(entity)
            for relation in part.relations:
                merged.add_relation(relation)
        return replace(
            merged.result(),
            dropped=(*self.dropped, *other.dropped)[:MAX_DROPPED],
            n_dropped=self.n_dropped + other.n_dropped,
            n_merged=self.n_merged + other.n_merged,
            n_created=sum(not (entity.type or entity.description) for entity in merged.entities.values()),
        )


@dataclass(slots=True)
class RecordCollector:
    """Collects distinct records up to a limit."""

    max_records: int | None
    """Entities and relations together; None for no limit."""
    entities: dict[str, ParsedEntity] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], ParsedRelation] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    n_dropped: int = 0
    n_merged: int = 0

    def drop(self, line: str, reason: str, kind: str = "") -> None:
        """Report a line that was not used, see `Dropped`."""
        self.n_dropped += 1
        if len(self.dropped) < MAX_DROPPED:
            self.dropped.append(Dropped(" ".join(line[:200].split()), reason, kind))

    def _check_limit(self) -> None:
        if self.max_records is not None and len(self.entities) + len(self.relations) >= self.max_records:
            raise UnusableRecord(f"more than {self.max_records} records")

    def add_entity(self, entity: ParsedEntity) -> None:
        """Add an entity, or merge it with the one of the same name."""
        key = normalize_name(entity.name)
        known = self.entities.get(key)
        if known is None:
            self._check_limit()
            self.entities[key] = entity
            return
        self.n_merged += 1
        self.entities[key] = replace(
            known,
            type=known.type or entity.type,
            description=_joined(known.description, entity.description),
        )

    def add_relation(self, relation: ParsedRelation) -> None:
        """Add a relation, or merge it with the one of the same names and predicate."""
        key = (
            normalize_name(relation.source),
            normalize_name(relation.target),
            relation.predicate.casefold(),
        )
        known = self.relations.get(key)
        if known is None:
            self._check_limit()
            self.relations[key] = relation
            return
        self.n_merged += 1
        keywords: dict[str, str] = {}
        for word in (*known.keywords, *relation.keywords):
            keywords.setdefault(word.casefold(), word)
        self.relations[key] = replace(
            known,
            keywords=tuple(keywords.values())[:MAX_KEYWORDS],
            description=_joined(known.description, relation.description),
            strength=max(known.strength, relation.strength),
        )

    def result(self) -> ParsedExtraction:
        """Return the records; relations use the spelling of their entities, and missing entities are added."""
        entities = dict(self.entities)
        relations = []
        for (source, target, _), relation in self.relations.items():
            names = []
            for key, name in ((source, relation.source), (target, relation.target)):
                if key not in entities:
                    entities[key] = ParsedEntity(name=name)
                names.append(entities[key].name)
            respelled = names != [relation.source, relation.target]
            relations.append(replace(relation, source=names[0], target=names[1]) if respelled else relation)
        return ParsedExtraction(
            entities=tuple(entities.values()),
            relations=tuple(relations),
            dropped=tuple(self.dropped),
            n_dropped=self.n_dropped,
            n_merged=self.n_merged,
            n_created=len(entities) - len(self.entities),
        )


def _joined(first: str, second: str) -> str:
    if not second or second.casefold() in first.casefold():
        return first
    both = f"{first} {second}" if first else second
    return both if len(both) <= MAX_DESCRIPTION else first
