"""The tasks of a language model, done by choosing sentences of the documents.

An answer consists of the sentences that a cross-encoder judges to answer the question best; without one, of
those that share most of the question's rare words and are near it in meaning. It is refused if something that
the question names does not occur in the evidence, or if no sentence comes close to answering.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from polygraph.models import Models
from polygraph.records import Chunk, Report, Span
from polygraph.text.sentences import sentences
from polygraph.text.words import STOP, content, listing, names, stem, words

_CANDIDATES = 48
"""Sentences that the cross-encoder reads for one answer."""
_LONGEST = 600
"""Characters of a sentence that is shown; headings and tables without full stops can be endless."""
_SHORTEST = 3
"""Words of a sentence that can answer."""
_NEW = 2
"""Content words of a sentence beside those of the question, at least, for it to answer."""
_MOST = 3
"""Sentences of an answer to a question about particular things."""
_LEANING = re.compile(
    r"[\"'“‘(*]*(?:he|she|it|they|him|her|them|his|its|their|this|that|these|those|such|there|here|then|so|but|and|or|yet|"
    r"both|neither|either|the (?:former|latter|same|other)|one|another|which|who)\b",
    re.IGNORECASE,
)
"""Beginnings of a sentence that cannot be understood without the one before."""
_LIKE = 0.84
"""Two words so alike (difflib ratio) are taken for spellings of one name."""
_MARGIN = 2.5
"""A further sentence is added if the cross-encoder puts it at most so far below the best."""
REFUSE_BELOW = 0.0
"""Logit of the cross-encoder for the best sentence, below which an answer is refused: keeps 98% of the answerable
dev questions and refuses 47% of the others (benchmarks/refusal.py)."""
_TELLING = 4
"""Content words that a sentence needs to tell something by itself."""
_REPEATS = 0.6
"""A sentence repeats another if it shares so much of the content words of the shorter of the two."""
_ROUGH = 8.0
"""Weight of shared words and nearness beside the logit. On 149 dev questions of hotpotqa, nq and musique with the
answer among the candidates it stands in the best sentence for 39% instead of 29%, in the best three for 71%
instead of 62% (4 to 20 do about as well)."""
REFUSE_COVERAGE = 0.34
"""Without a cross-encoder: share of the question's weighted words that the best passage must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk that evidence rests on."""

    chunk: Chunk
    title: str
    evidence: int
    """Number of the evidence, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """A sentence of the documents chosen for an answer."""

    text: str
    span: Span
    evidence: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The sentences of an answer, or why there are none."""

    sentences: tuple[Quoted, ...]
    refused_because: str = ""
    logit: float | None = None
    """What the cross-encoder gives the best sentence, which decides on a refusal; None without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement of a report that helps to answer a question."""

    text: str
    score: float
    """In [0, 100]."""
    report: str
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    quoted: Quoted
    context: str
    """The sentence with its title and the sentence before it: what the cross-encoder reads."""
    terms: frozenset[str]


def choose_sentences(question: str, passages: Sequence[Passage], models: Models) -> Selection:
    """Choose the sentences that answer a question.

    Args:
        question: any text.
        passages: in the order of the evidence.
        models: the reranker judges if there is one; no language model is called.

    Returns:
        Sentences, best first; ties in the order of the passages.
    """
    if not passages:
        return Selection(sentences=(), refused_because="nothing was found")
    wanted = content(question)
    missing = _missing_names(question, passages)
    if missing:
        listed = listing([f"“{name}”" for name in missing])
        return Selection(sentences=(), refused_because=f"the passages found say nothing of {listed}")
    asked = frozenset(wanted)
    # An answer says something that the question does not.
    candidates = [c for c in _candidates(passages) if len(set(content(c.quoted.text)) - asked) >= _NEW]
    if not candidates:
        return Selection(
            sentences=(), refused_because="the passages found hold no sentence that could answer"
        )
    weights = _weights(wanted, candidates)
    rough = _rough_scores(question, candidates, weights, models)
    kept = sorted(range(len(candidates)), key=lambda i: (-rough[i], i))[:_CANDIDATES]
    logit: float | None = None
    if models.reranker is not None:
        judged = models.calls.score(
            models.reranker, question, [candidates[i].context for i in kept], stage="answer"
        )
        logit = float(max(judged))
        if logit < REFUSE_BELOW:
            return Selection(
                sentences=(), refused_because="no sentence of the passages found answers the question"
            )
        scores = {
            i: round(float(logit) + _ROUGH * rough[i] + _fits(question, candidates[i].quoted.text), 4)
            for i, logit in zip(kept, judged, strict=True)
        }
        margin = _MARGIN
    else:
        scores = {i: round(rough[i] + 0.05 * _fits(question, candidates[i].quoted.text), 4) for i in kept}
        if _best_coverage(wanted, weights, passages) < REFUSE_COVERAGE:
            return Selection(
                sentences=(), refused_because="no passage holds most of what the question asks about"
            )
        margin = 0.15
    chosen = _choose(question, candidates, scores, most=_MOST, margin=margin)
    return Selection(
        sentences=tuple(replace(candidates[i].quoted, score=scores[i]) for i in chosen),
        logit=logit,
    )


class SentencePool:
    """Sentences of passages, read and embedded once, to be ranked for several queries. No cross-encoder is asked.

    Args:
        passages: any; a sentence that stands in several belongs to the first.
        models: embed the sentences.
    """

    def __init__(self, passages: Sequence[Passage], models: Models) -> None:
        self._models = models
        self._candidates = _candidates(passages)
        self._content = [frozenset(content(c.quoted.text)) for c in self._candidates]
        self._vectors = models.name_embedder.embed([c.quoted.text for c in self._candidates], "document")

    def nearest(
        self,
        query: str,
        *,
        most: int,
        chunks: Collection[str] | None = None,
        passed: Collection[Span] = (),
    ) -> list[Quoted]:
        """Sentences nearest to a query by shared words and meaning, best first; ties in the order of the passages.

        Args:
            query: any text.
            most: so many at most; a sentence that repeats a better one is left out.
            chunks: ids of those to choose from; None for all.
            passed: sentences that are not to be taken.
        """
        taken = [
            i
            for i, c in enumerate(self._candidates)
            if (chunks is None or c.quoted.span.chunk in chunks)
            and c.quoted.span not in passed
            and len(self._content[i]) >= _TELLING
        ]
        if not taken:
            return []
        some = [self._candidates[i] for i in taken]
        asked = self._models.name_embedder.embed([query], "query")[0]
        cosines = self._vectors[taken] @ asked
        scores = _blend(some, _weights(content(query), some), cosines)
        chosen: list[int] = []
        for i in sorted(range(len(some)), key=lambda i: (-scores[i], i)):
            if all(_shared(self._content[taken[i]], self._content[taken[j]]) < _REPEATS for j in chosen):
                chosen.append(i)
                if len(chosen) == most:
                    break
        return [replace(some[i].quoted, score=round(float(scores[i]), 4)) for i in chosen]


def statements(
    question: str, reports: Sequence[Report], models: Models, *, most: int = 12
) -> list[Statement]:
    """Choose the statements of reports that help to answer a question, best first; ties in the order of reports.

    For a question about particular things the score is 100 times the logistic function of the cross-encoder's
    logit, or the share of the question's weighted words. For one about the whole collection (`is_broad`) it is
    made of the importance of each report and the nearness of its text to the question; its summary is stated.
    """
    if is_broad(question):
        return _themes(question, reports, models, most)
    found = [
        (text, report, chunks or report.chunks)
        for report in reports
        for text, chunks in [
            (report.summary, report.chunks),
            *((f"{f.summary} {f.explanation}".strip(), f.chunks) for f in report.findings),
        ]
        if text
    ]
    # A statement that several reports make counts for the first of them.
    found = list({text: (text, report, chunks) for text, report, chunks in reversed(found)}.values())[::-1]
    if not found:
        return []
    terms = [frozenset(content(text)) for text, _, _ in found]
    weights = _term_weights(content(question), terms)
    total = sum(weights.values()) or 1.0
    rough = [
        sum(weights.get(t, 0.0) for t in ts) / total + 0.02 * (report.rating / 10 + report.weight)
        for ts, (_, report, _) in zip(terms, found, strict=True)
    ]
    kept = sorted(range(len(found)), key=lambda i: (-rough[i], i))[:_CANDIDATES]
    if models.reranker is not None:
        logits = models.calls.score(models.reranker, question, [found[i][0] for i in kept], stage="map")
        scores = [100 / (1 + math.exp(-(float(logit) + 3.0) / 2.5)) for logit in logits]
    else:
        scores = [100 * min(rough[i], 1.0) for i in kept]
    ranked = sorted(zip(scores, kept, strict=True), key=lambda pair: (-round(pair[0], 2), pair[1]))
    return [_statement(found[i], score) for score, i in ranked[:most]]


def _themes(question: str, reports: Sequence[Report], models: Models, most: int) -> list[Statement]:
    """What the largest communities are about, those nearer to the question's own words first."""
    asked = " ".join(w for w in words(question) if w not in STOP and stem(w) not in _META)
    near = np.zeros(len(reports), dtype=np.float32)
    if asked and reports:
        vectors = models.name_embedder.embed([r.text for r in reports], "document")
        near = np.round(vectors @ models.name_embedder.embed([asked], "query")[0], 6)
    scores = [
        round(40 * max(float(n), 0.0) + 30 * r.rating / 10 + 30 * r.weight, 2)
        for n, r in zip(near, reports, strict=True)
    ]
    order = sorted(range(len(reports)), key=lambda i: (-scores[i], i))
    return [
        Statement(
            text=f"{reports[i].title}: {reports[i].summary}",
            score=scores[i],
            report=reports[i].community,
            chunks=reports[i].chunks,
        )
        for i in order[:most]
        if reports[i].summary
    ]


def _statement(found: tuple[str, Report, tuple[str, ...]], score: float) -> Statement:
    text, report, chunks = found
    return Statement(text=text, score=round(score, 2), report=report.community, chunks=chunks)


def is_broad(question: str) -> bool:
    """Whether a question asks about the whole collection: it names nothing and asks for what recurs or stands out.

    >>> is_broad("What are these papers about?"), is_broad("Who was Scrooge's partner?")
    (True, False)
    """
    return bool(_BROAD.search(question)) and not names(question)


_META_WORDS = """
    main major overall recurring recur keep coming common theme themes topic topics trend pattern across
    throughout collection document documents paper papers source sources summarise summarize summary
    overview general kind kinds way ways run whole back important key corpus text texts archive thing
    things subject
"""
_META = frozenset(stem(word) for word in _META_WORDS.split())
"""Words of a question about the whole collection that say nothing of what it is about."""

_BROAD = re.compile(
    r"\b(?:themes?|trends?|overview|overall|recurring|recur|throughout|summari[sz]e|in general|keeps? coming|"
    r"(?:main|major|common|key|important|central) (?:topics?|subjects?|points?|issues?|ideas?|events?|people|things)|"
    r"(?:the|these|this|those|all|whole) (?:papers|documents|collection|sources|corpus|archive|texts))\b",
    re.IGNORECASE,
)

_KINDS: Sequence[tuple[re.Pattern[str], re.Pattern[str], float]] = (
    # What a question asks for, what an answering sentence then usually holds, and how much that counts (in logits).
    (
        re.compile(
            r"^\W*(?:on |at |from |since |in )?(?:what|which) (?:year|date|day|month)|^\W*when\b", re.I
        ),
        re.compile(
            r"\b\d{4}\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|"
            r"December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
        ),
        2.0,
    ),
    (
        re.compile(r"^\W*how (?:many|much|long|old|far)\b|\b(?:price|salary|cost|sum|rate)\b", re.I),
        re.compile(
            r"\d|[£$€]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|"
            r"fifty|hundred|thousand)\b",
            re.I,
        ),
        2.0,
    ),
    (
        re.compile(r"^\W*who(?:se|m)?\b", re.I),
        re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z]|\b(?:Mr|Mrs|Miss|Dr)\b"),
        1.0,
    ),
)


def _fits(question: str, sentence: str) -> float:
    """What a sentence gains for holding the kind of thing that the question asks for."""
    return sum(gain for asks, holds, gain in _KINDS if asks.search(question) and holds.search(sentence))


def _candidates(passages: Sequence[Passage]) -> list[_Candidate]:
    """Every sentence once; one that leans on the sentence before it is taken together with it."""
    found: list[_Candidate] = []
    seen: set[str] = set()
    for passage in passages:
        chunk = passage.chunk
        before, before_start = "", 0
        for start, stop in sentences(chunk.text):
            end = min(stop, start + _LONGEST)
            text = " ".join(chunk.text[start:end].split())
            leans = bool(before) and bool(_LEANING.match(text)) and end - before_start <= _LONGEST
            shown = " ".join(chunk.text[before_start:end].split()) if leans else text
            if len(words(text)) >= _SHORTEST and shown.casefold() not in seen:
                seen.add(shown.casefold())
                context = (
                    f"{passage.title}. {before} {text}"
                    if len(before) < _LONGEST
                    else f"{passage.title}. {text}"
                )
                begin = before_start if leans else start
                found.append(
                    _Candidate(
                        quoted=Quoted(
                            text=shown,
                            span=Span(chunk.document, chunk.id, chunk.start + begin, chunk.start + end),
                            evidence=passage.evidence,
                            score=0.0,
                        ),
                        context=context,
                        terms=frozenset(content(context)),
                    )
                )
            before, before_start = text, start
    return found


def _weights(wanted: Sequence[str], candidates: Sequence[_Candidate]) -> Mapping[str, float]:
    return _term_weights(wanted, [c.terms for c in candidates])


def _term_weights(wanted: Sequence[str], texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """Inverse document frequency of the question's words among the texts at hand, smoothed."""
    frequency = Counter(term for terms in texts for term in terms)
    return {t: math.log(1 + (len(texts) + 1) / (frequency[t] + 0.5)) for t in wanted}


def _rough_scores(
    question: str, candidates: Sequence[_Candidate], weights: Mapping[str, float], models: Models
) -> NDArray[np.float64]:
    """Share of the question's weighted words, and cosine by the embedder of names (many short texts)."""
    vectors = models.name_embedder.embed([c.quoted.text for c in candidates], "document")
    asked = models.name_embedder.embed([question], "query")[0]
    return _blend(candidates, weights, vectors @ asked)


def _blend(
    candidates: Sequence[_Candidate], weights: Mapping[str, float], cosines: NDArray[np.float32]
) -> NDArray[np.float64]:
    total = sum(weights.values()) or 1.0
    shared = np.array([sum(weights.get(t, 0.0) for t in c.terms) / total for c in candidates])
    return np.asarray(np.round(0.6 * shared + 0.4 * cosines, 6), dtype=np.float64)


def _best_coverage(wanted: Sequence[str], weights: Mapping[str, float], passages: Sequence[Passage]) -> float:
    total = sum(weights.values())
    if not wanted or total == 0:
        return 1.0
    best = 0.0
    for p in passages:
        held = set(content(f"{p.title} {p.chunk.text}"))
        best = max(best, sum(weights[t] for t in wanted if t in held) / total)
    return best


def _missing_names(question: str, passages: Sequence[Passage]) -> list[str]:
    """Names of the question of which no word occurs in any passage, near spellings included."""
    asked = [
        name for name in names(question) if not name.isdigit()
    ]  # a year may be meant, and stand in no text
    if not asked:
        return []
    held = {stem(w) for p in passages for w in words(f"{p.title} {p.chunk.text}")}
    missing = []
    for name in asked:
        parts = [stem(w) for w in words(name) if w not in STOP]
        if parts and not any(_held(part, held) for part in parts):
            missing.append(name)
    return missing


def _held(part: str, held: set[str]) -> bool:
    if part in held:
        return True
    if len(part) < 5 or part.isdigit():
        return False
    return any(
        abs(len(part) - len(word)) <= 2
        and word[0] == part[0]
        and SequenceMatcher(None, part, word).ratio() >= _LIKE
        for word in held
        if word
    )


def _choose(
    question: str, candidates: Sequence[_Candidate], scores: Mapping[int, float], *, most: int, margin: float
) -> list[int]:
    """The best sentence, then others near it that are not repetitions; each name of the question gets its best."""
    order = sorted(scores, key=lambda i: (-scores[i], i))
    chosen = [order[0]]
    asked = [stem(w) for name in names(question) for w in words(name)]
    for term in dict.fromkeys(asked):
        if len(chosen) < most and not any(term in candidates[i].terms for i in chosen):
            for i in order:
                if term in candidates[i].terms and scores[i] > scores[order[0]] - 2 * margin:
                    chosen.append(i)
                    break
    wanted = set(content(question))
    for i in order[1:]:
        if len(chosen) >= most or scores[i] < scores[order[0]] - margin:
            break
        says_something = bool(wanted & set(content(candidates[i].quoted.text)))
        if (
            i not in chosen
            and says_something
            and all(_overlap(candidates[i], candidates[j]) < _REPEATS for j in chosen)
        ):
            chosen.append(i)
    return chosen


def _overlap(a: _Candidate, b: _Candidate) -> float:
    return _shared(frozenset(content(a.quoted.text)), frozenset(content(b.quoted.text)))


def _shared(x: frozenset[str], y: frozenset[str]) -> float:
    return len(x & y) / max(1, min(len(x), len(y)))
