"""Vectors by model, kind and text: each text is embedded once."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from polygraph.errors import IndexMismatch, ModelUnavailable
from polygraph.models.call_store import Attempt, CallStore
from polygraph.models.protocols import Embedder, TextKind, Vectors
from polygraph.models.replay import current_replay
from polygraph.models.retry import Sender, is_local
from polygraph.models.thread_pool import POLL_S, ThreadPool
from polygraph.models.unit_rows import are_units, unit_rows
from polygraph.records import digest

BLOCK = 4096
"""Texts that are looked up, embedded and stored together, which bounds memory."""
BATCH = 256
"""Texts per call, if the embedder does not choose batches itself."""
LOCAL_BLOCK = 512
"""Texts that a local embedder gets at once, which it may sort."""
_WEIGHT = 8
"""Calls to a language model beside which one that embeds documents may be made. They take longer, and others wait for
what they return, while vectors are the last that an index needs.
"""
_DEFER_S = 5.0
"""How long such a call waits until no call to a language model waits, before it is made beside them."""
MAX_QUESTIONS = 4096
"""Vectors of questions that are kept in memory."""

Float16Rows: TypeAlias = dict[bytes, bytes]
"""Vectors in half precision, by key."""


def block_size(embedder: Embedder) -> int:
    """Return how many texts a block for `Calls.embed_each` should have."""
    return LOCAL_BLOCK if is_local(embedder) else getattr(embedder, "texts_per_call", BATCH)


def vector_keys(embedder: str, kind: TextKind, texts: Iterable[str]) -> list[bytes]:
    """Return the keys under which the vectors of texts are stored, in the order of the texts."""
    prefix = digest("vector", embedder, kind).encode()
    return [hashlib.sha256(prefix + text.encode("utf-8", "surrogatepass")).digest()[:16] for text in texts]


class EmbeddingCache:
    """Vectors stored in half precision. What is returned always went through half precision.

    So a vector has the same bytes whether it was just computed or read from the store. Rounding changes a cosine by
    less than 0.001.
    """

    def __init__(self, store: CallStore, sender: Sender, pool: ThreadPool) -> None:
        self._store = store
        self._sender = sender
        self._pool = pool
        self._questions: OrderedDict[bytes, bytes] = OrderedDict()
        self._claimed: set[bytes] = set()
        self._changed = threading.Condition()

    def embed(self, embedder: Embedder, texts: Iterable[str], kind: TextKind, line: Attempt) -> Vectors:
        """Return unit vectors, shape ``(n_texts, dimension)``, in the order of the texts; see `Calls.embed`."""
        wanted = list(texts)
        if not wanted:
            return np.empty((0, embedder.dimension), dtype=np.float32)
        if getattr(embedder, "instant", False):
            return self._embed_now(embedder, wanted, kind, line)
        first = self._block(embedder, wanted[:BLOCK], kind, line)
        if len(first) == len(wanted):
            return first
        result = np.empty((len(wanted), first.shape[1]), dtype=np.float32)
        result[: len(first)] = first
        for begin in range(BLOCK, len(wanted), BLOCK):
            vectors = self._block(embedder, wanted[begin : begin + BLOCK], kind, line)
            if vectors.shape[1] != result.shape[1]:
                raise _mixed_dimensions(embedder, vectors.shape[1], result.shape[1])
            result[begin : begin + len(vectors)] = vectors
        return result

    def embed_each(
        self, embedder: Embedder, blocks: Iterable[Sequence[str]], kind: TextKind, line: Attempt, ahead: int
    ) -> Generator[tuple[int, Vectors], None, None]:
        """Yield the number and the unit vectors of each block; see `Calls.embed_each`."""
        if is_local(embedder):
            # It has its own threads.
            for number, block in enumerate(blocks):
                yield number, self.embed(embedder, block, kind, line)
            return
        embed = partial(self.embed, embedder, kind=kind, line=line)
        with self._pool.background(embed, weight=_WEIGHT, defer_s=_DEFER_S) as running:
            n_open = 0
            for block in blocks:
                running.add(block)
                n_open += 1
                while n_open and (done := running.receive(wait=n_open >= ahead)) is not None:
                    n_open -= 1
                    yield done
            while n_open and (done := running.receive()) is not None:
                n_open -= 1
                yield done

    def _embed_now(self, embedder: Embedder, texts: Sequence[str], kind: TextKind, line: Attempt) -> Vectors:
        """Embed without storing: such a model is faster than a look-up."""

        def call() -> tuple[Vectors, int, int]:
            vectors = embedder.embed(texts, kind)
            _check(vectors, len(texts), embedder)
            return vectors, 0, 0

        with self._sender.reserve(embedder, 0, 0):
            return self._sender.send(
                embedder, call, line, key=digest(*texts[:1]), n_calls=0, keep=self._logged
            )

    def _logged(self, vectors: Vectors, done: Attempt) -> Vectors:
        self._store.log(done)
        return vectors

    def _block(self, embedder: Embedder, texts: Sequence[str], kind: TextKind, line: Attempt) -> Vectors:
        keys = vector_keys(embedder.name, kind, texts)
        missing = dict(zip(keys, texts, strict=True))
        running = current_replay()
        if running is not None:
            running.vectors.update(missing)
            if not is_local(embedder):
                known = self._look_up(list(missing), kind)
                # Without stored vectors an endpoint would have to be called for its dimension.
                nothing = bytes(len(next(iter(known.values()))) if known else 2 * embedder.dimension)
                return _unit([known.get(key, nothing) for key in keys], embedder)
        found: Float16Rows = {}
        while True:
            found.update(self._claim_and_embed(embedder, missing, kind, line))
            missing = {key: text for key, text in missing.items() if key not in found}
            if not missing:
                return _unit([found[key] for key in keys], embedder)
            # Only now, with nothing claimed, wait for the texts that other threads embed.
            self._wait_for(list(missing))

    def _claim_and_embed(
        self, embedder: Embedder, missing: Mapping[bytes, str], kind: TextKind, line: Attempt
    ) -> Float16Rows:
        """Look up or embed the texts that no other thread is working on."""
        with self._changed:
            mine = [key for key in missing if key not in self._claimed]
            self._claimed.update(mine)
        try:
            found = self._look_up(mine, kind)
            if found:
                self._store.log_cached(line.stage, line.method, line.model, len(found))
            todo = {key: missing[key] for key in mine if key not in found}
            if todo:
                found.update(self._embed(embedder, todo, kind, line))
            return found
        finally:
            with self._changed:
                self._claimed.difference_update(mine)
                self._changed.notify_all()

    def _wait_for(self, keys: Sequence[bytes]) -> None:
        with self._changed:
            while not self._changed.wait_for(lambda: self._claimed.isdisjoint(keys), POLL_S):
                pass  # wakes up for Ctrl-C

    def _look_up(self, keys: Sequence[bytes], kind: TextKind) -> Float16Rows:
        if kind != "query":
            return self._store.vectors(keys)
        with self._changed:
            found = {key: self._questions[key] for key in keys if key in self._questions}
            for key in found:
                self._questions.move_to_end(key)
            return found

    def _embed(
        self, embedder: Embedder, todo: Mapping[bytes, str], kind: TextKind, line: Attempt
    ) -> Float16Rows:
        """Embed texts in batches; each is committed when it is done."""
        keys, texts = list(todo), list(todo.values())
        counted: Callable[[Sequence[str], TextKind], tuple[Vectors, int]] | None
        counted = getattr(embedder, "embed_counted", None)
        cut = getattr(embedder, "batches", None)
        batches: list[range] = list(cut(texts)) if cut else _even(len(texts), BATCH)

        def embed(batch: range) -> Float16Rows:
            some = [texts[i] for i in batch]

            def keep(rows: Sequence[bytes], done: Attempt) -> Float16Rows:
                return self._store_rows(dict(zip((keys[i] for i in batch), rows, strict=True)), kind, done)

            def call() -> tuple[list[bytes], int, int]:
                if counted is None:
                    return _to_float16(embedder.embed(some, kind), len(some), embedder), 0, 0
                vectors, n_tokens = counted(some, kind)
                return _to_float16(vectors, len(some), embedder), n_tokens, 0

            reads = sum(embedder.count(some)) if self._sender.estimates(embedder) else 0
            with self._sender.reserve(embedder, reads, 0):
                return self._sender.send(
                    embedder,
                    call,
                    line,
                    key=keys[batch[0]].hex(),
                    n_calls=0,
                    keep=keep,
                    size=lambda: sum(embedder.count(some)),
                )

        # A local embedder has its own threads.
        done: Iterable[Float16Rows]
        done = map(embed, batches) if is_local(embedder) else self._pool.map(embed, batches)
        return {key: half for batch in done for key, half in batch.items()}

    def _store_rows(self, rows: Float16Rows, kind: TextKind, done: Attempt) -> Float16Rows:
        if kind != "query":
            return self._store.save_vectors(rows, done)
        self._store.log(done)
        with self._changed:
            self._questions.update(rows)
            while len(self._questions) > MAX_QUESTIONS:
                self._questions.popitem(last=False)
        return rows


def _even(n: int, size: int) -> list[range]:
    return [range(begin, min(n, begin + size)) for begin in range(0, n, size)]


def _to_float16(vectors: Vectors, n: int, embedder: Embedder) -> list[bytes]:
    """Check vectors and convert them to half precision."""
    _check(vectors, n, embedder)
    return [row.tobytes() for row in unit_rows(vectors).astype("<f2")]


def _check(vectors: Vectors, n: int, embedder: Embedder) -> None:
    if vectors.ndim != 2 or len(vectors) != n:
        raise ModelUnavailable(f"{embedder.name} returned vectors of shape {vectors.shape} for {n} texts")
    if not (are_units(vectors) or np.isfinite(vectors).all()):
        raise ModelUnavailable(f"{embedder.name} returned a vector with a value that is not a number")


def _unit(rows: Sequence[bytes], embedder: Embedder) -> Vectors:
    """Convert vectors from half precision and normalise them again after rounding."""
    size = len(rows[0])
    for half in rows:
        if len(half) != size:
            raise _mixed_dimensions(embedder, len(half) // 2, size // 2)
    packed = np.frombuffer(b"".join(rows), dtype="<f2").reshape(len(rows), -1)
    return unit_rows(packed)


def _mixed_dimensions(embedder: Embedder, one: int, other: int) -> IndexMismatch:
    return IndexMismatch(
        f"{embedder.name!r} has stored vectors of {one} and of {other} dimensions: two models were used "
        "under one name. Build a new index"
    )
