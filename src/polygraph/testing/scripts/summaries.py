"""Scripted replies to the tasks of FG-RAG, DRIFT search and dynamic community selection."""

import json
import re

from polygraph.models.protocols import ChatRequest
from polygraph.tasks.evidence.summarise import NOTHING
from polygraph.testing.scripts.prompt_reading import (
    asked,
    blocks,
    content_parts,
    evidence_sentences,
    fenced,
    last_turn,
    share,
)
from polygraph.text.words import phrases

_MOST = 3
_SOURCE = re.compile(r"\s*\[[\d,; ]{1,40}\]")


def scripted_question_parts(request: ChatRequest) -> str:
    """Return every phrase of the question as an entity in the first turn, and aspects in the second."""
    if last_turn(request).startswith("Task: aspects"):
        return scripted_aspects(request)
    found = [text[:100] for text, _ in phrases(asked(last_turn(request)))][:20]
    return json.dumps({"entities": found}, ensure_ascii=False)


def scripted_aspects(request: ChatRequest) -> str:
    """Ask what the subject is, and how it is related to each other phrase of the question."""
    last = last_turn(request)
    subject = asked(last.rpartition("\nQuestion: ")[0], "About: ")
    others = [text[:80] for text, _ in phrases(asked(last)) if text.casefold() != subject.casefold()]
    questions = [
        f"What is {subject[:80]}?",
        *(f"How is {subject[:80]} related to {o}?" for o in others[:_MOST]),
    ]
    return json.dumps({"questions": questions}, ensure_ascii=False)


def scripted_summary(request: ChatRequest) -> str:
    """Return the notes that share most words with subject and question, each cited; or NOTHING."""
    last = last_turn(request)
    subject = asked(last.partition("\n")[0], "Subject: ")
    wanted = content_parts(f"{subject} {asked(last)}")
    found = [(share(wanted, text), n, " ".join(text.split())) for n, text in blocks(fenced(last, "notes"))]
    best = _best(found)
    return " ".join(f"{text.rstrip('.')} [{n}]." for _, n, text in best) or NOTHING


def scripted_hyde(request: ChatRequest) -> str:
    """Return a title and a finding that consist of words of the question."""
    question = asked(last_turn(request))
    named = ", ".join(text for text, _ in phrases(question)) or question[:200]
    return f"# {named[:200]}\nThis is about {named[:400]}."


def scripted_primer(request: ChatRequest) -> str:
    """Return the line of each report that is nearest to the question, and a question about each title."""
    last = last_turn(request)
    wanted = content_parts(asked(last))
    candidates, titles = [], []
    for n, text in blocks(fenced(last, "reports")):
        lines = [_SOURCE.sub("", line).lstrip("-# ").strip() for line in text.splitlines()]
        titles.append(lines[0])
        line = max((line for line in lines[1:] if line), key=lambda line: share(wanted, line), default="")
        candidates.append((share(wanted, line), n, line))
    best = _best(candidates)
    return _intermediate(best, [f"What is known about {title[:80]}?" for title in titles if title])


def scripted_follow_up(request: ChatRequest) -> str:
    """Return the sentences nearest to both questions, and no further question."""
    last = last_turn(request)
    larger = asked(last.rpartition("\n\nQuestion: ")[0], "Larger question: ")
    wanted = content_parts(f"{asked(last)} {larger}")
    found = evidence_sentences(last, wanted)
    best = _best(found)
    return _intermediate(best, [])


def scripted_rating(request: ChatRequest) -> str:
    """Return the share of the question's words that the report holds, times 5."""
    last = last_turn(request)
    rating = round(5 * share(content_parts(asked(last)), fenced(last, "report")))
    return json.dumps({"rating": rating})


def _best(found: list[tuple[float, int, str]]) -> list[tuple[float, int, str]]:
    return sorted((item for item in found if item[0] > 0), key=lambda item: (-item[0], item[1]))[:_MOST]


def _intermediate(best: list[tuple[float, int, str]], follow_ups: list[str]) -> str:
    return json.dumps(
        {
            "answer": " ".join(f"{text.rstrip('.')} [{n}]." for _, n, text in best),
            "score": round(100 * best[0][0]) if best else 0,
            "follow_ups": follow_ups,
        },
        ensure_ascii=False,
    )
