"""Streamed text of a call that may be retried."""

from collections.abc import Callable


class StreamAcrossRetries:
    """Passes on a streamed text; a retry does not repeat what was passed on before."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._text = ""
        """Text passed on so far, without abandoned attempts."""
        self._at = 0
        """Position of the current attempt in it."""

    def restart(self) -> None:
        """Begin a new attempt."""
        self._at = 0

    def __call__(self, piece: str) -> None:
        """Pass on the next piece of the current attempt."""
        repeated = self._text[self._at : self._at + len(piece)]
        if piece.startswith(repeated):
            fresh = piece[len(repeated) :]
            self._text += fresh
        else:
            # The retry differs: pass it on from its start.
            self._text = self._text[: self._at] + piece
            fresh = f"\n\n(the connection was interrupted; the answer starts again)\n\n{self._text}"
        self._at += len(piece)
        if fresh:
            self._on_text(fresh)
