"""How well a sentence of a document reads on its own, and how it is cleaned and shown."""

import re
from collections.abc import Sequence
from string import ascii_letters, digits

from polygraph.text.emphasis import without_emphasis
from polygraph.text.prose import shorten
from polygraph.text.quantities import is_time
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import ascii_splitter

_LONGEST = 480
"""Characters of a sentence that is shown whole."""
LEGAL_NOTICE = 0.1
"""Legal notices have a quality below this, all other sentences have at least this."""
LEGAL_SHARE = 0.09
"""Factor by which a legal notice, or a sentence among legal notices, loses quality."""
_WORD = re.compile(r"[^\W_]+")
_SPLIT = re.compile(r"[.!?。！？]\S{0,2}\s")
_BULLET = re.compile(r"^(?:[-*+•·▪‣>]|#{1,6}|\(?\d{1,2}[.)])\s")
_OPENED = re.compile(r"(?:^|[\s(—-])['‘](?=\w)")
_CLOSED = re.compile(r"[^\w\s]['’](?=\W|$)")
_NO_LETTERS = bytes(c for c in range(128) if not chr(c).isalpha())
_ascii_words = ascii_splitter(ascii_letters + digits)
_NO_CAPITALS = bytes(c for c in range(128) if not chr(c).isupper())
_LABEL = re.compile(r"[^:]{1,40}:\s")
_PAST = re.compile(r"ed\b")
_PERSONAL = frozenset({"i", "you", "we", "me", "us", "my", "your", "our", "mine", "yours", "ours"})
# Most short English sentences hold one of these or a word in -ed; headings and addresses do not.
# fmt: off
_VERBS = frozenset({
    "am", "is", "are", "was", "were", "be", "been", "has", "have", "had", "do", "does", "did", "will",
    "would", "shall", "should", "can", "could", "may", "might", "must", "said", "says", "came", "comes",
    "went", "goes", "gave", "gives", "made", "makes", "took", "takes", "told", "saw", "sees", "wrote",
    "writes", "held", "holds", "kept", "became", "becomes", "led", "leads", "met", "won", "left",
    "lives", "includes",
})
# fmt: on
_TIMES_OF_DAY = frozenset(
    {
        "morning",
        "afternoon",
        "evening",
        "night",
        "noon",
        "midnight",
        "today",
        "yesterday",
        "tomorrow",
        "am",
        "pm",
    }
)
_ORDINAL = "stndrh"
_ENDS = (".", "!", "?", "。", "！", "？", "؟", "।", "…")
_CLOSERS = "\"'”’»)]*_"
_OPENERS = "\"'“‘«([*_—–- "
# fmt: off
_REFERRING = frozenset({
    "he", "she", "it", "they", "this", "that", "these", "those", "his", "her", "hers", "its", "their",
    "theirs", "him", "them", "then", "there", "here", "we", "i", "you", "our", "my", "your", "such",
    "both", "neither", "either", "another",
})
"""First words that refer to the sentence before."""
_JOINING = frozenset({
    "and", "but", "or", "nor", "so", "yet", "for", "because", "although", "though", "however", "therefore",
    "thus", "which", "who",
})
# fmt: on
_LEGAL = ("project gutenberg", "all rights reserved", "terms of use", "terms of service", "privacy policy")
_LEGAL_WORDS = frozenset(
    {"copyright", "copyrighted", "trademark", "isbn", "ebook", "ebooks", "cookies", "unsubscribe"}
)
_LEGALISH = (
    "licence",
    "license",
    "warrant",
    "liabilit",
    "donation",
    "disclaim",
    "redistribut",
    "royalt",
    "refund",
    "public domain",
    "www.",
    "http",
)
"""Two of these in a sentence make it a legal notice; one alone may be a topic."""


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Split a text in sentences and clean each; cheap for a text that is one sentence.

    >>> split_sentences("* The **Halcyon** sank. Nobody  drowned.")
    ['The Halcyon sank.', 'Nobody drowned.']
    """
    if _SPLIT.search(text):
        return [piece for a, b in sentence_spans(text, language=language) if (piece := tidy(text[a:b]))]
    piece = tidy(text)
    return [piece] if piece else []


def tidy(text: str) -> str:
    """Remove bullets, emphasis, quotes around the whole, and line breaks.

    >>> tidy("- the _bundle_ of  old *Joe*"), tidy('"Fog."'), tidy("snake_case_name")
    ('the bundle of old Joe', 'Fog.', 'snake_case_name')
    """
    text = _BULLET.sub("", " ".join(text.split()))
    text = without_emphasis(text).lstrip("*_#> ")
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def quality(text: str, language: str = "en") -> float:
    """Return how well a sentence reads on its own, in (0, 1]; below `LEGAL_NOTICE` for legal notices.

    Best is a whole sentence of readable length, in prose rather than a list or heading, that does not refer to what
    stands before it. Rules of English words apply to English alone; those of form, to every script.

    >>> quality("Miss Orme found the comet on 9 March 1886.") > quality("She found it on the 9th.")
    True
    >>> quality("Licensed under the terms of use; all rights reserved.") < LEGAL_NOTICE
    True
    """
    # In scripts without spaces some characters count as a word.
    n = max(text.count(" ") + 1, len(text) // 12)
    value = 0.3 if n < 4 else 0.7 if n < 8 else 1.0 if n <= 40 else 0.6 if n <= 70 else 0.35
    if len(text) > _LONGEST:
        value *= 0.5
    letters, capitals = _count_letters(text)
    if letters < 0.6 * len(text):
        value *= 0.5
    if letters and capitals > 0.5 * letters:
        value *= 0.6
    ending = text.rstrip(_CLOSERS)
    if not ending.endswith(_ENDS):
        value *= 0.5
    elif ending.endswith("?"):
        value *= 0.8
    # Labels and lists ("Present: ...") name many things and say little.
    if _LABEL.match(text):
        value *= 0.6
    if text.count(",") + text.count(";") > 0.25 * n:
        value *= 0.6
    first = text.lstrip(_OPENERS)
    if first[:1].islower():
        value *= 0.6
    folded = first.casefold()
    words = _words(folded)
    if language == "en" and n < 25 and _VERBS.isdisjoint(words) and not _PAST.search(folded):
        value *= 0.6
    if words and words[0] in _REFERRING:
        value *= 0.6
    elif words and words[0] in _JOINING:
        value *= 0.8
    # Speech and its fragments: the speaker is seldom named in the sentence.
    if not _PERSONAL.isdisjoint(words):
        value *= 0.7
    if text[:1] in "\"'“‘«":
        value *= 0.8
    if _is_unbalanced(text):
        value *= 0.6
    # However bad, a sentence on the topic comes before a legal notice.
    return LEGAL_SHARE * value if _is_legal(folded, words) else max(value, LEGAL_NOTICE)


def _words(folded: str) -> list[str]:
    """Return the words of a case-folded text."""
    return _ascii_words(folded) if folded.isascii() else _WORD.findall(folded)


def _count_letters(text: str) -> tuple[int, int]:
    """Return the number of letters, and of capital ones."""
    if text.isascii():  # three times as fast
        data = text.encode("ascii")
        return len(data.translate(None, _NO_LETTERS)), len(data.translate(None, _NO_CAPITALS))
    return sum(map(str.isalpha, text)), sum(map(str.isupper, text))


def _is_unbalanced(text: str) -> bool:
    """Return whether a quotation or bracket is opened and not closed, or closed and not opened."""
    if text.count("(") != text.count(")") or text.count("“") != text.count("”") or text.count('"') % 2:
        return True
    single = "'" in text or "‘" in text
    return single and len(_OPENED.findall(text)) > len(_CLOSED.findall(text))


def _is_legal(folded: str, words: Sequence[str]) -> bool:
    if not _LEGAL_WORDS.isdisjoint(words) or any(phrase in folded for phrase in _LEGAL):
        return True
    return sum([stem in folded for stem in _LEGALISH]) > 1


def name_likeness(name: str) -> float:
    """Return how much a name looks like one, in (0, 1]: common words make poor titles, and dates poorer ones.

    >>> name_likeness("Halcyon"), name_likeness("old friend"), name_likeness("2024-07-01"), name_likeness("18 January")
    (1.0, 0.4, 0.1, 0.1)
    """
    if _is_date_or_number(name):
        return 0.1
    fit = 1.0 if len(name) <= 40 else 0.5
    if name == name.lower() != name.upper() and not any(character.isdigit() for character in name):
        fit *= 0.4
    return fit


def _is_date_or_number(name: str) -> bool:
    """Tell whether a name is a date, a year, a number or a time of day, and nothing else."""
    parts = _WORD.findall(name.casefold())
    # Most names are none, and most of those show it by their first word.
    return bool(parts) and all(
        is_time(part) or part in _TIMES_OF_DAY or (part[:1].isdigit() and part.rstrip(_ORDINAL).isdigit())
        for part in parts
    )


def end_sentence(text: str) -> str:
    """Bound the length of a sentence and end it with a full stop if it has no end mark.

    >>> end_sentence("The Halcyon sank")
    'The Halcyon sank.'
    """
    text = shorten(text, _LONGEST)
    return text if text.rstrip(_CLOSERS).endswith(_ENDS) else f"{text.rstrip(' ,;:')}."
