import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygraph.errors import MissingExtra
from polygraph.extract.nlp import dependency_trees as syntax
from polygraph.extract.nlp.capitalized_names import capitalized_spans
from polygraph.extract.nlp.extractor import extract
from polygraph.extract.nlp.noise import column_name_spans
from polygraph.extract.nlp.paragraphs import split_paragraphs
from polygraph.extract.nlp.row_builder import MAX_DESCRIPTION, cooccurring_pairs, excerpt
from polygraph.extract.nlp.workers import WorkerPool, extract_parallel, extract_texts
from polygraph.records import Chunk, Extraction, Window
from polygraph.text.normalize import normalize_name

needs_parser = pytest.mark.skipif(not syntax.installed(), reason="the extra `local` is not installed")


def window(
    text: str, document: str = "d", ordinal: int = 0, title: str = "", start: int = 0, n_chunks: int = 1
) -> Window:
    cuts = [len(text) * i // n_chunks for i in range(n_chunks + 1)]
    chunks = tuple(
        Chunk(
            id=f"{document}:{i}",
            document=document,
            ordinal=i,
            start=start + a,
            end=start + b,
            text=text[a:b],
            n_tokens=(b - a) // 4,
        )
        for i, (a, b) in enumerate(pairwise(cuts))
    )
    return Window(
        id=f"{document}@{ordinal}", document=document, ordinal=ordinal, title=title, chunks=chunks, text=text
    )


def read_one(text: str, title: str = "") -> Extraction:
    (found,) = extract([window(text, title=title)], processes=1)
    assert found.status == "ok", found.problem
    return found


def types(found: Extraction) -> dict[str, str]:
    return {entity.name: entity.type for entity in found.entities}


def triples(found: Extraction) -> set[tuple[str, str, str]]:
    return {(r.source, r.predicate, r.target) for r in found.relations if r.predicate}


# --- what the rows promise

TEXT = """Old Mr. Thomas Quill, the harbour-master, sailed the schooner Halcyon to Bergen on 3 May 1871.
He married Anna Vane. Quill's ledger names Bergen twice.

- The Royal Observatory of Bergen keeps the ledger, and
  nobody reads it.
"""


TABLE = """station: S1; name: Old Mill; district: West; docks: 12.
station: S2; name: Grey Lock; district: West; docks: 44.
"""


@needs_parser
def test_each_row_of_a_table_is_one_sentence_even_where_the_parser_would_end_it():
    found = read_one(TABLE)
    rows = TABLE.split("\n")
    described = {e.name: e.description for e in found.entities}
    assert described["Old Mill"] == rows[0]
    assert described["Grey Lock"] == rows[1]
    assert {frozenset(("Old Mill", "West")), frozenset(("Grey Lock", "West"))} <= {
        frozenset((r.source, r.target)) for r in found.relations
    }


@needs_parser
def test_the_mark_of_a_heading_is_no_part_of_a_name():
    found = read_one("## Excess\n\nThe policy of Beacon Mutual has an excess of 1,500 pounds.\n")
    assert not [name for name in types(found) if name.startswith("#")]
    assert "## Excess"[found.entities[0].spans[0].start :][:6] == "Excess"


@needs_parser
def test_rows_refer_to_each_other_and_to_the_text():
    found = next(iter(extract([window(TEXT, start=1000, n_chunks=3)], processes=1)))
    names = {entity.name for entity in found.entities}
    assert len(names) == len(found.entities) == len({normalize_name(name) for name in names})
    for entity in found.entities:
        assert entity.spans
        assert list(entity.spans) == sorted(entity.spans, key=lambda s: s.start)
        for span in entity.spans:
            assert normalize_name(TEXT[span.start - 1000 : span.end - 1000]) == normalize_name(entity.name)
        assert 0 < len(entity.description) <= MAX_DESCRIPTION + 4
        assert "\n" not in entity.description
    for relation in found.relations:
        assert {relation.source, relation.target} <= names
        assert relation.source != relation.target
        assert relation.strength > 0
        assert relation.description
        assert set(relation.chunks) <= {"d:0", "d:1", "d:2"}
        assert relation.chunks


@needs_parser
def test_names_dates_and_phrases_are_found_with_their_types():
    found = types(read_one(TEXT))
    assert found["Old Mr. Thomas Quill"] == "person" or found["Mr. Thomas Quill"] == "person"
    assert found["Anna Vane"] == "person"
    assert found["3 May 1871"] == "date"
    assert found["Halcyon"] == "ship"
    assert found["Royal Observatory of Bergen"] != ""
    assert found["ledger"] == "concept"
    assert not {"He", "it", "nobody", "Old", "twice"} & set(found)


@needs_parser
def test_typed_triples_keep_passives_conjuncts_and_negation():
    found = triples(
        read_one(
            "Kinetiq was founded by Omar Farouk and Ines Duarte. Metformin does not cause hypoglycemia. "
            "Acme was never acquired by Raytheon. The commission found no coal. "
            "Neil Armstrong landed Eagle in the Sea of Tranquility."
        )
    )
    assert found >= {
        ("Kinetiq", "founded by", "Omar Farouk"),
        ("Kinetiq", "founded by", "Ines Duarte"),
        ("Metformin", "not cause", "hypoglycemia"),
        ("Acme", "not acquired by", "Raytheon"),
        ("commission", "not find", "coal"),
    }
    assert ("Metformin", "cause", "hypoglycemia") not in found


@needs_parser
def test_copula_apposition_and_nouns_that_relate():
    found = triples(
        read_one(
            "Marley was Scrooge's partner. Raytheon, an American contractor, built the computer. "
            "Paris is the capital of France. "
            "Scrooge, who hated Marley, did not want to visit London."
        )
    )
    assert ("Marley", "be partner of", "Scrooge") in found
    assert ("Paris", "be capital of", "France") in found
    assert ("Raytheon", "be", "American contractor") in found
    assert ("Scrooge", "not want to visit", "London") in found


@needs_parser
def test_a_film_is_what_its_title_says_and_takes_the_clauses_of_its_noun():
    found = read_one(
        "Payment on Demand is a 1951 American drama film directed by Curtis Bernhardt. "
        "It was written by Bruce Manning.",
        title="Payment on Demand",
    )
    assert triples(found) >= {
        ("Payment on Demand", "directed by", "Curtis Bernhardt"),
        ("Payment on Demand", "be film of", "1951"),
        ("Payment on Demand", "written by", "Bruce Manning"),
    }


@needs_parser
def test_a_title_with_a_question_mark_does_not_end_its_sentence():
    title = "What Will You Do When You Catch Me?"
    found = read_one(f"{title} is a Polish comedy directed by Stanisław Bareja.", title=title)
    assert (title, "directed by", "Stanisław Bareja") in triples(found)


@needs_parser
def test_years_of_life_in_brackets_become_triples():
    found = triples(read_one("Carl Boese (26 August 1887 – 6 July 1958) was a German director."))
    assert ("Carl Boese", "born", "26 August 1887") in found
    assert ("Carl Boese", "died", "6 July 1958") in found


@needs_parser
def test_pronouns_are_resolved_only_where_it_is_safe():
    safe = triples(read_one("Thomas Quill lived in Bergen. He married Anna Vane."))
    assert ("Thomas Quill", "marry", "Anna Vane") in safe
    unsafe = triples(read_one("Thomas Quill and Edward Lind lived in Bergen. He married Anna Vane."))
    assert not any(predicate == "marry" for _, predicate, _ in unsafe)
    thing = triples(read_one("Thomas Quill lived in Bergen. It married Anna Vane."))
    assert not any(predicate == "marry" for _, predicate, _ in thing)


@needs_parser
def test_a_person_by_title_or_speech_is_no_organization():
    found = types(read_one("Mr. Scrooge sighed. 'No,' said Mr. Scrooge. Captain Quill laughed."))
    assert found["Mr. Scrooge"] == found["Captain Quill"] == "person"


@needs_parser
def test_a_letter_names_its_people_without_salutation_complimentary_close_and_firm():
    body = "The valves were replaced on Monday, as we had agreed on the telephone, at a cost of 1,850 euros."
    found = types(read_one(f"Dear Ms Finch,\n\n{body}\n\nYours faithfully,\nPeter Lang\nMorrison Bell Ltd"))
    assert found["Ms Finch"] == found["Peter Lang"] == "person"
    assert {"Morrison Bell Ltd"} <= found.keys()
    assert not {"Dear Ms Finch", "Yours", "euros"} & found.keys()


@needs_parser
def test_a_name_that_begins_like_a_salutation_is_kept():
    assert "Dear Park" in types(read_one("Dear Park was opened by the mayor in 1990."))


@needs_parser
def test_the_number_of_a_heading_is_no_quantity():
    assert "quantity" not in types(read_one("## 1. Minutes\n\n## 2. Warehouse in Leiden")).values()


@needs_parser
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2012: PhD, Mathematics, University of York", "University of York"),
        ("Accountant, Kettle & Crown, London", "Kettle & Crown"),
        ("Jane Eyre was published by Smith, Elder & Co. of London in 1847.", "Smith, Elder & Co."),
        (
            "The Ministry of Agriculture, Fisheries and Food bought the farm in May.",
            "Ministry of Agriculture, Fisheries and Food",
        ),
    ],
)
def test_an_organization_stands_between_commas_or_has_some_in_its_name(text, name):
    assert types(read_one(text))[name] == "organization"


@needs_parser
def test_an_apposition_names_an_office_and_no_date():
    assert ("Dr. Per Hansen", "be", "Professor of Optics") in triples(
        read_one("Dr. Per Hansen, Professor of Optics, left.")
    )
    title = "Meeting Notes, May 2022"
    found = read_one(f"{title}\n\nThe Meeting Notes were long.", title)
    assert ("Meeting Notes", "be", "May 2022") not in triples(found)


@needs_parser
def test_a_sum_of_money_is_a_quantity_with_the_sign_of_its_currency():
    found = read_one(
        "Chance Brothers offered the lamp for £340. The Trust paid the invoice of €1,250 to Ana Ruiz."
    )
    assert [name for name, kind in types(found).items() if kind == "quantity"] == ["£340", "€1,250"]
    assert any(target == "£340" for _, _, target in triples(found))


@needs_parser
def test_a_date_is_no_part_of_the_name_in_a_title():
    found = read_one(
        "Project Board, 14 May 2024\n\nThe Project Board approved it.", "Project Board, 14 May 2024"
    )
    assert {"Project Board", "14 May 2024"} <= types(found).keys()


@needs_parser
def test_a_word_that_counts_is_no_name_at_the_start_of_a_sentence():
    text = (
        "Eleven saved. Resolved: Ten votes to four. Seventh, the harbour. Mara Quill lives in Seventh Street."
    )
    found = types(read_one(text))
    assert not {"Eleven", "Ten", "Seventh"} & set(found)
    assert {"Mara Quill", "Seventh Street"} <= set(found)


@needs_parser
def test_generic_nouns_alone_are_dropped():
    assert not {"time", "man", "face", "way"} & set(
        types(read_one("The man had no time. His face fell by the way."))
    )


@needs_parser
def test_cooccurrence_joins_what_no_triple_joins():
    found = read_one("In Bergen, Quill spoke of Hamburg.")
    assert {r.strength for r in found.relations if not r.predicate} == {0.3}


def test_pairs_grow_with_the_length_of_the_sentence_not_its_square():
    assert len(list(cooccurring_pairs([str(i) for i in range(6)], [True] * 6))) == 15
    assert len(list(cooccurring_pairs([str(i) for i in range(1000)], [True] * 1000))) <= 3 * 1000
    assert list(cooccurring_pairs(["a"], [True])) == []


# --- other kinds of text


@needs_parser
def test_text_without_capitals_gives_phrases_triples_and_a_warning():
    text = (
        "the pump controller logged an error and the relay board overheated. anna replaced the relay board. "
        * 4
    )
    notes: list[str] = []
    (found,) = extract([window(text)], notes=notes, processes=1)
    assert {"pump controller", "relay board", "anna"} <= set(types(found))
    assert ("anna", "replace", "relay board") in triples(found)
    assert len(notes) == 1
    assert "no capitals" in notes[0]


@needs_parser
def test_text_in_capitals_is_read_too():
    found = read_one("THE HARBOUR MASTER REPAIRED THE OLD RELAY BOARD IN THE LIGHTHOUSE.")
    assert "RELAY BOARD" in set(types(found))


def test_german_gives_names_phrases_and_cooccurrence():
    text = (
        "Der Hafenmeister kam im Jahr 1871 nach Bergen. Die Sternwarte wurde von Karl Lindner gegründet. "
        "Karl Lindner starb in Hamburg, und die Sternwarte blieb lange geschlossen."
    )
    notes: list[str] = []
    (found,) = extract([window(text)], notes=notes)
    assert {"Bergen", "Karl Lindner", "Sternwarte", "1871", "Hamburg"} <= set(types(found))
    assert "Die" not in types(found)
    assert not triples(found)
    assert any({r.source, r.target} == {"Karl Lindner", "Sternwarte"} for r in found.relations)
    assert any("1 document is not, or only partly, English: d (German). There: " in note for note in notes)


def test_documents_in_other_languages_are_named_up_to_three():
    text = "Der Hafenmeister kam im Jahr 1871 nach Bergen, und die Sternwarte wurde von ihm geschlossen."
    notes: list[str] = []
    list(extract([window(text, document=f"{n}.txt") for n in range(5)], notes=notes))
    named = "0.txt (German), 1.txt (German), 2.txt (German) and 2 more. "
    assert any(f"5 documents are not, or only partly, English: {named}" in note for note in notes)


@needs_parser
def test_a_table_of_units_is_extracted_in_the_language_of_its_document():
    prose = "The hoist lifts loads in a workshop, and it is not meant for people or for use in the rain."
    sheet = "Hoist: GH-20S; V: 230; A: 4.5; W: 900; s: 12.\nHoist: GH-30S; V: 400; A: 6; W: 1,100; s: 14."
    notes: list[str] = []
    list(extract([window(prose), window(sheet, ordinal=1), window(sheet, document="e")], notes=notes))
    assert not [note for note in notes if "English" in note]


def test_japanese_gives_phrases_and_cooccurrence():
    (found,) = extract([window("港の灯台は昨年の嵐で壊れた。灯台守の田中さんは灯台を修理した。")])
    assert {"灯台", "修理"} <= set(types(found))
    assert found.relations


def test_without_the_parser_capitals_do_and_the_note_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(syntax, "DISTRIBUTION", "no-such-distribution")
    syntax.model_path.cache_clear()
    try:
        notes: list[str] = []
        (found,) = extract([window("When Anna Vane met Mr. Quill in Bergen, Bergen slept.")], notes=notes)
        assert {"Anna Vane", "Mr. Quill", "Bergen"} <= set(types(found))
        assert types(found)["Mr. Quill"] == "person"
        assert found.relations
        assert "polygraph-rag[local]" in notes[0]
        with pytest.raises(MissingExtra, match="local"):
            syntax.load_pipeline.__wrapped__()
    finally:
        syntax.model_path.cache_clear()


@needs_parser
@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\r\n ",
        "...",
        "🚢🚢🌊",
        "a\ud800b \x00 Anna \ufeff",
        "def foo(bar):\n    return {'a': [1, 2]}\n" * 20,
        "x" * 5_000,
        "(" * 3_000,
        "A" * 300 + " " + "B " * 300,
        "| a | b |\n|---|---|\n| Quill | Bergen |\n",
        "\u202eabc\u202c Quill\u0301",
    ],
)
def test_odd_text_does_no_harm(text: str):
    found = read_one(text)
    names = {entity.name for entity in found.entities}
    assert all(r.source in names and r.target in names for r in found.relations)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_without_the_parser(text: str):
    ((_, _, problem),) = extract_texts([(text, "de", "")])
    assert problem == ""


def test_a_very_long_window_is_read_in_linear_time():
    text = "Anna Vane traf Karl Lindner in Bergen und der Hafen war alt. " * 1_700
    start = time.process_time()
    (found,) = extract([window(text)], processes=1)
    assert time.process_time() - start < 8
    assert {"Anna Vane", "Karl Lindner", "Bergen"} <= set(types(found))
    assert all(len(e.spans) <= 21 for e in found.entities)


@needs_parser
def test_entities_of_a_window_are_bounded():
    text = " ".join(f"Name{chr(97 + i % 26)}{chr(97 + i // 26)}x Place{i} met." for i in range(300))
    found = read_one(text)
    assert len(found.entities) <= 30 + (text.count(" ") + len(text) // 40) // 4


# --- paragraphs


@given(st.text(alphabet=st.sampled_from("ab. \n\r\t-:Z1"), max_size=200))
def test_paragraphs_map_back_to_the_text(text: str):
    for paragraph in split_paragraphs(text):
        assert "\n" not in paragraph.text
        for i, char in enumerate(paragraph.text):
            origin = text[paragraph.origin(i)]
            assert char == origin or (char == " " and origin.isspace())
            assert paragraph.origin_end(i + 1) == paragraph.origin(i) + 1


def test_filled_lines_are_joined_and_meant_breaks_kept():
    book = "It was a dark and stormy night and nobody had\nexpected the tug to come in before dawn, and\nit came."
    chat = "alice: did you see the relay board?\nbob: yes\nalice: ok"
    assert len(split_paragraphs(book)) == 1
    assert len(split_paragraphs(chat)) == 3


def test_long_sentences_are_cut_around_the_name():
    sentence = "word " * 200 + "Quill was here " + "word " * 50
    cut = excerpt(sentence, "Quill")
    assert "Quill" in cut
    assert cut.startswith("… ")
    assert len(cut) <= MAX_DESCRIPTION + 4


# --- processes

DOCUMENTS = [
    f"Anna Vane met Thomas Quill in Bergen in 18{i:02d}. He sold the ship to Karl Lindner." for i in range(12)
]


@needs_parser
def test_several_processes_give_the_same_rows_in_the_same_order():
    windows = [window(text, f"doc{i}") for i, text in enumerate(DOCUMENTS)]
    done: list[int] = []
    assert list(extract(windows, processes=2, on_done=done.append)) == list(extract(windows, processes=1))
    assert sum(done) == len(windows)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a process")
def test_a_worker_that_dies_is_replaced():
    workers = WorkerPool(1, extract_texts)
    try:
        task = ("Der Hafen von Bergen ist alt und die Stadt auch.", "de", "")
        first = workers.process([task])
        (pid,) = workers.pids()
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert workers.process([task]) == first
        assert len(workers.pids()) == 2
    finally:
        workers.end()
    for pid in workers.pids():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_without_workers_this_process_does_the_work(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    task = ("Der Hafen von Bergen ist alt und die Stadt auch.", "de", "")
    assert list(extract_parallel([[task], [task]], 2, extract_texts)) == [
        extract_texts([task]),
        extract_texts([task]),
    ]


def test_a_script_without_a_main_guard_may_use_processes():
    script = (
        "from polygraph.extract.nlp.workers import extract_parallel, extract_texts\n"
        "task = ('Der Hafen von Bergen ist alt.', 'de', '')\n"
        "print(sum(1 for _ in extract_parallel([[task]] * 3, 2, extract_texts)))\n"
    )
    source = str(Path(syntax.__file__).parents[3])
    program = f"import sys; sys.path.insert(0, {source!r})\n{script}"
    done = subprocess.run(
        [sys.executable, "-"], check=False, input=program, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "3", done.stderr


def test_closing_the_iterator_ends_its_workers():
    task = ("Der Hafen von Bergen ist alt und die Stadt auch.", "de", "")
    reading = extract_parallel(([task] for _ in range(1000)), 2, extract_texts)
    next(reading)
    start = time.monotonic()
    reading.close()
    assert time.monotonic() - start < 20


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a process group")
def test_an_interrupt_ends_the_workers():
    script = (
        "import os\n"
        "from polygraph.extract.nlp import workers\n"
        "import subprocess\n"
        "from polygraph.extract.nlp.workers import extract_texts\n"
        "task = ('Der Hafen von Bergen ist alt.' * 2000, 'de', '')\n"
        "reading = workers.extract_parallel(([task] for _ in range(10_000)), 2, extract_texts)\n"
        "start = subprocess.Popen\n"
        "def start_and_print(*args, **options):\n"
        "    process = start(*args, **options)\n"
        "    os.write(1, b'%d\\n' % process.pid)\n"
        "    return process\n"
        "subprocess.Popen = start_and_print\n"
        "for _ in reading: pass\n"
    )
    source = str(Path(syntax.__file__).parents[3])
    program = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += f"sys.path.insert(0, {source!r})\n{script}"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(2)]
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_importing_the_extractor_loads_nothing_heavy():
    code = "import polygraph.extract.nlp.extractor, polygraph.extract.resolution.resolve\n"
    code += "print('spacy' in sys.modules, 'thinc' in sys.modules)"
    source = str(Path(syntax.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


# --- what is no entity


def names_of(text: str, language: str) -> set[str]:
    ((entities, _, problem),) = extract_texts([(text, language, "")])
    assert not problem
    return {name for name, _, _, _ in entities}


@pytest.mark.parametrize("language", [pytest.param("en", marks=needs_parser), "fr"])
def test_column_names_and_identifiers_of_rows_are_no_entities_and_values_are(language):
    text = "\n".join(
        f"order_id: SO-10{n}; Customer: {who}; Site: Bremen."
        for n, who in enumerate(["Marrow Dairy", "Hale Brewing", "Calder Mills"])
    )
    found = {name.casefold() for name in names_of(text, language)}
    assert not found & {"order_id", "customer", "site"}
    assert {"marrow dairy", "hale brewing", "bremen"} <= found


def test_a_german_noun_or_form_of_address_is_no_name_by_its_capital():
    text = (
        "Haben Sie die Pumpe geprüft? Die Pumpe in Bremen steht, und Lena Voss hat den Hafen von Bremen gesehen. "
        "Bitte senden Sie uns Ihre Antwort, damit Sie und Lena Voss den Termin für die Pumpe MX-110 halten."
    )
    found = [text[s.start : s.end] for s in capitalized_spans(text, language="de")]
    assert "Sie" not in found
    assert not {"Pumpe", "Hafen", "Antwort", "Termin"} & set(found)
    assert {"Bremen", "Lena Voss"} <= set(found)
    assert any("MX-110" in name for name in found)
    assert "sie" not in {name.casefold() for name in names_of(text, "de")}


@pytest.mark.parametrize(
    ("language", "text", "found", "not_found"),
    [
        (
            "de",
            "Derzeit steht der Kran im Hafen still. Die Frist beträgt neun Monate, und alte Ziegel werden verwendet.",
            {"hafen", "frist", "ziegel", "monate"},
            {"derzeit", "beträgt", "frist beträgt neun"},
        ),
        (
            "fr",
            "Les marchés représentent une part des ventes. L'autre compresseur du dépôt consomme peu d'électricité.",
            {"marchés", "ventes", "compresseur", "dépôt"},
            {"représentent", "marchés représentent", "consomme", "autre"},
        ),
        (
            "es",
            "El molino funciona con la rueda nueva. Las primeras obras empiezan en la otra sala.",
            {"molino", "rueda", "sala"},
            {"molino funciona", "otra", "empiezan"},
        ),
    ],
)
def test_concepts_of_other_languages_are_nouns(language, text, found, not_found):
    names = {name.casefold() for name in names_of(text, language)}
    assert found <= names
    assert not not_found & names


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "Le contrat est signé par M. Roux et par Mme Anne Roux pour le dépôt de la ville."),
        ("es", "El contrato lo firman D. Luis Roux y la Sra. Roux por el museo de la villa."),
        ("pt", "O contrato foi assinado por D. Ana Roux e pelo Sr. Roux no porto da vila."),
    ],
)
def test_a_title_is_no_initial_of_the_name_behind_it(language, text):
    ((entities, _, problem),) = extract_texts([(text, language, "")])
    assert not problem
    people = {name for name, type_, _, _ in entities if type_ == "person"}
    assert "Roux" in people
    assert len(people) == 2
    assert not {each for each in people if "." in each}


def test_two_colons_in_prose_name_no_columns():
    assert column_name_spans("Note: the ship left; result: none. It went on.") == []
