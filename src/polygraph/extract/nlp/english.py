"""Entity and relation rows from parsed English sentences."""

import re
from dataclasses import dataclass
from functools import partial

from polygraph.extract.lexicon import OCCUPATIONS, PERSON_VERBS, TITLES, TYPE_OF_NOUN
from polygraph.extract.nlp.capitalized_names import name_in_title
from polygraph.extract.nlp.dependency_trees import Sentence
from polygraph.extract.nlp.mentions import TokenSpan, find_mentions
from polygraph.extract.nlp.paragraphs import Paragraph
from polygraph.extract.nlp.row_builder import RowBuilder
from polygraph.extract.nlp.triples import Triple, find_triples

_PERSONAL_PRONOUNS = frozenset(["he", "she", "him", "his", "her"])
_THING_PRONOUNS = frozenset(["it", "its"])
_NOT_THING = frozenset(["person", "date", "quantity"])
_SUBJECTS = ("nsubj", "nsubjpass")
_OPENING = "#@$€£."
_HEADING_MARK = re.compile(r"#+\s+")
_CLOSING = ".!?%+#™®°)"
_DASH = re.compile(r"[-–—]| to ")
_OF_PLACE = frozenset(["in", "at", "into", "near", "within", "across", "throughout", "outside"])
"""Prepositions behind which people are seldom named."""
_DETERMINERS = frozenset(["the", "a", "an", "this", "that", "its", "our", "their", "your"])
"""Words behind which a name is seldom that of one person."""
_BORN = re.compile(r"\b(?:born|b\.)")
_DIED = re.compile(r"\b(?:died|d\.)|†")


@dataclass(slots=True)
class _Antecedent:
    """The entity that a pronoun in the next sentence can refer to."""

    key: str = ""
    is_person: bool = False


def extract_paragraph(
    builder: RowBuilder, paragraph: Paragraph, sentences: list[Sentence], title: str
) -> None:
    """Add the entities and relations of the sentences of one paragraph to the rows of their window."""
    previous = _Antecedent()
    title = name_in_title(title)
    for sentence in sentences:
        # The parser may have been given lower case or a masked title; rows quote the original text.
        sentence.text = paragraph.text[sentence.start : sentence.start + len(sentence.text)]
        previous = _extract_sentence(builder, paragraph, sentence, previous, title)


def _extract_sentence(
    builder: RowBuilder, paragraph: Paragraph, sentence: Sentence, previous: _Antecedent, title: str
) -> _Antecedent:
    """Add the rows of one sentence and return the antecedent for the next."""
    mentions, roles = find_mentions(sentence, title)
    token_keys = [""] * len(sentence.words)
    keys: list[str] = []
    length_score = 1 if 5 <= len(sentence.words) <= 60 else 0
    for mention in mentions:
        begin, end = _trimmed(sentence, mention)
        dep = sentence.deps[_head(sentence, mention)]
        key = builder.add_mention(
            sentence.text[begin:end],
            mention.type,
            (paragraph.origin(sentence.start + begin), paragraph.origin_end(sentence.start + end)),
            sentence.text,
            is_name=mention.is_name,
            score=length_score + (2 if dep in _SUBJECTS else 1 if dep in ("appos", "attr", "dobj") else 0),
        )
        keys.append(key)
        if key and mention.is_name:
            is_located, is_determined = _context(sentence, mention)
            builder.add_context(key, is_located=is_located, is_determined=is_determined)
        for i in range(mention.first, mention.last) if mention.is_name else (mention.last - 1,):
            if mention.is_name or not token_keys[i]:
                token_keys[i] = key
    _vote_for_person(builder, sentence, mentions, token_keys, keys)
    antecedents = _resolve_pronouns(builder, sentence, token_keys, previous)
    position = paragraph.origin(sentence.start)
    in_triples: set[tuple[str, str]] = set()
    triples = find_triples(sentence, token_keys, partial(_can_be, builder))
    triples += [(keys[a], "be", keys[b]) for a, b in roles if keys[a] and keys[b] and keys[a] != keys[b]]
    triples += _life_dates(sentence, mentions, keys)
    for source, predicate, target in dict.fromkeys(triples):
        builder.add_triple(source, predicate, target, sentence.text, position)
        in_triples.add((source, target))
        if predicate in ("be", "become") and builder.is_name(source):
            noun = target.rsplit(" ", 1)[-1]
            if noun in OCCUPATIONS:
                builder.add_type_vote(source, "person", 2)
            elif noun in TYPE_OF_NOUN:
                builder.add_type_vote(source, TYPE_OF_NOUN[noun], 2)
    builder.add_cooccurrences(
        [*antecedents, *(key for key in keys if key)], in_triples, sentence.text, position
    )
    return _antecedent(builder, sentence, token_keys)


def _context(sentence: Sentence, mention: TokenSpan) -> tuple[bool, bool]:
    """Return whether a mention itself is behind a preposition of place, and whether behind a determiner.

    In ``the Vane plan`` and ``in Vane's view``, the plan and the view are.
    """
    words, head = sentence.words, _head(sentence, mention)
    before = mention.first - 1
    is_determined = before >= 0 and sentence.heads[before] == head and words[before].lower() in _DETERMINERS
    is_located = sentence.deps[head] == "pobj" and words[sentence.heads[head]].lower() in _OF_PLACE
    return is_located, is_determined


def _can_be(builder: RowBuilder, one: str, other: str) -> bool:
    """Return whether an apposition can say that one entity is the other.

    Two names side by side are one thing only if they are of one type, and no places, of which one lies in the other. An
    office ("Professor of Optics") is no name, and nothing but a date is one.
    """
    if not (one and other and builder.is_name(one) and builder.is_name(other)):
        return True
    first, *more = other.split()
    if first in OCCUPATIONS and more[:1] in (["of"], ["for"]):
        return True
    types = {builder.type_of(one), builder.type_of(other)}
    if "date" not in types:
        types -= {""}
    return len(types) < 2 and "place" not in types


def _head(sentence: Sentence, mention: TokenSpan) -> int:
    """Return the token of a mention whose syntactic head lies outside it."""
    for i in range(mention.first, mention.last):
        if not mention.first <= sentence.heads[i] < mention.last or sentence.heads[i] == i:
            return i
    return mention.last - 1


def _trimmed(sentence: Sentence, mention: TokenSpan) -> tuple[int, int]:
    """Return the span of a mention in its sentence without brackets and punctuation at its edges."""
    text = sentence.text
    begin, end = sentence.starts[mention.first], sentence.ends[mention.last - 1]
    begin += heading.end() if (heading := _HEADING_MARK.match(text[begin:end])) else 0
    while begin < end and not text[begin].isalnum() and text[begin] not in _OPENING:
        begin += 1
    while begin < end and not text[end - 1].isalnum() and text[end - 1] not in _CLOSING:
        end -= 1
    return begin, end


def _life_dates(sentence: Sentence, mentions: list[TokenSpan], keys: list[str]) -> list[Triple]:
    """Return dates of birth and death in brackets after a name: ``Boese (26 August 1887 - 6 July 1958)``."""
    triples: list[Triple] = []
    if "(" not in sentence.text:
        return triples
    for k, mention in enumerate(mentions):
        if not mention.is_name or mention.type in _NOT_THING - {"person"}:
            continue
        text = sentence.text
        opening = text.find("(", sentence.ends[mention.last - 1])
        if opening < 0 or opening - sentence.ends[mention.last - 1] > 2:
            continue
        closing = text.find(")", opening)
        closing = len(text) if closing < 0 else closing
        inside = [
            i
            for i, m in enumerate(mentions)
            if m.type == "date" and opening < sentence.starts[m.first] < closing
        ]
        if len(inside) == 2 and _DASH.search(text[opening:closing]):
            triples += [(keys[k], "born", keys[inside[0]]), (keys[k], "died", keys[inside[1]])]
        elif len(inside) == 1:
            before = text[opening : sentence.starts[mentions[inside[0]].first]].lower()
            if _BORN.search(before):
                triples.append((keys[k], "born", keys[inside[0]]))
            elif _DIED.search(before):
                triples.append((keys[k], "died", keys[inside[0]]))
    return [triple for triple in triples if triple[0] and triple[2] and triple[0] != triple[2]]


def _vote_for_person(
    builder: RowBuilder,
    sentence: Sentence,
    mentions: list[TokenSpan],
    token_keys: list[str],
    keys: list[str],
) -> None:
    """Correct the recogniser's types: titles, verbs of speech and ``who`` indicate a person."""
    for mention, key in zip(mentions, keys, strict=True):
        if not key or not mention.is_name:
            continue
        words = sentence.words[mention.first : mention.last]
        if sentence.words[mention.last : mention.last + 1] == [":"] and not any(token_keys[: mention.first]):
            builder.add_personal(key)  # who speaks in a chat or a play
        if len(words) > 1 and words[0].rstrip(".").lower() in TITLES and words[1] not in ("of", "the"):
            builder.add_type_vote(key, "person", 3)
    for i, dep in enumerate(sentence.deps):
        key = token_keys[i]
        if not key or not builder.is_name(key):
            continue
        head = sentence.heads[i]
        if dep == "nsubj" and sentence.lemmas[head] in PERSON_VERBS:
            builder.add_type_vote(key, "person")
    for i, head in enumerate(sentence.heads):
        # ``Scrooge, who ...``
        if (
            sentence.deps[i] == "nsubj"
            and sentence.lemmas[i] in ("who", "whom")
            and sentence.deps[head] == "relcl"
        ):
            key = token_keys[sentence.heads[head]]
            if key and builder.is_name(key):
                builder.add_type_vote(key, "person")


def _resolve_pronouns(
    builder: RowBuilder, sentence: Sentence, token_keys: list[str], previous: _Antecedent
) -> list[str]:
    """Set the entity keys of pronouns with one possible antecedent; return the antecedents from the previous sentence.

    ``he``, ``she``, ``his`` and ``her`` refer to the only person named before them in the sentence or, if
    there is none, to the person who is the subject of the previous sentence. ``it`` refers to the subject of the
    previous sentence only if it is the first subject of its own. Other pronouns are not resolved.
    """
    used: list[str] = []
    people: list[str] = []
    for i, word in enumerate(sentence.words):
        key = token_keys[i]
        if key:
            if builder.is_name(key) and builder.type_of(key) in ("person", "") and key not in people:
                people.append(key)
            continue
        if sentence.pos[i] != "PRON":
            continue
        pronoun = word.lower()
        if pronoun in _PERSONAL_PRONOUNS:
            if len(people) == 1:
                token_keys[i] = people[0] if builder.type_of(people[0]) == "person" else ""
            elif not people and previous.is_person:
                token_keys[i] = previous.key
                used.append(previous.key)
            if token_keys[i]:
                builder.add_personal(token_keys[i])
        elif (
            pronoun in _THING_PRONOUNS
            and previous.key
            and not previous.is_person
            and i <= 4
            and not any(token_keys[:i])
        ):
            is_subject = sentence.deps[i] in _SUBJECTS and sentence.deps[sentence.heads[i]] == "ROOT"
            if is_subject or pronoun == "its":
                token_keys[i] = previous.key
                used.append(previous.key)
    return used


def _antecedent(builder: RowBuilder, sentence: Sentence, token_keys: list[str]) -> _Antecedent:
    """Return the subject of the main clause if it is a single name."""
    for i, dep in enumerate(sentence.deps):
        if dep in _SUBJECTS and sentence.deps[sentence.heads[i]] == "ROOT":
            key = token_keys[i]
            if not key or not builder.is_name(key):
                return _Antecedent()
            type_ = builder.type_of(key)
            is_plural = any(
                sentence.deps[j] == "conj" and sentence.heads[j] == i for j in range(i, len(token_keys))
            )
            if is_plural:
                return _Antecedent()
            if type_ == "person":
                return _Antecedent(key, True)
            return _Antecedent(key, False) if type_ not in _NOT_THING else _Antecedent()
    return _Antecedent()
