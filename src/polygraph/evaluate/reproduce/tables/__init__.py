"""Main tables of five papers: systems, data, measures, and the published numbers with their place in the paper.

Numbers are percent unless a column says otherwise. A system that cannot be run here (a fine-tuned reader, another
program) has no method; its numbers are shown for comparison. Numbers that a paper gives only in a chart are not
estimated from it: they are None, and the table says so. Data sets are not included: see `datasets`.
"""

from polygraph.evaluate.reproduce.tables import fg_rag, graft, rag_vs_graphrag, rograg, unbiased_evaluation
from polygraph.evaluate.reproduce.tables.records import (
    Column,
    JudgedPair,
    JudgingSetup,
    Measure,
    QuestionSource,
    System,
    Table,
)

TABLES: tuple[Table, ...] = (
    *rag_vs_graphrag.TABLES,
    *fg_rag.TABLES,
    *graft.TABLES,
    *rograg.TABLES,
    *unbiased_evaluation.TABLES,
)

__all__ = ["TABLES", "Column", "JudgedPair", "JudgingSetup", "Measure", "QuestionSource", "System", "Table"]
