"""FG-RAG on a small index: what is matched, asked, summarised and shown, step by step."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from polygraph.graph.embedding_texts import description_text
from polygraph.models.providers.static import HashEmbedder
from polygraph.retrieve import METHODS
from polygraph.retrieve.answer import answer
from polygraph.retrieve.entity_expansion import CollectedDescription
from polygraph.retrieve.methods.fgrag import FGRAG, rank_passages, specific_parts
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.evidence.summarise import extractive_summaries
from polygraph.testing import scripted_chat

QUESTION = "Why did Tobias Wren refuse to pay Mara Quill?"
PUBLISHED = {"skip_generic": False, "match_by": "descriptions", "share_notes": False, "interleave": False}
PARTS = ["Tobias Wren", "refuse", "pay", "Mara Quill"]


@pytest.fixture
def index(small_index):
    return small_index


@pytest.fixture
def models(hashed_models):
    return hashed_models


def trace(found):
    return {step.name: step.value for step in found.trace}


def asked_for(chat, task):
    return [r for r in chat.requests if r.messages[0].content.startswith(f"Task: {task}")]


def by_cosine(text, index, n):
    """The nearest entities by what is said of them, worked out without the index's vectors."""
    embedder = HashEmbedder()
    entities = list(index.store.graph.all_entities())
    rows = embedder.embed([description_text(e) for e in entities], "document")
    scores = rows @ embedder.embed([text], "query")[0]
    order = sorted(range(len(entities)), key=lambda i: (-round(float(scores[i]), 5), i))
    return {entities[i].id: round(float(scores[i]), 4) for i in order[:n]}, scores


def test_weak_context_matches_the_name_and_strong_context_the_joined_names(index, models):
    found = FGRAG(**PUBLISHED, n=3)(QUESTION, index, models(scripted_chat()))
    steps = trace(found)
    assert steps["question_entities"] == PARTS
    assert [label for label, _ in steps["weak"]] == ["the question", *PARTS]
    for (label, weak), (_, strong) in zip(steps["weak"], steps["strong"], strict=True):
        _, scores = by_cosine(QUESTION if label == "the question" else label, index, 3)
        best = sorted(scores.tolist(), reverse=True)[:3]
        assert [score for _, score in weak] == pytest.approx(best, abs=2e-3)
        names = [index.entities(list(index.entity_rows([i]).values()))[0].name for i, _ in weak]
        _, scores = by_cosine("\n".join(names), index, 3)
        best = sorted(scores.tolist(), reverse=True)[:3]
        assert [score for _, score in strong] == pytest.approx(best, abs=2e-3)


def test_searches_for_each_weak_name_are_interleaved(index, models):
    joint = trace(FGRAG(**PUBLISHED, n=3)(QUESTION, index, models()))["strong"]
    each = trace(FGRAG(**PUBLISHED, n=3, strong="each")(QUESTION, index, models()))
    assert each["strong"] != joint
    _, weak = each["weak"][0]
    firsts = []
    for name in [index.entities(list(index.entity_rows([i]).values()))[0].name for i, _ in weak]:
        near, _ = by_cosine(name, index, 1)
        firsts += [i for i in near if i not in firsts]
    assert set(firsts[:3]) & {i for i, _ in each["strong"][0][1]}
    assert len(each["strong"][0][1]) <= 3


def test_names_can_be_matched_with_names(index, models):
    method = FGRAG(**{**PUBLISHED, "match_by": "names"}, n=1)
    assert method.needs == {"chunks", "graph", "name_vectors"}
    steps = trace(method(QUESTION, index, models()))
    assert dict(steps["weak"])["Mara Quill"][0][0] == "mara quill"
    assert dict(steps["weak"])["Mara Quill"][0][1] == pytest.approx(1.0, abs=1e-3)


def test_calls_are_two_for_each_entity_and_four(index, models):
    chat = scripted_chat()
    given = models(chat)
    found = FGRAG(**PUBLISHED)(QUESTION, index, given)
    answer(QUESTION, found, index, given)
    made = {row.stage: row.attempts for row in given.calls.ledger() if row.model == "scripted"}
    m = len(PARTS)
    assert made == {"question_parts": 1, "aspects": m + 1, "summarise": m + 1, "answer": 1}
    assert sum(made.values()) == 2 * m + 4


def test_aspects_of_an_entity_follow_the_extraction_in_one_conversation_and_those_of_the_question_do_not(
    index, models
):
    chat = scripted_chat()
    FGRAG(**PUBLISHED)(QUESTION, index, models(chat))
    talks = [r.messages for r in asked_for(chat, "question_parts") if len(r.messages) > 2]
    assert len(talks) == len(PARTS)
    for _, first, said, second in talks:
        assert first.content.endswith(f"Question: {QUESTION}")
        assert json.loads(said.content) == {"entities": PARTS}
        assert re.search(r"^About: (.*)$", second.content, re.MULTILINE)[1] in PARTS
    (alone,) = asked_for(chat, "aspects")
    assert [m.role for m in alone.messages] == ["system", "user"]
    assert f"About: {QUESTION}" in alone.messages[1].content


def test_a_summary_is_written_from_descriptions_then_points_then_the_question(index, models):
    chat = scripted_chat()
    found = FGRAG(**PUBLISHED)(QUESTION, index, models(chat))
    request = next(
        r for r in asked_for(chat, "summarise") if "Subject: Tobias Wren\n" in r.messages[1].content
    )
    text = request.messages[1].content
    points = dict(trace(found)["questions"])["Tobias Wren"]
    assert text.index("<notes>\n[1] ") < text.index(f"- {points[0]}") < text.index(f"Question: {QUESTION}")


def test_the_notes_of_a_summary_carry_the_dates_of_their_documents(index, models, monkeypatch):
    monkeypatch.setattr(Snapshot, "dates", lambda self, documents: dict.fromkeys(documents, "1911-05-03"))
    chat = scripted_chat()
    FGRAG()(QUESTION, index, models(chat))
    prompts = [request.messages[-1].content for request in asked_for(chat, "summarise")]
    notes = [line for prompt in prompts for line in prompt.splitlines() if re.match(r"\[\d+\] ", line)]
    assert notes
    assert all(line.endswith(" (1911-05-03)") for line in notes)
    plain = FGRAG(without="summaries")(QUESTION, index, models(chat)).evidence
    assert all(item.text.endswith(" (1911-05-03)") for item in plain)


def test_a_summary_rests_on_the_notes_that_it_cites(index, models):
    chat = scripted_chat(
        [
            ("Subject: Tobias Wren\n", "Wren would not pay [2]. He was careful [1]."),
            ("Task: summarise", "NOTHING"),
        ]
    )
    found = FGRAG(**PUBLISHED)(QUESTION, index, models(chat))
    (item,) = found.evidence
    assert (item.kind, item.id) == ("summary", "Tobias Wren")
    assert item.text == "Tobias Wren: Wren would not pay. He was careful."
    request = next(
        r for r in asked_for(chat, "summarise") if "Subject: Tobias Wren\n" in r.messages[1].content
    )
    notes = re.findall(r"^\[(\d+)\] ([^\n]*)$", request.messages[1].content, re.MULTILINE)
    sentence = notes[1][1].partition(": ")[2]
    assert any(sentence in index.chunks_by_id([s.chunk])[0].text for s in item.spans)
    assert 1 <= len(item.spans) <= 2
    assert "2 of them cited" in item.why
    assert dict(trace(found)["summaries"]) == {
        "the question": [], "Tobias Wren": [2, 1], "refuse": [], "pay": [], "Mara Quill": [],
    }  # fmt: skip


def test_if_no_summary_helps_the_retrieval_is_empty_with_the_reason(index, models):
    found = FGRAG(**PUBLISHED)(QUESTION, index, models(scripted_chat([("Task: summarise", "NOTHING.")])))
    assert (found.evidence, found.ranking) == ((), ())
    assert "helps" in found.empty_because


def test_descriptions_beyond_the_token_limit_are_reported(index, models):
    found = FGRAG(**PUBLISHED, entity_tokens=60)(QUESTION, index, models(scripted_chat()))
    counts = {label: (n, n_cut) for label, n, n_cut in trace(found)["descriptions"]}
    whole = {label: n for label, n, _ in trace(FGRAG(**PUBLISHED)(QUESTION, index, models()))["descriptions"]}
    assert all(n + n_cut == whole[label] and n_cut for label, (n, n_cut) in counts.items())
    assert {cut.budget for cut in found.cuts} == {60}
    assert sum(cut.n_items for cut in found.cuts) == sum(n_cut for _, n_cut in counts.values())
    assert all("more cut at 60 tokens" in item.why for item in found.evidence)


def test_without_expansion_only_descriptions_of_the_matched_entities_are_read(index, models):
    found = FGRAG(**PUBLISHED, without="expansion", n=2)(QUESTION, index, models(scripted_chat()))
    steps = trace(found)
    assert all(not strong for _, strong in steps["strong"])
    for (_, weak), (_, visits) in zip(steps["weak"], steps["visits"], strict=True):
        assert [v[1] for v in visits] == [i for i, _ in weak]
        assert all(hops == edges == 0 for _, _, hops, _, edges in visits)


def test_without_summaries_descriptions_go_to_the_answer_as_they_are(index, models):
    given = models(scripted_chat())
    method = FGRAG(**PUBLISHED, without="summaries")
    found = method(QUESTION, index, given)
    answer(QUESTION, found, index, given)
    assert (
        sum(row.attempts for row in given.calls.ledger() if row.model == "scripted") == int(method.calls) == 2
    )
    assert {item.kind for item in found.evidence} == {"entity", "relation"}
    texts = [item.text for item in found.evidence]
    assert len(texts) == len(set(texts))
    for item in found.evidence:
        assert re.search(r"context, cosine -?\d\.\d{3}; \S", item.why)
        assert len(item.spans) == 1


def test_at_most_nine_entities_of_the_question_are_looked_up_in_its_order(index, models):
    question = "Tell of " + ", ".join(f"Captain {letter}" for letter in "ABCDEFGHIJKLMN") + "."
    chosen = trace(FGRAG(**PUBLISHED)(question, index, models()))["question_entities"]
    assert len(chosen) == 9
    assert chosen == sorted(chosen)
    assert chosen == trace(FGRAG(**PUBLISHED)(question, index, models()))["question_entities"]
    assert chosen != trace(FGRAG(**PUBLISHED, seed=1)(question, index, models()))["question_entities"]


def test_the_whole_question_is_an_entity_only_if_wanted(index, models):
    steps = trace(FGRAG(**PUBLISHED, include_question=False)(QUESTION, index, models()))
    assert [label for label, _ in steps["weak"]] == PARTS


def test_multi_hop_answers_are_one_word_with_evidence(index, models):
    given = models(scripted_chat([("Task: answer_word", "Tobias Wren [1]")]))
    found = METHODS["fg-rag:multi-hop"]("Who refused to pay for the oil?", index, given)
    assert found.answer_form == "short"
    said = answer("Who refused to pay for the oil?", found, index, given)
    assert said.text == "Tobias Wren [1]"
    assert said.citations[0].quote.startswith("Tobias Wren refused to pay")


def test_a_multi_hop_question_without_sufficient_evidence_is_refused(index, models):
    given = models(scripted_chat([("Task: answer_word", "NO ANSWER: insufficient evidence")]))
    found = METHODS["fg-rag:multi-hop"](QUESTION, index, given)
    said = answer(QUESTION, found, index, given)
    assert said.refused
    assert "insufficient evidence" in said.text


def test_the_ranking_begins_with_the_passages_of_the_summaries(index, models):
    found = FGRAG(**PUBLISHED)(QUESTION, index, models(scripted_chat()))
    rests_on = {span.chunk for item in found.evidence for span in item.spans}
    assert set(found.ranking[: len(rests_on)]) == rests_on


def test_without_a_model_summaries_are_sentences_without_repeats(index, models):
    found = FGRAG(**PUBLISHED)(QUESTION, index, models())
    spans = [span for item in found.evidence for span in item.spans]
    assert len(spans) == len(set(spans))
    for item in found.evidence:
        for span in item.spans:
            text = index.store.documents.get(span.document).text[span.start : span.end]
            assert " ".join(text.split()) in item.text
    assert found.evidence[0].id == "the question"
    assert any("refused to pay" in item.text for item in found.evidence)


def test_the_papers_settings_are_those_of_its_code():
    paper = METHODS["fg-rag:paper"]
    assert (paper.n, paper.max_entities, paper.first, paper.total, paper.max_questions) == (
        20,
        9,
        75,
        150,
        10,
    )
    assert (paper.per_entity, paper.share_visited, paper.strong) == (0, False, "joint")
    assert np.inf > paper.entity_tokens >= 1_000_000


def test_an_entity_without_questions_is_still_summarized(index, models):
    given = models(scripted_chat([("Task: aspects", "I have no questions.")]))
    found = FGRAG(**PUBLISHED)(QUESTION, index, given)
    assert all(not asked for _, asked in trace(found)["questions"])
    assert found.evidence
    assert {q.stage for q in given.calls.quarantined()} == {"aspects"}


def test_dates_and_generic_nouns_are_no_parts_beside_names(index, models):
    steps = trace(FGRAG()(QUESTION, index, models()))
    assert [label for label, _ in steps["weak"]] == ["the question", "Tobias Wren", "Mara Quill"]
    assert specific_parts(["1871", "the 1860s", "harbour dues", "price"]) == ("harbour dues",)
    assert specific_parts(["Halcyon", "14 November 1881", "£25"]) == ("Halcyon",)
    assert specific_parts(["Preis", "Gericht"]) == ("Preis", "Gericht")
    assert specific_parts(["1871"]) == ("1871",)


def test_a_description_is_read_for_one_part_only(index, models):
    def notes(method):
        chat = scripted_chat()
        method(QUESTION, index, models(chat))
        read = []
        for request in asked_for(chat, "summarise"):
            text = request.messages[1].content
            notes = text.split("<notes>")[1].split("</notes>")[0]
            read += re.findall(r"^\[\d+\] (?:[^:\n]*: )?(.*)$", notes, re.MULTILINE)
        return read

    shared, apart = notes(FGRAG()), notes(FGRAG(share_notes=False))
    assert len(shared) == len(set(shared))
    assert set(shared) == set(apart)
    assert len(apart) > len(set(apart))


def test_the_budget_of_a_summary_truncates_weak_and_strong_context_alike(index, models):
    def strong(**options):
        method = FGRAG(n=2, first=3, total=16, match_by="descriptions", share_notes=False, **options)
        found = method(QUESTION, index, models())
        return sum(int(re.search(r"(\d+) by strong", e.why)[1]) for e in found.evidence)

    whole = strong(entity_tokens=10_000)
    assert whole == strong(entity_tokens=10_000, interleave=False) > 0
    kept = [(strong(entity_tokens=n), strong(entity_tokens=n, interleave=False)) for n in range(30, 200, 30)]
    assert all(turns >= after for turns, after in kept)
    assert any(turns > after for turns, after in kept)


def test_passages_are_ranked_by_words_of_the_question_in_all_their_notes():
    def part(*notes):
        found = [
            CollectedDescription(
                kind="entity", id=name, name=name, text=text, chunk=chunk, pass_name="weak", path=(name,)
            )
            for name, text, chunk in notes
        ]
        return SimpleNamespace(found=found)

    def cites(*chunks):
        return SimpleNamespace(spans=[SimpleNamespace(chunk=chunk) for chunk in chunks])

    parts = [
        part(("Ada", "kept bees", "a"), ("Bela", "sold bees", "b"), ("hive", "honey", "c")),
        part(("Ada", "sold hives", "c"), ("bread", "of rye", "d")),
    ]
    question = "Who kept bees and sold honey?"
    # Notes of a and of b have two words each, of c one and one, of d none; of equals, the first in turns comes first.
    assert rank_passages(question, parts, [])[-1] == "d"
    assert list(dict.fromkeys(rank_passages(question, parts, []))) == ["a", "c", "b", "d"]
    # What is cited stands before all that is not, whatever its words.
    assert rank_passages(question, parts, [cites("d"), cites("b")])[:2] == ["b", "d"]


def test_passages_that_no_summary_cites_are_ranked_by_words_of_the_question_in_their_notes(index, models):
    question = "Which bills of the inn did Mara Quill pay?"
    found = FGRAG(include_question=False)(question, index, models(scripted_chat()))
    cited = {span.chunk for item in found.evidence for span in item.spans}
    # f.txt has bills and the inn, b.txt pay; c.txt and e.txt have no word of the question.
    others = [chunk[0] for chunk in found.ranking if chunk not in cited]
    assert (others[:2], set(others[2:])) == (["f", "b"], {"c", "e"})


def test_without_a_model_what_is_said_of_an_entity_is_compared_with_its_name(index, models, monkeypatch):
    compared = []

    def watched(question, subjects, notes, passages, models):
        compared.extend(note for some in notes for note, _ in some)
        return extractive_summaries(question, subjects, notes, passages, models)

    monkeypatch.setattr("polygraph.retrieve.methods.fgrag.extractive_summaries", watched)
    FGRAG()(QUESTION, index, models())
    assert compared
    # What a relation states names both of its ends.
    names = [f"{name} " for name in index.names_by_row(range(index.n_entities)).values()]
    assert all(": " in note or note.startswith(tuple(names)) for note in compared)
