"""Scripted replies to the tasks of an evaluation: questions, scores, differences, lengths."""

import json
import re

from polygraph.models.protocols import ChatRequest
from polygraph.testing.scripts.prompt_reading import asked, blocks, content_parts, fenced, last_turn, share
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems, phrases

_USERS = re.compile(r"exactly (\d{1,3}) kinds of users.*?exactly (\d{1,3}) tasks", re.S)
_QUESTIONS = re.compile(r"exactly (\d{1,3}) questions")
_GIST_SENTENCES = 5
_WORDS_FOR_ALL = 60
"""Content words of an answer with the highest comprehensiveness."""


def scripted_pose(request: ChatRequest) -> str:
    """Ask about the first names of the structure: one for a node, two for an edge, three for a subgraph."""
    last = last_turn(request)
    level = re.search(r"^Level: (\w+)", last, re.M)
    n = {"node": 1, "edge": 2}.get(level.group(1) if level else "", 3)
    names = [re.split(r" \(|:| — ", line)[0] for line in fenced(last, "structure").splitlines() if line]
    subject = " and ".join(list(dict.fromkeys(names))[:n])
    asks = {1: f"What is known of {subject}?", 2: f"How do {subject} bear on each other?"}
    return json.dumps(
        {"question": asks.get(n, f"What do {subject} have to do with each other?")}, ensure_ascii=False
    )


def scripted_gist(request: ChatRequest) -> str:
    """Return the first sentences of the sources."""
    text = fenced(last_turn(request), "sources")[:20_000]
    return " ".join(text[start:end] for start, end in sentence_spans(text)[:_GIST_SENTENCES]) or "Nothing."


def scripted_users(request: ChatRequest) -> str:
    """Return the requested number of users and tasks."""
    wanted = _USERS.search(request.messages[0].content)
    n_users, n_tasks = (int(g) for g in wanted.groups()) if wanted else (5, 5)
    tasks = [[f"task {u + 1}.{t + 1}" for t in range(n_tasks)] for u in range(n_users)]
    return json.dumps({"users": [{"user": f"user {u}", "tasks": own} for u, own in enumerate(tasks, 1)]})


def scripted_user_questions(request: ChatRequest) -> str:
    """Return the requested number of questions for each task, about names of the description in turn."""
    wanted = _QUESTIONS.search(request.messages[0].content)
    n_questions = int(wanted[1]) if wanted else 5
    last = last_turn(request)
    found = [text for text, named in phrases(fenced(last, "description")[:50_000]) if named]
    names = found or ["the documents"]
    tasks = [
        {
            "questions": [
                f"What does the reader of {task}, {q + 1} learn of {names[(t * n_questions + q) % len(names)]}?"
                for q in range(n_questions)
            ]
        }
        for t, (_, task) in enumerate(blocks(fenced(last, "rows")))
    ]
    return json.dumps({"tasks": tasks}, ensure_ascii=False)


def scripted_judge_scores(request: ChatRequest) -> str:
    """Score two answers by counts, without any bias."""
    last = last_turn(request)
    return _scores(last, [fenced(last, tag) for tag in ("first_answer", "second_answer")])


def scripted_judge_list(request: ChatRequest) -> str:
    """Score a list of answers by counts, without any bias."""
    last = last_turn(request)
    n = len(re.findall(r"^<answer_\d+>$", last, re.M))
    return _scores(last, [fenced(last, f"answer_{i}") for i in range(1, n + 1)])


def scripted_judge_winner(request: ChatRequest) -> str:
    """Let the answer with more content words win every criterion; otherwise a tie if allowed, else the first answer."""
    last = last_turn(request)
    system = request.messages[0].content
    first, second = (len(content_stems(fenced(last, tag))) for tag in ("first_answer", "second_answer"))
    winner = 1 if first > second else 2 if second > first else 0 if "0 if they are" in system else 1
    names = re.findall(r"^- ([^:\n]+): ", system, re.M)
    return json.dumps(
        {name: {"reason": "By the number of content words.", "winner": winner} for name in names}
    )


def scripted_differences(request: ChatRequest) -> str:
    """Return the sentences of both answers, and those of one alone."""
    last = last_turn(request)
    both = []
    for tag in ("first_answer", "second_answer"):
        text = fenced(last, tag)[:20_000]
        both.append(list(dict.fromkeys(" ".join(text[a:b].split()) for a, b in sentence_spans(text))))
    first, second = both
    return json.dumps(
        {
            "common": [s for s in first if s in second],
            "only_first": [s for s in first if s not in second],
            "only_second": [s for s in second if s not in first],
        },
        ensure_ascii=False,
    )


def _scores(last: str, answers: list[str]) -> str:
    wanted = content_parts(last.partition("Question: ")[2].partition("\n")[0])
    scores = {
        "comprehensiveness": [min(5, 5 * len(content_stems(a)) // _WORDS_FOR_ALL) for a in answers],
        "relevance": [round(5 * share(wanted, a)) for a in answers],
        "empowerment": [min(5, len(sentence_spans(a[:20_000]))) for a in answers],
        "directness": [round(5 * share(wanted, a[:200])) for a in answers],
    }
    reasons = {
        "comprehensiveness": "By the number of content words.",
        "relevance": "By the share of the question's words.",
        "empowerment": "By the number of sentences.",
        "directness": "By the share of the question's words at the beginning.",
    }
    return json.dumps({a: {"reason": reasons[a], "scores": row} for a, row in scores.items()})


def scripted_lengthen(request: ChatRequest) -> str:
    """Repeat the beginning of the answer, with the requested number of words."""
    last = last_turn(request)
    n = int(asked(last, "Words to append: ") or 0)
    words = fenced(last, "answer").split() or ["indeed"]
    return " ".join(words[i % len(words)] for i in range(n)) or "Indeed."
