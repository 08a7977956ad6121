"""Statements that say the reverse of the text cited: a negation on one side only, or an opposite."""

import re
from collections.abc import Collection, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain, pairwise, permutations

from polygraph.text.claims.folding import MAX_TEXTS, WORD, fold_all, plain
from polygraph.text.claims.repeats import (
    folded_parts,
    folded_sentences,
    parts_of,
    roots,
    sentence_parts,
    sentences,
    stems,
)
from polygraph.text.language import first_language
from polygraph.text.sentences import is_question
from polygraph.text.words import content_stems, root_of, stem

_MIN_SHARED = 0.75
"""Share of a clause's content words that another must contain, so that the word that is negated is among them."""
_MIN_SHARED_BESIDE = 0.5
"""The same where the word that a claim negates is known to be among them."""
_ROUNDING = 1e-9
_CLAUSE = re.compile(r"[.;:!?\n]+\s|,\s+(?:and|but|while|whereas|although|though|aber|und)\b|\bbut\b|, ")
_BOUND = (
    r"(?!\s+(?:before|until|later|earlier|sooner|more|less|fewer|only|just|merely|least|necessarily)\b)"
    r"(?!\s+(?:longer|shorter|higher|lower|larger|smaller|older|younger)\s+than\b)"
)
"""What does not follow a negation that denies a statement ("not before March": in March at the earliest)."""
_NUMBER = r"(?!\.[ \u00a0]?\d)"
"""What does not follow ``no`` as a negation: "vol. 12, no. 2" has an abbreviation."""
_NEGATION = re.compile(
    rf"\b(?:(?:not|no{_NUMBER}){_BOUND}|never|none|nobody|nothing|neither|nor|without|cannot|unable|nicht|kein\w*|nie|ohne)\b|"
    rf"n['’]t\b{_BOUND}",
    re.IGNORECASE,
)
"""Words that deny a statement."""
_NEGATION_IN = {
    "fr": re.compile(r"\b(?:ne|pas|aucune?|jamais|sans|ni)\b|\bn['’]", re.IGNORECASE),
    "es": re.compile(rf"\b(?:no{_NUMBER}|nunca|jamás|ning[uú]n\w*|sin|ni|tampoco)\b", re.IGNORECASE),
    "it": re.compile(r"\b(?:non|mai|nessun\w*|senza|né)\b", re.IGNORECASE),
}
_AUXILIARY_WORDS = """
    a an any the of to be been being is are was were am has have had having do does did will would shall
    should can could may might must it he she they them him her his its their one ever such so very there by
    in on at for ci fu furono è era sono stato stata stati state una un il la le lo di de des du été est
    était sont ont a y en le fue fueron es son ha han hay se el los las ser worden werden wird wurde wurden
    sein longer further
"""
_AUXILIARIES = frozenset(_AUXILIARY_WORDS.split())
"""Words between a negation and what it denies."""
_WORD_OR_NUMBER = re.compile(rf"{WORD.pattern}|\d+")
_RESERVED = re.compile(
    r"\b(?:but|only|if|whether|unless|until|sondern|wenn|ob|mais|si|pero|sino|ma|se|no doubt|not (?:yet|always)|"
    r"(?<=, )not)\b|\?",
    re.IGNORECASE,
)
"""Words of sentences whose negation may be taken back or depends on something."""
_FOR_A_TIME = re.compile(
    r"(?:\b(?:not|cannot|nobody|none|no|never)|n['’]t)\b[^.;]{0,60}\b(?:yet|before|until|till|only|just|except)\b|"
    r"\b(?:nicht|kein\w*)\b[^.;]{0,60}\b(?:vor|bevor|bis|nur|außer|mehr)\b|\bnoch (?:nicht|kein\w*)\b|"
    r"\b(?:ne|aucune?)\b[^.;]{0,60}\b(?:avant|que|qu['’]|plus|encore|seulement)|\bpas encore\b|"
    r"\b(?:no|ning[uú]n\w*)\b[^.;]{0,60}\b(?:hasta|antes|sino|solo|sólo|todavía|más)\b|\b(?:todavía|aún) no\b|"
    r"\b(?:non|nessun\w*)\b[^.;]{0,60}\b(?:fino|prima|ancora|solo|più|che)\b",
    re.IGNORECASE,
)
"""A negation that holds for a time, or but for one thing: it may say the same as a statement without it."""
_IMPLICIT_NEGATION = re.compile(
    r"\b(?:fail\w*|refus\w*|den(?:y|ied|ies)|lack\w*|absen\w*|missing|unlike|un\w{4,}|in(?:sufficient|adequate)\w*|"
    r"dissent\w*|reject\w*|only|rather|instead|few|hardly|scarcely|least|lost|abolish\w*|except\w*|object\w*|"
    r"(?:clear\w*|free\w*) (?:of|from)|acquit\w*|exonerat\w*|exempt\w*|exclu\w*|prevent\w*|prohibit\w*|forb[ai]d\w*|"
    r"against|avoid\w*|stop\w*|ceas\w*|abstain\w*|declin\w*|drop\w*|remov\w*|omit\w*|oppos\w*|withh\w+|"
    r"contraindicat\w*|"
    r"save for|apart from|unless|spar(?:e|es|ed|ing)|blank|vacant|left|leav\w+|gone|quash\w*|overturn\w*|annul\w*|"
    r"verweiger\w*|lehnt\w*|refus\w*|"
    r"rechaz\w*|rifiut\w*|befrei\w*|entfäll\w*|entfallen|verzicht\w*|falt(?:ó|a|aba)|ausente\w*|salvo|"
    r"excepto|manqu\w*|sauf|priv[oaie]\b|manca\w*|esent\w*|tranne)\b",
    re.IGNORECASE,
)
"""Words that may stand for a negation; with them the two sides are not compared."""
_PAIRS_OF_OPPOSITES = (
    "before after",
    "rose fell",
    "increased decreased",
    "increase decrease",
    "first last",
    "won lost",
    "highest lowest",
    "more less",
    "older younger",
    "earlier later",
    "above below",
    "opened closed",
    "alive dead",
    "north south",
    "east west",
    "northern southern",
    "eastern western",
    "largest smallest",
    "bought sold",
    "higher lower",
    "accepted rejected",
    "guilty innocent",
    "maximum minimum",
    "father mother",
    "son daughter",
    "brother sister",
    "husband wife",
    "uncle nephew",
    "approved rejected",
    "allowed dismissed",
    "valid invalid",
    "stieg sank",
    "gestiegen gesunken",
    "gewann verlor",
    "augmenté diminué",
    "gagné perdu",
    "aprobada rechazada",
    "aprobado rechazado",
    "subió bajó",
    "aumentato diminuito",
    "approvata respinta",
    "approvato respinto",
)
_OPPOSITES: dict[str, set[str]] = {}
for _pair in _PAIRS_OF_OPPOSITES:
    for _word, _opposite in permutations(_pair.split()):
        _OPPOSITES.setdefault(_word, set()).add(_opposite)


def reversed_clause(claim: str, shown: Sequence[str]) -> str:
    """Return how some texts reverse a claim: by "an opposite" or "a negation"; empty if they do not.

    They do if all of their clauses that are closest to some clause of the claim say the reverse of that clause, or
    if a word is affirmed on one side and only denied on the other.
    """
    language = first_language(shown)
    negation = _negation_in(language)
    is_denial = bool(negation.search(claim))
    for part in _CLAUSE.split(claim):
        wanted = stems(part)
        if len(wanted) < 2:
            continue
        parts = roots(wanted)
        # Most claims and what they repeat deny nothing, and have no word with an opposite.
        if (
            not (is_denial and negation.search(part))
            and not _has_opposite(part)
            and not any(_has_negated(parts, text, language) for text in shown)
        ):
            continue
        found = [
            (clause, stems(clause))
            for text in shown
            for n in _with_most(parts, text)
            if not _asks(sentences(text)[n])
            for clause, in_clause in _clauses(sentences(text)[n])
            if _has_most(parts, in_clause)
        ]
        shares = [len(wanted & there) / len(wanted) for _, there in found]
        best = max(shares, default=0.0)
        if best < _MIN_SHARED:
            continue
        closest = [c for (c, _), share in zip(found, shares, strict=True) if share >= best - _ROUNDING]
        if all(_opposed(part, c, negation) for c in closest):
            return "an opposite"
        if all(_negates(part, c, negation) for c in closest):
            return "a negation"
    is_reversed = _denies_what_is_affirmed if is_denial else _affirms_what_is_denied
    return "a negation" if is_reversed(claim, shown, language) else ""


def _negation_in(language: str) -> re.Pattern[str]:
    return _NEGATION_IN.get(language, _NEGATION)


def _has_most(parts: Collection[str], folded: str) -> bool:
    """Return whether a folded text has the `roots` of so many words of a clause that it may say the reverse."""
    return sum([part in folded for part in parts]) >= _least(parts)


def _with_most(parts: Collection[str], text: str) -> list[int]:
    """Return the positions of the sentences of a text that have so many of the `roots`, ascending."""
    least = _least(parts)
    return sorted(n for n, count in folded_sentences(text).counts(parts).items() if count >= least)


def _has_negated(parts: Collection[str], text: str, language: str) -> bool:
    """Return whether a sentence of a text with a negation has so many of the `roots`."""
    negated = _negated_sentences(text, language)
    return bool(negated) and any(n in negated for n in _with_most(parts, text))


def _least(parts: Collection[str]) -> float:
    return _MIN_SHARED * len(parts) - _ROUNDING


# For patterns as keys, the cache would take longer than for names of languages.
@lru_cache(maxsize=MAX_TEXTS)
def _negated_sentences(text: str, language: str) -> Mapping[int, str]:
    """Return the sentences of a text that have a negation, by their position."""
    negation = _negation_in(language)
    return {n: sentence for n, sentence in enumerate(sentences(text)) if negation.search(sentence)}


@lru_cache(maxsize=1_024)
def _clauses(text: str) -> tuple[tuple[str, str], ...]:
    """Return the clauses of a sentence, its parts and itself, each with its folded form."""
    ends = [m.start() + 1 for m in _CLAUSE.finditer(text)]
    short = [text[a:b] for a, b in pairwise([0, *ends, len(text)])]
    clauses = [*short, *parts_of(text), text]
    return tuple(zip(clauses, fold_all(clauses), strict=True))


def _negates(claim: str, clause: str, negation: re.Pattern[str]) -> bool:
    there = {w.casefold() for w in WORD.findall(clause)}
    if any(_OPPOSITES.get(w.casefold(), set()) & there for w in WORD.findall(claim)):
        return False
    implicit = [_implicit(text) for text in (claim, clause)]
    # "was abolished" and "was not abolished" differ in the negation alone; "stayed" and "was not abolished" do not.
    if implicit[0] != implicit[1]:
        return False
    if bool(negation.search(claim)) == bool(negation.search(clause)):
        return False
    if _FOR_A_TIME.search(claim) or _FOR_A_TIME.search(clause):
        return False
    return _negated(claim, clause, negation) or _negated(clause, claim, negation)


def _negated(text: str, other: str, negation: re.Pattern[str]) -> bool:
    """Return whether a negation of a text is about a word that the other text has, too."""
    shared = stems(other)
    for m in negation.finditer(text):
        denied, _ = _denied_word(text, m.end())
        if denied in shared:
            return True
        if not content_stems(text[m.end() :]):
            # What is denied stands before: "Fees are paid by nobody", but not in "resigned after a move that he knew
            # the board would not like".
            before = _ordered(text[: m.start()])
            if not before or before[-1] in shared:
                return True
    return False


def _affirms_what_is_denied(claim: str, shown: Sequence[str], language: str) -> bool:
    """Return whether a claim without a negation says a word that the texts only deny: "paid", from "never paid"."""
    if language in _NEGATION_IN and _NEGATION.search(claim):
        return False
    wanted = stems(claim)
    # What a negation leaves alone in the parts of which it denies a word; the others affirm all of their words.
    affirmed: dict[str, Set[str]] = {}
    denied = set[str]()
    parts_of_words = roots(wanted)
    for text in shown:
        if not (negated := _negated_sentences(text, language)):
            continue
        having = frozenset[int]().union(*map(folded_sentences(text).having, parts_of_words))
        for sentence in (sentence for n, sentence in negated.items() if n in having):
            for part, of_part, left_alone in _denied_words(sentence, language):
                if not wanted.isdisjoint(of_part) and _implicit(claim) == _implicit(part):
                    affirmed[part] = left_alone
                    denied |= wanted & of_part
    is_only_denied = any(
        all(
            word not in affirmed.get(part := sentence_parts(text)[n], stems(part))
            for text in shown
            for n in folded_parts(text).having(root_of(word))
        )
        for word in denied
    )
    return is_only_denied and (
        len(wanted) <= 3 or len(wanted.intersection(chain.from_iterable(map(stems, shown)))) > 1
    )


@lru_cache(maxsize=4_096)
def _denied_words(sentence: str, language: str) -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Return the `parts_of` a sentence that deny something for ever and without reserve.

    Returns:
        Each with the words that its negations deny and those that they leave alone, as stems.
    """
    negation = _negation_in(language)
    return tuple(
        (part, *_denied_and_affirmed(part, negation))
        for part in parts_of(sentence)
        if negation.search(part) and not _RESERVED.search(part) and not _FOR_A_TIME.search(part)
    )


def _denied_and_affirmed(sentence: str, negation: re.Pattern[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a sentence that its negations deny, and those that they leave alone, as stems."""
    denied: set[str] = set()
    words: list[str] = []
    end = 0
    for match in negation.finditer(sentence):
        words += _ordered(sentence[end : match.start()])
        end = match.end()
        after, end_of_word = _denied_word(sentence, end)
        if after:
            denied.add(after)
            # It is not affirmed by standing here; other places count.
            end = end_of_word
        elif words:
            denied.add(words.pop())
    return frozenset(denied), frozenset((*words, *_ordered(sentence[end:])))


def _denies_what_is_affirmed(claim: str, shown: Sequence[str], language: str) -> bool:
    """Return whether a word that a claim denies stands only in sentences like it that negate and ask nothing."""
    negation = _negation_in(language)
    for part in _CLAUSE.split(claim):
        wanted = stems(part)
        matches = list(negation.finditer(part))
        if (
            len(matches) != 1
            or _RESERVED.search(part)
            or _FOR_A_TIME.search(claim)
            or _IMPLICIT_NEGATION.search(part)
        ):
            continue
        after, _ = _denied_word(part, matches[0].end())
        if not after or len(wanted) < 2:
            continue
        with_it = [
            (part, there)
            for text in shown
            for n in folded_parts(text).having(root_of(after))
            if after in (there := stems(part := sentence_parts(text)[n])) and not _asks(part)
        ]
        if with_it and all(
            len(wanted & there) >= _MIN_SHARED_BESIDE * len(wanted)
            and not negation.search(s)
            and not any(_IMPLICIT_NEGATION.search(c) for c in s.split(", ") if after in stems(c))
            for s, there in with_it
        ):
            return True
    return False


# A sentence is compared with several claims.
@lru_cache(maxsize=4_096)
def _implicit(text: str) -> frozenset[str]:
    return frozenset(stem(w.casefold()) for w in _IMPLICIT_NEGATION.findall(text))


def _asks(sentence: str) -> bool:
    """Return whether a sentence is a question, which affirms nothing and denies nothing."""
    return is_question(sentence.rstrip(' \t\n"”’)»'))


def _ordered(text: str) -> list[str]:
    return [plain(word) for word in content_stems(text)]


def _denied_word(text: str, start: int) -> tuple[str, int]:
    """Return the stem of the word or the number that a negation denies, which ends before `start`, with its end.

    It is the first word of its clause that is no auxiliary; empty if that says nothing about the content. "On 8 March
    and not on 4 March" denies the fourth.
    """
    for match in _WORD_OR_NUMBER.finditer(text, start):
        if re.search(r"[,;:.!?(]", text[start : match.start()]):
            break
        if match.group().casefold() in _AUXILIARIES:
            continue
        found = _ordered(match.group())
        return (found[0], match.end()) if found else ("", start)
    return "", start


def _has_opposite(text: str) -> bool:
    return any(word.casefold() in _OPPOSITES for word in WORD.findall(text))


def _opposed(claim: str, clause: str, negation: re.Pattern[str]) -> bool:
    if bool(negation.search(claim)) != bool(negation.search(clause)):
        # A negation and an opposite together say the same: "never more than" and "or less".
        return False
    there = {w.casefold() for w in WORD.findall(clause)}
    said = {w.casefold() for w in WORD.findall(claim)}
    return any(
        opposites & there and word not in there and not opposites & said
        for word in said
        if (opposites := _OPPOSITES.get(word))
    )
