"""The Python API: the same verbs as the commands, and one real book with the local models."""

import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from polygraph.errors import BadInput, IndexUnreadable, MissingExtra, MissingLayer, UnknownMethod
from polygraph.models.call_store import Attempt
from polygraph.models.open import has_local, has_static
from polygraph.models.protocols import ChatReply
from polygraph.retrieve import method as find_method
from polygraph.retrieve.methods.lexical import BM25
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

METHODS = ("naive", "bm25", "hybrid", "graphrag-local", "graphrag-global")
QUESTION = "Who refused to pay for the lamp of the Skerry Light?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, papers_texts, write_files):
    base = tmp_path_factory.mktemp("workspace")
    with Index.open(base / "index", models=hashed_models()) as index:
        index.add(write_files(base / "papers", papers_texts))
    return base / "index"


@pytest.fixture
def index(folder):
    with Index.open(folder, models=hashed_models()) as opened:
        yield opened


@pytest.fixture
def answered(folder):
    """The same index with a chat model."""
    with Index.open(folder, models=hashed_models(scripted_chat())) as opened:
        yield opened


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("question", ["", "  ", "\n\t", "\u3000"])
def test_an_empty_question_is_refused_before_anything_is_done(index, method, question):
    for verb in (index.ask, index.retrieve, lambda q, m: list(index.stream(q, m))):
        with pytest.raises(BadInput, match="the question is empty"):
            verb(question, method)


@pytest.mark.parametrize("question", ["a\x00b", "\ud800 lamp?", "🏮" * 50, "x" * 100_000])
def test_any_other_text_is_a_question(index, question):
    for method in METHODS:
        found = index.ask(question, method)
        assert found.question == question
        assert found.text


def test_a_method_of_ones_own_can_be_given_as_an_object(index):
    found = index.ask(QUESTION, BM25(k=1))
    assert len(found.retrieval.evidence) == 1
    assert found.method == "bm25"


def test_presets_are_named_as_they_were_asked_for(index):
    assert index.ask(QUESTION, "bm25:rograg").method == "bm25:rograg"
    with pytest.raises(UnknownMethod):
        index.ask(QUESTION, "bm25:nobody")


def test_streamed_events_end_in_the_answer_that_ask_gives(index, answered):
    for one in (index, answered):
        events = list(one.stream(QUESTION, "hybrid"))
        assert [events[0].kind, events[-1].kind] == ["retrieval", "answer"]
        whole = one.ask(QUESTION, "hybrid")
        assert events[-1].answer.text == whole.text
        assert "".join(e.text for e in events if e.kind == "text") == whole.text
        assert events[0].retrieval.evidence == whole.retrieval.evidence


def test_an_error_in_a_stream_is_raised_where_the_stream_is_read(index):
    with pytest.raises(UnknownMethod):
        next(iter(index.stream(QUESTION, "nobody")))


def test_compare_keeps_the_order_and_checks_names_first(answered):
    found = answered.compare(QUESTION, ["hybrid", "bm25"])
    assert [a.method for a in found] == ["hybrid", "bm25"]
    n = len(answered.models.chat.requests)
    with pytest.raises(UnknownMethod):
        answered.compare("What else was said?", ["bm25", "nobody"])
    assert len(answered.models.chat.requests) == n


def test_compare_answers_in_the_form_that_is_chosen(answered):
    answered.compare("What became of the light?", ["bm25"], form="overview")
    assert "Task: answer_overview" in answered.models.chat.requests[-1].messages[0].content


def test_a_follow_up_question_is_made_to_stand_on_its_own(index, answered):
    history = [("Who was Old Tobin?", "Master of the Halcyon. [1]")]
    for one in (index, answered):
        found = one.ask("What did he bring ashore?", "bm25", history=history)
        assert found.question == "What did he bring ashore?"
        assert "Tobin" in found.retrieval.question
        assert "crew" in found.text
    assert answered.ask("What did he bring ashore?", "bm25", history=history).usage.cached_calls == 2
    # A question that names something itself is left as it is.
    assert (
        index.ask("Who was Mara Quill?", "bm25", history=history).retrieval.question == "Who was Mara Quill?"
    )


def test_usage_counts_calls_once_and_cached_ones_apart(answered):
    first = answered.ask("Which ship struck the Grey Reef?", "naive").usage
    again = answered.ask("Which ship struck the Grey Reef?", "naive").usage
    assert (first.calls, first.cached_calls) == (1, 0)
    assert (again.calls, again.cached_calls) == (0, 1)
    assert first.prompt_tokens > 0
    assert again.prompt_tokens == 0


def test_questions_can_be_asked_from_several_threads(index):
    questions = [f"{QUESTION} {n}" for n in range(12)]
    alone = [index.ask(q, "hybrid").text for q in questions]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda q: index.ask(q, "hybrid").text, questions))
    assert together == alone


def test_a_state_that_was_taken_stays_and_the_next_question_sees_the_new_one(
    tmp_path, papers_texts, write_files
):
    folder = write_files(tmp_path / "papers", papers_texts)
    with (
        Index.open(tmp_path / "index", models=hashed_models()) as writer,
        Index.open(tmp_path / "index", models=hashed_models()) as reader,
    ):
        writer.add(folder)
        taken = reader.snapshot()
        before = find_method("graphrag-local")(QUESTION, taken, hashed_models())
        write_files(folder, {"letter.txt": "Mara Quill sold the lamp of the Skerry Light to Ezra Pike."})
        writer.add(folder)
        assert find_method("graphrag-local")(QUESTION, taken, hashed_models()).context == before.context
        assert "Ezra Pike" in reader.ask("Who was the lamp sold to?", "hybrid").text
        with Index.open(tmp_path / "index", models=hashed_models()) as late:
            assert "Ezra Pike" in late.ask("Who was the lamp sold to?", "hybrid").text


def test_the_index_that_changes_can_be_read_meanwhile(tmp_path, papers_texts, write_files):
    folder = write_files(tmp_path / "papers", papers_texts)
    with Index.open(tmp_path / "index", models=hashed_models()) as index:
        index.add(folder, methods=["bm25"])
        taken = index.snapshot()
        before = find_method("bm25")(QUESTION, taken, hashed_models()).context
        write_files(folder, {"letter.txt": "Mara Quill sold the lamp of the Skerry Light to Ezra Pike."})
        index.add(folder, methods=["bm25"])
        assert find_method("bm25")(QUESTION, taken, hashed_models()).context == before
        assert "Ezra Pike" in index.ask("Who was the lamp sold to?", "bm25").text
        earlier = weakref.ref(taken)
        del taken
        assert earlier() is None, "nobody reads it, so that it is closed"


def test_a_change_while_a_state_is_looked_up_leaves_the_reader_a_state(
    tmp_path, papers_texts, write_files, monkeypatch
):
    folder = write_files(tmp_path / "papers", papers_texts)
    with Index.open(tmp_path / "index", models=hashed_models()) as index:
        index.add(folder, methods=["bm25"])
        taken = index.snapshot()

        def changed_meanwhile():
            index.add(folder, methods=["bm25"])  # as another thread may do at this moment
            return True

        monkeypatch.setattr(taken.store, "is_open", changed_meanwhile)
        assert index.snapshot() is taken


def test_a_missing_layer_names_the_command(tmp_path, papers):
    with Index.open(tmp_path / "index", models=hashed_models()) as index:
        index.add(papers, methods=["bm25"])
        with pytest.raises(MissingLayer, match="--for graphrag-global"):
            index.ask(QUESTION, "graphrag-global")


def documents_of(index):
    """Ids of the documents of an index."""
    return sorted(index.snapshot().store.documents.hashes())


@pytest.mark.parametrize("inner_first", [False, True])
def test_a_folder_or_file_within_an_indexed_folder_is_not_indexed_twice(tmp_path, write_files, inner_first):
    rows = "title,text\nbell,The bell was cast in 1882.\nlamp,The lamp was lit by Tobin.\n"
    folder = write_files(
        tmp_path / "notes", {"light.txt": "Mara built the light.", "logs/ship.txt": "The ship sank."}
    )
    write_files(folder, {"logs/things.csv": rows})
    whole = [folder], [folder / "logs"], [folder / "logs" / "ship.txt"]
    with Index.open(tmp_path / "index", models=hashed_models()) as index:
        for paths in reversed(whole) if inner_first else whole:
            index.add(*paths, methods=["bm25"])
        before = documents_of(index)
        assert len(before) == 4
        write_files(folder, {"logs/ship.txt": "The ship was raised."})
        report = index.add(folder / "logs", methods=["bm25"])
        assert (report.added, report.changed, report.removed) == (0, 1, 0)
        assert (documents_of(index), report.unread) == (before, ())
        assert index.add(folder, methods=["bm25"]).unchanged == 4
        documents = index.snapshot().store.documents
        assert [documents.get(id).text for id in before if "ship" in id] == ["The ship was raised."]


def test_a_file_of_the_same_name_in_another_folder_is_another_document(tmp_path, write_files):
    one = write_files(tmp_path / "one", {"logs/ship.txt": "The ship sank."})
    two = write_files(tmp_path / "two", {"ship.txt": "The barque was sold."})
    with Index.open(tmp_path / "index", models=hashed_models()) as index:
        index.add(one, methods=["bm25"])
        index.add(two, methods=["bm25"])
        assert documents_of(index) == ["logs/ship.txt", "ship.txt"]
        assert index.add(one / "logs", methods=["bm25"]).unchanged == 1
        assert documents_of(index) == ["logs/ship.txt", "ship.txt"]


def test_a_path_that_is_no_folder_is_no_index(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(IndexUnreadable):
        Index.open(tmp_path / "file", models=hashed_models())
    with pytest.raises(IndexUnreadable), Index.open(tmp_path / "none", models=hashed_models()) as index:
        index.ask(QUESTION)


def test_flags_in_code_are_checked_like_all_settings(tmp_path):
    with pytest.raises(BadInput, match="embeder"):
        Index.open(tmp_path / "index", embeder="hash")


# --- a real book, with the local models -----------------------------------------------------------------


@pytest.fixture(scope="module")
def carol(shared_data, tmp_path_factory):
    corpus = shared_data("graph-christmas-carol") / "corpus.jsonl"
    if not (has_local() and has_static()):
        pytest.skip('the models of the extra "local" are not installed')
    try:
        with Index.open(tmp_path_factory.mktemp("carol") / "index", offline=True) as index:
            index.add(corpus)
            yield index
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_book_tells_who_scrooges_partner_was(carol, method):
    found = carol.ask("Who was Scrooge's late business partner?", method)
    assert not found.refused, found.text
    assert any("Marley" in citation.quote for citation in found.citations), found.text
    for citation in found.citations:
        text = carol.snapshot().store.documents.get(citation.document).text
        assert text[citation.start : citation.end] == citation.quote


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_book_says_something_on_what_changes_scrooges_mind(carol, method):
    found = carol.ask("What changes Scrooge's mind?", method)
    assert not found.refused, found.text
    assert found.citations


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_book_cannot_tell_the_capital_of_mongolia(carol, method):
    found = carol.ask("What is the capital of Mongolia?", method)
    assert found.refused, found.text
    assert "Mongolia" in found.text or "answer" in found.text


def test_an_index_of_nothing_that_can_be_read_leaves_no_folder_behind(tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "empty.txt").write_text("\n")
    folder = tmp_path / "new" / "index"
    flags = {"offline": True, "embedder": "hash", "name_embedder": "hash", "reranker": "none"}
    with Index.open(folder, **flags) as index, pytest.raises(BadInput, match="nothing could be read"):
        index.add(tmp_path / "papers")
    assert not folder.parent.exists()


def test_documents_are_not_indexed_into_their_own_folder(tmp_path):
    (tmp_path / "a.txt").write_text("Ada Vale keeps the light.")
    flags = {"offline": True, "embedder": "hash", "name_embedder": "hash", "reranker": "none"}
    with (
        Index.open(tmp_path, **flags) as index,
        pytest.raises(BadInput, match="both the documents and the index"),
    ):
        index.add(tmp_path)


def test_a_folder_without_an_index_stays_if_it_holds_what_was_paid_for_or_was_there_before(tmp_path):
    flags = {"offline": True, "embedder": "hash", "name_embedder": "hash", "reranker": "none"}
    paid = Attempt(stage="extract", method="", model="m", outcome="ok")
    with Index.open(tmp_path / "paid", **flags) as index:
        reply = ChatReply(text="A", prompt_tokens=1, completion_tokens=1, finish="stop")
        index.models.calls.store.save_reply("key", reply, paid)
    (tmp_path / "empty").mkdir()
    Index.open(tmp_path / "empty", **flags).close()
    with Index.open(tmp_path / "used", **flags), Index.open(tmp_path / "used", **flags) as other:
        other.close()
        # The first one may still write to it.
        assert (tmp_path / "used" / "calls.sqlite").exists()
    assert (tmp_path / "paid" / "calls.sqlite").exists()
    assert (tmp_path / "empty").exists()
    assert not (tmp_path / "used").exists()
