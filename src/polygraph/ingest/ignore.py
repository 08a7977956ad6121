"""Which files are left out: patterns of `.polygraphignore`, and of the options include and exclude.

The patterns are those of gitignore(5): a line is a pattern, ``#`` begins a comment, ``!`` takes a file back, a trailing
``/`` matches folders only, a ``/`` elsewhere ties the pattern to the folder of its file, ``*`` and ``?`` match within a
name, ``**`` over folders, ``[a-z]`` one character. The last pattern that matches counts. As in git, a file below a
folder that is left out cannot be taken back.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polygraph.errors import BadInput

FILE_NAME = ".polygraphignore"
_MAX_PATTERNS = 10_000
_MAX_PATTERN = 1_000


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    folders_only: bool
    takes_back: bool


class IgnoreRules:
    """The patterns of one file, or of an option.

    Args:
        lines: patterns.
        source: named in errors.

    Raises:
        BadInput: for a pattern that is too long, or too many of them.
    """

    def __init__(self, lines: Iterable[str], source: str) -> None:
        self._rules: list[_Rule] = []
        for line in lines:
            rule = _rule(line, source)
            if rule is not None:
                self._rules.append(rule)
            if len(self._rules) > _MAX_PATTERNS:
                raise BadInput(f"{source} has over {_MAX_PATTERNS:,} patterns")

    def ignores(self, path: str, *, folder: bool) -> bool | None:
        """Tell whether a path is left out; None if no pattern matches.

        Args:
            path: relative to the folder of the patterns, with ``/``.
            folder: whether it is one.

        >>> rules = IgnoreRules(["*.log", "!keep.log", "/build/"], "here")
        >>> rules.ignores("a/x.log", folder=False), rules.ignores("a/keep.log", folder=False)
        (True, False)
        >>> rules.ignores("build", folder=True), rules.ignores("a/build", folder=True)
        (True, None)
        """
        for rule in reversed(self._rules):
            if (folder or not rule.folders_only) and rule.pattern.fullmatch(path):
                return not rule.takes_back
        return None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of a folder are read.

    Files that were themselves given as a path are always read.
    """

    include: IgnoreRules | None = None
    exclude: IgnoreRules | None = None

    def takes(self, path: str, *, folder: bool) -> bool:
        """Tell whether a path, relative to the folder that was given, is read, or a folder entered."""
        if self.exclude is not None and self.exclude.ignores(path, folder=folder):
            return False
        return folder or self.include is None or self.include.ignores(path, folder=False) is True


EVERYTHING = Selection()


def select(include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Selection:
    """Return which files patterns select; without patterns all.

    Args:
        include: a file must match one of these patterns.
        exclude: files and folders that match one of these are left out, also if they match `include`.
    """
    return Selection(
        IgnoreRules(include, "--include") if include else None,
        IgnoreRules(exclude, "--exclude") if exclude else None,
    )


def _rule(line: str, source: str) -> _Rule | None:
    line = line.rstrip("\r\n")
    if len(line) > _MAX_PATTERN:
        raise BadInput(f"{source}: the pattern {line[:60]!r} has over {_MAX_PATTERN} characters")
    if not line.endswith("\\ "):
        line = line.rstrip()
    if not line or line.startswith("#"):
        return None
    takes_back = line.startswith("!")
    line = line[1:] if takes_back else line
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anchored = "/" in line
    body = _regex(line.removeprefix("/"))
    before = "" if anchored else "(?:.*/)?"
    return _Rule(re.compile(before + body, re.DOTALL), folders_only, takes_back)


def _regex(pattern: str) -> str:
    """Return a pattern as a regular expression for a whole path, whose match takes linear time.

    What stands between two wildcards is matched at the first place where it can be, in an atomic group: the second
    wildcard takes what lies between that place and any other. So a path that does not match is not tried in many ways.
    """
    parts: list[str] = []
    """What stands before, between and behind ``**/``."""
    part = piece = ""
    after_star = False
    n = 0
    while n < len(pattern):
        sign = pattern[n]
        is_name = n == 0 or pattern[n - 1] == "/"
        if is_name and pattern.startswith("**/", n):
            parts.append(part + (f"(?>[^/]*?{piece})" if after_star else piece))
            part, piece, after_star = "", "", False
            n += 3
            continue
        if is_name and pattern[n:] == "**":
            piece += ".*"
            break
        if sign == "*":
            if piece or not after_star:
                part += f"(?>[^/]*?{piece})" if after_star else piece
                piece, after_star = "", True
        elif sign == "?":
            piece += "[^/]"
        elif sign == "[" and (end := pattern.find("]", n + 2)) > 0:
            inside = pattern[n + 1 : end]
            negated = inside[0] in "!^"
            inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[1:] if negated else inside)
            piece += f"(?!/)[{'^' if negated else ''}{inside}]"
            n = end
        elif sign == "\\" and n + 1 < len(pattern):
            n += 1
            piece += re.escape(pattern[n])
        else:
            piece += re.escape(sign)
        n += 1
    part += f"[^/]*{piece}" if after_star else piece
    first, *others = [*parts, part]
    between = "".join(f"(?>(?:.*?/)??{other})" for other in others[:-1] if other)
    text = f"{first}{between}(?:.*/)?{others[-1]}" if others else first
    try:
        re.compile(text)
    except re.error:
        return re.escape(pattern)
    return text
