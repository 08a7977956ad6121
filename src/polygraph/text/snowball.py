"""Stems and stop words of several languages, by the Snowball rules and lists that tantivy has."""

import re
from collections.abc import Callable, Iterable
from functools import cache

from polygraph.text.language import FUNCTION_WORDS, QUESTION_WORDS

_NAMES = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
STEMMED_LANGUAGES = frozenset(_NAMES)
"""ISO 639-1 codes of the languages that have a stemmer."""
_WITHOUT_STOP_WORDS = frozenset(["ar", "el", "ro", "tr"])
"""Those of them that have no list of stop words."""
_ELIDED = {
    "fr": re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’](?=\w)"),
    "it": re.compile(r"^(?:[cdlmnstv]|un|gl|(?:de|a|da|ne|su|co|que)ll|quest)['’](?=\w)"),
}
"""What stands before a word without a space in between: *l'eau*, *dell'acqua*."""


@cache
def _stemmer(language: str) -> Callable[[str], list[str]]:
    import tantivy

    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    analyser = words.filter(tantivy.Filter.stemmer(_NAMES[language])).build()
    stems: Callable[[str], list[str]] = analyser.analyze
    return stems


@cache
def _stop_words(language: str) -> Callable[[str], list[str]]:
    """Return a function that returns what stands between the spaces of a text and is no stop word."""
    if language in _WITHOUT_STOP_WORDS:
        return str.split
    import tantivy

    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    analyser = words.filter(tantivy.Filter.stopword(_NAMES[language])).build()
    others: Callable[[str], list[str]] = analyser.analyze
    return others


def stems_of(words: Iterable[str], language: str) -> list[str]:
    """Return the stems of words in lower case, without what is elided before French and Italian ones.

    Args:
        words: without white space in them.
        language: ISO 639-1 code, one of `STEMMED_LANGUAGES`.

    >>> stems_of(["häuser", "kündigungen"], "de"), stems_of(["l'assurance", "presqu'île", "animaux"], "fr")
    (['haus', 'kundig'], ['assur', "presqu'îl", 'animal'])
    """
    return _stemmer(language)(" ".join(_without_elision(words, language)))


def content_words(words: Iterable[str], language: str) -> list[str]:
    """Return which words in lower case are no stop words of a language, without what is elided before them.

    Args:
        words: without white space in them.
        language: ISO 639-1 code, one of `STEMMED_LANGUAGES`.

    >>> content_words(["wie", "lange", "gilt", "das", "angebot"], "de"), content_words(["d'où", "l'eau"], "fr")
    (['lange', 'gilt', 'angebot'], ['eau'])
    """
    stop = FUNCTION_WORDS.get(language, frozenset()) | QUESTION_WORDS.get(language, frozenset())
    kept = (word for word in _without_elision(words, language) if word not in stop)
    return _stop_words(language)(" ".join(kept))


def _without_elision(words: Iterable[str], language: str) -> Iterable[str]:
    if (elided := _ELIDED.get(language)) is None:
        return words
    return [word if word.isalpha() else elided.sub("", word) for word in words]
