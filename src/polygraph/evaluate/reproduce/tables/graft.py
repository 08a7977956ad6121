"""GRAFT: figures 2 to 4, which show tables."""

from polygraph.evaluate.reproduce.tables.records import Column, System, Table, rows

_GRAFT_SYSTEMS = (
    System(name="Baseline RAG model", method="naive:graft"),
    System(name="RAFT", method="naive:graft+tuned"),
    System(name="Baseline GraphRAG", method="graft:paper"),
    System(name="GRAFT", method="graft:paper+tuned"),
)
_GRAFT_COLUMNS = (
    Column(name="BERT", measure="bert_f1", factor=1.0),
    Column(name="BLEU", measure="bleu", factor=1.0),
    Column(name="ROUGE-1", measure="rouge1", factor=1.0),
    Column(name="Semantic Sim", measure="similarity", factor=1.0),
)
_GRAFT_DIFFERS = (
    "GRAFT and RAFT are run with the tuned reader of --adapter or --tuned-model; the paper's is a Phi-2 that was "
    "fine-tuned on 20,000 questions of HotPotQA",
    "the scores of human raters are not measured",
    "the paper does not name the embedder of its similarity",
)


def _graft(name: str, place: str, title: str, values: tuple[tuple[float | None, ...], ...]) -> Table:
    return Table(
        paper="graft",
        profile="graft",
        name=name,
        place=place,
        title=title,
        data="74 articles of Wikipedia of 2024 and 67 global questions with reference answers: use your own copy",
        systems=_GRAFT_SYSTEMS,
        columns=_GRAFT_COLUMNS,
        types={"2": ("global",), "3": ("local",), "4": ()}[name],
        numbers={"Phi-2": rows(_GRAFT_SYSTEMS, *values)},
        bert="rescaled",
        differs=_GRAFT_DIFFERS,
    )


TABLES: tuple[Table, ...] = (
    _graft(
        "2", "Figure 2", "Global questions (type global)",
        (
            (-0.0196, 0.0130, 0.168, 0.620), (0.0575, 0.0344, 0.239, 0.669),
            (0.346, 0.0290, 0.288, 0.753), (0.33, 0.143, 0.428, 0.863),
        ),
    ),
    _graft(
        "3", "Figure 3", "Other questions (type local)",
        (
            (0.00364, 0.0194, 0.188, 0.563), (0.0634, 0.0321, 0.242, 0.634),
            (0.298, 0.0245, 0.270, 0.648), (0.312, 0.146, 0.397, 0.791),
        ),
    ),
    _graft(
        "4", "Figure 4", "All questions",
        (
            (-0.00645, 0.0166, 0.179, 0.588), (0.06, 0.0331, 0.240, 0.649),
            (0.319, 0.0265, 0.278, 0.694), (0.32, 0.145, 0.410, 0.822),
        ),
    ),
)  # fmt: skip
