"""Names for a reader of lists, who finds names of one thing where no rule compares them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from sys import intern

from polygraph.extract.resolution.clusters.merger import Merger
from polygraph.extract.resolution.suggestions.similar_names import content_words
from polygraph.extract.resolution.vocabulary.general_nouns import is_general_noun
from polygraph.extract.resolution.vocabulary.kinds import is_uninformative, kind_of_type

LISTED = "list of names"
"""Rule of the pairs that a reader of lists suggests."""
_MAX_PLACES = 4
"""Documents of which the first name of an entity is returned."""
_MAX_CLUES = 60
"""Most clues of one name."""
_STEM = 5
"""Letters of a word of a name that others may share."""
_GROUP_OF_KIND = {"person": "people", "deity": "people", "organization": "bodies", "place": "bodies"}
_THINGS = "things"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedName:
    """An entity that a list names."""

    group: str
    """``people``, ``bodies`` (and places) or ``things``: a list has names of one group."""
    base: str
    """Its base name."""
    type: str
    places: tuple[tuple[str, str], ...]
    """Document and name as written of the first row in each of its first documents."""
    names: tuple[str, ...]
    """All its names as written, first that of its first row."""
    size: int
    """Number of its mentions."""
    clues: frozenset[str]
    """What it may have in common with others."""


Suggest = Callable[[Sequence[ListedName]], Iterable[tuple[int, int]]]
"""Returns pairs of positions in a sequence of names that may be one entity."""


def suggest_listed(merger: Merger, suggest: Suggest) -> None:
    """Leave pairs of names undecided that a reader of lists takes for one, unless something conflicts."""
    numbers = [n for n in range(len(merger.clusters)) if merger.root(n) == n and _group(merger, n)]
    for first, second in sorted(
        {(min(pair), max(pair)) for pair in suggest([_listed(merger, n) for n in numbers])}
    ):
        x, y = numbers[first], numbers[second]
        if x != y and not merger.conflict(x, y)[0] and not merger.given_names_conflict(x, y):
            merger.leave_undecided(x, y, LISTED, "")


def _group(merger: Merger, n: int) -> str:
    """Return the group of a cluster; an empty string if its type says too little or its name is a general one."""
    cluster = merger.clusters[n]
    type_ = cluster.majority_type()
    if is_uninformative(type_) or is_general_noun(cluster.base):
        return ""
    return _GROUP_OF_KIND.get(kind_of_type(type_), _THINGS)


def _listed(merger: Merger, n: int) -> ListedName:
    cluster, table = merger.clusters[n], merger.table
    rows = cluster.rows[table.positions(cluster.rows).argsort(kind="stable")]
    first_in: dict[int, int] = {}
    for row, document in zip(rows.tolist(), table.document(rows).tolist(), strict=True):
        first_in.setdefault(document, row)
    context = {table.bases[number] for number in merger.context(n)}
    bases = sorted({table.base(row) for row in table.first_of_each_spelling(rows)})
    clues = [f"word {word}" for word in sorted(cluster.attributes.words)]
    clues += [f"name {name}" for name in sorted(context | set(bases))]
    clues += [f"part {word[:_STEM]}" for base in bases for word in content_words(base)]
    documents = list(first_in)[: _MAX_CLUES - min(len(clues), _MAX_CLUES // 2)]
    return ListedName(
        group=_group(merger, n),
        base=cluster.base,
        type=cluster.majority_type(),
        places=tuple(
            (table.documents[document], table.strings[table.written[row]])
            for document, row in list(first_in.items())[:_MAX_PLACES]
        ),
        names=tuple(dict.fromkeys(table.strings[number] for number in table.written[rows].tolist())),
        size=cluster.size,
        # Others have the same clues: that is what they are for.
        clues=frozenset(
            map(intern, [*clues[:_MAX_CLUES], *(f"document {table.documents[d]}" for d in documents)])
        ),
    )
