"""Chains of sentences: what the question names, and then what that sentence names.

"Where was the director of the film born?" has its answer in a sentence that shares few words with the question. The
sentence that the question leads to names the director, and the passage on the director says where.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from polygraph.tasks.offline.sentences import (
    CAPITALISED,
    MAIL_HEADER,
    ROW,
    Candidate,
    share_text,
)
from polygraph.text.quantities import is_time
from polygraph.text.words import content_stem_set, question_names, words

MAX_LOSS = 2.0
"""How much lower than the better of its sentences the cross-encoder may rate two that a title links. The link itself
says that they belong together."""
_ROW_GAIN = 2.0
"""How much higher the cross-encoder must rate a row of a table with a sentence that a name links to it than the row
alone: it rates a row higher with any sentence of prose behind it."""
_MAX_DOCUMENTS = 3
"""A name that is no title links sentences only if so few of the documents hold it."""
_MIN_CHARACTERS = 4
"""Fewest characters of a title or name that links."""
_TRIED = 3
"""Sentences of the passage that a link leads to, the likeliest first."""
_MAX_PAIRS = 8
"""Pairs that the cross-encoder reads for one sentence."""
_PRONOUN = re.compile(r"\b(?:he|she|it|they|his|her|its|their|him|them)\b", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\s*\([^)]*\)")

Read = Callable[[list[str]], Sequence[float]]
"""Gives the cross-encoder's logit of each text, as an answer to the question."""


def chain_sentences(
    question: str,
    candidates: Sequence[Candidate],
    chosen: Sequence[int],
    likely: Sequence[float],
    logits: Mapping[int, float],
    read: Read | None,
    n_chains: int,
) -> list[int]:
    """Put beside a chosen sentence the one that a title or name links it to, in the order of reading.

    A sentence that names the title of another passage comes before a sentence of that passage; before a chosen one,
    only if it holds a word of the question that the chosen one and its context do not, or if that one holds a pronoun
    that may stand for its title. Where no title links, a name in few documents does, but only if both sentences
    together answer better than the better one alone. What the question names itself links nothing.

    Args:
        question: any text.
        candidates: sentences.
        chosen: positions in `candidates`, best first.
        likely: score of each candidate without the cross-encoder.
        logits: of the candidates that the cross-encoder read.
        read: None without a cross-encoder; the likeliest sentence below a linked title is then taken.
        n_chains: most chains.

    Returns:
        Positions in `candidates`: each sentence of `chosen` that no chain contains, and the pairs, in the order of
        `chosen`.
    """
    texts = _Texts(question, candidates, likely)
    found: list[int] = []
    for start in chosen:
        if start in found:
            continue
        pair = _best_pair(texts, start, logits, read) if n_chains else None
        n_chains -= pair is not None
        found += [i for i in pair or (start,) if i not in found]
    return found


def without_overlaps(candidates: Sequence[Candidate], positions: Sequence[int]) -> list[int]:
    """Leave out each sentence that overlaps an earlier one in its document."""
    kept: list[int] = []
    for i in positions:
        if not any(share_text(candidates[i].quoted.span, candidates[j].quoted.span) for j in kept):
            kept.append(i)
    return kept


class _Texts:
    """Sentences and titles as lines of words, in which whole names are found."""

    def __init__(self, question: str, candidates: Sequence[Candidate], likely: Sequence[float]) -> None:
        self.candidates, self.likely = candidates, likely
        self.asked = _line(question)
        self._wanted = content_stem_set(question)
        self.lines = [_line(c.quoted.text) for c in candidates]
        self.titles = [_line(_IN_BRACKETS.sub("", c.title)) for c in candidates]
        self.below: dict[str, list[int]] = {}
        """Sentences by the title of their passage."""
        for i, title in enumerate(self.titles):
            self.below.setdefault(title, []).append(i)

    def links(self, name: str) -> bool:
        """Tell whether a name may link sentences: it has some length, and the question does not hold it."""
        return len(name) >= _MIN_CHARACTERS + 2 and name not in self.asked

    def leads_to(self, i: int, below: int) -> bool:
        """Tell whether a sentence names the title of another, and is of use before it.

        It is if it holds a word of the question that the other and its context lack, or if the other may speak of its
        title as "she" or "it".
        """
        missing = self._wanted - self.candidates[below].terms
        is_of_use = not missing.isdisjoint(content_stem_set(self.candidates[i].quoted.text)) or bool(
            _PRONOUN.search(self.candidates[below].quoted.text)
        )
        return is_of_use and self.names(i, below)

    def names(self, i: int, below: int) -> bool:
        """Tell whether a sentence holds the title of another.

        A title of one word must stand there as it is written: "Composer" is no name where somebody is a composer.
        """
        title = self.titles[below]
        is_one_word = title.count(" ") == 2
        written = _IN_BRACKETS.sub("", self.candidates[below].title).strip()
        return title in self.lines[i] and (not is_one_word or written in self.candidates[i].quoted.text)

    def says_nothing(self, i: int) -> bool:
        """Tell whether a sentence is a line of the head of a mail, or only a name."""
        text = self.candidates[i].quoted.text
        return MAIL_HEADER.match(text) is not None or CAPITALISED.fullmatch(text.rstrip(".")) is not None

    def likeliest(self, positions: Sequence[int]) -> list[int]:
        """Return the few that are most likely to answer, ties by position."""
        return sorted(positions, key=lambda i: (-self.likely[i], i))[:_TRIED]


def _best_pair(
    texts: _Texts, start: int, logits: Mapping[int, float], read: Read | None
) -> tuple[int, int] | None:
    pairs, loss = _pairs_by_title(texts, start), MAX_LOSS
    if read is None:
        return pairs[0] if pairs else None
    if not pairs:
        is_row = ROW.match(texts.candidates[start].quoted.text) is not None
        pairs, loss = _pairs_by_name(texts, start), -_ROW_GAIN if is_row else 0.0
    if not pairs:
        return None
    spoken = [f"{texts.candidates[a].quoted.text} {texts.candidates[b].quoted.text}" for a, b in pairs]
    rated = read(spoken)
    best = max(range(len(pairs)), key=lambda n: (rated[n], -n))
    alone = max(logits.get(i, float("-inf")) for i in pairs[best])
    return pairs[best] if rated[best] >= alone - loss else None


def _pairs_by_title(texts: _Texts, start: int) -> list[tuple[int, int]]:
    """Return pairs of a sentence that holds a title and a sentence below this title; one of both is `start`."""
    pairs = []
    own = texts.titles[start]
    for title, below in texts.below.items():
        if title != own and texts.links(title) and texts.names(start, below[0]):
            pairs += [(start, i) for i in texts.likeliest(below)]
    if texts.links(own):
        above = [i for i, title in enumerate(texts.titles) if title != own and texts.leads_to(i, start)]
        pairs += [(i, start) for i in texts.likeliest(above)]
    return _distinct(texts, pairs)


def _pairs_by_name(texts: _Texts, start: int) -> list[tuple[int, int]]:
    """Return pairs of `start` and a sentence of another document that holds a name of it."""
    pairs = []
    document = texts.candidates[start].quoted.span.document
    text = texts.candidates[start].quoted.text
    if ROW.match(text):
        # The names of columns are no names.
        text = " x ".join(cell.partition(": ")[2] for cell in text.split("; "))
    # A first word is capitalised whatever it is; behind another word, it counts if it is no stop word.
    for name in question_names(f"x {text}"):
        line = _line(name)
        if is_time(name) or not texts.links(line):
            continue
        holds = [i for i, text in enumerate(texts.lines) if line in text and not texts.says_nothing(i)]
        documents = {texts.candidates[i].quoted.span.document for i in holds}
        if len(documents) <= _MAX_DOCUMENTS:
            others = [i for i in holds if texts.candidates[i].quoted.span.document != document]
            pairs += [(start, i) for i in texts.likeliest(others)]
    return _distinct(texts, pairs)


def _distinct(texts: _Texts, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    spans = [c.quoted.span for c in texts.candidates]
    return [pair for pair in dict.fromkeys(pairs) if not share_text(spans[pair[0]], spans[pair[1]])][
        :_MAX_PAIRS
    ]


def _line(text: str) -> str:
    return f" {' '.join(words(text))} "
