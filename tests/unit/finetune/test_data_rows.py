"""Properties of rows: nothing leaks between parts, quotes are verbatim, shares are exact, seeds decide everything."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygraph.config import Settings
from polygraph.errors import BadInput
from polygraph.evaluate.metrics.answer_match import contains_answer, normalise_answer, normalise_passage
from polygraph.evaluate.questions.file import GoldPassage, Question
from polygraph.finetune.data.build import DataOptions, make_rows
from polygraph.finetune.data.gold_questions import resolve_questions
from polygraph.finetune.data.presets import PRESETS, preset_with
from polygraph.finetune.data.records import PARTS
from polygraph.finetune.data.rows import compose_rows
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.raft import parse_raft
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

KEEPERS = (
    "Ada Berg", "Bruno Falk", "Clara Horn", "David Lind", "Edith Moor", "Frank Noll", "Grace Olsen", "Henry Pohl",
    "Irene Quist", "Jonas Rask", "Karl Stern", "Laura Thorn",
)  # fmt: skip
TEXTS = {
    f"light{i:02d}.txt": (
        f"The Lamp of Island {i}\n\nThe lamp of Island {i} was lit by {name} in {1850 + i}. The keeper had asked for "
        f"{i + 3} barrels of oil and a new clock for the tower.\n\nThe harbour board paid {name} a sum of "
        f"£{100 + 7 * i} for the lamp of Island {i}. Fog lay on the sound for {i + 20} days in that winter, and the "
        "boats stayed ashore.\n"
    )
    for i, name in enumerate(KEEPERS)
}
COPY = "The lamp of Island 3 was lit by David Lind in 1853."
TEXTS["copy.txt"] = f"An old cutting\n\n{COPY} Nobody knows who cut it out.\n"
TEXTS["odd.txt"] = (
    "Notes of a clerk\n\nThe oil of the north store [2] was bought by Mr. Ovid in the spring.\n"
)
TEXTS["own.txt"] = (
    "A letter\n\nThe lamp of Island 0 is Ada Berg's own, and that of Island 3 is David Lind's.\n"
)
GOLD = [
    *(
        Question(
            id=f"who{i:02d}",
            question=f"Who lit the lamp of Island {i}?",
            type="who",
            answers=(name, name.split()[1]),
            passages=(
                GoldPassage(
                    document=f"light{i:02d}.txt",
                    text=f"The lamp of Island {i} was lit by {name} in {1850 + i}.",
                ),
            ),
        )
        for i, name in enumerate(KEEPERS)
    ),
    *(
        Question(
            id=f"both{i:02d}",
            question=f"Who lit the lamp of Island {i}, and how much was paid for that of Island {i + 1}?",
            type="both",
            answers=(f"£{100 + 7 * (i + 1)}",),
            passages=(
                GoldPassage(
                    document=f"light{i:02d}.txt",
                    text=f"The lamp of Island {i} was lit by {name} in {1850 + i}.",
                ),
                GoldPassage(
                    document=f"light{i + 1:02d}.txt",
                    text=f"The harbour board paid {KEEPERS[i + 1]} a sum of £{100 + 7 * (i + 1)} for the lamp of "
                    f"Island {i + 1}.",
                ),
            ),
        )
        for i, name in enumerate(KEEPERS[:-1])
        if i % 3 == 0
    ),
    *(Question(id=f"null{i}", question=f"Who lives on moon {i}?", type="null", null=True) for i in range(4)),
]


@pytest.fixture(scope="module")
def lamps(tmp_path_factory):
    """Fourteen documents of one to three passages, open for reading."""
    source = tmp_path_factory.mktemp("lamps")
    for name, text in TEXTS.items():
        (source / name).write_text(text, encoding="utf-8")
    made = Settings(chunk_tokens=48, window_tokens=96)
    with Index.open(source / "index", settings=made, models=hashed_models()) as index:
        index.add(*(source / name for name in TEXTS))
    snapshot = Snapshot(source / "index")
    yield snapshot
    snapshot.close()


def rows_of(lamps, preset=None, *, held_out=0.25, seed=0, copies=1, gold=GOLD):
    resolved = resolve_questions(gold, lamps, max_oracles=2)
    return compose_rows(
        resolved,
        lamps,
        hashed_models(),
        preset or PRESETS["raft"],
        held_out=held_out,
        seed=seed,
        copies=copies,
    )


def everything(data):
    return [row for part in PARTS for row in data.rows[part]]


def evidence_of(row):
    """Return the numbered passages of the prompt, without white space that differs."""
    shown = re.search(r"<evidence>\n(.*)\n</evidence>", row.messages[1].content, re.DOTALL)[1]
    parts = re.split(r"(?:^|\n\n)\[(\d+)\] ", shown)
    return {int(n): " ".join(text.split()) for n, text in zip(parts[1::2], parts[2::2], strict=True)}


compositions = st.builds(
    lambda name, share, distractors, without: preset_with(
        name, oracle_share=share, distractors=distractors, without_oracle=without
    ),
    st.sampled_from(["raft", "graft"]),
    st.one_of(st.none(), st.floats(0.01, 1.0)),
    st.one_of(st.none(), st.tuples(st.integers(1, 3), st.integers(3, 6))),
    st.sampled_from(["refuse", "answer"]),
)
seeds = st.integers(0, 10_000)
examples = settings(max_examples=4)


@examples
@given(preset=compositions, seed=seeds, held_out=st.floats(0.05, 0.6))
def test_no_document_is_shown_in_both_parts(lamps, preset, seed, held_out):
    data = rows_of(lamps, preset, seed=seed, held_out=held_out)
    shown = {part: {chunk.document for row in data.rows[part] for chunk in row.passages} for part in PARTS}
    assert not shown["train"] & shown["held_out"]
    assert shown["held_out"] <= set(data.held_out_documents)
    assert not shown["train"] & set(data.held_out_documents)
    rests_on = {part: {d for row in data.rows[part] for d in row.question.documents} for part in PARTS}
    assert not rests_on["train"] & rests_on["held_out"]


@examples
@given(seed=seeds, share=st.floats(0.01, 1.0))
def test_quotes_are_word_for_word_and_followed_by_the_number_of_their_passage(lamps, seed, share):
    data = rows_of(lamps, preset_with("raft", oracle_share=share), seed=seed)
    for row in everything(data):
        assert bool(parse_raft(row.completion).quotes) == row.has_oracle
        shown = evidence_of(row)
        for quote, number in re.findall(r"##begin_quote##(.*?)##end_quote## \[(\d+)\]", row.completion):
            assert quote in shown[int(number)]
        for quote in row.question.quotes:
            document = lamps.store.documents.get(quote.document).text
            assert " ".join(document[quote.start : quote.end].split()) == quote.text


def test_quotes_have_the_number_of_their_passage_where_two_others_are_copies(tmp_path):
    notice = (
        "The harbour board asks all keepers to send their accounts of oil, wick and glass before the end of March, "
        "and to note the days of fog."
    )
    notices = {f"notice{n}.txt": f"Notice of harbour {n}\n\n{notice}\n" for n in "abc"}
    for name, text in {**TEXTS, **notices}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with Index.open(tmp_path / "index", models=hashed_models()) as index:
        index.add(*(tmp_path / name for name in (*TEXTS, *notices)))
    snapshot = Snapshot(tmp_path / "index")
    preset = preset_with("raft", oracle_share=1.0, distractors=(14, 14))
    rows = everything(rows_of(snapshot, preset, held_out=0.0, gold=GOLD[:12]))
    snapshot.close()
    assert any(len({*notices} & {chunk.document for chunk in row.passages}) > 1 for row in rows)
    for row in rows:
        shown = evidence_of(row)
        assert len(shown) == len(row.passages)
        for quote, number in re.findall(r"##begin_quote##(.*?)##end_quote## \[(\d+)\]", row.completion):
            assert quote in shown[int(number)]


@examples
@given(seed=seeds, share=st.integers(1, 100), held_out=st.sampled_from([0.0, 0.3]))
def test_the_share_of_rows_with_oracle_is_exact(lamps, seed, share, held_out):
    data = rows_of(lamps, preset_with("raft", oracle_share=share / 100), seed=seed, held_out=held_out)
    for part in PARTS:
        answerable = [row for row in data.rows[part] if not row.question.null]
        # Half is rounded up, and one row at least shows its answer.
        expected = max(1, (share * len(answerable) + 50) // 100) if answerable else 0
        assert sum(row.has_oracle for row in answerable) == expected


@examples
@given(preset=compositions, seed=seeds)
def test_no_distractor_holds_an_answer_or_a_quote(lamps, preset, seed):
    for row in everything(rows_of(lamps, preset, seed=seed)):
        oracles = {chunk.id for chunk in row.question.oracles}
        shown = evidence_of(row)
        assert len({chunk.id for chunk in row.passages}) == len(row.passages) == len(shown)
        for n, chunk in enumerate(row.passages, 1):
            if chunk.id in oracles:
                assert row.has_oracle
                continue
            text = normalise_passage(shown[n])
            assert not any(contains_answer(text, normalise_answer(a)) for a in row.question.answers)
            assert not any(quote.text in shown[n] for quote in row.question.quotes)


@examples
@given(preset=compositions, seed=seeds)
def test_the_seed_decides_everything(lamps, preset, seed):
    assert rows_of(lamps, preset, seed=seed) == rows_of(lamps, preset, seed=seed)


def test_another_seed_gives_another_order(lamps):
    orders = {
        tuple(row.question.id for row in rows_of(lamps, seed=seed, held_out=0.0).rows["train"])
        for seed in range(3)
    }
    assert len(orders) == 3


@examples
@given(seed=seeds, n=st.integers(1, 6))
def test_a_row_without_oracle_shows_as_many_passages(lamps, seed, n):
    data = rows_of(lamps, preset_with("raft", oracle_share=0.5, distractors=(n, n)), seed=seed, held_out=0.0)
    for row in data.rows["train"]:
        assert len(row.passages) == n + len(row.question.oracles)


@examples
@given(seed=seeds, room=st.integers(350, 900))
def test_filled_rows_keep_to_the_most_tokens_and_have_no_room_for_a_further_passage(lamps, seed, room):
    data = rows_of(lamps, preset_with("graft", max_tokens=room), seed=seed, held_out=0.0)
    for row in data.rows["train"]:
        assert row.n_tokens <= room
        # The longest passage of this index has 90 tokens with its number, and counts are upper bounds.
        assert row.n_tokens > room - 140 or len(row.passages) > 20


def test_refusals_are_those_of_rows_without_oracle_and_of_null_questions(lamps):
    data = rows_of(lamps, held_out=0.0)
    for row in data.rows["train"]:
        assert row.refuses == (not row.has_oracle)
        assert row.refuses == row.completion.startswith("<ANSWER>: NO ANSWER:")
    assert sum(row.question.null for row in data.rows["train"]) == 4
    answered = rows_of(lamps, preset_with("raft", without_oracle="answer"), held_out=0.0)
    assert not any(row.refuses or row.question.null for row in answered.rows["train"])
    assert {each.reason for each in answered.dropped} >= {"rows of these settings never refuse"}
    bare = next(row for row in answered.rows["train"] if not row.has_oracle)
    assert bare.completion == f"<ANSWER>: {bare.question.answers[0]}"
    assert "NO ANSWER" not in bare.messages[0].content


def test_graft_learns_the_answer_alone(lamps):
    for row in rows_of(lamps, PRESETS["graft"], held_out=0.0).rows["train"]:
        assert row.completion == (row.question.answers[0] if not row.question.null else row.completion)
        assert "##begin_quote##" not in "".join(message.content for message in row.messages)


@pytest.mark.parametrize("seed", range(6))
def test_documents_with_a_copy_of_a_quote_are_in_the_same_part(lamps, seed):
    data = rows_of(lamps, seed=seed, gold=GOLD[:12])
    assert ("copy.txt" in data.held_out_documents) == ("light03.txt" in data.held_out_documents)
    (row,) = [row for row in everything(data) if row.question.id == "who03"]
    assert "copy.txt:0" not in {chunk.id for chunk in row.passages}


def test_a_question_whose_quote_cannot_be_shown_as_it_is_written_is_dropped(lamps):
    # Numbers in brackets inside a passage are written otherwise, since they are not those of passages.
    text = "The oil of the north store [2] was bought by Mr. Ovid in the spring."
    odd = Question(
        id="odd",
        question="Who bought the oil?",
        answers=("Mr. Ovid",),
        passages=(GoldPassage(document="odd.txt", text=text),),
    )
    data = rows_of(lamps, preset_with("raft", oracle_share=1.0), held_out=0.0, gold=[*GOLD, odd])
    assert [each.reason for each in data.dropped if each.id == "odd"] == [
        "a quote cannot be shown word for word"
    ]


def test_for_an_answer_that_no_text_holds_other_passages_of_its_documents_are_not_shown(lamps):
    yes = Question(
        id="yes", question="Was the lamp of Island 5 paid for?", answers=("yes",), passages=GOLD[5].passages
    )
    data = rows_of(lamps, preset_with("raft", oracle_share=1.0), held_out=0.0, gold=[*GOLD, yes])
    (row,) = [row for row in data.rows["train"] if row.question.id == "yes"]
    assert [chunk.id for chunk in row.passages if chunk.document == "light05.txt"] == [
        row.question.oracles[0].id
    ]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (Question(id="q", question="Q?", answers=("Ada",)), "its gold does not say where the answer is"),
        (Question(id="q", question="Q?"), "it has no answer"),
        (Question(id="q", question="Q?", references=("A summary.",)), "its gold is a summary, not an answer"),
        (
            Question(id="q", question="Q?", answers=("Ada",), evidence=("gone.txt",)),
            "its evidence is not in the index, or only a part of it",
        ),
        (
            Question(id="q", question="Q?", answers=("Ada",), evidence=("light00.txt", "gone.txt")),
            "its evidence is not in the index, or only a part of it",
        ),
        (
            Question(id="q", question="Q?", answers=("Zeus",), evidence=("light00.txt",)),
            "no passage of its evidence holds the answer word for word",
        ),
        (replace(GOLD[0], id="q"), "it repeats an earlier question"),
    ],
)
def test_a_question_that_cannot_be_resolved_is_dropped_with_the_reason(lamps, question, reason):
    found = resolve_questions([GOLD[0], question], lamps, max_oracles=2)
    assert [(each.id, each.reason) for each in found.dropped] == [("q", reason)]


def test_questions_that_all_rest_on_one_document_cannot_be_held_out(lamps):
    with pytest.raises(BadInput, match=r"none can be held out.*--held-out 0"):
        rows_of(lamps, gold=GOLD[:1])
    assert len(rows_of(lamps, gold=GOLD[:1], held_out=0.0).rows["train"]) == 1


def test_no_question_left_says_why(lamps):
    with pytest.raises(BadInput, match=r"its evidence is not in the index.*\(1 question\).*--questions FILE"):
        rows_of(
            lamps,
            gold=[Question(id="q", question="Q?", answers=("A b",), evidence=("gone.txt",))],
            held_out=0.0,
        )


def test_questions_posed_by_a_model_rest_on_the_passages_that_it_quotes(small_index):
    from polygraph.testing import scripted_chat

    models = hashed_models(scripted_chat())
    options = DataOptions(preset=preset_with("raft", oracle_share=1.0), questions="model", n=9, held_out=0.0)
    data = make_rows(small_index, models, options)
    assert data.rows["train"]
    for row in data.rows["train"]:
        quotes = parse_raft(row.completion).quotes
        assert quotes
        assert "The evidence says:" in row.completion
        for quote in quotes:
            assert any(quote in " ".join(chunk.text.split()) for chunk in row.question.oracles)


def test_a_model_can_reason_towards_known_answers(lamps):
    from polygraph.finetune.data.model_questions import with_reasoning
    from polygraph.testing import scripted_chat

    models = hashed_models(scripted_chat())
    found = with_reasoning(resolve_questions(GOLD, lamps, max_oracles=2), lamps, models, lambda *_: None)
    reasoned = [question for question in found.questions if not question.null]
    assert reasoned
    assert all(question.reasoning.startswith("The evidence says:") for question in reasoned)
    assert {question.id for question in found.questions} >= {"null0", "null1", "null2", "null3"}
    data = compose_rows(found, lamps, models, preset_with("raft", oracle_share=1.0), held_out=0.0, seed=0)
    for row in data.rows["train"]:
        for quote, number in re.findall(r"##begin_quote##(.*?)##end_quote## \[(\d+)\]", row.completion):
            assert quote in evidence_of(row)[int(number)]


def test_copies_of_a_question_differ_and_keep_the_share_of_oracles(lamps) -> None:
    once = rows_of(lamps, preset_with("raft", distractors=(1, 4)))
    thrice = rows_of(lamps, preset_with("raft", distractors=(1, 4)), copies=3)
    asked = [row.question.id for row in once.rows["train"]]
    assert sorted(row.question.id for row in thrice.rows["train"]) == sorted(3 * asked)
    assert thrice.rows["held_out"] == once.rows["held_out"]
    shown = {(row.question.id, tuple(c.id for c in row.passages)) for row in thrice.rows["train"]}
    assert len(shown) > 2 * len(asked)
    answerable = [row for row in thrice.rows["train"] if not row.question.null]
    assert sum(row.has_oracle for row in answerable) == int(0.8 * len(answerable) + 0.5)
