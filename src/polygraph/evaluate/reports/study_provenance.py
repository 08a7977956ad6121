"""What a study was made with: answerer, judges, embedders, index, versions and days, and what limits the comparison."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.model_families import model_family
from polygraph.evaluate.judging.pairwise import HUMAN_PROTOCOL
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer, method_of
from polygraph.records import digest

_NO_MODEL = "no model (sentences from the documents)"
_GRAPH_LEVELS = frozenset({"node", "edge", "subgraph"})
"""Types of questions that are generated from a graph."""
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyProvenance:
    """What the answers and judgements of a study were made with; a tuple has one value unless answers differ."""

    answerers: tuple[str, ...]
    """Names of chat models; empty: sentences of the documents."""
    judges: tuple[str, ...]
    """Names of chat models, or of people."""
    embedders: tuple[str, ...]
    name_embedders: tuple[str, ...]
    rerankers: tuple[str, ...]
    """Empty without one."""
    temperatures: tuple[float, ...]
    """Temperatures of the answerer."""
    budgets: tuple[str, ...]
    """Tokens of the context; empty: those of each method."""
    index: str
    """Digest of the versions of all layers that the methods read; empty if they read none."""
    layers: tuple[str, ...]
    """Names of these layers."""
    n_indexes: int
    """More than one if each document has an index of its own."""
    versions: tuple[str, ...]
    """Versions of Polygraph."""
    answered: tuple[str, ...]
    """First and last day of the answers (ISO 8601); empty if unknown."""
    judged: tuple[str, ...]
    """First and last day of the judgements; empty if unknown."""


def study_provenance(
    answers: Sequence[StudyAnswer], judgements: Sequence[Judgement], judging_dates: Sequence[str] = ()
) -> StudyProvenance:
    """Summarise what answers and judgements were made with.

    Args:
        answers: of the study.
        judgements: by the protocol of the report.
        judging_dates: days of the judgements, in order.
    """
    made = [a.made_with for a in answers]
    layers = {(m.document, layer): version for m in made for layer, version in m.layers.items()}
    parts = [f"{document}\n{layer}\n{version}" for (document, layer), version in sorted(layers.items())]
    return StudyProvenance(
        answerers=_distinct(m.chat for m in made),
        judges=_distinct(j.judge for j in judgements),
        embedders=_distinct(m.embedder for m in made),
        name_embedders=_distinct(m.name_embedder for m in made),
        rerankers=_distinct(m.reranker for m in made),
        temperatures=tuple(sorted({m.temperature for m in made})),
        budgets=_distinct("" if m.max_tokens is None else str(m.max_tokens) for m in made),
        index=digest(*parts)[:_DIGITS] if parts else "",
        layers=_distinct(layer for _, layer in layers),
        n_indexes=len({document for document, _ in layers}),
        versions=_distinct(m.version for m in made),
        answered=_span(sorted({a.date for a in answers if a.date})),
        judged=_span(judging_dates),
    )


def provenance_table(found: StudyProvenance) -> tuple[tuple[str, str], list[tuple[str, ...]]]:
    """Return columns and rows: what, and its name or version."""
    unknown = "unknown"
    temperature = ", ".join(f"{t:g}" for t in found.temperatures)
    answerers = ", ".join(name or _NO_MODEL for name in found.answerers)
    at = f", temperature {temperature}" if any(found.answerers) else ""
    several = f", {found.n_indexes} indexes of one document each" if found.n_indexes > 1 else ""
    rows: list[tuple[str, ...]] = [
        ("answers", f"{answerers}{at}"),
        ("judge", ", ".join(found.judges) or "none"),
        ("embedder", ", ".join(found.embedders)),
        ("embedder of names", ", ".join(found.name_embedders)),
        ("reranker", ", ".join(name or "none" for name in found.rerankers)),
        ("token budget", ", ".join(n or "that of each method" for n in found.budgets)),
        (
            "index",
            f"version {found.index} (layers: {', '.join(found.layers)}){several}" if found.index else "none",
        ),
        ("Polygraph", ", ".join(found.versions)),
        ("date of answers", " to ".join(found.answered) or unknown),
        ("date of judgements", " to ".join(found.judged) or ("none" if not found.judges else unknown)),
    ]
    return ("part", "name or version"), rows


def provenance_line(found: StudyProvenance) -> str:
    """Return answerer, judge and days in one sentence."""
    answerers = ", ".join(name or _NO_MODEL for name in found.answerers)
    judges = f", judged by {', '.join(found.judges)}" if found.judges else ""
    days = f", {' to '.join(found.answered)}" if found.answered else ""
    return f"Answered by {answerers}{judges}{days}."


def provenance_notes(
    questions: Sequence[Question],
    answers: Sequence[StudyAnswer],
    found: StudyProvenance,
    *,
    protocol: str,
    new_answers: bool,
) -> list[str]:
    """Return what models, questions and trials mean for the comparison."""
    notes = []
    if protocol != HUMAN_PROTOCOL:
        notes += [note for judge in found.judges for note in _family_notes(judge, found.answerers)]
    n_grounded = sum(q.type in _GRAPH_LEVELS for q in questions)
    if n_grounded:
        readers = sorted({method_of(a.method) for a in answers if "graph" in a.made_with.layers})
        named = f" (here: {', '.join(readers)})" if readers else ""
        share = f"all {n_grounded}" if n_grounded == len(questions) else f"{n_grounded} of {len(questions)}"
        notes.append(
            f"{share} questions were generated from a graph of entities and relations, which "
            f"favours methods that read that graph{named}; compare them on questions from another source as well"
        )
    if new_answers:
        notes.append(
            "each trial judges newly sampled answers, so the spread over trials shows the noise of answers and judge"
        )
    return notes


def _family_notes(judge: str, answerers: Sequence[str]) -> Iterable[str]:
    for answerer in answerers:
        family = model_family(judge)
        if answerer and answerer == judge:
            yield (
                f"the judge {judge} judges its own answers; since all answers are its own, this need not favour any "
                "method, but its errors in answering and judging may be the same. Choose another judge with --judge"
            )
        elif family and family == model_family(answerer):
            yield (
                f"the judge {judge} belongs to the same family of models as the answerer {answerer} ({family}), and "
                "models prefer answers of their own family. Choose a judge of another family with --judge"
            )


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _span(days: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((days[0], days[-1]))) if days else ()
