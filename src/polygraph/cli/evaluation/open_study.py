"""Opening a study for a command, and printing what the command did to it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygraph.cli.open_index import open_index

if TYPE_CHECKING:
    from polygraph.evaluate.runs.experiment import Experiment
    from polygraph.workspace.index import Index


@contextmanager
def open_experiment(
    index: Path | None,
    output: Path,
    quiet: bool,
    *,
    new: bool = False,
    check: "Callable[[Index], None]" = lambda _: None,
    **flags: Any,
) -> "Iterator[tuple[Index, Experiment]]":
    """Open an index and an experiment over it, with progress bars.

    Args:
        index: folder of the index; None: that of the settings.
        output: folder of the study; created after `check`.
        quiet: True without progress bars.
        new: True if the index need not exist yet.
        check: raises an error if the command cannot succeed with the models of the index.
        flags: settings by name.
    """
    from polygraph.cli.progress import Bars
    from polygraph.config import load_settings
    from polygraph.workspace.per_document import FOLDER

    # A folder with an index per document need not have an index of its own.
    per_document = new or ((index or load_settings({}).index) / FOLDER).is_dir()
    with (
        open_index(index, new=per_document, **flags) as opened,
        Bars(quiet=quiet, spent=lambda: opened.models.calls.spent) as bars,
    ):
        check(opened)
        yield opened, opened.experiment(output, progress=bars)


def open_existing(
    index: Path | None, output: Path, quiet: bool, **flags: Any
) -> "AbstractContextManager[tuple[Index, Experiment]]":
    """Open an experiment whose study must exist, so that a mistyped name creates no folder."""
    from polygraph.evaluate.runs.study_folder import open_study

    return open_experiment(index, open_study(output).path, quiet, **flags)


def show_result(as_json: bool, values: dict[str, Any]) -> None:
    """Print the result of a command as JSON, or one value per line."""
    from polygraph.cli.render import answer as show

    if as_json:
        show.as_json(values)
        return
    for key, value in values.items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        shown = ", ".join(shown) if isinstance(shown, list) else shown
        show.out.print(f"{key.replace('_', ' ')}: {shown}", soft_wrap=True)
