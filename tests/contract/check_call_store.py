"""What every place for replies and the ledger must promise, checked on small tables that are written for it."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TypeAlias

from polygraph.models.batch.store import BatchRow, BatchStore, LineResult
from polygraph.models.call_store import (
    Attempt,
    CallStore,
    LedgerRow,
    Quarantined,
    QuestionUsage,
    open_call_store,
)
from polygraph.models.protocols import ChatReply, Likelihood
from tests.contract.table_checks.expect import expect

OpenCalls: TypeAlias = Callable[[], CallStore]
"""Opens the tables of calls of one place, each time with a connection of its own."""

_LINE = Attempt(
    stage="extract", method="", model="m", outcome="ok", prompt_tokens=7, completion_tokens=3, cost=0.5
)
_ODD = "a\x00b \ufffd 🏮\r\n" + "Mara Quill built the Skerry Light. " * 400


def check_call_store(open_calls: OpenCalls) -> None:
    """Check that a place keeps replies, vectors, ledger and batches. No network, under a second.

    Args:
        open_calls: opens the tables of an empty place, created by the first call.

    Raises:
        AssertionError: naming the promise that was broken.
    """
    with ExitStack() as stack:
        one, two = (stack.enter_context(closing(open_calls())) for _ in range(2))
        _check_replies(one, two)
        _check_vectors(one, two)
        _check_usage(one, two)
        _check_quarantine(one, two)
        _check_batches(one, two)
        _check_moving(one, two)
    with closing(open_calls()) as later:
        _check_forgetting(later)


def _check_replies(one: CallStore, two: CallStore) -> None:
    expect(one.reply("odd"), None, "a reply that was never stored is not found")
    reply = ChatReply(text=_ODD, prompt_tokens=2**40, completion_tokens=3, finish="length")
    expect(one.save_reply("odd", reply, _LINE), reply, "the first reply to a request is used")
    expect(two.reply("odd"), reply, "a reply comes back as it was stored, on another connection too")
    second = replace(reply, text="another")
    expect(
        two.save_reply("odd", second, _LINE), reply, "of two replies the one that was stored first is used"
    )
    sure = ChatReply(
        text="yes", prompt_tokens=1, completion_tokens=1, finish="stop", likelihood=Likelihood(2, -0.25, 0.75)
    )
    one.save_reply("sure", sure, _LINE)
    expect(two.reply("sure"), sure, "a likelihood comes back as it was stored")
    half = ChatReply(text="half \ud83c", prompt_tokens=1, completion_tokens=1, finish="stop")
    one.save_reply("half", half, _LINE)
    found = two.reply("half")
    expect(found and found.text, "half ?", "half a surrogate pair is replaced")
    with one.claim("key"), one.claim("another key"):
        expect(two.reply("odd"), reply, "a claim keeps nobody from reading")
    one.forget(["odd"])
    expect(two.reply("odd"), None, "a reply that was forgotten is not found")


def _check_vectors(one: CallStore, two: CallStore) -> None:
    rows = {n.to_bytes(16, "big"): bytes([n % 256]) * 8 for n in range(2_000)}
    expect(one.save_vectors(rows, _LINE), rows, "the first vectors of texts are used")
    more = dict.fromkeys([*list(rows)[:2], b"new" * 5], b"x" * 8)
    expect(
        two.save_vectors(more, _LINE),
        more | {key: rows[key] for key in list(rows)[:2]},
        "of two vectors of a text the one that was stored first is used",
    )
    expect(
        two.vectors([*rows, b"missing"]),
        rows,
        "any number of vectors is found, and unknown keys are left out",
    )


def _check_usage(one: CallStore, two: CallStore) -> None:
    one.log(replace(_LINE, stage="answer", method="walk", outcome="failed", cost=None, unreported=True))
    one.log(replace(_LINE, stage="answer", method="Walk", outcome="repaired", problem="a\x00b"))
    one.log_cached("answer", "walk", "m", 2)
    two.log_cached("answer", "walk", "m", 3)
    usage = {"model": "m", "prompt_tokens": 7, "completion_tokens": 3, "seconds": 0.0}
    expect(
        [row for row in two.ledger() if row.stage == "answer"],
        [
            LedgerRow(
                stage="answer", method="Walk", ok=0, failed=0, repaired=1, cached=0, cost=0.5, unreported=0,
                **usage,
            ),
            LedgerRow(
                stage="answer", method="walk", ok=0, failed=1, repaired=0, cached=5, cost=None, unreported=1,
                **usage,
            ),
        ],
        "the ledger is summed by stage, method and model, compared by code points",
    )  # fmt: skip
    extract = next(row for row in two.ledger() if row.stage == "extract")
    expect(extract.ok, 6, "every attempt is in the ledger, also that of a reply that was not the first")
    one.log_question("walk", 2, 100)
    two.log_question("walk", 1, 50)
    one.log_question("Hybrid", 0, 0)
    expect(
        list(two.questions().items()),
        [
            ("Hybrid", QuestionUsage(n=1, calls=0, tokens=0)),
            ("walk", QuestionUsage(n=2, calls=3, tokens=150)),
        ],
        "questions are summed by method, compared by code points",
    )


def _check_quarantine(one: CallStore, two: CallStore) -> None:
    entry = Quarantined(
        key="k", repair_key="r", stage="s", method="", model="m", problem="not JSON", raw=_ODD
    )
    other = replace(entry, key="a", stage="t")
    one.quarantine(other)
    one.quarantine(replace(entry, raw="earlier"))
    one.quarantine(entry)
    expect(
        two.quarantined(),
        [entry, other],
        "requests in quarantine are listed by stage, each with its last reply",
    )
    two.release(["k"])
    expect(one.quarantined(), [other], "a request that was released is not in quarantine")


def _check_batches(one: CallStore, two: CallStore) -> None:
    rows = [
        BatchRow(key=key, stage="extract", method="", model="m", outcome="ok", prompt_tokens=5, file=file)
        for key, file in (("b1", "z.jsonl"), ("b2", "a.jsonl"), ("b3", "a.jsonl"))
    ]
    BatchStore(one).put(rows)
    BatchStore(one).put([replace(rows[2], tries=1)])
    batches = BatchStore(two)
    expect(
        batches.rows()["b3"], replace(rows[2], tries=1), "a request that is written again replaces the first"
    )
    expect(
        [(f.file, f.waiting) for f in batches.files()],
        [("a.jsonl", 2), ("z.jsonl", 1)],
        "files are listed by path",
    )
    reply = ChatReply(text="it came", prompt_tokens=5, completion_tokens=2, finish="stop")
    came = LineResult(key="b1", digest=b"1", reply=reply, cost=0.25)
    expect(batches.commit([came]), [came], "the reply of a batch is committed")
    expect(BatchStore(one).commit([came]), [], "and counts once")
    expect(one.reply("b1"), reply, "the reply of a batch is stored as any other")
    expect(batches.unseen([b"1", b"2"]), {b"2"}, "a line that was imported is known")
    failed = LineResult(key="b2", digest=b"2", reply=None, problem="too long", retryable=False, refusal=True)
    expect(batches.commit([failed]), [failed], "an error of a batch is committed")
    expect(BatchStore(one).refusals(), {"m": ["too long"]}, "refused features are listed by model")
    expect(batches.rows()["b2"].state, "refused", "a request that fails for good is not sent again")
    expect(BatchStore(one).abandon("a.jsonl"), 1, "a file whose replies do not come is abandoned")
    batches.mark_used(["b1"])
    expect(set(BatchStore(one).rows()), {"b2"}, "a reply that was used is no batch reply any more")


def _check_moving(one: CallStore, two: CallStore) -> None:
    with closing(open_call_store(None)) as other:
        other.save_reply(
            "gone", ChatReply(text="gone", prompt_tokens=1, completion_tokens=1, finish="stop"), _LINE
        )
        other.take_over(one)
        expect(other.reply("gone"), None, "what was there before is gone")
        _expect_equal(other, one)
        # And back, into tables that hold something.
        two.save_reply(
            "gone", ChatReply(text="gone", prompt_tokens=1, completion_tokens=1, finish="stop"), _LINE
        )
        n = list[int]()
        two.take_over(other, n.append)
        expect(one.reply("gone"), None, "what was there before is gone")
        _expect_equal(one, other)
        expect(sum(n), other.n_rows(), "every row is moved once")


def _expect_equal(one: CallStore, two: CallStore) -> None:
    for read in (CallStore.ledger, CallStore.questions, CallStore.quarantined, CallStore.n_rows):
        expect(read(one), read(two), "what is moved to another place is the same there")
    for key in ("odd", "sure", "half", "b1"):
        expect(one.reply(key), two.reply(key), "replies are the same at another place")
    keys = [n.to_bytes(16, "big") for n in range(2_000)]
    expect(one.vectors(keys), two.vectors(keys), "vectors are the same at another place")
    expect(BatchStore(one).rows(), BatchStore(two).rows(), "batch requests are the same at another place")
    expect(BatchStore(one).unseen([b"1", b"2", b"3"]), {b"3"}, "imported lines are known at another place")


def _check_forgetting(store: CallStore) -> None:
    expect(
        store.keep_only({"sure"}, {(1).to_bytes(16, "big")}), True, "deleted data is removed from the disk"
    )
    expect(
        [store.reply(key) is not None for key in ("sure", "half", "b1")],
        [True, False, False],
        "others are deleted",
    )
    expect(
        len(store.vectors([n.to_bytes(16, "big") for n in range(2_000)])),
        1,
        "vectors of other texts are deleted",
    )
    expect(
        (store.quarantined(), BatchStore(store).refusals()), ([], {}), "nothing that quotes a text is left"
    )
    expect(sum(row.attempts for row in store.ledger()), 10, "what was spent stays in the ledger")
