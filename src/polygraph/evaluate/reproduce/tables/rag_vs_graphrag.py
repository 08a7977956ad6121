"""RAG vs. GraphRAG (arXiv:2502.11371): tables 1 to 13, figures 2 to 4 and 7."""

from typing import Literal

from polygraph.evaluate.reproduce.tables.records import Column, JudgingSetup, System, Table, rows

RAG = System(name="RAG", method="naive:rag-vs-graphrag")
TRIPLETS = System(name="KG-GraphRAG (Triplets only)", method="kg-triplets:rag-vs-graphrag")
TEXT = System(name="KG-GraphRAG (Triplets+Text)", method="kg-text:rag-vs-graphrag")
LOCAL = System(name="Community-GraphRAG (Local)", method="graphrag-local:microsoft")
GLOBAL = System(name="Community-GraphRAG (Global)", method="graphrag-global:microsoft")
INTEGRATION = System(name="Integration", method="integrate:rag-vs-graphrag")
FIVE = (RAG, TRIPLETS, TEXT, LOCAL, GLOBAL)
SIX = (*FIVE, INTEGRATION)
PRF = (
    Column(name="P", measure="precision"),
    Column(name="R", measure="recall"),
    Column(name="F1", measure="f1"),
)
_ROUGE2 = (
    Column(name="ROUGE-2 P", measure="rouge2_p"),
    Column(name="ROUGE-2 R", measure="rouge2_r"),
    Column(name="ROUGE-2 F1", measure="rouge2"),
)
SMALL, LARGE = "Llama 3.1-8B", "Llama 3.1-70B"
_BERT = (
    Column(name="BERTScore P", measure="bert_p"),
    Column(name="BERTScore R", measure="bert_r"),
    Column(name="BERTScore F1", measure="bert_f1"),
)

_TEXT_TABLES = (
    Table(
        paper="rag-vs-graphrag",
        name="1-nq",
        place="Table 1, left half",
        title="Single-hop questions",
        data="nq, with an index for each document",
        scope="single",
        form="word",
        systems=FIVE,
        columns=PRF,
        numbers={
            SMALL: rows(
                FIVE, (71.7, 63.93, 64.78), (40.09, 33.56, 34.28), (58.36, 48.93, 50.27), (69.48, 62.54, 63.01),
                (60.76, 54.99, 54.48),
            ),
            LARGE: rows(
                FIVE, (74.55, 67.82, 68.18), (37.84, 31.22, 28.50), (60.91, 52.75, 53.88), (71.27, 65.46, 65.44),
                (61.15, 55.52, 55.05),
            ),
        },
    ),
    Table(
        paper="rag-vs-graphrag",
        name="1-hotpotqa",
        place="Table 1, right half",
        title="Multi-hop questions",
        data="hotpotqa: 1,000 hard bridging questions of the development set",
        form="word",
        n=1000,
        systems=FIVE,
        columns=PRF,
        numbers={
            SMALL: rows(
                FIVE, (62.32, 60.47, 60.04), (26.88, 24.81, 25.02), (45.22, 42.85, 42.60), (64.14, 62.08, 61.66),
                (45.72, 47.60, 45.16),
            ),
            LARGE: rows(
                FIVE, (66.34, 63.99, 63.88), (32.59, 30.63, 30.73), (51.44, 48.99, 48.75), (67.20, 64.89, 64.60),
                (48.33, 48.56, 46.99),
            ),
        },
    ),
    Table(
        paper="rag-vs-graphrag",
        name="2",
        place="Table 2",
        title="Multi-hop questions by type",
        data="multihop-rag, whole",
        form="word",
        n=2556,
        systems=FIVE,
        columns=(
            Column(name="Inference", measure="accuracy", where={"type": "inference_query"}),
            Column(name="Comparison", measure="accuracy", where={"type": "comparison_query"}),
            Column(name="Null", measure="accuracy", where={"type": "null_query"}),
            Column(name="Temporal", measure="accuracy", where={"type": "temporal_query"}),
            Column(name="Overall", measure="accuracy"),
        ),
        numbers={
            SMALL: rows(
                FIVE, (92.16, 57.59, 96.01, 30.7, 67.02), (55.76, 22.55, 98.67, 18.7, 41.24),
                (67.4, 34.7, 97.34, 17.15, 48.51), (86.89, 60.63, 80.07, 50.6, 69.01),
                (89.34, 64.02, 19.27, 53.34, 64.4),
            ),
            LARGE: rows(
                FIVE, (94.85, 56.31, 91.36, 25.73, 65.77), (76.96, 32.36, 94.35, 19.55, 50.98),
                (85.91, 35.98, 86.38, 21.61, 54.58), (92.03, 60.16, 88.70, 49.06, 71.17),
                (89.09, 66.00, 13.95, 59.18, 65.69),
            ),
        },
        differs=("our accuracy requires a gold answer as whole words; the data set's own script is more lenient",),
    ),
    Table(
        paper="rag-vs-graphrag",
        name="3",
        place="Table 3 and tables 6 to 11, column and rows avg",
        title="Questions about novels by complexity",
        data="novelqa, multiple choice, with the field complexity (mh, sh, dtl); an index for each novel",
        scope="single",
        form="word",
        systems=FIVE,
        columns=(
            Column(name="mh", measure="accuracy", where={"complexity": "mh"}),
            Column(name="sh", measure="accuracy", where={"complexity": "sh"}),
            Column(name="dtl", measure="accuracy", where={"complexity": "dtl"}),
            Column(name="avg", measure="accuracy"),
        ),
        numbers={
            SMALL: rows(
                FIVE, (47.34, 68.73, 55.28, 57.12), (32.89, 33.75, 27.37, 31.88), (38.37, 39.93, 33.60, 37.80),
                (47.01, 63.43, 46.88, 53.03), (34.39, 49.65, 30.89, 39.17),
            ),
            LARGE: rows(
                FIVE, (48.5, 75.27, 61.25, 61.42), (33.72, 54.06, 33.6, 41.18), (33.72, 54.42, 32.52, 41.05),
                (46.68, 72.44, 51.49, 57.32), (41.53, 47.0, 27.64, 40.21),
            ),
        },
    ),
    Table(
        paper="rag-vs-graphrag",
        name="4-squality",
        place="Table 4 and table 12, left halves",
        title="Summaries of one story",
        data="squality, with an index for each story",
        scope="single",
        systems=SIX,
        columns=(*_ROUGE2, *_BERT),
        numbers={
            SMALL: rows(
                SIX, (15.09, 8.74, 10.08, 74.54, 81.00, 77.62), (11.99, 6.16, 7.41, 82.46, 84.30, 83.17),
                (15.00, 9.48, 10.52, 84.37, 85.88, 84.92), (15.82, 8.64, 10.10, 83.93, 85.84, 84.66),
                (10.23, 6.21, 6.99, 82.68, 84.26, 83.30), (15.69, 9.32, 10.67, 74.56, 81.22, 77.73),
            ),
            LARGE: rows(
                SIX, (11.85, 14.24, 11.00, 85.96, 85.76, 85.67), (8.53, 10.28, 7.46, 84.13, 83.97, 83.89),
                (6.57, 10.14, 6.00, 80.52, 82.23, 81.07), (12.54, 10.31, 9.61, 84.50, 85.33, 84.71),
                (8.99, 4.78, 5.60, 81.64, 83.64, 82.44), (13.59, 11.32, 10.55, 84.88, 85.76, 85.12),
            ),
        },
        bert="raw",
    ),
    Table(
        paper="rag-vs-graphrag",
        name="4-qmsum",
        place="Table 4 and table 12, right halves",
        title="Summaries of one meeting",
        data="qmsum, with an index for each meeting",
        scope="single",
        systems=SIX,
        columns=(*_ROUGE2, *_BERT),
        numbers={
            SMALL: rows(
                SIX, (21.50, 3.80, 6.32, 81.03, 84.45, 82.69), (13.71, 2.55, 4.15, 80.16, 82.96, 81.52),
                (16.83, 3.32, 5.38, 80.92, 83.64, 82.25), (20.54, 3.35, 5.64, 80.63, 84.13, 82.34),
                (10.54, 1.97, 3.23, 79.79, 82.47, 81.10), (21.97, 3.80, 6.34, 80.89, 84.47, 82.63),
            ),
            LARGE: rows(
                SIX, (10.42, 10.00, 9.53, 86.14, 85.92, 86.02), (10.62, 6.25, 7.48, 83.20, 84.72, 83.94),
                (8.64, 7.85, 7.29, 84.10, 84.55, 84.31), (13.69, 7.43, 9.14, 84.09, 85.85, 84.95),
                (10.97, 4.40, 6.01, 81.93, 84.67, 83.26), (13.16, 8.67, 9.93, 85.18, 86.21, 85.69),
            ),
        },
        bert="raw",
    ),
    Table(
        paper="rag-vs-graphrag",
        name="5-odsum-story",
        place="Table 5 and table 13, left halves",
        title="Summaries over many stories",
        data="odsum, stories, whole",
        systems=SIX,
        columns=(*_ROUGE2, *_BERT),
        numbers={
            SMALL: rows(
                SIX, (15.39, 8.44, 9.81, 83.87, 85.74, 84.57), (11.02, 5.56, 6.62, 82.09, 83.91, 82.77),
                (9.19, 5.82, 6.22, 79.39, 83.30, 81.03), (13.84, 7.19, 8.49, 83.19, 85.07, 83.90),
                (9.40, 4.47, 5.46, 81.46, 83.54, 82.30), (14.77, 8.55, 9.53, 83.73, 85.56, 84.40),
            ),
            LARGE: rows(
                SIX, (15.60, 9.98, 11.09, 74.80, 81.29, 77.89), (10.08, 9.12, 8.48, 75.71, 81.93, 78.66),
                (10.98, 16.67, 11.42, 76.74, 81.92, 79.21), (14.20, 11.34, 11.25, 75.44, 81.81, 78.46),
                (10.46, 6.30, 7.08, 74.63, 81.24, 77.77), (14.76, 12.17, 11.72, 75.39, 81.75, 78.41),
            ),
        },
        bert="raw",
    ),
    Table(
        paper="rag-vs-graphrag",
        name="5-odsum-meeting",
        place="Table 5 and table 13, right halves",
        title="Summaries over many meetings",
        data="odsum, meetings, whole",
        systems=SIX,
        columns=(*_ROUGE2, *_BERT),
        numbers={
            SMALL: rows(
                SIX, (15.50, 6.43, 8.77, 83.12, 85.84, 84.45), (11.64, 4.87, 6.58, 81.13, 84.32, 82.69),
                (11.97, 4.97, 6.72, 81.50, 84.41, 82.92), (15.65, 5.66, 8.02, 82.44, 85.54, 83.96),
                (11.44, 3.89, 5.59, 81.20, 84.50, 82.81), (15.69, 6.15, 8.51, 82.87, 85.81, 84.31),
            ),
            LARGE: rows(
                SIX, (18.81, 6.41, 8.97, 83.56, 85.16, 84.34), (11.52, 3.41, 4.79, 81.19, 83.07, 82.11),
                (13.09, 6.31, 7.70, 84.07, 84.24, 84.14), (16.17, 7.87, 9.23, 84.17, 84.85, 84.49),
                (10.65, 1.99, 3.28, 79.78, 82.53, 81.12), (17.57, 8.64, 10.34, 84.51, 85.14, 84.81),
            ),
        },
        bert="raw",
    ),
)  # fmt: skip


# --- figures ----------------------------------------------------------------------------------------------

_SELECTION = System(name="Selection", method="select:rag-vs-graphrag")
_MIXED = (RAG, LOCAL, _SELECTION, INTEGRATION)
_WHICH = "what the paper calls GraphRAG here is Community-GraphRAG (Local)"
_ORDERS = tuple(
    Column(name=f"{name}, RAG {position}", measure="verdict", aspect=aspect, position=position)
    for name, aspect in (("Comprehensiveness", "comprehensiveness"), ("Global Diversity", "global diversity"))
    for position in ("first", "second")
)


def _confusion(
    name: str, data: str, numbers: dict[str, tuple[float | None, ...]], scope: Literal["whole", "single"]
) -> Table:
    return Table(
        paper="rag-vs-graphrag",
        name=name,
        place="Figure 2 and the text of section 4.3" if numbers else "Figure 2",
        title="Questions that only one of two answers correctly",
        data=data,
        scope=scope,
        form="word",
        systems=(RAG, LOCAL),
        columns=(Column(name="only correct", measure="only_correct"),),
        numbers={SMALL: numbers},
        pictured=not numbers,
        differs=(_WHICH,),
    )


def _mixed(
    name: str,
    data: str,
    measure: Literal["f1", "accuracy"],
    known: tuple[tuple[float, float], tuple[float, float]],
    scope: Literal["whole", "single"],
    *differs: str,
) -> Table:
    return Table(
        paper="rag-vs-graphrag",
        name=name,
        place="Figure 3; RAG and GraphRAG alone also in tables 1 to 11",
        title="Choosing between RAG and GraphRAG, and combining them",
        data=data,
        scope=scope,
        form="word",
        systems=_MIXED,
        columns=(Column(name="F1" if measure == "f1" else "Accuracy", measure=measure),),
        numbers={
            model: rows(_MIXED, (rag,), (local,), (None,), (None,))
            for model, (rag, local) in zip((SMALL, LARGE), known, strict=True)
        },
        pictured=True,
        differs=(_WHICH, *differs),
    )


def _judged(name: str, place: str, data: str, scope: Literal["whole", "single"]) -> Table:
    return Table(
        paper="rag-vs-graphrag",
        name=name,
        place=place,
        title="How often a judge prefers RAG's summary, by its position",
        data=data,
        scope=scope,
        systems=(LOCAL, GLOBAL, RAG),
        columns=_ORDERS,
        judging=JudgingSetup(
            protocol="rag-vs-graphrag",
            reference="RAG",
            value="win",
            judge="not stated",
            question_source="data",
        ),
        numbers={SMALL: {}},
        pictured=True,
    )


_FIGURES = (
    _confusion("figure-2-multihop-rag", "multihop-rag, whole", rows((RAG, LOCAL), (11.6,), (13.6,)), "whole"),
    _confusion("figure-2-novelqa", "novelqa, with an index for each novel", {}, "single"),
    _mixed(
        "figure-3-nq", "nq, with an index for each document", "f1", ((64.78, 63.01), (68.18, 65.44)), "single"
    ),
    _mixed("figure-3-hotpotqa", "hotpotqa, whole", "f1", ((60.04, 61.66), (63.88, 64.60)), "whole"),
    _mixed(
        "figure-3-multihop-rag",
        "multihop-rag, whole",
        "accuracy",
        ((67.02, 69.01), (65.77, 71.17)),
        "whole",
        "for Llama 3.1-70B the text says that Selection and Integration improve on the best method by 1.1% and 6.4%, "
        "but not whether these are points",
    ),
    _mixed(
        "figure-3-novelqa",
        "novelqa, with an index for each novel",
        "accuracy",
        ((57.12, 53.03), (61.42, 57.32)),
        "single",
    ),
    _judged("figure-4-qmsum", "Figure 4, a and b", "qmsum, with an index for each meeting", "single"),
    _judged("figure-4-odsum-story", "Figure 4, c and d", "odsum, stories, whole", "whole"),
    _judged("figure-7-squality", "Figure 7", "squality, with an index for each story", "single"),
    _judged("figure-7-odsum-meeting", "Figure 7", "odsum, meetings, whole", "whole"),
)

TABLES: tuple[Table, ...] = (*_TEXT_TABLES, *_FIGURES)
