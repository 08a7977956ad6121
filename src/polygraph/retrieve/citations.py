"""The check of citations: each is resolved to the sentence that supports it, or removed from the text with a note."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias, overload

from polygraph.records import Chunk, Citation, Evidence
from polygraph.retrieve.cited_sentences import casefolded, cite, supporting_sentence
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.evidence.check_citations import CitedClaim
from polygraph.tasks.parsing.citations import CITATION, cited_numbers
from polygraph.text.claims import contradiction
from polygraph.text.claims.repeats import roots
from polygraph.text.passage import with_heading
from polygraph.text.prose import shorten
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stem_set, content_stems

_CITATIONS = re.compile(rf"(?<!\s)\s*+(?:{CITATION})+")
"""Citations with the white space before them."""
_NEIGHBOUR_SUPPORT = 0.5
"""A citation is one of a neighbour if another piece of evidence shares that much more of the claim's content words."""
_CLAIM_CHARACTERS = 1_000
"""Text before a citation in which its claim is looked for."""
_NOTED = 80
"""Characters of a claim in a note."""
_MAX_CHUNKS = 16
"""Chunks behind a piece of evidence that are read."""
_MAX_COMPARED = 8
"""Most of them that a claim is compared with."""
_HITS = (96, 256)
"""Chunks of the whole index among which those nearest to a claim are looked for: more where there are too few."""
_MIN_CLAUSE_WORDS = 3
"""A clause of fewer content words is read with the sentence around it."""
ClaimCheck: TypeAlias = Callable[[Sequence[CitedClaim], Sequence[tuple[str, ...]]], Sequence[bool | None]]
"""Judges claims, each against the pieces of evidence that it cites, of which all texts are given; None: undecided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedText:
    """A text whose citations have been checked."""

    text: str
    """Without the citations that were removed."""
    citations: tuple[Citation, ...]
    """In the order of the text, each sentence once per piece of evidence."""
    notes: tuple[str, ...]
    """What was removed, and why."""


def check_citations(
    text: str,
    evidence: Sequence[Evidence],
    index: Snapshot,
    *,
    question: str = "",
    decide: ClaimCheck | None = None,
) -> CheckedText:
    """Check the citations ``[n]`` that a model wrote, where `n` counts the evidence from 1.

    The claim is the clause before the marks, since the marks before it. It is held against the text of the evidence,
    as the model saw it, and the chunks behind it. A citation is removed if there is no such evidence; if it shares next
    to no content word with the claim, or far fewer than another piece; or if the evidence cited there does not contain
    a name or a number of the claim, or says the reverse. What the question says needs no support.

    Args:
        text: as the model wrote it.
        evidence: in the order of its numbers.
        index: the snapshot that it was retrieved from.
        question: that was answered.
        decide: judges claims against evidence in place of these rules, which remain for claims that it leaves
            undecided; a number without evidence is always removed.
    """
    shown = _ShownTexts(evidence, index, text)
    seen = [item.text for item in evidence]
    verdicts = judge_citations(text, shown, seen=seen, question=question, decide=decide)
    cited: dict[tuple[int, str, int], tuple[Chunk, int]] = {}
    marks: dict[tuple[int, str, int], list[int]] = {}
    notes: list[str] = []
    parts: list[str] = []
    end_of_last = 0
    for match, judged in verdicts:
        parts.append(text[end_of_last : match.start()])
        kept: list[int] = []
        for verdict in judged:
            found = None
            if not verdict.removed_because:
                item = evidence[verdict.n - 1]
                chunks = {chunk.id: chunk for chunk in shown.chunks_of(verdict.n - 1)}
                found = supporting_sentence(verdict.claim, item, chunks, min_support=0.0)
            if found is None:
                because = verdict.removed_because or "its passage is not in the index"
                notes.append(f"the citation [{verdict.n}] was removed: {because}")
                continue
            chunk, start, end = found
            key = (verdict.n, chunk.id, start)
            cited.setdefault(key, (chunk, end))
            offset = sum([len(part) for part in parts]) + 1 + sum([len(f"[{n}]") for n in kept])
            marks.setdefault(key, []).append(offset)
            kept.append(verdict.n)
        parts.append("".join([" ", *(f"[{n}]" for n in kept)]) if kept else "")
        end_of_last = match.end()
    parts.append(text[end_of_last:])
    whole = "".join(parts)
    indent = len(whole) - len(whole.lstrip())
    citations = [
        replace(
            cite(n, chunk, start, end, index.titles([chunk.document])),
            at=tuple(offset - indent for offset in marks[n, chunk_id, start]),
        )
        for (n, chunk_id, start), (chunk, end) in cited.items()
    ]
    if not citations:
        notes.append("no statement of this answer is supported by a citation that could be checked")
    return CheckedText(text=whole.strip(), citations=tuple(citations), notes=tuple(notes))


class _ShownTexts(Sequence[tuple[str, ...]]):
    """The texts of each piece of evidence: as the model saw it, and the chunks behind it, with their headings.

    They are read when they are asked for, since few pieces are cited. Of a piece that rests on many chunks, such as a
    report, those are read that a search by words finds for the claims that cite it, then the first ones.

    Args:
        evidence: in the order of its numbers.
        index: the snapshot that it was retrieved from.
        answer: with citations of the evidence.
    """

    def __init__(self, evidence: Sequence[Evidence], index: Snapshot, answer: str) -> None:
        self._evidence, self._index, self._answer = evidence, index, answer
        self._chunks: dict[int, list[Chunk]] = {}
        self._texts: dict[int, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._evidence)

    @overload
    def __getitem__(self, n: int) -> tuple[str, ...]: ...

    @overload
    def __getitem__(self, n: slice) -> Sequence[tuple[str, ...]]: ...

    def __getitem__(self, n: int | slice) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        if isinstance(n, slice):
            return [self[i] for i in range(*n.indices(len(self)))]
        if n not in self._texts:
            chunks = self.chunks_of(n)
            headings = self._index.headings([c.document for c in chunks])
            written = [with_heading(headings[c.document], c.text, c.metadata) for c in chunks]
            self._texts[n] = (self._evidence[n].text, *written)
        return self._texts[n]

    def chunks_of(self, n: int) -> list[Chunk]:
        """Return the chunks behind a piece of evidence, counted from 0, in the order of its spans."""
        if n not in self._chunks:
            wanted = list(dict.fromkeys(span.chunk for span in self._evidence[n].spans))
            if len(wanted) > _MAX_CHUNKS:
                wanted = self._nearest(n, wanted)
            found = {chunk.id: chunk for chunk in self._index.chunks_by_id(wanted)}
            self._chunks[n] = [found[id] for id in wanted if id in found]
        return self._chunks[n]

    def _nearest(self, n: int, ids: Sequence[str]) -> list[str]:
        claims = " ".join(c.claim for c in _claims_of(self._answer) if n + 1 in c.cited)
        behind = set(ids)
        found: list[str] = []
        for n_hits in _HITS if "lexical" in self._index.layers else ():
            hits = self._index.search_words(claims, n_hits)
            found = [id for id in self._index.chunk_ids([hit.n for hit in hits]) if id in behind]
            if len(found) >= _MAX_CHUNKS or len(hits) < n_hits:
                break
        kept = set(list(dict.fromkeys([*found, *ids]))[:_MAX_CHUNKS])
        return [id for id in ids if id in kept]


@dataclass(frozen=True, slots=True)
class CitationVerdict:
    """Whether one number of a citation is kept."""

    n: int
    """The evidence, counted from 1."""
    claim: str
    """The clause that it is cited for, or its sentence if the clause has next to no words."""
    removed_because: str = ""
    """Empty if it is kept."""
    clause: str = ""
    """The clause alone."""

    @property
    def asked(self) -> str:
        """What a model is asked about: the clause, with its sentence in brackets where it would not be understood."""
        alone = not self.clause or self.clause == self.claim
        return self.claim if alone else f"{self.clause} (in: {self.claim})"


def judge_citations(
    text: str,
    shown: Sequence[tuple[str, ...]],
    *,
    seen: Sequence[str] | None = None,
    question: str = "",
    decide: ClaimCheck | None = None,
) -> list[tuple[re.Match[str], tuple[CitationVerdict, ...]]]:
    """Judge each citation of a text against the texts of the evidence.

    Args:
        text: with citations ``[n]``.
        shown: all texts of each piece of evidence, in the order of their numbers.
        seen: what the model saw of each piece; the first of its texts by default.
        question: its names and numbers need no support.
        decide: as for `check_citations`.

    Returns:
        Each group of marks with a verdict for each distinct number in it, in the order of the text.
    """
    seen = [texts[0] for texts in shown] if seen is None else seen
    everything = cache(lambda: "\n".join(dict.fromkeys(seen)))
    judged = []
    for match, clause, claim, cited in _claims_of(text):
        wanted = set(content_stems(claim))
        there = [n for n in cited if 1 <= n <= len(shown)]
        # Pieces that are cited together share the claim: each supports a part of it.
        compared = tuple(
            dict.fromkeys(chain.from_iterable(_nearest_texts(wanted, shown[n - 1]) for n in there))
        )
        # A paraphrase may share no word with its passage; only another piece with its words speaks against it.
        others = (item for n, item in enumerate(seen, 1) if n not in there)
        is_neighbour = bool(there) and _has_clearly_more(others, wanted, compared)
        against = (
            ""
            if is_neighbour or not there
            else contradiction(clause or claim, *compared, given=question, elsewhere=everything)
        )
        verdicts = []
        for n in cited:
            because = ""
            if n not in there:
                because = "there is no such evidence"
            elif is_neighbour:
                because = f"its passage does not support “{shorten(claim, _NOTED)}”"
            elif against:
                because = f"its passage does not support {against} in “{shorten(claim, _NOTED)}”"
            verdicts.append(CitationVerdict(n, claim, because, clause))
        judged.append((match, tuple(verdicts)))
    return judged if decide is None else _decided(judged, shown, decide)


def _has_clearly_more(others: Iterable[str], wanted: Collection[str], compared: Iterable[str]) -> bool:
    """Return whether one of some other texts has clearly more words of a claim than all texts that it is compared with.

    Args:
        others: each for itself.
        wanted: the stems of the claim.
        compared: taken together.
    """
    clearly = _NEIGHBOUR_SUPPORT * len(wanted)
    missing = set(wanted)
    for text in compared:
        missing -= content_stem_set(text)
        # So few that no text can have clearly more, as for most claims.
        if len(missing) <= clearly:
            return False
    least = len(wanted) - len(missing) + clearly
    parts = _longest_first(roots(wanted))
    return any(
        _n_shared(parts, text, least) > least and len(content_stem_set(text).intersection(wanted)) > least
        for text in others
    )


def _longest_first(parts: Iterable[str]) -> list[str]:
    """Return the roots of some words, those first that most texts lack."""
    return sorted(parts, key=len, reverse=True)


def _n_shared(parts: Sequence[str], text: str, least: float) -> int:
    """Return how many of the roots of some words a text has, and 0 as soon as it has no more than `least`.

    It has no more of the words, which take longer to find.
    """
    folded, n = casefolded(text), len(parts)
    for part in parts:
        if part not in folded:
            n -= 1
            if n <= least:
                return 0
    return n


def _decided(
    verdicts: Sequence[tuple[re.Match[str], tuple[CitationVerdict, ...]]],
    shown: Sequence[tuple[str, ...]],
    decide: ClaimCheck,
) -> list[tuple[re.Match[str], tuple[CitationVerdict, ...]]]:
    """Return the verdicts with those of `decide` on all claims that cite evidence."""
    cited = [tuple(sorted(v.n for v in judged if 1 <= v.n <= len(shown))) for _, judged in verdicts]
    positions = [i for i, numbers in enumerate(cited) if numbers]
    claims = [CitedClaim(verdicts[i][1][0].asked, cited[i]) for i in positions]
    decided = dict(zip(positions, decide(claims, shown) if claims else (), strict=True))
    return [
        (
            match,
            judged if (supported := decided.get(i)) is None else _with_verdict(judged, cited[i], supported),
        )
        for i, (match, judged) in enumerate(verdicts)
    ]


def _with_verdict(
    judged: Sequence[CitationVerdict], numbers: Sequence[int], supported: bool
) -> tuple[CitationVerdict, ...]:
    """Return the verdicts of one claim, where those on some numbers are a model's."""
    because = (
        ""
        if supported
        else f"by the check of a model, its passage does not say “{shorten(judged[0].claim, _NOTED)}”"
    )
    return tuple(replace(v, removed_because=because) if v.n in numbers else v for v in judged)


class _Claim(NamedTuple):
    """What an answer cites evidence for."""

    match: re.Match[str]
    """The marks."""
    clause: str
    claim: str
    cited: tuple[int, ...]
    """The distinct numbers, in their order."""


# The passages behind evidence are chosen for the claims before these are judged.
@lru_cache(maxsize=8)
def _claims_of(text: str) -> tuple[_Claim, ...]:
    """Return the claims of an answer before its citations, in order."""
    claims, end = list[_Claim](), 0
    for match in _CITATIONS.finditer(text):
        clause, claim = _claim_before(text[: match.start()], since=end)
        cited = cited_numbers(match.group())
        claims.append(_Claim(match, clause, claim, cited))
        end = match.end()
    return tuple(claims)


def _nearest_texts(wanted: Collection[str], texts: Sequence[str]) -> Sequence[str]:
    """Return the first text of a piece of evidence, and of the others those nearest to a claim, in their order.

    They are those with the most words of the claim, and with one word less. In the others, words that the claim changed
    stand by chance: with them, fewer wrong claims are found, and no more correct ones kept.

    Args:
        wanted: the stems of the claim.
        texts: of the piece.
    """
    if len(texts) <= 2:
        return texts
    parts = _longest_first(roots(wanted))
    most = 0
    shared: dict[int, int] = {}
    for i, text in enumerate(texts[1:], 1):
        shared[i] = _n_shared(parts, text, most - 2)
        most = max(most, shared[i])
    order = sorted(shared, key=lambda i: -shared[i])
    nearest = [i for i in order[:_MAX_COMPARED] if shared[i] >= most - 1]
    return [texts[0], *(texts[i] for i in sorted(nearest))]


def _claim_before(text: str, *, since: int) -> tuple[str, str]:
    """Return the last clause of a text, and the claim that it makes.

    The clause is what stands after position `since` in the last sentence. The claim is the clause, or its sentence
    without citations if the clause has next to no content words; its names and numbers may then belong to the
    citations before.
    """
    since = max(since, len(text) - _CLAIM_CHARACTERS)
    clause = _last_sentence(text[since:]).lstrip(" ,;.:)")
    if len(content_stems(clause)) >= _MIN_CLAUSE_WORDS:
        return clause, clause
    return clause, _last_sentence(_CITATIONS.sub("", text[-_CLAIM_CHARACTERS:]))


def _last_sentence(text: str) -> str:
    spans = sentence_spans(text)
    return text[spans[-1][0] : spans[-1][1]] if spans else ""
