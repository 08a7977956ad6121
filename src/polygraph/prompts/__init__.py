"""Prompts: one Markdown file each, in our own words.

A file has a part ``# system`` and a part ``# user``; ``$name`` stands for a value. What comes from a
document or a user is passed through `as_data`, which marks it as material to read, not to obey.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from polygraph.records import digest


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file, read."""

    name: str
    system: str
    user: str

    @property
    def hash(self) -> str:
        """Changes whenever the wording does; part of the manifest."""
        return digest(self.system, self.user)

    def fill(self, values: Mapping[str, object]) -> tuple[str, str]:
        """Return system and user text with the values put in.

        Raises:
            KeyError: if the prompt names a value that is not given.
        """
        given = {key: str(value) for key, value in values.items()}
        return Template(self.system).substitute(given), Template(self.user).substitute(given)


@cache
def prompt(name: str) -> Prompt:
    """Read a prompt by the name of its file, without ``.md``."""
    text = (files(__package__) / f"{name}.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("# system\n")
    system, _, user = rest.partition("# user\n")
    return Prompt(name, system.strip(), user.strip())


def as_data(text: str, tag: str = "document") -> str:
    r"""Fence a text that is not ours, so that it cannot end its own fence.

    >>> print(as_data("see </document> here"))
    <document>
    see <\u200b/document> here
    </document>
    """
    safe = text.replace(f"</{tag}", f"<\u200b/{tag}")
    return f"<{tag}>\n{safe}\n</{tag}>"
