"""Questions from an event loop, and the types that editors complete from."""

import asyncio
import threading
import typing
from contextlib import aclosing
from pathlib import Path

import pytest

from polygraph.config import PriceSetting, Settings
from polygraph.config.setting_values import SettingValues
from polygraph.errors import UnknownMethod
from polygraph.retrieve import METHODS
from polygraph.retrieve.method_names import MethodName
from polygraph.retrieve.stream import stream_answer_async
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

QUESTION = "Who built the Skerry Light?"
LONG_S = 60
"""No wait takes as long unless what is waited for never comes."""


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asynchronous")
    (folder / "light.txt").write_text("Mara Quill built the Skerry Light in 1869.")
    with Index.open(folder / "index", settings=Settings(), models=hashed_models(scripted_chat())) as opened:
        opened.add(folder / "light.txt")
        yield opened


def test_an_answer_is_the_same_with_and_without_await(index):
    assert asyncio.run(index.aask(QUESTION, "bm25")).text == index.ask(QUESTION, "bm25").text


def test_a_stream_has_the_same_events_with_and_without_await(index):
    async def read():
        return [event async for event in index.astream(QUESTION, "bm25")]

    found = asyncio.run(read())
    assert [event.kind for event in found] == [event.kind for event in index.stream(QUESTION, "bm25")]
    assert found[-1].answer is not None


def test_questions_run_at_the_same_time(index):
    async def ask():
        return await asyncio.gather(*(index.aask(QUESTION, name) for name in ("bm25", "naive", "hybrid")))

    assert [found.method for found in asyncio.run(ask())] == ["bm25", "naive", "hybrid"]


def test_an_error_is_raised_where_it_is_awaited(index):
    with pytest.raises(UnknownMethod):
        asyncio.run(index.aask(QUESTION, "nosuch"))


def test_a_reader_that_leaves_ends_the_work():
    read, ended = threading.Event(), threading.Event()

    def answer(*, on_retrieval, on_text):
        on_text("first")
        assert read.wait(LONG_S)
        try:
            on_text("second")
        except BaseException:
            ended.set()
            raise

    async def leave():
        async with aclosing(stream_answer_async(answer)) as events:
            async for event in events:
                assert event.text == "first"
                break
        read.set()
        await asyncio.to_thread(ended.wait, LONG_S)

    asyncio.run(leave())
    assert ended.is_set()


def test_a_cancelled_task_ends_the_work():
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def answer(*, on_retrieval, on_text):
        begun.set()
        assert go_on.wait(LONG_S)
        try:
            on_text("nobody reads this")
        except BaseException:
            ended.set()
            raise

    async def read():
        async for _ in stream_answer_async(answer):
            pass

    async def cancel():
        task = asyncio.create_task(read())
        assert await asyncio.to_thread(begun.wait, LONG_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        await asyncio.to_thread(ended.wait, LONG_S)

    asyncio.run(cancel())
    assert ended.is_set()


def test_an_index_shows_its_counts_in_a_notebook(index, tmp_path):
    assert "documents</td><td>1" in index._repr_html_()
    with Index.open(tmp_path / "none", settings=Settings(), models=hashed_models()) as empty:
        assert "there is no index" in empty._repr_html_()


def test_the_names_that_editors_complete_are_those_of_all_methods():
    assert typing.get_args(MethodName) == tuple(METHODS)


def test_the_settings_that_editors_complete_are_all_settings():
    wanted = typing.get_type_hints(SettingValues)
    assert list(wanted) == list(Settings.model_fields)
    assert not SettingValues.__required_keys__
    # A setting that may be text in the environment may be so here as well.
    also = {Path, tuple[str, ...], dict[str, PriceSetting]}
    for name, field in Settings.model_fields.items():
        accepted = set(typing.get_args(wanted[name]))
        assert type(None) in accepted
        own = field.annotation
        parts = set(typing.get_args(own)) if type(None) in typing.get_args(own) else {own}
        for part in parts - {type(None)}:
            if part in also:
                assert str in accepted, name
            else:
                assert part in accepted, name
