"""The formats in which models write records: split a reply into records and their fields.

Supported are lines with a delimiter, tuples such as ``("entity"<|>"NAME"<|>...)##``, Markdown tables, lines
under a heading that names their kind, and JSON. A reply is read once; every pattern is bounded.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from polygraph.records import Json
from polygraph.tasks.parsing.json_repair import json_values
from polygraph.tasks.parsing.short_replies import unquote

MAX_FIELD = 6_000
"""Characters of a field; the rest of a longer one is ignored."""

Kind: TypeAlias = Literal["entity", "relation"]


@dataclass(slots=True)
class RawRecord:
    """The unparsed fields of one record."""

    kind: Kind
    fields: list[str]
    """Without the kind: ``name, type, description`` or ``source, target, ...``."""
    line: str
    named: bool = False
    """True if the format names its fields (JSON, a table with a header), so that none has to be guessed."""
    closed: bool = True
    """False if the closing bracket of the record is missing."""
    clean: bool = False
    """True if there is nothing around the fields that had to be removed."""


_ENTITY_WORDS = "entity|entities|entidad|entité|entität|entità|node|实体|實體|エンティティ|сущность"
_RELATION_WORDS = (
    "relationship|relationships|relation|relations|relación|relação|relazione|beziehung|"
    "edge|triple|关系|關係|関係|отношение|связь"
)
WORD_KIND: dict[str, Kind] = {}
WORD_KIND.update((word, "entity") for word in _ENTITY_WORDS.split("|"))
WORD_KIND.update((word, "relation") for word in _RELATION_WORDS.split("|"))
_KIND = rf"(?P<kind>{_RELATION_WORDS}|{_ENTITY_WORDS})"
_LONG_DELIMITER = r"<\s?/?\|[#|]{0,3}\s?>|<\|(?=\s?[\"“])|(?<=[\"”])\s?\|>"
_BAR = r"\|+|[\t｜¦│‖]"
# The kind with any markup, then the delimiter of the line.
_START = re.compile(
    rf"[^\w|]{{0,12}}{_KIND}[\"”“’'*`_)\] ]{{0,4}}\d{{0,3}}[\"”*`)\] ]{{0,3}}"
    rf"(?P<delimiter>{_LONG_DELIMITER}|{_BAR}|::|[;,:：，；]|\s[—–-]\s)",
    re.I,
)
_OTHER_BARS = re.compile(r"[｜¦│‖]")
_NO_VALUE = frozenset(("none", "null", "unknown", "undefined", "n/a", "na"))
_FIELD_ENDS = frozenset("_.!?)%")
"""What a field may end with beside letters and digits, if there is nothing around it."""
_TUPLE = re.compile(rf"\(\s?[\"“'*]{{0,3}}{_KIND}[\"”'*]{{0,3}}\s?(?:{_LONG_DELIMITER}|[|,])", re.I)
_NEXT_TUPLE = re.compile(rf"(?<!#)#{{2,}}+\s{{0,4}}(?=[\"“(]{{0,2}}{_KIND}\b)", re.I)
_BULLET = re.compile(r"^(?:[-*+•·▪>#]{1,6}\s+|#{1,6}(?=\()|\(?\d{1,3}[.):]\s+)+")
_END = re.compile(r"\W*(?:<\|)?(?:END|COMPLETE|DONE|STOP)(?:\|>)?\W*", re.I)
_TRAILING_END = re.compile(r"\s?(?:##\s?)?\(?\"?<\|\s?(?:complete|end)\s?\|>\"?\)?\s*$", re.I)
_STRENGTH_AFTER_QUOTE = re.compile(r"[\"”]\s?(\d{1,2}(?:\.\d)?)$")
_LAST_END = re.compile(r"\bEND\W{0,6}\Z")
_FENCE = re.compile(r"(?:`{3,}|~{3,})[\w-]{0,20}$")
_RULE = re.compile(r"[\s|:+=_*#-]+$")
_HEADING = re.compile(rf"[^\w]{{0,8}}(?:\w+ ){{0,4}}{_KIND}\b[^|]{{0,40}}$", re.I)
_ARROW = re.compile(
    r"^(?P<source>[^|:]{1,80}?) ?(?:-+>|=+>|→|⟶) ?(?P<target>[^|:]{1,80}?) ?(?:[:—–]|$)(?P<rest>.*)$"
)
_TYPED = re.compile(r"^(?P<name>[^|(:]{1,80}?) ?\((?P<type>[^()|]{1,40})\) ?[:—–-] ?(?P<rest>.+)$")
_PIPE = "\x00"
_DIGIT = re.compile(r"\s?\d{1,3}(?:\.\d)?\s?(?:/\s?\d{1,3}\s?)?$")
_COLUMNS: dict[str, str] = {
    **dict.fromkeys(("name", "entity", "entity name", "entity_name", "title"), "name"),
    **{"label": "label", "id": "id"},
    **dict.fromkeys(("type", "entity type", "entity_type", "category", "kind", "class"), "type"),
    **dict.fromkeys(("description", "desc", "summary", "explanation", "evidence", "details"), "description"),
    **dict.fromkeys(("source", "source entity", "source_entity", "src", "subject", "head", "from"), "source"),
    **dict.fromkeys(("source_id", "src_id", "entity1", "entity_1", "start"), "source"),
    **dict.fromkeys(("target", "target entity", "target_entity", "tgt", "object", "tail", "to"), "target"),
    **dict.fromkeys(("target_id", "tgt_id", "entity2", "entity_2", "dst", "end"), "target"),
    **dict.fromkeys(("predicate", "relation", "relationship", "rel", "relation_type", "verb"), "predicate"),
    **dict.fromkeys(("relationship_type", "edge"), "predicate"),
    **dict.fromkeys(("keywords", "keyword", "relationship_keywords", "themes", "tags"), "keywords"),
    **dict.fromkeys(("strength", "weight", "score", "relationship_strength", "importance"), "strength"),
}


def _are_columns(fields: Sequence[str]) -> bool:
    """Return whether fields are the names of columns, each another one."""
    found = set()
    for text in fields:
        column = _COLUMNS.get(unquote(text).casefold())
        if column is None or column in found:
            return False
        found.add(column)
    return True


def is_ending(line: str) -> bool:
    """Return whether a line only ends a reply: an end marker or a code fence."""
    return bool(_FENCE.match(line) or _END.fullmatch(line[:60]))


class LineRecords:
    """Records line by line, in any format except JSON."""

    def __init__(self, text: str) -> None:
        # Move an end marker on the line of the last record to a line of its own.
        last = _LAST_END.search(text, max(0, len(text) - 60))
        self.text = f"{text[: last.start()].rstrip(' #')}\nEND" if last else text
        self.complete = False
        self._section: Kind | None = None
        self._columns: list[str] | None = None

    def records(self) -> Iterator[RawRecord]:
        """Yield the records in order."""
        for line in self._logical_lines():
            found = _as_asked(line) or self._read(line)
            if found is not None:
                yield found

    def _logical_lines(self) -> Iterator[str]:
        """Yield one line per record: split lines with several records, join tuples that span several lines."""
        text = _NEXT_TUPLE.sub("\n", self.text) if "##" in self.text else self.text
        if not _TUPLE.search(text):
            yield from (line for line in text.splitlines() if line and not line.isspace())
            return
        text = _TUPLE.sub(lambda found: "\n" + found.group(), text)
        pending: list[str] = []
        for line in text.splitlines():
            if not line.strip():
                continue
            starts = _TUPLE.match(line.strip()) is not None
            if pending and (starts or _END.fullmatch(line) or _HEADING.match(line)):
                yield " ".join(pending)
                pending = []
            if starts or pending:
                pending.append(line.strip())
                if line.rstrip(" #*\t").endswith(")") or _TRAILING_END.search(line[-40:]) or len(pending) > 8:
                    yield " ".join(pending)
                    pending = []
            else:
                yield line
        if pending:
            yield " ".join(pending)

    def _read(self, line: str) -> RawRecord | None:
        line = line.strip()
        if _END.fullmatch(line[:40]) and len(line) <= 40:
            self.complete = True
            return None
        marker = _TRAILING_END.search(line, max(0, len(line) - 40))
        if marker:
            self.complete = True
            line = line[: marker.start()].rstrip()
        if not line or _FENCE.match(line) or _RULE.match(line):
            return None
        bare = (_BULLET.sub("", line[:200]) + line[200:]).lstrip("| ")
        if start := _START.match(bare):
            rest = bare[start.end() :]
            delimiter = start["delimiter"]
            kind = WORD_KIND[start["kind"].casefold()]
            plural = start["kind"].casefold() in ("entities", "relations", "relationships")
            if delimiter not in (":", "：") or _has_bar(rest) or (not plural and _is_listed(rest)):
                if _TUPLE.match(bare) or len(delimiter.strip()) > 2:
                    return self._tuple(kind, rest, line)
                return self._fields(kind, _split(rest, delimiter), line)
        if heading := _HEADING.match(bare):
            self._section = WORD_KIND[heading["kind"].casefold()]
            self._columns = None
            return None
        return self._without_kind(bare, line)

    def _tuple(self, kind: Kind, rest: str, line: str) -> RawRecord:
        rest = rest.rstrip(" #*\t")
        closed = rest.endswith(")")
        rest = rest.removesuffix(")").rstrip()
        if re.search(_LONG_DELIMITER, rest):
            fields = re.split(_LONG_DELIMITER, rest)
        else:
            fields = _split(rest, "|" if _has_bar(rest) else ",")
        # A closing quote directly before the strength replaces a missing delimiter.
        if fields and (strength := _STRENGTH_AFTER_QUOTE.search(fields[-1][-40:])):
            fields[-1:] = [fields[-1].removesuffix(strength.group()), strength.group(1)]
        while fields and not fields[-1].strip():
            fields.pop()
        return RawRecord(kind, fields, line, closed=closed)

    def _fields(self, kind: Kind, fields: list[str], line: str) -> RawRecord | None:
        if len(fields) > 1 and _are_columns(fields):
            self._columns = None  # a copy of the format line, or the header of a table
            return None
        return RawRecord(kind, fields, line)

    def _without_kind(self, bare: str, line: str) -> RawRecord | None:
        if bare.startswith("{"):
            found = next(iter(JsonRecords(bare).records()), None)
            if found is not None:
                return found
        if _has_bar(bare):
            return self._row(bare, line)
        if self._section == "relation" and (arrow := _ARROW.match(bare[:1_000])):
            rest = arrow["rest"].strip()
            return RawRecord("relation", [arrow["source"], arrow["target"], *([rest] if rest else [])], line)
        if self._section == "entity" and (typed := _TYPED.match(bare[:1_000].replace("**", ""))):
            return RawRecord("entity", [typed["name"], typed["type"], typed["rest"]], line)
        return None

    def _row(self, bare: str, line: str) -> RawRecord | None:
        """Read a line without a kind: the table header, the heading or the number of fields decides."""
        fields = _split(bare.strip().strip("|"), "|")
        columns = [_COLUMNS.get(unquote(f).casefold(), "") for f in fields]
        if sum(map(bool, columns)) >= max(2, len(columns) - 1):
            self._columns = columns
            return None
        if self._columns and len(self._columns) == len(fields):
            return _named(dict(zip(self._columns, fields, strict=True)), line)
        if self._section is not None and len(fields) >= 2:
            return RawRecord(self._section, fields, line)
        if len(fields) >= 4 and any(_DIGIT.match(f) for f in fields[2:]):
            return RawRecord("relation", fields, line)
        if len(fields) == 3:
            return RawRecord("entity", fields, line)
        return None


def _as_asked(line: str) -> RawRecord | None:
    """Read a record in the very form of the prompt, as most are; None for any other line.

    Each field begins with a letter or digit, ends with one or with punctuation of its own, and is no word for nothing.
    Within it stands no bar of any kind and no backslash. `LineRecords._read` and `fields.clean_field` would find the
    same, in many times the time.
    """
    kind, *fields = line.split(" | ")
    if not fields or kind not in ("entity", "relation") or len(line) > MAX_FIELD or "\\" in line:
        return None
    if line.count("|") != len(fields) or not (line.isascii() or _OTHER_BARS.search(line) is None):
        return None
    for text in fields:
        last = text[-1:]
        if not (text[:1].isalnum() and (last.isalnum() or last in _FIELD_ENDS)) or text.lower() in _NO_VALUE:
            return None
    has_odd_space = "  " in line or not line.isprintable()
    if (has_odd_space and " ".join(line.split()) != line) or (
        fields[0].casefold() in _COLUMNS and _are_columns(fields)
    ):
        return None
    return RawRecord(WORD_KIND[kind], fields, line, clean=True)


def _is_listed(rest: str) -> bool:
    """Return whether the text after a kind is a record (``Name, type, description``) and not the end of a heading."""
    return rest.count(",") >= 2 or rest.count(";") >= 2 or bool(_ARROW.match(rest[:300]))


def _has_bar(text: str) -> bool:
    return any(bar in text for bar in "|\t｜¦│‖")


def _split(rest: str, delimiter: str) -> list[str]:
    """Split fields by the delimiter after the kind."""
    delimiter = delimiter.strip(" ") or "-"
    if delimiter in (":", "：") or (delimiter in ",;" and _has_bar(rest)):
        delimiter = next((bar for bar in "|\t｜¦│‖" if bar in rest), ";" if rest.count(";") >= 2 else ",")
    if delimiter.startswith(("|", "｜", "¦", "│", "‖")):
        rest = rest.replace("\\|", _PIPE)
        spaced = re.split(r"(?:^|\s)[|｜¦│‖]+(?=\s|$)", rest)
        parts = spaced if len(spaced) >= 3 else re.split(r"[|｜¦│‖]", rest)
        parts = [part.replace(_PIPE, "|") for part in parts]
    elif delimiter == ",":
        try:
            parts = next(csv.reader([rest.lstrip()], skipinitialspace=True), [])
        except csv.Error:
            parts = rest.split(",")
    elif delimiter in "—–-":
        parts = re.split(r"\s[—–-]\s", rest)
    else:
        parts = rest.split(delimiter)
    while parts and not parts[-1].strip():
        parts.pop()
    return parts


# --- JSON -------------------------------------------------------------------------------------------


def is_json(text: str) -> bool:
    """Return whether a reply, or its code fence, starts with an object or list."""
    if "{" not in text and "[" not in text:
        return False  # as nearly all, in a hundredth of the time
    start = re.search(r"^\s{0,8}(?:[{\[]\s*[\"'“{\[\]}]|[{\[]\s*$)", text[:20_000], re.M)
    return start is not None and _START.match(text[: start.start()].strip()) is None


class JsonRecords:
    """Records from JSON objects at any depth of a reply."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.complete = False

    def records(self) -> Iterator[RawRecord]:
        """Yield the records in order."""
        self.complete = self.text.rstrip("` \t\n").endswith(("}", "]"))
        names: dict[str, str] = {}
        found = [r for value in json_values(self.text) for r in self._walk(value, names)]
        for record in found:
            if record.kind == "relation" and record.named:
                # Source and target may be ids of entities.
                record.fields[:2] = [names.get(name, name) for name in record.fields[:2]]
            yield record

    def _walk(self, value: Json, names: dict[str, str]) -> Iterator[RawRecord]:
        stack: list[tuple[Json, Kind | None]] = [(value, None)]
        while stack:
            item, section = stack.pop()
            found = self._record(item, section, names)
            if found is not None:
                yield found
            elif isinstance(item, dict):
                inner = [(v, WORD_KIND.get(_singular(k), section)) for k, v in item.items()]
                stack.extend(reversed(inner))
            elif isinstance(item, list):
                stack.extend((v, section) for v in reversed(item))

    def _record(self, item: Json, section: Kind | None, names: dict[str, str]) -> RawRecord | None:
        line = str(item)[:300] if isinstance(item, list | dict) and len(item) <= 20 else ""
        if isinstance(item, dict):
            if any(map(_is_nested, item.values())):
                return None
            given: dict[str, str] = {}
            for key, value in item.items():
                column, text = _COLUMNS.get(key.casefold().strip(), ""), _plain(value)
                if not (column == "type" and text.casefold() in WORD_KIND):
                    given.setdefault(column, text)
            found = _named(given, line)
            if found is not None and found.kind == "entity" and given.get("id"):
                names[given["id"]] = found.fields[0]
            return found
        if isinstance(item, list) and 1 < len(item) <= 8 and not _is_nested(item):
            fields = [_plain(v) for v in item]
            kind = WORD_KIND.get(fields[0].casefold())
            if kind is not None:
                return RawRecord(kind, fields[1:], line)
            if section == "relation" and len(item) >= 3:
                return RawRecord(section, fields, line)
            return None
        if section == "entity" and isinstance(item, str):
            return RawRecord("entity", [item], item[:300])
        return None


def _singular(key: str) -> str:
    key = key.casefold()
    return key if key in WORD_KIND else key.removesuffix("s")


def _is_nested(value: Json) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
    )


def _plain(value: Json) -> str:
    if isinstance(value, list):
        return "; ".join(str(v) for v in value if isinstance(v, str | int | float))
    return "" if value is None or isinstance(value, dict) else str(value)


def _named(given: dict[str, str], line: str) -> RawRecord | None:
    """Return a record with named fields in our order, or None if it is neither an entity nor a relation."""
    if "source" in given and "target" in given:
        predicate = (
            given.get("predicate") or given.get("type") or given.get("label") or given.get("name") or ""
        )
        fields = [given["source"], given["target"], predicate, given.get("keywords", "")]
        fields += [given.get("strength", ""), given.get("description", "")]
        return RawRecord("relation", fields, line, named=True)
    name = given.get("name") or given.get("label") or given.get("id")
    if name and len(given) > 1:
        kind = given.get("type") or (given.get("label", "") if given.get("name") else "")
        return RawRecord("entity", [name, kind, given.get("description", "")], line, named=True)
    return None
