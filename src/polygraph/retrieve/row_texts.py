"""Entities, relations and triples as a model reads them: sentences with the names that documents write.

What is said of an entity or relation is chosen for the question where it does not fit a row, and carries the date of
the document that says it. Where a model has written a summary of all, that comes first, if it fits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from string import punctuation
from types import MappingProxyType
from typing import Any, TypeVar

from polygraph.graph.descriptions import in_turns
from polygraph.graph.namesakes import distinct_name
from polygraph.graph.reports.titles import is_named
from polygraph.ids import document_of_chunk
from polygraph.records import Description, Entity, Relation, Triple
from polygraph.retrieve.question_names import other_names_in_question, with_other_name
from polygraph.store.snapshot import Snapshot
from polygraph.text.sentences import sentence_spans
from polygraph.text.statements import RELATED_TO, as_sentence, statement, statements
from polygraph.text.tokens import count_tokens, truncate
from polygraph.text.words import StemCounts, content_stem_set, content_stems, shared_stems

R = TypeVar("R", Entity, Relation)
ROW_TOKENS = 160
"""Longest row of a table, so that a table holds many."""
_CHARACTERS_PER_TOKEN = (3.5, 3.2, 2.9, 2.6, 2.2, 1.6)
"""For choosing statements: the next rate where tokens are shorter than supposed."""
_MAX_COMPARED = 200
"""Descriptions of one row that are compared with the question."""
_KEPT = 8_000
"""Lines that are kept for other questions, of some 300 bytes."""
_PREDICATES = 4
_SPACES = str.maketrans(dict.fromkeys(f"{punctuation}“”‘’„«»–—…\n\t", " "))
_DENIALS = frozenset(("not", "no", "never", "nobody", "nothing", "neither", "nor", "without"))
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


class RowTexts:
    """Writes rows of the graph for a question; names and dates are read once, and each row is written once.

    Args:
        index: the snapshot that the rows come from.
        question: chooses what is shown of rows that are too long; empty: a selection spread over documents. What it
            calls an entity stands behind another name of it.
        max_tokens: longest row.
    """

    def __init__(self, index: Snapshot, question: str = "", *, max_tokens: int = ROW_TOKENS) -> None:
        self._index = index
        self.asked = StemCounts(content_stems(question))
        self._called = other_names_in_question(question, index) if question else {}
        self._max_tokens = max_tokens
        self._names: dict[str, str] = {}
        self._dates: dict[str, str] = {}
        self._kept = index.kept("lines of rows", _KEPT)
        self._entities: dict[str, str] = {}
        self._relations: dict[str, str] = {}
        self._said_by: dict[str, tuple[Sequence[Description], frozenset[Description]]] = {}
        """What `without_repeats` compares, by id."""

    def entity(self, entity: Entity) -> str:
        """Write name, type and what is said of an entity on one line."""
        # Most rows are written before, several at once.
        line = self._entities.get(entity.id)
        return self.entities([entity])[0] if line is None else line

    def relation(self, relation: Relation) -> str:
        """Write what a relation states as sentences, followed by its descriptions, on one line."""
        line = self._relations.get(relation.id)
        return self.relations([relation])[0] if line is None else line

    def entities(self, entities: Sequence[Entity]) -> list[str]:
        """Write several entities; their dates are read at once."""
        return self._lines_of(entities, self._entities, self._written_entities)

    def relations(self, relations: Iterable[Relation]) -> list[str]:
        """Write several relations; their ends and dates are read at once."""
        return self._lines_of(list(relations), self._relations, self._written_relations)

    def without_repeats(self, relations: Sequence[Relation]) -> list[Relation]:
        """Leave out relations that say only what others above them say, in their order.

        A parser relates all names of a sentence to each other, so that one sentence would stand in many rows. Left out
        is a relation that has neither predicates nor keywords, if each of its statements stands in rows above and names
        both of its ends there.
        """
        if all(r.predicates or r.keywords for r in relations):
            return list(relations)
        self.relations(relations)
        self.names([end for r in relations for end in (r.source, r.target)])
        shown: set[Description] = set()
        kept = []
        for r in relations:
            # Asked for again with each entity that is added.
            if r.id not in self._said_by:
                self._said_by[r.id] = self._may_repeat(r), self._shown_of(r)
            repeatable, own = self._said_by[r.id]
            if repeatable and shown.issuperset(repeatable):
                continue
            kept.append(r)
            shown |= own
        return kept

    def _may_repeat(self, r: Relation) -> Sequence[Description]:
        """Return what a relation says; nothing if it states more than that, or if that does not name both ends."""
        # Two hubs may have thousands of statements, of which rows show a few.
        if r.predicates or r.keywords or len(r.descriptions) > _MAX_COMPARED:
            return ()
        ends = [self._names.get(end, end) for end in (r.source, r.target)]
        return r.descriptions if all(is_named(e, d.text) for d in r.descriptions for e in ends) else ()

    def _shown_of(self, r: Relation) -> frozenset[Description]:
        line = self._relations[r.id]
        return frozenset(d for d in r.descriptions[:_MAX_COMPARED] if as_sentence(d.text) in line)

    def _lines_of(
        self,
        rows: Sequence[R],
        written: dict[str, str],
        write: Callable[[Sequence[R]], Iterable[tuple[str, bool]]],
    ) -> list[str]:
        """Return a line for each row, each written once; those that any question would give are kept for others."""
        first = {row.id: row for row in reversed(rows) if row.id not in written}
        if first:
            new = {self._key(row): row for row in reversed(first.values())}

            def write_missing(keys: list[Any]) -> dict[Any, str]:
                missing = [new[key] for key in keys]
                kept = {}
                for key, row, (line, is_chosen) in zip(keys, missing, write(missing), strict=True):
                    written[row.id] = line
                    if not is_chosen:
                        kept[key] = line
                return kept

            found = self._kept.read(new, write_missing)
            written.update({new[key].id: line for key, line in found.items()})
        return [written[row.id] for row in rows]

    def _key(self, row: Entity | Relation) -> tuple[type, str, int, int, tuple[str, ...]]:
        # Some rows are read with a part of their descriptions.
        ends = (row.source, row.target) if isinstance(row, Relation) else (row.id,)
        called = tuple([self._called.get(end, "") for end in ends]) if self._called else ()
        return type(row), row.id, len(row.descriptions), self._max_tokens, called

    def _written_entities(self, entities: Sequence[Entity]) -> Iterator[tuple[str, bool]]:
        self._read_dates_of(entities)
        self._look_through(entities, [[entity.name] for entity in entities])
        for entity in entities:
            name = distinct_name(entity.name, entity.id)
            if called := self._called.get(entity.id):
                name = with_other_name(name, called)
            if entity.type:
                # One pair of brackets holds what tells namesakes apart, another name and the type.
                name = f"{name} ({entity.type})" if name == entity.name else f"{name[:-1]}; {entity.type})"
            yield self._row(f"{name}:", entity, [entity.name])

    def _written_relations(self, relations: Sequence[Relation]) -> Iterator[tuple[str, bool]]:
        names = self.names([end for r in relations for end in (r.source, r.target)])
        both_ends = [(names.get(r.source, r.source), names.get(r.target, r.target)) for r in relations]
        self._read_dates_of(relations)
        self._look_through(relations, both_ends)
        for r, ends in zip(relations, both_ends, strict=True):
            head = statements(r.predicates[:_PREDICATES], *ends)
            if not head:
                about = f" ({'; '.join(r.keywords[:_PREDICATES])})" if r.keywords else ""
                head = f"{ends[0]} and {ends[1]}{about}:"
            yield self._row(head, r, ends)

    def _look_through(self, rows: Sequence[Entity | Relation], names: Sequence[Sequence[str]]) -> None:
        """Look for the words of the question in what is said of the rows that are too long, all at once."""
        room = self._max_tokens * _CHARACTERS_PER_TOKEN[0]
        self.asked.look_through(
            (_stems_of(of_row), [d.text for d in row.descriptions])
            for row, of_row in zip(rows, names, strict=True)
            # Of more, some are compared, which are chosen row by row.
            if 1 < len(row.descriptions) <= _MAX_COMPARED
            and sum([len(d.text) for d in row.descriptions]) > room
        )

    def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the names of entities by id; those of namesakes with what tells them apart."""
        missing = [i for i in dict.fromkeys(ids) if i not in self._names]
        if missing:
            self._names |= names_as_asked(missing, self._index, self._called)
        return self._names

    def _row(self, head: str, row: Entity | Relation, names: Sequence[str]) -> tuple[str, bool]:
        """Write a row with as many whole statements as fit; only a statement that is too long alone is cut.

        Returns:
            The line, and whether the question chose what it says.
        """
        line, is_chosen = "", False
        for rate in _CHARACTERS_PER_TOKEN:
            room = max(0, int(self._max_tokens * rate) - len(head) - 1)
            said, chosen = self._said(row, names, room)
            is_chosen |= chosen
            line = f"{head} {said}" if said else head.removesuffix(":")
            if said and isinstance(row, Relation) and row.predicates:
                source, target = names
                predicates = row.predicates[:_PREDICATES]
                adding = _predicates_beside(said, predicates, source, target)
                stated = head if len(adding) == len(predicates) else statements(adding, source, target)
                line = f"{stated} {said}".lstrip()
            # The count is kept for packing.
            if count_tokens(line) <= self._max_tokens:
                return line, is_chosen
        return _whole_words(truncate(line, self._max_tokens)), is_chosen

    def _said(self, row: Entity | Relation, names: Sequence[str], room: int) -> tuple[str, bool]:
        """Return what is said of a row, and whether the question chose it."""
        descriptions = _parts_that_fit(row.descriptions, room)
        if not descriptions:
            return row.summary, False
        costs = self._costs(descriptions)
        if sum(costs) <= room:
            return self._dated(descriptions), False
        # The words of the name do not count, since all descriptions are about it.
        of_names = _stems_of(names)
        turns = in_turns(descriptions)[:_MAX_COMPARED]
        counts = self.asked.of([descriptions[n].text for n in turns], without=of_names)
        shared = dict(zip(turns, counts, strict=True))
        if any(counts):
            # Sorting is stable, so that those with equally many shared words stay in turns.
            turns.sort(key=lambda n: -shared[n])
        chosen = _fitting(turns, costs, room)
        if row.summary and len(chosen) < len(descriptions) and len(row.summary) <= room:
            # A model wrote the summary from all of them; what the question asks for is added from the documents.
            left = room - len(row.summary) - 1
            more = [n for n in _fitting([n for n in turns if shared[n]], costs, left) if costs[n] <= left]
            said = f"{row.summary} {self._dated([descriptions[n] for n in more])}" if more else row.summary
            return said, True
        return self._dated([descriptions[n] for n in chosen]), True

    def _dated(self, chosen: Sequence[Description]) -> str:
        """Write statements one after the other, with the date of their document."""
        chosen = self._without_repeated(chosen)
        dates = self._dates_of(chosen)
        if not any(dates):
            return " ".join([as_sentence(description.text) for description in chosen])
        parts = []
        for description, date, after in zip(chosen, dates, [*dates[1:], None], strict=True):
            said = as_sentence(description.text)
            if date != after and (date or after):
                # Without a mark, a statement of no date would seem to have that of the next.
                said = said if date and date in said else f"{said} ({date or 'undated'})"
            parts.append(said)
        return " ".join(parts)

    def _without_repeated(self, chosen: Sequence[Description]) -> Sequence[Description]:
        """Leave out statements that stand within another one of the same date.

        Programs that merge what they read into one text repeat its sentences in the rows of several passages.
        """
        if len(chosen) == 1:
            return chosen
        whole = "\n".join([d.text for d in chosen])
        if all(whole.count(d.text) == 1 for d in chosen):
            return chosen
        dates = self._dates_of(chosen)
        return [
            d
            for d, date in zip(chosen, dates, strict=True)
            if not any(
                d.text in other.text and len(d.text) < len(other.text) and date == its
                for other, its in zip(chosen, dates, strict=True)
            )
        ]

    def _costs(self, descriptions: Sequence[Description]) -> list[int]:
        """Return the characters of statements, each with its date."""
        dates = self._dates_of(descriptions)
        if not any(dates):
            return [len(d.text) + 1 for d in descriptions]
        return [
            len(d.text) + 1 + (len(date) + 3 if date else 0)
            for d, date in zip(descriptions, dates, strict=True)
        ]

    def _dates_of(self, descriptions: Sequence[Description]) -> list[str]:
        if not self._index.may_have_dates():
            return [""] * len(descriptions)
        dates = self._dates
        try:
            return [dates[d.chunk] for d in descriptions]
        except KeyError:
            self._read_dates(descriptions)
            return [dates[d.chunk] for d in descriptions]

    def _read_dates_of(self, rows: Iterable[Entity | Relation]) -> None:
        if self._index.may_have_dates():
            self._read_dates([d for row in rows for d in row.descriptions])

    def _read_dates(self, descriptions: Sequence[Description]) -> None:
        """Read the dates of the documents of some descriptions, by chunk."""
        dates = self._dates
        # Many descriptions come from the same chunks.
        chunks = {d.chunk for d in descriptions}
        missing = {chunk: document_of_chunk(chunk) for chunk in chunks if chunk not in dates}
        if missing:
            found = self._index.dates(list(missing.values()))
            self._dates |= {chunk: found.get(document, "") for chunk, document in missing.items()}


def _predicates_beside(said: str, predicates: Sequence[str], source: str, target: str) -> Sequence[str]:
    """Leave out the predicates that add no word to what is said of a relation beside them.

    A predicate of a model is a phrase ("ordered painted white"), which reads badly beside the sentence that it is from.
    A word counts as said in any of its forms. A predicate without content words, such as "is", and one with
    "not" where nothing is denied add something. Unless the first sentence names both, none is left out: of whom a
    sentence such as "She took over in 2011." is said, only the predicates tell.

    >>> said = "Mara Quill had the Skerry Light painted white, as ordered."
    >>> _predicates_beside(said, ["ordered painted white", "owns"], "Mara Quill", "Skerry Light")
    ['owns']
    >>> _predicates_beside("The two Quills came on board.", ["came not with"], "Mara Quill", "Ada Quill")
    ['came not with']
    """
    names = content_stem_set(source) | content_stem_set(target)
    if len(shared_stems(names, said)) < len(names):
        return predicates
    adding = [predicate for predicate in predicates if _adds(predicate.removeprefix("<-"), said)]
    if len(adding) == len(predicates):
        return predicates
    _, end = next(iter(sentence_spans(said)), (0, len(said)))
    return adding if len(shared_stems(names, said[:end])) == len(names) else predicates


def _adds(predicate: str, said: str) -> bool:
    """Tell whether a predicate has a word, or denies, what a text does not."""
    stems = content_stem_set(predicate)
    if not stems or len(shared_stems(stems, said)) < len(stems):
        return True
    denied, also_denied = (
        not _DENIALS.isdisjoint(text.casefold().translate(_SPACES).split()) for text in (predicate, said)
    )
    return denied and not also_denied


def _stems_of(names: Sequence[str]) -> list[str]:
    return [stem for name in names for stem in content_stems(name)]


def _cut(text: str) -> str:
    """Return what fits a row, up to the end of a sentence, or of a word with an ellipsis if there is none."""
    kept = truncate(text, ROW_TOKENS)
    if kept == text:
        return text
    ends = [end for _, end in sentence_spans(text) if end <= len(kept)]
    # The first sentence may be the statement without what is said of it.
    return text[: ends[-1]] if ends and ends[-1] > len(kept) // 2 else _whole_words(kept)


def _whole_words(cut: str) -> str:
    """Return the beginning of a text without its last word, which may be cut off, and an ellipsis."""
    return f"{cut.rpartition(' ')[0] or cut} …"


def _fitting(ranked: Sequence[int], costs: Sequence[int], room: int) -> list[int]:
    """Return which of some statements fit, ascending: the first in any case, then each that the others leave room for.

    Args:
        ranked: positions of the statements, best first.
        costs: of all statements.
        room: for those that are returned.
    """
    kept: list[int] = []
    least = min(costs, default=0)
    for n in ranked:
        if costs[n] <= room or not kept:
            kept.append(n)
            room -= costs[n]
            if room < least:
                break
    return sorted(kept)


def _parts_that_fit(descriptions: Sequence[Description], room: int) -> Sequence[Description]:
    """Return different statements, those that do not fit as their sentences."""
    texts = {d.text for d in descriptions}
    if len(texts) == len(descriptions) and max(map(len, texts), default=0) < room:
        return descriptions
    parts = (
        part
        for d in descriptions
        for part in (
            [replace(d, text=d.text[start:end]) for start, end in sentence_spans(d.text)]
            if len(d.text) >= room
            else [d]
        )
    )
    first: dict[str, Description] = {}
    for part in parts:
        first.setdefault(part.text, part)
    return list(first.values())


def distinct_names(ids: Sequence[str], index: Snapshot) -> dict[str, str]:
    """Return the names of entities by id, those of namesakes with what tells them apart; unknown ids are left out."""
    return {id: distinct_name(name, id) for id, name in index.entity_names(ids).items()}


def names_as_asked(ids: Sequence[str], index: Snapshot, called: Mapping[str, str]) -> dict[str, str]:
    """Return `distinct_names`, each with what a question calls the entity.

    Args:
        ids: of entities.
        index: the snapshot that they come from.
        called: from `other_names_in_question`.
    """
    names = distinct_names(ids, index)
    return names | {id: with_other_name(names[id], text) for id, text in called.items() if id in names}


def triple_line(triple: Triple, names: Mapping[str, str] = _NO_NAMES) -> str:
    """Write a triple as a sentence; an end without a name in `names` by its id."""
    source, target = (names.get(end, end) for end in (triple.source, triple.target))
    return truncate(statement(source, triple.predicate, target), ROW_TOKENS)


def fact_statements(
    facts: Sequence[Triple],
    index: Snapshot,
    *,
    brief: bool = False,
    names: Mapping[str, str] = _NO_NAMES,
) -> list[str]:
    """Write facts as sentences, each followed by what its own passages say of the two.

    The predicate of a model is a word or two, and what happened stands in the description of the relation.

    Args:
        facts: to write.
        index: the snapshot that they come from.
        brief: leave out a fact of which its passages say every word, and show what they say alone; where they say the
            same of several facts, only the first has it.
        names: of entities by id, where not `distinct_names`.
    """
    keys = [(fact.id, names.get(fact.source, ""), names.get(fact.target, "")) for fact in facts]
    by_key = dict(zip(keys, facts, strict=True))

    def write(missing: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str, str], str]:
        texts = _fact_statements([by_key[key] for key in missing], index, brief, names)
        return {key: texts[key[0]] for key in missing}

    kept = index.kept("brief statements of facts" if brief else "statements of facts", _KEPT)
    written = kept.read(by_key, write)
    stated = [written[key] for key in keys]
    return (
        _each_said_once(facts, stated, {**distinct_names(_ends_of(facts), index), **names})
        if brief
        else stated
    )


def _ends_of(facts: Sequence[Triple]) -> list[str]:
    return list(dict.fromkeys(end for fact in facts for end in (fact.source, fact.target)))


def _each_said_once(facts: Sequence[Triple], stated: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Write a fact alone where what its passages say stands at another one before: a sentence may state several."""
    said: set[str] = set()
    texts = []
    for fact, text in zip(facts, stated, strict=True):
        line = triple_line(fact, names)
        after = text.removeprefix(f"{line.rstrip('.')}. ")
        texts.append(line if after in said else text)
        said.add(after)
    return texts


def _fact_statements(
    facts: Sequence[Triple], index: Snapshot, brief: bool, called: Mapping[str, str]
) -> dict[str, str]:
    ends = _ends_of(facts)
    names, rows = {**distinct_names(ends, index), **called}, index.entity_rows(ends)
    wanted = {
        frozenset((rows[f.source], rows[f.target])) for f in facts if {f.source, f.target} <= rows.keys()
    }
    # Asked for by their ends: an end may be a hub.
    pairs = [(a, b) for pair in wanted for a, b in permutations(sorted(pair) * (3 - len(pair)), 2)]
    relations = {
        frozenset((rows[r.source], rows[r.target])): r
        for _, r in sorted(index.relations(index.arrays.relations_between(sorted(set(pairs)))).items())
    }
    texts = {}
    for fact in facts:
        line = triple_line(fact, names)
        relation = relations.get(frozenset(rows.get(end, -1) for end in (fact.source, fact.target)))
        said = [d.text for d in relation.descriptions if d.chunk in fact.chunks] if relation else []
        what_they_say = " ".join(map(as_sentence, said))
        source, target = names.get(fact.source, fact.source), names.get(fact.target, fact.target)
        head = f"{line.rstrip('.')}."
        if fact.predicate == RELATED_TO:
            head = f"{source} and {target}:"
        elif brief and said and not _predicates_beside(what_they_say, [fact.predicate], source, target):
            head = ""
        texts[fact.id] = _cut(f"{head} {what_they_say}".lstrip() if said else line)
    return texts
