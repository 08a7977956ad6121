"""Graph-CoT: an agent explores the graph with four tools and answers when it has seen enough.

Jin et al. (2024), arXiv:2404.07103, section 3. Differences: thought and actions come in one call (`separate_thought`
asks twice, as the paper does); a search looks for the exact name before the vector and shows several nodes; lists of
neighbours are limited, say how many are missing, and show what passages say of the two; the agent knows how many steps
are left; it cites what it saw, and its answer is checked like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatModel
from polygraph.prompts import FENCES, neutralize
from polygraph.records import Json, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found
from polygraph.retrieve.graph_tools import GraphTools
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.question_names import entities_in_question
from polygraph.retrieve.row_texts import triple_line
from polygraph.retrieve.steps import RANKED, embed_question, retrieved
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.answer import NO_ANSWER
from polygraph.tasks.questions.agent import AgentAction, next_step, step_tokens
from polygraph.tasks.questions.keywords import question_entities
from polygraph.text.words import content_stems

_NAME = "graph-cot"
_SEEDS = 3
"""Without a model: nodes to start from, and neighbours whose sources are read."""


@dataclass(slots=True, kw_only=True)
class _AgentRun:
    """What the agent did."""

    transcript: list[str]
    steps: list[Json]
    n_calls: int = 0
    draft: str = ""
    """Its answer."""
    halted: str = ""
    """Why it ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCoT:
    """Think, act, observe; stop at an answer, after `max_steps`, or at a prompt longer than `prompt_tokens`."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "graph", "entity_vectors"})

    max_steps: int = 15
    """Steps after which the agent is stopped (code: 15; its script: 10)."""
    separate_thought: bool = False
    """Ask for the thought and for the actions in two calls (paper: yes)."""
    prompt_tokens: int = 10_000
    """Longest prompt; the agent is stopped before a longer one (code: 10,000)."""
    step_tokens: int = 800
    """Longest reply (code: 300, in which an answer with its citations may not fit)."""
    k: int = 3
    """Nodes shown per search (paper: 1)."""
    exact_names: bool = True
    """A search looks for the exact name before the vector (ours)."""
    neighbours: int = 25
    """Triples shown per look at the neighbours (ours; paper: all)."""
    sources: int = 3
    """Passages shown per look at the sources (ours; the paper's graphs have none)."""
    max_tokens: int = 8_000
    """Budget of all evidence shown to the agent (ours), so that the prompt has room for the steps."""

    @property
    def calls(self) -> str:
        """One or two per step; the last step gives the answer."""
        if self.separate_thought:
            return f"at most {2 * self.max_steps} = 2 x {self.max_steps} steps"
        return f"at most {self.max_steps}, 1 for each step"

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; evidence in the order in which the agent saw it."""
        require(index, _NAME, self.needs, models)
        if not _has_entity(question, index, models):
            return nothing_found(question, _NAME, "the graph has no entity", index)
        tools = GraphTools(
            question,
            index,
            models,
            k=self.k,
            exact_names=self.exact_names,
            neighbours=self.neighbours,
            sources=self.sources,
            max_tokens=self.max_tokens,
        )
        if models.chat is None:
            run = _explore_without_model(question, index, models, tools)
        else:
            run = self._run(question, models, models.chat, tools)
        # The agent's answer cites the numbers that it was shown.
        packed = pack(
            [Block(heading="", items=tools.shown)],
            max_tokens=self.max_tokens,
            merge_copies=models.chat is None,
        )
        trace = (
            Step(name="steps", value=run.steps),
            Step(name="calls", value=run.n_calls),
            Step(name="halted", value=run.halted),
            Step(name="withheld", value=tools.n_withheld),
        )
        if not packed.evidence:
            reason = f"nothing fits the budget of {self.max_tokens} tokens"
            if not tools.shown:
                reason = run.halted or "the agent looked at nothing before it answered"
            return nothing_found(question, _NAME, reason, index, trace)
        return retrieved(
            question,
            _NAME,
            packed,
            ranking=_ranking(tools),
            trace=trace,
            draft=run.draft or (f"{NO_ANSWER} {run.halted}" if run.halted else ""),
            max_tokens=self.max_tokens,
        )

    def _run(self, question: str, models: Models, chat: ChatModel, tools: GraphTools) -> _AgentRun:
        run = _AgentRun(transcript=[], steps=[])
        for n in range(1, self.max_steps + 1):
            transcript = "\n".join(run.transcript)
            steps_left = self.max_steps - n + 1
            length = step_tokens(question, transcript, steps_left)
            if length > self.prompt_tokens:
                run.halted = (
                    f"the search was halted before step {n}: its prompt had grown to {length:,} tokens, more than "
                    f"{self.prompt_tokens:,}"
                )
                return run
            run.n_calls += 2 if self.separate_thought else 1
            try:
                found = next_step(
                    question,
                    transcript,
                    models,
                    chat,
                    steps_left=steps_left,
                    separate_thought=self.separate_thought,
                    max_tokens=self.step_tokens,
                    method=_NAME,
                )
            except UnusableReply as error:
                run.halted = f"the search was halted at step {n}: {error.problem}"
                run.steps.append({"n": n, "problem": error.problem})
                return run
            _run_actions(run, n, found.thought, found.actions, tools)
            if run.draft:
                return run
        run.halted = f"the search was halted after {self.max_steps} steps without an answer"
        return run


def _has_entity(question: str, index: Snapshot, models: Models) -> bool:
    """Return whether there is an entity within the filter."""
    if index.documents_allowed is None:
        return index.n_entities > 0
    return bool(index.search_entities(embed_question(question, models, names=True), 1))


def _run_actions(
    run: _AgentRun, n: int, thought: str, actions: Sequence[AgentAction], tools: GraphTools
) -> None:
    """Run the actions of one step and record the observations."""
    run.transcript.append(f"Step {n}\nThought: {neutralize(thought, FENCES['transcript']) or '(none)'}")
    done: list[Json] = []
    for act in actions:
        if act.tool == "Finish" and act.argument:
            run.draft = act.argument
            done.append([str(act), ""])
            break
        seen = "error: Finish needs an argument, the answer" if act.tool == "Finish" else tools.run(act, n)
        shown = neutralize(seen, FENCES["transcript"], keep_numbers=True)
        run.transcript.append(f"Action: {neutralize(str(act), FENCES['transcript'])}\nObservation: {shown}")
        done.append([str(act), seen])
    run.steps.append({"n": n, "thought": thought, "actions": done})


def _explore_without_model(question: str, index: Snapshot, models: Models, tools: GraphTools) -> _AgentRun:
    """Explore without a model, with the same tools.

    Looks at the nodes of the question, their sources and neighbours, then at the sources of the neighbours whose
    triples share most words with the question; ties by id.
    """
    run = _AgentRun(transcript=[], steps=[])
    named = [text for text, _ in entities_in_question(question, index)]
    wanted = named or question_entities(question, models, method=_NAME).named or (question[:500],)
    texts = list(dict.fromkeys(wanted))[:_SEEDS]
    tools.find_each(texts)
    actions = [AgentAction(tool="RetrieveNode", argument=text) for text in texts]
    _run_actions(run, 1, "find the nodes of the question", actions, tools)
    seeds = list(dict.fromkeys(found[0][0].id for text in texts if (found := tools.find(text))))
    actions = [AgentAction(tool="NodeFeature", node=node, argument="sources") for node in seeds]
    _run_actions(run, 2, "read about them", actions, tools)
    actions = [AgentAction(tool="NeighbourCheck", node=node) for node in seeds]
    _run_actions(run, 3, "look at their neighbours", actions, tools)
    asked = set(content_stems(question))
    ranked: dict[str, int] = {}
    for triple in tools.triples:
        shared = len(asked & set(content_stems(triple_line(triple))))
        for node in {triple.source, triple.target} - set(seeds):
            ranked[node] = max(ranked.get(node, 0), shared)
    order = sorted(ranked, key=lambda node: (-ranked[node], node))[:_SEEDS]
    if order:
        actions = [AgentAction(tool="NodeFeature", node=node, argument="sources") for node in order]
        _run_actions(
            run, 4, "read about the neighbours that have most to do with the question", actions, tools
        )
    return run


def _ranking(tools: GraphTools) -> tuple[str, ...]:
    """Return the passages in the order in which they were read, then those that other evidence rests on."""
    read = [item.id for item in tools.shown if item.kind == "chunk"]
    rest = [span.chunk for item in tools.shown for span in item.spans]
    return tuple(dict.fromkeys([*read, *rest]))[:RANKED]
