"""An extractive answer: the sentences of the passages that answer a question, or a refusal.

The sentences are those that a cross-encoder scores highest; without a cross-encoder, those that share most of the
question's rare words and are near it in meaning. Yes or no, and which of two, are decided by rule where one sentence
is clear. A sentence that names what another passage is about is followed by a sentence of that passage (`chains`).
The answer is refused if a name in the question does not occur in
the passages, or if no sentence comes close to answering (thresholds: docs/design/extractive-answers.md).
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows
from polygraph.models import Models
from polygraph.models.protocols import Reranker
from polygraph.tasks.offline.chains import chain_sentences, without_overlaps
from polygraph.tasks.offline.contact_details import asked_contact_detail
from polygraph.tasks.offline.quoting import (
    asks_for_reason,
    asks_for_several,
    asks_how,
    below_its_heading,
    in_reading_order,
    is_below,
    with_list,
    with_reason,
    with_sentence_before,
    with_what_is_asked,
)
from polygraph.tasks.offline.recency import differ_in_values, newest_first
from polygraph.tasks.offline.roles import asks_for_present_holder, asks_for_task, role_test
from polygraph.tasks.offline.sentences import (
    DUPLICATE_OVERLAP,
    ROW,
    Candidate,
    Passage,
    QuotedSentence,
    below_names,
    candidate_sentences,
    names_in,
    overlap,
    similarities,
    term_weights,
)
from polygraph.tasks.offline.verdicts import asks_for_verdict, find_verdict
from polygraph.text.language import LANGUAGE_NAMES, detect_language, detect_question_language
from polygraph.text.prose import join_list
from polygraph.text.quantities import dates
from polygraph.text.words import STOP_WORDS, content_stems, question_names, stem, words

NO_SENTENCE = "no sentence of the passages found answers the question"
"""The reason of a refusal for which there is no closer one."""
REFUSE_BELOW = 0.0
"""An answer is refused if the cross-encoder's logit for the best sentence is lower. This keeps 98% of the answerable
dev questions and refuses 46% of the others (benchmarks/refusal.py)."""
REFUSE_COVERAGE = 0.34
"""Without a cross-encoder, an answer is refused if no passage holds this share of the question's weighted words."""
_MAX_CANDIDATES = 16
"""Sentences that the cross-encoder reads for one question. On 180 questions of three public sets 48 find no more, at
more than twice the CPU (benchmarks/results/answers.md)."""
_MAX_SENTENCES = 3
_MIN_NEW_WORDS = 2
"""Content words of an answering sentence that the question does not hold; a number is enough, and none need be new
where the question asks for yes or no, or which of two."""
_SPELLING_RATIO = 0.84
"""Two words this similar (difflib ratio) count as spellings of one name."""
_LOGIT_MARGIN = 2.5
"""A further sentence is added if its score is at most this far below the best."""
_SIMILARITY_MARGIN = 0.15
"""The same without a cross-encoder."""
_SIMILARITY_WEIGHT = 8.0
"""Weight of words and cosine beside the logit. On 149 dev questions of hotpotqa, nq and musique whose answer is among
the candidates, the answer is in the best sentence for 39% instead of 29%, and in the best three for 71% instead of
62% (4 to 20 do about as well)."""
_ROLE_GAIN = 3.0
"""In logits, of a sentence that states who holds the office asked for (see `roles`). Of 30 such sentences by hand, the
cross-encoder alone rates 8 below the threshold, those beside a name by at most 2.1."""
_ASKS_WHO_ASKED = re.compile(r"\b(?:ask(?:s|ed)?|questions?|questioned|wonder(?:s|ed)?)\b", re.IGNORECASE)
"""Words of a question that a question in the documents can answer."""
_HYPHEN_IN_WORD = re.compile(r"(?<=[^\W_])[-‐\u00ad](?=[^\W_])")
_LONG_NAME = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){2,}")
"""Three capitalised words or more, one after the other."""
_COMMON_CAPITALS = frozenset(["ok", "pc", "pcs", "tv", "id", "asap", "am", "pm"])
"""Words in capitals that documents write in other words, or not at all."""
_KIND_WEIGHT = 0.05
"""Weight of `kind_gain` without a cross-encoder, whose logits it is measured in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveAnswer:
    """The sentences of an answer, or the reason for a refusal."""

    sentences: tuple[QuotedSentence, ...]
    verdict: str = ""
    """``Yes``, ``No`` or which of two, if a rule decides it; see `verdicts`."""
    refused_because: str = ""
    note: str = ""
    """Says what documents of other dates have in the place of a sentence, and that the question is in another language
    than the passages, if so; a refusal says that in its reason."""
    logit: float | None = None
    """The cross-encoder's logit for the best sentence; None if it has read none."""
    nearest: tuple[QuotedSentence, ...] = ()
    """What `sentences` would be if their logit were high enough, of a question that was refused for it."""


def answer_with_sentences(question: str, passages: Sequence[Passage], models: Models) -> ExtractiveAnswer:
    """Choose the sentences that answer a question; no language model is called.

    Args:
        question: any text.
        passages: in the order of the evidence.
        models: the reranker judges if there is one; the embedder of names embeds the sentences.

    Returns:
        At most three sentences, or four where the question compares two things: best first, ties in the order of the
        passages, and behind a sentence the one that it leads to (see `chains`).
    """
    if not passages:
        return _refused("nothing was found")
    found = _answer(question, passages, models)
    if not (note := _other_language(question, passages)):
        return found
    if found.refused_because:
        return replace(found, refused_because=f"{found.refused_because}; {note}")
    return replace(found, note=f"{found.note}; {note}" if found.note else note)


def _other_language(question: str, passages: Sequence[Passage]) -> str:
    """Say that no passage is in the language of the question; empty if one is, or if a language is unknown."""
    asked = detect_question_language(question)
    found = dict.fromkeys(detect_language(p.chunk.text) for p in passages)
    known = [code for code in found if code]
    # Danish and Norwegian are too close to be told apart.
    same = {"da", "no"} if asked in ("da", "no") else {asked}
    if not asked or not known or not same.isdisjoint(known):
        return ""
    names = join_list([LANGUAGE_NAMES[code] for code in known])
    return f"the question is in {LANGUAGE_NAMES[asked]}, and the passages found are in {names}"


def _answer(question: str, passages: Sequence[Passage], models: Models) -> ExtractiveAnswer:
    wanted = content_stems(question)
    if missing := _missing_names(question, passages):
        listed = join_list([f"“{name}”" for name in missing])
        return _refused(f"the passages found say nothing of {listed}")
    asked = frozenset(wanted)
    sentences = below_names(question, candidate_sentences(passages), passages)
    # A question repeats what is asked, but answers nothing; the sentence behind it is read, and quoted, with it.
    telling = candidates = [c for c in sentences if not c.is_question or _ASKS_WHO_ASKED.search(question)]
    if asks_for_verdict(question):
        if decided := find_verdict(question, candidates):
            return ExtractiveAnswer(sentences=decided.sentences, verdict=decided.text)
    else:
        telling = [c for c in candidates if _says_more(c.quoted.text, asked)]
    # Headings weigh words, too: what a text is about is no rare word of it.
    weights = term_weights(wanted, [c.terms for c in telling])
    candidates = [c for c in telling if not c.is_heading or _holds_quantity(question, c.quoted.text)] or [
        # One new word may be the answer, but seldom is: it counts where nothing else is said.
        c
        for c in candidates
        if not c.is_heading and set(content_stems(c.quoted.text)) - asked
    ]
    if (contact := asked_contact_detail(question)) is not None:
        candidates = [c for c in candidates if contact.is_in(c)]
        if not candidates:
            return _refused(f"no sentence of the passages found holds {contact.name}")
    if not candidates:
        return _refused("the passages found hold no sentence that could answer")
    is_listed = asks_how(question) or asks_for_several(question)
    if is_listed:
        candidates = [below_its_heading(c, asked) for c in candidates]
    similar = _similar(question, candidates, weights, models)
    states = role_test(question) if contact is None else contact.is_stated_in
    steps = [is_listed and is_below(c, asked) for c in candidates]
    holders = [
        _ROLE_GAIN if step or (states and states(c)) else 0.0
        for step, c in zip(steps, candidates, strict=True)
    ]
    gains = [kind_gain(question, c.quoted.text) for c in candidates]
    # By the score without the cross-encoder's part.
    likely = [
        round(_SIMILARITY_WEIGHT * float(similar[i]) + gain + holders[i], 6) for i, gain in enumerate(gains)
    ]
    kept = sorted(range(len(candidates)), key=lambda i: (-likely[i], i))[:_MAX_CANDIDATES]
    if models.reranker is None:
        if _best_coverage(wanted, weights, passages) < REFUSE_COVERAGE:
            return _refused("no passage holds most of what the question asks about")
        logit, margin, is_refused = None, _SIMILARITY_MARGIN, False
        rated: dict[int, float] = {}
        scores = {i: round(similar[i] + _KIND_WEIGHT * (gains[i] + holders[i]), 4) for i in kept}
    else:
        logits = _read(question, models, models.reranker, [candidates[i].context for i in kept])
        rated = {i: each + holders[i] for i, each in zip(kept, logits, strict=True)}
        # "Ana Ruiz looks after boats and oars" is clear, and gets down to -6 for "Who is in charge of oars?". The
        # heading says what a step is for.
        clear = [i for i in kept if steps[i] or (holders[i] and asks_for_task(question))]
        logit, margin = max(rated.values()), _LOGIT_MARGIN
        is_refused = logit < REFUSE_BELOW and not clear
        rated |= {i: max(rated[i], REFUSE_BELOW) for i in clear}
        scores = {i: round(each + _SIMILARITY_WEIGHT * similar[i] + gains[i], 4) for i, each in rated.items()}
    answering = {i for i in scores if is_refused or rated.get(i, REFUSE_BELOW) >= REFUSE_BELOW}
    is_about_a_time = asks_for_present_holder(question) or bool(dates(question))
    stating = [i for i in scores if holders[i]] if is_about_a_time else []
    ordered = newest_first(question, candidates, scores, margin, stating)
    scores = dict(ordered.scores)
    n_chains, most = (2, _MAX_SENTENCES + 1) if asks_for_verdict(question) else (1, _MAX_SENTENCES)
    chained = chain_sentences(
        question,
        candidates,
        _choose(question, candidates, scores, margin, ordered.behind, answering),
        likely,
        rated,
        None if models.reranker is None else partial(_read, question, models, models.reranker),
        n_chains,
    )
    shown = without_overlaps(candidates, chained)[:most]
    quoted = [replace(candidates[i].quoted, score=scores.get(i, round(likely[i], 4))) for i in shown]
    found = _completed(question, quoted, sentences, passages, asked)
    if is_refused:
        return replace(_refused(NO_SENTENCE), nearest=found, logit=logit)
    return ExtractiveAnswer(
        sentences=found, note=_other_states(shown, ordered.behind, candidates), logit=logit
    )


def _completed(
    question: str,
    quoted: Sequence[QuotedSentence],
    sentences: Sequence[Candidate],
    passages: Sequence[Passage],
    asked: frozenset[str],
) -> tuple[QuotedSentence, ...]:
    """Return the sentences of an answer with what is quoted together with them (see `quoting`)."""
    found = with_sentence_before(quoted, sentences, asked)
    if asks_for_reason(question):
        found = with_reason(found, sentences, asked)
    elif (holds := _asked_kind(question)) is not None:
        found = with_what_is_asked(found, sentences, passages, holds)
    return tuple(in_reading_order(with_list(question, found, sentences, passages, asked)))


def _other_states(
    shown: Sequence[int], behind: Mapping[int, Sequence[int]], candidates: Sequence[Candidate]
) -> str:
    """Say what a document of another date has in the place of a sentence that is shown; empty if none has anything."""
    said = []
    for i in shown:
        for other in behind.get(i, ())[:1]:
            date = candidates[other].date
            if other not in shown and date is not None:
                quoted = candidates[other].quoted
                said.append(f"a document of {date.text} has “{quoted.text}” ({quoted.span.document})")
    return "; ".join(said)


def _read(question: str, models: Models, reranker: Reranker, texts: list[str]) -> list[float]:
    return [float(each) for each in models.calls.score(reranker, question, texts, stage="answer")]


def _refused(reason: str) -> ExtractiveAnswer:
    return ExtractiveAnswer(sentences=(), refused_because=reason)


def _similar(
    question: str, candidates: Sequence[Candidate], weights: Mapping[str, float], models: Models
) -> NDArray[np.float64]:
    # The embedder of names: it is the quicker one, and there are many short texts.
    vectors = models.name_embedder.embed([c.quoted.text for c in candidates], "document")
    vector = models.name_embedder.embed([question], "query")[0]
    return similarities(candidates, weights, dot_rows(vectors, vector))


_QUANTITY_GAIN = 2.0
"""In logits, of a sentence that holds the date or number asked for."""
_PERMISSION_GAIN = 1.5
"""In logits, of a sentence that allows or forbids, where it is asked what one may do: the penalty comes behind it."""
_KINDS: Sequence[tuple[re.Pattern[str], re.Pattern[str], float]] = (
    # The question's wording, what an answering sentence then usually holds, and the gain in logits.
    (
        re.compile(
            r"^\W*(?:on |at |from |since |in )?(?:what|which) (?:year|date|day|month)|^\W*when\b", re.I
        ),
        re.compile(
            r"\b\d{4}\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|"
            r"December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
        ),
        _QUANTITY_GAIN,
    ),
    (
        re.compile(
            r"^\W*how (?:many|much|long|old|far|big|high|deep|wide|heavy|hot|cold|fast)\b"
            r"|^\W*(?:what|which) (?:[\w-]+ ){0,3}?(?:numbers?|versions?|codes?|extension)\b"
            r"|\b(?:price|salary|cost|sum|rate)\b",
            re.I,
        ),
        re.compile(
            r"\d|[£$€]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|"
            r"fifty|hundred|thousand)\b",
            re.I,
        ),
        _QUANTITY_GAIN,
    ),
    (
        re.compile(r"^\W*who(?:se|m)?\b", re.I),
        re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z]|\b(?:Mr|Mrs|Miss|Dr)\b"),
        1.0,
    ),
    (
        re.compile(
            r"^\W*(?:may|can|could|must|should|am|is it|are we|do)\b.{0,40}?\b(?:i|we|you|one|allowed|permitted)\b",
            re.I,
        ),
        re.compile(
            r"\b(?:(?:may|must|shall|should|can) (?:not|only)|cannot|(?:not|never|only|is|are|be) "
            r"(?:allowed|permitted)|forbidden|prohibited|banned|do not|no \w+ (?:is|are|may))\b|n['’]t\b",
            re.I,
        ),
        _PERMISSION_GAIN,
    ),
)


def kind_gain(question: str, sentence: str) -> float:
    """Return the gain of a sentence that holds the kind of thing asked for: a date, a number, a person."""
    return sum(gain for asks, holds, gain in _KINDS if asks.search(question) and holds.search(sentence))


def _asked_kind(question: str) -> Callable[[str], bool] | None:
    """Return a test for a text with the kind of thing asked for that the question does not hold; None for others."""
    found = [holds for asks, holds, gain in _KINDS if gain != _PERMISSION_GAIN and asks.match(question)]
    if not found:
        return None
    asked = set(words(question))

    def holds_more(text: str) -> bool:
        return any(not asked.issuperset(words(match[0])) for match in found[0].finditer(text))

    return holds_more


def _says_more(sentence: str, asked: frozenset[str]) -> bool:
    """Return whether a sentence says something that the question does not: two words, or a number."""
    new = set(content_stems(sentence)) - asked
    return len(new) >= _MIN_NEW_WORDS or any(any(map(str.isdigit, word)) for word in new)


def _holds_quantity(question: str, heading: str) -> bool:
    """Return whether a heading holds the date or number that is asked for, as those of a list of versions do."""
    if set(content_stems(question)).isdisjoint(content_stems(heading)):
        return False
    return any(
        asks.search(question) and holds.search(heading)
        for asks, holds, gain in _KINDS
        if gain == _QUANTITY_GAIN
    )


def _best_coverage(wanted: Sequence[str], weights: Mapping[str, float], passages: Sequence[Passage]) -> float:
    total = sum(weights.values())
    if not wanted or total == 0:
        return 1.0
    best = 0.0
    for p in passages:
        held = set(content_stems(f"{p.title} {p.chunk.text}"))
        best = max(best, sum(weights[t] for t in wanted if t in held) / total)
    return best


def _missing_names(question: str, passages: Sequence[Passage]) -> list[str]:
    """Return the names in the question that no passage has, not even in a similar spelling.

    Of a long name, such as that of a war or a treaty, half of the words are enough: documents say the rest otherwise.
    """
    # A year may be meant, and not be written out in the text.
    asked = [
        name
        for name in question_names(question)
        if not name.isdigit() and name.casefold() not in _COMMON_CAPITALS
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


def _is_row_of_another(question: str, best: Candidate, other: Candidate) -> bool:
    """Return whether the best sentence is a row with what the question names, and another one a row without it."""
    if not (ROW.match(best.quoted.text) and ROW.match(other.quoted.text)):
        return False
    return not set(names_in(question, best.quoted.text)) <= set(names_in(question, other.quoted.text))


def _choose(
    question: str,
    candidates: Sequence[Candidate],
    scores: Mapping[int, float],
    margin: float,
    behind: Mapping[int, Sequence[int]],
    answering: Collection[int],
) -> list[int]:
    """Choose the best sentence, the best one for each name of the question, and others close to the best that answer.

    Of two that say the same, one is enough, unless their numbers differ and no date decides between them.
    """
    order = sorted(scores, key=lambda i: (-scores[i], i))
    chosen = [order[0]]
    for name in question_names(question):
        parts = set(content_stems(name))
        holding = [i for i in order if parts <= candidates[i].terms]
        if len(chosen) < _MAX_SENTENCES and set(chosen).isdisjoint(holding):
            chosen += [i for i in holding[:1] if scores[i] > scores[order[0]] - 2 * margin]
    wanted = set(content_stems(question))
    for i in order[1:]:
        if len(chosen) >= _MAX_SENTENCES or scores[i] < scores[order[0]] - margin:
            break
        own = frozenset(content_stems(candidates[i].quoted.text))
        if (
            i not in chosen
            and i in answering
            and not _is_row_of_another(question, candidates[order[0]], candidates[i])
            and not wanted.isdisjoint(own)
            and all(
                overlap(own, frozenset(content_stems(candidates[j].quoted.text))) < DUPLICATE_OVERLAP
                or (i not in behind.get(j, ()) and differ_in_values(question, candidates[i], candidates[j]))
                for j in chosen
            )
        ):
            chosen.append(i)
    return chosen
