"""Extraction without a parser, for any language: names by capitals, key phrases, co-occurrence."""

import re

from polygraph.extract.lexicon import GENERIC_HEADS, TITLES, TYPE_OF_NOUN
from polygraph.extract.nlp.capitalized_names import capitalized_spans, name_in_title, occurrences
from polygraph.extract.nlp.keyphrases import keyphrases
from polygraph.extract.nlp.nouns import LANGUAGES as NOUN_LANGUAGES
from polygraph.extract.nlp.nouns import nouns
from polygraph.extract.nlp.row_builder import RowBuilder
from polygraph.text.language import FUNCTION_WORDS, has_capitals
from polygraph.text.sentences import sentence_spans

# Scripts without case: their texts may still contain Latin names, and dates.
_CASELESS = frozenset(["ja", "zh", "ko", "th", "ar", "he", "hi"])


_SHORT_TITLES = {
    "es": re.compile(r"(?:(?:Estimad|Querid)[ao] )?(?:D\.ª?|Dña\.|Dn\.|Sra?\.|Sres\.) ?"),
    "fr": re.compile(r"(?:MM?|Mmes?|Mlles?)\.? "),
    "pt": re.compile(r"(?:(?:Car|Prezad)[ao] )?(?:D|Sra?|Srs)\. "),
}
"""Titles that elsewhere are the initial of a given name, or follow the name; behind them stands a person."""


def extract_keywords(builder: RowBuilder, text: str, language: str, title: str = "") -> None:
    """Add the names, dates and key phrases of a text, with relations between those of one sentence.

    A single capitalised word at the start of a sentence is a name only if the text also has it capitalised
    elsewhere, and it is not a function word.
    """
    spans = sentence_spans(text, language=language or "en")
    cased = has_capitals(text)
    found: list[list[tuple[int, int, str, bool]]] = []
    certain: set[str] = set()
    doubtful: set[tuple[int, int]] = set()
    for begin, end in spans:
        row = [
            (begin + a, begin + b, "", True) for a, b in occurrences(name_in_title(title), text[begin:end])
        ]
        for span in (
            capitalized_spans(text[begin:end], language=language) if cased or language in _CASELESS else ()
        ):
            if any(a < begin + span.end and begin + span.start < b for a, b, _, _ in row):
                continue
            start, last = begin + span.start, begin + span.end
            short_title = (
                _SHORT_TITLES[language].match(text, start, last) if language in _SHORT_TITLES else None
            )
            if short_title:
                start = short_title.end()
            name = text[start:last]
            row.append((start, last, "person" if short_title else _type_of(name, span.date), True))
            if span.doubtful:
                doubtful.add((start, last))
            else:
                certain.add(name)
        found.append(row)
    taken = [[(a, b) for a, b, _, _ in row] for row in found]
    phrases = nouns(text, language) if language in NOUN_LANGUAGES else keyphrases(text, language=language)
    at = 0
    for a, b in phrases:
        while at < len(spans) - 1 and spans[at][1] <= a:
            at += 1
        specific = text[a:b].lower() not in GENERIC_HEADS
        if spans and specific and b <= spans[at][1] and not any(x < b and a < y for x, y in taken[at]):
            found[at].append((a, b, "concept", False))
    stop = FUNCTION_WORDS.get(language, FUNCTION_WORDS["en"])
    for (begin, end), row in zip(spans, found, strict=True):
        sentence = text[begin:end]
        keys = []
        for a, b, type_, is_name in sorted(row):
            name = text[a:b]
            if (a, b) in doubtful and (name not in certain or name.lower() in stop):
                continue
            key = builder.add_mention(
                name, type_, (a, b), sentence, is_name=is_name, score=int(a - begin < 20)
            )
            if key:
                keys.append(key)
        builder.add_cooccurrences(keys, set(), sentence, begin)


def _type_of(name: str, date: bool) -> str:
    if date:
        return "date"
    words = name.lower().split()
    if len(words) > 1 and words[0].rstrip(".") in TITLES:
        return "person"
    return TYPE_OF_NOUN.get(words[-1], "")
