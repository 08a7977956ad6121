"""HippoRAG 2: seeds, reset weights and the walk worked out by hand on a chain of four statements."""

import numpy as np
import pytest

from polygraph.graph.csr import Graph
from polygraph.models import Calls, Models
from polygraph.models.protocols import ChatReply
from polygraph.records import Triple
from polygraph.retrieve import METHODS
from polygraph.retrieve.methods.hipporag import HippoRAG
from polygraph.retrieve.row_texts import fact_statements
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Nearest
from polygraph.tasks.evidence.filter_facts import parse_fact_choice, relevant_facts
from polygraph.testing import WordEmbedder, scripted_chat

TEXTS = {
    "d1": "Ada funds Bela.",
    "d2": "Bela repairs Cyra.",
    "d3": "Cyra guards Dora.",
    "d4": "Ada visits Ezra.",
}
"""Each makes one statement. Entities by row: ada (d1, d4), bela (d1, d2), cyra (d2, d3), dora (d3), ezra (d4)."""
QUESTION = "What does Ada fund?"
ADA, BELA, CYRA, DORA, EZRA, D1, D2, D3, D4 = range(9)
FACTS = [(ADA, BELA), (BELA, CYRA), (CYRA, DORA), (ADA, EZRA)]
MENTIONS = [(ADA, D1), (BELA, D1), (BELA, D2), (CYRA, D2), (CYRA, D3), (DORA, D3), (ADA, D4), (EZRA, D4)]


WORDS = WordEmbedder(("ada", "bela", "cyra", "dora", "ezra"))


class Says:
    """A model that always says the same."""

    name = "says"
    local = True

    def __init__(self, text):
        self.text = text

    def chat(self, request, on_text=None):
        return ChatReply(text=self.text, prompt_tokens=1, completion_tokens=1)


def models(chat=None):
    return Models(chat=chat, embedder=WORDS, name_embedder=WORDS, reranker=None, calls=Calls(None))


@pytest.fixture(scope="module")
def index(tmp_path_factory, index_of):
    with index_of(tmp_path_factory.mktemp("hipporag"), TEXTS, models(scripted_chat())) as made:
        yield made


def ask(index, question=QUESTION, chat=None, **parameters):
    found = HippoRAG(**parameters)(question, index, models(chat))
    return found, {step.name: step.value for step in found.trace}


def solved(reset, edges, damping):
    """Personalized PageRank by solving its linear equations."""
    flow = np.zeros((9, 9))
    for a, b in edges:
        flow[a, b] += 1
        flow[b, a] += 1
    flow /= flow.sum(axis=1, keepdims=True)
    start = np.array(reset) / np.sum(reset)
    return (1 - damping) * np.linalg.solve(np.eye(9) - damping * flow.T, start)


def test_the_layers_contain_the_facts_of_the_texts(index):
    assert [e.id for e in index.entities(range(5))] == ["ada", "bela", "cyra", "dora", "ezra"]
    facts, mentions = index.edges("facts"), index.edges("mentions")
    assert [tuple(map(int, e)) for e in zip(*facts.edges()[:2], strict=True)] == sorted(FACTS)
    assert [tuple(map(int, e)) for e in zip(*mentions.edges()[:2], strict=True)] == sorted(MENTIONS)
    assert index.edges("synonyms").n_edges == 0  # these names have nothing in common


def test_facts_are_scaled_and_filtered_and_entities_weighted_by_hand(index):
    # Cosines with the question: 1/√2 for what Ada does, 0 for the rest; scaled 1, 1, 0, 0.
    _, trace = ask(index)
    assert trace["facts"] == [
        ["ada | funds | bela", 1.0],
        ["ada | visits | ezra", 1.0],
        ["bela | repairs | cyra", 0.0],
        ["cyra | guards | dora", 0.0],
    ]
    assert trace["kept"] == ["ada | funds | bela", "ada | visits | ezra"]
    # Ezra: 1 / one passage. Ada: (1 + 1) / two facts / two passages. Bela: 1 / two passages.
    assert trace["phrases"] == [["ezra", 1.0, 1, 1], ["ada", 0.5, 2, 2], ["bela", 0.5, 2, 1]]


def test_without_the_filter_facts_with_score_zero_seed_nothing(index):
    _, trace = ask(index, filter=False)
    assert len(trace["kept"]) == 4
    # Bela: (1 + 0) / two facts / two passages; Cyra and Dora have facts of score 0 only.
    assert trace["phrases"] == [["ezra", 1.0, 1, 1], ["ada", 0.5, 2, 2], ["bela", 0.25, 2, 2]]


def test_passages_are_weak_seeds_and_the_walk_solves_the_equations(index):
    # Cosines of the passages: 1/√2, 0, 0, 1/√2; scaled 1, 0, 0, 1; times 0.05.
    found, trace = ask(index, tolerance=1e-10)
    assert trace["passages"] == [["d1.txt:0", 0.05], ["d4.txt:0", 0.05], ["d2.txt:0", 0.0], ["d3.txt:0", 0.0]]
    expected = solved([0.5, 0.5, 0, 0, 1, 0.05, 0, 0, 0.05], FACTS + MENTIONS, 0.5)
    scores = dict(trace["walk"])
    assert [scores[f"d{n}.txt:0"] for n in (1, 2, 3, 4)] == pytest.approx(expected[5:].tolist(), abs=1e-7)
    assert found.ranking == ("d4.txt:0", "d1.txt:0", "d2.txt:0", "d3.txt:0")


def test_entity_edges_are_multiplied_by_their_factor(index):
    _, trace = ask(index, tolerance=1e-10, entity_edges=2.0)
    expected = solved([0.5, 0.5, 0, 0, 1, 0.05, 0, 0, 0.05], FACTS * 2 + MENTIONS, 0.5)
    assert dict(trace["walk"])["d2.txt:0"] == pytest.approx(expected[D2], abs=1e-7)


def test_at_most_phrases_entities_seed_the_walk(index):
    _, trace = ask(index, phrases=1)
    assert [row[0] for row in trace["phrases"]] == ["ezra"]


def test_synonyms_add_to_facts_or_replace_them(index):
    synonyms = Graph.from_edges(5, [ADA], [BELA], [0.9])
    own = Snapshot(index.folder)
    own.derived("synonyms", lambda: synonyms)  # in place of the stored ones
    net = HippoRAG().network(own)
    _, others, weights = net.edges_at(np.array([ADA]))
    assert weights[others == BELA].sum() == pytest.approx(1.9)
    net = METHODS["hipporag:2"].network(own)
    _, others, weights = net.edges_at(np.array([ADA]))
    assert weights[others == BELA].sum() == pytest.approx(2 * 0.9)
    assert weights[others == EZRA].sum() == pytest.approx(2 * 1.0)
    own.close()


def test_the_fast_embedder_alone_finds_the_same_facts_here(index):
    assert ask(index, rescored=0)[1]["facts"] == ask(index)[1]["facts"]


def test_only_the_nearest_facts_are_compared_again(index):
    _, trace = ask(index, rescored=2)
    assert [fact for fact, _ in trace["facts"]] == ["ada | funds | bela", "ada | visits | ezra"]


def test_without_facts_passages_are_ranked_by_similarity_and_the_trace_says_so(index):
    found, trace = ask(index, "Who mends the roof?")
    assert trace["kept"] == []
    assert trace["fallback"] == "the filter kept no fact"
    assert "the filter kept no fact" in found.evidence[0].why
    found, trace = ask(index, chat=Says('{"facts": []}'))
    assert trace["fallback"] == "the filter kept no fact"
    assert found.ranking[:2] == ("d1.txt:0", "d4.txt:0")  # equal cosines, in order
    assert "fallback" not in ask(index)[1]


def test_evidence_names_the_fact_from_which_the_walk_came(index):
    found, _ = ask(index)
    why = {e.id: e.why for e in found.evidence}
    assert "came by Ezra → d4.txt:0, from the fact (ada → visits → ezra)" in why["d4.txt:0"]
    assert "cosine 0.707" in why["d4.txt:0"]


def test_a_filter_removes_entities_facts_and_passages_from_the_walk(index, within):
    inside = within(index, "d1.txt", "d2.txt")
    found, trace = ask(inside, tolerance=1e-10)
    assert set(found.ranking) == {"d1.txt:0", "d2.txt:0"}
    assert "ezra" not in repr(found)
    assert "dora" not in repr(found)
    # Ada is mentioned once in there, so her weight is not halved.
    assert trace["phrases"] == [["ada", 1.0, 1, 1], ["bela", 0.5, 2, 1]]
    edges = [(ADA, BELA), (BELA, CYRA), (ADA, D1), (BELA, D1), (BELA, D2), (CYRA, D2)]
    loops = [(v, v) for v in (DORA, EZRA, D3, D4)]  # alone, and never reached
    expected = solved([1, 0.5, 0, 0, 0, 0.05, 0, 0, 0], edges + loops, 0.5)
    assert dict(trace["walk"])["d2.txt:0"] == pytest.approx(expected[D2], abs=1e-7)


def test_the_filter_is_one_call_for_all_facts(index):
    given = models(scripted_chat())
    HippoRAG()(QUESTION, index, given)
    assert [row.stage for row in given.calls.ledger() if row.model == "scripted"] == ["relevant_facts"]


def test_the_filter_is_shown_names_as_documents_write_them(index):
    chat = scripted_chat()
    HippoRAG()(QUESTION, index, models(chat))
    (request,) = (r for r in chat.requests if r.messages[0].content.startswith("Task: relevant_facts"))
    assert "[1] Ada, funds, Bela" in request.messages[1].content


# --- the filter ---------------------------------------------------------------------------------------


def triple(source, predicate, target):
    return Triple(
        id=f"{source} | {predicate} | {target}", source=source, target=target, predicate=predicate,
        weight=1.0, chunks=("d:0",),
    )  # fmt: skip


SHOWN = ["ada, funds, bela", "bela, repairs, cyra", "cyra, guards, dora"]


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ('{"facts": [3, 1]}', (0, 2)),
        ('```json\n{"facts": ["1", "fact 2"]}\n```', (0, 1)),
        ("[2, 2, 9]", (1,)),
        ('{"facts": []}', ()),
        ('{"fact": [["Ada", "funds", "Bela"]]}', (0,)),
        ('{"facts": ["Bela repaired Cyra"]}', (1,)),
        ('{"facts": [{"number": 3}, {"subject": "ada", "predicate": "funds", "object": "bela"}]}', (0, 2)),
    ],
)
def test_facts_are_selected_by_number_or_else_by_their_words(reply, chosen):
    assert parse_fact_choice(reply, SHOWN) == chosen


@pytest.mark.parametrize("reply", ["none of them", '{"answer": "Ada"}', '{"facts": [7]}', '{"facts": ["x"]}'])
def test_a_reply_that_names_no_fact_is_unusable(reply):
    from polygraph.errors import UnusableReply

    with pytest.raises(UnusableReply):
        parse_fact_choice(reply, SHOWN)


def test_without_a_model_facts_that_share_a_word_with_the_question_are_kept():
    facts = [triple("mara quill", "built", "skerry light"), triple("old tobin", "sailed", "halcyon")]
    assert relevant_facts("Who paid for Skerry lights?", facts, models(), method="t") == (0,)
    assert relevant_facts("Who was sailing?", facts, models(), method="t") == ()
    assert relevant_facts("Who?", [], models(scripted_chat()), method="t") == ()


def test_without_a_model_languages_without_spaces_work_too():
    facts = [triple("灯塔", "由", "王建"), triple("港口", "位于", "南岸")]
    assert relevant_facts("谁建造了灯塔？", facts, models(), method="t") == (0,)


def test_scores_are_scaled_over_the_facts_that_were_compared_again_or_over_all(index):
    question = "Did Ada fund Bela?"
    # Cosines of the facts: 1, 1/2, 1/2 and, not among the nearest three, 0.
    near = [score for _, score in ask(index, question, rescored=3)[1]["facts"]]
    every = [score for _, score in ask(index, question, rescored=3, scale="all")[1]["facts"]]
    assert near == pytest.approx([1.0, 0.0, 0.0], abs=1e-5)
    assert every == pytest.approx([1.0, 0.5, 0.5], abs=1e-5)


def test_of_many_passages_only_the_nearest_seed_the_walk(index):
    _, trace = ask(index, seed_passages=2, filter=False)
    # d1 and d4 name Ada; the others have nothing in common with the question and are not seeds.
    assert [chunk.partition(".")[0] for chunk, _ in trace["passages"]] == ["d1", "d4"]
    _, trace = ask(index, seed_passages=0, filter=False)
    assert len(trace["passages"]) == 4


def test_a_fact_is_compared_with_what_its_own_passages_say_of_it(tmp_path, index_of):
    texts = {"e1": "Ada funds Bela. Ada funds Bela with gold.", "e2": "Ada hires Bela."}
    with index_of(tmp_path, texts, models(scripted_chat())) as made:
        facts = list(made.triples(range(made.store.count("triples"))).values())
        assert fact_statements(facts, made) == [
            "Ada funds Bela. Ada funds Bela. Ada funds Bela with gold.",
            "Ada hires Bela. Ada hires Bela.",
        ]


def test_the_preset_of_the_published_code_compares_triples_alone(index):
    compared = []
    embed = Calls.embed

    class Watched(Calls):
        def embed(self, embedder, texts, kind, **names):
            if names.get("stage") == "facts":
                compared.extend(texts)
            return embed(self, embedder, texts, kind, **names)

    watched = Models(chat=None, embedder=WORDS, name_embedder=WORDS, reranker=None, calls=Watched(None))
    METHODS["hipporag:2"](QUESTION, index, watched)
    assert set(compared) == {"ada funds bela", "ada visits ezra", "bela repairs cyra", "cyra guards dora"}
    compared.clear()
    METHODS["hipporag"](QUESTION, index, watched)
    assert "Ada funds Bela. Ada funds Bela." in compared


def test_passages_that_seed_the_walk_are_found_by_codes_where_there_are_some(index, monkeypatch):
    """With codes the same passages with the same weights as without, if the codes miss none."""
    asked: list[int] = []
    vector = np.asarray(WORDS.embed(["ada funds cyra"], "query")[0])

    def nearest(self, query, k):
        asked.append(k)
        scores = self.chunk_scores(query)
        rows = np.lexsort((np.arange(4), -scores))[:k]
        return Nearest(rows, scores[rows].astype(np.float64))

    for seed_passages in (1, 2, 3):
        method = HippoRAG(seed_passages=seed_passages)
        rows, priors = method._priors(vector, index)
        with monkeypatch.context() as patch:
            patch.setattr(Snapshot, "approximates_chunks", lambda _self, k: k <= 3)
            patch.setattr(Snapshot, "nearest_chunks", nearest)
            patch.setattr(Snapshot, "search_chunks", lambda self, query, k: nearest(self, query, k).hits())
            found, weights = method._priors(vector, index)
        assert found.tolist() == rows.tolist()
        assert weights.tolist() == pytest.approx(priors.tolist())
        # The nearest, and for the lowest score the nearest to the opposite direction.
        assert asked == [seed_passages, 1]
        asked.clear()


def test_without_codes_or_with_all_passages_no_search_is_made(index, monkeypatch):
    vector = np.asarray(WORDS.embed(["ada"], "query")[0])
    monkeypatch.setattr(Snapshot, "search_chunks", None)
    monkeypatch.setattr(Snapshot, "approximates_chunks", lambda _self, _k: False)
    assert len(HippoRAG(seed_passages=2)._priors(vector, index)[0]) == 2
    monkeypatch.setattr(Snapshot, "approximates_chunks", lambda _self, _k: True)
    for every in (0, 4, 99):
        assert len(HippoRAG(seed_passages=every)._priors(vector, index)[0]) == 4
