"""The command `polygraph`. Heavy modules are imported inside the commands, so that `--help` is quick."""

import errno
import os
import sys
import warnings
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from polygraph import __version__
from polygraph.cli import (
    ask,
    copy,
    entities,
    evaluation,
    fetch,
    finetune,
    graph,
    index,
    mcp,
    publish,
    reproduce,
    serve,
    status,
)
from polygraph.cli.terminal import printable
from polygraph.errors import PolygraphError

COMMAND_GROUPS = {
    "Start": ("demo", "index", "ask", "chat"),
    "Choose a method": ("methods", "compare", "explain", "eval", "reproduce", "finetune"),
    "Manage an index": (
        *("status", "doctor", "estimate", "fetch", "remove", "refresh", "retry", "batch"),
        *("entities", "graph", "config"),
    ),
    "Share an index": ("serve", "token", "mcp", "export", "import", "copy", "publish"),
}
"""Commands by what they are for, in the order in which help and documentation list them."""


class _GroupedCommands(TyperGroup):
    """The command with its sub-commands listed under `COMMAND_GROUPS`."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is Typer's
        return [name for names in COMMAND_GROUPS.values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        width = max(len(name) for name in commands)
        for heading, names in COMMAND_GROUPS.items():
            with formatter.section(heading):
                rows = [(name.ljust(width), commands[name]) for name in names]
                limit = formatter.width - 6 - width
                formatter.write_dl([(n, command.get_short_help_str(limit)) for n, command in rows if command])


app = typer.Typer(
    name="polygraph",
    cls=_GroupedCommands,
    help="Every GraphRAG method over one index, and an honest test of which one to trust on your documents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (
    index,
    fetch,
    publish,
    copy,
    ask,
    status,
    entities,
    graph,
    serve,
    mcp,
    reproduce,
    evaluation,
    finetune,
):
    app.add_typer(part.app)
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
    """Run a command; print errors as one sentence and exit with their code."""
    warnings.showwarning = _show_warning
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal or pipe that is not in Unicode has no form for some characters of documents.
        sys.stdout.reconfigure(errors="replace")
    try:
        # In standalone mode Typer would end an interrupted command without a message.
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
    except PolygraphError as error:
        if shows_tracebacks:
            raise
        _print_error(str(error))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _print_error("stopped. Finished work is kept, and the same command continues from there")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader has closed the pipe. The interpreter would fail again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # wrong usage, in any version of Click
            error.show()
            if _has_words_of_a_question(error):
                _print_error('put the question in quotes, as in: polygraph ask "Who built the harbour?"')
            sys.exit(error.exit_code)
        if shows_tracebacks:
            raise
        exhausted = _exhausted_resource(error)
        if exhausted:
            _print_error(f"{exhausted}. Finished work is kept, and the same command continues from there")
            sys.exit(2)
        # Not an error of ours, so there is no fix to name. Most users have no use for a traceback.
        _print_error(
            f"unexpected error: {type(error).__name__}: {error}. "
            "Run `polygraph --debug ...` for the details, and please report them"
        )
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _has_words_of_a_question(error: Any) -> bool:
    """Tell whether a command that takes a question was given more arguments: the words of one without quotes."""
    parameters = getattr(getattr(error, "ctx", None), "command", None)
    takes_question = any(each.name == "question" for each in getattr(parameters, "params", ()))
    return takes_question and "extra argument" in str(error)


def _exhausted_resource(error: BaseException) -> str:
    """Return which resource of the system is exhausted and how to fix it; empty for other errors."""
    if isinstance(error, MemoryError):
        return "there is not enough memory. Free some memory, or index fewer documents at a time"
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return (
            "the system allows no more threads. Use fewer with POLYGRAPH_CONCURRENCY=2, or raise the limit "
            "(ulimit -u)"
        )
    if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
        return (
            "the system allows no more open files. Use fewer with POLYGRAPH_CONCURRENCY=2, or raise the limit "
            "(ulimit -n)"
        )
    return _exhausted_resource(error.__cause__) if error.__cause__ is not None else ""


def _print_error(text: str) -> None:
    print(f"polygraph: {printable(text)}", file=sys.stderr)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print warnings of Polygraph as a sentence, and no warnings of libraries."""
    if category.__module__.partition(".")[0] == "polygraph":
        _print_error(str(message))
