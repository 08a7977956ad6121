"""The unbiased evaluation (arXiv:2506.06331): table 2, figures 10 to 20.

The text gives only a few numbers of its figures.
"""

from collections.abc import Mapping
from typing import Literal

from polygraph.evaluate.reproduce.tables.records import Column, JudgingSetup, System, Table, mean_of, rows

_NAIVE = System(name="NaiveRAG", method="naive:unbiased-evaluation")
_MG = System(name="MGRAG", method="graphrag-global:microsoft")
_FG = System(name="FGRAG", method="fast-graphrag:circlemind")
_LIGHT = System(name="LightRAG", method="lightrag-hybrid:unbiased-evaluation")
_ALL = (_NAIVE, _MG, _FG, _LIGHT)
_SEARCH = (
    "the paper does not say which search of Microsoft GraphRAG it ran; its tokens per question match global "
    "search"
)
_PAIRS = "the figure compares all pairs; here the others are compared with LightRAG"
_ONE = (Column(name="win rate", measure="verdict"),)
_RELATIVE = (Column(name="relative win rate", measure="verdict"),)
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
) -> Table:
    return Table(
        paper="unbiased-evaluation",
        arxiv="2506.06331",
        name=name,
        place=place,
        title=title,
        data=data,
        n=150,
        systems=systems,
        columns=columns,
        judging=JudgingSetup(
            protocol="unbiased",
            reference="LightRAG",
            value=value,
            judge="gpt-4o-mini",
            question_source="grounded",
        ),
        numbers={"gpt-4o-mini": numbers or {}},
        pictured=numbers is None or any(None in row for row in numbers.values()),
        differs=(*differs, _SEARCH),
    )


TABLES: tuple[Table, ...] = (
    Table(
        paper="unbiased-evaluation",
        arxiv="2506.06331",
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
        "Relative win rates of LightRAG, mean of three data sets",
        "ultradomain, mix, agriculture or music; one of the three at a time",
        mean_of("three"),
        "the text says that all other relative win rates, including the one against NaiveRAG, are below 8%",
        columns=_RELATIVE,
        value="relative",
        numbers=rows((_NAIVE, _MG, _FG), (None,), (-11.0,), (-21.0,)),
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
            "Relative win rates of LightRAG",
            f"ultradomain, {name}",
            _PAIRS,
            columns=_RELATIVE,
            value="relative",
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
