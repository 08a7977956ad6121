"""Scripted replies to the tasks of methods that search step by step: RQ-RAG and Graph-CoT."""

import json
import re

from polygraph.models.protocols import ChatRequest
from polygraph.tasks.answers.answer import NO_ANSWER
from polygraph.testing.scripts.prompt_reading import asked, blocks, content_parts, fenced, last_turn, share
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import phrases, question_names

_OWN_LINES = re.compile(r"^(?:Step \d|Thought: |Action: ).*$", re.MULTILINE)
_LABELLED_EVIDENCE = re.compile(r"(?<=: )(\[\d{1,6}\] )")
"""In a transcript, evidence follows a label."""


def scripted_rq_query(request: ChatRequest) -> str:
    """Return the question's phrases (rewrite), the first one not searched for (decompose), or both (disambiguate)."""
    last = last_turn(request)
    question, action = asked(last.rpartition("\n\nWay: ")[0]), asked(last, "Way: ")
    parts = [text for text, _ in phrases(question)] or [question]
    before = fenced(last, "queries").casefold()
    fresh = next((part for part in parts if part.casefold() not in before), parts[-1])
    query = {"rewrite": " ".join(parts), "decompose": fresh}.get(action, f"{' '.join(parts)} {fresh}")
    return json.dumps({"query": query}, ensure_ascii=False)


def scripted_rq_answer(request: ChatRequest) -> str:
    """Return the sentence of the evidence nearest to the question; its first new name is the short answer."""
    last = last_turn(request)
    question = asked(last)
    best = _best_sentence(question, fenced(last, "evidence"))
    if best is None:
        return json.dumps({"short": "", "answer": f"{NO_ANSWER} nothing was found about it."})
    n, text = best
    known = content_parts(question)
    short = next((name for name in question_names(f"It: {text}") if not content_parts(name) & known), text)
    return json.dumps({"short": short, "answer": f"{text} [{n}]"}, ensure_ascii=False)


def scripted_graph_cot(request: ChatRequest) -> str:
    """Look up the names in the question, then the sources and neighbours of the first node, then finish."""
    last = last_turn(request)
    transcript = fenced(last, "transcript")
    question, _, form = last.rpartition("\n</transcript>")[2].rpartition("\n\n")
    question = asked(question)
    if form.startswith("Write only the thought"):
        return "What is still missing?"
    n_steps = transcript.count("Thought: ")
    node = re.search(r"node '([^'\n]{1,200})'", transcript)
    actions: list[dict[str, str]]
    if n_steps == 0:
        found = phrases(question)
        texts = [text for text, named in found if named] or [text for text, _ in found] or [question[:200]]
        actions = [{"tool": "RetrieveNode", "node": "", "argument": text} for text in texts[:2]]
    elif n_steps == 1 and node:
        actions = [
            {"tool": "NodeFeature", "node": node[1], "argument": "sources"},
            {"tool": "NeighbourCheck", "node": node[1], "argument": ""},
        ]
    else:
        # The lines of the agent itself are not evidence.
        best = _best_sentence(question, _OWN_LINES.sub("", transcript))
        answer = f"{best[1]} [{best[0]}]" if best else f"{NO_ANSWER} nothing was found about it."
        actions = [{"tool": "Finish", "node": "", "argument": answer}]
    return json.dumps({"thought": "What is still missing?", "actions": actions}, ensure_ascii=False)


def _best_sentence(question: str, evidence: str) -> tuple[int, str] | None:
    """Return number and text of the sentence that shares most words with the question; ties: the first one."""
    wanted = content_parts(question)
    best: tuple[float, int, str] | None = None
    for n, text in blocks(_LABELLED_EVIDENCE.sub(r"\n\1", evidence)):
        for start, end in sentence_spans(text[:20_000]):
            score = share(wanted, text[start:end])
            if score > 0 and (best is None or score > best[0]):
                best = (score, n, " ".join(text[start:end].split()))
    return best[1:] if best else None
