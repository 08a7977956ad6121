"""ROGRAG (arXiv:2503.06474): tables 2 and 6."""

from polygraph.evaluate.reproduce.tables.records import Column, System, Table, rows

_ROG_SYSTEMS = (
    System(name="vanilla (w/o RAG)"),
    System(name="LangChain", method="naive"),
    System(name="BM25", method="bm25:rograg"),
    System(name="RQ-RAG", method="rq-rag:flashrag"),
    System(name="ROGRAG", method="rograg:paper"),
)
_QWEN = "Qwen2.5-7B-Instruct"
TABLES: tuple[Table, ...] = (
    Table(
        paper="rograg",
        profile="rograg",
        name="2",
        place="Table 2",
        title="Four kinds of questions about plants",
        data="seedbench; use your own copy of the corpus",
        systems=_ROG_SYSTEMS,
        columns=(
            Column(name="QA-1", measure="accuracy", where={"type": "multiple choice"}, factor=1.0),
            Column(name="QA-2", measure="f1", where={"type": "multiple answers"}, factor=1.0),
            Column(name="QA-3", measure="rougeL", where={"type": "fill in"}, factor=1.0),
            Column(name="QA-4", measure="rougeL", where={"type": "generation"}, factor=1.0),
        ),
        types=("multiple choice", "multiple answers", "fill in", "generation"),
        numbers={
            _QWEN: rows(
                _ROG_SYSTEMS, (0.57, 0.71, 0.16, 0.35), (0.68, 0.68, 0.15, 0.04), (0.65, 0.69, 0.23, 0.03),
                (0.59, 0.62, 0.17, 0.33), (0.75, 0.79, 0.36, 0.38),
            )
        },
        differs=(
            "the paper does not say which ROUGE; ours is ROUGE-L",
            "LangChain is represented by vector retrieval with our defaults",
        ),
    ),
    Table(
        paper="rograg",
        profile="rograg",
        name="6",
        place="Table 6",
        title="Dual-level retrieval against logic forms",
        data="seedbench, subset QA-1",
        form="prose",
        types=("multiple choice",),
        systems=(
            System(name="Optimized dual-level", method="rograg-dual:paper"),
            System(name="Logic form", method="rograg-logic:paper"),
        ),
        columns=(Column(name="Accuracy", measure="accuracy", factor=1.0),),
        numbers={_QWEN: {"Optimized dual-level": (0.74,), "Logic form": (0.55,)}},
    ),
)  # fmt: skip
