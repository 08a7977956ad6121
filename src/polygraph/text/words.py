"""Words that carry the content of a question or a sentence."""

import re
from collections.abc import Sequence
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NAME = re.compile(r"[\"“]([^\"”]{2,80})[\"”]|\b(\d{3,4})\b|\b([^\W\d_][\w'’-]*)")

_PHRASE_WORD = re.compile(r"\w[\w'’.&/-]*(?<![.'’&/-])")

_STOP = """
    a about above after again against all also am an and any are as at be became because been before
    being below between both but by can come could did do does doing down during each either else ever
    every few for from further get give given had has have having he her here hers herself him himself
    his how i if in into is it its itself just know least less let like list made make many may me might
    more most much must my name named neither no nor not now of off on once one only or other our out
    over own please same say says she should since so some still such take tell than that the their them
    themselves then there these they this those through to told too under until up upon us used very was
    we were what when where whether which while who whom whose why will with within without would yes
    yet you your s t d ll m re ve
"""
STOP = frozenset(_STOP.split())
"""English words that carry no content of a question."""


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Take off the commonest English endings, so that forms of a word meet; no dictionary.

    >>> [stem(w) for w in ("changes", "changed", "changing", "parties", "was")]
    ['chang', 'chang', 'chang', 'party', 'was']
    """
    for ending, instead, least in (
        ("ies", "y", 3),
        ("ing", "", 4),
        ("ed", "", 3),
        ("es", "", 3),
        ("s", "", 3),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def words(text: str) -> list[str]:
    """Lower-case words in order, possessive endings dropped.

    >>> words("Scrooge's mind")
    ['scrooge', 'mind']
    """
    return [w[:-2] if w.endswith(("'s", "’s")) else w for w in _WORD.findall(text.casefold())]


def content(text: str) -> list[str]:
    """Stems of the words that carry content, in order, each once.

    >>> content("What changes Scrooge's mind?")
    ['chang', 'scroog', 'mind']
    """
    return list(dict.fromkeys(stem(word) for word in words(text) if word not in STOP))


def phrases(text: str) -> list[tuple[str, bool]]:
    """Runs of words that carry content, as written, in order, each once; with whether it looks like a name.

    A run ends at a stop word, at punctuation, and where words with a capital or a digit meet words without.
    In a text without any lower-case letter nothing counts as a name. No dictionary, no grammar.

    >>> phrases("Who refused to pay Mara Quill for the lamp of 1871?")
    [('refused', False), ('pay', False), ('Mara Quill', True), ('lamp', False), ('1871', True)]
    """
    shouted = text.upper() == text
    found: dict[str, bool] = {}
    run: list[str] = []
    named, end = False, 0
    for match in _PHRASE_WORD.finditer(text):
        word = re.sub(r"['’]s?$", "", match.group())
        is_name = not shouted and (word[0].isupper() or word[0].isdigit())
        stop = word.casefold() in STOP
        if run and (stop or is_name != named or text[end : match.start()].strip(" -")):
            found.setdefault(" ".join(run), named)
            run = []
        if not stop:
            run.append(word)
            named = is_name
        end = match.start() + len(word)
    if run:
        found.setdefault(" ".join(run), named)
    return list(found.items())


def quantity(n: int, what: str) -> str:
    """A number with its noun, for people to read.

    >>> quantity(1, "passage"), quantity(1200, "passage"), quantity(2, "entity")
    ('1 passage', '1,200 passages', '2 entities')
    """
    many = f"{what[:-1]}ies" if what[-1] == "y" and what[-2] not in "aeiou" else f"{what}s"
    return f"{n:,} {what if n == 1 else many}"


def listing(items: Sequence[str]) -> str:
    """Items as a sentence lists them.

    >>> listing(["tar"]), listing(["tar", "oil"]), listing(["tar", "oil", "rope"])
    ('tar', 'tar and oil', 'tar, oil and rope')
    """
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def names(question: str) -> list[str]:
    """What a question names: quoted phrases, years, and words with a capital that do not begin a sentence.

    In a question without any lower-case letter nothing counts as a name.

    >>> names("Who sold the “Grey Lady” to Tobias Wren in 1871?")
    ['Grey Lady', 'Tobias', 'Wren', '1871']
    """
    if question.upper() == question:
        return []
    found: list[str] = []
    for match in _NAME.finditer(question):
        quoted, number, word = match.groups()
        begins = (
            not question[: match.start()].rstrip(" \"'“‘(").strip()
            or question[: match.start()].rstrip()[-1:] in ".?!:"
        )
        if quoted or number:
            found.append(quoted or number)
        elif word[0].isupper() and not begins and word.casefold() not in STOP:
            found.append(re.sub(r"['’]s?$", "", word))
    return list(dict.fromkeys(found))
