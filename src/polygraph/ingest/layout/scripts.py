"""Superscripts and subscripts as characters, so that a power does not become a longer number."""

_PLAIN = "0123456789+-−=()"
_RAISED = str.maketrans(_PLAIN + "ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED = str.maketrans(_PLAIN, "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")


def raised_or_lowered(text: str, *, raised: bool) -> str:
    """Return a text with superscript or subscript characters, unchanged if one of its characters has none.

    >>> "2" + raised_or_lowered("64", raised=True), "1" + raised_or_lowered("st", raised=True)
    ('2⁶⁴', '1st')
    """
    table = _RAISED if raised else _LOWERED
    return text.translate(table) if text.strip() and all(ord(c) in table for c in text.strip()) else text
