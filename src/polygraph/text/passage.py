"""How a passage is written for a reader: the text of a chunk below the title of its document."""


def with_title(title: str, text: str) -> str:
    r"""Put the title of a document above a passage, unless the passage begins with it.

    >>> with_title("The Storm", "It rose at noon.")
    'The Storm\nIt rose at noon.'
    >>> with_title("The Storm", "# The Storm of 1871")
    '# The Storm of 1871'
    """
    return text if text.lstrip("# ").startswith(title) else f"{title}\n{text}"
