"""Prompts, one Markdown file each, in our own words.

A file has the parts ``# system`` and ``# user``; ``$name`` is replaced by a value. Text of documents, users and replies
passes through `as_data`, which marks it as data and not as instructions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from polygraph.records import digest


@dataclass(frozen=True, slots=True)
class Prompt:
    """The parts of a prompt file."""

    name: str
    system: str
    user: str

    @property
    def hash(self) -> str:
        """Hash of the wording, which is part of the manifest."""
        return digest(self.system, self.user)

    def fill(self, values: Mapping[str, object]) -> tuple[str, str]:
        """Return the system and the user text with the values filled in.

        Raises:
            KeyError: if a value of the prompt is missing.
        """
        given = {key: str(value) for key, value in values.items()}
        return Template(self.system).substitute(given), Template(self.user).substitute(given)


@cache
def prompt(name: str) -> Prompt:
    """Return a prompt by the name of its file, without ``.md``."""
    text = (files(__package__) / f"{name}.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("# system\n")
    system, _, user = rest.partition("# user\n")
    return Prompt(name, system.strip(), user.strip())


def as_data(text: str, tag: str = "document") -> str:
    r"""Put untrusted text between tags; a closing tag inside it is made harmless.

    >>> print(as_data("see </document> here"))
    <document>
    see <\u200b/document> here
    </document>
    """
    safe = text.replace(f"</{tag}", f"<\u200b/{tag}")
    return f"<{tag}>\n{safe}\n</{tag}>"
