"""Rows of the graph as a model reads them."""

from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

from polygraph.records import Description, Entity, Relation, Triple
from polygraph.retrieve.row_texts import RowTexts, fact_statements
from polygraph.store.kept_rows import KeptRows
from polygraph.text.statements import statements
from polygraph.text.tokens import count_tokens

NAMES = {
    "papa": "Papa",
    "honora vane": "Honora Vane",
    "ada orme (widow)": "Ada Orme",
    "ada orme (director)": "Miss Orme",
}


class Names:
    """An index of which names and dates are read."""

    scope = MappingProxyType({})

    def entity_names(self, ids):
        return {id: NAMES[id] for id in ids}

    def entity_rows(self, ids):
        return {}

    def entities_named(self, names):
        return {}

    def ids_by_row(self, rows):
        return {}

    def names_by_row(self, rows):
        return {}

    arrays = SimpleNamespace(relations_between=lambda pairs: [])

    def relations(self, rows):
        return {}

    def kept(self, name, most):
        return KeptRows(most)

    def may_have_dates(self):
        return True

    def dates(self, documents):
        return {d: "1887-05-03" if d == "letter" else "" for d in documents}


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
    assert RowTexts(Names()).relation(relation) == "Honora Vane and Papa (trade)"


def test_namesakes_are_told_apart_in_rows():
    ends = {"source": "ada orme (director)", "target": "ada orme (widow)"}
    relation = Relation(
        id=" | ".join(ends.values()), predicates=("is no relation of",), keywords=(), descriptions=(),
        weight=1.0, chunks=(), **ends,
    )  # fmt: skip
    fact = Triple(id="t", predicate="is no relation of", weight=1.0, chunks=(), **ends)
    stated = "Miss Orme (director) is no relation of Ada Orme (widow)"
    assert RowTexts(Names()).relation(relation) == f"{stated}."
    assert fact_statements([fact], Names()) == [stated]
    widow = replace(entity(("Left a lamp.", "news:0")), id="ada orme (widow)", name="Ada Orme")
    assert RowTexts(Names()).entity(widow) == "Ada Orme (widow; person): Left a lamp."


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


def test_a_row_holds_whole_statements_with_their_dates_within_its_tokens():
    said = [(f"Papa paid instalment {n} of the barque at Wexcombe.", f"letter:{n}") for n in range(30)]
    line = RowTexts(Names(), max_tokens=60).entity(entity(*said))
    assert line.endswith(("Wexcombe.", "(1887-05-03)"))
    assert count_tokens(line) <= 60
    assert line.count("instalment") >= 3


def test_a_row_of_short_tokens_ends_with_a_whole_statement():
    said = [(f"{n}: £{n}/{n}s./{n}d., @{n}%; #{n}.", f"book:{n}") for n in range(30)]
    line = RowTexts(Names(), max_tokens=60).entity(entity(*said))
    assert line.endswith(".")
    assert count_tokens(line) <= 60


def test_a_single_statement_that_is_too_long_ends_with_an_ellipsis_after_a_word():
    line = RowTexts(Names(), max_tokens=20).entity(
        entity(("He sailed to Wexcombe again and " * 20, "letter:0"))
    )
    assert line.endswith((" again …", " and …", " to …", " sailed …", " He …", " Wexcombe …"))


def test_a_part_of_a_sentence_ends_like_a_sentence():
    line = RowTexts(Names()).entity(
        entity(("Keeper since 1865;", "letter:0"), ("Censured in 1881.", "news:0"))
    )
    assert line == "Papa (person): Keeper since 1865. (1887-05-03) Censured in 1881."


def test_a_statement_of_no_date_does_not_seem_to_have_that_of_the_next():
    line = RowTexts(Names()).entity(entity(("Owns a ship.", "news:0"), ("Sold it.", "letter:0")))
    assert line == "Papa (person): Owns a ship. (undated) Sold it. (1887-05-03)"


def test_statements_are_sentences_on_one_line_and_none_is_repeated():
    said = [("of Culverness;", "a:0"), ("Owns a ship\n\nor two", "b:0"), ("of Culverness;", "c:0")]
    assert RowTexts(Names()).entity(entity(*said)) == "Papa (person): Of Culverness. Owns a ship or two."


def test_a_statement_within_another_one_of_its_date_is_not_repeated():
    said = [
        ("A merchant.", "a:0"),
        ("A merchant. He fell ill.", "b:0"),
        ("He fell ill.", "letter:0"),
        ("A mer", "c:0"),
    ]
    line = RowTexts(Names()).entity(entity(*said))
    assert line == "Papa (person): A merchant. He fell ill. (undated) He fell ill. (1887-05-03)"


def test_of_a_long_statement_the_sentences_that_the_question_asks_for_are_shown():
    long = " ".join(f"On day {n} he walked the pier from end to end and back." for n in range(30))
    row = entity((f"{long} He sold the barque to a chandler. {long}", "a:0"))
    line = RowTexts(Names(), "To whom did Papa sell the barque?", max_tokens=60).entity(row)
    assert "He sold the barque to a chandler." in line
    assert not line.endswith("…")


def test_an_entity_of_which_nothing_is_said_has_no_colon():
    assert RowTexts(Names()).entity(entity()) == "Papa (person)"


class Joined(Names):
    """An index with one relation."""

    arrays = SimpleNamespace(relations_between=lambda pairs: [0])

    def __init__(self, relation):
        self.relation = relation

    def entity_rows(self, ids):
        return {i: n for n, i in enumerate(ids)}

    def relations(self, rows):
        return {0: self.relation}


def test_a_fact_without_predicate_states_what_its_passages_say():
    relation = Relation(
        id="honora vane | papa", source="honora vane", target="papa", predicates=(), keywords=(),
        descriptions=(Description("he sold her ship", "letter:0"),), weight=1.0, chunks=("letter:0",),
    )  # fmt: skip
    fact = Triple(
        id="f", source="papa", predicate="related to", target="honora vane", chunks=("letter:0",), weight=1.0
    )

    assert fact_statements([fact], Joined(relation)) == ["Papa and Honora Vane: He sold her ship."]
    long = " ".join(f"On day {n} he walked the pier from end to end." for n in range(30))
    relation = replace(relation, descriptions=(Description(long, "letter:0"),))
    [line] = fact_statements([fact], Joined(relation))
    assert line.startswith("Papa and Honora Vane: On day 0 he walked")
    assert line.endswith("from end to end.")


def test_a_summary_of_a_model_stands_before_what_the_question_asks_for():
    said = [(f"He sold his pier number {n} to a chandler in Ostrava.", f"a{n}:0") for n in range(12)]
    hub = replace(
        entity(("He bought the barque from Tobias Wren.", "b:0"), *said), summary="A trader of piers."
    )
    assert "trader" not in RowTexts(Names()).entity(entity(*said))
    assert (
        RowTexts(Names(), "From whom was the barque bought?", max_tokens=60)
        .entity(hub)
        .endswith("A trader of piers. He bought the barque from Tobias Wren.")
    )
    assert RowTexts(Names(), max_tokens=60).entity(hub).endswith("A trader of piers.")


class Kept(Names):
    """An index whose kept values outlive a question, and what was read of it."""

    def __init__(self):
        self._kept = KeptRows(100)
        self.read = []

    def kept(self, name, most):
        return self._kept

    def dates(self, documents):
        self.read += documents
        return super().dates(documents)


def test_a_line_that_any_question_would_give_is_written_once_and_one_that_a_question_chose_for_each():
    index = Kept()
    short, hub = (
        replace(entity(*said), id=i)
        for i, said in (
            ("short", [("Owns a ship.", "a:0")]),
            ("hub", [(f"He sold his pier number {n} to a chandler.", f"b{n}:0") for n in range(12)]),
        )
    )
    rows = [
        short,
        replace(hub, descriptions=(*hub.descriptions, Description("He bought the barque.", "c:0"))),
    ]
    first = RowTexts(index, "Who bought the barque?", max_tokens=60).entities(rows)
    assert index.read.count("a") == 1
    second = RowTexts(index, "Who sold pier number 7?", max_tokens=60).entities(rows)
    assert index.read.count("a") == 1
    assert first[0] == second[0] == RowTexts(Names()).entity(short)
    assert "barque" in first[1]
    assert "number 7" in second[1]
    # A row that was read in part is another one.
    assert RowTexts(index, max_tokens=60).entity(replace(short, descriptions=())) == "Papa (person)"


def test_a_description_that_repeats_the_predicate_is_written_once_with_its_date():
    relation = Relation(
        id="honora vane | papa", source="honora vane", target="papa", predicates=("<-is father of",), keywords=(),
        descriptions=(Description("Papa is father of Honora Vane", "letter:0"),), weight=1.0, chunks=("letter:0",),
    )  # fmt: skip
    assert RowTexts(Names()).relation(relation) == "Papa is father of Honora Vane. (1887-05-03)"


def test_a_predicate_that_adds_no_word_to_what_is_said_is_left_out():
    said = "Papa had Honora Vane ordered to be painted white by the younger sister of the yard."
    relation = Relation(
        id="honora vane | papa", source="honora vane", target="papa",
        predicates=("<-ordered painted white", "is sister of (younger)", "owes money to"), keywords=(),
        descriptions=(Description(said, "letter:0"),), weight=1.0, chunks=("letter:0",),
    )  # fmt: skip
    line = RowTexts(Names()).relation(relation)
    assert line == f"Honora Vane owes money to Papa. {said} (1887-05-03)"


def test_predicates_stay_where_only_a_later_statement_names_both():
    told = ("He led the yard for ten years.", "Papa sold the yard to Honora Vane.")
    relation = Relation(
        id="honora vane | papa", source="honora vane", target="papa", predicates=("<-sold yard to",), keywords=(),
        descriptions=tuple(Description(said, f"a{n}:0") for n, said in enumerate(told)), weight=1.0, chunks=(),
    )  # fmt: skip
    line = RowTexts(Names()).relation(relation)
    assert line == f"Papa sold yard to Honora Vane. {' '.join(told)}"


def test_a_predicate_that_denies_is_left_out_only_where_what_is_said_denies_too():
    def line(said):
        relation = Relation(
            id="honora vane | papa", source="honora vane", target="papa",
            predicates=("<-Not paid",), keywords=(), descriptions=(Description(said, "letter:0"),),
            weight=1.0, chunks=("letter:0",),
        )  # fmt: skip
        return RowTexts(Names()).relation(relation)

    assert line("Honora Vane was paid by Papa.").startswith("Papa Not paid Honora Vane. Honora Vane was paid")
    assert line("Honora Vane was never paid by Papa.").startswith("Honora Vane was never paid")


def related(source, target, *descriptions, predicates=(), keywords=()):
    said = tuple(Description(text, chunk) for text, chunk in descriptions)
    return Relation(
        id=f"{source} | {target}", source=source, target=target, predicates=predicates, keywords=keywords,
        descriptions=said, weight=1.0, chunks=tuple(c for _, c in descriptions),
    )  # fmt: skip


def test_a_relation_that_only_repeats_a_statement_of_rows_above_is_left_out():
    said = ("Honora Vane and Ada Orme met Papa.", "letter:0")
    widow = "ada orme (widow)"
    first = related("honora vane", "papa", said)
    assert RowTexts(Names()).without_repeats([first, related(widow, "papa", said)]) == [first]


def test_a_relation_that_says_something_that_no_row_above_says_is_kept():
    said = ("Honora Vane and Ada Orme met Papa.", "letter:0")
    widow = "ada orme (widow)"
    rows = [
        related("honora vane", "papa", said),
        # It states a predicate, has a keyword, or another statement beside; another document says the same.
        related(widow, "papa", said, predicates=("met",)),
        related("honora vane", widow, said, keywords=("trade",)),
        related("papa", widow, said, ("Papa paid Ada Orme.", "letter:1")),
        related(widow, "honora vane", ("Honora Vane and Ada Orme met Papa.", "news:0")),
        related("papa", "honora vane"),
    ]
    assert RowTexts(Names()).without_repeats(rows) == rows


def test_a_relation_that_tells_of_whom_a_statement_is_said_is_kept():
    said = ("She met Papa.", "letter:0")
    rows = [related("honora vane", "papa", said), related("ada orme (widow)", "papa", said)]
    assert RowTexts(Names()).without_repeats(rows) == rows


def test_a_statement_of_which_a_row_shows_a_part_is_not_shown_yet():
    long = (
        " ".join(f"On day {n} Papa, Ada Orme and Honora Vane walked the pier." for n in range(30)),
        "letter:0",
    )
    rows = [related("honora vane", "papa", long), related("ada orme (widow)", "papa", long)]
    assert RowTexts(Names()).without_repeats(rows) == rows


def test_brief_statements_of_facts_leave_out_what_their_passages_say_and_say_it_once():
    relation = related(
        "honora vane", "papa", ("Honora Vane loved Papa.", "letter:0"), predicates=("love", "owe")
    )

    facts = [
        Triple(id=p, source="honora vane", predicate=p, target="papa", weight=1.0, chunks=("letter:0",))
        for p in relation.predicates
    ]
    assert fact_statements(facts, Joined(relation), brief=True) == [
        "Honora Vane loved Papa.", "Honora Vane owe Papa",
    ]  # fmt: skip
    assert fact_statements(facts[1:], Joined(relation), brief=True) == [
        "Honora Vane owe Papa. Honora Vane loved Papa."
    ]
    called = {"papa": "Papa (Edmund Vane)"}
    assert fact_statements(facts[1:], Joined(relation), names=called) == [
        "Honora Vane owe Papa (Edmund Vane). Honora Vane loved Papa."
    ]
