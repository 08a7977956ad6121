"""How a scripted model reads a request: the parts of our prompts, taken from the text alone."""

import re
from collections.abc import Iterator

from polygraph.models.protocols import ChatRequest
from polygraph.text.words import content_stems

_BLOCK = re.compile(r"^\[(\d{1,6})\] ", re.MULTILINE)


def last_turn(request: ChatRequest) -> str:
    """The last turn that asks for something new: a repair round only asks for the same again."""
    turns = [m.content for m in request.messages if m.role == "user"]
    return next((t for t in reversed(turns) if not t.startswith("Your reply ")), request.messages[-1].content)


def fenced(text: str, tag: str) -> str:
    """What stands in the last fence of this tag, without it; empty if there is none."""
    return text.rpartition(f"<{tag}>\n")[2].rpartition(f"\n</{tag}>")[0]


def asked(text: str, mark: str = "Question: ") -> str:
    """What stands behind the last mark: the question."""
    return text.rpartition(mark)[2].strip()


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Numbered blocks; a number in a text that does not follow the last block's begins none."""
    starts: list[re.Match[str]] = []
    for match in _BLOCK.finditer(text):
        if int(match.group(1)) == len(starts) + 1:
            starts.append(match)
    ends = [*(match.start() for match in starts[1:]), len(text)]
    for n, (match, end) in enumerate(zip(starts, ends, strict=False), 1):
        yield n, text[match.end() : end].strip()


def share(wanted: set[str], text: str) -> float:
    """Share of some content words that a text holds."""
    return len(wanted & set(content_stems(text))) / len(wanted) if wanted else 0.0
