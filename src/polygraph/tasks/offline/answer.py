"""An extractive answer: the sentences of the passages that answer a question, or a refusal.

The sentences are those that a cross-encoder scores highest; without a cross-encoder, those that share most of the
question's rare words and are near it in meaning. Yes or no, and which of two, are decided by rule where one sentence
is clear. A sentence that names what another passage is about is followed by a sentence of that passage (`chains`).
The answer is refused if a name in the question does not occur in the passages, or if no sentence comes close to
answering (thresholds: docs/design/extractive-answers.md).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows
from polygraph.models import Models
from polygraph.models.protocols import Reranker
from polygraph.tasks.offline.asked_kind import asked_kind, holds_quantity, kind_gain
from polygraph.tasks.offline.chains import chain_sentences, without_overlaps
from polygraph.tasks.offline.contact_details import asked_contact_detail
from polygraph.tasks.offline.missing_names import missing_names, rows_of_others
from polygraph.tasks.offline.question_lists import entry_in_other_words
from polygraph.tasks.offline.quoting import (
    asks_for_reason,
    asks_for_several,
    asks_how,
    below_its_heading,
    in_reading_order,
    is_below,
    is_headed_by,
    with_correction,
    with_list,
    with_paragraph,
    with_reason,
    with_sentence_before,
    with_what_is_asked,
)
from polygraph.tasks.offline.recency import (
    Ordered,
    asks_for_earlier,
    differ_in_values,
    ended_documents,
    newest_first,
)
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
from polygraph.text.words import content_stem_set, content_stems, question_names

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
_LOGIT_MARGIN = 2.5
_SIMILARITY_MARGIN = 0.15
"""`_Ratings.margin` without a cross-encoder."""
_SIMILARITY_WEIGHT = 8.0
"""Weight of words and cosine beside the logit. On 149 dev questions of hotpotqa, nq and musique whose answer is among
the candidates, the answer is in the best sentence for 39% instead of 29%, and in the best three for 71% instead of
62% (4 to 20 do about as well)."""
_ROLE_GAIN = 3.0
"""In logits, of a sentence that states who holds the office asked for (see `roles`). Of 30 such sentences by hand, the
cross-encoder alone rates 8 below the threshold, those beside a name by at most 2.1."""
_ASKS_WHO_ASKED = re.compile(r"\b(?:ask(?:s|ed)?|questions?|questioned|wonder(?:s|ed)?)\b", re.IGNORECASE)
"""Words of a question that a question in the documents can answer."""
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
    if missing := missing_names(question, passages):
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
    candidates = [c for c in telling if not c.is_heading or holds_quantity(question, c.quoted.text)] or [
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
    headed = [is_headed_by(c, asked) for c in candidates]
    candidates = [
        replace(c, terms=c.terms | asked) if is_headed else c
        for c, is_headed in zip(candidates, headed, strict=True)
    ]
    is_told = models.reranker is not None or any(headed)
    if not is_told and _best_coverage(wanted, weights, passages) < REFUSE_COVERAGE:
        return _refused("no passage holds most of what the question asks about")
    states = role_test(question) if contact is None else contact.is_stated_in
    steps = [is_listed and is_below(c, asked) for c in candidates]
    stated = [step or (states is not None and states(c)) for step, c in zip(steps, candidates, strict=True)]
    # The heading says what a step is for. "Ana Ruiz looks after boats and oars" is clear, and gets down to -6 for "Who
    # is in charge of oars?".
    told = stated if asks_for_task(question) else steps
    clear = [each or is_headed for each, is_headed in zip(told, headed, strict=True)]
    similar = _similar(question, candidates, weights, models)
    of_others = rows_of_others(question, candidates)
    found = _rate(question, candidates, similar, stated, clear, of_others, models)
    if found.is_refused and contact is None:
        rivals = [candidates[i] for i in found.logits]
        if entry := entry_in_other_words(question, sentences, rivals, models.embedder):
            heading = entry[0].heading
            # To what the list asks, its answer is quoted as a whole.
            whole = with_paragraph([entry[0].quoted], sentences, passages, frozenset(content_stems(heading)))
            note = f"this is the answer to the question “{heading}”"
            return ExtractiveAnswer(sentences=tuple(whole), note=note, logit=found.logit)
    is_about_a_time = asks_for_present_holder(question) or bool(dates(question))
    stating = [i for i in found.scores if stated[i]] if is_about_a_time else []
    ended = ended_documents(passages)
    scores = {
        # What no longer holds comes behind what answers about as well.
        i: score - found.margin
        if candidates[i].quoted.span.document in ended and not asks_for_earlier(question)
        else score
        for i, score in found.scores.items()
    }
    ordered = newest_first(question, candidates, scores, found.margin, stating)
    shown = _shown(question, candidates, found, ordered, models)
    quoted = [
        replace(candidates[i].quoted, score=ordered.scores.get(i, round(found.likely[i], 4))) for i in shown
    ]
    completed = _completed(question, quoted, sentences, passages, asked)
    if found.is_refused:
        return replace(_refused(NO_SENTENCE), nearest=completed, logit=found.logit)
    return ExtractiveAnswer(
        sentences=completed,
        note="; ".join(
            [
                *_other_states(shown, ordered.behind, candidates),
                *_said_of_ended(shown, ended, candidates),
            ]
        ),
        logit=found.logit,
    )


class _Ratings(NamedTuple):
    """How well candidates answer, by their positions."""

    scores: dict[int, float]
    """Scores of those that an answer is chosen from."""
    likely: list[float]
    """Scores of all, without the cross-encoder's part."""
    logits: dict[int, float]
    """By the cross-encoder, with the gains for what is clear; empty without one."""
    logit: float | None
    """The highest."""
    margin: float
    """A further sentence is added if its score is at most this far below the best."""

    @property
    def is_refused(self) -> bool:
        """Whether the cross-encoder finds no answer among them."""
        return self.logit is not None and self.logit < REFUSE_BELOW


def _rate(
    question: str,
    candidates: Sequence[Candidate],
    similar: NDArray[np.float64],
    stated: Sequence[bool],
    clear: Sequence[bool],
    of_others: Sequence[bool],
    models: Models,
) -> _Ratings:
    """Rate candidates: by rule, and the best of them by the cross-encoder if there is one.

    Args:
        question: any text.
        candidates: at least one.
        similar: their similarity with the question.
        stated: whether each states by rule what is asked: who holds an office, a detail of contact, or a step.
        clear: whether each answers whatever the cross-encoder says, and gets at least the logit below which is refused.
        of_others: whether each does not answer alone whatever it says, and gets a lower one. A sentence may lead to it.
        models: with the reranker.
    """
    gains = [kind_gain(question, c.quoted.text) for c in candidates]
    holders = [_ROLE_GAIN if each else 0.0 for each in stated]
    likely = [
        round(_SIMILARITY_WEIGHT * float(similar[i]) + gain + holders[i], 6) for i, gain in enumerate(gains)
    ]
    kept = sorted(range(len(candidates)), key=lambda i: (-likely[i], i))[:_MAX_CANDIDATES]
    if models.reranker is None:
        scores = {i: round(similar[i] + _KIND_WEIGHT * (gains[i] + holders[i]), 4) for i in kept}
        return _Ratings(scores, likely, {}, None, _SIMILARITY_MARGIN)
    read = _read(question, models, models.reranker, [candidates[i].context for i in kept])
    logits = {i: each + holders[i] for i, each in zip(kept, read, strict=True)}
    logits |= {i: max(logits[i], REFUSE_BELOW) for i in kept if clear[i]}
    logits |= {i: min(logits[i], REFUSE_BELOW - _LOGIT_MARGIN) for i in kept if of_others[i]}
    scores = {i: round(each + _SIMILARITY_WEIGHT * similar[i] + gains[i], 4) for i, each in logits.items()}
    return _Ratings(scores, likely, logits, max(logits.values()), _LOGIT_MARGIN)


def _shown(
    question: str, candidates: Sequence[Candidate], found: _Ratings, ordered: Ordered, models: Models
) -> list[int]:
    """Choose the sentences of an answer, best first, and behind a sentence the one that it leads to (see `chains`)."""
    answering = {
        i for i in found.scores if found.is_refused or found.logits.get(i, REFUSE_BELOW) >= REFUSE_BELOW
    }
    n_chains, most = (2, _MAX_SENTENCES + 1) if asks_for_verdict(question) else (1, _MAX_SENTENCES)
    chained = chain_sentences(
        question,
        candidates,
        _choose(question, candidates, ordered.scores, found.margin, ordered.behind, answering),
        found.likely,
        found.logits,
        None if models.reranker is None else partial(_read, question, models, models.reranker),
        n_chains,
    )
    return without_overlaps(candidates, chained)[:most]


def _completed(
    question: str,
    quoted: Sequence[QuotedSentence],
    sentences: Sequence[Candidate],
    passages: Sequence[Passage],
    asked: frozenset[str],
) -> tuple[QuotedSentence, ...]:
    """Return the sentences of an answer with what is quoted together with them (see `quoting`)."""
    found = with_sentence_before(with_paragraph(quoted, sentences, passages, asked), sentences, asked)
    holds = asked_kind(question)
    found = with_correction(found, sentences, passages, holds)
    if asks_for_reason(question):
        found = with_reason(found, sentences, asked)
    elif holds is not None:
        found = with_what_is_asked(found, sentences, passages, holds)
    return tuple(in_reading_order(with_list(question, found, sentences, passages, asked)))


def _other_states(
    shown: Sequence[int], behind: Mapping[int, Sequence[int]], candidates: Sequence[Candidate]
) -> list[str]:
    """Say what documents of other dates have in the place of sentences that are shown."""
    said = []
    for i in shown:
        own = candidates[i].quoted.span.document
        others = [other for other in behind.get(i, ()) if candidates[other].quoted.span.document != own]
        for other in others[:1]:
            date = candidates[other].date
            if other not in shown and date is not None:
                quoted = candidates[other].quoted
                said.append(f"a document of {date.text} has “{quoted.text}” ({quoted.span.document})")
    return said


def _said_of_ended(
    shown: Sequence[int], ended: Mapping[str, str], candidates: Sequence[Candidate]
) -> list[str]:
    """Say which documents of sentences that are shown no longer hold."""
    documents = dict.fromkeys(candidates[i].quoted.span.document for i in shown)
    return [f"{document} says that it is “{ended[document]}”" for document in documents if document in ended]


def _read(question: str, models: Models, reranker: Reranker, texts: list[str]) -> list[float]:
    return [float(each) for each in models.calls.score(reranker, question, texts, stage="answer")]


def _refused(reason: str) -> ExtractiveAnswer:
    return ExtractiveAnswer(sentences=(), refused_because=reason)


def _similar(
    question: str, candidates: Sequence[Candidate], weights: Mapping[str, float], models: Models
) -> NDArray[np.float64]:
    # The embedder of names: it is the quicker one, and there are many short texts.
    vectors = models.name_embedder.embed(
        [f"{c.heading} {c.quoted.text}".lstrip() for c in candidates], "document"
    )
    vector = models.name_embedder.embed([question], "query")[0]
    return similarities(candidates, weights, dot_rows(vectors, vector))


def _says_more(sentence: str, asked: frozenset[str]) -> bool:
    """Return whether a sentence says something that the question does not: two words, or a number."""
    new = set(content_stems(sentence)) - asked
    return len(new) >= _MIN_NEW_WORDS or any(any(map(str.isdigit, word)) for word in new)


def _best_coverage(wanted: Sequence[str], weights: Mapping[str, float], passages: Sequence[Passage]) -> float:
    total = sum(weights.values())
    if not wanted or total == 0:
        return 1.0
    best = 0.0
    for p in passages:
        held = set(content_stems(f"{p.title} {p.chunk.text}"))
        best = max(best, sum(weights[t] for t in wanted if t in held) / total)
    return best


def _is_row_of_another(question: str, best: Candidate, other: Candidate) -> bool:
    """Return whether the best sentence is a row that says what the question says, and another row lacks some of it.

    It lacks a name, or a word without saying another word of the question instead: "What do oak and pine cost?".
    """
    texts = best.quoted.text, other.quoted.text
    if not all(map(ROW.match, texts)):
        return False
    names, names_of_other = (set(names_in(question, text)) for text in texts)
    said, said_by_other = (content_stem_set(question) & content_stem_set(text) for text in texts)
    return not names <= names_of_other or said_by_other < said


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
