"""Scripted replies to the tasks that answer: map step, answer, answer in a word, condensed question."""

import json
import re

from polygraph.models.protocols import ChatRequest
from polygraph.tasks.answers.answer import NO_ANSWER
from polygraph.tasks.answers.raft import ANSWER, REFUSAL, completion, quoted
from polygraph.testing.scripts.indexing import CAPITALISED
from polygraph.testing.scripts.prompt_reading import (
    asked,
    blocks,
    content_parts,
    evidence_sentences,
    fenced,
    last_turn,
    share,
)
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import STOP_WORDS, phrases

_PRONOUN = re.compile(r"\b(?:(he|she|it|they|him|them)|(his|her|hers|its|their|theirs))\b", re.IGNORECASE)
_MOST_SENTENCES = 2
_MOST_POINTS = 12
_MIN_SUPPORT = 0.5
"""Share of the content words of a claim that the evidence must hold to support it."""
_BROAD_SCORE = 10
"""Score of a point that shares no word with the question, so that it is kept, behind all others."""


def scripted_points(request: ChatRequest) -> str:
    """Return the line of each report that shares most words with the question, scored by their share."""
    last = last_turn(request)
    wanted = content_parts(asked(last))
    points = []
    for n, text in blocks(fenced(last, "reports")):
        lines = [line.lstrip("-# ").strip() for line in text.splitlines()]
        best = max((line for line in lines if line), key=lambda line: share(wanted, line), default="")
        if best:
            score = max(round(100 * share(wanted, best)), _BROAD_SCORE)
            points.append({"point": best, "score": score, "reports": [n]})
    points.sort(key=lambda point: (-int(str(point["score"])), str(point["reports"])))
    return json.dumps({"points": points[:_MOST_POINTS]}, ensure_ascii=False)


def scripted_answer(request: ChatRequest) -> str:
    """Return the sentences of the evidence that share most words with the question, each cited.

    If no sentence shares a content word with the question, refuse.
    """
    last = last_turn(request)
    question = asked(last)
    wanted = content_parts(question)
    found = evidence_sentences(last, wanted)
    # Sorting is stable: among sentences that share as much, the earlier evidence comes first.
    best = sorted((item for item in found if item[0] > 0), key=lambda item: -item[0])
    chosen = list(dict.fromkeys((text, n) for _, n, text in best))[:_MOST_SENTENCES]
    if not chosen:
        return f"{NO_ANSWER} the evidence says nothing of {' and '.join(sorted(wanted)[:5]) or 'that'}."
    return " ".join(f"{text} [{n}]" for text, n in chosen)


def scripted_word(request: ChatRequest) -> str:
    """Return the first name in the sentence nearest to the question that the question does not hold."""
    last = last_turn(request)
    question = asked(last)
    wanted = content_parts(question)
    found = [
        (share(wanted, text[start:end]), n, text[start:end])
        for n, text in blocks(fenced(last, "evidence"))
        for start, end in sentence_spans(text[:20_000])
    ]
    for part, n, sentence in sorted(found, key=lambda item: (-item[0], item[1])):
        for name, named in phrases(sentence):
            if part > 0 and named and not content_parts(name) & wanted:
                return f"{name} [{n}]"
    return f"{NO_ANSWER} insufficient evidence"


def scripted_word_alone(request: ChatRequest) -> str:
    """Return the name of `scripted_word` without the number of its evidence."""
    return scripted_word(request).partition(" [")[0]


def scripted_raft(request: ChatRequest) -> str:
    """Quote the sentence that shares most words with the question; answer with the given answer, else the sentence."""
    last = last_turn(request)
    wanted = content_parts(asked(last))
    found = evidence_sentences(last, wanted)
    part, n, sentence = max(found, key=lambda item: (item[0], -item[1]), default=(0.0, 0, ""))
    if part == 0:
        return f"{ANSWER} {REFUSAL}"
    return completion("raft", f"The evidence says: {quoted(sentence, n)}", fenced(last, "answer") or sentence)


def scripted_condense(request: ChatRequest) -> str:
    """Replace the first pronoun by the last name in the questions of the conversation."""
    last = last_turn(request)
    question = asked(last, "Last question: ")
    earlier = re.findall(r"^Question: (.*)$", fenced(last, "conversation"), re.MULTILINE)
    named = [_without_stop(match.group()) for text in earlier for match in CAPITALISED.finditer(text)]
    name = next((name for name in reversed(named) if name), "")
    if not name:
        return question
    return _PRONOUN.sub(lambda match: name + ("'s" if match.group(2) else ""), question, count=1)


def _without_stop(name: str) -> str:
    parts = name.split()
    while parts and parts[0].casefold() in STOP_WORDS:
        parts.pop(0)
    return " ".join(parts)


def scripted_check(request: ChatRequest) -> str:
    """Call a claim supported if the pieces that it cites hold half of its content words."""
    last = last_turn(request)
    evidence = dict(blocks(fenced(last, "passages")))
    verdicts: dict[str, list[int]] = {"supported": [], "unsupported": []}
    for n, text in blocks(fenced(last, "claims")):
        cited, _, claim = text.removeprefix("(cites ").partition(") ")
        pieces = "\n".join(evidence.get(int(number), "") for number in cited.split(", "))
        holds = share(content_parts(claim), pieces) >= _MIN_SUPPORT
        verdicts["supported" if holds else "unsupported"].append(n)
    return json.dumps(verdicts)
