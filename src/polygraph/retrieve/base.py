"""The protocol of a retrieval method, and what all methods share."""

from dataclasses import is_dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

from polygraph.errors import MissingLayer
from polygraph.models import Models
from polygraph.records import Retrieval
from polygraph.store.layers import CHUNK_VECTOR_LAYERS, NAME_VECTOR_LAYERS
from polygraph.store.snapshot import Snapshot


@runtime_checkable
class Method(Protocol):
    """Finds and packs the evidence for a question.

    A frozen dataclass whose fields are its parameters.
    """

    # Properties, because `needs` and `calls` of some methods depend on their parameters; most have class variables.
    @property
    def needs(self) -> frozenset[str]:
        """Layers of the index that the method reads."""

    @property
    def calls(self) -> str:
        """Calls of a language model per question as a formula, the answer included."""

    @property
    def max_tokens(self) -> int:
        """Budget of the context, in tokens."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve evidence for a question."""


def why_no_method(candidate: object) -> str:
    """Say what an object lacks to be a `Method`; empty if it is one."""
    if isinstance(candidate, type):
        return f"it is a class. Pass an instance: {candidate.__name__}()"
    lacks = [part for part in ("needs", "calls", "max_tokens") if not hasattr(candidate, part)]
    if not callable(candidate):
        lacks.append("__call__")
    if lacks:
        return f"it lacks {', '.join(lacks)}"
    return "" if is_dataclass(candidate) else "it is no dataclass, whose fields are its parameters"


def why_no_retrieval(found: object) -> str:
    """Say what a method returned, and what it must return; empty if it is a `Retrieval`."""
    if isinstance(found, Retrieval):
        return ""
    got = "None" if found is None else f"an object of type {type(found).__name__}"
    return f"returned {got}. It must return a Retrieval, also if it finds nothing. See docs/add-a-method.md"


M = TypeVar("M", bound=Method)


def require(index: Snapshot, method: str, needs: frozenset[str], models: Models) -> None:
    """Check that an index has what a method needs.

    Raises:
        MissingLayer: if a layer is missing, with the command that adds it.
        IndexMismatch: if the vectors come from another model than the one in use.
    """
    missing = needs - index.layers
    if missing:
        raise MissingLayer(method, missing, index.place)
    if needs & CHUNK_VECTOR_LAYERS:
        index.check_embedder(models.embedder.name, models.embedder.dimension)
    if needs & NAME_VECTOR_LAYERS:
        index.check_name_embedder(models.name_embedder.name)


def with_budget(method: M, max_tokens: int | None) -> M:
    """Return the method with another budget; None keeps its own."""
    if max_tokens is None:
        return method
    changed: M = replace(method, max_tokens=max_tokens)  # type: ignore[type-var]
    return changed
