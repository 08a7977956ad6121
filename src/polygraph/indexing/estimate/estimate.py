"""The estimate, stage by stage in the order of the build. Start reading here."""

from statistics import fmean

from polygraph.indexing.estimate.corpus import Corpus
from polygraph.indexing.estimate.descriptions import description_line
from polygraph.indexing.estimate.embeddings import embedding_lines
from polygraph.indexing.estimate.extraction import (
    extract_pilot_windows,
    extract_without_model,
    extraction_lines,
)
from polygraph.indexing.estimate.graph_size import GraphSize, estimate_graph, report_lengths, report_line
from polygraph.indexing.estimate.local_cost import SAMPLED_WINDOWS, is_local_build, local_cost_note
from polygraph.indexing.estimate.model_profile import GPT_4O, ModelProfile
from polygraph.indexing.estimate.plan import EstimateState, Plan
from polygraph.indexing.estimate.questions import LayerSizes, question_line
from polygraph.indexing.estimate.ranges import ZERO, Estimate, Line, priced_line
from polygraph.indexing.estimate.same import same_lines
from polygraph.models import Models
from polygraph.models.prices import FREE
from polygraph.store.layers import with_dependencies
from polygraph.text.tokens import count_many


def estimate(corpus: Corpus, plan: Plan, models: Models, *, pilot: int = 0) -> Estimate:
    """Estimate the cost of a build, and of each question to some methods; only a pilot makes calls.

    Args:
        corpus: from `read_corpus`.
        plan: what will be built.
        models: that will build; only a pilot calls the chat model.
        pilot: real calls to learn from, made under the caps of the gate; their replies are kept.

    Raises:
        ValueError: if `pilot` is below 0.
        BudgetReached, ModelUnavailable, ModelRefused: from a pilot.
    """
    if pilot < 0:
        raise ValueError(f"pilot must be 0 or more, not {pilot}")
    state = EstimateState(corpus, plan, models, pilot)
    chat = models.chat
    layers = with_dependencies(plan.wanted)
    needed = [layer for layer in layers if layer not in plan.ready]
    to_read = [w for w in corpus.windows if w.id not in corpus.extractions] if "graph" in layers else []
    state.extractions = dict(corpus.extractions)
    counts = count_many([w.text for w in corpus.windows])
    state.n_tokens = {w.id: n for w, n in zip(corpus.windows, counts, strict=True)}
    model_extracts = chat is not None and plan.manifest.reader.startswith("llm:")
    model_writes = "reports" in needed and chat is not None and plan.manifest.reports != "extractive"

    n_pilot_reports = 0
    if pilot and chat is not None and (to_read or model_writes):
        n_pilot_reports = extract_pilot_windows(
            state, to_read if model_extracts else [], reports=model_writes
        )
    lines: list[Line] = []
    profiles: tuple[ModelProfile, ...] = (GPT_4O,)
    if model_extracts and chat is not None and to_read:
        lines, profiles = extraction_lines(state, chat, to_read)
    elif to_read and not is_local_build(state):
        extract_without_model(state, to_read)
    elif to_read:
        state.notes.append(local_cost_note(state, to_read))
    size = GraphSize()
    # Where nothing is paid, the size of the graph changes no cost, and simulating it can take longer than building it.
    needs_size = not is_local_build(state) or len(to_read) <= SAMPLED_WINDOWS
    if needs_size and "graph" in layers and (set(needed) - {"chunks", "lexical"} or plan.methods):
        size = estimate_graph(state, profiles, n_pilot_reports, writes_reports=model_writes)
        described = _description_line(state, needed, size)
        if described is not None:
            lines.append(described)
        if model_writes and chat is not None:
            lines.append(report_line(state, chat, size))
    if "graph" in needed and chat is not None:
        lines += same_lines(state, chat, size.entities)
    lines += embedding_lines(state, needed, size)
    questions = _question_lines(state, size)
    _add_notes(state, [*lines, *questions])
    return Estimate(
        documents=corpus.n_documents,
        windows=len(corpus.windows),
        windows_to_read=len(to_read),
        entities=size.entities.rounded(),
        communities=size.communities.rounded(),
        lines=tuple(lines),
        questions=tuple(questions),
        notes=tuple(state.notes),
    )


def _description_line(state: EstimateState, needed: list[str], size: GraphSize) -> Line | None:
    chat = state.models.chat
    by_model = chat is not None and state.plan.manifest.descriptions != "extractive"
    return description_line(state, chat, size) if by_model and "descriptions" in needed and chat else None


def _question_lines(state: EstimateState, size: GraphSize) -> list[Line]:
    chat, methods = state.models.chat, state.plan.methods
    if chat is None:
        return [
            priced_line("question", "", FREE, ZERO, ZERO, ZERO, method=m.name, basis="no model is called")
            for m in methods
        ]
    chunk_tokens = [c.n_tokens for w in state.corpus.windows for c in w.chunks]
    sizes = LayerSizes(
        chunk_tokens=fmean(chunk_tokens) if chunk_tokens else 0.0,
        n_chunks=len(chunk_tokens),
        communities=size.simulated.communities if size.simulated else (),
        share=size.community_share,
        report=(state.report_lengths or report_lengths(state, 0))[1],
        context_tokens=size.context_tokens or 500.0,
    )
    ledger, price = state.plan.ledger(), state.price(chat)
    asked = {name: each.n for name, each in state.plan.questions().items()}
    by_model = state.models.citation_check == "model"
    return [
        question_line(m, sizes, chat.name, price, ledger, asked, check_by_model=by_model) for m in methods
    ]


def _add_notes(state: EstimateState, lines: list[Line]) -> None:
    chat = state.models.chat
    if chat is None:
        state.notes.append("no chat model is configured, so no language model is called and nothing is paid")
    elif any(line.cost is None and (line.calls is None or line.calls.high) for line in lines):
        state.notes.append(
            "a price is not known, so neither is the cost. Set it in polygraph.toml, in US dollars per million tokens, "
            f'such as: prices."{chat.name}" = {{input = 0.15, output = 0.60}}'
        )
