"""Questions for the names in a sentence: which one stands at a place, what it stands for, and who holds an office."""

import re
from collections.abc import Iterator

from polygraph.finetune.data.rules.asking import AskedStatement, capitals, placed, replaced
from polygraph.finetune.data.rules.nouns import ANY_OFFICE, ANY_TITLE, is_office, is_time, noun_of
from polygraph.finetune.data.rules.statements import ANY_FINITE, Statement
from polygraph.records import Entity
from polygraph.text.words import content_stems

_NAME_FOLLOWS = """
    of to at in from by for with near on upon against about into through under over across along toward towards that
    whether than struck bought left met told gave sold won lost saw built led sent taught beat caught fought drew made
    called named asked thanked received beyond off round around outside inside beside
"""
_BEFORE_NAME = frozenset(_NAME_FOLLOWS.split())
"""Words before a name, or before its article, after which "which person" fits."""
_IS = r"(?P<verb>is|was|are|were)"


def name_questions(statement: Statement) -> Iterator[AskedStatement]:
    """Ask for the names of a sentence where they stand, by nouns; not for its subject, nor inside longer phrases."""
    for spelling, entity in statement.names:
        named = rf"(?P<name>(?:(?i:{ANY_TITLE})\.? )*(?<![\w'’-]){re.escape(spelling.removeprefix('The '))})"
        pattern = rf"(?P<the>[Tt]he )?{named}(?P<whose>['’]s)?(?!['’-]?\w)"
        found = list(re.finditer(pattern, statement.text))
        if len(found) != 1 or not _stands_alone(statement.text, found[0]):
            continue
        noun = noun_of(entity, found[0]["name"], trusted=statement.trusted)
        if not noun:
            continue
        question = replaced(statement.text, found[0].span(), f"which {noun}{found[0]['whose'] or ''}")
        asked = placed(statement, question, found[0]["name"], entity)
        if asked is not None:
            yield asked


def description_questions(statement: Statement) -> Iterator[tuple[AskedStatement, Entity]]:
    """Ask who or what a name stands for, if the sentence says so: "X is a ...", or "X, the ...," anywhere.

    Yields:
        Each question with the entity that it is about.
    """
    for spelling, entity in statement.names:
        if is_office(spelling) or not re.search(
            r", (?:the|an?) | (?:is|was|are|were) (?:the|an?) ", statement.text
        ):
            continue
        head = rf"(?P<head>(?:The |the )?(?:(?i:{ANY_TITLE})\.? )*(?<![\w'’-]){re.escape(spelling)})"
        is_a = re.match(rf"{head} {_IS} (?P<what>(?:the|an?) [^;:,]{{8,120}})[.!]$", statement.text)
        apposed = re.search(
            rf"(?<!and ){head}, (?P<what>(?:the|an?) [^,;:.]{{8,100}})(?:, [a-z]|[.!]$)", statement.text
        )
        found = is_a or apposed
        if (
            found is None
            or len(content_stems(found["what"])) < 2
            or re.search(r"[A-Z]\S+ (?:and|or) ", found["what"])
        ):
            continue
        if re.search(rf"\band (?:{ANY_FINITE}|[a-z]+ed|[a-z]+s as)\b|\bbut\b", found["what"]):
            continue
        noun = noun_of(entity, found["head"].removeprefix("The "), trusted=statement.trusted)
        # "He met Mr. Lund at noon, the hour agreed on" describes no place by its name.
        if is_a is None and noun != "person":
            continue
        name = found["head"]
        name = f"the {name[4:]}" if name.startswith("The ") else name
        verb = found["verb"] if is_a else "was"
        asks = "Who" if noun == "person" else "What" if noun else "Who or what"
        question = f"{asks} {verb} {name}?"
        yield AskedStatement(question=question, answer=found["what"]), entity


def holder_questions(text: str, title: str) -> Iterator[AskedStatement]:
    """Ask who held an office that a sentence puts beside a name, as in "Mr. Bask, Clerk;", within its document.

    Args:
        text: any sentence, a list of those present included.
        title: of its document; empty if other documents have it too.
    """
    name = rf"(?P<name>(?:(?i:{ANY_TITLE})\.? )?[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){{0,2}})"
    office = rf"(?P<office>(?:(?i:acting|deputy|vice|town) )?(?i:{ANY_OFFICE}))"
    for pattern in (
        rf"(?<!and )(?<!late )\b{name}, (?:the )?{office}(?=[,;.]|$)",
        rf"(?<!and )(?<!late )\b{name} \({office}\)",
        rf"\b[Tt]he {office}, {name}(?=[,;.]|$)",
    ):
        for found in re.finditer(pattern, text) if title else ():
            who_held, held = found["name"], found["office"]
            if is_office(who_held) or is_time(who_held) or " " not in who_held:
                continue
            question = f'According to the document "{title}", who was the {held}?'
            if not capitals(who_held) & capitals(title):
                yield AskedStatement(question=question, answer=who_held)


def _stands_alone(text: str, found: re.Match[str]) -> bool:
    """Return whether a name can be replaced by "which person": no part of a phrase, list or apposition."""
    before, after = text[: found.start()], text[found.end() :]
    word = re.search(r"([\w'’-]+) $", before)
    if word is None or not (word[1] in _BEFORE_NAME or (word[1].endswith("ed") and word[1].islower())):
        return False
    # "of Salt Quay, the widow", "of Mara and Tobin", "of Orme of Salt Quay", "of Skerry Light Street"
    return not re.match(
        r",? (?:and|or) |, (?:the|an?|late|formerly|[A-Z])|"
        r" (?:of |de |von |van |on |for )?(?:the )?[A-Z]| (?:of|who|whose|which|where|the)\b|-| &|\.[ \w]",
        after,
    )
