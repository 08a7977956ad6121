"""The folder of training rows: files for trainers, held-out questions, provenance and a report."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from polygraph.errors import BadInput, StorageFailed
from polygraph.evaluate.questions.file import GoldPassage, Question, question_line
from polygraph.finetune.data.records import PARTS, Part, Row, TrainingData
from polygraph.finetune.data.report import counts_of, report_page
from polygraph.records import Json
from polygraph.store.atomic_files import write_folder
from polygraph.store.snapshot import Snapshot

FORMAT = 1
MANIFEST = "data.json"
ROW_FILES: Mapping[Part, str] = {"train": "train.jsonl", "held_out": "held-out.jsonl"}
QUESTIONS = "questions.jsonl"
PROVENANCE = "provenance.jsonl"
REPORT = "README.md"
AXOLOTL = "axolotl.yml"
LLAMA_FACTORY = "dataset_info.json"
FILES = frozenset({MANIFEST, *ROW_FILES.values(), QUESTIONS, PROVENANCE, REPORT, AXOLOTL, LLAMA_FACTORY})
_MARK = "polygraph_finetune_data"
"""Key of the manifest that names its format."""


def check_output(folder: Path) -> None:
    """Check that a folder does not exist, is empty, or holds nothing but training rows, which are replaced.

    Raises:
        BadInput: if it holds anything else.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file. Name a folder for the rows with --output")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if not names:
        return
    if not _is_ours(folder):
        raise BadInput(
            f"the folder {folder} holds something that is not training data. Name another with --output"
        )
    if other := sorted(names - FILES):
        raise BadInput(
            f"the folder {folder} holds {other[0]} beside its training data, which would be lost. Move it, or name "
            "another folder with --output"
        )


def write_rows(
    folder: Path, data: TrainingData, settings: Mapping[str, Json], index: Snapshot
) -> dict[str, Json]:
    """Write the folder of some rows as a whole, in place of an existing one.

    Args:
        folder: checked by `check_output`.
        data: rows.
        settings: everything that the rows depend on besides the index.
        index: that the rows were made from.

    Returns:
        What ``data.json`` holds.

    Raises:
        BadInput: if the folder holds something else.
        StorageFailed: if it cannot be written; what was there before stays.
    """
    check_output(folder)
    manifest: dict[str, Json] = {
        _MARK: FORMAT,
        "settings": dict(settings),
        "counts": counts_of(data),
        "index": _identity(index),
        "notes": list(data.notes),
    }
    texts = {
        **{ROW_FILES[part]: _lines(_messages(row) for row in data.rows[part]) for part in PARTS},
        QUESTIONS: _lines(question_line(_question(row)) for row in _by_id(data.rows["held_out"])),
        PROVENANCE: _lines(_provenance(n, row) for part in PARTS for n, row in enumerate(data.rows[part])),
        MANIFEST: _json(manifest),
        LLAMA_FACTORY: _json(_llama_factory(data)),
        AXOLOTL: _axolotl(data),
        REPORT: report_page(data, settings),
    }

    def fill(place: Path) -> None:
        for name, text in texts.items():
            # Halves of surrogate pairs, as broken files hold them, cannot be encoded.
            (place / name).write_bytes(text.encode("utf-8", "replace"))

    try:
        write_folder(folder, fill)
    except OSError as error:
        shutil.rmtree(folder.with_name(f"{folder.name}.tmp"), ignore_errors=True)
        raise StorageFailed(
            f"{folder} cannot be written: {error.strerror or error}. Free some space, or name another folder with "
            "--output"
        ) from error
    return manifest


def _is_ours(folder: Path) -> bool:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and _MARK in found


def _identity(index: Snapshot) -> dict[str, Json]:
    """Return what identifies an index: its settings, and the versions of the layers that rows rest on."""
    layers = ("chunks", "lexical", "chunk_vectors", "graph", "mentions")
    return {
        "chunk_tokens": index.manifest.chunk_tokens,
        "embedder": index.manifest.embedder,
        "extractor": index.manifest.extractor,
        "passages": index.n_chunks,
        "layers": {name: index.versions[name] for name in layers if name in index.versions},
    }


def _messages(row: Row) -> dict[str, Json]:
    return {"messages": [{"role": m.role, "content": m.content} for m in row.messages]}


def _question(row: Row) -> Question:
    asked = row.question
    return Question(
        id=asked.id,
        question=asked.question,
        type=asked.kind,
        answers=asked.answers,
        evidence=asked.documents,
        chunks=tuple(chunk.id for chunk in asked.oracles),
        passages=tuple(
            GoldPassage(document=q.document, start=q.start, end=q.end, text=q.text) for q in asked.quotes
        ),
        null=asked.null,
    )


def _provenance(n: int, row: Row) -> dict[str, Json]:
    quotes = [asdict(quote) for quote in row.question.quotes]
    return {
        "part": row.part,
        "row": n,
        "question": row.question.id,
        "copy": row.copy,
        "kind": row.question.kind,
        "documents": list(row.question.documents),
        "oracles": [chunk.id for chunk in row.question.oracles],
        "passages": [chunk.id for chunk in row.passages],
        "quotes": [{key: quote[key] for key in ("document", "chunk", "start", "end")} for quote in quotes],
        "has_oracle": row.has_oracle,
        "refuses": row.refuses,
        "tokens": row.n_tokens,
    }


def _by_id(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.question.id)


def _lines(values: Iterable[Mapping[str, Json]]) -> str:
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)


def _json(value: Mapping[str, Json]) -> str:
    return f"{json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)}\n"


def _llama_factory(data: TrainingData) -> dict[str, Json]:
    """Return the entries for LLaMA-Factory, whose format `sharegpt` reads the messages of OpenAI by these tags."""
    return {
        f"polygraph_{part}": {
            "file_name": ROW_FILES[part],
            "formatting": "sharegpt",
            "columns": {"messages": "messages"},
            "tags": {
                "role_tag": "role",
                "content_tag": "content",
                "user_tag": "user",
                "assistant_tag": "assistant",
                "system_tag": "system",
            },
        }
        for part in PARTS
        if data.rows[part]
    }


def _axolotl(data: TrainingData) -> str:
    """Return the part of a configuration of Axolotl that names the data; only the replies are learned."""
    lines = ["# Add a base model and its adapter. Paths are relative to the folder in which Axolotl runs."]
    for part in PARTS:
        if not data.rows[part]:
            continue
        lines += [
            f"{'datasets' if part == 'train' else 'test_datasets'}:",
            f"  - path: {ROW_FILES[part]}",
            "    ds_type: json",
            *(["    split: train"] if part == "held_out" else []),
            "    type: chat_template",
            "    field_messages: messages",
            "    message_property_mappings:",
            "      role: role",
            "      content: content",
            "    roles_to_train: [assistant]",
            "    train_on_eos: turn",
        ]
    longest = max(row.n_tokens for rows in data.rows.values() for row in rows)
    lines.append(f"sequence_len: {_power_of_two(longest)}")
    return "\n".join(lines) + "\n"


def _power_of_two(n: int) -> int:
    """Return a power of two with room for `n` tokens of our vocabulary in that of another model.

    >>> _power_of_two(1600), _power_of_two(1700)
    (2048, 4096)
    """
    return 1 << int(n * 1.25 - 1).bit_length()
