"""Names of a claim that the text it cites does not have."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from polygraph.text.claims.common_knowledge import is_common_knowledge
from polygraph.text.claims.folding import MAX_TEXTS, WORD, plain, without_case
from polygraph.text.claims.numbers import found_numbers
from polygraph.text.claims.repeats import is_repeated
from polygraph.text.language import first_language

_ENDS_IN_WORD = re.compile(r"[^\W\d_]['’\-]?\Z")
_GOES_ON_AS_WORD = re.compile(r"['’\-]?[^\W\d_]")
SENTENCE_START = re.compile(r"(?:^|(?<!\b[A-Z])[.!?:;\n\"“(*#-]\s*)$")
_SHORT_WORD = 4
"""Words of this length or more may be forms of one name if their first letters are equal."""
_FORM_ENDING = re.compile(r"(?:ish|ian|ans?|ese|ois|aise?|isch\w*|e?ns?|er|ic|i|o|a|us|um)$")
"""Endings of words that are derived from a name, such as those of peoples."""
_CAPITALISED_BEFORE = re.compile(r"\b[A-ZÄÖÜ][\w'’\-]*\.? $")
_CAPITALISED_AFTER = re.compile(r" [A-ZÄÖÜ]")
NAME_RUN = re.compile(r"[^\W\d_][\w'’\-]*(?:\.? [A-Z][\w'’\-]*)*")
_ORDINARY_NAMES = """
    the a an he she it they his her its their this that these those mr mrs miss ms dr sir lady lord captain
    first second third world war weltkrieg
    guerre guerra january february march april may june july august september october
    november december monday tuesday wednesday thursday friday saturday sunday der die das ein eine er sie
    es
"""
ORDINARY = frozenset(_ORDINARY_NAMES.split())
"""Words with a capital that name nobody."""
_TITLED = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|Miss|Sir|Lady|Lord|Captain|Capt|Judge|Professor|Prof|Councillor|Bishop|Inspector|Colonel|"
    r"General|Father|Sister|Herr|Frau|Monsieur|Madame|Señora?|Don|Doña|Signora?)\.? ([A-Z][\w'’\-]+)"
)
_OFFICES = frozenset({"Dr", "Judge", "Captain", "Capt", "Bishop", "Inspector"})
"""Titles that few people hold."""
_PAIR = re.compile(r"\b([A-Z][^\W\d_]+) ([A-Z][^\W\d_]+(?:-[A-Z][^\W\d_]+)?)")


def missing_name(claim: str, known: Sequence[str], elsewhere: Callable[[], str]) -> str:
    """Return the first name in a claim that no text has in any form, as "the name X"; empty if there is none."""
    introduction = _introduction(claim)
    names = [
        match
        for match in WORD.finditer(claim)
        if match.group()[0].isupper()
        and len(match.group()) >= 3
        and plain(match.group()) not in ORDINARY
        and not any(_has_word(text, match.group()) for text in known)
        and not SENTENCE_START.search(claim[: match.start()])
        # It counts only beside a sentence that has the rest of the claim, and such a sentence is found fast.
        and is_repeated(claim, known, without=match.group())
    ]
    there = frozenset[str]().union(*map(_words, known)) if names else frozenset()
    names = [
        m for m in names if plain(m.group()) not in there and not is_common_knowledge(plain(m.group()), there)
    ]
    if not names:
        return _mixed_name(claim, known, elsewhere)
    # A claim may be too short to show its language.
    german = first_language((claim, *known)) == "de"
    starts = {w[:_SHORT_WORD] for w in there}
    for match in names:
        if german and not _ends_german_name(claim, match):
            continue
        name, name_plain = match.group(), plain(match.group())
        if any(name_plain in _folded(text) for text in known):
            continue
        if name.isupper() and any(name_plain in _initials(text) for text in known):
            continue
        if match.end() <= introduction and name in elsewhere():
            continue
        if any(part in there for part in re.split(r"['’\-]", name_plain) if len(part) >= _SHORT_WORD):
            continue
        if name_plain[:_SHORT_WORD] in starts and any(_is_form(name_plain, word) for word in there):
            continue
        full = next(m.group() for m in NAME_RUN.finditer(claim) if m.end() >= match.end())
        others = [plain(w) for w in full.split() if w != name]
        if any(w in there for w in others) and full in elsewhere():
            continue
        return f"the name {name}"
    return _mixed_name(claim, known, elsewhere)


def _has_word(text: str, word: str) -> bool:
    """Return whether `WORD` finds a word in a text, written just so."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        before, after = text[max(0, at - 2) : at], text[end : end + 2]
        if not _ENDS_IN_WORD.search(before) and not _GOES_ON_AS_WORD.match(after):
            return True
        at = text.find(word, end)
    return False


def _introduction(claim: str) -> int:
    """Return the end of what introduces a statement: "In the Constancy, it seems: the mirror came in May"."""
    colon = re.search(r"[^\d]:\s", claim)
    return colon.end() if colon else 0


def _is_form(name: str, word: str) -> bool:
    """Return whether two words may be forms of one name: with a case ending, or derived from it."""
    n_shared = next(
        (i for i, (a, b) in enumerate(zip(name, word, strict=False)) if a != b), min(len(name), len(word))
    )
    if n_shared < _SHORT_WORD:
        return False
    rests = sorted((name[n_shared:], word[n_shared:]), key=len)
    if len(rests[0]) <= 1 and len(rests[1]) <= 3:
        return (
            not rests[0] or rests[0] == "y" or bool(_FORM_ENDING.search(name) and _FORM_ENDING.search(word))
        )
    return (
        len(rests[0]) <= 3
        and len(rests[1]) <= 5
        and bool(re.search(r"(?:ish|ian|ans?|ese|isch\w*|ois)$", rests[1]))
    )


def _mixed_name(claim: str, known: Sequence[str], elsewhere: Callable[[], str]) -> str:
    """Return a name of a claim that is put together from two names of the texts.

    "Priya Lomond" where they have "Priya Nand" and "Hamish Lomond", or "Dr. Crane" where they have "Dr. Vance".
    """
    everything = ""
    for match in _PAIR.finditer(claim):
        if _stands_in(match.group(), known):
            continue
        first, last = match.groups()
        # The texts must have each beside another name.
        if not _stands_in(f"{first} ", known) or not _stands_in(f" {last}", known):
            continue
        everything = everything or "\n".join((*known, elsewhere()))
        if SENTENCE_START.search(claim[: match.start()]) and first not in everything:
            continue
        if match.group() in everything or _ends_in(everything, first, last):
            continue
        text = "\n".join(known)
        after = {m.group(1) for m in re.finditer(rf"\b{re.escape(first)} ([A-Z][^\W\d_]+)", text)}
        before = {m.group(1) for m in re.finditer(rf"\b([A-Z][^\W\d_]+) {re.escape(last)}\b", text)}
        alone = re.search(rf"\b{re.escape(first)}\b(?! [A-Z])", text)
        if after and before and not alone and last not in after and first not in before:
            return f"the name {match.group()}"
    for match in _TITLED.finditer(claim):
        title = match.group()[: match.start(1) - match.start()]
        if title.rstrip(". ") not in _OFFICES:
            continue
        everything = everything or "\n".join((*known, elsewhere()))
        name = match.group(1)
        with_name = _lines_with(f" {name}", everything)
        if not re.search(rf"\b[A-Z][^\W\d_]+ {re.escape(name)}\b", with_name):
            continue
        if any(m.group(1) == name for m in _TITLED.finditer(with_name)):
            continue
        if any(m.group().startswith(title) for m in _TITLED.finditer(_lines_with(title, everything))):
            return f"the name {match.group()}"
    return ""


def _stands_in(part: str, texts: Iterable[str]) -> bool:
    return any(part in text for text in texts)


def _lines_with(part: str, text: str) -> str:
    """Return the lines of a text that contain some text: patterns take many times as long to look for it."""
    return "\n".join([line for line in text.split("\n") if part in line]) if part in text else ""


def _ends_in(text: str, first: str, last: str) -> bool:
    """Return whether a text has both names in one run, with a middle name between or in the other order."""
    if first not in text or last not in text:
        return False
    return bool(
        re.search(
            rf"\b{re.escape(first)} (?:[A-Z][\w.'’\-]*\.? |de |von |van |of |and |& ){{1,3}}{re.escape(last)}\b",
            text,
        )
        or re.search(rf"\b{re.escape(last)},? {re.escape(first)}\b", text)
    )


def _ends_german_name(claim: str, word: re.Match[str]) -> bool:
    """Return whether a word ends a run of capitalised words; German nouns are capitalised too, but few are joined."""
    before = _CAPITALISED_BEFORE.search(claim[: word.start()])
    if (
        before is None
        or SENTENCE_START.search(claim[: before.start()])
        or _CAPITALISED_AFTER.match(claim, word.end())
    ):
        return False
    # "20 Liter Milch", "vier Wochen Zeit"
    return not any(
        n.end <= before.start() and not claim[n.end : before.start()].strip() for n in found_numbers(claim)
    )


@lru_cache(maxsize=MAX_TEXTS)
def _words(text: str) -> frozenset[str]:
    return frozenset(plain(word) for word in set(WORD.findall(text)))


@lru_cache(maxsize=MAX_TEXTS)
def _folded(text: str) -> str:
    return without_case(text)


@lru_cache(maxsize=MAX_TEXTS)
def _initials(text: str) -> str:
    return " ".join(
        "".join(word[0] for word in run.split()).casefold()
        for run in re.findall(r"(?:[A-Z][\w.]*\s+){1,6}[A-Z]\w*", text)
    )
