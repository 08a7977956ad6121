"""Scripted replies to the tasks of indexing: extraction, gleaning and reports."""

import json
import re
from itertools import pairwise

from polygraph.models.protocols import ChatRequest
from polygraph.testing.scripts.prompt_reading import blocks, fenced, last_turn

CAPITALISED = re.compile(r"\b[A-Z][\w’'-]{1,30}(?: [A-Z][\w’'-]{1,30}){0,3}")
"""Runs of capitalised words, which count as names."""
_SENTENCE = re.compile(r"[^.!?\n]{1,600}[.!?]?")
_COMMON = frozenset(
    {
        *("the", "a", "an", "it", "he", "she", "they", "we", "in", "on", "at", "but", "and", "or", "as"),
        *("when", "this", "that", "there", "his", "her"),
    }
)
_SOURCED = re.compile(r"\[\d{1,6}(?:, ?\d{1,6}){0,50}\]$")
_MOST_FINDINGS = 5
_PAIR = re.compile(r"^\[(\d{1,3})\]\nFirst: (.{1,500})\n(?:- .*\n)*Second: (.{1,500})", re.MULTILINE)
_LISTED = re.compile(r"(.{1,200}?)(?: \(([^()]*)\))?(?:, also .*)?, from ")
_NAMED = re.compile(r"^(.*?)(?: \(([^()]*)\))?, from ")


def scripted_extraction(request: ChatRequest) -> str:
    r"""Extract capitalised words as entities, and join neighbours in a sentence by relations.

    Replies to all three tasks of extraction in the format of our prompt: extraction from the last ``<document>`` fence,
    gleaning (nothing was missed) and whether anything is left (no).

    >>> from polygraph.models.protocols import Message
    >>> text = "<document>\nMara Quill sailed with Old Tobin.\n</document>"
    >>> print(scripted_extraction(ChatRequest(messages=(Message("user", text),))))
    entity | Mara Quill | concept | Mara Quill sailed with Old Tobin.
    entity | Old Tobin | concept | Mara Quill sailed with Old Tobin.
    relation | Mara Quill | Old Tobin | sailed with | text | 5 | Mara Quill sailed with Old Tobin.
    END
    """
    last = last_turn(request)
    if last.startswith("Task: more_left"):
        return "NO"
    if last.startswith("Task: glean"):
        return "NONE\nEND"
    document = fenced(last, "document") or last
    records: list[str] = []
    seen: set[str] = set()
    for found in _SENTENCE.finditer(document):
        sentence = " ".join(found.group().replace("|", " ").split())
        names = [m for m in CAPITALISED.finditer(sentence) if m.group().casefold() not in _COMMON]
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


def scripted_same(request: ChatRequest) -> str:
    """Call a pair the same if the names end in the same word and have the same type, and else different."""
    same: list[int] = []
    different: list[int] = []
    for number, *names in _PAIR.findall(fenced(last_turn(request), "pairs")):
        ends = [(name.split()[-1:], kind) for each in names for name, kind in _NAMED.findall(each)]
        (same if len(set(map(repr, ends))) == 1 else different).append(int(number))
    return json.dumps({"same": same, "different": different})


def scripted_suggestions(request: ChatRequest) -> str:
    """Put names of a list together that end in the same word and have the same type, eight at most."""
    by_end: dict[str, list[int]] = {}
    for number, line in blocks(fenced(last_turn(request), "names")):
        head = _LISTED.match(line)
        if head and head[1].split():
            by_end.setdefault(f"{head[1].split()[-1]} ({head[2]})", []).append(number)
    return json.dumps({"groups": [some[:8] for some in by_end.values() if len(some) > 1]})


def scripted_descriptions(request: ChatRequest) -> str:
    """Return the name and the first words of the statements on each item."""
    found = []
    for n, text in blocks(fenced(last_turn(request), "material")):
        name, *statements = text.split("\n")
        words = " ".join(line.removeprefix("- ") for line in statements).split()
        found.append({"number": n, "description": f"{name}: {' '.join(words[:40])}"})
    return json.dumps({"descriptions": found}, ensure_ascii=False)


def scripted_report(request: ChatRequest) -> str:
    """Return the first pieces of the material as findings, with their sources."""
    material = fenced(last_turn(request), "material")
    pieces = [line.lstrip("-* ") for line in material.splitlines() if _SOURCED.search(line)]
    if not pieces:
        return json.dumps({"title": "", "summary": material[:300] or "Nothing.", "rating": 1, "findings": []})
    return json.dumps(
        {
            "title": re.split(r"[:(—\[]", pieces[0])[0].strip()[:80],
            "summary": pieces[0],
            "rating": min(10, len(pieces)),
            "findings": [{"summary": piece, "explanation": ""} for piece in pieces[:_MOST_FINDINGS]],
        },
        ensure_ascii=False,
    )
