"""Main tables of five papers: what was run, on what, how it was measured, and the numbers, each with its place.

Numbers are percent unless a column says otherwise. A system that cannot be run here (a fine-tuned reader, another
program) has no method; its numbers are shown for comparison. Numbers that a paper gives only as a picture are not read
off it: they are None, and the table says so. Data sets are not shipped: see `datasets`.
"""

from polygraph.evaluate.reproduce.tables import fg_rag, graft, rag_vs_graphrag, rograg, unbiased_evaluation
from polygraph.evaluate.reproduce.tables.records import Column, Contest, Measure, Posing, System, Table

TABLES: tuple[Table, ...] = (
    *rag_vs_graphrag.TABLES,
    *fg_rag.TABLES,
    *graft.TABLES,
    *rograg.TABLES,
    *unbiased_evaluation.TABLES,
)

__all__ = ["TABLES", "Column", "Contest", "Measure", "Posing", "System", "Table"]
