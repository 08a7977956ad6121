"""Settings and their sources: flags, environment, settings files, profile and defaults, the first with a value."""

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from polygraph.config.files import SettingsFile, settings_files
from polygraph.config.profiles import PROFILES, ProfileName
from polygraph.errors import BadInput
from polygraph.records import CitationCheck
from polygraph.text.prose import advice

SECRET = "api_key"  # noqa: S105 - the name of a field, not a key
OPENAI_VARIABLES = {"base_url": "OPENAI_BASE_URL", "api_key": "OPENAI_API_KEY"}
"""The usual variables of an OpenAI client, read where ``POLYGRAPH_BASE_URL`` and ``POLYGRAPH_API_KEY`` are not set."""
_PREFIX = "POLYGRAPH_"
_OTHER_VARIABLES = ("CONFIG", "SERVER_TOKENS")
_ALIKE = 0.6
"""Likeness of two names by difflib from which one is suggested: ``model`` and ``chat_model`` have .67, ``home`` and
``cache`` .44."""


class UntrustedSettings(UserWarning):
    """A folder's settings file sets what only a trusted file may set."""


class UnknownVariable(UserWarning):
    """A variable of the environment is called almost like a setting."""


class PriceSetting(BaseModel):
    """Price of a model in US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    output: float = Field(default=0.0, ge=0)

    def __str__(self) -> str:
        """Return the price for display."""
        return f"{self.input:g} in, {self.output:g} out"


class Settings(BaseModel):
    """All settings. A setting has the same name as a flag, in the environment (``POLYGRAPH_NAME``) and in the file.

    The constructor reads neither environment nor files; `load_settings` does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    index: Path = Field(
        Path("polygraph.index"),
        description="Folder of the index, or the URL of one in PostgreSQL or of a published one.",
    )
    cache: Path | None = Field(
        None,
        description=(
            "Folder of local copies of remote indexes; empty: the cache folder of the user, such as "
            "`~/.cache/polygraph`."
        ),
    )
    cache_gb: float = Field(
        20.0,
        gt=0,
        description="Total size of these copies, in gigabytes, above which those that nobody reads are deleted.",
    )
    follow_s: float = Field(
        30.0, ge=0, description="Seconds between checks for a new version of a published index; 0: never."
    )

    chat_model: str = Field(
        "",
        description=(
            "Model at the endpoint for extraction and answers. `gguf:PATH`, `gguf:qwen2.5-coder-1.5b` or "
            "`gguf:smollm2-135m` for a local file. Empty: the endpoint's only model, or gpt-4o-mini with "
            "an OpenAI key and no base URL, or none. `none`: no chat model, if the endpoint only embeds."
        ),
    )
    adapter: Path | None = Field(
        None,
        description="LoRA adapter for a `gguf:` model: a GGUF file, or the folder of `polygraph finetune train`.",
    )
    reader_form: Literal["", "raft", "graft"] = Field(
        "",
        description=(
            "Form of the answers that the chat model was tuned for, `raft` or `graft`; empty: that of the "
            "adapter, if there is one."
        ),
    )
    confirm_time_limit_s: float = Field(
        60.0,
        ge=0,
        description=(
            "Seconds that a `gguf:` model has to confirm or correct the answer that rules found; after "
            "that, the answer of the rules is given. 0: the model answers by itself, from all the "
            "evidence."
        ),
    )
    citation_check: CitationCheck = Field(
        "rules",
        description=(
            "What decides whether a citation stays in an answer of the chat model: `rules`, or `model`: "
            "the chat model, in one more call for each answer."
        ),
    )
    base_url: str = Field(
        "", description="An OpenAI-compatible endpoint, such as `http://localhost:11434/v1`."
    )
    api_key: str = Field("", description="Key for the endpoint. Keep it in the environment, not in a file.")
    timeout_s: float = Field(
        120.0, gt=0, description="Seconds without data after which a call fails and is retried."
    )
    call_deadline_s: float = Field(
        600.0,
        gt=0,
        description=(
            "Seconds after which an attempt ends and is retried even if data still arrives. Raise it for "
            "a model that writes for more than ten minutes."
        ),
    )
    concurrency: int = Field(
        8,
        ge=1,
        le=1024,
        description="Maximum number of concurrent model calls and questions; without an endpoint, 1 unless set.",
    )
    retries: int = Field(6, ge=0, le=100, description="Further attempts after a failed call.")
    max_wait_s: float = Field(
        900.0,
        ge=0,
        description=(
            "Maximum total wait of a call between its attempts, in seconds; before a longer wait, the "
            "command ends."
        ),
    )

    embedder: str = Field(
        "auto",
        description=(
            "Embedder of chunks and questions: `bge-small`, `wordllama`, `hash`, `endpoint:MODEL`, or "
            "`auto`: the best that is installed."
        ),
    )
    name_embedder: str = Field(
        "auto",
        description=(
            "Embedder of entities and relations, which are many and short; values as for `embedder`. "
            "`auto` is `wordllama` with `bge-small`, else the same as `embedder`."
        ),
    )
    reranker: Literal["auto", "none", "minilm"] = Field(
        "auto",
        description=(
            "Cross-encoder that chooses the sentences of extractive answers and reorders passages: "
            "`minilm`, `none`, or `auto`: if it is installed."
        ),
    )
    offline: bool = Field(False, description="Use no endpoint even if a key or base URL is set.")

    profile: ProfileName = Field(
        "",
        description="Index settings of a method's paper or program, unless set otherwise.",
    )
    chunk_tokens: int = Field(
        300,
        ge=16,
        le=8192,
        description="Maximum size of a chunk, in tokens of the embedder; never above its limit.",
    )
    overlap_tokens: int = Field(
        0,
        ge=0,
        le=4096,
        description=(
            "Tokens that neighbouring chunks share: whole sentences, and at most half a chunk. Windows "
            "share as much."
        ),
    )
    window_tokens: int = Field(
        1200,
        ge=16,
        le=100_000,
        description=(
            "Maximum size of an extraction window (adjacent chunks that are read together), in the same "
            "tokens."
        ),
    )
    language: str = Field(
        "en",
        description=(
            "ISO 639-1 code of the language of documents in which none is detected, such as tables: for their "
            "sentences, words and names. Set it if most are not in English."
        ),
    )

    extractor: Literal["auto", "nlp", "fast", "llm"] = Field(
        "auto",
        description=(
            "`nlp`: with a parser; `fast`: co-occurring noun phrases; `llm`: with the chat model; `auto`: "
            "as the index was built, else `llm` if there is a chat model, else `nlp`."
        ),
    )
    entity_types: tuple[str, ...] = Field(
        (),
        description="Entity types for extraction with a model, separated by commas; none: the model chooses.",
    )
    gleaning: Literal["none", "base", "trial"] = Field(
        "none",
        description=(
            "Further passes over each window with a model. `base`: ask for what was missed; `trial`: "
            "first ask whether anything was."
        ),
    )
    max_gleanings: int = Field(1, ge=1, le=10, description="Maximum number of further passes.")
    same_pairs: int = Field(
        500,
        ge=0,
        le=1_000_000,
        description=(
            "Maximum number of undecided pairs of names that the chat model is asked about; 0: none. "
            "Unless this is set, it is asked only about a new index that it extracts."
        ),
    )
    processes: int = Field(
        0,
        ge=0,
        le=256,
        description="Worker processes for extraction without a model; 0: one per core if there is enough text.",
    )
    approximate_rows: int = Field(
        200_000,
        ge=0,
        description=(
            "Number of rows of a layer from which vector search is approximate, if the extra `ann` is "
            "installed; 0: never. It takes effect when a layer is written again."
        ),
    )
    pgvector_rows: int = Field(
        50_000,
        ge=0,
        description=(
            "Number of rows of a layer from which an index in PostgreSQL is searched by pgvector, if the "
            "server has it, instead of in fetched files; 0: never. It takes effect when a layer is "
            "written again."
        ),
    )
    community_size: int = Field(
        10, ge=2, le=10_000, description="Number of entities above which a community is split further."
    )
    community_weight: Literal["strength", "mentions"] = Field(
        "strength",
        description=(
            "Weight of a relation when communities are found: the `strength` that extraction gave it, or "
            "`mentions`: the number of chunks that mention it."
        ),
    )
    description_tokens: int = Field(
        400,
        ge=0,
        le=100_000,
        description=(
            "Descriptions of one entity or relation with more tokens than this together are replaced by "
            "one: written by the chat model, or without one selected from them. 0: wherever there are "
            "several."
        ),
    )
    report_words: int = Field(
        500, ge=50, le=2_000, description="Length of community reports that a model is asked for, in words."
    )

    method: str = Field("hybrid", description="Default method of `ask`, `chat` and `explain`.")
    max_cost: float | None = Field(None, ge=0, description="Hard cap on cost per command, in US dollars.")
    max_spend_tokens: int | None = Field(
        None, ge=1, description="Hard cap on model tokens per command, input and output."
    )
    batch: Path | None = Field(
        None, description="Folder of batch files: calls to language models are written there."
    )
    batch_price: float = Field(0.5, ge=0, description="Price of a batch as a share of the regular price.")
    batch_tries: int = Field(
        3, ge=1, description="Number of times a request is written before an error counts as its result."
    )
    batch_requests: int = Field(50_000, ge=1, description="Maximum requests per batch file.")
    batch_mb: int = Field(200, ge=1, description="Maximum size of a batch file, in megabytes.")
    durability: Literal["normal", "full"] = Field(
        "normal",
        description=(
            "`normal` survives the end of the process at any moment; `full` also survives a loss of "
            "power, but is slower."
        ),
    )
    prices: dict[str, PriceSetting] = Field(
        default_factory=dict,
        description=(
            "Prices of further models, or newer prices, in US dollars per million tokens: a table in the "
            'file, or `{"qwen2.5-14b-instruct": {"input": 0.10, "output": 0.30}}` in the environment, '
            "which replaces the whole table."
        ),
    )

    @field_validator("entity_types", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(part.strip() for part in value.split(",") if part.strip())
            if isinstance(value, str)
            else value
        )

    @field_validator("prices", mode="before")
    @classmethod
    def _parse(cls, value: object) -> object:
        """Parse prices from JSON, their form in the environment."""
        return json.loads(value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """A setting with its value and the source of the value."""

    name: str
    value: Any
    source: str
    """``flag``, ``environment NAME``, the path of a file, ``profile NAME``, or ``default``."""
    help: str
    ignored: str = ""
    """Path of a file that sets it too and is not trusted."""


def load_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Load the settings.

    Args:
        flags: values given on the command line or in code; None means not given.
        environ: used instead of the environment of the process.
        folder: where the search for ``polygraph.toml`` starts (default: the current folder); it goes up to
            the file system's root, nearest file first.

    Warns:
        UntrustedSettings: if that file sets what only a trusted file may set; it is ignored.
        UnknownVariable: for ``POLYGRAPH_MODEL`` and the like, which set nothing.

    Raises:
        BadInput: for an unknown name or an invalid value; the message names its source.
    """
    values, sources, files = _collect(flags, environ, folder)
    for name, meant in _misspelt(os.environ if environ is None else environ):
        warnings.warn(f"{name} sets nothing. Did you mean {meant}?", UnknownVariable, stacklevel=2)
    for file in files:
        if file.ignored:
            warnings.warn(
                f"ignored {', '.join(file.ignored)} in {file.path}, which you have not trusted. "
                "If you know who wrote it: polygraph config trust",
                UntrustedSettings,
                stacklevel=2,
            )
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        where = sources.get(name, "settings")
        given = "" if name == SECRET else f" {values.get(name)!r}"
        if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
            raise BadInput(
                f"{where}: there is no setting {name!r}. See: polygraph config --explain"
            ) from error
        raise BadInput(f"{where}: {name}{given} is not valid. {_advice(name, first)}") from error


def _misspelt(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield variables that are no setting, each with the one that may be meant; those like no setting are others'."""
    known = [name.upper() for name in Settings.model_fields]
    given = [name.removeprefix(_PREFIX) for name in sorted(environ) if name.startswith(_PREFIX)]
    for name in given:
        if name not in (*known, *_OTHER_VARIABLES):
            # Imported where it is needed: most environments have no such variable.
            from difflib import get_close_matches

            for meant in get_close_matches(name, known, 1, _ALIKE):
                yield f"{_PREFIX}{name}", f"{_PREFIX}{meant}"


def _advice(name: str, problem: Mapping[str, Any]) -> str:
    """Return what to give instead of a value that pydantic refuses."""
    if name == "prices":
        return 'Give prices such as {"my-model": {"input": 0.15, "output": 0.6}}, in US dollars per million tokens'
    return advice(problem)


def server_tokens(environ: Mapping[str, str] | None = None) -> str:
    """Return the tokens that ``POLYGRAPH_SERVER_TOKENS`` names, one per line; ``;`` separates them as well."""
    return (os.environ if environ is None else environ).get("POLYGRAPH_SERVER_TOKENS", "").replace(";", "\n")


def explain_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> list[SettingOrigin]:
    """Return the value and source of every setting, in the order of `Settings`; keys are masked."""
    settings = load_settings(flags, environ=environ, folder=folder)
    _, sources, files = _collect(flags, environ, folder)
    ignored = {name: str(file.path) for file in files for name in file.ignored}
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        if name == SECRET and value:
            value = f"{value[:3]}…{value[-2:]}" if len(value) > 12 else "…"
        origin = sources.get(name, "default")
        rows.append(SettingOrigin(name, value, origin, field.description or "", ignored.get(name, "")))
    return rows


def plain_value(value: Any) -> Any:
    """Return the value of a setting for JSON."""
    if isinstance(value, dict):
        return {name: each.model_dump() for name, each in value.items()}
    return value


def _collect(
    flags: Mapping[str, Any] | None, environ: Mapping[str, str] | None, folder: Path | None
) -> tuple[dict[str, Any], dict[str, str], list[SettingsFile]]:
    """Return values and their sources by name, the strongest source winning, and the files that were read."""
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    files = settings_files(environ, folder or Path.cwd(), Settings.model_fields)
    for file in files:
        for name, value in file.values.items():
            values[name], sources[name] = value, str(file.path)
    for name in Settings.model_fields:
        for variable in (f"{_PREFIX}{name.upper()}", OPENAI_VARIABLES.get(name, "")):
            if environ.get(variable):
                values[name], sources[name] = environ[variable], f"environment {variable}"
                break
    for name, value in (flags or {}).items():
        if value is not None:
            values[name], sources[name] = value, "flag"
    profile = str(values.get("profile", ""))
    for name, value in PROFILES.get(profile, {}).items():
        if name not in values:
            values[name], sources[name] = value, f"profile {profile}"
    return values, sources, files
