"""The command `polygraph`. Heavy modules are imported inside the commands, so that `--help` is quick."""

import sys
from typing import Annotated

import typer

from polygraph.cli import ask as asking
from polygraph.cli import eval_datasets as converting
from polygraph.cli import eval_retrieval as evaluating
from polygraph.cli import eval_sheets as by_hand
from polygraph.cli import eval_study as studying
from polygraph.cli import index as indexing
from polygraph.cli import reproduce as reproducing
from polygraph.cli import status as looking
from polygraph.errors import PolygraphError

app = typer.Typer(
    name="polygraph",
    help="Every GraphRAG method over one index, and an honest test of which one to trust on your documents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (indexing, asking, looking, reproducing):
    app.add_typer(part.app)
for part in (studying, by_hand, converting):
    evaluating.app.add_typer(part.app)
app.add_typer(evaluating.app)
_debug = False


@app.callback()
def _common(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    global _debug  # noqa: PLW0603 - read once, by `main`
    _debug = debug


def main() -> None:
    """Run a command; errors become one sentence and an exit code."""
    try:
        app()
    except PolygraphError as error:
        if _debug:
            raise
        print(f"polygraph: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print(
            "polygraph: stopped. What was finished is kept; the same command goes on from there.",
            file=sys.stderr,
        )
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        if _debug:
            raise
        # Not one of ours, so there is no fix to name; the traceback would not help who only wants an answer.
        print(
            f"polygraph: an error that should not happen: {type(error).__name__}: {error}. "
            "Run `polygraph --debug ...` for the details, and please report them",
            file=sys.stderr,
        )
        sys.exit(1)
