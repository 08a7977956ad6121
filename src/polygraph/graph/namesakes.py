"""Names that several entities share, with the phrases by which entity resolution distinguishes them."""

import re

from polygraph.text.normalize import normalize_name

_QUALIFIED = re.compile(r"(?P<base>.+) \((?P<phrase>[^()]+)\)$")
"""Id of an entity that shares its base name with others: a phrase or a number follows."""


def distinct_name(name: str, id: str) -> str:
    """Return a name, with the phrase that distinguishes it from others if its id has one and the name does not.

    >>> distinct_name("Patience Orme", "patience orme (widow)")
    'Patience Orme (widow)'
    >>> distinct_name("Mr. Corve", "matthias corve (the younger)")
    'Mr. Corve (the younger)'

    An id may be that of another name of the thing, and a name may have the phrase.

    >>> distinct_name("Quillan's Comet", "miss orme (lugger)"), distinct_name("Orme, the widow", "orme (widow)")
    ("Quillan's Comet", 'Orme, the widow')
    """
    found = _QUALIFIED.match(id)
    if found is None:
        return name
    words = set(re.findall(r"\w+", normalize_name(name)))
    base, phrase = (set(re.findall(r"\w+", part)) for part in found.group("base", "phrase"))
    return f"{name} ({found['phrase']})" if words & base and not phrase <= words else name
