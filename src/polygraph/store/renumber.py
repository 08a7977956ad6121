"""Rows of the graph's tables that did not change, brought to their new numbers inside the database.

Numbers are positions in the order of ids, so one new entity moves all that come after it. Moving rows takes a
tenth of the time of making them from records.
"""

import sqlite3

from polygraph.columnar import Array, blocks
from polygraph.columnar.memory import let_go
from polygraph.graph.merge.diff import GraphMoves, Moves


def move_graph(db: sqlite3.Connection, where: GraphMoves) -> None:
    """Leave in the tables what did not change, under its new numbers.

    Args:
        db: in a transaction.
        where: everything goes.
    """
    _mark(db, "moved", where.entities.new >= 0, where.entities)
    ends = "s.new, t.new"
    _move(
        db,
        "relations",
        f"{ends}, r.predicates, r.keywords, r.descriptions, r.weight, r.chunks",
        where.relations,
    )
    _move(db, "triples", f"{ends}, r.predicate, r.weight, r.chunks", where.triples)
    db.execute("DROP TABLE temp.moved")
    _mark(db, "kept", where.entities.same, where.entities)
    _replace(
        db,
        "names",
        "SELECT r.name, k.new FROM main.names r JOIN temp.kept k ON k.old = r.entity ORDER BY r.name, k.new",
    )
    db.execute("DROP TABLE temp.kept")
    _move(
        db, "entities", "r.id, r.name, r.type, r.aliases, r.descriptions, r.chunks, r.degree", where.entities
    )


def _move(db: sqlite3.Connection, table: str, columns: str, where: Moves) -> None:
    _mark(db, "kept", where.same, where)
    ends = ""
    if "s.new" in columns:
        ends = "JOIN temp.moved s ON s.old = r.source JOIN temp.moved t ON t.old = r.target"
    _replace(
        db,
        table,
        f"SELECT k.new, {columns} FROM temp.kept k JOIN main.{table} r ON r.n = k.old {ends} "  # noqa: S608
        "ORDER BY k.new",
    )
    db.execute("DROP TABLE temp.kept")


def _mark(db: sqlite3.Connection, name: str, wanted: Array, where: Moves) -> None:
    """Put down the new numbers of some rows."""
    db.execute(f"CREATE TEMP TABLE {name} (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
    for rows in blocks(len(wanted)):
        own = rows[wanted[rows]]
        db.executemany(
            f"INSERT INTO temp.{name} VALUES (?, ?)",  # noqa: S608
            zip(own.tolist(), where.new[own].tolist(), strict=True),
        )
        let_go(wanted, where.new)


def _replace(db: sqlite3.Connection, table: str, rows: str) -> None:
    """Let a table hold what a query over it gives."""
    db.execute(f"CREATE TEMP TABLE copied AS {rows}")
    db.execute(f"DELETE FROM main.{table}")  # noqa: S608
    db.execute(f"INSERT INTO main.{table} SELECT * FROM temp.copied")  # noqa: S608
    db.execute("DROP TABLE temp.copied")
