"""What the answers of a study were made with, and whether they may be compared."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from importlib.resources import files

from polygraph.evaluate.records import MadeWith, is_tuned, method_of
from polygraph.evaluate.runs.provenance import own_source, package_digest, parameters_text, part_digest
from polygraph.models import Models
from polygraph.records import AnswerForm
from polygraph.retrieve import method as find_method
from polygraph.store.layers import with_dependencies
from polygraph.store.snapshot import Snapshot

_LABELS: Mapping[str, str] = {
    "chat": "chat model",
    "embedder": "embedder",
    "name_embedder": "embedder of names",
    "reranker": "reranker",
    "temperature": "temperature of answers",
    "max_tokens": "token budget",
    "form": "form of answers",
    "version": "version of Polygraph",
}
"""Parts that all answers of a study share."""
_NONE: Mapping[str, str] = {"max_tokens": "that of each method", "form": "that of each method"}
"""Shown for an empty part, if not "none"."""

Describe = Callable[[str], MadeWith]
"""Describes what an instance of a method, given by name, answers with now."""


def describe_answerer(
    name: str,
    index: Snapshot,
    models: Models,
    *,
    temperature: float = 0.0,
    max_tokens: int | None,
    form: AnswerForm | None,
    document: str = "",
) -> MadeWith:
    """Return everything besides the question that an answer by a method depends on.

    Args:
        name: of the method or of an instance of it.
        index: that the method reads.
        models: that the method uses.
        temperature: of the answerer.
        max_tokens: budget of the context; None: the method's own.
        form: of the answers; None: the method's own.
        document: id of the document, if the index is that of one document.

    Raises:
        UnknownMethod: if there is no such method.
    """
    method = find_method(method_of(name))
    return MadeWith(
        chat=models.chat.name if models.chat is not None else "",
        embedder=models.embedder.name,
        name_embedder=models.name_embedder.name,
        reranker=models.reranker.name if models.reranker is not None else "",
        temperature=temperature,
        settings=part_digest(
            type(method).__qualname__, parameters_text(method), own_source(type(method)), _prompts_digest()
        ),
        max_tokens=max_tokens,
        form=models.reader_form or form or "",
        version=_package_version(),
        layers={
            layer: index.versions[layer]
            for layer in with_dependencies(method.needs)
            if layer in index.versions
        },
        document=document,
    )


def differences(made: Iterable[tuple[str, MadeWith]]) -> list[str]:
    """Return in what some answers differ that must not differ within a study, one phrase per part.

    Models, temperature, token budget and version must be the same for all answers, but tuned readers have a chat model
    and a form of their own; parameters for all answers of a method; each layer of an index for all that read it.

    Args:
        made: method and record of each answer.
    """
    values: dict[str, dict[str, list[str]]] = {}
    layers: dict[tuple[str, str], set[str]] = {}

    def add(part: str, value: str, method: str) -> None:
        methods = values.setdefault(part, {}).setdefault(value, [])
        if method not in methods:
            methods.append(method)

    for method, record in made:
        for part, label in _LABELS.items():
            value = getattr(record, part)
            shared = f"{label} of tuned readers" if part in ("chat", "form") and is_tuned(method) else label
            add(shared, _NONE.get(part, "none") if value in ("", None) else str(value), method)
        add(f"settings of {method_of(method)}", record.settings, method)
        for layer, version in record.layers.items():
            layers.setdefault((record.document, layer), set()).add(version)
    found = [
        f"{part}: " + ", ".join(f"{value} ({_listed(methods)})" for value, methods in by_value.items())
        for part, by_value in values.items()
        if len(by_value) > 1
    ]
    changed = sorted({layer for (_, layer), versions in layers.items() if len(versions) > 1})
    return [*found, f"index: the layers {', '.join(changed)} changed"] if changed else found


def _listed(methods: list[str], most: int = 3) -> str:
    more = len(methods) - most
    return ", ".join(methods[:most]) + (f" and {more} more" if more > 0 else "")


@cache
def _package_version() -> str:
    try:
        return installed_version("polygraph-rag")
    except PackageNotFoundError:
        return "not installed"


@cache
def _prompts_digest() -> str:
    return package_digest(files("polygraph.prompts"))
