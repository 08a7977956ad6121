"""Prompts, one Markdown file each, in our own words.

A file has the parts ``# system`` and ``# user``; ``$name`` is replaced by a value. Text of documents, users and replies
passes through `as_data`, which marks it as data and not as instructions, or through `Prompt.fill`; both neutralize what
imitates the structure of the prompt (`fences`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from polygraph.prompts.fences import (
    FENCES,
    PromptText,
    as_data,
    neutralize,
    numbered,
    one_line,
    without_chat_markers,
)
from polygraph.records import digest

__all__ = [
    "FENCES", "Prompt", "PromptText", "as_data", "neutralize", "numbered", "one_line", "prompt", "without_chat_markers",
]  # fmt: skip
_LABEL = re.compile(r"^([A-Z][A-Za-z ]*):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The parts of a prompt file."""

    name: str
    system: str
    user: str

    @property
    def hash(self) -> str:
        """Hash of the wording, which is part of the manifest."""
        return _hash(self.system, self.user)

    def fill(self, values: Mapping[str, object]) -> tuple[str, str]:
        """Return the system and the user text with the values filled in, neutralized unless they are `PromptText`.

        Raises:
            KeyError: if a value of the prompt is missing.
        """
        labels = tuple(_LABEL.findall(self.user))
        given = {
            key: value if isinstance(value, PromptText) else neutralize(str(value), labels)
            for key, value in values.items()
        }
        return Template(self.system).substitute(given), Template(self.user).substitute(given)


# Each report asks for that of its prompt.
@cache
def _hash(system: str, user: str) -> str:
    return digest(system, user)


@cache
def prompt(name: str) -> Prompt:
    """Return a prompt by the name of its file, without ``.md``."""
    text = (files(__package__) / f"{name}.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("# system\n")
    system, _, user = rest.partition("# user\n")
    return Prompt(name, system.strip(), user.strip())
