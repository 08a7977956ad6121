"""Nouns of languages without a tagger, by their capitals or by the articles before them."""

import re
from collections import Counter
from collections.abc import Sequence

from polygraph.text.language import FUNCTION_WORDS

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;•\n|(*#\"„“«»])\s*$")
_ARTICLES = {
    "de": "der die das den dem des ein eine einen einem einer eines kein keine keinen keiner im am zum zur beim vom "
    "ins ans ihr ihre ihren ihrer sein seine seinen seiner unser unsere unseren unserer dieser diese dieses "
    "diesen diesem jeder jede jedes jeden jedem alle allen",
    "es": "el la los las un una unos unas al del su sus este esta estos estas ese esa esos esas nuestro nuestra "
    "nuestros nuestras cada",
    "fr": "le la les l un une des du au aux ce cet cette ces mon ma mes son sa ses notre nos votre vos leur leurs "
    "chaque",
    "it": "il lo la i gli le l un uno una del dello della dei degli delle dell al allo alla ai agli alle all dal "
    "dalla dai dalle dall nel nella nei nelle nell sul sulla sui sulle sull questo questa questi queste suo "
    "sua suoi sue ogni",
    "pt": "o a os as um uma uns umas do da dos das ao à aos às no na nos nas pelo pela pelos pelas este esta estes "
    "estas esse essa seu sua seus suas cada",
}
"""Articles and what else stands before nouns only."""
_ADJECTIVES = {
    "es": "nuevo nueva nuevos nuevas otro otra otros otras mismo misma mismos mismas primer primera último última "
    "gran dos tres cuatro",
    "fr": "nouveau nouvelle nouveaux nouvelles petit petite petits petites grand grande grands grandes autre autres "
    "même mêmes premier première dernier dernière bon bonne deux trois quatre",
    "it": "nuovo nuova nuovi nuove altro altra altri altre stesso stessa primo prima ultimo ultima grande due tre",
    "pt": "novo nova novos novas outro outra outros outras mesmo mesma primeiro primeira último última grande dois "
    "duas",
}
"""Those that stand between article and noun; most others follow the noun."""
_ARTICLE_SETS = {code: frozenset(words.split()) for code, words in _ARTICLES.items()}
_ADJECTIVE_SETS = {code: frozenset(words.split()) for code, words in _ADJECTIVES.items()}
LANGUAGES = frozenset(_ARTICLES)
"""ISO 639-1 codes of the languages whose nouns are found."""
_SHORTEST = 4
"""Letters of a noun that says something by itself."""


def nouns(text: str, language: str) -> list[tuple[int, int]]:
    """Return the spans of the nouns that a text says most with, in order: the frequent and the long ones.

    In German a noun has a capital, at least once inside a sentence or behind an article. In Spanish, French, Italian
    and Portuguese it stands behind an article once at least. The number of distinct nouns is about a twelfth of the
    number of words.

    Args:
        text: at least a paragraph; little recurs in shorter texts.
        language: one of `LANGUAGES`.

    >>> text = "Der alte Turm am Hafen ist zu. Hinter dem Turm steht eine Mühle."
    >>> [text[a:b] for a, b in nouns(text, "de")]
    ['Turm', 'Hafen', 'Turm', 'Mühle']
    >>> text = "Le nouveau compresseur de la chambre froide consomme moins."
    >>> [text[a:b] for a, b in nouns(text, "fr")]
    ['compresseur', 'chambre']
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    known = _with_capitals(text, spans) if language == "de" else _behind_articles(text, spans, language)
    found = [(a, b) for a, b in spans if text[a:b] in known]
    counts = Counter(text[a:b] for a, b in found)
    best = sorted(counts, key=lambda noun: (-counts[noun] * len(noun), noun))[: 3 + len(spans) // 12]
    chosen = frozenset(best)
    return [(a, b) for a, b in found if text[a:b] in chosen]


def _with_capitals(text: str, spans: Sequence[tuple[int, int]]) -> set[str]:
    found: set[str] = set()
    before = ""
    for a, b in spans:
        word = text[a:b]
        if (
            len(word) >= _SHORTEST
            and word.istitle()
            and word.lower() not in FUNCTION_WORDS["de"]
            and (before in _ARTICLE_SETS["de"] or not _SENTENCE_START.search(text, max(0, a - 4), a))
        ):
            found.add(word)
        before = word.lower()
    return found


def _behind_articles(text: str, spans: Sequence[tuple[int, int]], language: str) -> set[str]:
    articles, adjectives = _ARTICLE_SETS[language], _ADJECTIVE_SETS[language]
    stop = FUNCTION_WORDS[language] | adjectives
    found: set[str] = set()
    is_behind, end = False, 0
    for a, b in spans:
        word = text[a:b]
        is_behind = is_behind and a == end + 1 and text[end] in " '’\n"
        if is_behind and len(word) >= _SHORTEST and word.islower() and word not in stop:
            found.add(word)
        is_behind, end = word.lower() in articles or (is_behind and word in adjectives), b
    return found
