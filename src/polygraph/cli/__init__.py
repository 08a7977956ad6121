"""The command `polygraph`. Heavy modules are imported inside the commands, so that `--help` is quick."""

import errno
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from polygraph import __version__
from polygraph.cli import ask as asking
from polygraph.cli import eval_datasets as converting
from polygraph.cli import eval_retrieval as evaluating
from polygraph.cli import eval_sheets as by_hand
from polygraph.cli import eval_study as studying
from polygraph.cli import index as indexing
from polygraph.cli import reproduce as reproducing
from polygraph.cli import status as looking
from polygraph.cli.terminal import printable
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
shows_tracebacks = False
"""Set by ``--debug``."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"polygraph {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
    version: Annotated[  # noqa: ARG001 - read by its callback
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    global shows_tracebacks  # noqa: PLW0603 - read once, by `main`
    shows_tracebacks = debug


def main() -> None:
    """Run a command; errors become one sentence and an exit code."""
    warnings.showwarning = _show_warning
    try:
        # By itself Typer ends a command that is interrupted without a word.
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
    except PolygraphError as error:
        if shows_tracebacks:
            raise
        _say(str(error))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _say("stopped. What was finished is kept; the same command continues from there.")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Nobody reads on. The interpreter would fail once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # wrong usage, whichever Click is in use
            error.show()
            sys.exit(error.exit_code)
        if shows_tracebacks:
            raise
        lacking = _lacking(error)
        if lacking:
            _say(f"{lacking}. What was finished is kept; the same command continues from there.")
            sys.exit(2)
        # Not one of ours, so there is no fix to name; the traceback would not help who only wants an answer.
        _say(
            f"an error that should not happen: {type(error).__name__}: {error}. "
            "Run `polygraph --debug ...` for the details, and please report them"
        )
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _lacking(error: BaseException) -> str:
    """Name the resource that ran out, with the fix; empty if it is something else."""
    if isinstance(error, MemoryError):
        return "there is not enough memory. Free some, or index fewer documents at a time"
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return (
            "the system allows no further threads. Use fewer with POLYGRAPH_CONCURRENCY=2, or raise the limit "
            "(ulimit -u)"
        )
    if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
        return (
            "the system allows no further open files. Use fewer with POLYGRAPH_CONCURRENCY=2, or raise the limit "
            "(ulimit -n)"
        )
    return _lacking(error.__cause__) if error.__cause__ is not None else ""


def _say(text: str) -> None:
    print(f"polygraph: {printable(text)}", file=sys.stderr)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning of ours as a sentence; those of libraries mean nothing to a user."""
    if category.__module__.partition(".")[0] == "polygraph":
        _say(str(message))
