"""What real models write, read back."""

import contextlib
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polygraph.errors import UnusableReply
from polygraph.extract.llm import formats
from polygraph.extract.llm.fields import MAX_NAME
from polygraph.extract.llm.parsed_records import MAX_DESCRIPTION, MAX_DROPPED, ParsedExtraction
from polygraph.extract.llm.parser import parse_extraction
from polygraph.tasks.parsing.json_repair import repair_json

OUTPUTS = Path(__file__).parents[3].parent / "shared" / "data" / "graph-christmas-carol" / "llm_outputs.jsonl"
TWO = {"Mara Quill", "Tobin"}


@pytest.fixture(scope="module")
def outputs() -> list[dict]:
    if not OUTPUTS.exists():
        pytest.skip(f"no real model outputs at {OUTPUTS}")
    return [json.loads(line) for line in OUTPUTS.read_text(encoding="utf-8").splitlines()]


def names(found: ParsedExtraction) -> list[str]:
    return [entity.name for entity in found.entities]


def triples(found: ParsedExtraction) -> list[tuple[str, str, str]]:
    return [(r.source, r.predicate, r.target) for r in found.relations]


# --- real replies -----------------------------------------------------------------------------------


def test_nearly_every_record_of_the_real_extractions_is_kept(outputs):
    written = kept = dropped = whole = 0
    replies = [row["output"] for row in outputs if row["kind"] == "extraction"]
    for reply in replies:
        found = parse_extraction(reply, max_records=1000)
        # Counted without the parser: every record of these replies opens with its kind in quotes.
        records = len(re.findall(r'[("“](?:entity|relation(?:ship)?)["”]', reply))
        read = len(found.entities) - found.n_created + len(found.relations) + found.n_merged
        assert read + found.n_dropped == records
        written, kept, dropped = written + records, kept + read, dropped + found.n_dropped
        whole += found.n_dropped == 0
    assert len(replies) == 192
    assert whole >= 188
    assert kept >= 0.997 * written
    assert dropped <= 5


def test_fields_of_the_real_extractions_carry_no_delimiters(outputs):
    for row in outputs:
        if row["kind"] == "extraction":
            found = parse_extraction(row["output"], max_records=1000)
            for entity in found.entities:
                assert not re.search(r'[<>|"“”#]', entity.name)
                assert "<|" not in entity.description
            for relation in found.relations:
                assert "|" not in relation.description
                assert relation.description
                assert 1 <= relation.strength <= 10


def test_reports_and_prose_are_not_taken_for_extractions(outputs):
    for row in outputs:
        if row["kind"] != "extraction":
            with pytest.raises(UnusableReply):
                parse_extraction(row["output"])


def test_real_replies_cut_anywhere_lose_at_most_their_last_record(outputs):
    for row in [row for row in outputs if row["kind"] == "extraction"][:40]:
        records = [line for line in row["output"].splitlines() if "<|>" in line]
        if len(records) < 4 or row["output"].count('("') != len(records):
            continue
        before = "\n".join(records[:3])
        cut = f"{before}\n{records[3][: len(records[3]) // 3]}"
        whole = parse_extraction(before)
        assert set(names(whole)) <= set(names(parse_extraction(cut)))


def test_names_that_a_real_model_copied_from_its_prompt_are_dropped_and_counted(outputs):
    copies = [
        row["output"] for row in outputs if row["kind"] == "extraction" and "Sam Rivera" in row["output"]
    ]
    assert copies
    for reply in copies:
        found = parse_extraction(reply, window="Marley was dead.", example=["Sam Rivera"], may_be_empty=True)
        assert "Sam Rivera" not in names(found)
        assert any("copied" in dropped.reason for dropped in found.dropped)


def test_real_json_reports_cut_anywhere_keep_their_title_and_whole_findings(outputs):
    reports = [row for row in outputs if row["kind"] == "json" and '"findings"' in row["output"]]
    assert len(reports) > 50
    for row in reports[:60]:
        whole = json.loads(row["output"])
        cut = repair_json("Here it is:\n```json\n" + row["output"][: int(0.7 * len(row["output"]))])
        assert cut["title"] == whole["title"]
        assert cut["findings"] == whole["findings"][: len(cut["findings"])]


# --- notations --------------------------------------------------------------------------------------

OURS = """entity | Mara Quill | person | Keeps the light.
entity | Tobin | person | A boatman.
relation | Mara Quill | Tobin | worked with | labour; sea | 7 | They worked together.
END"""

NOTATIONS = {
    "ours": OURS,
    "fenced with prose": f"Sure, here are the records:\n\n```text\n{OURS}\n```\nAnything else?",
    "numbered and bold": """1. **entity** | **Mara Quill** | Person | Keeps the light.
2. **entity** | **Tobin** | Person | A boatman.
3. **relation** | **Mara Quill** | **Tobin** | Worked with | labour, sea | 7/10 | They worked together.""",
    "bullets and quotes": """- entity | "Mara Quill" | "person" | "Keeps the light."
- entity | 'Tobin' | 'person' | 'A boatman.'
* relation | “Mara Quill” | “Tobin” | “worked with” | “labour; sea” | 7 | “They worked together.”""",
    "table": """| kind | a | b | c | d | e | f |
|---|---|---|---|---|---|---|
| entity | Mara Quill | person | Keeps the light. |
| entity | Tobin | person | A boatman. |
| relation | Mara Quill | Tobin | worked with | labour; sea | 7 | They worked together. |""",
    "tables by heading": """### Entities
| Name | Type | Description |
|:---|:---|:---|
| Mara Quill | person | Keeps the light. |
| Tobin | person | A boatman. |

### Relationships
| Source | Target | Predicate | Keywords | Strength | Description |
|---|---|---|---|---|---|
| Mara Quill | Tobin | worked with | labour; sea | 7 | They worked together. |""",
    "no kinds under headings": """**Entities:**
Mara Quill | person | Keeps the light.
Tobin | person | A boatman.
**Relations:**
Mara Quill | Tobin | worked with | labour; sea | 7 | They worked together.""",
    "tuples": """("entity"<|>"Mara Quill"<|>"person"<|>"Keeps the light.")##
("entity"<|>"Tobin"<|>"person"<|>"A boatman.")##
("relationship"<|>"Mara Quill"<|>"Tobin"<|>"worked with"<|>"labour; sea"<|>7<|>"They worked together.")
<|COMPLETE|>""",
    "one line": OURS.replace("\n", " ## "),
    "tabs": OURS.replace(" | ", "\t"),
    "full width": OURS.replace(" | ", "｜"),
    "commas": """entity, "Mara Quill", person, "Keeps the light."
entity, Tobin, person, A boatman.
relation, "Mara Quill", Tobin, worked with, "labour; sea", 7, They worked together.""",
    "json": json.dumps(
        {
            "entities": [
                {"name": "Mara Quill", "type": "person", "description": "Keeps the light."},
                {"name": "Tobin", "type": "person", "description": "A boatman."},
            ],
            "relations": [
                {
                    **{"source": "Mara Quill", "target": "Tobin", "predicate": "worked with"},
                    **{"keywords": ["labour", "sea"], "strength": 7, "description": "They worked together."},
                }
            ],
        },
        indent=2,
    ),
    "json lines": """{"name": "Mara Quill", "type": "person", "description": "Keeps the light."}
{"kind": "entity", "entity_name": "Tobin", "entity_type": "person", "description": "A boatman.",}
{'source': 'Mara Quill', 'target': 'Tobin', 'relation': 'worked with',
'keywords': 'labour, sea', 'weight': 7, 'description': 'They worked together.'}""",
    "json arrays": """[["entity", "Mara Quill", "person", "Keeps the light."],
["entity", "Tobin", "person", "A boatman."],
["relation", "Mara Quill", "Tobin", "worked with", "labour; sea", 7, "They worked together."]]""",
    "thinking": f"<think>entity | Draft | person | no</think>\n{OURS}",
    "windows line ends": OURS.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("reply", NOTATIONS.values(), ids=NOTATIONS.keys())
def test_every_notation_gives_the_same_records(reply):
    found = parse_extraction(reply)
    assert [(e.name, e.type, e.description) for e in found.entities] == [
        ("Mara Quill", "person", "Keeps the light."),
        ("Tobin", "person", "A boatman."),
    ]
    (relation,) = found.relations
    assert (relation.source, relation.predicate, relation.target) == ("Mara Quill", "worked with", "Tobin")
    assert relation.keywords == ("labour", "sea")
    assert relation.strength == 7
    assert relation.description == "They worked together."
    assert found.n_dropped == 0


def test_json_that_is_cut_off_keeps_its_complete_records():
    text = NOTATIONS["json"]
    found = parse_extraction(text[: text.index('"strength"')])
    assert set(names(found)) == TWO
    assert found.relations == ()


def test_graph_json_with_ids_is_resolved_to_names():
    reply = """{"nodes": [{"id": "1", "label": "Mara Quill"}, {"id": "2", "label": "Tobin"}],
    "edges": [{"source": "1", "target": "2", "label": "knows"}]}"""
    assert triples(parse_extraction(reply)) == [("Mara Quill", "knows", "Tobin")]


# --- damaged records --------------------------------------------------------------------------------


def test_pipes_inside_text_do_no_harm():
    found = parse_extraction("entity | AC|DC | band | Known as AC | DC since 1973")
    assert (found.entities[0].name, found.entities[0].description) == ("AC|DC", "Known as AC | DC since 1973")


@pytest.mark.parametrize(
    ("written", "strength"),
    [("8/10", 8), ("high", 8), ("9 (very close)", 9), ("0.7", 7), ("70%", 7), ("85", 8.5), ("", 5), ("0", 1)],
)
def test_strengths_are_read_in_whatever_form(written, strength):
    found = parse_extraction(f"relation | Mara | Tobin | knows | sea | {written} | A text.")
    assert found.relations[0].strength == pytest.approx(strength)
    assert found.relations[0].description == "A text."


def test_missing_and_swapped_fields_are_put_right():
    reply = """entity | person | Mara Quill | Keeps the light.
entity | Tobin | A boatman who has lived by the quay for years. | person
relation | Mara Quill | worked with | Tobin | labour | 6 | Together.
relation | Tobin | Mara Quill | 4
END"""
    found = parse_extraction(reply)
    assert [(e.name, e.type) for e in found.entities] == [("Mara Quill", "person"), ("Tobin", "person")]
    assert triples(found) == [("Mara Quill", "worked with", "Tobin"), ("Tobin", "", "Mara Quill")]
    assert [r.strength for r in found.relations] == [6, 4]


def test_ends_that_are_no_entities_become_entities_without_a_type():
    found = parse_extraction("relation | Mara | the quay | lives at | home | 6 | She lives there.\nEND")
    assert [(e.name, e.type) for e in found.entities] == [("Mara", ""), ("the quay", "")]
    assert found.n_created == 2


def test_a_relation_uses_the_spelling_of_its_entity():
    found = parse_extraction(
        "entity | The Halcyon | ship | A ship.\nrelation | MARA | halcyon | saved | x | 5 | y\nEND"
    )
    assert triples(found) == [("MARA", "saved", "The Halcyon")]


def test_self_relations_and_pronouns_are_dropped_with_their_reason():
    found = parse_extraction(
        OURS.replace("END", "relation | Tobin | tobin's | is | x | 1 | y\nentity | he | person | z")
    )
    assert [d.reason for d in found.dropped] == ["Tobin is related to itself", "the entity is no name: he"]
    assert found.n_dropped == 2


def test_repeated_records_are_merged_and_counted():
    reply = OURS.replace("END", "entity | TOBIN |  | Owns a boat.\n" + OURS)
    found = parse_extraction(reply)
    assert set(names(found)) == TWO
    assert found.entities[1].description == "A boatman. Owns a boat."
    assert len(found.relations) == 1
    assert found.n_merged == 4


def test_a_record_that_is_cut_off_is_dropped_and_said_to_be():
    found = parse_extraction(OURS.removesuffix("END") + "relation | Mara Quill | Tob")
    assert set(names(found)) == TWO
    assert [d.reason for d in found.dropped] == ["cut off"]
    assert not parse_extraction(OURS).dropped


def test_names_of_the_example_are_dropped_unless_the_text_has_them():
    reply = OURS.replace(
        "END",
        "entity | Tavrin Okelo | person | Sold a mill.\nrelation | Tobin | Tavrin Okelo | met | x | 5 | y",
    )
    found = parse_extraction(reply, window="Mara Quill and Tobin.", example=["Tavrin Okelo"])
    assert set(names(found)) == TWO
    assert found.n_dropped == 2
    legitimate = parse_extraction(reply, window="Mara met Tavrin  Okelo's son.", example=["Tavrin Okelo"])
    assert "Tavrin Okelo" in names(legitimate)


def test_fields_and_records_are_bounded():
    reply = "\n".join(f"entity | Name {n} | thing | {'x' * 50}" for n in range(500))
    found = parse_extraction(reply, max_records=60)
    assert len(found.entities) == 60
    assert found.n_dropped == 440
    assert len(found.dropped) == MAX_DROPPED
    long = parse_extraction(f"entity | Mara | person | {'word ' * 2000}\nentity | {'y' * 200} | person | z")
    assert len(long.entities[0].description) <= MAX_DESCRIPTION
    assert next(d.reason for d in long.dropped).startswith("its description was cut")
    assert all(len(name) <= MAX_NAME for name in names(long))


def test_the_format_line_itself_is_no_record():
    with pytest.raises(UnusableReply):
        parse_extraction(
            "entity | name | type | description\nrelation | source | target | predicate | description"
        )


# --- nothing there ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        "NONE\nEND",
        "none",
        "**NONE**",
        "There are no entities in this document.",
        '{"entities": [], "relations": []}',
        "[]",
    ],
)
def test_an_explicit_nothing_is_an_answer(reply):
    assert parse_extraction(reply).entities == ()


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("END", "no record"),
        ("I'm sorry, but I can't help with that.", "declines"),
        ("The story is about a keeper and her light, and how both grew old.", "no record"),
        ("relation | Mara | Mara | is | x | 3 | y", "related to itself"),
        ("<think>still thinking about entity | Mara | person", "empty"),
    ],
)
def test_a_reply_without_records_says_what_the_model_must_do(reply, problem):
    with pytest.raises(UnusableReply) as caught:
        parse_extraction(reply)
    assert problem in caught.value.problem
    assert "one record per line" in caught.value.instruction
    assert caught.value.raw == reply


# --- hostile replies ----------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "entity",
        "relation",
        '("entity"',
        "<|>",
        "|",
        " | ",
        "\n",
        "##",
        ")",
        '"',
        "“",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "END",
        "NONE",
        "```",
        "1. ",
        "- ",
        "**",
        "8/10",
        "Mara",
        "Tobin",
        "�",
        "\x00",
        "\\",
        "'",
        "->",
        "\t",
        "<think>",
    ]
)
REPLIES = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join))


PARTS = st.sampled_from(
    [
        *(
            "Mara Quill",
            "Tobin",
            "person",
            "Event",
            "none",
            "N/A",
            "8/10",
            "strong",
            "a; b",
            "name",
            "type",
            "source",
        ),
        *("  ", " ", "\\", '"', "“", "**", "'", ".", "(x)", "?", "-", "¦", "é", "<", "|", "She left."),
    ]
)
FIELDS = st.lists(st.lists(PARTS, max_size=2).map("".join), max_size=7)
LINES = st.tuples(st.sampled_from(["entity", "relation", "Entity", ""]), FIELDS).map(
    lambda line: " | ".join([line[0], *line[1]])
)


@given(st.lists(LINES, max_size=5).map("\n".join))
def test_records_in_the_form_of_the_prompt_are_read_as_any_others(text):
    found = parse_extraction(text, may_be_empty=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "_as_asked", lambda line: None)
        assert parse_extraction(text, may_be_empty=True) == found


def test_a_record_in_the_form_of_the_prompt_is_recognised():
    line = "entity | Mara Quill | person | Keeps the light (since 1871)."
    assert formats._as_asked(line).fields == ["Mara Quill", "person", "Keeps the light (since 1871)."]
    assert formats._as_asked("entity | name | type | description") is None
    assert formats._as_asked('entity | "Mara" | person | Keeps it') is None


@given(REPLIES)
@example("entity|")
@example('{"entities": [[[["entity"')
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(UnusableReply):
        found = parse_extraction(text)
        known = set(names(found))
        assert all({r.source, r.target} <= known and r.source != r.target for r in found.relations)
        repr(found).encode("utf-8")
    repair_json(text)


HOSTILE = [
    "{",
    '{"',
    '{"a":',
    "[1,",
    '"',
    '{"a":"b" ',
    "|",
    "entity|",
    "entity | a | b | c ",
    '("entity"<|>',
    "<|>",
    "##",
]
HOSTILE += [
    "[/*",
    '{"a":"\\',
    "relation | a | b\n",
    "- ",
    "**",
    "| ",
    "(",
    "<think>",
    "</think>",
    "\t",
    "entity:",
    " ",
    "[[",
    "8/",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_cost_grows_with_the_length_of_the_reply(piece):
    text = piece * (25_000 // len(piece))
    started = time.process_time()
    repair_json(text)
    with contextlib.suppress(UnusableReply):
        parse_extraction(text)
    # A quadratic pass over so much text would take minutes.
    assert time.process_time() - started < 3


def test_predicates_keep_the_capitals_of_names():
    found = parse_extraction(
        "relation | Mara Quill | Tobin | Elected with to the Harbour Board | vote | 7 | Both were elected.\n"
        "relation | Tobin | Mara Quill | IS_BROTHER_OF | kin | 7 | Tobin is her brother.\n"
        "relation | Tobin | Sallowmouth | heißt nach | kin | 2 | He is named after it.\n"
        "relation | Mara Quill | Tobin | elected with to the harbour board | office | 5 | Both were elected.\n"
    )
    assert triples(found) == [
        ("Mara Quill", "elected with to the Harbour Board", "Tobin"),
        ("Tobin", "is brother of", "Mara Quill"),
        ("Tobin", "heißt nach", "Sallowmouth"),
    ]
    assert found.n_merged == 1
