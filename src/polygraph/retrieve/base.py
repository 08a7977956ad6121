"""What a retrieval method is, and what all of them share."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

from polygraph.errors import MissingLayer
from polygraph.models import Models
from polygraph.records import Retrieval
from polygraph.store.layers import CHUNK_VECTOR_LAYERS, NAME_VECTOR_LAYERS
from polygraph.store.snapshot import Snapshot


@runtime_checkable
class Method(Protocol):
    """Finds and packs the evidence for a question. Its fields are its parameters."""

    source: ClassVar[str]
    """Paper or system, and section."""
    summary: ClassVar[str]
    """One line for a reader who has to choose."""

    # A class variable in most methods; one that is made of others works it out from them.
    @property
    def needs(self) -> frozenset[str]:
        """Layers that it reads."""

    @property
    def calls(self) -> str:
        """Calls of a language model for one question, the answer included, as a formula."""

    @property
    def max_tokens(self) -> int:
        """Budget of the context, in tokens."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Character:
    """What the papers say of a method; class variables of the same names, each of which it may lack."""

    tokens: str = ""
    """Tokens of the context of a question, as a formula or a bound."""
    good: str = ""
    """What it is good at, with the figures and where they stand."""
    bad: str = ""
    """What it is bad at, with the figures and where they stand."""


def character(method: Method) -> Character:
    """What the papers say of a method."""
    return Character(**{f.name: getattr(method, f.name, "") for f in fields(Character)})


M = TypeVar("M", bound=Method)


def require(index: Snapshot, method: str, needs: frozenset[str], models: Models) -> None:
    """Make sure that an index can serve a method.

    Raises:
        MissingLayer: if it lacks a layer, naming the command that adds it.
        IndexMismatch: if the vectors are of another model than the one in use.
    """
    missing = needs - index.layers
    if missing:
        raise MissingLayer(method, missing, str(index.folder))
    if needs & CHUNK_VECTOR_LAYERS:
        index.check_embedder(models.embedder.name, models.embedder.dimension)
    if needs & NAME_VECTOR_LAYERS:
        index.check_name_embedder(models.name_embedder.name)


def with_budget(method: M, max_tokens: int | None) -> M:
    """The same method with another budget; None keeps its own."""
    if max_tokens is None:
        return method
    changed: M = replace(method, max_tokens=max_tokens)  # type: ignore[type-var]
    return changed
