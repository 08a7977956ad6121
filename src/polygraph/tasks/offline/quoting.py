"""What is quoted together with a chosen sentence, so that it is understood and says what was asked."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from polygraph.records import Span
from polygraph.tasks.offline.sentences import (
    MAX_CHARACTERS,
    ROW,
    Candidate,
    Passage,
    QuotedSentence,
    share_text,
)
from polygraph.text.lists import ListBlock, find_lists
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems, stem

_WHY = re.compile(
    r"\W*(?:why|how come|for what reasons?|what (?:is|was|were|are) the reasons?"
    r"|warum|weshalb|wieso|pourquoi|por ?qué|perché|por que|waarom)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|so that|in order to|reasons?|caused?|therefore|thus|hence|thanks to"
    # Not the French "car", which is an English noun.
    r"|weil|denn|wegen|aufgrund|damit|parce qu|puisqu|à cause|en raison|afin|porque|a causa|debido|ya que|perché|poiché"
    r"|por causa|omdat|vanwege)\b",
    re.IGNORECASE,
)
"""Words of a sentence that gives a reason."""
_DENIES = re.compile(
    r"\W*(?:(?:that|this|it|he|she|we|they|i) (?:is|are|am|was|were|has been|have been|had been) "
    r"(?:wrong|mistaken|incorrect|untrue|an? (?:error|mistake)|not (?:so|true|right|correct|the case)|no longer)\b"
    r"|in (?:fact|reality|truth)\b|actually\b|not any ?more\b|no longer\b)",
    re.IGNORECASE,
)
"""Beginning of a sentence that takes back the one before it."""
_LIMITS = re.compile(r"\W*(?:but|however|except|unless|only)\b", re.IGNORECASE)
"""Beginning of a sentence that limits the one before it."""
_MAX_CORRECTION = 3
"""Sentences behind a denial within which what is true is looked for."""
_ASKED_SHARE = 0.6
"""A sentence with this share of the question's words says what is asked about."""
_HEADING_SHARE = 0.66
"""A heading with this share of the question, together with the title, says what the list below it is for."""
_SAME_QUESTION = 0.75
"""A heading is what is asked if both share this much of the words of either."""
_MEANING = frozenset(map(stem, ("mean", "meant", "define", "definition", "explain", "term")))
"""Stems of a question that only ask what a term means."""
_PARAGRAPH_GAP = 2
"""Characters between sentences that stand together: white space, and no mark of a list."""
_ITEM_GAP = 6
"""The same for items of one list."""
_NEAR = (1, -1, 2, -2, 3)
"""Sentences behind and before a chosen one that may hold what it lacks, in the order in which they are looked at."""
_MAX_LIST = 2_000
"""Characters of a list that is quoted; of a longer one, the first items are."""
_SHORT_ITEM = 120
"""Mean characters of an item where things are listed."""
_STEPS = re.compile(
    r"\W*(?:how (?:do|does|can|could|should|would|must|to)\b"
    r"|what (?:do|should|must|shall|can) (?:i|we|you|one)\b.*\bdo\b"
    r"|what (?:are|is) the (?:steps|procedure|process|instructions)\b|(?:steps|instructions|procedure)\b"
    r"|wie (?!viel|lange?|oft|hoch|alt|weit|gro(?:ß|ss))\w+ (?:ich|man|wir|du|sie)\b"
    r"|comment (?:(?:puis-je|peut-on|dois-je|doit-on|faire)\b|(?:me |m['’]|se |s['’](?!appel))?\w+(?:er|ir|re)\b)"
    r"|cómo (?:se (?!llam)|puedo\b|debo\b|hago\b|hay que\b)"
    r"|(?:come|como) (?:posso|si|se|devo|faccio|faço|fare|fazer)\b|hoe (?:kan|moet|doe|maak) (?:ik|je|we|u)\b)",
    re.IGNORECASE,
)
"""Beginning of a question that asks how something is done."""
_NO_PLURAL = r"(?!(?:is|was|has|does|this|its|us|one)\b)"
_ITEMS = re.compile(
    rf"\W*(?:list\b|name (?:all|the)\b"
    # A verb behind the noun tells a plural from a verb: "Which boats are old?", but "Which boat leaks?"
    rf"|(?:what|which) (?:{_NO_PLURAL}[\w-]+ ){{0,2}}?{_NO_PLURAL}[\w-]{{2,}}s (?:of|are|were|do|did|have|had|can"
    r"|could|may|must|should|shall|will|would|get|need|not|\w{2,}ed)\b"
    r"|what (?:are|were)\b|what (?:is|was) (?:not|excluded|included|covered|needed|required|forbidden|allowed)\b"
    r"|what (?:do|does|must|should|can) .{1,60}\b(?:need|bring|include|contain|cover|take|pack|prepare|have to)\b"
    r"|welche\b|quel(?:le)?s\b|cuáles\b|quali\b|quais\b)",
    re.IGNORECASE,
)
"""Beginning of a question that asks for several things."""


def asks_how(question: str) -> bool:
    """Return whether a question asks how something is done.

    >>> asks_how("How do I trim the lamp?"), asks_how("How much does oil cost?")
    (True, False)
    """
    return _STEPS.match(question) is not None


def asks_for_several(question: str) -> bool:
    """Return whether a question asks for several things.

    >>> asks_for_several("Which boats are old?"), asks_for_several("Which boat leaks?")
    (True, False)
    """
    return _ITEMS.match(question) is not None


def is_below(candidate: Candidate, asked: frozenset[str]) -> bool:
    """Return whether a sentence is an item below a heading that, with the title, holds most of what is asked."""
    section = asked & set(content_stems(candidate.section))
    return (
        candidate.is_item
        and bool(section)
        and len(section | asked & set(content_stems(candidate.title))) >= _HEADING_SHARE * len(asked)
    )


def is_headed_by(candidate: Candidate, asked: frozenset[str]) -> bool:
    """Return whether a sentence stands below the question that is asked, or the term that is asked about."""
    own = set(content_stems(candidate.heading))
    # A question may name the document beside the term.
    wanted = asked - _MEANING - (set(content_stems(candidate.title)) - own)
    shared = len(own & wanted)
    return shared > 0 and shared >= _SAME_QUESTION * max(len(own), len(wanted))


def below_its_heading(candidate: Candidate, asked: frozenset[str]) -> Candidate:
    """Let what is asked count among the terms of such an item as far as its heading holds it."""
    if not is_below(candidate, asked):
        return candidate
    return replace(candidate, terms=candidate.terms | asked & set(content_stems(candidate.section)))


def with_list(
    question: str,
    chosen: Sequence[QuotedSentence],
    candidates: Sequence[Candidate],
    passages: Sequence[Passage],
    asked: frozenset[str],
) -> list[QuotedSentence]:
    """Quote the whole list that the best sentence is an item of, if the question asks how, or for several things.

    One step out of a procedure is no answer, and may be a dangerous one: if a step of the same document was chosen
    behind the best sentence, all steps are quoted behind it. What else was chosen is left out. A list of steps that
    stands directly behind the best sentence is quoted with it, and so is a line with a colon above a list.

    Args:
        question: any text.
        chosen: sentences of the answer, best first.
        candidates: from `candidate_sentences`.
        passages: that they are from.
        asked: stems of the question.
    """
    is_how = asks_how(question)
    if not chosen or not (is_how or asks_for_several(question)):
        return list(chosen)
    best, *others = chosen
    if whole := _whole_list(best, candidates, passages, asked, is_how=is_how, is_short=not is_how):
        return [whole]
    beside = [each for each in others if is_how and each.span.document == best.span.document]
    for other in beside:
        if steps := _whole_list(other, candidates, passages, asked, is_how=True, is_short=True):
            return [best, steps]
    return list(chosen)


def _whole_list(
    best: QuotedSentence,
    candidates: Sequence[Candidate],
    passages: Sequence[Passage],
    asked: frozenset[str],
    *,
    is_how: bool,
    is_short: bool,
) -> QuotedSentence | None:
    """Return the list that a sentence is an item of or leads to; None if there is none that answers.

    Args:
        best: a sentence of the answer.
        candidates: from `candidate_sentences`.
        passages: that they are from.
        asked: stems of the question.
        is_how: whether the question asks how something is done.
        is_short: whether only lists of short items answer.
    """
    chunk = next(p.chunk for p in passages if p.chunk.id == best.span.chunk)
    start, end = best.span.start - chunk.start, best.span.end - chunk.start
    is_step = any(is_below(c, asked) for c in candidates if share_text(c.quoted.span, best.span))
    for found in find_lists(chunk.text):
        is_within = found.start <= start < found.end
        is_behind = is_how and found.is_ordered and not chunk.text[end : max(end, found.start)].strip()
        if len(found.items) < 2 or not (is_within or (is_behind and start < found.start)):
            continue
        lead = _lead_of(
            found, chunk.text, [c for c in candidates if c.quoted.span.chunk == chunk.id], chunk.start
        )
        if is_within and is_how and not (found.is_ordered or is_step or lead < found.start):
            continue  # tips, rather than steps
        if is_short and found.end - found.start > _SHORT_ITEM * len(found.items):
            continue  # points of minutes, rather than things
        first = min(start, lead)
        last = max((stop for stop in found.items if stop - first <= _MAX_LIST), default=0)
        if last < end:
            continue
        span = replace(best.span, start=chunk.start + first, end=chunk.start + last)
        return replace(best, text=" ".join(chunk.text[first:last].split()), span=span)
    return None


def _lead_of(found: ListBlock, text: str, candidates: Sequence[Candidate], offset: int) -> int:
    """Return where the sentence with a colon above a list begins, or the list if there is none."""
    for candidate in candidates:
        span = candidate.quoted.span
        start, end = span.start - offset, span.end - offset
        is_above = start < found.start <= end or (end <= found.start and not text[end : found.start].strip())
        if is_above and text[start : found.start].rstrip().endswith(":"):
            return start
    return found.start


def with_what_is_asked(
    chosen: Sequence[QuotedSentence],
    candidates: Sequence[Candidate],
    passages: Sequence[Passage],
    holds: Callable[[str], bool],
) -> list[QuotedSentence]:
    """Quote the best sentence up to the nearest one that holds the kind of thing asked for, if none of all does.

    The cross-encoder prefers the sentence that repeats the question, and the answer often stands beside it: "Three
    people applied for the post. The committee saw Ida Crombie, ...". Or it stands in the heading of the section, as the
    version does in release notes.

    Args:
        chosen: sentences of the answer, best first.
        candidates: from `candidate_sentences`.
        passages: that they are from.
        holds: tells whether a text holds such a thing that the question does not.
    """
    if not chosen or any(holds(each.text) for each in chosen) or ROW.match(chosen[0].text):
        return list(chosen)
    best = chosen[0]
    chunk = next(p.chunk for p in passages if p.chunk.id == best.span.chunk)
    beside = [c for c in candidates if c.quoted.span.chunk == chunk.id]
    for n in _NEAR:
        start, end = _reach(best.span, beside, n)
        added = (best.span.end, end) if n > 0 else (start, best.span.start)
        if end - start <= MAX_CHARACTERS and holds(
            chunk.text[added[0] - chunk.start : added[1] - chunk.start]
        ):
            whole = replace(best.span, start=start, end=end)
            text = " ".join(chunk.text[start - chunk.start : end - chunk.start].split())
            apart = [each for each in chosen[1:] if not share_text(each.span, whole)]
            return [replace(best, text=text, span=whole), *apart]
    section = next((c.section for c in beside if share_text(c.quoted.span, best.span)), "")
    above = (c for c in candidates if c.is_heading and c.quoted.span.document == best.span.document)
    heading = next((c for c in above if section and section == c.quoted.text), None)
    return [heading.quoted, *chosen] if heading is not None and holds(section) else list(chosen)


def with_correction(
    chosen: Sequence[QuotedSentence],
    candidates: Sequence[Candidate],
    passages: Sequence[Passage],
    holds: Callable[[str], bool] | None,
) -> list[QuotedSentence]:
    """Quote a sentence together with the one behind it that limits it or takes it back.

    "We always said that it was built in 1905. We were wrong. The stamp says 1903." is quoted up to what is true.

    Args:
        chosen: sentences of the answer, best first.
        candidates: from `candidate_sentences`.
        passages: that they are from.
        holds: tells whether a text holds the kind of thing asked for that the question does not; None for any text.
    """
    found: list[QuotedSentence] = []
    for sentence in chosen:
        if _is_apart(sentence, found):
            whole = _corrected(sentence, candidates, passages, holds)
            found.append(whole if _is_apart(whole, found) else sentence)
    return found


def _is_apart(sentence: QuotedSentence, found: Sequence[QuotedSentence]) -> bool:
    return not any(share_text(sentence.span, each.span) for each in found)


def _corrected(
    sentence: QuotedSentence,
    candidates: Sequence[Candidate],
    passages: Sequence[Passage],
    holds: Callable[[str], bool] | None,
) -> QuotedSentence:
    span = sentence.span
    chunk = next(p.chunk for p in passages if p.chunk.id == span.chunk)
    behind = chunk.text[span.end - chunk.start :]
    # A denial that depends on the sentence before it is quoted with that already.
    own = [sentence.text[start:end] for start, end in sentence_spans(sentence.text)[1:]]
    is_denied = any(map(_DENIES.match, [*own, behind]))
    if ROW.match(sentence.text) or not (is_denied or _LIMITS.match(behind)):
        return sentence
    beside = [c for c in candidates if c.quoted.span.chunk == chunk.id]
    ends = [_reach(span, beside, n + 1)[1] for n in range(_MAX_CORRECTION if is_denied and holds else 1)]
    end = next((end for end in ends if holds and holds(behind[: end - span.end])), ends[0])
    if end - span.start > MAX_CHARACTERS:
        return sentence
    text = " ".join(f"{sentence.text} {behind[: end - span.end]}".split())
    return replace(sentence, text=text, span=replace(span, end=end))


def _reach(span: Span, beside: Sequence[Candidate], n: int) -> tuple[int, int]:
    """Return start and end of a sentence with the n sentences behind it, or before it if n is negative.

    They are fewer at a heading, a row and the end of a paragraph.
    """
    start, end = span.start, span.end
    for _ in range(abs(n)):
        if n > 0:
            later = [c for c in beside if c.quoted.span.end > end and c.quoted.span.start <= end + _ITEM_GAP]
            found = min(later, key=lambda c: c.quoted.span.end, default=None)
        else:
            earlier = [c for c in beside if 0 <= start - c.quoted.span.end <= _ITEM_GAP]
            found = max(earlier, key=lambda c: c.quoted.span.start, default=None)
        if found is None or found.is_heading or ROW.match(found.quoted.text):
            break
        start, end = min(start, found.quoted.span.start), max(end, found.quoted.span.end)
    return start, end


def asks_for_reason(question: str) -> bool:
    """Return whether a question asks why.

    >>> asks_for_reason("Why is the pier closed?"), asks_for_reason("Who knows why the pier is closed?")
    (True, False)
    """
    return _WHY.match(question) is not None


def with_reason(
    chosen: Sequence[QuotedSentence], candidates: Sequence[Candidate], asked: frozenset[str]
) -> list[QuotedSentence]:
    """Quote a sentence that says what is asked about, and gives no reason, together with the one behind it.

    Reasons often stand there: "The pier must not be used. The third pile is rotten."

    Args:
        chosen: sentences of an answer to a question that asks why.
        candidates: from `candidate_sentences`.
        asked: stems of the question.
    """
    starts = {(c.quoted.span.chunk, c.quoted.span.start): c for c in candidates}
    found: list[QuotedSentence] = []
    for sentence in chosen:
        span = sentence.span
        nexts = (starts.get((span.chunk, span.end + gap)) for gap in range(_PARAGRAPH_GAP + 1))
        behind = next((c for c in nexts if c is not None and not c.is_heading), None)
        shared = len(asked & set(content_stems(sentence.text)))
        if (
            behind is not None
            and shared >= _ASKED_SHARE * len(asked)
            and not _REASON.search(sentence.text)
            and behind.quoted.span.end - span.start <= MAX_CHARACTERS
            and _is_apart(behind.quoted, chosen)
        ):
            text = f"{sentence.text} {behind.quoted.text}"
            found.append(replace(sentence, text=text, span=replace(span, end=behind.quoted.span.end)))
        else:
            found.append(sentence)
    return found


def with_paragraph(
    chosen: Sequence[QuotedSentence],
    candidates: Sequence[Candidate],
    passages: Sequence[Passage],
    asked: frozenset[str],
) -> list[QuotedSentence]:
    """Quote what stands below a question or a term from its first sentence on, if the heading has a word that is asked.

    All of it is quoted if the heading is what is asked. Items of a list and rows of a table stand for themselves.

    Args:
        chosen: of `candidates`, in the order of the answer.
        candidates: from `candidate_sentences`.
        passages: that they are from.
        asked: stems of the question.
    """
    chunks = {p.chunk.id: p.chunk for p in passages}
    ends: dict[Span, bool] = {}
    apart = {c.quoted.span for c in candidates if c.is_item or ROW.match(c.quoted.text)}
    for c in candidates:
        if c.paragraph is not None and not asked.isdisjoint(content_stems(c.heading)):
            is_whole = is_headed_by(c, asked)
            if is_whole or c.is_explaining:
                ends.setdefault(c.paragraph, is_whole)
    found: list[QuotedSentence] = []
    for sentence in chosen:
        span, chunk = sentence.span, chunks[sentence.span.chunk]
        # Chunks may overlap, and end in the middle of a paragraph.
        below = next((each for each in ends if each.chunk == chunk.id and share_text(each, span)), None)
        if below is not None and (ends[below] or span not in apart):
            # A term before a dash is part of the first sentence; one on the line above is not quoted.
            line = chunk.text.rfind("\n", 0, below.start - chunk.start) + 1 + chunk.start
            spans = (c.quoted.span for c in candidates if c.quoted.span.chunk == chunk.id)
            start = max(line, min([below.start, *(each.start for each in spans if share_text(each, below))]))
            span = replace(below, start=start, end=below.end if ends[below] else span.end)
        if any(share_text(span, each.span) for each in found):
            continue
        text = " ".join(chunk.text[span.start - chunk.start : span.end - chunk.start].split())
        found.append(sentence if span == sentence.span else replace(sentence, text=text, span=span))
    return found


def with_sentence_before(
    chosen: Sequence[QuotedSentence], candidates: Sequence[Candidate], asked: frozenset[str]
) -> list[QuotedSentence]:
    """Quote a sentence without a word of the question together with the one before it, if that one has some.

    A cross-encoder reads both, and likes the second for what the first says.

    Args:
        chosen: in the order of the answer; what is none of `candidates` stays as it is.
        candidates: from `candidate_sentences`.
        asked: stems of the question.
    """
    places = {c.quoted.span: n for n, c in enumerate(candidates)}
    found: list[QuotedSentence] = []
    for sentence in chosen:
        span, n = sentence.span, places.get(sentence.span)
        before = candidates[n - 1] if n else None
        if (
            before is not None
            # Who speaks, or what is listed, stands before a colon.
            and (not before.is_heading or before.quoted.text.endswith(":"))
            and (first := before.quoted.span).chunk == span.chunk
            and 0 <= span.start - first.end <= _PARAGRAPH_GAP
            and span.end - first.start <= MAX_CHARACTERS
            and asked.isdisjoint(content_stems(sentence.text))
            and not asked.isdisjoint(content_stems(before.quoted.text))
            and not any(share_text(each.span, first) for each in chosen)
        ):
            both = f"{before.quoted.text} {sentence.text}"
            found.append(replace(sentence, text=both, span=replace(span, start=first.start)))
        else:
            found.append(sentence)
    return found


def in_reading_order(chosen: Sequence[QuotedSentence]) -> list[QuotedSentence]:
    """Exchange neighbours of an answer of which the second stands directly before the first in its document.

    So a rule comes before its penalty, whichever of both is rated higher. Rows of a table keep their order.
    """
    found = list(chosen)
    for n in range(len(found) - 1):
        first, second = found[n], found[n + 1]
        if (
            first.span.document == second.span.document
            and 0 <= first.span.start - second.span.end <= _PARAGRAPH_GAP
            and not (ROW.match(first.text) or ROW.match(second.text))
        ):
            found[n], found[n + 1] = second, first
    return found
