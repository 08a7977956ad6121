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
