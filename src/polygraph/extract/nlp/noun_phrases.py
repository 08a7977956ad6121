"""Noun phrases as entities: the extraction of Microsoft GraphRAG's fast indexing, without model calls.

The result has the noun phrases of each window and no relations. Co-occurrence in a chunk follows from the positions of
the phrases, and its weight depends on the whole corpus, so edges are computed with the graph
(`polygraph.graph.cooccurrence`).

A phrase is a run of adjectives, nouns and names that ends in a noun or name, found by part-of-speech tags, not by the
parser's noun chunks. Tagging takes about a third of the time of parsing, and noun chunks contain pronouns, determiners
and possessors that would have to be removed. Other languages, and all texts if the tagger is not installed, give
names by capitals and recurring phrases, as in `polygraph.extract.nlp.keyword_extractor`.
"""

from collections.abc import Callable, Iterator, Sequence

from polygraph.execution.protocol import Executor
from polygraph.extract.nlp import dependency_trees, extractor
from polygraph.extract.nlp.keyword_extractor import extract_keywords
from polygraph.extract.nlp.paragraphs import Paragraph, split_paragraphs
from polygraph.extract.nlp.row_builder import RowBuilder
from polygraph.extract.nlp.workers import Outcome, Task
from polygraph.records import Extraction, Window

VERSION = 6
"""Incremented whenever the same text would give different rows."""

MAX_WORD = 15
"""Characters of a word; a longer word ends a phrase and is not part of it (Microsoft's `max_word_length`)."""
MAX_WORDS = 8
"""Words of a phrase; a longer run is a list or a table."""

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
    executor: Executor | None = None,
) -> Iterator[Extraction]:
    """Extract the noun phrases of windows; arguments, order and failures as in `extractor.extract`."""
    yield from extractor.extract(
        windows,
        language=language,
        processes=processes,
        on_done=on_done,
        extract_batch=extract_noun_phrases,
        executor=executor,
    )
    if notes is not None:
        notes += _warnings(windows, language)


def identity() -> str:
    """Return the identity of this extractor: its version and the tagger's, which together determine the rows."""
    return f"fast:{VERSION}:{'en_core_web_sm-3.8.0' if dependency_trees.installed() else 'capitals'}"


def extract_noun_phrases(tasks: Sequence[Task]) -> list[Outcome]:
    """Extract the noun phrases of texts; the counterpart of `polygraph.extract.nlp.workers.extract_texts`.

    Args:
        tasks: text, language code and title of the document.

    Returns:
        One outcome per text, with entities and without relations.
    """
    has_tagger = dependency_trees.installed()
    outcomes: list[Outcome] = []
    for text, language, title in tasks:
        builder = RowBuilder(text, language)
        try:
            if language == "en" and has_tagger:
                paragraphs = split_paragraphs(text)
                tagged = dependency_trees.tag(paragraph.text for paragraph in paragraphs)
                for paragraph, tokens in zip(paragraphs, tagged, strict=True):
                    _add_phrases(builder, text, paragraph, tokens)
            else:
                extract_keywords(builder, text, language, title)
            entities, _ = builder.rows(len(text))
            outcomes.append([[(name, "", "", spans) for name, _, _, spans in entities], [], ""])
        except Exception as error:  # top level of a process: one odd text must not abort the build
            outcomes.append([[], [], f"{type(error).__name__}: {error}"[:300]])
    return outcomes


def _add_phrases(
    builder: RowBuilder, text: str, paragraph: Paragraph, tokens: Sequence[tuple[int, int, str]]
) -> None:
    for start, end, has_name in noun_phrase_spans(paragraph.text, tokens):
        span = paragraph.origin(start), paragraph.origin_end(end)
        builder.add_mention(" ".join(text[span[0] : span[1]].split()), "", span, "", is_name=has_name)


def noun_phrase_spans(text: str, tokens: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, bool]]:
    """Find the informative noun phrases of a paragraph.

    A phrase is a run of adjectives, nouns, names and hyphens that ends in a noun or name. It is kept if it has a
    name, more than one word, or a hyphen.

    Args:
        text: of the paragraph.
        tokens: start, end and universal part of speech of each token, in order.

    Returns:
        Start, end, and whether the phrase has a name, in order.

    >>> text = "The old sailor saw a light-ship near Dover harbour and the sea."
    >>> pos = "DET ADJ NOUN VERB DET NOUN PUNCT NOUN ADP PROPN NOUN CCONJ DET NOUN PUNCT".split()
    >>> words = "The old sailor saw a light - ship near Dover harbour and the sea .".split()
    >>> tokens, at = [], 0
    >>> for word, kind in zip(words, pos):
    ...     at = text.index(word, at)
    ...     tokens.append((at, at := at + len(word), kind))
    >>> [text[a:b] for a, b, _ in noun_phrase_spans(text, tokens)]
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
            _add_run(found, text, tokens, run)
            run = []
    _add_run(found, text, tokens, run)
    return found


def _add_run(
    found: list[tuple[int, int, bool]], text: str, tokens: Sequence[tuple[int, int, str]], run: list[int]
) -> None:
    while run and tokens[run[-1]][2] not in _HEADS:
        run.pop()
    words = [i for i in run if text[tokens[i][0]] not in _HYPHENS]
    if not words or len(words) > MAX_WORDS:
        return
    start, end = tokens[run[0]][0], tokens[run[-1]][1]
    has_name = any(tokens[i][2] == "PROPN" for i in words)
    if has_name or len(words) > 1 or any(c in _HYPHENS for c in text[start:end]):
        found.append((start, end, has_name))


def _warnings(windows: Sequence[Window], language: str) -> list[str]:
    found = []
    if windows and not dependency_trees.installed():
        found.append(
            "the tagger of English is not installed: names by capitals and recurring phrases are used instead of noun "
            'phrases. Install it with: pip install "polygraph-rag[local]"'
        )
    codes = set(extractor.window_languages(windows, language)) - {"en"}
    if codes:
        found.append(
            f"some documents are not English ({', '.join(sorted(codes))}): names by capitals and recurring phrases "
            "are used instead of noun phrases"
        )
    return found
