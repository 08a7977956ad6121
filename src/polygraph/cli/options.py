"""Options that several commands share, and the parsing of their values."""

from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import typer

from polygraph.errors import BadInput

IndexOption = Annotated[
    Optional[Path],
    typer.Option(
        "--index",
        metavar="DIR",
        help="Folder of the index, or its URL (default ./polygraph.index, or POLYGRAPH_INDEX).",
    ),
]
IndexesOption = Annotated[
    Optional[list[str]],
    typer.Option(
        "--index",
        metavar="[NAME=]DIR",
        help="Folder of an index, and a name for it; may be repeated (default ./polygraph.index).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
WhereOption = Annotated[
    Optional[list[str]],
    typer.Option(
        "--where", metavar="KEY=VALUE", help="Only documents with this metadata; * matches anything."
    ),
]
MethodOption = Annotated[
    Optional[str],
    typer.Option(
        "-m",
        "--method",
        metavar="METHOD",
        help="Method (see: polygraph methods); default: hybrid, or POLYGRAPH_METHOD.",
    ),
]
TokensOption = Annotated[
    Optional[int],
    typer.Option(
        "--max-tokens", metavar="N", help="Token budget of the context; default: that of the method."
    ),
]
FormOption = Annotated[
    Optional[Literal["short", "cited", "overview"]],
    typer.Option("--form", help="Form of the answer; default: that of the method."),
]
PathsArgument = Annotated[
    Optional[list[str]],
    typer.Argument(metavar="PATH", help="Folders, files or patterns such as 'docs/**/*.md'."),
]
IncludeOption = Annotated[
    Optional[list[str]],
    typer.Option(
        "--include", metavar="PATTERN", help="In folders, read only files that match; may be repeated."
    ),
]
ExcludeOption = Annotated[
    Optional[list[str]],
    typer.Option("--exclude", metavar="PATTERN", help="Files and folders to leave out; may be repeated."),
]
CostOption = Annotated[
    Optional[float],
    typer.Option("--max-cost", metavar="USD", help="Hard cap on the cost of this command, in US dollars."),
]
SpendOption = Annotated[
    Optional[int],
    typer.Option(
        "--max-spend-tokens",
        metavar="N",
        help="Hard cap on model tokens for this command, input and output.",
    ),
]
BatchOption = Annotated[
    Optional[Path],
    typer.Option(
        "--batch",
        metavar="DIR",
        help="Write model calls to batch files in this folder, and import replies from it.",
    ),
]
AdapterOption = Annotated[
    Optional[Path],
    typer.Option(
        "--adapter", metavar="PATH", help="LoRA adapter for a `gguf:` model, as `finetune train` writes it."
    ),
]
CitationCheckOption = Annotated[
    bool,
    typer.Option(
        "--check-citations", help="Have the chat model check the citations of its answer, in one more call."
    ),
]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Use no endpoint even if one is configured.")]
ProfileOption = Annotated[
    Optional[str],
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Settings as in the paper or program of a method, such as microsoft or lightrag.",
    ),
]
ExtractorOption = Annotated[
    Optional[Literal["nlp", "fast", "llm"]],
    typer.Option(
        "--extractor",
        metavar="nlp|fast|llm",
        help="Extract the graph with a parser, from noun phrases, or with a model; default: as before, "
        "else llm if there is a chat model, else nlp.",
    ),
]
WaitOption = Annotated[
    float,
    typer.Option(
        "--wait", metavar="SECONDS", min=0.0, help="Wait up to this long while another process writes."
    ),
]


MarginOption = Annotated[
    float,
    typer.Option(
        "--margin",
        metavar="POINTS",
        min=0.0,
        max=100.0,
        help="Differences of at most this many percentage points do not matter.",
    ),
]


def caps(
    max_cost: float | None, max_spend_tokens: int | None, batch: Path | None, offline: bool = False
) -> dict[str, Any]:
    """Return the options that limit the calls of a command, as settings."""
    return {
        "max_cost": max_cost,
        "max_spend_tokens": max_spend_tokens,
        "batch": batch,
        "offline": offline or None,
    }


def reader(adapter: Path | None, check_citations: bool) -> dict[str, Any]:
    """Return the options of how answers are written and checked, as settings."""
    return {"adapter": adapter, "citation_check": "model" if check_citations else None}


def split_names(text: str) -> list[str]:
    """Split names at commas; each is returned once."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def methods_of(text: str) -> list[str]:
    """Split method names at commas; ``all`` stands for every method without its presets.

    Raises:
        BadInput: if there is no name.
        UnknownMethod: for the first unknown name.
    """
    from polygraph.retrieve import METHODS, method

    names = split_names(text)
    if not names:
        raise BadInput("-m names no method. List them with: polygraph methods")
    if "all" in names:
        bases = [name for name in METHODS if ":" not in name]
        names = list(dict.fromkeys([*bases, *(name for name in names if name != "all")]))
    for name in names:
        method(name)
    return names


def metadata_of(pairs: list[str] | None) -> dict[str, str] | None:
    """Return the values of --where by key."""
    if not pairs:
        return None
    found = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise BadInput(f"--where {pair!r} is not of the form KEY=VALUE, such as: --where year=1871")
        found[key.strip()] = value.strip()
    return found
