"""Pages of the documentation, and their fenced blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(r"^(`{3,})(\w*)\s*$")
_MARK = re.compile(r"^<!-- ([a-z ]+?)(?:: (.*?))? -->$")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    mark: str
    """The part of the HTML comment above the block before its colon, or empty."""
    argument: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    found, mark, argument = [], "", ""
    lines = page.read_text(encoding="utf-8").splitlines()
    n = 0
    while n < len(lines):
        fence = _FENCE.match(lines[n])
        if fence:
            end = next(i for i in range(n + 1, len(lines)) if lines[i].strip() == fence[1])
            text = "\n".join(lines[n + 1 : end]) + "\n"
            found.append(Block(page, n + 1, fence[2], text, mark, argument))
            n, mark, argument = end, "", ""
        elif comment := _MARK.match(lines[n].strip()):
            mark, argument = comment[1], comment[2] or ""
        elif lines[n].strip():
            mark, argument = "", ""
        n += 1
    return found


def prose(page: Path) -> str:
    """Return the page without its fenced blocks."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^(`{3,})\w*\s*$.*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)


def method_pages() -> dict[str, Path]:
    """Return the page of each method: the README links one name, or several that share a page."""
    links = re.findall(r"\[((?:`[\w-]+`(?:, )?)+)\]\((docs/methods/[\w-]+\.md)\)", prose(ROOT / "README.md"))
    return {name: ROOT / path for names, path in links for name in re.findall(r"`([\w-]+)`", names)}
