"""Evidence of entity resolution in the words of the documents.

Names and words are compared in lower case, and long words by their beginnings; a reader gets them as they are written.
"""

import re
from collections.abc import Sequence

from polygraph.records import Entity
from polygraph.store.protocol import StoreReader

IN_COMMON = "both with "
"""Beginning of the evidence that lists what two entities have in common."""
_MAX_CHUNKS = 50
"""Passages of an entity in which a word is looked for."""


def texts_about(store: StoreReader, entities: Sequence[Entity]) -> str:
    """Return what is said of entities, then the first passages that mention them."""
    said = [description.text for entity in entities for description in entity.descriptions]
    ids = list(dict.fromkeys(chunk for entity in entities for chunk in entity.chunks[:_MAX_CHUNKS]))
    passages = store.documents.texts_of(ids)
    return "\n".join([*said, *(passages[i] for i in ids if i in passages)])


def as_written(evidence: str, text: str) -> str:
    """Write the listed names and words as a text has them, each once; what it does not have stays as it is.

    >>> as_written("both with tobias wren, februa, 1871", "In February 1871 Tobias Wren left.")
    'both with Tobias Wren, February, 1871'
    """
    if not evidence.startswith(IN_COMMON):
        return evidence
    written: dict[str, str] = {}
    for item in evidence.removeprefix(IN_COMMON).split(", "):
        pattern = r"\W+".join(re.escape(word) for word in item.split())
        found = re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) or re.search(
            rf"(?<!\w){pattern}[\w'’]*", text, re.IGNORECASE
        )
        shown = " ".join(found[0].split()) if found else item
        written.setdefault(shown.casefold(), shown)
    return IN_COMMON + ", ".join(written.values())
