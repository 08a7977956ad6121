"""Mentions in a parsed sentence: names, dates and informative noun phrases."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import category

from polygraph.extract.lexicon import (
    COUNTING_WORDS,
    GENERIC_HEADS,
    GIVEN_NAMES,
    LETTER_WORDS,
    MONTHS,
    OCCUPATIONS,
    TITLES,
    TYPE_OF_NOUN,
    WEEKDAYS,
)
from polygraph.extract.nlp.capitalized_names import capitalized_spans, occurrences
from polygraph.extract.nlp.dependency_trees import Sentence

_TYPES = {
    "PERSON": "person",
    "NORP": "group",
    "FAC": "place",
    "ORG": "organization",
    "GPE": "place",
    "LOC": "place",
    "PRODUCT": "product",
    "EVENT": "event",
    "WORK_OF_ART": "work",
    "LAW": "law",
    "LANGUAGE": "language",
    "DATE": "date",
    "MONEY": "quantity",
    "QUANTITY": "quantity",
}
"""Types of the recogniser's labels; numbers, ordinals, percentages and times of day are not entities."""

_VAGUE_ADJECTIVES = """
good old new great little first last own same other many such next different certain whole main major important
long short young big small large various several few more most best better early late high low full real true
poor dear strong possible particular general significant key common single second third only entire further
additional numerous multiple overall much less least very specific similar
"""
_VAGUE = frozenset(_VAGUE_ADJECTIVES.split())
_LEFT = frozenset(
    ["DET", "PRON", "ADV", "PUNCT", "CCONJ", "SCONJ", "PART", "SPACE", "SYM", "ADP", "INTJ", "NUM"]
)
_NAMING = frozenset(["PROPN", "NOUN", "ADJ", "NUM", "X"])
_NOT_LAST = frozenset(["VERB", "AUX", "ADV", "ADP", "DET", "CCONJ", "SCONJ", "PRON", "PART"])
_INSIDE = frozenset(["compound", "nmod", "amod", "nummod", "quantmod", "npadvmod"])
_CALENDAR = frozenset(MONTHS) | WEEKDAYS | frozenset(["christmas", "easter", "eve", "day"])
_PLACE_NOUNS = (
    "hill lane quay avenue square pier row point reef wood field marsh banks heath ford brook dale moor"
)
_PLACES_AND_SURNAMES = frozenset(_PLACE_NOUNS.split())
"""Nouns for places that are surnames behind a given name ("Nathan Lane")."""
_GENERATIONS = frozenset([("the", "younger"), ("the", "elder"), (",", "jr"), (",", "sr")])
_CODE = frozenset("(){}[]<>=|\\")
_AND = frozenset(["and", "&"])
_VERBS = frozenset(["VERB", "AUX"])
_MAX_WORDS = 6


@dataclass(slots=True)
class TokenSpan:
    """The tokens of one mention."""

    first: int
    last: int
    """One past the last token."""
    type: str
    is_name: bool
    """True for a name or a date, False for a noun phrase."""


def find_mentions(sentence: Sentence, title: str) -> tuple[list[TokenSpan], list[tuple[int, int]]]:
    """Find the mentions of a sentence.

    These are the recogniser's entities, capitalised spans, dates, and noun phrases without determiners. A name replaces
    the phrase that it heads (``the physicist John Wheeler`` gives ``John Wheeler`` and, as a role, ``physicist``).
    A phrase that only contains a name is a mention of its own.

    Args:
        sentence: the parsed sentence.
        title: name of the document; every occurrence in the text is a name (``Payment on Demand``).

    Returns:
        The mentions in order of their position, and pairs ``(name, role)`` of indices into them.
    """
    found = _names(sentence, title)
    name_at = [-1] * len(sentence.words)
    for k, mention in enumerate(found):
        for i in range(mention.first, mention.last):
            name_at[i] = k
    roles: list[tuple[int, int]] = []
    for i, pos in enumerate(sentence.pos):
        if pos not in ("NOUN", "PROPN"):
            continue
        if (
            sentence.deps[i] in _INSIDE
            and sentence.heads[i] > i
            and sentence.pos[sentence.heads[i]] in _NAMING
        ):
            continue
        first = _left_edge(sentence, i)
        name = name_at[i]
        if name >= 0:
            end = found[name].first
            phrase = _phrase(sentence, first, end) if end > first else None
            if (
                phrase is not None
                and sentence.pos[phrase.last - 1] == "NOUN"
                and name_at[phrase.last - 1] < 0
            ):
                roles.append((name, len(found)))
                found.append(phrase)
        elif pos == "NOUN" or sentence.words[i].islower():
            phrase = _phrase(sentence, first, i + 1)
            if phrase is not None:
                # In a text without capitals the tagger still recognises some names by their position.
                phrase.type = "concept" if pos == "NOUN" else ""
                found.append(phrase)
    order = sorted(range(len(found)), key=lambda k: (found[k].first, found[k].last))
    rank = {old: new for new, old in enumerate(order)}
    return [found[k] for k in order], [(rank[a], rank[b]) for a, b in roles]


def _names(sentence: Sentence, title: str) -> list[TokenSpan]:
    found = [TokenSpan(*_tokens(sentence, a, b), "", True) for a, b in occurrences(title, sentence.text)]
    found = [m for m in found if m.last - m.first > 1 or sentence.pos[m.first] == "PROPN"]
    all_capitals = sentence.text.isupper() and len(sentence.words) > 3
    spans = [s for s in capitalized_spans(sentence.text) if s.date or not all_capitals]
    for span in spans:
        if span.date:
            first, last = _tokens(sentence, span.start, span.end)
            if not any(m.first < last and first < m.last for m in found):
                found.append(TokenSpan(first, last, "date", True))
    untyped = [m for m in found if not m.type]
    typed = [(m.first, m.last) for m in found if m.type]
    entities: list[TokenSpan] = []
    for first, last, label in sentence.names:
        entity = _entity(sentence, first, last, label)
        if entity is not None and not any(a < entity.last and entity.first < b for a, b in typed):
            for m in untyped:
                if (
                    m.first <= entity.first
                    and entity.last <= m.last
                    and m.last - m.first == entity.last - entity.first
                ):
                    m.type = entity.type
            entities.append(entity)
    for span in spans:
        if span.date:
            continue
        first, last = _tokens(sentence, span.start, span.end)
        first, last = _trim(sentence, first, last)
        if first >= last:
            continue
        overlapping = [e for e in entities if e.first < last and first < e.last]
        if not overlapping:
            if _is_name(sentence, first, last, span.doubtful):
                entities.append(TokenSpan(first, last, "", True))
        elif len(overlapping) == 1 and first <= overlapping[0].first and last >= overlapping[0].last:
            added = [*range(first, overlapping[0].first), *range(overlapping[0].last, last)]
            if all(sentence.pos[i] in ("PROPN", "ADP", "DET", "ADJ", "NOUN", "PUNCT", "NUM") for i in added):
                overlapping[0].first, overlapping[0].last = first, last
    entities.sort(key=lambda m: (m.first, -m.last))
    for entity in entities:
        if entity.type in ("", "person"):
            entity.last += _generation(sentence, entity.last)
        if not any(a.first < entity.last and entity.first < a.last for a in found):
            found.append(entity)
    for mention in found:
        if mention.type in ("", "person"):
            mention.type = _type_by_noun(sentence, mention) or mention.type
    return found


def _entity(sentence: Sentence, first: int, last: int, label: str) -> TokenSpan | None:
    """Return one entity of the recogniser, trimmed, or None if it is not a name."""
    type_ = _TYPES.get(label)
    if type_ is None:
        return None
    words = sentence.words
    if type_ == "date":
        lower = [w.lower() for w in words[first:last]]
        is_named = any(w in _CALENDAR and words[first + i][0].isupper() for i, w in enumerate(lower))
        if not is_named:
            return None
    if type_ in ("organization", "place"):
        first, last = _organization_among_parts(sentence, first, last)
    first, last = _trim(sentence, first, last)
    if first >= last:
        return None
    if type_ == "quantity" and first and category(words[first - 1][-1]) == "Sc":
        first -= 1  # the recogniser leaves out the sign of most currencies
    text = sentence.text[sentence.starts[first] : sentence.ends[last - 1]]
    if type_ == "quantity":
        return TokenSpan(first, last, type_, True) if _is_measured(text) else None
    if not any(c.isupper() for c in text) or last - first > 10:
        return None
    if last - first == 1 and (sentence.pos[first] not in _NAMING or _is_no_name(words[first])):
        return None
    while first > 0 and words[first - 1].rstrip(".").lower() in TITLES and words[first - 1][0].isupper():
        first -= 1
    return TokenSpan(first, last, type_, True)


def _organization_among_parts(sentence: Sentence, first: int, last: int) -> tuple[int, int]:
    """Return the part between commas that alone is an organization by its noun, or stands behind an occupation.

    The recogniser takes "Accountant, Kettle & Crown" and "Mathematics, University of York" for one name. "Smith, Jones
    and Company" and "Ministry of Agriculture, Fisheries and Food" are one; and in a clause "Baker, Kettle & Crown" are
    partners.
    """
    words = sentence.words
    commas = [i for i in range(first, last) if words[i] == ","]
    if not commas:
        return first, last
    if words[commas[0] - 1].lower() in OCCUPATIONS and not _VERBS.intersection(sentence.pos):
        return commas[0] + 1, last
    parts = [*pairwise([first, *(i + 1 for i in commas), last + 1])]
    parts = [(begin, end - 1) for begin, end in parts]
    named = [
        part
        for part in parts
        if any(
            TYPE_OF_NOUN.get(words[i].lower()) == "organization" and words[i - 1] not in _AND
            for i in range(*part)
        )
    ]
    if len(named) != 1 or (named[0] != parts[-1] and _AND.intersection(words[slice(*parts[-1])])):
        return first, last
    return named[0]


def _is_measured(text: str) -> bool:
    """Return whether a text has a number with a unit or a currency; the number of a heading has none."""
    return any(c.isdigit() for c in text) and any(c.isalpha() or category(c) == "Sc" for c in text)


def _trim(sentence: Sentence, first: int, last: int) -> tuple[int, int]:
    """Remove determiners and the "Dear" of a salutation at the start, possessive endings and punctuation at the end."""
    pos, words = sentence.pos, sentence.words
    if first == 0 and last > 1 and words[0] == "Dear" and _VERBS.isdisjoint(pos[last : last + 1]):
        first = 1
    while first < last and (
        pos[first] in ("DET", "PRON", "PUNCT", "SPACE", "CCONJ", "SCONJ", "ADV", "AUX", "INTJ")
        or (pos[first] in ("ADP", "VERB") and (first == 0 or pos[first - 1] == "PUNCT"))
    ):
        if words[first].lower() == "the" and first > 0 and words[first][0].isupper():
            break  # a title that starts with an article
        first += 1
    while last > first and (
        (words[last - 1].islower() and pos[last - 1] in _NOT_LAST)
        or words[last - 1] in ("'s", "’s", "'", "’")
        or (pos[last - 1] in ("PUNCT", "SPACE") and words[last - 1] != ".")
    ):
        last -= 1
    return first, last


def _is_name(sentence: Sentence, first: int, last: int, doubtful: bool) -> bool:
    if last - first == 1:
        pos, word = sentence.pos[first], sentence.words[first]
        if _is_no_name(word):
            return False
        if doubtful or first == 0:
            return pos == "PROPN" and len(word) > 1
        return pos in _NAMING and len(word) > 1
    return any(p in ("PROPN", "NOUN", "ADJ") for p in sentence.pos[first:last])


def _is_no_name(word: str) -> bool:
    """Return whether a capitalised word counts, or belongs to a letter: "Ten were saved."; not the abbreviation NO."""
    return word.lower() in COUNTING_WORDS | LETTER_WORDS and word[1:].islower()


def _generation(sentence: Sentence, end: int) -> int:
    """Return how many words from `end` on say which of two people of a name is meant.

    ``the younger`` and ``, Jr.`` do, but not ``the younger son``.
    """
    words = tuple(word.lower().rstrip(".") for word in sentence.words[end : end + 2])
    return 2 * (words in _GENERATIONS and sentence.pos[end + 2 : end + 3] != ["NOUN"])


def _type_by_noun(sentence: Sentence, mention: TokenSpan) -> str:
    first = sentence.words[mention.first].rstrip(".").lower()
    if first in TITLES and mention.last - mention.first > 1:
        return "person"
    if mention.last - mention.first == 1:
        return ""
    last = sentence.words[mention.last - 1].lower()
    if last in _PLACES_AND_SURNAMES and first not in GIVEN_NAMES:
        return "place"
    return TYPE_OF_NOUN.get(last, "")


def _tokens(sentence: Sentence, begin: int, end: int) -> tuple[int, int]:
    """Return the tokens that cover a span of characters."""
    return max(0, bisect_right(sentence.starts, begin) - 1), max(1, bisect_right(sentence.starts, end - 1))


def _left_edge(sentence: Sentence, head: int) -> int:
    """Return the first token of the phrase that ends with its head."""
    heads = sentence.heads
    first = head
    while first > 0 and head - first < 10:
        node, steps = first - 1, 0
        while node != head and steps < 6 and heads[node] != node:
            node, steps = heads[node], steps + 1
        if node != head or (
            sentence.deps[first - 1] in ("relcl", "acl", "punct") and sentence.words[first - 1] != "-"
        ):
            break
        first -= 1
    return first


def _phrase(sentence: Sentence, first: int, last: int) -> TokenSpan | None:
    """Return a noun phrase without uninformative words, or None if nothing is left."""
    pos, words, lemmas = sentence.pos, sentence.words, sentence.lemmas
    if last - first > _MAX_WORDS:
        first = last - _MAX_WORDS
    while first < last and (
        pos[first] in _LEFT
        or words[first] in ("'s", "’s")
        or lemmas[first] in _VAGUE
        or pos[first] in ("VERB", "AUX")
    ):
        # A participle is part of the phrase (``abandoned lighthouse``); other verbs are tagging errors.
        if pos[first] == "VERB" and sentence.deps[first] == "amod":
            break
        first += 1
    while last > first and pos[last - 1] in ("PUNCT", "SPACE"):
        last -= 1
    if first >= last:
        return None
    head = last - 1
    if last - first == 1 and (lemmas[head] in GENERIC_HEADS or words[head].lower() in GENERIC_HEADS):
        return None
    # ``Scrooge's face`` is as generic as ``face``.
    if lemmas[head] in GENERIC_HEADS and any(w in ("'s", "’s", "'", "’") for w in words[first:last]):
        return None
    if last - first == 1 and words[head].lower() in LETTER_WORDS:
        return None
    text = sentence.text[sentence.starts[first] : sentence.ends[head]]
    if len(text) < 3 or len(text) > 80 or sum(c.isalpha() for c in text) < 2 or _CODE.intersection(text):
        return None
    return TokenSpan(first, last, "concept", False)
