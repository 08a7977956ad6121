"""Libraries that read file formats: imported when a file needs them, with their warnings suppressed."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from polygraph.errors import MissingExtra


def import_library(name: str, format: str) -> Any:
    """Import a library of the extra `documents`.

    Args:
        name: of the module.
        format: that needs it, for the message.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as problem:
        raise MissingExtra(format, "documents") from problem


@contextmanager
def without_warnings(logger_name: str) -> Iterator[None]:
    """Keep a library's warnings about odd files off the terminal."""
    logger = logging.getLogger(logger_name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
