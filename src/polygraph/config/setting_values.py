"""The settings as keywords, so that editors complete them: `Index.open(chat_model=...)`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from polygraph.config.profiles import ProfileName
from polygraph.records import CitationCheck


class SettingValues(TypedDict, total=False):
    """Every setting with the values it takes; `Settings` describes them. None means not given."""

    index: str | Path | None
    cache: str | Path | None
    cache_gb: float | None
    follow_s: float | None
    chat_model: str | None
    adapter: str | Path | None
    reader_form: Literal["", "raft", "graft"] | None
    confirm_time_limit_s: float | None
    citation_check: CitationCheck | None
    base_url: str | None
    api_key: str | None
    timeout_s: float | None
    call_deadline_s: float | None
    concurrency: int | None
    retries: int | None
    max_wait_s: float | None
    embedder: str | None
    name_embedder: str | None
    reranker: Literal["auto", "none", "minilm"] | None
    offline: bool | None
    profile: ProfileName | None
    chunk_tokens: int | None
    overlap_tokens: int | None
    window_tokens: int | None
    language: str | None
    extractor: Literal["auto", "nlp", "fast", "llm"] | None
    entity_types: str | Sequence[str] | None
    gleaning: Literal["none", "base", "trial"] | None
    max_gleanings: int | None
    same_pairs: int | None
    processes: int | None
    approximate_rows: int | None
    pgvector_rows: int | None
    community_size: int | None
    community_weight: Literal["strength", "mentions"] | None
    description_tokens: int | None
    report_words: int | None
    method: str | None
    max_cost: float | None
    max_spend_tokens: int | None
    batch: str | Path | None
    batch_price: float | None
    batch_tries: int | None
    batch_requests: int | None
    batch_mb: int | None
    durability: Literal["normal", "full"] | None
    prices: str | Mapping[str, Mapping[str, float]] | None
