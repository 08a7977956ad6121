"""Names of a question that no passage has: what they are the names of is not what the passages are about."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from polygraph.tasks.offline.sentences import Passage
from polygraph.text.language import detect_question_language
from polygraph.text.quantities import is_time
from polygraph.text.words import STOP_WORDS, question_names, stem, words

_SPELLING_RATIO = 0.84
"""Two words this similar (difflib ratio) count as spellings of one name."""
_HYPHEN_IN_WORD = re.compile(r"(?<=[^\W_])[-‐\u00ad](?=[^\W_])")
_LONG_NAME = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){2,}")
"""Three capitalised words or more, one after the other."""
_COMMON_CAPITALS = frozenset(["ok", "pc", "pcs", "tv", "id", "asap", "am", "pm"])
"""Words in capitals that documents write in other words, or not at all."""


def missing_names(question: str, passages: Sequence[Passage]) -> list[str]:
    """Return the names in the question that no passage has, not even in a similar spelling.

    Of a long name, such as that of a war or a treaty, half of the words are enough: documents say the rest otherwise.
    """
    # A year may be meant, and not be written out in the text; nor is Sunday in "open daily", or March in "2024-03-05".
    asked = [
        name
        for name in question_names(question)
        if not is_time(name) and name.casefold() not in _COMMON_CAPITALS
    ]
    if detect_question_language(question) == "de":
        # Every noun has a capital; a code or an abbreviation is a name all the same.
        asked = [name for name in asked if not name.isalpha() or name[1:] != name[1:].lower()]
    if not asked:
        return []
    held = {stem(w) for p in passages for w in _plain_words(f"{p.title} {p.chunk.text}")}

    def is_missing(name: str) -> bool:
        parts = [stem(w) for w in _plain_words(name) if w not in STOP_WORDS]
        return bool(parts) and not any(_occurs(part, held) for part in parts)

    missing = [name for name in asked if is_missing(name)]
    for run in _LONG_NAME.findall(question) if missing else ():
        parts = [word for word in run.split() if word.casefold() not in STOP_WORDS]
        if len(parts) > 2 and 2 * sum(map(is_missing, parts)) <= len(parts):
            missing = [name for name in missing if name not in parts]
    return missing


def _plain_words(text: str) -> set[str]:
    """Return the words of a text in plain characters (`CO₂` as `co2`); words with hyphens also in one (`Wi-Fi`)."""
    plain = unicodedata.normalize("NFKC", text)
    return {*words(plain), *words(_HYPHEN_IN_WORD.sub("", plain))}


def _occurs(part: str, held: set[str]) -> bool:
    if part in held:
        return True
    if len(part) < 5 or part.isdigit():
        return False
    return any(
        abs(len(part) - len(word)) <= 2
        and word[0] == part[0]
        and SequenceMatcher(None, part, word).ratio() >= _SPELLING_RATIO
        for word in held
        if word
    )
