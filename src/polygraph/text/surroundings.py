"""The words of a text around a name."""

import re

_SHORTEST_STEM = 4
"""Letters at the beginning of a word that cases leave as they are; they change at most the last two."""
_END = re.compile(r"[.!?] |[。！？]")


def around(text: str, name: str, *, max_chars: int = 240) -> str:
    """Return what a text says around the first place of a name, on one line and cut between words.

    It begins with the sentence of the name, if the name stands in the first two thirds of what is kept.

    Args:
        text: a passage.
        name: as written; white space and case do not matter, nor do endings if the name does not occur otherwise.
        max_chars: characters that are kept, without the marks of a cut.

    Returns:
        The words, or an empty string if the text does not have the name.

    >>> around("It rained. The mill of Anna Vane burned down. She left.", "anna  vane", max_chars=34)
    'The mill of Anna Vane burned down. …'
    >>> around("It rained.", "Anna Vane"), around("Er kam aus der Mühle von Omsk.", "Mühlen Omsk")
    ('', '')
    >>> around("Врач больницы имени Боткина.", "больница имени Боткина")
    'Врач больницы имени Боткина.'
    """
    flat = " ".join(text.split())
    exact = r"\s".join(map(re.escape, name.split()))
    inflected = r"\s".join(map(_inflected, name.split()))
    patterns = (rf"(?<!\w){exact}(?!\w)", exact, rf"(?<!\w){inflected}")
    match = next(
        (found for each in patterns if name.strip() and (found := re.search(each, flat, re.I))), None
    )
    if match is None:
        return ""
    begin, is_cut = 0, False
    if len(flat) > max_chars:
        begin = max((end.end() for end in _END.finditer(flat, 0, match.start() + 1)), default=0)
        if match.end() - begin > max_chars * 2 // 3:
            begin, is_cut = flat.find(" ", max(0, match.start() - max_chars // 3)) + 1, True
    end = begin + max_chars
    if end < len(flat):
        end = max(flat.rfind(" ", begin, end + 1), match.end())
    return ("… " if is_cut else "") + flat[begin:end] + (" …" if end < len(flat) else "")


def _inflected(word: str) -> str:
    """Return a pattern for a word with another ending."""
    return re.escape(word[: max(_SHORTEST_STEM, len(word) - 2)]) + r"\w{0,4}"
