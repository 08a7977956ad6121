"""Rows of the graph as a model reads them."""

from polygraph.records import Description, Entity, Relation
from polygraph.retrieve.row_texts import RowTexts
from polygraph.text.passage import Heading
from polygraph.text.statements import statements


class Names:
    """An index of which names and dates are read."""

    def entity_names(self, ids):
        return {"papa": "Papa", "honora vane": "Honora Vane"} if "papa" in ids else {}

    def headings(self, documents):
        return {d: Heading(d, date="1887-05-03" if d == "letter" else "") for d in documents}


def entity(*descriptions):
    said = tuple(Description(text, chunk) for text, chunk in descriptions)
    return Entity(
        id="papa",
        name="Papa",
        type="person",
        aliases=(),
        descriptions=said,
        chunks=tuple(c for _, c in descriptions),
    )


def test_a_relation_is_a_sentence_with_the_names_that_documents_write():
    relation = Relation(
        id="honora vane | papa", source="honora vane", target="papa", predicates=("<-is father of",), keywords=(),
        descriptions=(Description("He sold her ship.", "letter:0"),), weight=1.0, chunks=("letter:0",),
    )  # fmt: skip
    line = RowTexts(Names()).relation(relation)
    assert line == "Papa is father of Honora Vane. He sold her ship. (1887-05-03)"


def test_a_relation_without_predicate_names_both_ends_and_its_keywords():
    relation = Relation(
        id="honora vane | papa", source="honora vane", target="papa", predicates=(), keywords=("trade",),
        descriptions=(), weight=1.0, chunks=(),
    )  # fmt: skip
    assert RowTexts(Names()).relation(relation) == "Honora Vane and Papa (trade):"


def test_what_is_said_on_one_day_shares_its_date():
    line = RowTexts(Names()).entity(
        entity(("Owns a ship.", "letter:0"), ("Sold it.", "letter:1"), ("Died.", "news:0"))
    )
    assert line == "Papa (person): Owns a ship. Sold it. (1887-05-03) Died."


def test_a_date_that_the_statement_states_itself_is_not_repeated():
    line = RowTexts(Names()).entity(entity(("Sold it on 1887-05-03.", "letter:0")))
    assert line == "Papa (person): Sold it on 1887-05-03."


def test_what_is_shown_of_a_hub_is_chosen_for_the_question():
    said = [(f"Papa walked on the pier on day {n} and came home again.", f"d{n}:0") for n in range(60)]
    said.insert(41, ("Papa sold the barque to a chandler.", "d99:0"))
    texts = RowTexts(Names(), "To whom did Papa sell the barque?", max_tokens=60)
    assert "chandler" in texts.entity(entity(*said))
    assert "chandler" not in RowTexts(Names(), "Who is Papa?", max_tokens=60).entity(entity(*said))


def test_without_a_question_documents_take_turns():
    said = [(f"He wrote page {n} of the long first book.", "book:0") for n in range(40)]
    line = RowTexts(Names(), max_tokens=40).entity(entity(*said, ("He built a pier.", "news:0")))
    assert "pier" in line


def test_predicates_of_the_other_direction_and_lemmas_read_as_sentences():
    assert statements(["<-pay", "be keeper of"], "A", "B") == "B pay A. A is keeper of B."
    assert statements([], "A", "B") == ""
