"""HTML parts of a self-contained page: style, headings, lists, tables, figures."""

from collections.abc import Iterable, Sequence
from html import escape as escape_html

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --soft: #5f5f5f; --line: #d6d6d6; --mark: #f3f3f3;
  --link: #0b5cad }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #16181b; --soft: #a8a8a8; --line: #3a3d42; --mark: #22262b; --link: #7db7f2 }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 70rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; line-height: 1.25 } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem }
a { color: var(--link) } nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
.wide { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-size: .88rem; line-height: 1.35 }
th, td { padding: .3rem .45rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
thead th { vertical-align: bottom } tbody th { font-weight: 400 }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } td.n { white-space: nowrap }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem }
figure { margin: 1.5rem 0 } figure svg { height: auto; color: var(--ink); display: block }
figcaption { color: var(--soft); font-size: .92rem; max-width: 50rem }
ul.findings { padding-left: 1.2rem; max-width: 52rem } ul.findings li { margin: .5rem 0 }
details { border: 1px solid var(--line); border-radius: 6px; padding: .4rem .8rem; margin: .5rem 0 }
summary { cursor: pointer } .soft { color: var(--soft); font-size: .92rem }
.answer { background: var(--mark); border-radius: 6px; padding: .5rem .8rem; margin: .6rem 0; white-space: pre-wrap;
  overflow-wrap: anywhere }
.answer h3 { margin: 0 0 .3rem; font-size: 1rem }
@media print {
  body { max-width: none; margin: 0; font-size: 10pt } nav { display: none }
  .wide { overflow: visible } table { font-size: 7.5pt; width: 100% } th, td { padding: .15rem .3rem }
  td.n { white-space: normal } tr, details, figure { break-inside: avoid } h2, h3 { break-after: avoid }
  figure svg { max-height: 24cm }
}
"""
"""Supports light and dark colour schemes; text has a contrast of at least 4.5 to 1 in both."""


def document(title: str, body: str) -> str:
    """Return a whole page without scripts or external fonts and images."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def escape(text: str) -> str:
    """Escape a text for element content and attributes."""
    return escape_html(text, quote=True)


def heading(text: str) -> str:
    """Return a second-level heading that `table_of_contents` links to."""
    return f'<h2 id="{_anchor(text)}">{escape(text)}</h2>'


def table_of_contents(headings: Sequence[str]) -> str:
    """Return links to the headings of a page."""
    links = "".join(f'<li><a href="#{_anchor(text)}">{escape(text)}</a></li>' for text in headings)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def bullet_list(items: Iterable[str]) -> str:
    """Return sentences as a list."""
    # A non-breaking space keeps a number and its percent sign on one line.
    shown = (escape(item).replace(" %", "\u00a0%") for item in items)
    return '<ul class="findings">' + "".join(f"<li>{item}</li>" for item in shown) + "</ul>"


def collapsible(summary: str, inside: str) -> str:
    """Return a collapsed section."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def figure(svg: str, caption: str, *, label: str = "", numbers: str = "") -> str:
    """Return a chart with its caption.

    Args:
        svg: the chart.
        caption: below the chart.
        label: for screen readers in place of the chart, in addition to the caption; default: the caption.
        numbers: a table of the numbers in the chart, collapsed.
    """
    more = collapsible("Numbers in this chart", numbers) if numbers else ""
    return (
        f'<figure><div role="img" aria-label="{escape(label or caption)}">{svg}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>{more}"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table whose first column names the row; columns of numbers are right-aligned.

    A table wider than the page scrolls, also by keyboard.
    """
    listed = list(rows)
    numeric = [bool(listed) and all(_is_number(row[i]) for row in listed) for i in range(len(columns))]
    head = "".join(
        f'<th scope="col"{_class(numeric[i])}>{escape(name)}</th>' for i, name in enumerate(columns)
    )
    body = "".join(
        f'<tr><th scope="row"{_class(numeric[0])}>{escape(row[0])}</th>'
        + "".join(f"<td{_class(numeric[i])}>{escape(cell)}</td>" for i, cell in enumerate(row) if i)
        + "</tr>"
        for row in listed
    )
    return (
        '<div class="wide" role="region" tabindex="0" '
        f'aria-label="{escape(caption)}"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _anchor(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text.lower())


def _class(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def _is_number(text: str) -> bool:
    return text[:1] in "+-$–<0123456789" or text == "unknown"
