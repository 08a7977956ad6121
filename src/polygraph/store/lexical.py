"""BM25 over chunks (tantivy); text is split into words by rules that depend on the script.

Words are reduced to stems by the rules of their document's language. Since a question can be too short to show its
language, its words are looked for by the rules of every language of the index.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.store.atomic_files import write_folder
from polygraph.store.kept_rows import KeptRows
from polygraph.store.vectors import Hit
from polygraph.text.language import detect_question_language
from polygraph.text.snowball import STEMMED_LANGUAGES, content_words, stems_of

ANALYSER = "words-cjk2-snowball-2"
"""Name of the rules that turn text into terms; a change makes the layer stale."""
TITLE_WEIGHT = 0.5
"""Weight of a match in the document's title; a match in the chunk's text has weight 1."""

_LANGUAGES = "languages.json"
"""Name of the file with the languages by whose rules words were stemmed."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
_GENITIVE = ("'s", "’s")
_ASCII = str.maketrans({c: c.lower() if c.isalnum() or c == "'" else " " for c in map(chr, range(128))})
"""Letters in lower case, digits and apostrophes as they are, anything else a space."""
_MAX_TERMS = 256
"""Distinct terms of a question that are searched; no real question has more."""
_NUMBERS_KEPT = 50_000
"""Chunks whose rows are kept in memory by where the index has them: reading one takes as long as scoring many."""
_HEAP_BYTES = 32_000_000
"""Memory of the writer; ranks and scores do not depend on the number of segments that it writes."""


def terms(text: str) -> list[str]:
    """Split a text into lower-case words, and runs of Chinese, Japanese or Korean characters into pairs.

    >>> terms("The Halcyon's log, 1871: 天文台")
    ['the', 'halcyon', 'log', '1871', '天文', '文台']
    """
    plain = text.isascii()
    # A faster way for the usual text: splitting words is most of the cost of the layer.
    words = _ascii_words(text) if plain else _WORD.findall(text.casefold())
    if plain and "'" not in text:
        return words
    if plain or _CJK.search(text) is None:
        return [word[:-2] if word[-2:] in _GENITIVE else word for word in words]
    found: list[str] = []
    for word in words:
        at = 0
        for run in _CJK.finditer(word):
            if run.start() > at:
                found.append(word[at : run.start()])
            pair = run.group()
            found += [pair[i : i + 2] for i in range(len(pair) - 1)] or [pair]
            at = run.end()
        if at < len(word):
            tail = word[at:]
            found.append(tail[:-2] if tail[-2:] in _GENITIVE else tail)
    return found


def _ascii_words(text: str) -> list[str]:
    """Return what `_WORD` finds in a text of ASCII characters."""
    words = text.translate(_ASCII).split()
    if "'" not in text:
        return words
    return [part for word in words for part in (_WORD.findall(word) if "'" in word else (word,))]


def _stems(words: list[str], language: str) -> list[str]:
    """Return words as they are written to the index, which stems those of English itself."""
    return words if language == "en" else stems_of(words, language)


def _stemmed(text: str, language: str) -> str:
    return " ".join(_stems(terms(text), language))


def _forms(word: str, languages: Iterable[str]) -> Iterable[str]:
    """Return what a word is written as by the rules of some languages, each distinct term once."""
    stems = [stem for language in languages for stem in _stems([word], language)]
    return {term: stem for stem in stems for term in stems_of([stem], "en")}.values()


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("n", stored=True)
    for field in ("text", "title"):
        builder.add_text_field(field, stored=False, tokenizer_name=ANALYSER, index_option="freq")
    return builder.build()


def _register(index: Any) -> None:
    import tantivy

    # Terms arrive split and joined by spaces; here English words are stemmed. Stems of other languages pass through the
    # same rules, in texts and questions alike.
    analyser = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        .filter(tantivy.Filter.remove_long(80))
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )
    index.register_tokenizer(ANALYSER, analyser)


class LexicalIndex:
    """A BM25 index of chunks. Scores are those of tantivy (k1 = 1.2, b = 0.75)."""

    def __init__(self, index: Any, languages: Sequence[str], place: object = None) -> None:
        self._place = place  # a temporary folder, kept as long as its files are in use
        self._languages = languages
        _register(index)
        self._index = index
        self._searcher = index.searcher()
        self._numbers = KeptRows[tuple[int, int], int](_NUMBERS_KEPT)

    @classmethod
    def open(cls, folder: Path) -> "LexicalIndex":
        """Open a saved index."""
        import tantivy

        languages = json.loads((folder / _LANGUAGES).read_text(encoding="utf-8"))
        if os.access(folder, os.W_OK):
            return cls(tantivy.Index.open(str(folder)), languages)
        # The library locks the folder that it reads by creating a file in it.
        place = tempfile.TemporaryDirectory(prefix="polygraph-", ignore_cleanup_errors=True)
        for file in folder.iterdir():
            if file.suffix != ".lock":
                _link_or_copy(file, Path(place.name) / file.name)
        return cls(tantivy.Index.open(place.name), languages, place)

    @staticmethod
    def save(
        folder: Path, rows: Iterable[tuple[int, str, str]], languages: Iterable[str] | None = None
    ) -> None:
        """Build an index and write it atomically.

        Args:
            folder: where it is written.
            rows: ``(n, title, text)`` of each chunk.
            languages: ISO 639-1 code of each chunk, in the same order; default: all are English. Words of languages
                without a stemmer are stemmed by the rules of English.
        """
        import tantivy

        def fill(place: Path) -> None:
            index = tantivy.Index(_schema(), path=str(place))
            _register(index)
            # One thread: the same rows give the same segments.
            writer = index.writer(_HEAP_BYTES, 1)
            used = set[str]()
            for (n, title, text), language in zip(rows, languages or repeat("en"), strict=False):
                used.add(known := language if language in STEMMED_LANGUAGES else "en")
                fields = {"text": _stemmed(text, known), "title": _stemmed(title, known)}
                writer.add_document(
                    tantivy.Document(n=[n], **{name: [each] for name, each in fields.items()})
                )
            writer.commit()
            writer.wait_merging_threads()
            (place / _LANGUAGES).write_text(json.dumps(sorted(used)), encoding="utf-8")

        write_folder(folder, fill, sealed=True)

    def search(self, question: str, k: int, allowed: NDArray[np.bool_] | None = None) -> list[Hit]:
        """Return the `k` best chunks, score descending, then row; chunks that share no word are left out.

        Args:
            question: any text; every distinct word counts, none is required.
            k: most results.
            allowed: which rows may be returned, shape ``(n_chunks,)``; None for all.
        """
        query = self._query(question)
        total = self._searcher.num_docs
        if query is None or k <= 0 or not total:
            return []
        # Ties at the cut-off and rows that are not allowed need a longer list: ask for more until it is long enough.
        limit = min(total, max(2 * k, k + 32))
        while True:
            found = self._searcher.search(query, limit, count=False).hits
            scores = [round(float(score), 4) for score, _ in found]
            complete = limit >= total or len(found) < limit
            # Without a filter, what scores less than the k-th is not read.
            last = k if allowed is None else len(found)
            while last < len(found) and scores[last] == scores[k - 1]:
                last += 1
            hits = self._hits(found[:last], scores)
            usable = hits if allowed is None else [hit for hit in hits if allowed[hit.n]]
            if complete or (len(usable) >= k and usable[k - 1].score > scores[-1]):
                return sorted(usable, key=lambda hit: (-hit.score, hit.n))[:k]
            limit = min(total, 4 * limit)

    def _hits(self, found: Sequence[tuple[float, Any]], scores: Sequence[float]) -> list[Hit]:
        addresses = {(address.segment_ord, address.doc): address for _, address in found}

        def read(places: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
            return {place: int(self._searcher.doc(addresses[place])["n"][0]) for place in places}

        numbers = self._numbers.read(addresses, read)
        return [Hit(n, score) for n, score in zip(numbers.values(), scores, strict=False)]

    def _query(self, question: str) -> Any:
        import tantivy

        words = terms(question)
        # Where few documents are in the language of the question, its function words are rare.
        if (asked := detect_question_language(question)) in STEMMED_LANGUAGES - {"en"}:
            words = content_words(words, asked) or words
        words = list(dict.fromkeys(words))[:_MAX_TERMS]
        if not words:
            return None
        joined = " ".join(form for word in words for form in _forms(word, self._languages))
        parts = []
        for field, weight in (("text", 1.0), ("title", TITLE_WEIGHT)):
            query = self._index.parse_query(_escape(joined), [field])
            parts.append((tantivy.Occur.Should, tantivy.Query.boost_query(query, weight)))
        return tantivy.Query.boolean_query(parts)


def _link_or_copy(file: Path, target: Path) -> None:
    try:
        target.symlink_to(file.resolve())
    except OSError:  # on Windows links need a privilege
        shutil.copyfile(file, target)


def _escape(words: str) -> str:
    # Terms are letters, digits and apostrophes only; quoting each keeps AND, OR, NOT and IN plain words.
    return " ".join(f'"{word}"' for word in words.replace('"', "").split())
