"""Reading of training rows."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, get_args

from polygraph.errors import BadInput, quoted
from polygraph.records import ReaderForm

TRAIN_FILE, HELD_OUT_FILE = "train.jsonl", "held-out.jsonl"
MAX_ROW_BYTES = 4 << 20
"""A longer line is no row."""
Turn: TypeAlias = Mapping[str, str]
"""With `role` and `content`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRow:
    """A conversation whose last turn is learned."""

    file: str
    line: int
    """From 1."""
    turns: tuple[Turn, ...]
    """The last one is the assistant's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFiles:
    """The rows of a folder."""

    train: tuple[ChatRow, ...]
    held_out: tuple[ChatRow, ...]
    sha256: str
    """SHA-256 of both files."""


def read_rows(folder: Path) -> RowFiles:
    """Read `train.jsonl`, which must have rows, and `held-out.jsonl`, which may be absent.

    Raises:
        BadInput: if there is no such folder or file, or a line is not a row; the message names the line.
    """
    if not (folder / TRAIN_FILE).is_file():
        raise BadInput(
            f"{folder} has no {TRAIN_FILE}. Make rows with: polygraph finetune data --output {quoted(folder)}"
        )
    sha = hashlib.sha256()
    train = _read(folder / TRAIN_FILE, sha)
    held_out = _read(folder / HELD_OUT_FILE, sha) if (folder / HELD_OUT_FILE).is_file() else ()
    if not train:
        raise BadInput(
            f"{folder / TRAIN_FILE} has no rows. Make them with: polygraph finetune data --output {quoted(folder)}"
        )
    return RowFiles(train=train, held_out=held_out, sha256=sha.hexdigest())


def form_of(rows: Sequence[ChatRow]) -> ReaderForm | None:
    """Return the form of the replies that the instruction of every row asks for; None if rows differ or it is another.

    A tuned reader is later asked in the words of this form.
    """
    found = {row.turns[0]["content"].partition("\n")[0] for row in rows if row.turns[0]["role"] == "system"}
    complete = all(row.turns[0]["role"] == "system" for row in rows)
    return next((form for form in get_args(ReaderForm) if complete and found == {f"Task: {form}"}), None)


def _read(path: Path, sha: Any) -> tuple[ChatRow, ...]:
    rows = []
    try:
        with path.open("rb") as lines:
            n = 0
            while line := lines.readline(MAX_ROW_BYTES + 1):
                n += 1
                if len(line) > MAX_ROW_BYTES:
                    raise BadInput(
                        f"{path}, line {n}: it has more than {MAX_ROW_BYTES:,} bytes. Make shorter rows"
                    )
                sha.update(line)
                if line.strip():
                    rows.append(_row(path, n, line))
        sha.update(b"\0")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from error
    return tuple(rows)


def _row(path: Path, n: int, line: bytes) -> ChatRow:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}, line {n}: it is not JSON ({error}). Make the rows again") from error
    turns: object = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(turns, list) or len(turns) < 2:
        problem = "it has no `messages` of at least two turns"
    else:
        problem = _problem(turns)
        if not problem:
            kept = tuple({"role": turn["role"], "content": turn["content"]} for turn in turns)
            return ChatRow(file=path.name, line=n, turns=kept)
    raise BadInput(
        f'{path}, line {n}: {problem}. A row is {{"messages": [{{"role": "user", "content": "..."}}, '
        '{"role": "assistant", "content": "..."}]}'
    )


def _problem(turns: Sequence[object]) -> str:
    """Return what is wrong with the turns of a row; empty if nothing is."""
    for turn in turns:
        # A tuple: JSON may have a list there, which is in no set.
        if not isinstance(turn, dict) or turn.get("role") not in ("system", "user", "assistant"):
            return "a turn has no `role` that is system, user or assistant"
        if not isinstance(turn.get("content"), str):
            return "the `content` of a turn is not text"
    last = turns[-1]
    if not isinstance(last, dict) or last["role"] != "assistant":
        return "its last turn is not the assistant's, so that there is nothing to learn"
    if not last["content"].strip():
        return "the assistant's turn is empty, so that there is nothing to learn"
    if not any(
        isinstance(turn, dict) and turn["role"] == "user" and turn["content"].strip() for turn in turns
    ):
        return "it has no turn of the user with text"
    return ""
