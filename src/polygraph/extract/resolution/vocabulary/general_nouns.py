"""General nouns: what stands for something that a document has named, as in ``The company`` or ``der Kapitän``."""

from functools import lru_cache

from polygraph.extract.lexicon import (
    ENGLISH_OCCUPATION,
    OCCUPATIONS,
    TITLES,
    TITLES_OF_PEOPLE,
    TYPE_OF_NOUN,
)
from polygraph.extract.resolution.vocabulary.kinds import CLASS_OF_NOUN, TYPE_WORDS

_ARTICLES_WORDS = """
the a an this that said der die das den dem des ein eine einer dieser diese dieses le la les l un une ce cette cet el
los las una este esta il lo gli i uno questo questa o a os as um uma este esta de het een deze dit den det en ett et
"""
_ARTICLES = frozenset(_ARTICLES_WORDS.split())
_MORE_WORDS = """
sheriff skipper master boss owner stranger visitor host guest girl boy lady gentleman wife husband widow child baby
mother father son daughter sister brother aunt uncle grandmother grandfather plaintiff defendant accused deceased victim
witness author editor speaker narrator group office plant factory mill shop store institute institution society
association foundation council committee board union party paper vessel steamer boat
"""
_NOUNS = (
    TITLES
    | TITLES_OF_PEOPLE
    | OCCUPATIONS
    | TYPE_WORDS
    | frozenset(TYPE_OF_NOUN)
    | frozenset(CLASS_OF_NOUN)
    | frozenset(ENGLISH_OCCUPATION)
    | frozenset(_MORE_WORDS.split())
)


@lru_cache(maxsize=16_384)
def is_general_noun(base: str) -> bool:
    """Return whether a base name is a noun for a kind of thing or person, perhaps with an article.

    >>> [is_general_noun(base) for base in ("company", "die firma", "le capitaine", "quill")]
    [True, True, True, False]
    """
    words = base.split()
    if len(words) > 1 and words[0] in _ARTICLES:
        del words[0]
    return len(words) == 1 and words[0] in _NOUNS
