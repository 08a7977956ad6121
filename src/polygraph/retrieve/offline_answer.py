"""Answers without a model: by rules for tables and verdicts, by sentences, from the graph, by counting; or refusals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from polygraph.models import Models
from polygraph.records import Citation, Evidence, Retrieval
from polygraph.retrieve.cited_sentences import cite
from polygraph.retrieve.collection_profile import describe_collection
from polygraph.retrieve.connecting_sentences import answer_connection
from polygraph.retrieve.evidence import chunk_numbers, passages_of
from polygraph.retrieve.graph_statements import (
    GraphStatements,
    connections,
    is_about_the_whole,
    list_themes,
)
from polygraph.retrieve.nearest_passages import nearest_passages
from polygraph.retrieve.table_evidence import answer_from_index
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.offline.answer import NO_SENTENCE, answer_with_sentences
from polygraph.tasks.offline.question_scope import (
    is_global_question,
    refers_back,
    split_questions,
    subject_words,
    summary_subject,
)
from polygraph.tasks.offline.sentence_pool import SentencePool
from polygraph.tasks.offline.sentences import Passage, QuotedSentence
from polygraph.text.emphasis import without_emphasis
from polygraph.text.lists import FENCES, in_lines
from polygraph.text.words import content_stems, question_names

_ABOUT = 6
"""Sentences of a summary of one subject."""
_PASSAGES = 16
"""Chunks from which an extractive answer is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedText:
    """The text of an answer with its checked citations."""

    text: str
    refused: bool = False
    citations: tuple[Citation, ...] = ()
    notes: tuple[str, ...] = ()
    nearest: tuple[Citation, ...] = ()
    """Nearest sentences of a refusal by rules, see `Answer.nearest`."""


def refusal(reason: str) -> CitedText:
    """Return the text of a refusal."""
    return CitedText(text=f"The documents do not answer this: {reason}.", refused=True)


def _not_found(reason: str, nearest: tuple[Citation, ...]) -> CitedText:
    """Return a refusal by rules, which do not tell that the documents have no answer."""
    closer = reason.removeprefix(NO_SENTENCE).removeprefix("; ")
    found = "No sentence that answers this was found"
    return CitedText(text=f"{found}: {closer}." if closer else f"{found}.", refused=True, nearest=nearest)


def answer_offline(
    question: str, retrieval: Retrieval, index: Snapshot, models: Models
) -> tuple[CitedText, Retrieval]:
    """Answer by rule from a table or with what connects two names, else with sentences of the documents.

    Returns:
        The answer, and the retrieval with the rows of the table, or the passages that connect, among its evidence.
    """
    found = answer_from_index(question, retrieval, index) or answer_connection(
        question, retrieval, index, models
    )
    if found is not None:
        return CitedText(text=found.text, citations=found.citations), found.retrieval
    return _extract(question, retrieval, index, models), retrieval


def _extract(question: str, retrieval: Retrieval, index: Snapshot, models: Models) -> CitedText:
    is_global = is_global_question(question)
    subject = summary_subject(question)
    summaries = [item for item in retrieval.evidence if is_about_the_whole(item)]
    # Summaries may be results of steps; reports are about the collection whatever the form.
    is_overview = is_global and (
        retrieval.answer_form == "overview" or any(s.kind == "report" for s in summaries)
    )
    passages = [] if is_overview and not subject else _passages_for(question, retrieval.evidence, index)
    if subject and (about := _about(subject, question_names(question), passages, models)):
        return _quoted(about, passages)
    about_all = describe_collection(index) if is_global and not subject_words(question) else []
    if is_overview:
        # The numbers of the evidence stay those of the retrieval.
        themes = _from_graph(list_themes(retrieval.evidence, index, only_summaries=bool(summaries)))
        # A few sentences of many documents do not tell what these are.
        return replace(themes, text="\n\n".join([*about_all, themes.text]).rstrip())
    if about_all:
        return CitedText(
            text="\n\n".join(about_all), notes=("graphrag-global lists the main themes, with sentences",)
        )
    selection = answer_with_sentences(question, passages, models)
    if not selection.sentences:
        if (found := connections(question, retrieval.evidence, index)).lines:
            return _from_graph(found)
        reason = selection.refused_because
        if is_global:
            # The reader takes a German noun of the question for a name that is missing.
            reason = "a question about the whole collection is one for `graphrag-global`"
        elif parts := _answer_parts(question, passages, models):
            return parts
        likely = _cited(selection.nearest, passages)
        return _not_found(reason, nearest_passages(question, likely, retrieval.evidence, index))
    answer = _quoted(selection.sentences, passages)
    return replace(
        answer,
        text=f"{selection.verdict}: {answer.text}" if selection.verdict else answer.text,
        notes=(*filter(None, [selection.note]), *_open_parts(question, passages, models)),
    )


def _open_parts(question: str, passages: Sequence[Passage], models: Models) -> list[str]:
    """Say which parts of a question that asks for two things no sentence answers."""
    parts = split_questions(question)
    return [
        _no_answer_to(part)
        for part in (parts if len(parts) > 1 else ())
        if not refers_back(part) and not answer_with_sentences(part, passages, models).sentences
    ]


def _no_answer_to(part: str) -> str:
    return f"no sentence was found that answers “{part}”"


def _answer_parts(question: str, passages: Sequence[Passage], models: Models) -> CitedText | None:
    """Answer the parts of a question that asks for two things and that no sentence answers as a whole.

    A part that speaks of the other one ("and what is his number?") cannot be asked alone.
    """
    parts = split_questions(question)
    found: list[QuotedSentence] = []
    open_parts = []
    for part in parts if len(parts) > 1 else ():
        sentences = () if refers_back(part) else answer_with_sentences(part, passages, models).sentences
        found += [each for each in sentences if all(each.span != other.span for other in found)]
        if not sentences:
            open_parts.append(part)
    if not found:
        return None
    notes = tuple(map(_no_answer_to, open_parts))
    return replace(_quoted(found, passages), notes=notes)


def _about(
    subject: str, names: Sequence[str], passages: Sequence[Passage], models: Models
) -> list[QuotedSentence]:
    """Return the sentences that are nearest to a subject and about it, in the order of their documents.

    Those are about it that hold a word of its names, or of it if it has none, and those of a document that is titled
    by it.
    """
    if not passages:
        return []
    wanted = set(content_stems(" ".join(names) or subject))
    near = SentencePool(passages, models).nearest(subject, most=2 * _ABOUT)
    titled = {p.chunk.document for p in passages if wanted <= set(content_stems(p.title))}
    found = [
        each
        for each in near
        if each.span.document in titled or not wanted.isdisjoint(content_stems(each.text))
    ][:_ABOUT]
    documents = list(dict.fromkeys(each.span.document for each in found))
    return sorted(found, key=lambda each: (documents.index(each.span.document), each.span.start))


def _cited(sentences: Sequence[QuotedSentence], passages: Sequence[Passage]) -> list[Citation]:
    """Return the citations of sentences of some passages."""
    chunks = {p.chunk.id: p.chunk for p in passages}
    titles = {p.chunk.document: p.title for p in passages}
    found = []
    for s in sentences:
        chunk = chunks[s.span.chunk]
        found.append(cite(s.evidence, chunk, s.span.start - chunk.start, s.span.end - chunk.start, titles))
    return found


def _quoted(sentences: Sequence[QuotedSentence], passages: Sequence[Passage]) -> CitedText:
    """Return sentences as a text with their citations."""
    citations = _cited(sentences, passages)
    shown = [(without_emphasis(in_lines(c.quote)), c.n) for c in citations]
    return CitedText(text=_joined(shown), citations=tuple(citations))


def _joined(quoted: Sequence[tuple[str, int]]) -> str:
    """Return quotations with their numbers as one text; a list or code stands in lines of its own, as in Markdown."""
    # Behind a fence nothing else may stand.
    cited = [f"{quote}\n[{n}]" if quote.endswith(FENCES) else f"{quote} [{n}]" for quote, n in quoted]
    text = cited[0]
    for former, part in pairwise(cited):
        text += ("\n\n" if "\n" in former + part else " ") + part
    return text


def _from_graph(found: GraphStatements) -> CitedText:
    return CitedText(text="\n".join(found.lines), citations=found.citations)


def _passages_for(question: str, evidence: Sequence[Evidence], index: Snapshot) -> list[Passage]:
    """Collect the chunks of the evidence in its order; of too many, those that share most words with the question."""
    numbers = chunk_numbers(evidence)
    chunks = index.chunks_by_id(list(numbers))
    if len(chunks) > _PASSAGES:
        wanted = set(content_stems(question))
        shared = [len(wanted & set(content_stems(c.text))) for c in chunks]
        # The order of the evidence counts too: one rank costs a twentieth of a word.
        order = sorted(range(len(chunks)), key=lambda i: (-(shared[i] - i / 20), i))[:_PASSAGES]
        chunks = [chunks[i] for i in sorted(order)]
    return passages_of(numbers, index, read=chunks)
