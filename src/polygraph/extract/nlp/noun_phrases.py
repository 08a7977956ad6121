"""Noun phrases as entities: the extraction of Microsoft GraphRAG's fast indexing (METHODS 5.2), with no model calls.

A window gives the noun phrases that stand in it, and no relations: that two phrases stand in one chunk is plain from
where they stand, and what it is worth depends on the whole corpus, so edges are made when the graph is
(`polygraph.graph.cooccurrence`).

Phrases are found by a regular pattern over parts of speech, runs of adjectives, nouns and names that end in a
noun or name, not by the parser's noun chunks: tagging takes about a third of the time of parsing, and the pattern
leaves out pronouns, determiners and possessors, which noun chunks hold and which would have to be cut off again.
Rules over bare words, with no tagger at all, take verbs for nouns; they serve where the tagger is not installed, and
for other languages: names by capitals and recurring phrases, as in `polygraph.extract.nlp.keyword_extractor`.
"""

from collections.abc import Callable, Iterator, Sequence

from polygraph.extract.nlp import dependency_trees
from polygraph.extract.nlp import extractor as nlp
from polygraph.extract.nlp.keyword_extractor import read_plain
from polygraph.extract.nlp.paragraphs import Block, blocks
from polygraph.extract.nlp.row_builder import Draft
from polygraph.extract.nlp.workers import Outcome, Task
from polygraph.records import Extraction, Window

VERSION = 1
"""Raised whenever the same text would give other rows."""

MAX_WORD = 15
"""Characters; a longer word ends a phrase and is no part of one (Microsoft's `max_word_length`)."""
MAX_WORDS = 8
"""A longer run is a list or a table and no phrase."""

_HEADS = frozenset({"NOUN", "PROPN"})
_PARTS = _HEADS | {"ADJ"}
_HYPHENS = frozenset("-‐‑")


def extract(
    windows: Sequence[Window],
    *,
    language: str = "en",
    processes: int = 0,
    on_done: Callable[[int], None] | None = None,
    notes: list[str] | None = None,
) -> Iterator[Extraction]:
    """Read the noun phrases of windows; arguments, order and failures as for `extractor.extract`."""
    yield from nlp.extract(
        windows, language=language, processes=processes, on_done=on_done, reader=read_phrases
    )
    if notes is not None:
        notes += _warnings(windows, language)


def identity() -> str:
    """Name this extractor by all that decides its rows: its own version and the tagger's."""
    return f"fast:{VERSION}:{'en_core_web_sm-3.8.0' if dependency_trees.installed() else 'capitals'}"


def read_phrases(tasks: Sequence[Task]) -> list[Outcome]:
    """Read texts, in whichever process: what `polygraph.extract.nlp.workers.read` is to the other extractor.

    Args:
        tasks: text, language code and title of the document.

    Returns:
        Per text its entities, no relations, and what went wrong, if anything did.
    """
    tagged = dependency_trees.installed()
    outcomes: list[Outcome] = []
    for text, language, title in tasks:
        draft = Draft()
        try:
            if language == "en" and tagged:
                found = blocks(text)
                for block, tokens in zip(
                    found, dependency_trees.tag(block.text for block in found), strict=True
                ):
                    _take(draft, text, block, tokens)
            else:
                read_plain(draft, text, language, title)
            entities, _ = draft.rows(len(text))
            outcomes.append([[(name, "", "", places) for name, _, _, places in entities], [], ""])
        except Exception as error:  # the edge of a process: one odd text must not end the build
            outcomes.append([[], [], f"{type(error).__name__}: {error}"[:300]])
    return outcomes


def _take(draft: Draft, text: str, block: Block, tokens: Sequence[tuple[int, int, str]]) -> None:
    for start, end, named in phrases(block.text, tokens):
        place = block.origin(start), block.origin_end(end)
        draft.mention(" ".join(text[place[0] : place[1]].split()), "", place, "", named=named)


def phrases(text: str, tokens: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, bool]]:
    """Find the noun phrases that are worth keeping.

    A phrase is a run of adjectives, nouns and names, hyphens between them, that ends in a noun or name. It is kept if
    it has a name, more than one word, or a hyphen.

    Args:
        text: a block.
        tokens: start, end and universal part of speech of each token, in order.

    Returns:
        Start, end, and whether it has a name, in order.

    >>> text = "The old sailor saw a light-ship near Dover harbour and the sea."
    >>> pos = "DET ADJ NOUN VERB DET NOUN PUNCT NOUN ADP PROPN NOUN CCONJ DET NOUN PUNCT".split()
    >>> words = "The old sailor saw a light - ship near Dover harbour and the sea .".split()
    >>> tokens, at = [], 0
    >>> for word, kind in zip(words, pos):
    ...     at = text.index(word, at)
    ...     tokens.append((at, at := at + len(word), kind))
    >>> [text[a:b] for a, b, _ in phrases(text, tokens)]
    ['old sailor', 'light-ship', 'Dover harbour']
    """
    found: list[tuple[int, int, bool]] = []
    run: list[int] = []
    for i, (start, end, pos) in enumerate(tokens):
        hyphen = end - start == 1 and text[start] in _HYPHENS and bool(run) and tokens[i - 1][1] == start
        word = pos in _PARTS and end - start <= MAX_WORD and any(map(str.isalnum, text[start:end]))
        if hyphen or word:
            run.append(i)
        else:
            _close(found, text, tokens, run)
            run = []
    _close(found, text, tokens, run)
    return found


def _close(
    found: list[tuple[int, int, bool]], text: str, tokens: Sequence[tuple[int, int, str]], run: list[int]
) -> None:
    while run and tokens[run[-1]][2] not in _HEADS:
        run.pop()
    words = [i for i in run if text[tokens[i][0]] not in _HYPHENS]
    if not words or len(words) > MAX_WORDS:
        return
    start, end = tokens[run[0]][0], tokens[run[-1]][1]
    named = any(tokens[i][2] == "PROPN" for i in words)
    if named or len(words) > 1 or any(c in _HYPHENS for c in text[start:end]):
        found.append((start, end, named))


def _warnings(windows: Sequence[Window], language: str) -> list[str]:
    found = []
    if windows and not dependency_trees.installed():
        found.append(
            "the tagger of English is not installed: names by capitals and recurring phrases stand in for noun "
            'phrases. Install it with: pip install "polygraph-rag[local]"'
        )
    codes = set(nlp.window_languages(windows, language)) - {"en"}
    if codes:
        found.append(
            f"some documents are not English ({', '.join(sorted(codes))}): names by capitals and recurring phrases "
            "stand in for noun phrases"
        )
    return found
