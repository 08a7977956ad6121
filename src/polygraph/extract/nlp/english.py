"""Rows from parsed English sentences."""

import re
from dataclasses import dataclass

from polygraph.extract.lexicon import OCCUPATIONS, PERSON_VERBS, TITLES, TYPE_OF_NOUN
from polygraph.extract.nlp.capitalized_names import name_in_title
from polygraph.extract.nlp.dependency_trees import Sentence
from polygraph.extract.nlp.mentions import Found, mentions
from polygraph.extract.nlp.paragraphs import Block
from polygraph.extract.nlp.row_builder import Draft
from polygraph.extract.nlp.triples import Triple, triples

_PERSONAL = frozenset(["he", "she", "him", "his", "her"])
_THING = frozenset(["it", "its"])
_NOT_THING = frozenset(["person", "date", "quantity"])
_SUBJECTS = ("nsubj", "nsubjpass")
_OPENING = "#@$€£."
_CLOSING = ".!?%+#™®°)"
_DASH = re.compile(r"[-–—]| to ")
_BORN = re.compile(r"\b(?:born|b\.)")
_DIED = re.compile(r"\b(?:died|d\.)|†")


@dataclass(slots=True)
class Antecedent:
    """What a pronoun at the beginning of the next sentence stands for."""

    key: str = ""
    person: bool = False


def read_block(draft: Draft, block: Block, sentences: list[Sentence], title: str) -> None:
    """Add what the sentences of one block say to the draft of their window."""
    before = Antecedent()
    title = name_in_title(title)
    for sentence in sentences:
        # The parser may have seen lower case or a masked title; rows quote the text itself.
        sentence.text = block.text[sentence.start : sentence.start + len(sentence.text)]
        before = _read(draft, block, sentence, before, title)


def _read(draft: Draft, block: Block, sentence: Sentence, before: Antecedent, title: str) -> Antecedent:
    found, roles = mentions(sentence, title)
    owner = [""] * len(sentence.words)
    keys: list[str] = []
    length = 1 if 5 <= len(sentence.words) <= 60 else 0
    for mention in found:
        begin, end = _edges(sentence, mention)
        head = mention.last - 1
        for i in range(mention.first, mention.last):
            if not mention.first <= sentence.heads[i] < mention.last or sentence.heads[i] == i:
                head = i
                break
        dep = sentence.deps[head]
        key = draft.mention(
            sentence.text[begin:end],
            mention.type,
            (block.origin(sentence.start + begin), block.origin_end(sentence.start + end)),
            sentence.text,
            named=mention.named,
            score=length + (2 if dep in _SUBJECTS else 1 if dep in ("appos", "attr", "dobj") else 0),
        )
        keys.append(key)
        for i in range(mention.first, mention.last) if mention.named else (mention.last - 1,):
            if mention.named or not owner[i]:
                owner[i] = key
    _vote(draft, sentence, found, owner, keys)
    pronouns = _resolve(draft, sentence, owner, before)
    place = block.origin(sentence.start)
    joined: set[tuple[str, str]] = set()
    rows = triples(sentence, owner)
    rows += [(keys[a], "be", keys[b]) for a, b in roles if keys[a] and keys[b] and keys[a] != keys[b]]
    rows += _life(sentence, found, keys)
    for source, predicate, target in dict.fromkeys(rows):
        draft.relate(source, predicate, target, sentence.text, place)
        joined.add((source, target))
        if predicate in ("be", "become") and draft.named(source):
            noun = target.rsplit(" ", 1)[-1]
            if noun in OCCUPATIONS:
                draft.vote(source, "person", 2)
            elif noun in TYPE_OF_NOUN:
                draft.vote(source, TYPE_OF_NOUN[noun], 2)
    draft.join([*pronouns, *(key for key in keys if key)], joined, sentence.text, place)
    return _subject(draft, sentence, owner)


def _edges(sentence: Sentence, mention: Found) -> tuple[int, int]:
    """Where a mention begins and ends in its sentence, without brackets and marks at its edges."""
    text = sentence.text
    begin, end = sentence.starts[mention.first], sentence.ends[mention.last - 1]
    while begin < end and not text[begin].isalnum() and text[begin] not in _OPENING:
        begin += 1
    while begin < end and not text[end - 1].isalnum() and text[end - 1] not in _CLOSING:
        end -= 1
    return begin, end


def _life(sentence: Sentence, found: list[Found], keys: list[str]) -> list[Triple]:
    """Dates of birth and death that follow a name in brackets: ``Boese (26 August 1887 - 6 July 1958)``."""
    rows: list[Triple] = []
    if "(" not in sentence.text:
        return rows
    for k, mention in enumerate(found):
        if not mention.named or mention.type in _NOT_THING - {"person"}:
            continue
        text = sentence.text
        opening = text.find("(", sentence.ends[mention.last - 1])
        if opening < 0 or opening - sentence.ends[mention.last - 1] > 2:
            continue
        closing = text.find(")", opening)
        closing = len(text) if closing < 0 else closing
        inside = [
            i
            for i, m in enumerate(found)
            if m.type == "date" and opening < sentence.starts[m.first] < closing
        ]
        if len(inside) == 2 and _DASH.search(text[opening:closing]):
            rows += [(keys[k], "born", keys[inside[0]]), (keys[k], "died", keys[inside[1]])]
        elif len(inside) == 1:
            before = text[opening : sentence.starts[found[inside[0]].first]].lower()
            if _BORN.search(before):
                rows.append((keys[k], "born", keys[inside[0]]))
            elif _DIED.search(before):
                rows.append((keys[k], "died", keys[inside[0]]))
    return [row for row in rows if row[0] and row[2] and row[0] != row[2]]


def _vote(draft: Draft, sentence: Sentence, found: list[Found], owner: list[str], keys: list[str]) -> None:
    """Correct the recogniser's types by what people alone do and are called."""
    for mention, key in zip(found, keys, strict=True):
        if not key or not mention.named:
            continue
        words = sentence.words[mention.first : mention.last]
        if len(words) > 1 and words[0].rstrip(".").lower() in TITLES and words[1] not in ("of", "the"):
            draft.vote(key, "person", 3)
    for i, dep in enumerate(sentence.deps):
        key = owner[i]
        if not key or not draft.named(key):
            continue
        head = sentence.heads[i]
        if dep == "nsubj" and sentence.lemmas[head] in PERSON_VERBS:
            draft.vote(key, "person")
    for i, head in enumerate(sentence.heads):
        # ``Scrooge, who ...``
        if (
            sentence.deps[i] == "nsubj"
            and sentence.lemmas[i] in ("who", "whom")
            and sentence.deps[head] == "relcl"
        ):
            key = owner[sentence.heads[head]]
            if key and draft.named(key):
                draft.vote(key, "person")


def _resolve(draft: Draft, sentence: Sentence, owner: list[str], before: Antecedent) -> list[str]:
    """Give pronouns their antecedents where that is safe; return the keys that were used.

    ``he``, ``she``, ``his`` and ``her`` stand for the only person named before them in the sentence, or, if
    nobody is, for the person who is the subject of the sentence before. ``it`` stands for the subject of the
    sentence before only as the first subject of its own. Everything else stays open.
    """
    used: list[str] = []
    people: list[str] = []
    for i, word in enumerate(sentence.words):
        key = owner[i]
        if key:
            if draft.named(key) and draft.kind(key) in ("person", "") and key not in people:
                people.append(key)
            continue
        if sentence.pos[i] != "PRON":
            continue
        form = word.lower()
        if form in _PERSONAL:
            if len(people) == 1:
                owner[i] = people[0] if draft.kind(people[0]) == "person" else ""
            elif not people and before.person:
                owner[i] = before.key
                used.append(before.key)
        elif form in _THING and before.key and not before.person and i <= 4 and not any(owner[:i]):
            subject = sentence.deps[i] in _SUBJECTS and sentence.deps[sentence.heads[i]] == "ROOT"
            if subject or form == "its":
                owner[i] = before.key
                used.append(before.key)
    return used


def _subject(draft: Draft, sentence: Sentence, owner: list[str]) -> Antecedent:
    """The subject of the main clause, if it is a name."""
    for i, dep in enumerate(sentence.deps):
        if dep in _SUBJECTS and sentence.deps[sentence.heads[i]] == "ROOT":
            key = owner[i]
            if not key or not draft.named(key):
                return Antecedent()
            kind = draft.kind(key)
            joined = any(sentence.deps[j] == "conj" and sentence.heads[j] == i for j in range(i, len(owner)))
            if joined:
                return Antecedent()
            if kind == "person":
                return Antecedent(key, True)
            return Antecedent(key, False) if kind not in _NOT_THING else Antecedent()
    return Antecedent()
