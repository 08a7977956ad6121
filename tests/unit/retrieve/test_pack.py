from polygraph.records import Evidence, Span
from polygraph.retrieve.pack import Block, pack
from polygraph.text.tokens import count_tokens


def item(name, text):
    return Evidence(kind="chunk", id=name, text=text, score=1.0, spans=(Span("d", name, 0, len(text)),))


def test_numbers_in_the_context_are_positions_in_the_evidence():
    packed = pack([Block(heading="", items=(item("a", "one"), item("b", "two")))], max_tokens=100)
    assert packed.context == "[1] one\n\n[2] two"
    assert [e.id for e in packed.evidence] == ["a", "b"]


def test_the_context_never_exceeds_the_budget_and_truncation_is_recorded():
    items = tuple(item(str(n), "word " * 30) for n in range(20))
    packed = pack([Block(heading="## Sources", items=items)], max_tokens=200)
    assert count_tokens(packed.context) <= packed.n_tokens <= 200
    (cut,) = packed.cuts
    assert cut.n_items + len(packed.evidence) == 20
    assert cut.n_tokens >= cut.n_items * 30


def test_the_unused_budget_of_a_block_goes_to_the_next():
    long = tuple(item(str(n), "word " * 40) for n in range(10))
    alone = pack([Block(heading="", items=long, share=0.5)], max_tokens=400)
    after = pack(
        [Block(heading="", items=(), share=0.5), Block(heading="", items=long, share=0.5)], max_tokens=400
    )
    assert len(after.evidence) > len(alone.evidence)


def test_a_good_long_item_is_shortened_rather_than_skipped():
    packed = pack([Block(heading="", items=(item("a", "word " * 500), item("b", "short")))], max_tokens=60)
    assert [e.id for e in packed.evidence] == ["a"]
    assert "shortened" in packed.evidence[0].why
    assert count_tokens(packed.context) <= 60


def test_a_budget_too_small_for_anything_gives_nothing():
    packed = pack([Block(heading="", items=(item("a", "word " * 50),))], max_tokens=5)
    assert packed.evidence == ()
    assert packed.cuts[0].n_items == 1


RULES = (
    "The room can be hired for £22 an hour. Bookings are made with the secretary by e-mail. "
    "A booking that is cancelled late is charged in full. A lost key costs £40."
)


def passage(document, heading, body):
    text = f"{heading}\n{body}" if heading else body
    return Evidence(
        kind="chunk",
        id=f"{document}:0",
        text=text,
        score=1.0,
        spans=(Span(document, f"{document}:0", 0, len(body)),),
    )


def packed_texts(*items):
    packed = pack([Block(heading="## Sources", items=items)], max_tokens=2_000)
    return packed, [(e.id, [s.document for s in e.spans]) for e in packed.evidence]


def test_the_copy_of_a_document_gives_its_place_to_the_next_passage():
    other = passage("c", "Parking", "Bicycles stand under the arch.")
    packed, found = packed_texts(passage("a", "Rules", RULES), passage("b", "Rules", RULES), other)
    assert found == [("a:0", ["a", "b"]), ("c:0", ["c"])]
    assert packed.context.count("£22") == 1
    assert "also in b" in packed.evidence[0].why
    assert packed.cuts == ()


def test_a_copy_with_another_title_or_date_is_named_and_takes_no_place():
    first = passage("a", "Rules", RULES)
    packed, found = packed_texts(
        first,
        passage("b", "The web site\ndate: 2024-04-12", RULES),
        passage("c", "", f"Hiring\n\n12 April 2024\n\n{RULES}"),
    )
    assert found == [("a:0", ["a", "b", "c"])]
    assert packed.evidence[0].text == (
        f"Rules\n{RULES}\n(The same text: The web site; date: 2024-04-12)\n(The same text: Hiring; 12 April 2024)"
    )
    assert count_tokens(packed.context) <= packed.n_tokens


def test_copies_can_be_kept_so_that_numbers_are_positions():
    items = [passage("a", "Rules", RULES), passage("b", "Rules", RULES), passage("c", "Parking", "Bicycles.")]
    packed = pack([Block(heading="", items=items)], max_tokens=2_000, merge_copies=False)
    assert list(packed.evidence) == items


def test_a_text_in_which_a_value_changed_is_no_copy():
    first = passage("a", "Rules", RULES)
    for other in (
        passage("b", "Rules", RULES.replace("£22", "£25")),
        passage("b", "Rules", f"{RULES} The piano is booked separately."),
        passage("b", "", f"Hire for £19\n{RULES}"),
        passage("b", "Rules\nauthor: Ana Ruiz", RULES),
        passage("b", "Rules", f"Treasurer: Ana Ruiz\n{RULES}"),
    ):
        assert len(packed_texts(first, other)[1]) == 2


def test_a_short_text_below_another_title_is_no_copy():
    records = [
        passage("a", "Ana Ruiz", "Member since 2019."),
        passage("b", "Ben Olsen", "Member since 2019."),
    ]
    assert len(packed_texts(*records)[1]) == 2


def test_the_parts_of_a_copy_may_be_cut_elsewhere():
    sentences = RULES.replace(". ", ".\n").split("\n")
    parts = [passage("a", "Rules", " ".join(sentences[:2])), passage("a", "Rules", " ".join(sentences[2:]))]
    _, found = packed_texts(*parts, passage("b", "Rules", " ".join(sentences[1:3])))
    assert [n for n, _ in found] == ["a:0", "a:0"]


def test_items_that_do_not_fit_are_not_looked_at_where_their_ids_and_tokens_are_known():
    items = [item(str(n), "word " * 30) for n in range(9)]

    class Lazy(list):
        def __getitem__(self, n):
            assert n <= 3, "only the first that does not fit is looked at"
            return super().__getitem__(n)

        def __iter__(self):
            return (self[n] for n in range(len(self)))

    counts = {each.id: 31 + int(each.id) for each in items}
    known = Block(heading="", items=Lazy(items), counts=counts, ids=[each.id for each in items])
    found = pack([known], max_tokens=125)
    assert [each.id for each in found.evidence] == ["0", "1", "2"]
    assert found == pack([Block(heading="", items=items, counts=counts)], max_tokens=125)
    (cut,) = found.cuts
    assert (cut.n_items, cut.n_tokens) == (6, sum(31 + n for n in range(3, 9)))
