"""Questions about somebody's documents that their index answers, from its tables, names and communities."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polygraph.records import Answer, Table
from polygraph.store.snapshot import Snapshot
from polygraph.text.language import detect_language
from polygraph.workspace.index import Index

_MOST = 3
_TRIES = 4
"""Questions of one kind that are asked until one is answered."""
_DOCUMENTS = 200
"""Documents whose language and tables are looked at."""
_MIN_ROWS = 3
_MAX_CELL = 40
"""Characters of a cell that a question names."""


@dataclass(frozen=True, slots=True)
class _Wording:
    look_up: str
    person: str
    thing: str
    overview: str


_WORDINGS = {
    "en": _Wording(
        "What is the {column} of {name}?",
        "Who is {name}?",
        "What do the documents say about {name}?",
        "What are the main topics of these documents?",
    ),
    "de": _Wording(
        "Was ist {column} von {name}?",
        "Wer ist {name}?",
        "Was steht in den Texten zu {name}?",
        "Was sind die wichtigsten Themen dieser Dokumente?",
    ),
    "fr": _Wording(
        "Quel est {column} de {name} ?",
        "Qui est {name} ?",
        "Que disent les textes sur {name} ?",
        "Quels sont les principaux sujets de ces documents ?",
    ),
    "es": _Wording(
        "¿Cuál es {column} de {name}?",
        "¿Quién es {name}?",
        "¿Qué dicen los textos sobre {name}?",
        "¿Cuáles son los temas principales de estos documentos?",
    ),
}
_NOT_NAMES = frozenset(["concept", "date", "quantity"])


def answered_questions(opened: Index) -> list[Answer]:
    """Return up to three answers to questions that the index suggests: look-up, name, overview.

    Each question is asked; one that is refused, or whose answer does not name what it asks for, is dropped. They are in
    the language of most documents if there is a wording for it, else in English.
    """
    snapshot = opened.snapshot()
    wording = _WORDINGS[_language(snapshot)]
    kinds: list[tuple[str | None, Iterator[tuple[str, str]]]] = [
        (None, _look_ups(snapshot, wording)),
        ("graphrag-local", _names(snapshot, wording)),
        ("graphrag-global", iter([(wording.overview, "")])),
        ("hybrid", _names(snapshot, wording)),
    ]
    found: list[Answer] = []
    for method, candidates in kinds:
        asked = {each.question for each in found}
        fresh = ((question, name) for question, name in candidates if question not in asked)
        answered = next(_answered(opened, method, fresh), None)
        if answered is not None:
            found.append(answered)
        if len(found) == _MOST:
            break
    return found


def _answered(opened: Index, method: str | None, candidates: Iterator[tuple[str, str]]) -> Iterator[Answer]:
    for _, (question, name) in zip(range(_TRIES), candidates, strict=False):
        answer = opened.ask(question, method)
        if answer.citations and not answer.refused and name.casefold() in _all_text(answer):
            yield answer


def _all_text(answer: Answer) -> str:
    return " ".join([answer.text, *(citation.quote for citation in answer.citations)]).casefold()


def _documents(snapshot: Snapshot) -> list[str]:
    return sorted(snapshot.store.documents.hashes())[:_DOCUMENTS]


def _language(snapshot: Snapshot) -> str:
    """Return the language of most documents if there is a wording for it, else English; ties in favour of English."""
    votes: Counter[str] = Counter()
    for document in _documents(snapshot):
        for chunk in snapshot.chunks_of(document)[:1]:
            votes[detect_language(chunk.text)] += 1
    best = min(_WORDINGS, key=lambda code: (-votes[code], code != "en", code))
    return best


def _look_ups(snapshot: Snapshot, wording: _Wording) -> Iterator[tuple[str, str]]:
    """Yield questions for a cell of a table, with the cell as the expected text; one for each table, largest first."""
    tables = [t for each in snapshot.tables_of(_documents(snapshot)).values() for t in each]
    for table in sorted(tables, key=lambda t: (-len(t.rows), t.title, t.columns)):
        key = _key_column(table)
        if key is None:
            continue
        for column in range(len(table.columns)):
            cell = table.rows[0][column]
            name = table.columns[column]
            if column == key or not cell or len(cell) > _MAX_CELL or not name.replace(" ", "").isalpha():
                continue
            yield wording.look_up.format(column=name.lower(), name=table.rows[0][key]), cell
            break


def _key_column(table: Table) -> int | None:
    """Return the first column whose cells are distinct names."""
    if len(table.rows) < _MIN_ROWS:
        return None
    for column in range(len(table.columns)):
        cells = [row[column] for row in table.rows]
        if len(set(cells)) == len(cells) and all(_is_name(cell) for cell in cells):
            return column
    return None


def _is_name(cell: str) -> bool:
    return 2 < len(cell) <= _MAX_CELL and cell[0].isupper() and any(c.islower() for c in cell)


def _names(snapshot: Snapshot, wording: _Wording) -> Iterator[tuple[str, str]]:
    """Yield questions about names of several words, which are rarely ambiguous, then others; most connected first."""
    ranked = sorted(
        (e for e in snapshot.store.graph.all_entities() if e.type not in _NOT_NAMES),
        key=lambda e: (" " not in e.name, -e.degree, e.id),
    )
    for entity in ranked:
        template = wording.person if _is_person(entity.type, entity.name) else wording.thing
        yield template.format(name=entity.name), entity.name


def _is_person(type_: str, name: str) -> bool:
    """Return whether a name is one of a person; the parser also calls single places persons."""
    words: Sequence[str] = name.split()
    return type_ == "person" and len(words) > 1
