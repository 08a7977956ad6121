"""The unbiased evaluation (arXiv:2506.06331): table 2, figures 2, 3, 6, 7 and 9 to 20.

The text gives only a few numbers of its figures; of the others only the shape can be compared. Figures 3 and 9 have two
parts: the usual evaluation and the unbiased one.
"""

from collections.abc import Mapping
from typing import Literal

from polygraph.evaluate.reproduce.tables.records import (
    Column,
    JudgingSetup,
    QuestionSource,
    System,
    Table,
    mean_of,
    rows,
)

_NAIVE = System(name="NaiveRAG", method="naive:unbiased-evaluation")
_MG = System(name="MGRAG", method="graphrag-global:microsoft")
_FG = System(name="FGRAG", method="fast-graphrag:circlemind")
_LIGHT = System(name="LightRAG", method="lightrag-hybrid:unbiased-evaluation")
_ALL = (_NAIVE, _MG, _FG, _LIGHT)
_LIGHT_AGAIN = System(name="LightRAG, second run", method=f"{_LIGHT.method}#2")
_TWICE = (_LIGHT, _LIGHT_AGAIN)
_SEARCH = (
    "the paper does not say which search of Microsoft GraphRAG it ran; its tokens per question match global "
    "search"
)
_PAIRS = "the figure compares all pairs; here the others are compared with LightRAG"
_NO_DATA = "the paper does not name the data set"
_NO_QUESTIONS = (
    "the paper does not say which questions it asked; the usual evaluation generates them from summaries"
)
_USUAL = "a winner must be named, the answer of LightRAG is shown first, and each pair is judged once"
_OF_DATA = "ultradomain, mix, agriculture or music"
_ONE = (Column(name="win rate", measure="verdict"),)
_RELATIVE = (Column(name="relative win rate", measure="verdict"),)
_OVERALL = (Column(name="win rate", measure="verdict", aspect="overall"),)
_ASPECTS = tuple(
    Column(name=aspect.capitalize(), measure="verdict", aspect=aspect)
    for aspect in ("comprehensiveness", "relevance", "empowerment", "directness")
)
_LEVELS = tuple(
    Column(name=level, measure="verdict", where={"type": level}) for level in ("node", "edge", "subgraph")
)


def _judged_table(
    name: str,
    place: str,
    title: str,
    data: str,
    *differs: str,
    columns: tuple[Column, ...] = _ONE,
    value: Literal["win", "relative"] = "win",
    systems: tuple[System, ...] = _ALL,
    numbers: Mapping[str, tuple[float | None, ...]] | None = None,
    protocol: str = "unbiased",
    reference: str = "LightRAG",
    question_source: QuestionSource = "grounded",
    trials: int = 0,
    align: bool | None = None,
) -> Table:
    return Table(
        paper="unbiased-evaluation",
        name=name,
        place=place,
        title=title,
        data=data,
        n=125 if question_source == "summary" else 150,
        systems=systems,
        columns=columns,
        judging=JudgingSetup(
            protocol=protocol,
            reference=reference,
            value=value,
            judge="gpt-4o-mini",
            question_source=question_source,
            trials=trials,
            align=align,
        ),
        numbers={"gpt-4o-mini": numbers or {}},
        pictured=numbers is None or any(None in row for row in numbers.values()),
        differs=(*differs, _SEARCH) if _MG in systems else differs,
    )


TABLES: tuple[Table, ...] = (
    Table(
        paper="unbiased-evaluation",
        name="2",
        place="Table 2",
        title="Tokens and seconds per question",
        data="ultradomain, mix, with its own 100 questions",
        n=100,
        systems=_ALL,
        columns=(
            Column(name="tokens", measure="tokens", factor=1.0),
            Column(name="seconds", measure="seconds", factor=1.0),
        ),
        numbers={
            "gpt-4o-mini": rows(
                _ALL, (4_213.0, 11.55), (326_200.0, 25.84), (3_310.0, 8.77), (19_650.0, 18.27)
            ),
        },
        differs=(
            "seconds depend on the endpoint, and count only answers that were not cached",
            _SEARCH,
        ),
    ),
    _judged_table(
        "figure-2",
        "Figure 2",
        "Position bias: win rates of LightRAG against itself, shown first and shown second",
        _OF_DATA,
        "the text says that the two win rates can differ by over 30%",
        _NO_DATA,
        columns=tuple(
            Column(name=f"shown {position}", measure="verdict", aspect="overall", position=position)
            for position in ("first", "second")
        ),
        systems=_TWICE,
        protocol="fg-rag",
    ),
    _judged_table(
        "figure-3-usual",
        "Figure 3, left, and the text of section 1",
        "Win rate of LightRAG against NaiveRAG in the usual evaluation",
        _OF_DATA,
        _USUAL,
        _NO_DATA,
        _NO_QUESTIONS,
        columns=_OVERALL,
        systems=(_LIGHT, _NAIVE),
        protocol="lightrag",
        question_source="summary",
        numbers={"NaiveRAG": (72.0,)},
    ),
    _judged_table(
        "figure-3-unbiased",
        "Figure 3, right",
        "Win rate of LightRAG against NaiveRAG in the unbiased evaluation",
        _OF_DATA,
        "the text says that NaiveRAG slightly outperforms LightRAG; the figure is a box plot over trials, ours is the "
        "mean of all trials with an interval over questions",
        _NO_DATA,
        systems=(_LIGHT, _NAIVE),
    ),
    _judged_table(
        "figure-6",
        "Figure 6",
        "Length bias: relative win rates of the longer of two answers of LightRAG, by difference in length",
        _OF_DATA,
        "the text says that a gap of 25 tokens can lead to a difference of win rates of over 50%",
        "the figure counts tokens; here the lengths are words, and the classes of lengths are ours",
        "the paper does not say how many trials it ran; here it is one",
        _NO_DATA,
        columns=tuple(
            Column(name=name, measure="verdict", longer_by=bounds)
            for name, bounds in (
                ("1 to 10 words longer", (1, 10)),
                ("11 to 25 words longer", (11, 25)),
                ("more than 25 words longer", (26, 1_000_000)),
            )
        ),
        value="relative",
        systems=_TWICE,
        trials=1,
        align=False,
    ),
    _judged_table(
        "figure-7",
        "Figure 7",
        "Trial bias: win rates of NaiveRAG against FGRAG in each of five trials",
        "ultradomain, agriculture",
        "the text says that NaiveRAG wins trials 2 and 4, FGRAG trials 1 and 3, and that trial 5 is a tie",
        columns=tuple(
            Column(name=f"trial {number}", measure="verdict", trial=number - 1) for number in range(1, 6)
        ),
        systems=(_NAIVE, _FG),
        reference="NaiveRAG",
        trials=5,
    ),
    _judged_table(
        "figure-9-usual",
        "Figure 9, left, and the text of section 5.1",
        "Sanity check: win rate of LightRAG against itself in the usual evaluation",
        _OF_DATA,
        _USUAL,
        _NO_DATA,
        _NO_QUESTIONS,
        columns=_OVERALL,
        systems=_TWICE,
        protocol="lightrag",
        question_source="summary",
        numbers={"LightRAG, second run": (90.0,)},
    ),
    _judged_table(
        "figure-9-unbiased",
        "Figure 9, right",
        "Sanity check: relative win rate of LightRAG against itself in the unbiased evaluation",
        _OF_DATA,
        "the text says that the two runs match each other; the figure is a box plot of win rates over trials, ours is "
        "the mean of wins less losses with an interval over questions",
        _NO_DATA,
        columns=_RELATIVE,
        value="relative",
        systems=_TWICE,
    ),
    _judged_table(
        "10-mix", "Figure 10", "Win rates of LightRAG, ties not counted", "ultradomain, mix", _PAIRS
    ),
    _judged_table(
        "10-agriculture",
        "Figure 10 and the text of section 5.2",
        "Win rates of LightRAG, ties not counted",
        "ultradomain, agriculture",
        _PAIRS,
        numbers=rows((_NAIVE, _MG, _FG), (39.06,), (32.33,), (None,)),
    ),
    _judged_table(
        "10-music", "Figure 10", "Win rates of LightRAG, ties not counted", "ultradomain, music", _PAIRS
    ),
    _judged_table(
        "11",
        "Figure 11 and the text of section 5.2",
        "Relative win rates of every pair, mean of three data sets",
        "ultradomain, mix, agriculture or music; one of the three at a time",
        mean_of("three"),
        "the text says that all other relative win rates are below 8%",
        columns=_RELATIVE,
        value="relative",
        reference="",
        numbers={
            "NaiveRAG over MGRAG": (None,),
            "NaiveRAG over FGRAG": (None,),
            "NaiveRAG over LightRAG": (None,),
            "MGRAG over FGRAG": (None,),
            "MGRAG over LightRAG": (11.0,),
            "FGRAG over LightRAG": (21.0,),
        },
    ),
    *(
        _judged_table(
            f"{number}-{name}",
            f"Figure {number}",
            "Win rates of LightRAG by aspect",
            f"ultradomain, {name}",
            "the text says that ties are above 50% in many cases and rarely below 25%",
            _PAIRS,
            columns=_ASPECTS,
        )
        for number, name in ((12, "music"), (16, "agriculture"), (17, "mix"))
    ),
    *(
        _judged_table(
            f"{number}-{name}",
            f"Figure {number}",
            "Relative win rates of every pair",
            f"ultradomain, {name}",
            columns=_RELATIVE,
            value="relative",
            reference="",
        )
        for number, name in ((13, "mix"), (14, "agriculture"), (15, "music"))
    ),
    _judged_table(
        "18-20",
        "Figures 18 to 20",
        "Win rates of LightRAG by level of the question, mean of three data sets",
        "ultradomain, mix, agriculture or music; one of the three at a time",
        mean_of("three"),
        _PAIRS,
        columns=_LEVELS,
    ),
)
