"""Limits on what one file may cost: a small file can stand for gigabytes, or for hours."""

import time
import zipfile
from collections.abc import Callable

from polygraph.errors import BadInput

MAX_ELEMENTS = 3_000_000
"""Parts of a file: tags of its XML, paragraphs, cells, shapes, pages. A thousand pages of Word have a third of that."""
MAX_SECONDS = 120.0
"""Longest time for one file of a foreign format. Readers of text are linear, so that its size bounds their time."""
_BLOCK = 1 << 20


class ReadLimits:
    """Counts what a reader of one file has done so far, and stops it past a limit.

    Args:
        max_elements: parts of the file.
        max_seconds: since the object was made.
        clock: in seconds.
    """

    def __init__(
        self,
        *,
        max_elements: int = MAX_ELEMENTS,
        max_seconds: float = MAX_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_elements, self._max_seconds, self._clock = max_elements, max_seconds, clock
        self._started = clock()
        self._n_elements = 0

    def count(self, n: int = 1) -> None:
        """Count further elements.

        Raises:
            BadInput: if there are too many, or the file has taken too long.
        """
        self._n_elements += n
        if self._n_elements > self._max_elements:
            raise BadInput(
                f"has over {self._max_elements:,} parts (paragraphs, cells, tags), more than a document for people; "
                "split it, or save the part that matters as text"
            )
        if self._clock() - self._started > self._max_seconds:
            raise BadInput(
                f"takes longer than {self._max_seconds:g} s to read; split it, or save the part that matters as text"
            )

    def count_tags(self, archive: zipfile.ZipFile, *, except_below: str = "") -> None:
        """Count the tags in the XML parts of an archive, before a library builds a tree of them.

        Args:
            archive: open.
            except_below: folder of parts that the library reads piece by piece.

        Raises:
            BadInput: as `count`.
        """
        for member in archive.infolist():
            streamed = except_below and member.filename.startswith(except_below)
            if member.filename.endswith((".xml", ".rels")) and not streamed:
                with archive.open(member) as part:
                    while block := part.read(_BLOCK):
                        self.count(block.count(b"<"))
