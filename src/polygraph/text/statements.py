"""Predicates and descriptions written as sentences."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

RELATED_TO = "related to"
"""Predicate of a triple whose row has a strength of at least 1 but neither predicate nor keywords."""
_INFLECTED: Mapping[str, str] = MappingProxyType({"be": "is", "have": "has", "do": "does"})
"""The parser's predicates are lemmas."""
_LEMMAS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("am", "are", "is", "was", "were"), "be") | dict.fromkeys(("has", "had"), "have")
)
_SENTENCE_END = (".", "!", "?", "…", ":", "。", "！", "？")
_CLOSING = "\"'”’»)]」』"


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
    >>> statements(["manager of"], "E. Marr", "Humber Towage Co.")
    'E. Marr manager of Humber Towage Co.'
    """
    return " ".join(dict.fromkeys(sentences_of(predicates, source, target).values()))


def sentences_of(predicates: Sequence[str], source: str, target: str) -> dict[tuple[bool, str], str]:
    """Return the sentences of `statements` by direction and by the predicate with the lemma of its verb.

    Directions are True for the predicates that begin with ``<-``; predicates are in lower case.
    """
    written: dict[tuple[bool, str], str] = {}
    for predicate in predicates:
        name = predicate.removeprefix("<-")
        inverse = name != predicate
        ends = (target, source) if inverse else (source, target)
        first, _, rest = name.partition(" ")
        key = f"{_LEMMAS.get(first, first)} {rest}".casefold()
        said = statement(ends[0], name, ends[1])
        written.setdefault((inverse, key), said if said.endswith(".") else f"{said}.")
    return written


def as_sentence(text: str) -> str:
    r"""Write a statement on one line, so that others can stand before and after it.

    A statement may be a part of a sentence, from or up to a semicolon or comma, or the salutation of a letter.

    >>> as_sentence("lent to Miss Orme\nin 1890;"), as_sentence("Dear Miss Vane,")
    ('Lent to Miss Orme in 1890.', 'Dear Miss Vane.')
    >>> as_sentence("pH of the water"), as_sentence("Why?"), as_sentence("a clerk in 'The Carol'")
    ('pH of the water.', 'Why?', "A clerk in 'The Carol'.")
    """
    said = " ".join(text.split()).rstrip(" ;,")
    if said and not said.rstrip(_CLOSING).endswith(_SENTENCE_END):
        said += "."
    first = said.partition(" ")[0]
    return said[:1].upper() + said[1:] if first.islower() and first.isalpha() else said
