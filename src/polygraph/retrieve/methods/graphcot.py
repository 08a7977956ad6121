"""Graph-CoT: an agent walks the graph with four tools, and answers when it has seen enough. arXiv:2404.07103.

Jin et al. (2024), section 3. Differences: thought and actions come in one call (`separate_thought` asks twice, as
the paper does); searches look for the name before the vector and show several nodes; lists of neighbours are capped and
say what was cut; the agent cites what it saw, and its answer is checked like any other.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatModel
from polygraph.records import Json, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import nothing_found, triple_line
from polygraph.retrieve.graph_tools import GraphTools
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.steps import RANKED, embed_question, entities_in_question, retrieved
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.agent import AgentAction, next_step, step_tokens
from polygraph.tasks.answer import NO_ANSWER
from polygraph.tasks.question import question_entities
from polygraph.text.words import content_stems

_NAME = "graph-cot"
_SEEDS = 3
"""Without a model: nodes that the walk starts from, and neighbours whose sources are read."""


@dataclass(slots=True, kw_only=True)
class _Walk:
    """What the agent did."""

    transcript: list[str]
    steps: list[Json]
    n_calls: int = 0
    draft: str = ""
    halted: str = ""
    """Why it ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCoT:
    """Think, act, observe; stop at an answer, at `max_steps`, or at a prompt of `prompt_tokens`."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "graph", "entity_vectors"})

    max_steps: int = 15
    """Steps after which the walk is halted (code: 15; its script: 10)."""
    separate_thought: bool = False
    """Ask for the thought and for the actions in two calls (paper: yes)."""
    prompt_tokens: int = 10_000
    """Length of a prompt at which the walk is halted (code: 10,000)."""
    step_tokens: int = 300
    """Length of a reply (code: 300)."""
    k: int = 3
    """Nodes that a search shows (paper: 1)."""
    exact_names: bool = True
    """A search looks for the name before the vector (ours)."""
    neighbours: int = 50
    """Statements that a look at the neighbours shows (ours; paper: all)."""
    sources: int = 3
    """Passages that a look at the sources shows (ours; the paper's graphs have none)."""
    max_tokens: int = 8_000
    """Budget of all evidence that the agent is shown (ours), so that a prompt has room for the steps."""

    @property
    def calls(self) -> str:
        """One or two for each step; the last of them brings the answer."""
        if self.separate_thought:
            return f"at most {2 * self.max_steps} = 2 x {self.max_steps} steps"
        return f"at most {self.max_steps}, 1 for each step"

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; evidence in the order in which the agent saw it."""
        require(index, _NAME, self.needs, models)
        if not index.search_entities(embed_question(question, models, names=True), 1):
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
            walk = _by_rule(question, index, models, tools)
        else:
            walk = self._walk(question, models, models.chat, tools)
        packed = pack([Block(heading="", items=tuple(tools.shown))], max_tokens=self.max_tokens)
        trace = (
            Step(name="steps", value=walk.steps),
            Step(name="calls", value=walk.n_calls),
            Step(name="halted", value=walk.halted),
            Step(name="withheld", value=tools.n_withheld),
        )
        if not packed.evidence:
            reason = f"nothing fits the budget of {self.max_tokens} tokens"
            if not tools.shown:
                reason = walk.halted or "the agent looked at nothing before it answered"
            return nothing_found(question, _NAME, reason, index, trace)
        return retrieved(
            question,
            _NAME,
            packed,
            ranking=_ranking(tools),
            trace=trace,
            draft=walk.draft or (f"{NO_ANSWER} {walk.halted}" if walk.halted else ""),
            max_tokens=self.max_tokens,
        )

    def _walk(self, question: str, models: Models, chat: ChatModel, tools: GraphTools) -> _Walk:
        walk = _Walk(transcript=[], steps=[])
        for n in range(1, self.max_steps + 1):
            transcript = "\n".join(walk.transcript)
            length = step_tokens(question, transcript)
            if length > self.prompt_tokens:
                walk.halted = (
                    f"the search was halted before step {n}: its prompt had grown to {length:,} tokens, more than "
                    f"{self.prompt_tokens:,}"
                )
                return walk
            walk.n_calls += 2 if self.separate_thought else 1
            try:
                found = next_step(
                    question,
                    transcript,
                    models,
                    chat,
                    separate_thought=self.separate_thought,
                    max_tokens=self.step_tokens,
                    method=_NAME,
                )
            except UnusableReply as error:
                walk.halted = f"the search was halted at step {n}: {error.problem}"
                walk.steps.append({"n": n, "problem": error.problem})
                return walk
            _take(walk, n, found.thought, found.actions, tools)
            if walk.draft:
                return walk
        walk.halted = f"the search was halted after {self.max_steps} steps without an answer"
        return walk


def _take(walk: _Walk, n: int, thought: str, acts: tuple[AgentAction, ...], tools: GraphTools) -> None:
    """Do the actions of one step, and write down what came of them."""
    walk.transcript.append(f"Step {n}\nThought: {thought or '(none)'}")
    done: list[Json] = []
    for act in acts:
        if act.tool == "Finish" and act.argument:
            walk.draft = act.argument
            done.append([str(act), ""])
            break
        seen = "error: Finish needs an argument, the answer" if act.tool == "Finish" else tools.run(act, n)
        walk.transcript.append(f"Action: {act}\nObservation: {seen}")
        done.append([str(act), seen])
    walk.steps.append({"n": n, "thought": thought, "actions": done})


def _by_rule(question: str, index: Snapshot, models: Models, tools: GraphTools) -> _Walk:
    """Walk without a model, with the same tools.

    The nodes of the question, their sources and neighbours, and the sources of those neighbours whose statements share
    most words with the question; ties by id.
    """
    walk = _Walk(transcript=[], steps=[])
    named = [text for text, _ in entities_in_question(question, index)]
    wanted = named or question_entities(question, models, method=_NAME).named or (question[:500],)
    texts = list(dict.fromkeys(wanted))[:_SEEDS]
    _take(walk, 1, "find the nodes of the question", tuple(_act("RetrieveNode", "", t) for t in texts), tools)
    seeds = list(dict.fromkeys(found[0][0].id for text in texts if (found := tools.find(text))))
    _take(walk, 2, "read about them", tuple(_act("NodeFeature", s, "sources") for s in seeds), tools)
    _take(walk, 3, "look at their neighbours", tuple(_act("NeighbourCheck", s, "") for s in seeds), tools)
    asked = set(content_stems(question))
    ranked: dict[str, int] = {}
    for triple in tools.triples:
        shared = len(asked & set(content_stems(triple_line(triple))))
        for node in {triple.source, triple.target} - set(seeds):
            ranked[node] = max(ranked.get(node, 0), shared)
    order = sorted(ranked, key=lambda node: (-ranked[node], node))[:_SEEDS]
    if order:
        acts = tuple(_act("NodeFeature", node, "sources") for node in order)
        _take(walk, 4, "read about the neighbours that have most to do with the question", acts, tools)
    return walk


def _act(
    tool: Literal["RetrieveNode", "NodeFeature", "NeighbourCheck"], node: str, argument: str
) -> AgentAction:
    return AgentAction(tool=tool, node=node, argument=argument)


def _ranking(tools: GraphTools) -> tuple[str, ...]:
    """Passages in the order in which they were read, then those under the other evidence."""
    read = [item.id for item in tools.shown if item.kind == "chunk"]
    rest = [span.chunk for item in tools.shown for span in item.spans]
    return tuple(dict.fromkeys([*read, *rest]))[:RANKED]
