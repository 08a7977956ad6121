"""The spelling that names an entity, and what descriptions say of its other names."""

from collections.abc import Sequence

from polygraph.records import Description
from polygraph.text.normalize import normalize_name
from polygraph.text.words import content_stem_set

_SAYING_NAME = content_stem_set(
    "abbreviated abbreviation also called calls formerly full known name named names same short stands used "
    "abkürzung auch früher genannt heißt hieß kurz name steht"
)
_BARE = 80
"""Characters of a description that may say nothing but names."""
_DENIALS = frozenset(["not", "no", "never", "nicht", "kein", "keine", "nie"])


def shown_spelling(
    spelt: Sequence[tuple[int, str]], entity: str, *, is_person: bool, of_several: bool
) -> str:
    """Return the most frequent spelling of an entity; ties: longest, then first in code point order.

    Several words in capitals come after the same words with small letters: ``HONORA VANE`` may be a heading, a
    signature or from a telegram.

    The id is a better name in two cases. Where the most frequent spelling has no word of it, the one with most of its
    words is returned: ``Late Director`` may be written more often than ``Tobias Quillan``. Where it is a person's given
    name alone, has initials, or is a surname that others have too, with or without a title, the most frequent one with
    all words of the id is: ``K. Lind`` may be anybody beside ``Karl Lind``, while a surname alone is what many texts
    call a person.

    Args:
        spelt: spellings, each with its count, negative.
        entity: the id.
        is_person: whether it is the id of a person.
        of_several: whether other ids end with the same word.
    """
    if len(spelt) == 1:
        return spelt[0][1]
    capitals = {text for _, text in spelt if " " in text and text.isupper()}
    others = {normalize_name(text) for _, text in spelt if text not in capitals} if capitals else set[str]()

    def order(pair: tuple[int, str]) -> tuple[bool, int, int, str]:
        count, text = pair
        return text in capitals and normalize_name(text) in others, count, -len(text), text

    ordered = [text for _, text in sorted(spelt, key=order)]
    wanted = entity.split()
    words = {text: normalize_name(text).split() for text in ordered}
    shared = {text: len({*wanted}.intersection(words[text])) for text in ordered}
    first = ordered[0]
    if not shared[first]:
        return max(ordered, key=shared.__getitem__)
    is_surname = [word for word in words[first] if word in wanted] == wanted[-1:]
    is_vague = _is_given_or_initials(words[first], wanted) or (of_several and is_surname)
    if is_person and shared[first] < len({*wanted}) and is_vague:
        return next((text for text in ordered if shared[text] == len({*wanted})), first)
    return first


def without_bare_names(
    said: Sequence[tuple[Description, int]], names: Sequence[str], *, by_model: bool
) -> Sequence[tuple[Description, int]]:
    """Leave out what only says that two names of an entity are its names.

    A model that is asked for both names and a relation between them says so twice: ``Name of the captain in the
    village`` and ``The captain is called the Admiral.`` What is said of two names stays if it denies, or has a word
    that neither a name nor another description of its chunk has. What a model says of one name stays if it has any
    word of its own: ``Short name of the Halcyon`` has none.

    Args:
        said: descriptions with the numbers of the spellings that they are of, -1 where of two names.
        names: all spellings of the entity.
        by_model: whether a model wrote the descriptions, and not a parser that takes sentences of the text.
    """
    of_two = any(spelling < 0 for _, spelling in said)
    if len(said) == 1 or len(names) == 1 or not (by_model or of_two):
        return said
    known: dict[str, set[str]] = {}
    if of_two:
        for description, spelling in said:
            if spelling >= 0:
                known.setdefault(description.chunk, set()).update(content_stem_set(description.text))
    of_names = _SAYING_NAME.union(*map(content_stem_set, names))

    def is_bare(description: Description, spelling: int) -> bool:
        text = description.text
        if spelling >= 0 and not (by_model and len(text) <= _BARE):
            return False
        of_others = known.get(description.chunk, set()) if spelling < 0 else set[str]()
        return content_stem_set(text) <= of_names | of_others and _DENIALS.isdisjoint(text.casefold().split())

    kept = [each for each in said if not is_bare(*each)]
    return kept or said[:1]


def with_other_name(said: Description, other: str, name: str, *, is_person: bool) -> Description:
    """Return what a model says of an entity under another name, with that name.

    ``Name of the firm from 1889`` is said of Brunn & Sons, and would be false of the Brunn AG that it became.

    Args:
        said: the description.
        other: the name that it is said of.
        name: of the entity.
        is_person: whether the entity is a person.
    """
    if other == name or not _adds_a_name(other, name, is_person=is_person):
        return said
    text = said.text.rstrip()
    if other.casefold() in text.casefold():
        return said
    end = text[-1] if text.endswith((".", "!", "?", ";", "。")) else ""
    return Description(f"{text.removesuffix(end)} ({other}){end}", said.chunk)


def _adds_a_name(other: str, name: str, *, is_person: bool) -> bool:
    """Return whether a spelling has a word in capitals or a code that another lacks; of a person, as its last word.

    Titles, initials, given names and surnames alone say nothing new of a person, nor does what stands in brackets.

    >>> _adds_a_name("Brunn & Sons", "Brunn AG", is_person=False), _adds_a_name("the firm", "Brunn AG", is_person=False)
    (True, False)
    >>> [_adds_a_name(n, "Ada Lind", is_person=True) for n in ("Miss A. Lind", "Ada Lind Okoro")]
    [False, True]
    >>> [_adds_a_name(n, "Ada Lind", is_person=True) for n in ("participant 03-011", "Ada Lind (Chief Pilot)")]
    [True, False]
    """
    known = set(normalize_name(name).split())
    other = other.partition(" (")[0]
    words = other.split()[-1:] if is_person else other.split()
    return any(
        (word[:1].isupper() or any(map(str.isdigit, word)))
        and len(key := normalize_name(word)) > 1
        and not known.issuperset(key.split())
        for word in words
    )


def _is_given_or_initials(words: Sequence[str], full: Sequence[str]) -> bool:
    """Return whether the words of a name are only the first one of a full name, or have an initial."""
    return list(words) == list(full[:1]) or any(len(word) == 1 for word in words)
