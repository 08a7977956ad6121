"""Helpers for tests: ours, and yours."""

import re
from itertools import pairwise

from polygraph.models.protocols import ChatRequest

_CAPITALISED = re.compile(r"\b[A-Z][\w’'-]{1,30}(?: [A-Z][\w’'-]{1,30}){0,3}")
_SENTENCE = re.compile(r"[^.!?\n]{1,600}[.!?]?")
_COMMON = frozenset(
    {
        *("the", "a", "an", "it", "he", "she", "they", "we", "in", "on", "at", "but", "and", "or", "as"),
        *("when", "this", "that", "there", "his", "her"),
    }
)


def scripted_extraction(request: ChatRequest) -> str:
    r"""Play an extractor: names are capitalised words, relations join neighbours in a sentence.

    Answers all three tasks of extraction in the format of our prompt: reading the text of the last
    ``<document>`` fence, gleaning (nothing was missed) and whether more is left (no).

    >>> from polygraph.models.protocols import Message
    >>> text = "<document>\nMara Quill sailed with Old Tobin.\n</document>"
    >>> print(scripted_extraction(ChatRequest(messages=(Message("user", text),))))
    entity | Mara Quill | concept | Mara Quill sailed with Old Tobin.
    entity | Old Tobin | concept | Mara Quill sailed with Old Tobin.
    relation | Mara Quill | Old Tobin | sailed with | text | 5 | Mara Quill sailed with Old Tobin.
    END
    """
    last = request.messages[-1].content
    if last.startswith("Task: more_left"):
        return "NO"
    if last.startswith("Task: glean"):
        return "NONE\nEND"
    document = last.rpartition("<document>")[2].rpartition("</document>")[0] or last
    records: list[str] = []
    seen: set[str] = set()
    for found in _SENTENCE.finditer(document):
        sentence = " ".join(found.group().replace("|", " ").split())
        names = [m for m in _CAPITALISED.finditer(sentence) if m.group().casefold() not in _COMMON]
        for name in names:
            if name.group() not in seen:
                seen.add(name.group())
                records.append(f"entity | {name.group()} | concept | {sentence}")
        for left, right in pairwise(names):
            between = " ".join(re.findall(r"\w+", sentence[left.end() : right.start()].lower())[:4])
            if left.group() != right.group():
                ends = f"{left.group()} | {right.group()}"
                records.append(f"relation | {ends} | {between or 'with'} | text | 5 | {sentence}")
    return "\n".join([*records[:60], "END"]) if records else "NONE\nEND"
