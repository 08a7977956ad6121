"""The settings that an index was built with, so that a mismatch is explained instead of giving wrong answers."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from polygraph.records import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The settings that everything in the index depends on."""

    chunks: str
    """Revision of the code that cut the documents."""
    chunk_tokens: int
    overlap_tokens: int
    """Tokens that neighbouring chunks share."""
    window_tokens: int
    language: str
    embedder: str
    dimension: int
    name_embedder: str
    name_dimension: int
    extractor: str
    """``nlp``, ``fast`` or ``llm``, a colon, and what determines its output: versions, model, prompts, settings. For
    an imported graph: ``imported``, the program and a hash of its graph, then, after a ``+``, the extractor of
    documents that were added."""
    extractor_settings: dict[str, Any]
    """The settings of the extractor, so that a later `index` uses the same."""
    reports: str
    """``extractive``, or the model that writes reports and a hash of its prompt."""
    community_size: int
    community_weight: str
    """What weighs a relation when communities are found: ``strength`` or ``mentions``."""
    profile: str
    """The profile whose settings were used last, if one was named."""
    descriptions: str
    """``extractive``, or the model that sums up long descriptions and a hash of its prompt."""
    description_tokens: int
    """Tokens of all descriptions of one entity or relation above which one text replaces them."""
    report_words: int
    """Length of reports that a model is asked for."""
    same: str
    """The model that decides about names that the rules leave undecided, a hash of its prompt, and how many pairs it is
    asked about at most; empty if none is asked."""

    @property
    def chunker(self) -> str:
        """A hash of the code and the settings that determine how documents are cut."""
        numbers = (self.chunk_tokens, self.overlap_tokens, self.window_tokens)
        return digest(self.chunks, *map(str, numbers), self.language, self.embedder)

    @property
    def reader(self) -> str:
        """The extractor of new windows; empty for an imported graph to which nothing was added."""
        return self.extractor.partition("+")[2] if self.imported else self.extractor

    @property
    def by_model(self) -> bool:
        """Whether a language model, and not a parser, wrote the rows."""
        return self.extractor.partition(":")[0] not in ("nlp", "fast")

    @property
    def imported(self) -> str:
        """The extractor of imported windows; empty if nothing was imported."""
        return self.extractor.partition("+")[0] if self.extractor.startswith("imported:") else ""

    def dumps(self) -> str:
        """Return the manifest as JSON with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> "Manifest":
        """Parse what `dumps` returned."""
        return cls(**json.loads(text))
