"""Profiles: the settings with which the paper or program behind a method builds its index.

A profile sets what is not set otherwise. What an index cannot take over from a paper is listed in
docs/design/paper-profiles.md.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

ProfileName: TypeAlias = Literal[
    "", "fg-rag", "microsoft", "lightrag", "nano", "fast-graphrag", "rograg", "hipporag", "graft"
]

NEVER = 100_000
"""A budget that no descriptions outgrow."""

_MICROSOFT: Mapping[str, Any] = {
    "chunk_tokens": 1200,
    "overlap_tokens": 100,
    "window_tokens": 1200,
    "entity_types": ("organization", "person", "geo", "event"),
    "gleaning": "base",
    "max_gleanings": 1,
    "description_tokens": 0,
    "report_words": 2_000,
    "community_size": 10,
}

PROFILES: Mapping[str, Mapping[str, Any]] = {
    # Code: any item with several descriptions is summarised; reports of at most 2,000 words.
    "microsoft": _MICROSOFT,
    # The index of nano-graphrag differs from the one above only in what no setting covers.
    "nano": _MICROSOFT,
    # Code of version 1.0: summarised from 500 tokens.
    "lightrag": {
        "chunk_tokens": 1200,
        "overlap_tokens": 100,
        "window_tokens": 1200,
        "gleaning": "base",
        "max_gleanings": 1,
        "description_tokens": 500,
    },
    # Code: no types, a judge before each further pass, descriptions never summarised.
    "fg-rag": {
        "chunk_tokens": 1200,
        "overlap_tokens": 100,
        "window_tokens": 1200,
        "entity_types": (),
        "gleaning": "trial",
        "max_gleanings": 1,
        "description_tokens": NEVER,
    },
    # Code: sizes in characters, four to a token; summarised from 512 characters.
    "fast-graphrag": {
        "chunk_tokens": 800,
        "overlap_tokens": 100,
        "window_tokens": 800,
        "gleaning": "none",
        "description_tokens": 128,
    },
    # Paper: 768 tokens, 32 of them shared; code: one further pass, summarised from 500 tokens.
    "rograg": {
        "chunk_tokens": 768,
        "overlap_tokens": 32,
        "window_tokens": 768,
        "gleaning": "base",
        "max_gleanings": 1,
        "description_tokens": 500,
    },
    # Paper: passages are the unit, each read once; entities and facts have no descriptions.
    "hipporag": {"gleaning": "none", "description_tokens": NEVER},
    # Paper: edges are weighted by the mentions of a relation; no further passes.
    "graft": {
        "chunk_tokens": 800,
        "overlap_tokens": 100,
        "window_tokens": 800,
        "gleaning": "none",
        "community_weight": "mentions",
    },
}
"""Settings of each profile."""
