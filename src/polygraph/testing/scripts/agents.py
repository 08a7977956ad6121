"""Scripted replies to the tasks of methods that search step by step: RQ-RAG and Graph-CoT."""

import json
import re

from polygraph.models.protocols import ChatRequest
from polygraph.tasks.answer import NO_ANSWER
from polygraph.testing.scripts.prompt_reading import asked, blocks, fenced, last_turn, share
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems, phrases, question_names

_SAID = re.compile(r"^(?:Step \d|Thought: |Action: ).*$", re.MULTILINE)
_MARKED = re.compile(r"(?<=: )(\[\d{1,6}\] )")
"""Evidence in a transcript stands behind a label."""


def scripted_rq_query(request: ChatRequest) -> str:
    """Rewrite: the question's phrases. Decompose: its first phrase not searched for. Disambiguate: both."""
    last = last_turn(request)
    question, action = asked(last.rpartition("\n\nWay: ")[0]), asked(last, "Way: ")
    parts = [text for text, _ in phrases(question)] or [question]
    before = fenced(last, "queries").casefold()
    fresh = next((part for part in parts if part.casefold() not in before), parts[-1])
    query = {"rewrite": " ".join(parts), "decompose": fresh}.get(action, f"{' '.join(parts)} {fresh}")
    return json.dumps({"query": query}, ensure_ascii=False)


def scripted_rq_answer(request: ChatRequest) -> str:
    """The sentence of the evidence that shares most words with the question; its first new name is the short answer."""
    last = last_turn(request)
    question = asked(last)
    best = _best_sentence(question, fenced(last, "evidence"))
    if best is None:
        return json.dumps({"short": "", "answer": f"{NO_ANSWER} nothing was found about it."})
    n, text = best
    known = set(content_stems(question))
    short = next(
        (name for name in question_names(f"It: {text}") if not set(content_stems(name)) & known), text
    )
    return json.dumps({"short": short, "answer": f"{text} [{n}]"}, ensure_ascii=False)


def scripted_graph_cot(request: ChatRequest) -> str:
    """Find the question's names, read the sources of the first node and look at its neighbours, then finish."""
    last = last_turn(request)
    transcript = fenced(last, "transcript")
    question, _, form = last.rpartition("\n</transcript>")[2].rpartition("\n\n")
    question = asked(question)
    if form.startswith("Write only the thought"):
        return "What is still missing?"
    n_steps = transcript.count("Thought: ")
    node = re.search(r"node '([^'\n]{1,200})'", transcript)
    acts: list[dict[str, str]]
    if n_steps == 0:
        found = phrases(question)
        texts = [text for text, named in found if named] or [text for text, _ in found] or [question[:200]]
        acts = [{"tool": "RetrieveNode", "node": "", "argument": text} for text in texts[:2]]
    elif n_steps == 1 and node:
        acts = [
            {"tool": "NodeFeature", "node": node[1], "argument": "sources"},
            {"tool": "NeighbourCheck", "node": node[1], "argument": ""},
        ]
    else:
        # What the agent itself said is no evidence.
        best = _best_sentence(question, _SAID.sub("", transcript))
        answer = f"{best[1]} [{best[0]}]" if best else f"{NO_ANSWER} nothing was found about it."
        acts = [{"tool": "Finish", "node": "", "argument": answer}]
    return json.dumps({"thought": "What is still missing?", "actions": acts}, ensure_ascii=False)


def _best_sentence(question: str, evidence: str) -> tuple[int, str] | None:
    """Number and sentence that share most words with the question; the first of equals, None if none does."""
    wanted = set(content_stems(question))
    best: tuple[float, int, str] | None = None
    for n, text in blocks(_MARKED.sub(r"\n\1", evidence)):
        for start, end in sentence_spans(text[:20_000]):
            score = share(wanted, text[start:end])
            if score > 0 and (best is None or score > best[0]):
                best = (score, n, " ".join(text[start:end].split()))
    return best[1:] if best else None
