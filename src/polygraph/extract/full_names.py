"""Full names of people: a given name and a surname."""

from collections.abc import Sequence

from polygraph.extract.lexicon import GROUP_TITLES, OCCUPATIONS, TITLES, TYPE_OF_NOUN
from polygraph.text.language import FUNCTION_WORDS

_NOT_IN_PEOPLE = (FUNCTION_WORDS["en"] | {"s"}) - frozenset(["i", "a", "will", "may", "do", "so", "an"])
_TRADES_AS_SURNAMES = (
    "baker cook cooper mason miller potter smith tailor farmer fisher gardener shepherd judge porter"
)
NOT_SURNAMES = (TITLES | OCCUPATIONS | frozenset(TYPE_OF_NOUN)) - frozenset(_TRADES_AS_SURNAMES.split())
"""Words that are not surnames although they may be capitalised (``Town Clerk``)."""


def is_full_name(words: Sequence[str]) -> bool:
    """Return whether words may be a person's given name and surname.

    >>> is_full_name(["anna", "quill"]), is_full_name(["king", "of", "rock"]), is_full_name(["anna", "q"])
    (True, False, False)
    """
    if len(words) < 2 or len(words[-1]) < 2 or words[0] in GROUP_TITLES:
        return False
    return words[-1] not in NOT_SURNAMES and not _NOT_IN_PEOPLE.intersection(words)
