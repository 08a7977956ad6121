"""What contradicts a claim in the text that it cites: names, numbers, units, dates, negation, opposites and exchanges.

The rules compare words; they know no grammar. They look only at what a text cannot leave out if it supports the claim.
"""

from collections.abc import Callable

from polygraph.text.claims.amounts import is_computed, missing_number
from polygraph.text.claims.arrangements import rearranged
from polygraph.text.claims.denials import reversed_clause
from polygraph.text.claims.exchanges import exchanged
from polygraph.text.claims.months import other_month
from polygraph.text.claims.names import missing_name
from polygraph.text.claims.numbers import numbers
from polygraph.text.claims.repeats import is_quoted
from polygraph.text.claims.substitutes import substituted

__all__ = ["contradiction", "numbers"]


def contradiction(claim: str, *shown: str, given: str = "", elsewhere: Callable[[], str] = str) -> str:
    """Return what contradicts a claim in the texts that it cites; empty if nothing does.

    Args:
        claim: without citations.
        shown: the texts that the claim cites; no sentence goes on in the next one.
        given: text whose names and numbers need no support, such as the question.
        elsewhere: returns text that was shown beside it, which few claims need: a name may stand in the full form
            that it has there. Default: none.

    >>> contradiction("The mill opened in 1871.", "The mill was opened in 1817.")
    'the number 1871'
    >>> contradiction("Some 1,200 loaves were sold.", "Loaves sold: 1200.")
    ''
    """
    # The rules would compare it with all other sentences to find nothing, or to be wrong.
    if any(is_quoted(claim, text) for text in shown):
        return ""
    known = (*shown, given)
    return (
        missing_name(claim, known, elsewhere)
        or missing_number(claim, shown, known)
        or (month if (month := other_month(claim, known)) and not is_computed(claim) else "")
        or reversed_clause(claim, shown)
        or exchanged(claim, shown)
        or rearranged(claim, shown)
        or substituted(claim, shown)
    )
