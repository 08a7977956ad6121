"""Lone surrogates: half characters, which can be neither stored nor printed."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    r"""Return a text with U+FFFD for each surrogate; its length stays the same.

    >>> replace_surrogates("a\ud800b") == "a\N{REPLACEMENT CHARACTER}b"
    True
    """
    return _SURROGATE.sub("\ufffd", text)


def encodable(text: str) -> str:
    r"""Return a text with ``?`` for each surrogate, as `str.encode` replaces them; quick where there is none.

    >>> encodable("a\ud800b")
    'a?b'
    """
    return text.encode("utf-8", "replace").decode("utf-8")
