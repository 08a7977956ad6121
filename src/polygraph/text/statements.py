"""Predicates of relations written as sentences."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stem_set

RELATED_TO = "related to"
"""Predicate of a triple whose row has a strength of at least 1 but neither predicate nor keywords."""
_INFLECTED: Mapping[str, str] = MappingProxyType({"be": "is", "have": "has", "do": "does"})
"""The parser's predicates are lemmas."""
_LEMMAS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("am", "are", "is", "was", "were"), "be") | dict.fromkeys(("has", "had"), "have")
)


def statement(source: str, predicate: str, target: str) -> str:
    """Write subject, predicate and object one after the other.

    >>> statement("Mara Quill", "be keeper of", "Skerry Light")
    'Mara Quill is keeper of Skerry Light'
    """
    first, space, rest = predicate.partition(" ")
    return f"{source} {_INFLECTED.get(first, first)}{space}{rest} {target}"


def statements(predicates: Sequence[str], source: str, target: str) -> str:
    """Write predicates as sentences; those of the other direction begin with ``<-``.

    Of predicates that differ in capitals or in the tense of "be" or "have" only, the first is written.

    >>> statements(["<-is father of", "<-was father of", "be"], "Honora Vane", "Papa")
    'Papa is father of Honora Vane. Honora Vane is Papa.'
    """
    written: dict[tuple[bool, str], str] = {}
    for predicate in predicates:
        name = predicate.removeprefix("<-")
        inverse = name != predicate
        ends = (target, source) if inverse else (source, target)
        first, _, rest = name.partition(" ")
        key = f"{_LEMMAS.get(first, first)} {rest}".casefold()
        written.setdefault((inverse, key), f"{statement(ends[0], name, ends[1])}.")
    return " ".join(dict.fromkeys(written.values()))


def without_repeated(head: str, said: str) -> str:
    """Leave out those sentences of statements that add no word to what is said of the relation.

    A predicate of a model is a phrase ("ordered painted white"), which reads badly beside the sentence that it is from.

    >>> said = "Mara Quill had the Skerry Light painted white, as ordered."
    >>> without_repeated("Mara Quill ordered painted white Skerry Light.", said)
    ''
    >>> without_repeated("Papa is father of Ada.", "He is her father.")
    'Papa is father of Ada.'
    """
    held = content_stem_set(said)
    sentences = [head[start:end] for start, end in sentence_spans(head)]
    kept = [sentence for sentence in sentences if not content_stem_set(sentence) <= held]
    return head if len(kept) == len(sentences) else " ".join(kept)
