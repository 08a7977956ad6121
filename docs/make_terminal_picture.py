"""Record the terminal picture of the README: the real output of `polygraph demo`, as an SVG.

    python docs/make_terminal_picture.py [--index DIR] [--output docs/images/demo.svg]

The command runs in this process on the sample collection, without an endpoint. Of its three questions the picture
shows the first lines of each answer; every line is as the command printed it.
"""

import argparse
import io
import os
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

WIDTH = 100
MOST_LINES = 14
"""Of one question."""
THEME = TerminalTheme(
    (24, 26, 31),
    (214, 217, 222),
    [
        (60, 64, 72), (230, 106, 106), (120, 190, 120), (224, 184, 96),
        (110, 160, 230), (200, 140, 220), (96, 190, 200), (214, 217, 222),
    ],
)  # fmt: skip
# As the library's own template, but with the reader's fonts instead of fonts from the network.
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>Output of: polygraph demo</title>
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Run the demo and write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path, help="an index of the sample to copy, which saves building it")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "images" / "demo.svg")
    options = parser.parse_args()
    output, given = options.output.resolve(), options.index.resolve() if options.index else None
    for name in [n for n in os.environ if n.startswith(("POLYGRAPH_", "OPENAI_"))]:
        del os.environ[name]
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # so that the picture shows the default name of the index and no other path
        try:
            if given is not None:
                shutil.copytree(given, "polygraph-demo.index")
            lines = demo_lines()
        finally:
            os.chdir(home)
    picture = Console(
        record=True, width=WIDTH, file=sys.stdout, force_terminal=True, color_system="truecolor"
    )
    picture.print(Text("$ polygraph demo", style="bold green"))
    for line in shortened(lines):
        picture.print(line, no_wrap=True, crop=True)
    svg = picture.export_svg(title="polygraph demo", theme=THEME, code_format=FORMAT, unique_id="demo")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(svg, encoding="utf-8")


def demo_lines() -> list[Text]:
    """Run `polygraph demo` in the current folder and return what it printed on standard output, line by line."""
    # By name: the package has commands of the same names as its modules.
    demo, show = import_module("polygraph.cli.demo"), import_module("polygraph.cli.render.answer")
    console = Console(highlight=False, width=WIDTH, file=io.StringIO(), force_terminal=True, record=True)
    for module in (demo, show):
        module.__dict__["out"] = console
    demo.run(None, None)
    return [Text.from_ansi(line) for line in console.export_text(styles=True).splitlines()]


def shortened(lines: list[Text]) -> list[Text]:
    """Keep the beginning and the first lines of each answer; parts begin with a rule."""
    parts: list[list[Text]] = [[]]
    for line in lines:
        if "───" in line.plain:
            parts.append([])
        parts[-1].append(line)
    kept = parts[0]
    for part in parts[1:]:
        if "next steps" in part[0].plain:
            break
        kept = kept + part[:MOST_LINES] + ([Text("    …", style="dim")] if len(part) > MOST_LINES else [])
    return kept


if __name__ == "__main__":
    main()
