"""The estimate itself: stage by stage, in the order of the build."""

from statistics import fmean

from polygraph.indexing.estimate.corpus import Corpus
from polygraph.indexing.estimate.embeddings import embeddings
from polygraph.indexing.estimate.extraction import extraction, fly_pilot, read_without_model
from polygraph.indexing.estimate.graph_size import Graph, graph_of, report_habits, report_line
from polygraph.indexing.estimate.model_profile import GPT_4O, Habits
from polygraph.indexing.estimate.plan import Facts, Plan
from polygraph.indexing.estimate.questions import Holdings, question_line
from polygraph.indexing.estimate.ranges import ZERO, Estimate, Line, line
from polygraph.models import Models
from polygraph.models.prices import FREE
from polygraph.store.layers import with_dependencies
from polygraph.text.tokens import count_many


def estimate(corpus: Corpus, plan: Plan, models: Models, *, pilot: int = 0) -> Estimate:
    """Say what a build will cost, and each question to some methods; no call is made but those of a pilot.

    Args:
        corpus: from `gather`.
        plan: what will be built.
        models: those that will build; only a pilot calls the chat model.
        pilot: real calls to learn from, made through the gate under its caps; their replies are kept.

    Raises:
        ValueError: if `pilot` is below 0.
        BudgetReached, ModelUnavailable, ModelRefused: from a pilot.
    """
    if pilot < 0:
        raise ValueError(f"pilot must be 0 or more, not {pilot}")
    return _estimate(Facts(corpus, plan, models, pilot))


def _estimate(facts: Facts) -> Estimate:
    corpus, plan, chat = facts.corpus, facts.plan, facts.models.chat
    needed = [layer for layer in with_dependencies(plan.wanted) if layer not in plan.ready]
    with_model = chat is not None and plan.manifest.reader.startswith("llm:")
    to_read = (
        [w for w in corpus.windows if w.id not in corpus.read]
        if "graph" in with_dependencies(plan.wanted)
        else []
    )
    facts.rows = dict(corpus.read)
    counts = count_many([w.text for w in corpus.windows])
    facts.tokens = {w.id: n for w, n in zip(corpus.windows, counts, strict=True)}
    lines: list[Line] = []
    writes_reports = "reports" in needed and chat is not None and plan.manifest.reports != "extractive"

    n_pilot_reports = 0
    if facts.pilot and chat is not None and (to_read or writes_reports):
        n_pilot_reports = fly_pilot(facts, to_read if with_model else [], reports=writes_reports)
    habits: tuple[Habits, ...] = (GPT_4O,)
    if with_model and chat is not None and to_read:
        lines, habits = extraction(facts, chat, to_read)
    elif to_read:
        read_without_model(facts, to_read)
    graph = Graph()
    if "graph" in with_dependencies(plan.wanted) and (set(needed) - {"chunks", "lexical"} or plan.methods):
        graph = graph_of(facts, habits, n_pilot_reports, writes_reports)
        if writes_reports and chat is not None:
            lines.append(report_line(facts, chat, graph))
    lines += embeddings(facts, needed, graph)
    questions = _questions(facts, graph)
    if chat is None:
        facts.notes.append(
            "no chat model is configured: nothing is asked of a language model, and nothing is paid"
        )
    elif any(each.cost is None and (each.calls is None or each.calls.high) for each in (*lines, *questions)):
        facts.notes.append(
            "a price is not known, so the cost is not: give it in polygraph.toml, as in: "
            f'[prices."{chat.name}"] input = 0.15, output = 0.60'
        )
    return Estimate(
        documents=corpus.n_documents,
        windows=len(corpus.windows),
        windows_to_read=len(to_read),
        entities=graph.entities.rounded(),
        communities=graph.communities.rounded(),
        lines=tuple(lines),
        questions=tuple(questions),
        notes=tuple(facts.notes),
    )


def _questions(facts: Facts, graph: Graph) -> list[Line]:
    chat = facts.models.chat
    if chat is None:
        return [
            line("question", "", FREE, ZERO, ZERO, ZERO, method=m.name, basis="no model is called")
            for m in facts.plan.methods
        ]
    sizes = [c.n_tokens for w in facts.corpus.windows for c in w.chunks]
    holdings = Holdings(
        chunk_tokens=fmean(sizes) if sizes else 0.0,
        n_chunks=len(sizes),
        communities=graph.last.communities if graph.last else (),
        share=graph.share,
        report=(facts.report_habits or report_habits(facts, 0))[1],
        material_tokens=graph.material or 500.0,
    )
    ledger, price = facts.plan.ledger(), facts.price(chat)
    asked = {name: each.n for name, each in facts.plan.questions().items()}
    return [question_line(m, holdings, chat.name, price, ledger, asked) for m in facts.plan.methods]
