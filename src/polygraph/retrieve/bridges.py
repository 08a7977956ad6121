"""Names by which a passage leads on to another, and what is still to be found there, without a model.

A multi-hop question describes a thing ("the actress who played ...") that its first passage names; the second passage
is about that name and about the rest of the question. So the search for the second passage asks for both.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.extract.nlp.capitalized_names import capitalized_spans
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems

_WORD = re.compile(r"\w+(?:[’'&./-]\w+)*")
_MAX_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Bridge:
    """A name that a passage has and the question has not."""

    name: str
    """As written in the passage or in its title."""
    rest: str
    """The words of the question that title and best sentences of the passage lack, in order."""


def bridges(question: str, title: str, text: str, *, sentences: int = 2, names: int = 4) -> list[Bridge]:
    """Find the names by which a passage leads on.

    They are its title and the names, by their capitals, in the sentences that share most content stems with the
    question. A name all of whose stems stand in the question, or in the title, leads nowhere new. The first word of a
    sentence and dates are no names.

    Args:
        question: the question; its first 2,000 characters count.
        title: of the document; may be empty. What stands in brackets is left out.
        text: of the passage.
        sentences: how many sentences are read; those without a stem of the question are left out.
        names: how many names of the sentences are taken, besides the title.

    Returns:
        The title first, then names in the order of the sentences, best sentence first, of equals the earlier one.

    >>> text = "Pulse Lake is a film. Its princess was played by Ada Bell. It was made in Ghent."
    >>> bridges("Who is the spouse of the actress that played the princess in Pulse Lake?", "Pulse Lake", text)
    [Bridge(name='Ada Bell', rest='spouse actress')]
    """
    question, title = question[:_MAX_LENGTH], title.split("(", 1)[0].strip()
    asked, titled = set(content_stems(question)), set(content_stems(title))
    spans = sentence_spans(text)
    shared = [len(asked.intersection(content_stems(text[a:b]))) for a, b in spans]
    best = sorted(range(len(spans)), key=lambda i: (-shared[i], i))[:sentences]
    read = [text[slice(*spans[i])] for i in best if shared[i]]
    found = list(dict.fromkeys(name for sentence in read for name in _names(sentence, asked, titled)))[:names]
    if titled - asked:
        found.insert(0, title)
    known = titled.union(*(content_stems(sentence) for sentence in read))
    words = [
        word for word in _WORD.findall(question) if (stems := content_stems(word)) and not known >= {*stems}
    ]
    return [Bridge(name, " ".join(words)) for name in dict.fromkeys(found)]


def _names(sentence: str, asked: set[str], titled: set[str]) -> Sequence[str]:
    names = []
    for span in capitalized_spans(sentence):
        name = sentence[span.start : span.end]
        stems = set(content_stems(name))
        if not span.date and not span.doubtful and stems - asked and stems - titled:
            names.append(name)
    return names
