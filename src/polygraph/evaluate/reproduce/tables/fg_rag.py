"""FG-RAG (arXiv:2504.07103): tables 1 to 3 and 7."""

from polygraph.evaluate.reproduce.tables.records import Column, JudgingSetup, System, Table, mean_of, rows

_FG = System(name="FG-RAG", method="fg-rag:paper")
_FG_HOP = System(name="FG-RAG", method="fg-rag:multi-hop")
_FG_NAIVE = System(name="NaiveRAG", method="naive:fg-rag")
_FG_LIGHT = System(name="LightRAG", method="lightrag-hybrid:unbiased-evaluation")
_FG_GRAPH = System(name="GraphRAG", method="graphrag-global:microsoft")
_FG_RIVALS = (_FG_NAIVE, _FG_LIGHT, _FG_GRAPH)
_CRITERIA = (
    Column(name="Comprehensiveness", measure="verdict", aspect="comprehensiveness"),
    Column(name="Diversity", measure="verdict", aspect="diversity"),
    Column(name="Empowerment", measure="verdict", aspect="empowerment"),
    Column(name="Overall", measure="verdict", aspect="overall"),
)
_FG_JUDGING = JudgingSetup(
    protocol="fg-rag", reference="FG-RAG", value="win", judge="gpt-4o-mini", question_source="summary"
)
_SEARCH = "the paper does not say which search of GraphRAG it ran; its tokens per question are those of global search"

_MEANS = (
    Table(
        paper="fg-rag",
        profile="fg-rag",
        name="1",
        place="Table 1",
        title="Win rates of FG-RAG on broad questions, mean of five data sets",
        data="ultradomain (agriculture, art, legal or mix) or the articles of multihop-rag; one of the five at a time",
        n=125,
        systems=(*_FG_RIVALS, _FG),
        columns=_CRITERIA,
        judging=_FG_JUDGING,
        numbers={
            "gpt-4o-mini": rows(
                _FG_RIVALS, (64.48, 70.80, 69.92, 69.04), (56.32, 57.28, 59.04, 58.64), (60.40, 65.52, 66.24, 64.64)
            ),
            "qwen2.5-7b-instruct": rows(
                _FG_RIVALS, (67.68, 65.68, 66.88, 68.48), (62.24, 53.68, 64.88, 64.00), (75.68, 67.04, 81.44, 78.00)
            ),
            "qwen2.5-3b-instruct": rows(
                _FG_RIVALS, (75.04, 78.56, 78.32, 78.24), (60.56, 61.52, 65.52, 63.04), (76.76, 68.88, 83.60, 80.72)
            ),
            "qwen2.5-1.5b-instruct": rows(
                _FG_RIVALS, (61.76, 61.52, 62.32, 63.20), (64.72, 63.52, 68.32, 66.24), (78.00, 64.88, 80.64, 78.00)
            ),
        },
        differs=(mean_of("five"), _SEARCH),
    ),
    Table(
        paper="fg-rag",
        profile="fg-rag",
        name="2",
        place="Table 2",
        title="Multi-hop questions, exact match",
        data="multihop-rag, 125 questions of each type but null",
        form="word",
        n=375,
        types=("inference_query", "comparison_query", "temporal_query"),
        per_type=125,
        systems=(*_FG_RIVALS, _FG_HOP),
        columns=(Column(name="Accuracy", measure="em"),),
        numbers={
            "gpt-4o-mini": rows((*_FG_RIVALS, _FG_HOP), (54.40,), (43.47,), (65.33,), (69.87,)),
            "qwen2.5-7b-instruct": rows((*_FG_RIVALS, _FG_HOP), (43.20,), (37.60,), (34.93,), (57.33,)),
            "qwen2.5-3b-instruct": rows((*_FG_RIVALS, _FG_HOP), (31.73,), (29.60,), (24.00,), (30.13,)),
            "qwen2.5-1.5b-instruct": rows((*_FG_RIVALS, _FG_HOP), (36.80,), (37.60,), (50.13,), (39.20,)),
        },
        differs=("the questions sampled in the paper are not published; ours are another sample", _SEARCH),
    ),
    Table(
        paper="fg-rag",
        profile="fg-rag",
        name="3",
        place="Table 3",
        title="Ablation of FG-RAG: win rates against NaiveRAG, mean of five data sets",
        data="as for table 1",
        n=125,
        systems=(
            _FG,
            System(name="w/o CAEE", method="fg-rag:without-expansion"),
            System(name="w/o QLFGS", method="fg-rag:without-summaries"),
            _FG_NAIVE,
        ),
        columns=_CRITERIA,
        judging=JudgingSetup(
            protocol="fg-rag", reference="NaiveRAG", value="win", judge="gpt-4o-mini", question_source="summary"
        ),
        numbers={
            "gpt-4o-mini": {
                "FG-RAG": (35.52, 29.20, 30.08, 30.96),
                "w/o CAEE": (37.76, 34.08, 32.32, 32.24),
                "w/o QLFGS": (48.48, 42.00, 46.88, 47.12),
            },
        },
        differs=(mean_of("five"),),
    ),
)  # fmt: skip

# --- table 7: each data set separately ------------------------------------------------------------------

_FG_FAST = System(name="FastGraphRAG", method="fast-graphrag:circlemind")
_DATA = {
    "agriculture": "ultradomain, agriculture",
    "art": "ultradomain, art",
    "cs": "ultradomain, cs or legal: table 7 names the third set CS, table 6 Legal",
    "mix": "ultradomain, mix",
    "news": "the articles of multihop-rag",
}
_BY_DATA: dict[str, dict[str, dict[str, tuple[float | None, ...]]]] = {
    "agriculture": {
        "gpt-4o-mini": {
            "NaiveRAG": (62.8, 68.0, 65.6, 64.0),
            "LightRAG": (54.0, 53.6, 58.0, 58.0),
            "GraphRAG": (60.8, 69.2, 66.0, 65.2),
            "FastGraphRAG": (63.6, 69.6, 67.2, 66.8),
        },
        "qwen2.5-7b-instruct": {
            "NaiveRAG": (55.2, 54.8, 52.8, 56.4),
            "LightRAG": (53.6, 52.4, 54.4, 53.6),
            "GraphRAG": (70.4, 59.2, 81.2, 75.2),
        },
        "qwen2.5-3b-instruct": {
            "NaiveRAG": (62.0, 65.6, 66.0, 65.2),
            "LightRAG": (52.8, 57.6, 55.6, 54.0),
            "GraphRAG": (72.0, 60.8, 78.8, 74.8),
        },
        "qwen2.5-1.5b-instruct": {
            "NaiveRAG": (56.0, 57.6, 55.6, 56.4),
            "LightRAG": (57.6, 64.4, 61.6, 59.2),
            "GraphRAG": (78.4, 64.0, 80.8, 78.4),
        },
    },
    "art": {
        "gpt-4o-mini": {
            "NaiveRAG": (64.0, 66.8, 67.6, 65.6),
            "LightRAG": (59.6, 60.0, 59.2, 60.0),
            "GraphRAG": (63.6, 69.2, 69.6, 67.2),
            "FastGraphRAG": (68.8, 72.4, 72.4, 71.2),
        },
        "qwen2.5-7b-instruct": {
            "NaiveRAG": (62.4, 50.8, 58.8, 60.0),
            "LightRAG": (68.8, 53.2, 69.2, 68.0),
            "GraphRAG": (69.2, 58.4, 74.4, 70.4),
        },
        "qwen2.5-3b-instruct": {
            "NaiveRAG": (71.2, 68.4, 73.2, 74.4),
            "LightRAG": (61.6, 62.0, 66.4, 63.6),
            "GraphRAG": (71.8, 66.4, 83.2, 79.6),
        },
        "qwen2.5-1.5b-instruct": {
            "NaiveRAG": (64.0, 60.4, 63.2, 65.6),
            "LightRAG": (68.4, 64.8, 68.0, 67.6),
            "GraphRAG": (79.2, 69.2, 83.2, 78.8),
        },
    },
    "cs": {
        "gpt-4o-mini": {
            "NaiveRAG": (66.8, 88.8, 78.4, 76.8),
            "LightRAG": (52.4, 61.6, 54.8, 55.2),
            "GraphRAG": (59.2, 67.6, 70.0, 65.6),
            "FastGraphRAG": (73.6, 75.6, 78.8, 77.6),
        },
        "qwen2.5-7b-instruct": {
            "NaiveRAG": (81.2, 90.4, 84.4, 83.6),
            "LightRAG": (59.6, 61.6, 67.2, 64.8),
            "GraphRAG": (82.8, 74.4, 86.8, 84.8),
        },
        "qwen2.5-3b-instruct": {
            "NaiveRAG": (90.8, 96.8, 93.6, 93.6),
            "LightRAG": (73.2, 78.4, 78.8, 76.4),
            "GraphRAG": (76.4, 66.0, 82.8, 78.4),
        },
        "qwen2.5-1.5b-instruct": {
            "NaiveRAG": (64.8, 73.6, 70.8, 69.2),
            "LightRAG": (68.4, 71.2, 74.0, 72.8),
            "GraphRAG": (82.4, 64.8, 83.6, 82.4),
        },
    },
    "mix": {
        "gpt-4o-mini": {
            "NaiveRAG": (66.8, 62.4, 69.6, 71.2),
            "LightRAG": (60.8, 54.4, 64.4, 64.0),
            "GraphRAG": (58.8, 57.6, 66.4, 64.8),
            "FastGraphRAG": (68.0, 69.2, 72.4, 72.8),
        },
        "qwen2.5-7b-instruct": {
            "NaiveRAG": (68.0, 64.4, 68.8, 70.0),
            "LightRAG": (58.8, 42.8, 62.8, 61.6),
            "GraphRAG": (78.0, 70.8, 83.2, 80.4),
        },
        "qwen2.5-3b-instruct": {
            "NaiveRAG": (80.0, 81.2, 83.2, 83.6),
            "LightRAG": (59.2, 60.0, 67.6, 64.4),
            "GraphRAG": (85.6, 77.2, 90.0, 88.4),
        },
        "qwen2.5-1.5b-instruct": {
            "NaiveRAG": (55.6, 52.4, 53.2, 56.0),
            "LightRAG": (61.6, 54.8, 67.2, 63.6),
            "GraphRAG": (68.0, 52.4, 71.6, 66.4),
        },
    },
    "news": {
        "gpt-4o-mini": {
            "NaiveRAG": (62.0, 68.0, 68.4, 67.6),
            "LightRAG": (54.8, 56.8, 58.8, 56.0),
            "GraphRAG": (59.6, 64.0, 59.2, 60.4),
            "FastGraphRAG": (64.8, 66.4, 71.6, 69.6),
        },
        "qwen2.5-7b-instruct": {
            "NaiveRAG": (71.6, 68.0, 69.6, 72.4),
            "LightRAG": (70.4, 58.4, 70.8, 72.0),
            "GraphRAG": (78.0, 72.4, 81.6, 79.2),
        },
        "qwen2.5-3b-instruct": {
            "NaiveRAG": (71.2, 80.8, 75.6, 74.4),
            "LightRAG": (56.0, 49.6, 59.2, 56.8),
            "GraphRAG": (78.0, 74.0, 83.2, 82.4),
        },
        "qwen2.5-1.5b-instruct": {
            "NaiveRAG": (68.4, 63.6, 68.8, 68.8),
            "LightRAG": (67.6, 62.4, 70.8, 68.0),
            "GraphRAG": (82.0, 74.0, 84.0, 84.0),
        },
    },
}
"""By data set, model and rival: FG-RAG's win rates for the four criteria."""

_EACH = tuple(
    Table(
        paper="fg-rag",
        profile="fg-rag",
        name=f"7-{name}",
        place=f"Table 7, {name}",
        title="Win rates of FG-RAG on broad questions",
        data=data,
        n=125,
        systems=(*_FG_RIVALS, _FG_FAST, _FG),
        columns=_CRITERIA,
        judging=_FG_JUDGING,
        numbers=_BY_DATA[name],
        differs=(_SEARCH,),
    )
    for name, data in _DATA.items()
)

TABLES: tuple[Table, ...] = (*_MEANS, *_EACH)
