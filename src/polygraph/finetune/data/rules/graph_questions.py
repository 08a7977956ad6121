"""Questions without a model from the graph of an index: about nodes, edges and subgraphs, each with its sentences.

Levels as in Zeng et al. (arXiv:2506.06331), section 3. A question is made from sentences that name its entities, so
that an error of the graph does not become an error of the question, and its answer stands in a sentence word for word.
The wording is English; `sentence_questions` also poses German ones.

| kind | rests on | example |
|---|---|---|
| `node` | a sentence about an entity: what it is, or with a date, time, amount or number | "Who was Anselm Dray?" |
| `edge` | a sentence that names both ends of a relation | "The Halcyon struck which place in the fog?" |
| `subgraph` | sentences of two passages about one entity | "Who wrote to Old Tobin in 1871, and also paid the fine?" |
| `statement` | a sentence that says what somebody said | "According to ..., what did Mr. Corve ask?" |
| `table` | a row of a table | "According to ..., what is given as "rig" for Halcyon?" |
| `single` | a sentence that begins with its subject, as in `sentence_questions` | "Who refused to pay for the lamp?" |
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polygraph.errors import BadInput, quoted
from polygraph.evaluate.questions.extractive import sentence_questions
from polygraph.finetune.data.gold_questions import resolve_questions
from polygraph.finetune.data.quotes import document_text, sentences
from polygraph.finetune.data.records import QuestionSet, Quote, TrainingQuestion
from polygraph.finetune.data.rules.asking import AskedStatement
from polygraph.finetune.data.rules.names import description_questions, holder_questions, name_questions
from polygraph.finetune.data.rules.nouns import TITLES, is_office
from polygraph.finetune.data.rules.statements import Statement, statements_of
from polygraph.finetune.data.rules.subjects import Subject, read_subject, said_question, subject_question
from polygraph.finetune.data.rules.table_questions import table_questions
from polygraph.finetune.data.rules.titles import unique_titles
from polygraph.finetune.data.rules.values import value_questions
from polygraph.records import Chunk
from polygraph.store.snapshot import Snapshot
from polygraph.text.language import detect_language
from polygraph.text.words import content_stems

KINDS = ("node", "edge", "subgraph", "statement", "single", "table")
"""Kinds of `graph_questions`, in the order in which they take turns."""
_PER_SENTENCE = 3
"""Names that are asked for in one sentence, and values."""
_PER_HALF = 2
"""Questions at the level of subgraphs that use one sentence."""
_PER_ENTITY = 5
"""Questions at the level of subgraphs that have the same answer."""
_MAX_HALF, _MIN_STEMS = 150, 4
"""Characters and content words of what each half of such a question says."""
_READ = ("en", "")
"""Languages of the sentences that are read here; that of a short text may be unknown."""
_LANGUAGE_SAMPLE = 200
"""Passages whose language is examined."""
_SAMPLES = 4
"""Sentences read per wanted question, at most, in whole chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """A sentence that can be understood alone, and its chunk."""

    statement: Statement
    chunk: Chunk
    subject: Subject | None


def graph_questions(index: Snapshot, *, n: int, seed: int, max_oracles: int) -> QuestionSet:
    """Make questions of every kind from the sentences of an index, as equally as it has them.

    Args:
        index: with a graph.
        n: most questions.
        seed: of the order in which passages and relations are read.
        max_oracles: most passages that a question may rest on.

    Raises:
        BadInput: if the index has no graph.
    """
    if not {"graph", "mentions"} <= index.layers:
        raise BadInput(
            f"the index at {index.place} has no graph to make questions from. Build it with: polygraph index --index "
            f"{quoted(index.place)}, or give questions with gold: --questions FILE.jsonl"
        )
    stated = list(_stated(index, np.random.default_rng([seed, 2]), _SAMPLES * n))
    by_kind: dict[str, list[TrainingQuestion]] = {kind: [] for kind in KINDS}
    found = [*_single_questions(index, stated), *_office_questions(index, stated)]
    found += [*_subgraph_questions(stated, max_oracles), *table_questions(index, n=n, seed=seed)]
    for question in found:
        by_kind[question.kind].append(question)
    others = _questions_in_other_languages(index, n, seed, max_oracles)
    by_kind["single"] += others.questions
    chosen = _in_turns([by_kind[kind] for kind in KINDS], n)
    notes = list(others.notes)
    if len(chosen) < n:
        notes.append(f"{len(chosen):,} of {n:,} questions: the documents have no more suitable sentences")
    return QuestionSet(questions=tuple(chosen), dropped=others.dropped, notes=tuple(notes))


def _questions_in_other_languages(index: Snapshot, n: int, seed: int, max_oracles: int) -> QuestionSet:
    """Return those of `sentence_questions` that are not English, if a sample of the passages is not.

    Those in English follow the types of a parser, and may need their context; here they are made with more care.
    """
    rows = np.random.default_rng([seed, 7]).permutation(index.n_chunks)[:_LANGUAGE_SAMPLE].tolist()
    if all(detect_language(chunk.text) in _READ for chunk in index.chunks(rows)):
        return QuestionSet(questions=())
    found = sentence_questions(index, n_single=n, n_double=0, seed=seed)
    others = [question for question in found.questions if detect_language(question.question) not in _READ]
    resolved = resolve_questions(others, index, max_oracles=max_oracles)
    return replace(resolved, notes=tuple(note for note in found.notes if "sentences were skipped" in note))


def _stated(index: Snapshot, rng: np.random.Generator, n: int) -> Iterator[_Stated]:
    """Yield English sentences that can be understood alone, chunk by chunk in random order."""
    mentions = index.edges("mentions")
    title_of = unique_titles(index)
    # A parser's types err too often to ask by them.
    trusted = index.manifest.extractor.startswith("llm:")
    found = 0
    for row in rng.permutation(index.n_chunks).tolist():
        if found >= n:
            return
        (chunk,) = index.chunks([row])
        if not index.permits([chunk.id]) or detect_language(chunk.text) not in _READ:
            continue
        rows = [int(v) for v in mentions.neighbours(index.n_entities + row) if v < index.n_entities]
        entities = index.entities(sorted(rows))
        title = title_of.get(chunk.document, "")
        for statement in statements_of(chunk, entities, title, trusted=trusted):
            found += 1
            yield _Stated(statement=statement, chunk=chunk, subject=read_subject(statement))


def _single_questions(index: Snapshot, stated: Sequence[_Stated]) -> Iterator[TrainingQuestion]:
    """Yield the questions about each sentence."""
    rows = index.entity_rows(sorted({e.id for each in stated for _, e in each.statement.names}))
    near: dict[str, frozenset[int]] = {}

    def related(question: AskedStatement, statement: Statement) -> bool:
        """Whether the graph relates the answer to another name of the sentence."""
        if question.asked is None:
            return False
        if question.asked.id not in near:
            neighbours = index.graph.neighbours(rows[question.asked.id])
            near[question.asked.id] = frozenset(int(v) for v in neighbours)
        return any(
            rows[e.id] in near[question.asked.id] for _, e in statement.names if e is not question.asked
        )

    for each in stated:
        statement, subject = each.statement, each.subject
        for question, entity in description_questions(statement):
            # Another passage that describes the entity may answer as well.
            yield _question("node", question, [each], frozenset(entity.chunks))
        for question in list(value_questions(statement))[:_PER_SENTENCE]:
            yield _question("node", question, [each])
        for question in list(name_questions(statement))[:_PER_SENTENCE]:
            yield _question("edge" if related(question, statement) else "node", question, [each])
        if subject is not None:
            asked = subject_question(statement, subject)
            if asked is not None:
                yield _question("edge" if related(asked, statement) else "single", asked, [each])
            said = said_question(statement, subject, document_text(index, each.chunk.document))
            if said is not None:
                yield _question("statement", said, [each])


def _office_questions(index: Snapshot, stated: Sequence[_Stated]) -> Iterator[TrainingQuestion]:
    """Yield questions for the only holder of an office that a document names."""
    titles = {each.chunk.document: each.statement.title for each in stated if each.statement.title}
    for document, title in titles.items():
        found: dict[str, list[tuple[AskedStatement, Quote, Chunk]]] = {}
        for chunk in index.chunks_of(document):
            for quote in sentences(chunk):
                for asked in holder_questions(quote.text, title):
                    found.setdefault(asked.question, []).append((asked, quote, chunk))
        for held in found.values():
            asked, quote, chunk = held[0]
            if len({each.answer.split()[-1] for each, _, _ in held}) == 1:
                yield TrainingQuestion(
                    id="",
                    kind="node",
                    question=asked.question,
                    answers=(asked.answer,),
                    oracles=(chunk,),
                    quotes=(quote,),
                )


def _subgraph_questions(stated: Sequence[_Stated], max_oracles: int) -> Iterator[TrainingQuestion]:
    """Yield questions for the subject of two sentences of two passages."""
    if max_oracles < 2:
        return
    about: dict[str, list[tuple[_Stated, Subject]]] = {}
    for each in stated:
        subject = each.subject
        if subject is None or subject.entity is None:
            continue
        # An office is held by one person after another.
        if is_office(subject.spelling) or not _says_enough(subject, each.statement):
            continue
        about.setdefault(subject.entity.id, []).append((each, subject))
    for found in about.values():
        made = 0
        used: Counter[int] = Counter()
        for i, (one, left) in enumerate(found):
            for j, (other, right) in enumerate(found[i + 1 :], i + 1):
                if made >= _PER_ENTITY or max(used[i], used[j]) >= _PER_HALF:
                    continue
                if left.words != right.words or one.chunk.id == other.chunk.id or not _same_name(left, right):
                    continue
                made += 1
                used.update((i, j))
                question = AskedStatement(
                    question=f"{left.words} {left.rest}, and also {right.rest}?",
                    answer=max(left.spelling, right.spelling, key=len),
                    asked=left.entity,
                )
                yield _question("subgraph", question, [one, other])


def _same_name(one: Subject, other: Subject) -> bool:
    """Return whether two names agree in title and last word; an alderman and a keeper may share the rest."""
    first, second = one.spelling.split(), other.spelling.split()
    titles = [words[0] if words[0].strip(".").casefold() in TITLES else "" for words in (first, second)]
    # Without a noun that says what it is, only the same name counts.
    certain = one.spelling == other.spelling or one.words != "Who or what"
    return certain and titles[0] == titles[1] and first[-1] == second[-1]


def _says_enough(subject: Subject, statement: Statement) -> bool:
    short = len(subject.rest) <= _MAX_HALF and len(content_stems(subject.rest)) >= _MIN_STEMS
    return short and subject_question(statement, subject) is not None


def _question(
    kind: str, asked: AskedStatement, stated: Sequence[_Stated], excluded: frozenset[str] = frozenset()
) -> TrainingQuestion:
    entity = asked.asked
    answers = (asked.answer, *asked.also, *((entity.name, *entity.aliases) if entity is not None else ()))
    return TrainingQuestion(
        id="",
        kind=kind,
        question=asked.question,
        answers=tuple(dict.fromkeys(answers)),
        oracles=tuple(each.chunk for each in stated),
        quotes=tuple(dict.fromkeys(quote for each in stated for quote in each.statement.quotes)),
        excluded=excluded,
    )


def _in_turns(groups: Sequence[Sequence[TrainingQuestion]], n: int) -> list[TrainingQuestion]:
    """Take one question of each group in turn until there are `n`, without repeated wordings; number them by kind."""
    taken: list[TrainingQuestion] = []
    seen: set[frozenset[str]] = set()
    numbers: Counter[str] = Counter()
    for i in range(max(map(len, groups), default=0)):
        for group in groups:
            if i >= len(group) or len(taken) >= n:
                continue
            words = frozenset(content_stems(group[i].question))
            if words in seen:
                continue
            seen.add(words)
            kind = group[i].kind
            numbers[kind] += 1
            taken.append(replace(group[i], id=f"{kind}-{numbers[kind]:04d}"))
    return taken
