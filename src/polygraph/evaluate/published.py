"""Main tables of five papers: what was run, on what, how it was measured, and the numbers, each with its place.

Numbers are percent unless a column says otherwise. A system that cannot be run here (a fine-tuned reader, another
program) has no method; its numbers are shown for comparison. Data sets are not shipped: see `datasets`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Measure: TypeAlias = Literal[
    "precision", "recall", "f1", "accuracy", "em", "rouge1", "rougeL",
    "rouge2_p", "rouge2_r", "rouge2", "bleu", "similarity", "verdict",
]  # fmt: skip
Posing: TypeAlias = Literal["data", "summary", "grounded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A row of a table."""

    name: str
    """As the paper has it."""
    method: str = ""
    """The preset that stands for it; empty where none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A figure of a table."""

    name: str
    measure: Measure
    where: Mapping[str, str] = field(default_factory=dict)
    """Field of a question and the value that it must have; none: all questions."""
    aspect: str = ""
    """For verdicts: the aspect, or empty for all together."""
    factor: float = 100.0
    """What a value in [0, 1] is multiplied by: 1 where the paper prints fractions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """How answers are judged against each other."""

    protocol: str
    """As `polygraph eval judge --protocol` has it."""
    reference: str
    """System that is judged against every other one; figures are its."""
    value: Literal["win", "relative"]
    """`win`: share of verdicts, both orders pooled, ties counted for neither; `relative`: wins less losses by all."""
    judge: str
    """Model that judged in the paper."""
    posing: Posing
    """Whether questions come with the data or are posed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a paper."""

    paper: str
    arxiv: str
    name: str
    """Its number, with the part if several are run apart."""
    place: str
    """Where in the paper the numbers stand."""
    title: str
    data: str
    """Data set and what of it."""
    systems: tuple[System, ...]
    columns: tuple[Column, ...]
    numbers: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    """By model that answered, then system: one value for each column; None where the paper has none."""
    scope: Literal["whole", "single"] = "whole"
    """`single`: an index for each document, and each question is asked of its own."""
    form: Literal["prose", "word"] = "prose"
    """`word`: answers are names, numbers, yes or no."""
    types: tuple[str, ...] = ()
    """Types of question that are asked; none: all."""
    per_type: int = 0
    """So many of each type, drawn with a seed; 0: all."""
    n: int = 0
    """Questions in the paper; 0 where it does not say."""
    contest: Contest | None = None
    differs: tuple[str, ...] = ()
    """What cannot be as in the paper, or is not told there."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Presets to run, in the order of the systems."""
        return tuple(s.method for s in self.systems if s.method)


# --- RAG vs. GraphRAG -----------------------------------------------------------------------------------

_RAG = System(name="RAG", method="naive:rag-vs-graphrag")
_TRIPLETS = System(name="KG-GraphRAG (Triplets only)", method="kg-triplets:rag-vs-graphrag")
_TEXT = System(name="KG-GraphRAG (Triplets+Text)", method="kg-text:rag-vs-graphrag")
_LOCAL = System(name="Community-GraphRAG (Local)", method="graphrag-local:microsoft")
_GLOBAL = System(name="Community-GraphRAG (Global)", method="graphrag-global:microsoft")
_INTEGRATION = System(name="Integration", method="integrate:rag-vs-graphrag")
_FIVE = (_RAG, _TRIPLETS, _TEXT, _LOCAL, _GLOBAL)
_SIX = (*_FIVE, _INTEGRATION)
_PRF = (
    Column(name="P", measure="precision"),
    Column(name="R", measure="recall"),
    Column(name="F1", measure="f1"),
)
_ROUGE2 = (
    Column(name="ROUGE-2 P", measure="rouge2_p"),
    Column(name="ROUGE-2 R", measure="rouge2_r"),
    Column(name="ROUGE-2 F1", measure="rouge2"),
)
_SMALL, _LARGE = "Llama 3.1-8B", "Llama 3.1-70B"
_NO_BERT = "the table also has BERTScore, which is not measured: it takes a model that must be downloaded"


def _rows(
    systems: tuple[System, ...], *values: tuple[float | None, ...]
) -> dict[str, tuple[float | None, ...]]:
    return {s.name: row for s, row in zip(systems, values, strict=True)}


_RAG_VS_GRAPHRAG = (
    Table(
        paper="rag-vs-graphrag",
        arxiv="2502.11371",
        name="1-nq",
        place="Table 1, left half",
        title="Single-hop questions",
        data="nq, with an index for each document",
        scope="single",
        form="word",
        systems=_FIVE,
        columns=_PRF,
        numbers={
            _SMALL: _rows(
                _FIVE, (71.7, 63.93, 64.78), (40.09, 33.56, 34.28), (58.36, 48.93, 50.27), (69.48, 62.54, 63.01),
                (60.76, 54.99, 54.48),
            ),
            _LARGE: _rows(
                _FIVE, (74.55, 67.82, 68.18), (37.84, 31.22, 28.50), (60.91, 52.75, 53.88), (71.27, 65.46, 65.44),
                (61.15, 55.52, 55.05),
            ),
        },
    ),
    Table(
        paper="rag-vs-graphrag",
        arxiv="2502.11371",
        name="1-hotpotqa",
        place="Table 1, right half",
        title="Multi-hop questions",
        data="hotpotqa: 1,000 hard bridging questions of the development set",
        form="word",
        n=1000,
        systems=_FIVE,
        columns=_PRF,
        numbers={
            _SMALL: _rows(
                _FIVE, (62.32, 60.47, 60.04), (26.88, 24.81, 25.02), (45.22, 42.85, 42.60), (64.14, 62.08, 61.66),
                (45.72, 47.60, 45.16),
            ),
            _LARGE: _rows(
                _FIVE, (66.34, 63.99, 63.88), (32.59, 30.63, 30.73), (51.44, 48.99, 48.75), (67.20, 64.89, 64.60),
                (48.33, 48.56, 46.99),
            ),
        },
    ),
    Table(
        paper="rag-vs-graphrag",
        arxiv="2502.11371",
        name="2",
        place="Table 2",
        title="Multi-hop questions by type",
        data="multihop-rag, whole",
        form="word",
        n=2556,
        systems=_FIVE,
        columns=(
            Column(name="Inference", measure="accuracy", where={"type": "inference_query"}),
            Column(name="Comparison", measure="accuracy", where={"type": "comparison_query"}),
            Column(name="Null", measure="accuracy", where={"type": "null_query"}),
            Column(name="Temporal", measure="accuracy", where={"type": "temporal_query"}),
            Column(name="Overall", measure="accuracy"),
        ),
        numbers={
            _SMALL: _rows(
                _FIVE, (92.16, 57.59, 96.01, 30.7, 67.02), (55.76, 22.55, 98.67, 18.7, 41.24),
                (67.4, 34.7, 97.34, 17.15, 48.51), (86.89, 60.63, 80.07, 50.6, 69.01),
                (89.34, 64.02, 19.27, 53.34, 64.4),
            ),
            _LARGE: _rows(
                _FIVE, (94.85, 56.31, 91.36, 25.73, 65.77), (76.96, 32.36, 94.35, 19.55, 50.98),
                (85.91, 35.98, 86.38, 21.61, 54.58), (92.03, 60.16, 88.70, 49.06, 71.17),
                (89.09, 66.00, 13.95, 59.18, 65.69),
            ),
        },
        differs=("our accuracy asks for a gold answer as whole words; the data set's own script is more lenient",),
    ),
    Table(
        paper="rag-vs-graphrag",
        arxiv="2502.11371",
        name="3",
        place="Table 3 and tables 6 to 11, column and rows avg",
        title="Questions about novels by complexity",
        data="novelqa, multiple choice, with the field complexity (mh, sh, dtl); an index for each novel",
        scope="single",
        form="word",
        systems=(_RAG, _TEXT, _LOCAL, _GLOBAL),
        columns=(
            Column(name="mh", measure="accuracy", where={"complexity": "mh"}),
            Column(name="sh", measure="accuracy", where={"complexity": "sh"}),
            Column(name="dtl", measure="accuracy", where={"complexity": "dtl"}),
            Column(name="avg", measure="accuracy"),
        ),
        numbers={
            _SMALL: _rows(
                (_RAG, _TEXT, _LOCAL, _GLOBAL), (47.34, 68.73, 55.28, 57.12), (38.37, 39.93, 33.60, 37.80),
                (47.01, 63.43, 46.88, 53.03), (34.39, 49.65, 30.89, 39.17),
            ),
        },
    ),
    Table(
        paper="rag-vs-graphrag",
        arxiv="2502.11371",
        name="4-squality",
        place="Table 4, left half",
        title="Summaries of one story",
        data="squality, with an index for each story",
        scope="single",
        systems=_SIX,
        columns=_ROUGE2,
        numbers={
            _SMALL: _rows(
                _SIX, (15.09, 8.74, 10.08), (11.99, 6.16, 7.41), (15.00, 9.48, 10.52), (15.82, 8.64, 10.10),
                (10.23, 6.21, 6.99), (15.69, 9.32, 10.67),
            )
        },
        differs=(_NO_BERT,),
    ),
    Table(
        paper="rag-vs-graphrag",
        arxiv="2502.11371",
        name="4-qmsum",
        place="Table 4, right half",
        title="Summaries of one meeting",
        data="qmsum, with an index for each meeting",
        scope="single",
        systems=_SIX,
        columns=_ROUGE2,
        numbers={
            _SMALL: _rows(
                _SIX, (21.50, 3.80, 6.32), (13.71, 2.55, 4.15), (16.83, 3.32, 5.38), (20.54, 3.35, 5.64),
                (10.54, 1.97, 3.23), (21.97, 3.80, 6.34),
            )
        },
        differs=(_NO_BERT,),
    ),
    Table(
        paper="rag-vs-graphrag",
        arxiv="2502.11371",
        name="5-odsum-story",
        place="Table 5, left half",
        title="Summaries over many stories",
        data="odsum, stories, whole",
        systems=_SIX,
        columns=_ROUGE2,
        numbers={
            _SMALL: _rows(
                _SIX, (15.39, 8.44, 9.81), (11.02, 5.56, 6.62), (9.19, 5.82, 6.22), (13.84, 7.19, 8.49),
                (9.40, 4.47, 5.46), (14.77, 8.55, 9.53),
            )
        },
        differs=(_NO_BERT,),
    ),
    Table(
        paper="rag-vs-graphrag",
        arxiv="2502.11371",
        name="5-odsum-meeting",
        place="Table 5, right half",
        title="Summaries over many meetings",
        data="odsum, meetings, whole",
        systems=_SIX,
        columns=_ROUGE2,
        numbers={
            _SMALL: _rows(
                _SIX, (15.50, 6.43, 8.77), (11.64, 4.87, 6.58), (11.97, 4.97, 6.72), (15.65, 5.66, 8.02),
                (11.44, 3.89, 5.59), (15.69, 6.15, 8.51),
            )
        },
        differs=(_NO_BERT,),
    ),
)  # fmt: skip

# --- FG-RAG -------------------------------------------------------------------------------------------------

_FG = System(name="FG-RAG", method="fg-rag:paper")
_FG_HOP = System(name="FG-RAG", method="fg-rag:multi-hop")
_FG_NAIVE = System(name="NaiveRAG", method="naive:fg-rag")
_FG_LIGHT = System(name="LightRAG", method="lightrag-hybrid")
_FG_GRAPH = System(name="GraphRAG", method="graphrag-global:microsoft")
_FG_RIVALS = (_FG_NAIVE, _FG_LIGHT, _FG_GRAPH)
_CRITERIA = (
    Column(name="Comprehensiveness", measure="verdict", aspect="comprehensiveness"),
    Column(name="Diversity", measure="verdict", aspect="diversity"),
    Column(name="Empowerment", measure="verdict", aspect="empowerment"),
    Column(name="Overall", measure="verdict", aspect="overall"),
)
_FG_CONTEST = Contest(
    protocol="fg-rag", reference="FG-RAG", value="win", judge="gpt-4o-mini", posing="summary"
)
_SEARCH = "the paper does not say which search of GraphRAG it ran; its tokens per question are those of global search"

_FG_RAG = (
    Table(
        paper="fg-rag",
        arxiv="2504.07103",
        name="1",
        place="Table 1",
        title="Win rates of FG-RAG on broad questions, mean of five data sets",
        data="ultradomain (agriculture, art, legal or mix) or the articles of multihop-rag; one of the five at a time",
        n=125,
        systems=(*_FG_RIVALS, _FG),
        columns=_CRITERIA,
        contest=_FG_CONTEST,
        numbers={
            "gpt-4o-mini": _rows(
                _FG_RIVALS, (64.48, 70.80, 69.92, 69.04), (56.32, 57.28, 59.04, 58.64), (60.40, 65.52, 66.24, 64.64)
            ),
            "qwen2.5-7b-instruct": _rows(
                _FG_RIVALS, (67.68, 65.68, 66.88, 68.48), (62.24, 53.68, 64.88, 64.00), (75.68, 67.04, 81.44, 78.00)
            ),
            "qwen2.5-3b-instruct": _rows(
                _FG_RIVALS, (75.04, 78.56, 78.32, 78.24), (60.56, 61.52, 65.52, 63.04), (76.76, 68.88, 83.60, 80.72)
            ),
            "qwen2.5-1.5b-instruct": _rows(
                _FG_RIVALS, (61.76, 61.52, 62.32, 63.20), (64.72, 63.52, 68.32, 66.24), (78.00, 64.88, 80.64, 78.00)
            ),
        },
        differs=("the published rates are means of five data sets; ours are of the one given", _SEARCH),
    ),
    Table(
        paper="fg-rag",
        arxiv="2504.07103",
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
            "gpt-4o-mini": _rows((*_FG_RIVALS, _FG_HOP), (54.40,), (43.47,), (65.33,), (69.87,)),
            "qwen2.5-7b-instruct": _rows((*_FG_RIVALS, _FG_HOP), (43.20,), (37.60,), (34.93,), (57.33,)),
            "qwen2.5-3b-instruct": _rows((*_FG_RIVALS, _FG_HOP), (31.73,), (29.60,), (24.00,), (30.13,)),
            "qwen2.5-1.5b-instruct": _rows((*_FG_RIVALS, _FG_HOP), (36.80,), (37.60,), (50.13,), (39.20,)),
        },
        differs=("the questions that the paper drew are not known; ours are another draw", _SEARCH),
    ),
    Table(
        paper="fg-rag",
        arxiv="2504.07103",
        name="3",
        place="Table 3",
        title="What each part of FG-RAG adds: win rates against NaiveRAG, mean of five data sets",
        data="as for table 1",
        n=125,
        systems=(
            _FG,
            System(name="w/o CAEE", method="fg-rag:without-expansion"),
            System(name="w/o QLFGS", method="fg-rag:without-summaries"),
            _FG_NAIVE,
        ),
        columns=_CRITERIA,
        contest=Contest(
            protocol="fg-rag", reference="NaiveRAG", value="win", judge="gpt-4o-mini", posing="summary"
        ),
        numbers={
            "gpt-4o-mini": {
                "FG-RAG": (35.52, 29.20, 30.08, 30.96),
                "w/o CAEE": (37.76, 34.08, 32.32, 32.24),
                "w/o QLFGS": (48.48, 42.00, 46.88, 47.12),
            },
        },
        differs=("the published rates are means of five data sets; ours are of the one given",),
    ),
)  # fmt: skip

# --- GRAFT --------------------------------------------------------------------------------------------------

_GRAFT_SYSTEMS = (
    System(name="Baseline RAG model", method="naive:graft"),
    System(name="RAFT"),
    System(name="Baseline GraphRAG", method="graphrag-local:microsoft"),
    System(name="GRAFT", method="graft:paper"),
)
_GRAFT_COLUMNS = (
    Column(name="BLEU", measure="bleu", factor=1.0),
    Column(name="ROUGE-1", measure="rouge1", factor=1.0),
    Column(name="Semantic Sim", measure="similarity", factor=1.0),
)
_GRAFT_DIFFERS = (
    "GRAFT and RAFT read with a Phi-2 fine-tuned on HotPotQA; name yours as the chat model to compare with them",
    "the figures of human judges and BERTScore are not measured",
    "the paper does not say which embedder its similarity is by",
)


def _graft(name: str, place: str, title: str, values: tuple[tuple[float | None, ...], ...]) -> Table:
    return Table(
        paper="graft",
        arxiv="",
        name=name,
        place=place,
        title=title,
        data="74 articles of Wikipedia of 2024 and 67 global questions with reference answers: the user's own copy",
        systems=_GRAFT_SYSTEMS,
        columns=_GRAFT_COLUMNS,
        types={"2": ("global",), "3": ("local",), "4": ()}[name],
        numbers={"Phi-2": _rows(_GRAFT_SYSTEMS, *values)},
        differs=_GRAFT_DIFFERS,
    )


_GRAFT = (
    _graft(
        "2", "Figure 2", "Global questions (type global)",
        ((0.0130, 0.168, 0.620), (0.0344, 0.239, 0.669), (0.0290, 0.288, 0.753), (0.143, 0.428, 0.863)),
    ),
    _graft(
        "3", "Figure 3", "Other questions (type local)",
        ((0.0194, 0.188, 0.563), (0.0321, 0.242, 0.634), (0.0245, 0.270, 0.648), (0.146, 0.397, 0.791)),
    ),
    _graft(
        "4", "Figure 4", "All questions",
        ((0.0166, 0.179, 0.588), (0.0331, 0.240, 0.649), (0.0265, 0.278, 0.694), (0.145, 0.410, 0.822)),
    ),
)  # fmt: skip

# --- ROGRAG -------------------------------------------------------------------------------------------------

_ROG_SYSTEMS = (
    System(name="vanilla (w/o RAG)"),
    System(name="LangChain", method="naive"),
    System(name="BM25", method="bm25:rograg"),
    System(name="RQ-RAG", method="rq-rag:flashrag"),
    System(name="ROGRAG", method="rograg:paper"),
)
_QWEN = "Qwen2.5-7B-Instruct"
_ROGRAG = (
    Table(
        paper="rograg",
        arxiv="2503.06474",
        name="2",
        place="Table 2",
        title="Four kinds of questions about plants",
        data="seedbench; texts of the corpus are the user's own copy",
        systems=_ROG_SYSTEMS,
        columns=(
            Column(name="QA-1", measure="accuracy", where={"type": "multiple choice"}, factor=1.0),
            Column(name="QA-2", measure="f1", where={"type": "multiple answers"}, factor=1.0),
            Column(name="QA-3", measure="rougeL", where={"type": "fill in"}, factor=1.0),
            Column(name="QA-4", measure="rougeL", where={"type": "generation"}, factor=1.0),
        ),
        types=("multiple choice", "multiple answers", "fill in", "generation"),
        numbers={
            _QWEN: _rows(
                _ROG_SYSTEMS, (0.57, 0.71, 0.16, 0.35), (0.68, 0.68, 0.15, 0.04), (0.65, 0.69, 0.23, 0.03),
                (0.59, 0.62, 0.17, 0.33), (0.75, 0.79, 0.36, 0.38),
            )
        },
        differs=(
            "the paper does not say which ROUGE; ours is ROUGE-L",
            "LangChain stands for retrieval by similarity, with our defaults",
        ),
    ),
    Table(
        paper="rograg",
        arxiv="2503.06474",
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

# --- the unbiased evaluation ----------------------------------------------------------------------------------

_UNBIASED_SYSTEMS = (
    System(name="NaiveRAG", method="naive:unbiased-evaluation"),
    System(name="MGRAG", method="graphrag-global:microsoft"),
    System(name="FGRAG", method="fast-graphrag:circlemind"),
    System(name="LightRAG", method="lightrag-hybrid:unbiased-evaluation"),
)
_UNBIASED_DIFFERS = (
    "most numbers of the paper are in figures only; those that its text gives are here",
    "the paper does not say which search of Microsoft GraphRAG it ran; its tokens per question are of global search",
)
_UNBIASED = (
    Table(
        paper="unbiased-evaluation",
        arxiv="2506.06331",
        name="11",
        place="Figure 11 and the text of section 5.2",
        title="Relative win rates of LightRAG, mean of three data sets",
        data="ultradomain, mix, agriculture or music; one of the three at a time",
        n=150,
        systems=_UNBIASED_SYSTEMS,
        columns=(Column(name="relative win rate", measure="verdict"),),
        contest=Contest(
            protocol="unbiased", reference="LightRAG", value="relative", judge="gpt-4o-mini", posing="grounded"
        ),
        numbers={"gpt-4o-mini": {"NaiveRAG": (None,), "MGRAG": (-11.0,), "FGRAG": (-21.0,)}},
        differs=("the published rates are means of three data sets; ours are of the one given", *_UNBIASED_DIFFERS),
    ),
    Table(
        paper="unbiased-evaluation",
        arxiv="2506.06331",
        name="10-agriculture",
        place="Figure 10, second row, and the text of section 5.2",
        title="Win rates of LightRAG, ties apart",
        data="ultradomain, agriculture",
        n=150,
        systems=(_UNBIASED_SYSTEMS[0], _UNBIASED_SYSTEMS[1], _UNBIASED_SYSTEMS[3]),
        columns=(Column(name="win rate", measure="verdict"),),
        contest=Contest(
            protocol="unbiased", reference="LightRAG", value="win", judge="gpt-4o-mini", posing="grounded"
        ),
        numbers={"gpt-4o-mini": {"NaiveRAG": (39.06,), "MGRAG": (32.33,)}},
        differs=_UNBIASED_DIFFERS,
    ),
)  # fmt: skip

TABLES: tuple[Table, ...] = (*_RAG_VS_GRAPHRAG, *_FG_RAG, *_GRAFT, *_ROGRAG, *_UNBIASED)
