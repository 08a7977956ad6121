"""Records in a notebook: escaped, bounded, without script."""

import html.parser

from polygraph import notebook
from polygraph.indexing.progress import BuildReport
from polygraph.records import (
    Answer,
    Citation,
    Cut,
    Evidence,
    Finding,
    Report,
    Retrieval,
    Span,
    Usage,
)

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)> $x$ \"'&"
ALLOWED = {"div", "p", "strong", "small", "table", "tr", "th", "td", "br"}


class _Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.data, self.depth = set(), [], "", 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        self.depth += tag != "br"

    def handle_endtag(self, tag):
        self.depth -= 1

    def handle_data(self, data):
        self.data += data


def _retrieval(n=1):
    evidence = Evidence(
        kind="chunk", id="a:0", text=EVIL, score=0.5, spans=(Span(EVIL, "a:0", 0, 3),), why=EVIL
    )
    cuts = (Cut(kind="chunk", n_items=3, n_tokens=9, budget=1),)
    return Retrieval(question=EVIL, method=EVIL, evidence=(evidence,) * n, context="", cuts=cuts)


def _answer(text=EVIL, nearest=(), **usage):
    citation = Citation(n=1, document=EVIL, chunk="a:0", start=0, end=3, quote=EVIL, title=EVIL)
    return Answer(
        question=EVIL,
        method=EVIL,
        text=text,
        refused=False,
        citations=(citation,),
        retrieval=_retrieval(),
        usage=Usage(**usage),
        notes=(EVIL,),
        nearest=nearest,
    )


def _records():
    report = Report(
        community="0-a",
        level=0,
        title=EVIL,
        summary=EVIL,
        findings=(Finding(summary=EVIL, explanation=EVIL),),
        rating=5.0,
    )
    build = BuildReport(added=1, unread=((EVIL, EVIL),), notes=[EVIL], counts={"documents": 1})
    return [_answer(), _answer(nearest=_answer().citations), _retrieval(), report, build]


def test_nothing_in_a_record_becomes_markup():
    for record in _records():
        seen = _Tags(record._repr_html_())
        assert seen.tags <= ALLOWED
        assert not seen.attributes
        assert seen.depth == 0
        assert "<script>alert(1)</script>" in seen.data
        # Notebooks typeset what stands between dollar signs.
        assert "$" not in record._repr_html_()


def test_long_texts_and_tables_are_cut_with_a_count():
    shown = _Tags(_retrieval(50)._repr_html_())
    assert shown.data.count("a:0") == 0
    assert f"and {50 - notebook.MAX_ROWS} more" in shown.data
    assert len(_answer("word " * 100_000)._repr_html_()) < 20_000


def test_an_answer_shows_its_source_and_its_cost():
    shown = _Tags(_answer("She did [1].", calls=2, seconds=1.5, cost=0.25)._repr_html_()).data
    assert "[1]" in shown
    assert "1.5 s · 2 calls · 0.2500 USD" in shown
    assert "cost unknown" in _Tags(_answer("She did [1].", cost=None)._repr_html_()).data


def test_a_refusal_shows_the_nearest_passages():
    near = Citation(n=2, document="b.txt", chunk="b:0", start=0, end=3, quote="She may have.", place="page 4")
    shown = _Tags(_answer("No.", nearest=(near,))._repr_html_()).data
    assert "Nearest passages:" in shown
    assert "b.txt, page 4She may have." in shown
    assert "Nearest" not in _Tags(_answer()._repr_html_()).data


def test_a_retrieval_says_how_much_did_not_fit():
    assert "3 did not fit" in _retrieval()._repr_html_()
