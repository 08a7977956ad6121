"""Show in a terminal what an index holds and what was spent on it."""

from typing import Any

from polygraph.cli.render import answer as show
from polygraph.errors import quoted
from polygraph.text.prose import count_noun


def show_status(found: dict[str, Any]) -> None:
    """Print the state of an index, given as the JSON of `polygraph status`."""
    _show_layers(found)
    # Local models cost nothing and would fill the table; `--json` has every row.
    if paid := [r for r in found["ledger"] if r["prompt_tokens"] or r["completion_tokens"] or r["failed"]]:
        _show_ledger(paid)
    if found["estimate"]:
        _show_estimates(found["estimate"])
    _show_notes(found)


def _show_layers(found: dict[str, Any]) -> None:
    show.out.print(f"{found['index']}: {count_noun(found['documents'], 'document')}", style="bold")
    show.show_table(
        ("layer", "state", "rows", "seconds"),
        [(n, v["state"], f"{v['rows']:,}", f"{v['seconds']:.1f}") for n, v in found["layers"].items()],
        right=("rows", "seconds"),
    )
    # The names of what makes a layer are known before the layer is there.
    made = (
        ("chunk_vectors", f"passages embedded by {found['embedder']}"),
        ("entity_vectors", f"entities embedded by {found['name_embedder']}"),
        ("graph", f"graph extracted by {found['extractor']}"),
    )
    by = [what for layer, what in made if found["layers"][layer]["state"] != "missing"]
    if by:
        show.out.print("; ".join(by), style="dim")


def _show_ledger(rows: list[dict[str, Any]]) -> None:
    columns = ("stage", "method", "model", "calls", "cached", "failed", "tokens in", "tokens out", "cost")
    show.show_table(
        columns,
        [
            (
                r["stage"],
                r["method"],
                r["model"],
                r["ok"] + r["failed"] + r["repaired"],
                r["cached"],
                r["failed"],
                f"{r['prompt_tokens']:,}",
                f"{r['completion_tokens']:,}",
                "unknown" if r["cost"] is None else f"${r['cost']:.4f}",
            )
            for r in rows
        ],
        right=columns[3:],
    )


def _show_estimates(rows: list[dict[str, Any]]) -> None:
    columns = ("estimate / actual", "calls", "tokens in", "tokens out", "cost")
    show.show_table(
        columns,
        [
            (
                f"question, {r['method']}" if r["stage"] == "question" else r["stage"],
                *(
                    show.estimate_and_actual(
                        r[name], r["actual"][name], r.get("questions"), money=name == "cost"
                    )
                    for name in ("calls", "prompt_tokens", "completion_tokens", "cost")
                ),
            )
            for r in rows
        ],
        right=columns[1:],
    )


def _show_notes(found: dict[str, Any]) -> None:
    waiting = sum(f["waiting"] for f in found["batches"])
    if waiting:
        show.out.print(
            f"{count_noun(waiting, 'request')} waiting in batch files; see: polygraph batch --index "
            f"{quoted(found['index'])}",
            style="yellow",
        )
    for note in found["notes"]:
        show.out.print(f"note: {note}", style="yellow")
    show.show_lost_relations(found["counts"], found["index"])
    if n_unread := len(found["unread"]):
        were = "file was" if n_unread == 1 else "files were"
        show.out.print(
            f"{n_unread} {were} not read; see: polygraph status --failed --index {quoted(found['index'])}",
            style="yellow",
        )
