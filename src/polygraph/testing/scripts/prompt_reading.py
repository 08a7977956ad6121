"""Parts of our prompts, parsed from the text of a request."""

import re
from collections.abc import Iterator
from itertools import pairwise

from polygraph.models.protocols import ChatRequest
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
"""Han and kana, which are written without spaces."""
_BLOCK = re.compile(r"^\[(\d{1,6})\] ", re.MULTILINE)


def last_turn(request: ChatRequest) -> str:
    """Return the last user turn that is not a repair round."""
    turns = [m.content for m in request.messages if m.role == "user"]
    return next((t for t in reversed(turns) if not t.startswith("Your reply ")), request.messages[-1].content)


def fenced(text: str, tag: str) -> str:
    """Return the text inside the last fence with this tag; empty if there is none."""
    return text.rpartition(f"<{tag}>\n")[2].rpartition(f"\n</{tag}>")[0]


def asked(text: str, label: str = "Question: ") -> str:
    """Return the paragraph after the last label."""
    return text.rpartition(label)[2].strip().partition("\n\n")[0]


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered blocks; a number that does not follow that of the last block is part of the text."""
    starts: list[re.Match[str]] = []
    for match in _BLOCK.finditer(text):
        if int(match.group(1)) == len(starts) + 1:
            starts.append(match)
    ends = [*(match.start() for match in starts[1:]), len(text)]
    for n, (match, end) in enumerate(zip(starts, ends, strict=False), 1):
        yield n, text[match.end() : end].strip()


def content_parts(text: str) -> set[str]:
    """Return the stems of content words; of runs of Han or kana, pairs of neighbouring characters.

    >>> sorted(content_parts("Light 灯塔守"))
    ['light', '塔守', '灯塔']
    """
    spaced = _UNSPACED.sub(" ", text)
    pairs = {a + b for run in _UNSPACED.findall(text) for a, b in pairwise(run)}
    return set(content_stems(spaced)) | pairs


def share(wanted: set[str], text: str) -> float:
    """Return the share of some `content_parts` that a text holds."""
    return len(wanted & content_parts(text)) / len(wanted) if wanted else 0.0


def evidence_sentences(prompt: str, wanted: set[str]) -> list[tuple[float, int, str]]:
    """Return the sentences of the evidence: the share of `wanted` that each holds, number of its evidence, and text."""
    return [
        (share(wanted, text[start:end]), n, " ".join(text[start:end].split()))
        for n, text in blocks(fenced(prompt, "evidence"))
        for start, end in sentence_spans(text[:20_000])
    ]
