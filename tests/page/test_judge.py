"""Judge this: what it takes is told before it begins, the verdict and its study have addresses."""

import os
import shutil
import socket
import subprocess

import pytest
from playwright.sync_api import expect

from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.testing import scripted_chat
from tests.page.conftest import COMMAND, TOKEN, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def with_model(town, tmp_path_factory):
    """The address of a server whose chat model is at an endpoint."""
    index = shutil.copytree(town, tmp_path_factory.mktemp("judge") / "i")
    with ScriptedServer(chat=scripted_chat()) as endpoint, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        model = {
            "POLYGRAPH_BASE_URL": endpoint.base_url,
            "POLYGRAPH_CHAT_MODEL": "gpt-4o-mini",
            "POLYGRAPH_API_KEY": "k",
        }
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(port), "--index", f"town={index}"],
            env=os.environ | model | {"POLYGRAPH_SERVER_TOKENS": f"tester admin {TOKEN}"},
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_for(f"http://127.0.0.1:{port}/healthz", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def compared(page, question="Who built the Skerry Light?"):
    page.get_by_label("Question").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_selector(".column")  # the first question loads the embedder


@pytest.mark.parametrize(
    ("width", "question"),
    [
        (400, "What did the Halcyon strike?"),
        pytest.param(1280, "Who built the Skerry Light?", marks=pytest.mark.deep),
    ],
)
def test_a_comparison_is_judged_and_its_study_opened(
    with_model, open_page, serious_findings, width, question
):
    page = open_page("#/town/compare?m=bm25&m=naive", width=width, server=with_model)
    compared(page, question)
    page.get_by_role("button", name="Judge this").click()
    plan = page.get_by_role("group", name="What judging takes")
    expect(plan).to_contain_text(
        "gpt-4o-mini judges each pair of answers in both orders and at equal length: 4 calls"
    )
    plan.get_by_role("button", name="Judge").click()
    expect(page.get_by_role("heading", name="Judged by gpt-4o-mini")).to_be_visible(timeout=60_000)
    page.reload()
    pair = page.locator("details.pair")
    pair.locator("summary").click()
    expect(pair.locator("tbody tr")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not serious_findings(page)
    page.get_by_role("link", name="see its report").click()
    expect(page.get_by_role("heading", name="Recommendation")).to_be_visible()
    page.go_back()
    expect(page.locator("details.pair")).to_have_count(1)
    compared(page, question)
    expect(page.locator("details.pair")).to_have_count(0)
    page.get_by_role("button", name="Judge this").click()
    expect(plan).to_contain_text("has judged these answers already; nothing is paid again")
    plan.get_by_role("button", name="Show the verdict").click()
    expect(page.locator("details.pair")).to_have_count(1, timeout=60_000)


def test_a_filtered_comparison_is_not_judged(open_page):
    page = open_page("#/town/compare?m=bm25&m=naive&f=title:light")
    compared(page)
    expect(page.get_by_role("button", name="Judge this")).to_be_disabled()


def test_without_a_model_the_answers_go_into_the_study_for_people(open_page):
    page = open_page("#/town/compare?m=bm25&m=naive")
    compared(page)
    page.get_by_role("button", name="Judge this").click()
    expect(page.get_by_role("group", name="What judging takes")).to_contain_text("nothing is judged now")
    page.get_by_role("button", name="Add to the study").click()
    expect(page.get_by_role("heading", name="In the study, not judged yet")).to_be_visible(timeout=60_000)
    expect(page.locator(".judge")).to_contain_text("polygraph eval sheet")
