"""Estimates: what can be counted is exact, the rest has a range and names its basis."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from polygraph.config import load_settings
from polygraph.errors import BadInput, IndexUnreadable
from polygraph.extract.nlp import extractor as nlp
from polygraph.indexing.estimate.local_cost import SAMPLED_WINDOWS
from polygraph.indexing.estimate.model_profile import (
    DEFAULT_PROFILES,
    GPT_4O,
    default_report_length,
    fit_profile,
    fit_report_length,
    ratio_of_sums,
)
from polygraph.indexing.estimate.pilot import divide_calls
from polygraph.indexing.estimate.questions import LayerSizes, MethodPlan, question_line
from polygraph.indexing.estimate.ranges import Estimate, Line, Range, priced_line
from polygraph.indexing.estimate.reconcile import load_estimate, save_estimate
from polygraph.indexing.estimate.same import KnownPairs, pairs_in_doubt
from polygraph.indexing.estimate.scaling import (
    NameCounts,
    extrapolate_entities,
    fit_growth,
    nested_samples,
)
from polygraph.indexing.estimate.simulated_extraction import simulate_extraction
from polygraph.indexing.estimate.simulated_graph import simulate_graph, simulate_view
from polygraph.indexing.estimate.window_structure import WindowStructure, choose_structure, structure_of
from polygraph.models import Calls, Models
from polygraph.models.calls import LedgerRow
from polygraph.models.prices import Price
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Chunk, Community, EntityRow, Extraction, RelationRow, Span, Window
from polygraph.testing import scripted_chat
from polygraph.text.tokens import count_tokens
from polygraph.workspace.index import Index
from tests import store_records

PAPERS = {
    "letter.txt": "Mara Quill wrote to Old Tobin in 1871. She had built the Skerry Light. Tobias Wren refused to pay.",
    "log.txt": "The Halcyon left Sallow Bay at dawn. Old Tobin was her master. She struck the Grey Reef at night.",
    "minutes.txt": "The Harbour Board met in March. Tobias Wren said that the Skerry Light had been dark for days.",
    "news.txt": "The Halcyon is lost on the Grey Reef. The Harbour Board blames Mara Quill. Old Tobin blames Wren.",
    "diary.txt": "Mara Quill walked to Sallow Bay with Anna Orme. Anna Orme had heard of the Grey Reef and of fog.",
    "bill.txt": "Anna Orme paid Tobias Wren for the oil. The Harbour Board owes Anna Orme nine pounds and the lamp.",
}


class Paid:
    """A scripted model that is not local, so that prices apply."""

    def __init__(self, name="gpt-4o-mini"):
        self._chat = scripted_chat(name=name)
        self.name = name
        self.requests = self._chat.requests

    def chat(self, request, on_text=None):
        return self._chat.chat(request, on_text)


@pytest.fixture
def papers(tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    for name, text in PAPERS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def opened(tmp_path, chat, **flags):
    settings = load_settings(flags, environ={}, folder=tmp_path)
    place = tmp_path / "papers.index"
    embedder = HashEmbedder()
    models = Models(
        chat=chat,
        embedder=embedder,
        name_embedder=embedder,
        reranker=None,
        calls=Calls(place / "calls.sqlite"),
    )
    return Index.open(place, settings=settings, models=models)


def stage(found, name):
    return next(each for each in found.lines if each.stage == name)


def window(text, document="d", ordinal=0):
    chunk = Chunk(
        id=f"{document}:{ordinal}", document=document, ordinal=ordinal, start=0, end=len(text), text=text, n_tokens=9
    )  # fmt: skip
    return Window(
        id=f"{document}@{ordinal}", document=document, ordinal=ordinal, title="", chunks=(chunk,), text=text
    )


# --- the whole ------------------------------------------------------------------------------------------


def test_calls_and_tokens_in_of_extraction_are_exact_and_no_model_is_called(papers, tmp_path):
    chat = Paid()
    with opened(tmp_path, chat) as index:
        found = index.estimate(papers)
        assert not chat.requests
        index.add(papers)
        row = next(r for r in index.models.calls.ledger() if r.stage == "extract")
    extract = stage(found, "extract")
    assert extract.calls == Range(6, 6, 6)
    assert extract.prompt_tokens == Range.exactly(row.prompt_tokens)
    assert extract.completion_tokens.low < extract.completion_tokens.mid < extract.completion_tokens.high
    assert found.documents == found.windows == found.windows_to_read == 6
    assert "gpt-4o" in extract.basis


def test_stored_replies_are_free_and_a_finished_index_costs_nothing(papers, tmp_path):
    with opened(tmp_path, Paid()) as index:
        index.add(papers)
        again = index.estimate(papers)
        assert again.lines == ()
        assert again.total.cost == Range(0, 0, 0)
        (papers / "more.txt").write_text("Old Tobin sailed with Mara Quill to Far Skerry.", encoding="utf-8")
        more = index.estimate(papers)
    assert more.windows_to_read == 1
    assert stage(more, "extract").calls == Range(1, 1, 1)
    assert "as this model read" in stage(more, "extract").basis


def test_replies_in_the_cache_count_as_free_when_the_rows_are_not_there_yet(papers, tmp_path):
    chat = Paid()
    with opened(tmp_path, chat) as index:
        index.add(papers)
        os.unlink(index.folder / "index.sqlite")
        for rest in index.folder.glob("index.sqlite-*"):
            rest.unlink()
        found = index.estimate(papers)
        before = len(chat.requests)
        index.add(papers)
        assert len(chat.requests) == before
    assert stage(found, "extract").free == 6
    assert stage(found, "extract").calls.high == 0
    # All replies are known, so the simulation is the build, and its reports are found paid as well.
    assert stage(found, "reports").calls.high == 0
    assert stage(found, "reports").free > 0


def test_a_pilot_makes_no_more_calls_than_allowed_and_the_build_does_not_repeat_them(papers, tmp_path):
    chat = Paid()
    with opened(tmp_path, chat) as index:
        found = index.estimate(papers, pilot=5)
        made = len(chat.requests)
        assert made == 5
        index.add(papers)
        asked = [repr(request) for request in chat.requests]
    assert len(set(asked)) == len(asked)
    assert stage(found, "extract").free == 4
    assert stage(found, "extract").calls == Range(2, 2, 2)
    assert any("pilot" in note for note in found.notes)


def test_an_estimate_with_a_pilot_is_near_the_cost_of_the_build(papers, tmp_path):
    with opened(tmp_path, Paid()) as index:
        found = index.estimate(papers, pilot=7)
        before = index.models.calls.spent
        index.add(papers)
        after = index.models.calls.spent
    total = found.total
    assert total.prompt_tokens.mid == pytest.approx(after.prompt_tokens - before.prompt_tokens, rel=0.35)
    assert total.calls.mid == pytest.approx(after.calls - before.calls, abs=3)


def test_vectors_of_reports_count_the_texts_and_not_the_form_of_replies(papers, tmp_path):
    class PaidVectors(HashEmbedder):
        local = False
        instant = False

    settings = load_settings({}, environ={}, folder=tmp_path)
    embedder = PaidVectors()
    calls = Calls(tmp_path / "papers.index" / "calls.sqlite")
    models = Models(chat=Paid(), embedder=embedder, name_embedder=embedder, reranker=None, calls=calls)
    with Index.open(tmp_path / "papers.index", settings=settings, models=models) as index:
        found = index.estimate(papers, pilot=3)
    # Every report by a model is embedded, without the form of its reply.
    assert (
        0 < stage(found, "report_vectors").prompt_tokens.mid < stage(found, "reports").completion_tokens.mid
    )


def test_an_unknown_price_makes_the_cost_unknown_not_zero(papers, tmp_path):
    with opened(tmp_path, Paid("some-model")) as index:
        found = index.estimate(papers)
    assert found.total.cost is None
    assert all(each.cost is None for each in found.lines)
    assert any("polygraph.toml" in note for note in found.notes)
    assert found.as_dict()["total"]["cost"] is None


def test_without_a_chat_model_nothing_is_paid(papers, tmp_path):
    with opened(tmp_path, None) as index:
        found = index.estimate(papers, methods=["hybrid"])
    assert found.lines == ()
    assert found.questions[0].calls == Range(0, 0, 0)
    assert any("no chat model" in note for note in found.notes)


def test_without_a_model_time_and_disk_come_from_a_small_sample_of_a_large_corpus(tmp_path, write_files):
    n = 2 * SAMPLED_WINDOWS
    files = {f"{i}.txt": f"Mara Quill built light number {i} with Tobias Wren." for i in range(n)}
    folder = write_files(tmp_path / "many", files)
    read: list[int] = []
    whole = nlp.extract

    def counted(windows, **options):
        read.append(len(windows))
        return whole(windows, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nlp, "extract", counted)
        with opened(tmp_path, None) as index:
            found = index.estimate(str(folder))
    assert found.windows_to_read == n
    assert 0 < sum(read) <= SAMPLED_WINDOWS + 1
    (note,) = [note for note in found.notes if "on this machine" in note]
    assert "rough" in note
    assert "of disk" in note
    assert f"of {n} windows" in note


def test_a_method_that_needs_no_graph_costs_no_extraction(papers, tmp_path):
    with opened(tmp_path, Paid()) as index:
        found = index.estimate(papers, methods=["bm25"])
    assert found.lines == ()
    assert found.windows_to_read == 0
    assert [each.method for each in found.questions] == ["bm25"]
    assert found.questions[0].calls == Range(1, 1, 1)


def test_gleaning_counts_the_exchange_that_each_further_call_repeats(papers, tmp_path):
    with opened(tmp_path, Paid(), gleaning="base") as index:
        found = index.estimate(papers)
        index.add(papers)
        row = next(r for r in index.models.calls.ledger() if r.stage == "glean")
    first, glean = stage(found, "extract"), stage(found, "glean")
    assert glean.calls == Range(6, 6, 6)
    assert row.ok == 6
    assert glean.prompt_tokens.low > first.prompt_tokens.mid + first.completion_tokens.low
    assert glean.prompt_tokens.low <= row.prompt_tokens <= glean.prompt_tokens.high


def test_equal_texts_are_one_call(papers, tmp_path):
    (papers / "copy").mkdir()
    (papers / "copy" / "log.txt").write_text(PAPERS["log.txt"], encoding="utf-8")
    chat = Paid()
    with opened(tmp_path, chat) as index:
        found = index.estimate(papers)
        index.add(papers)
        row = next(r for r in index.models.calls.ledger() if r.stage == "extract")
    assert stage(found, "extract").calls.mid == row.ok


def test_embeddings_are_counted_when_the_embedder_is_an_endpoint(papers, tmp_path):
    with ScriptedServer(chat=scripted_chat()) as server:
        flags = {
            "base_url": server.base_url,
            "api_key": "k",
            "chat_model": "scripted",
            "reranker": "none",
            "embedder": "endpoint:scripted-embedder",
        }
        with Index.open(tmp_path / "papers.index", **flags) as index:
            found = index.estimate(papers)
            assert not server.log
            index.add(papers)
            ledger = {r.stage: r for r in index.models.calls.ledger()}
            assert index.estimate(papers).lines == ()
    chunks = stage(found, "chunk_vectors")
    assert chunks.prompt_tokens == Range.exactly(ledger["chunk_vectors"].prompt_tokens)
    assert chunks.calls == Range.exactly(ledger["chunk_vectors"].ok)
    assert stage(found, "entity_vectors").prompt_tokens.mid > 0


def test_the_estimate_is_the_same_twice(papers, tmp_path):
    with opened(tmp_path, Paid()) as index:
        first, second = (index.estimate(papers, methods=["graphrag-global"]).as_dict() for _ in range(2))
    assert first == second


def test_bad_arguments_are_explained(papers, tmp_path):
    with opened(tmp_path, Paid()) as index:
        with pytest.raises(BadInput, match="--pilot -1"):
            index.estimate(papers, pilot=-1)
        with pytest.raises(IndexUnreadable, match="polygraph estimate PATH"):
            index.estimate()


# --- saved and compared ------------------------------------------------------------------------------------


def test_status_compares_the_estimate_with_what_was_spent_since(papers, tmp_path):
    with opened(tmp_path, Paid()) as index:
        index.estimate(papers, pilot=4)
        found = index.estimate(papers)
        index.add(papers)
        index.ask("Who built the Skerry Light?")
        rows = {r["stage"]: r for r in index.status()["estimate"]}
    assert rows["extract"]["actual"]["calls"] == stage(found, "extract").calls.mid == 3
    assert rows["reports"]["calls"]["mid"] == stage(found, "reports").calls.mid
    assert rows["answer"]["calls"] is None
    assert rows["answer"]["actual"]["calls"] == 1


def test_a_profile_is_taken_from_another_index_that_this_model_has_read(papers, tmp_path):
    with ScriptedServer(chat=scripted_chat()) as server:
        flags = {"base_url": server.base_url, "api_key": "k", "chat_model": "scripted", "reranker": "none"}
        flags |= {"embedder": "hash", "name_embedder": "hash"}
        with Index.open(tmp_path / "other.index", **flags) as other:
            other.add(papers)
        before = server.calls
        with Index.open(tmp_path / "new.index", **flags) as index:
            plain = index.estimate(papers)
            found = index.estimate(papers, like=tmp_path / "other.index")
            with pytest.raises(IndexUnreadable, match="no index"):
                index.estimate(papers, like=tmp_path / "nowhere")
        with (
            Index.open(tmp_path / "third.index", **flags | {"chat_model": "another"}) as index,
            pytest.raises(BadInput, match="says nothing about 'another'"),
        ):
            index.estimate(papers, like=tmp_path / "other.index")
        assert server.calls == before
    made = next(line for line in found.lines if line.stage == "extract")
    assert "windows of other.index" in made.basis
    actual = sum(entry.completion_tokens for entry in server.log if entry.task == "extract")
    guessed = next(line for line in plain.lines if line.stage == "extract").completion_tokens.mid
    # The same documents: nearly what it wrote there, and nearer than with the profile of other models.
    assert abs(made.completion_tokens.mid - actual) < 0.2 * actual
    assert abs(made.completion_tokens.mid - actual) < abs(guessed - actual)


def test_questions_are_compared_by_method_with_how_many_there_were(tmp_path):
    def row(stage, n, method="hybrid"):
        return LedgerRow(
            stage=stage, method=method, model="m", ok=n, failed=0, repaired=0, cached=0, prompt_tokens=100 * n,
            completion_tokens=10 * n, seconds=0, cost=None, unreported=0,
        )  # fmt: skip

    asked = priced_line(
        "question", "m", None, Range(1, 1, 1), Range(9, 9, 9), Range(5, 5, 5), method="hybrid"
    )
    found = Estimate(
        documents=1, windows=1, windows_to_read=0, entities=Range(0, 0, 0), communities=Range(0, 0, 0), lines=(),
        questions=(asked,),
    )  # fmt: skip
    save_estimate(tmp_path, found, [row("answer", 2)])
    [compared] = load_estimate(tmp_path, [row("answer", 5), row("rewrite", 3)])
    assert compared["questions"] == 3
    assert compared["actual"] == {"calls": 6, "prompt_tokens": 600, "completion_tokens": 60, "cost": None}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 99, "estimate": {}}'])
def test_a_damaged_file_is_no_estimate(tmp_path, text):
    (tmp_path / "estimate.json").write_text(text, encoding="utf-8")
    assert load_estimate(tmp_path, []) == []


@pytest.mark.slow
def test_the_command_leaves_no_folder_behind_and_prints_a_cap(papers, tmp_path):
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("POLYGRAPH_", "OPENAI_"))}
    environ |= {
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "POLYGRAPH_CHAT_MODEL": "gpt-4o-mini",
        "POLYGRAPH_EMBEDDER": "hash",
        "POLYGRAPH_NAME_EMBEDDER": "hash",
        "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
    }

    def run(*more):
        command = [sys.executable, "-m", "polygraph", "estimate", "papers", *more]
        done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    shown = run("--for", "graphrag-global", "--extractor", "llm", "--exclude", "*.log")
    assert "--for graphrag-global --extractor llm --exclude '*.log' --max-cost 0." in shown
    assert "one question, graphrag-global" in shown
    found = json.loads(run("--json"))
    assert [each["stage"] for each in found["lines"]] == ["extract", "reports", "suggest_same", "same"]
    assert found["total"]["cost"]["low"] > 0
    assert not (tmp_path / "polygraph.index").exists()


# --- parts ------------------------------------------------------------------------------------------------


def test_a_sum_with_an_unknown_cost_is_unknown():
    known = priced_line("a", "m", Price(1, 1), Range(1, 1, 1), Range(10, 10, 10), Range(1, 2, 3))
    assert known.cost == Range(11 / 1e6, 12 / 1e6, 13 / 1e6)
    assert priced_line("b", "m", None, Range(1, 1, 1), Range(1, 1, 1), Range(1, 1, 1)).cost is None


def test_a_profile_is_fitted_to_rows_and_replies():
    rows = Extraction(
        window="w",
        entities=tuple(EntityRow(name=f"N{i}", description=f"One thing about number {i}.") for i in range(4)),
        relations=(RelationRow(source="N0", target="N1", description="They met.", strength=5),),
    )
    fitted = fit_profile([(400, rows, 100), (400, rows, 100)])
    assert fitted.entities == 10
    assert fitted.relations == 2.5
    assert fitted.reply_tokens == 250
    assert fitted.error == 0
    assert fitted.entity_tokens == count_tokens("One thing about number 1.")
    # Two windows of one length say nothing of others: as of other models, twice the text gives the square root of 2.
    assert fitted.amount(fitted.reply_tokens, 800) == pytest.approx(100 * 2**0.5)
    assert fit_profile([(400, rows, 100)]) is None
    assert fit_profile([(400, Extraction(window="w"), 0)] * 5) is None


def test_what_a_model_writes_need_not_grow_with_the_length_of_a_window():
    rows = Extraction(window="w", entities=tuple(EntityRow(name=f"N{i}") for i in range(4)))
    lengths = (1, 100, 10_000) * 4
    # As of a model with a most number of rows: the same of every window, however short.
    capped = fit_profile([(n, rows, 100) for n in lengths])
    assert capped.power < 0.02
    assert capped.amount(capped.reply_tokens, 1000) == pytest.approx(100, rel=0.05)
    assert capped.amount(capped.entities, 1000) == pytest.approx(4, rel=0.05)
    in_proportion = fit_profile([(n, rows, n // 4) for n in lengths])
    assert in_proportion.power > 0.98
    assert in_proportion.amount(in_proportion.reply_tokens, 1000) == pytest.approx(250, rel=0.05)


@pytest.mark.parametrize("power", [None, 0.5])
def test_a_profile_writes_as_much_of_the_windows_it_is_fitted_to_as_the_model(power):
    windows = [
        (n, Extraction(window="w", entities=tuple(EntityRow(name=f"N{i}") for i in range(k))), written)
        for n, k, written in ((100, 4, 90), (400, 5, 150), (900, 12, 210))
    ]
    fitted = fit_profile(windows, power=power)
    assert power is None or fitted.power == power
    assert sum(fitted.amount(fitted.reply_tokens, n) for n, _, _ in windows) == pytest.approx(450)
    assert sum(fitted.amount(fitted.entities, n) for n, _, _ in windows) == pytest.approx(21)


def test_defaults_are_in_order_and_a_factor_changes_amounts_only():
    for low, high in pairwise(DEFAULT_PROFILES):
        assert low.reply_tokens < high.reply_tokens
        assert low.entities < high.entities
        assert low.relations < high.relations
    assert GPT_4O.scaled(2).reply_tokens == 2 * GPT_4O.reply_tokens
    assert GPT_4O.scaled(2).entity_tokens == GPT_4O.entity_tokens


def test_the_error_of_a_ratio_is_as_computed_by_hand():
    # y/x = 30/20; residuals 10-15=-5 and 20-15=5; s^2 = 50; se of the mean 5; twice that over the mean 15.
    rate, error = ratio_of_sums([(10, 10), (10, 20)])
    assert rate == 1.5
    assert error == pytest.approx(2 * 5 / 15)


def test_report_lengths_follow_a_power_of_the_context_within_bounds():
    doubled = fit_report_length([(100, 50), (200, 100), (400, 200)], most=150)
    assert doubled.power == pytest.approx(1)
    assert doubled.tokens(200) == pytest.approx(100)
    assert doubled.tokens(1000) == 150
    same = fit_report_length([(100, 80), (1000, 80)], most=1400)
    assert same.power == 0
    assert same.tokens(5) == 80
    assert fit_report_length([], most=1) is None
    assert (
        default_report_length(500).tokens(10)
        < default_report_length(500).tokens(300)
        < default_report_length(500).tokens(9000)
        == 500
    )


def test_growth_is_a_power_fitted_to_samples():
    grown = fit_growth([100, 200, 400, 800], [30, 60 * 0.5**0.5, 60, 120 * 0.5**0.5], 8000)
    assert grown.power == pytest.approx(0.5)
    assert grown.error == pytest.approx(0, abs=1e-6)
    assert fit_growth([100, 200, 400, 800], [10, 20, 40, 60], 8000).error > 0.3


def test_the_growth_of_the_simulation_is_corrected_by_the_windows_that_are_known():
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=1, text="x", n_tokens=1)

    def windows(n):
        return [
            Window(id=f"d@{k}", document="d", ordinal=k, title="", chunks=(chunk,), text="x")
            for k in range(n)
        ]

    known = {w.id: Extraction(window=w.id, status="repaired") for w in windows(4)}

    def count(some, rows):
        if rows[0].status == "repaired":
            return NameCounts(entities=30, found_once=15)
        return NameCounts(entities=40 if len(some) == 4 else 100, found_once=40)

    def entities(n, rows):
        return extrapolate_entities(windows(n), rows, lambda w: Extraction(window=w.id), count)

    # The simulation grows by 100 / 40. Of its entities all are new, of the known ones half: four times as many windows
    # give half as many as it says. The correction is that of five times as many windows at most.
    assert entities(16, known) == pytest.approx(30 * 2.5 * 4**-0.5)
    assert entities(80, known) == pytest.approx(30 * 2.5 * 5**-0.5)
    assert entities(16, dict(list(known.items())[:2])) is None


def test_simulated_windows_have_the_relations_of_windows_that_were_read():
    text = " ".join(PAPERS.values())
    n = count_tokens(text)
    names = ["Mara Quill", "Harbour Board", "Tobias Wren", "Skerry Light"]
    rows = Extraction(
        window="w",
        entities=tuple(
            EntityRow(name=name, spans=(Span("d", "d:0", 0, 1),) * (4 - k)) for k, name in enumerate(names)
        ),
        relations=tuple(
            RelationRow(source=a, target=b)
            for a, b in (("Tobias Wren", "mara quill"), ("Nobody", "Tobias Wren"))
        ),
    )
    structure = structure_of(n, rows)
    # "Nobody" is no entity.
    assert structure == WindowStructure(n, 4, ((2, 0),))
    profile = replace(GPT_4O, power=1.0, entities=8_000 / n, structures=(structure,))
    found = simulate_extraction(window(text), n, profile)
    assert len(found.entities) == 8
    # The fifth of the eight most frequent names and the most frequent one.
    [pair] = [(r.source, r.target) for r in found.relations]
    assert pair[1] == "Anna Orme"  # four times in the papers
    assert structure.pairs_of(1) == []
    longer = WindowStructure(100 * n, 4, ())
    near = [WindowStructure(n + k, 4, ()) for k in range(5)]
    assert {choose_structure([longer, *near], f"w{k}", n) for k in range(40)} == set(near)
    assert choose_structure([], "w", n) is None


def test_a_profile_counts_a_name_once_in_a_window_whatever_its_rows():
    rows = Extraction(
        window="w",
        entities=(
            EntityRow(name="Mara Quill", description="She built the light."),
            EntityRow(name="Mara Quill", description="She repaired it."),
            EntityRow(name="Mara Quill", description=""),
        ),
    )
    fitted = fit_profile([(100, rows, 0), (100, rows, 0)])
    assert fitted.entities == 10
    assert fitted.entity_tokens == count_tokens("She built the light.") + count_tokens("She repaired it.")


def test_nested_samples_hold_each_other_and_whole_documents_first():
    windows = [window("x", f"d{i:02}", k) for i in range(20) for k in range(5)]
    samples = nested_samples(windows, 48)
    assert [len(s) for s in samples] == [6, 12, 24, 48]
    for small, large in pairwise(samples):
        assert {w.id for w in small} < {w.id for w in large}
    documents = [w.document for w in samples[-1]]
    assert sum(documents.count(d) == 5 for d in set(documents)) == 9


def test_simulated_extraction_keeps_to_the_profile_it_is_given():
    text = " ".join(PAPERS.values())
    n = count_tokens(text)
    profile = replace(GPT_4O, power=1.0, entities=12_000 / n, relations=6_000 / n)
    rows = simulate_extraction(window(text), n, profile)
    assert len(rows.entities) == 12
    assert len(rows.relations) == 6
    assert {"Mara Quill", "Harbour Board"} <= {row.name for row in rows.entities}
    assert all(count_tokens(row.description) <= profile.entity_tokens + 1 for row in rows.entities)
    many = simulate_extraction(window(text), n, replace(profile, entities=40_000 / n))
    assert len(many.entities) > 30
    assert len({row.name for row in many.entities}) == len(many.entities)
    for row in many.entities:
        assert all(
            text[s.start : s.end].lower() == row.name.lower() for s in row.spans if " " not in row.name
        )


def settings_of_build(**more):
    values = {
        "chunk_tokens": 256, "embedder": "hash", "dimension": 256, "name_embedder": "hash", "name_dimension": 256,
        "extractor": "llm:x", "extractor_settings": {}, "reports": "x", "descriptions": "x",
    }  # fmt: skip
    return replace(store_records.MANIFEST, **values | more)


def test_a_simulated_graph_is_resolved_as_the_manifest_says():
    windows = [window(text, name) for name, text in PAPERS.items()]
    rows = [
        Extraction(
            window=w.id,
            entities=tuple(
                EntityRow(name=name, type="person", spans=(Span(w.document, w.chunks[0].id, 0, 1),))
                for name in ("Mara Quill", "Wren")
            ),
            relations=(RelationRow(source="Mara Quill", target="Wren", predicate="same as", strength=k + 1),),
        )
        for k, w in enumerate(windows)
    ]
    by_model, by_parser = (
        simulate_view(windows, rows, settings_of_build(extractor=name)) for name in ("llm:x", "nlp:x")
    )
    # What a model says of two names counts; the parser's predicates do not.
    assert len(by_model.entities) == 1
    assert len(by_parser.entities) == 2


def test_pairs_grow_faster_than_entities_and_are_the_known_ones_at_least():
    known = KnownPairs(n_windows=12, n_entities=100, n_pairs=10)
    found = pairs_in_doubt(known, Range(100, 400, 400))
    assert found.low == 5
    assert found.mid == pytest.approx(40 * 4**0.4)
    assert found.high == pytest.approx(80 * 4)
    assert pairs_in_doubt(KnownPairs(), Range(10, 10, 10)).mid == pytest.approx(4)


def test_a_simulated_graph_is_made_by_the_code_of_the_build():
    windows = [window(text, name) for name, text in PAPERS.items()]
    rows = [simulate_extraction(w, count_tokens(w.text), replace(GPT_4O, entities=200)) for w in windows]
    found = simulate_graph(
        windows, rows, manifest=settings_of_build(), max_context=6000, report=default_report_length(500)
    )
    # A community of two gets no report by a model.
    assert len(found.contexts) == sum(len(c.entities) >= 3 for c in found.communities) > 0
    assert any("Mara Quill" in m.text for m in found.contexts)
    assert {e.id for e in found.view.entities} == {
        e for c in found.communities if c.level == 0 for e in c.entities
    }


def test_calls_of_a_pilot_are_divided_by_the_calls_of_a_window():
    trial = SimpleNamespace(extractor_settings={"gleaning": "trial", "max_gleanings": 1})
    assert divide_calls(16, trial, reports=True) == (4, 4)
    none = SimpleNamespace(extractor_settings={"gleaning": "none", "max_gleanings": 1})
    assert divide_calls(16, none, reports=True) == (12, 4)
    assert divide_calls(16, none, reports=False) == (16, 0)
    assert divide_calls(1, none, reports=True) == (1, 0)


def layer_sizes(**more):
    values = {
        "chunk_tokens": 100.0,
        "n_chunks": 1000,
        "communities": tuple(
            Community(id=f"{level}-{i}", level=level, parent="", entities=(f"e{i}",))
            for level in (0, 3)
            for i in range(50)
        ),
        "share": 2.0,
        "report": default_report_length(500),
        "context_tokens": 4000.0,
    }
    return LayerSizes(**values | more)


def planned(name="naive", calls="1", **more):
    values = {"needs": frozenset({"chunks"}), "max_tokens": 6000, "parameters": {"k": 10}}
    return MethodPlan(name=name, calls=calls, **values | more)


def test_a_question_reads_k_chunks_or_its_budget():
    price = Price(1, 1)
    few = question_line(planned(), layer_sizes(), "m", price, [])
    assert 1000 < few.prompt_tokens.mid < 1600
    much = question_line(planned(max_tokens=500), layer_sizes(), "m", price, [])
    assert much.prompt_tokens.mid < 1000


def test_only_the_answer_of_a_method_with_two_calls_reads_the_context():
    one, two, many = (question_line(planned(calls=n), layer_sizes(), "m", None, []) for n in ("1", "2", "4"))
    assert two.calls == Range(2, 2, 2)
    assert one.prompt_tokens.mid + 200 <= two.prompt_tokens.mid <= one.prompt_tokens.mid + 400
    assert two.completion_tokens.mid < 1.5 * one.completion_tokens.mid
    # Each of many calls may read passages, as those of an agent do.
    assert many.prompt_tokens.mid == pytest.approx(4 * one.prompt_tokens.mid, rel=0.01)


def test_a_method_without_a_budget_is_not_assumed_to_read_the_whole_index():
    graph = frozenset({"chunks", "graph"})
    huge = layer_sizes(n_chunks=100_000)
    plan = planned("kg-text:paper", needs=graph, max_tokens=6000, parameters={}, has_budget=False)
    found = question_line(plan, huge, "m", Price(1, 1), [])
    assert found.prompt_tokens.high < 10_000
    assert found.basis == "no budget; the default preset has 6,000 tokens"
    # 100 chunks of 100 tokens, although the default preset has a budget of 6,000.
    chunks = question_line(planned(parameters={"k": 100}, has_budget=False), huge, "m", Price(1, 1), [])
    assert chunks.prompt_tokens.mid > 10_000


def test_reading_every_report_takes_as_many_calls_as_batches():
    method = planned(
        "graphrag-global",
        "ceil(report tokens / batch tokens) + 1",
        needs=frozenset({"reports"}),
        parameters={"level": 2, "batch_tokens": 12_000, "rollup": "entity"},
    )
    # 50 communities up to level 2, twice that in the index, 500 tokens each and about four fifths in a context:
    # 42,000 tokens are 4 batches; and one answer.
    assert question_line(method, layer_sizes(), "m", None, []).calls.mid == 5


def test_calls_that_depend_on_the_answers_are_unknown_until_questions_were_asked():
    method = planned("fg-rag", "2m + 4")
    unknown = question_line(method, layer_sizes(), "m", Price(1, 1), [])
    assert isinstance(unknown, Line)
    assert unknown.calls is None
    assert unknown.cost is None
    row = LedgerRow(
        stage="answer", method="fg-rag", model="m", ok=4, failed=0, repaired=0, cached=0, prompt_tokens=4000,
        completion_tokens=400, seconds=0, cost=0.0, unreported=0,
    )  # fmt: skip
    known = question_line(method, layer_sizes(), "m", Price(1, 1), [row, replace(row, stage="plan", ok=12)])
    assert known.calls.mid == 4
    assert known.prompt_tokens.mid == 2000
