"""Questions that call an entity by another name than the graph shows."""

import pytest

from polygraph.models import Calls, Models
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.retrieve.methods.hipporag import HippoRAG
from polygraph.retrieve.methods.kg import KnowledgeGraph
from polygraph.retrieve.question_names import in_names_of_graph, other_names_in_question
from polygraph.retrieve.row_texts import RowTexts
from polygraph.testing import WordEmbedder

TEXTS = {
    "d1": "Patient 03-11 drank broth.",
    "d2": "Patient 03-11 is Arthur Kell.",
    "d3": "Arthur Kell sailed home.",
    "d4": "Patient 02-17 drank wine. Patient 02-17 drank milk.",
    "d5": "Ada Lind met Tom Lind. Arthur Kell waved.",
}
RECORDS = {
    "broth": "relation | Patient 03-11 | Broth | drank | food | 5 | Patient 03-11 drank broth.",
    "is Arthur": "relation | Arthur Kell | Patient 03-11 | also called | names | 5 | They are one.",
    "home": "relation | Arthur Kell | Home | sailed | travel | 5 | Arthur Kell sailed home.",
    "wine": "relation | Patient 02-17 | Wine | drank | food | 5 | Patient 02-17 drank wine.",
    "milk": "relation | Patient 02-17 | Milk | drank | food | 5 | Patient 02-17 drank milk.",
    "Ada": "relation | Ada Lind | Tom Lind | met | family | 5 | They met.",
}
PEOPLE = ("Patient 03-11", "Arthur Kell", "Patient 02-17", "Ada Lind", "Tom Lind")
WORDS = WordEmbedder(("patient", "drank", "arthur", "kell", "03-11"))
QUESTION = "What is it that Patient 03-11 drank?"


def extract(request):
    text = request.messages[-1].content
    people = [f"entity | {name} | person | Somebody." for name in PEOPLE if name in text]
    return "\n".join([*people, *(record for part, record in RECORDS.items() if part in text), "END"])


def models(chat=None):
    return Models(chat=chat, embedder=WORDS, name_embedder=WORDS, reranker=None, calls=Calls(None))


@pytest.fixture(scope="module")
def index(tmp_path_factory, index_of):
    chat = ScriptedChat(replies={"extract": extract})
    with index_of(tmp_path_factory.mktemp("names"), TEXTS, models(chat)) as made:
        yield made


def test_only_what_adds_to_the_name_that_is_shown_is_another_name(index):
    assert other_names_in_question(QUESTION, index) == {"arthur kell": "Patient 03-11"}
    assert other_names_in_question("Where did Kell sail, and Arthur Kell?", index) == {}
    assert other_names_in_question("Who is Lind?", index) == {}
    assert other_names_in_question("What is Patient 03-11's drink?", index) == {
        "arthur kell": "Patient 03-11"
    }


def test_a_filter_hides_other_names_whose_documents_are_not_known(index, within):
    scoped = within(index, "d1.txt", "d3.txt")
    assert other_names_in_question(QUESTION, scoped) == {}
    found = KnowledgeGraph(max_triples=1, similar_triples=0)(QUESTION, scoped, models())
    assert "Arthur Kell (Patient 03-11)" not in " ".join(item.text for item in found.evidence)


def test_a_question_is_compared_with_the_graph_in_its_names(index):
    def compared(question):
        return in_names_of_graph(question, other_names_in_question(question, index), index)

    assert compared(QUESTION) == "What is it that Patient 03-11 (Arthur Kell) drank?"
    assert compared("Where did Arthur Kell sail?") == "Where did Arthur Kell sail?"
    # Not within another word, and once.
    longer = "Beside Patient 03-112, did Patient 03-11 drink, or Patient 03-11 sail?"
    assert compared(longer) == longer.replace("03-11 drink", "03-11 (Arthur Kell) drink")


def test_a_row_shows_what_the_question_calls_its_entity_and_other_questions_do_not_see_it(index):
    entity = index.entities(list(index.entity_rows(["arthur kell"]).values()))
    (row,) = index.arrays.relations_between(
        [tuple(sorted(index.entity_rows(["arthur kell", "broth"]).values()))]
    )
    relation = index.relations([row])[row]
    for question, name in ((QUESTION, "Arthur Kell (Patient 03-11)"), ("Who drank broth?", "Arthur Kell")):
        texts = RowTexts(index, question)
        assert texts.relation(relation).startswith(f"{name} drank Broth.")
        assert texts.entities(entity)[0].startswith(name.rstrip(")"))
        assert texts.entities(entity)[0].partition(":")[0].endswith("person)")


def test_statements_about_an_entity_are_found_by_another_name(index):
    found = KnowledgeGraph(max_triples=1, similar_triples=0)(QUESTION, index, models())
    assert [item.text for item in found.evidence] == ["Arthur Kell (Patient 03-11) drank Broth"]
    exact = KnowledgeGraph(max_triples=1, similar_triples=3, seed_names=False)(QUESTION, index, models())
    assert exact.evidence[0].text.startswith("Patient 02-17 drank")


def test_facts_about_an_entity_are_found_by_another_name(index):
    found = HippoRAG(facts=1)(QUESTION, index, models())
    trace = {step.name: step.value for step in found.trace}
    assert [fact for fact, _ in trace["facts"]] == ["arthur kell | drank | broth"]
