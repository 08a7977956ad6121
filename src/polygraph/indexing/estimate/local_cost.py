"""Time and disk of a build that calls no model, from a small sample of its windows and the speed of this machine."""

import time
from collections.abc import Callable, Sequence
from math import ceil

from polygraph.execution.cores import n_cores
from polygraph.extract.nlp import extractor as nlp
from polygraph.indexing.estimate.corpus import sample
from polygraph.indexing.estimate.plan import EstimateState
from polygraph.models.retry import is_local
from polygraph.records import Extraction, Window
from polygraph.text.prose import count_noun

SAMPLED_WINDOWS = 24
"""Windows that are extracted; more are too many to be read within seconds."""
_SAMPLED_CHUNKS = 16
_OTHER_STAGES = 1.2
"""Time of a build over that of extraction and vectors of chunks (8.4 over 7.0 s on a folder of 49 documents)."""
_BYTES_PER_CHARACTER = 190
"""Bytes of an index per character of text (180 and 210 on two collections of 100,000 and 25,000 characters)."""
_ROUGH = 2.0
"""Times and sizes are given as half to twice this estimate."""


def is_local_build(state: EstimateState) -> bool:
    """Return whether a build calls no endpoint."""
    models = state.models
    return models.chat is None and is_local(models.embedder) and is_local(models.name_embedder)


def local_cost_note(state: EstimateState, to_read: Sequence[Window]) -> str:
    """Measure a sample of windows on this machine and return a note on the time and disk of the build."""
    some = sample(to_read, SAMPLED_WINDOWS + 1)
    characters = sum(len(window.text) for window in to_read)
    language = state.plan.manifest.language
    # The first window loads the parser, which takes seconds and is no part of the rate.
    for _ in nlp.extract(some[:1], language=language, processes=1):
        pass
    timed = some[1:] or some
    extracted, seconds = _extract(timed, language)
    state.extractions |= {e.window: e for e in extracted}
    workers = n_cores() if characters >= nlp.PARALLEL_CHARS else 1
    extraction = seconds * characters / max(1, sum(len(w.text) for w in timed)) / workers
    texts = [chunk.text for window in timed for chunk in window.chunks][: _SAMPLED_CHUNKS + 1]
    state.models.embedder.embed(texts[:1], "document")
    started = time.perf_counter()
    state.models.embedder.embed(texts, "document")
    rate = (time.perf_counter() - started) / max(1, sum(map(len, texts)))
    total = (extraction + rate * characters) * _OTHER_STAGES
    disk = _BYTES_PER_CHARACTER * characters
    return (
        f"on this machine about {_span(_duration, total)}, and {_span(_size, disk)} of disk: rough figures, "
        f"measured on {len(timed)} of {count_noun(len(to_read), 'window')}"
    )


def _extract(windows: Sequence[Window], language: str) -> tuple[list[Extraction], float]:
    started = time.perf_counter()
    extracted = list(nlp.extract(windows, language=language, processes=1))
    return extracted, time.perf_counter() - started


def _span(shown: Callable[[float], str], figure: float) -> str:
    """Return half to twice a figure, once if both are shown alike.

    >>> _span(_size, 10_000), _span(_duration, 100)
    ('1 MB', '50 s to 4 min')
    """
    return " to ".join(dict.fromkeys((shown(figure / _ROUGH), shown(figure * _ROUGH))))


def _duration(seconds: float) -> str:
    """Return a duration in whole seconds, minutes or hours, rounded up.

    >>> _duration(0.2), _duration(100), _duration(4000), _duration(20_000)
    ('1 s', '100 s', '67 min', '6 h')
    """
    if seconds < 120:
        return f"{max(1, ceil(seconds))} s"
    return f"{ceil(seconds / 60)} min" if seconds < 7200 else f"{ceil(seconds / 3600)} h"


def _size(n_bytes: float) -> str:
    """Return a size in megabytes or gigabytes, rounded up.

    >>> _size(10_000), _size(2_500_000_000)
    ('1 MB', '3 GB')
    """
    megabytes = n_bytes / 1e6
    return f"{max(1, ceil(megabytes))} MB" if megabytes < 2_000 else f"{ceil(megabytes / 1000)} GB"
