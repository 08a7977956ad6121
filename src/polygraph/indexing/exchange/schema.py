"""Fields and types of the records of a JSON Lines export."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polygraph.store.protocol import DECISION_KINDS

_SHOWN = 60
"""Characters of a faulty value."""
_MOST = 2**53
"""Programs that read JSON differ on whole numbers beyond it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A condition on one value."""

    wanted: str
    """What is required, to follow "must be"."""
    holds: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _MOST


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _list_of(fields: Mapping[str, Callable[[Any], bool]]) -> Callable[[Any], bool]:
    def holds(value: Any) -> bool:
        return isinstance(value, list) and all(
            isinstance(item, dict)
            and item.keys() == fields.keys()
            and all(check(item[name]) for name, check in fields.items())
            for item in value
        )

    return holds


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


TEXT = Shape("a text", _is_text)
SOME_TEXT = Shape("a text that is not empty", lambda value: _is_text(value) and value != "")
WHOLE = Shape("a whole number from 0", _is_whole)
NUMBER = Shape("a number", _is_number)
POSITIVE = Shape("a number above 0", lambda value: _is_number(value) and value > 0)
TEXTS = Shape("a list of texts", _is_texts)
FIELDS = Shape("an object", lambda value: isinstance(value, dict))
STATUS = Shape('"", "ok", "repaired" or "failed"', lambda value: value in ("", "ok", "repaired", "failed"))
DECISION = Shape('"merge", "rename" or "split"', lambda value: value in DECISION_KINDS)
ANSWER = Shape("true, false or null", lambda value: value is None or isinstance(value, bool))
GROUPS = Shape(
    "a list of lists of texts", lambda value: isinstance(value, list) and all(map(_is_texts, value))
)
SPANS = Shape(
    "a list of objects with chunk, start and end",
    _list_of({"chunk": _is_text, "start": _is_whole, "end": _is_whole}),
)
TABLES = Shape(
    "a list of objects with title, columns, rows and spans, as many spans as rows and cells as columns",
    lambda value: (
        _list_of({"title": _is_text, "columns": _is_texts, "rows": _is_list, "spans": _is_list})(value)
        and all(
            len(table["rows"]) == len(table["spans"])
            and all(_is_texts(row) and len(row) == len(table["columns"]) for row in table["rows"])
            and all(
                _is_list(span) and len(span) == 2 and all(map(_is_whole, span)) for span in table["spans"]
            )
            for table in value
        )
    ),
)
DESCRIPTIONS = Shape("a list of objects with text and chunk", _list_of({"text": _is_text, "chunk": _is_text}))
FINDINGS = Shape(
    "a list of objects with summary, explanation and chunks",
    _list_of({"summary": _is_text, "explanation": _is_text, "chunks": _is_texts}),
)

SHAPES: Mapping[str, Mapping[str, Shape]] = {
    "documents": {"id": SOME_TEXT, "title": TEXT, "text": TEXT, "metadata": FIELDS, "tables": TABLES},
    "chunks": {
        "id": TEXT,
        "document": TEXT,
        "ordinal": WHOLE,
        "start": WHOLE,
        "end": WHOLE,
        "text": TEXT,
        "n_tokens": WHOLE,
        "metadata": FIELDS,
    },
    "windows": {
        "id": TEXT,
        "document": TEXT,
        "ordinal": WHOLE,
        "first": WHOLE,
        "last": WHOLE,
        "extractor": TEXT,
        "status": STATUS,
        "problem": TEXT,
        "raw": TEXT,
    },
    "entity_rows": {
        "window": TEXT,
        "seq": WHOLE,
        "name": TEXT,
        "type": TEXT,
        "description": TEXT,
        "spans": SPANS,
    },
    "relation_rows": {
        "window": TEXT,
        "seq": WHOLE,
        "source": TEXT,
        "target": TEXT,
        "predicate": TEXT,
        "keywords": TEXTS,
        "description": TEXT,
        "strength": POSITIVE,
        "chunks": TEXTS,
    },
    "decisions": {"kind": DECISION, "a": TEXT, "b": TEXT},
    "same_answers": {"key": SOME_TEXT, "same": ANSWER},
    "name_lists": {"key": SOME_TEXT, "groups": GROUPS},
    "entities": {
        "id": TEXT,
        "name": TEXT,
        "type": TEXT,
        "aliases": TEXTS,
        "descriptions": DESCRIPTIONS,
        "chunks": TEXTS,
        "degree": WHOLE,
    },
    "relations": {
        "id": TEXT,
        "source": TEXT,
        "target": TEXT,
        "predicates": TEXTS,
        "keywords": TEXTS,
        "descriptions": DESCRIPTIONS,
        "weight": NUMBER,
        "chunks": TEXTS,
    },
    "merges": {
        "entity": TEXT,
        "name": TEXT,
        "document": TEXT,
        "rule": TEXT,
        "score": NUMBER,
        "other": TEXT,
        "evidence": TEXT,
    },
    "communities": {"id": SOME_TEXT, "level": WHOLE, "parent": TEXT, "entities": TEXTS, "chunks": TEXTS},
    "reports": {
        "community": TEXT,
        "level": WHOLE,
        "title": TEXT,
        "summary": TEXT,
        "findings": FINDINGS,
        "rating": NUMBER,
        "chunks": TEXTS,
        "weight": NUMBER,
        "written_by": SOME_TEXT,
    },
    "written_summaries": {"key": SOME_TEXT, "text": SOME_TEXT, "written_by": SOME_TEXT, "chunks": TEXTS},
    "written": {"key": SOME_TEXT, "value": TEXT},
}
"""The fields of each kind of record: all of them, and no others."""

_WHO_IS_ASKED = re.compile(r".+:[0-9a-f]+\+[0-9a-f]+:[0-9]{1,15}", re.DOTALL)
"""What `tasks.indexing.same.identity` writes."""

_COUNT = Shape("a whole number from 1", lambda value: _is_whole(value) and value > 0)

MANIFEST_SHAPE: Mapping[str, Shape] = {
    "chunks": SOME_TEXT,
    "chunk_tokens": _COUNT,
    "overlap_tokens": WHOLE,
    "window_tokens": _COUNT,
    "language": TEXT,
    "embedder": SOME_TEXT,
    "dimension": _COUNT,
    "name_embedder": SOME_TEXT,
    "name_dimension": _COUNT,
    "extractor": Shape(
        'a text that begins with "nlp:", "fast:", "llm:" or "imported:"',
        lambda v: _is_text(v) and v.startswith(("nlp:", "fast:", "llm:", "imported:")),
    ),
    "extractor_settings": FIELDS,
    "reports": SOME_TEXT,
    "community_size": _COUNT,
    "community_weight": Shape('"strength" or "mentions"', lambda value: value in ("strength", "mentions")),
    "profile": TEXT,
    "descriptions": SOME_TEXT,
    "description_tokens": WHOLE,
    "report_words": _COUNT,
    "same": Shape(
        "a model, hashes of two prompts and a number of pairs, or empty",
        lambda v: _is_text(v) and (v == "" or _WHO_IS_ASKED.fullmatch(v) is not None),
    ),
}
"""Settings that an index was built with."""

EXTRACTOR_SETTINGS: Mapping[str, Shape] = {
    "entity_types": TEXTS,
    "gleaning": Shape('"none", "base" or "trial"', lambda value: value in ("none", "base", "trial")),
    "max_gleanings": _COUNT,
}
"""Settings of extraction with a model."""

PRUNING_SETTINGS: Mapping[str, Shape] = {
    "min_frequency": WHOLE,
    "min_degree": WHOLE,
    "drop_ego": Shape("true or false", lambda value: isinstance(value, bool)),
    "min_weight_percentile": Shape("a number from 0 to 100", lambda v: _is_number(v) and 0 <= v <= 100),
}
"""Settings of a graph of noun phrases."""


def find_fault(record: Any, shape: Mapping[str, Shape]) -> str:
    """Return what is wrong with a record, or an empty string.

    >>> find_fault({"kind": "split", "a": "x"}, SHAPES["decisions"])
    "the field 'b' is missing"
    >>> find_fault({"kind": "split", "a": "x", "b": 1}, SHAPES["decisions"])
    "'b' must be a text, not 1"
    """
    if not isinstance(record, dict):
        return f"must be an object, not {shorten(record, _SHOWN)}"
    for name, each in shape.items():
        if name not in record:
            return f"the field {name!r} is missing"
        if not each.holds(record[name]):
            return f"{name!r} must be {each.wanted}, not {shorten(record[name], _SHOWN)}"
    unknown = sorted(record.keys() - shape.keys())
    return f"the field {shorten(unknown[0], _SHOWN)} is not known" if unknown else ""


def shorten(value: object, most: int = 80) -> str:
    """Return a value as it is shown in messages."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"
