"""Packages of the extra `eval`, imported when they are first needed."""

import importlib
from importlib.util import find_spec
from typing import Any

from polygraph.errors import MissingExtra

EVAL_PACKAGES = ("matplotlib", "rouge_score", "sacrebleu", "statsmodels")


def require_eval_extra() -> None:
    """Check, before any model is paid, that the report of a study can be written.

    Raises:
        MissingExtra: if part of the extra `eval` is not installed.
    """
    if any(find_spec(name) is None for name in EVAL_PACKAGES):
        raise MissingExtra("the report of a study", "eval")


def import_optional(name: str, feature: str = "the report of a study") -> Any:
    """Import a module of the extra `eval`.

    Args:
        name: of the module.
        feature: what needs it, for the error.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise MissingExtra(feature, "eval") from problem
