"""A scripted model that does every task of ours usefully, and always in the same way."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from polygraph.models.protocols import ChatRequest
from polygraph.models.providers.scripted import Handler, Rule, ScriptedChat
from polygraph.tasks.answer import NO_ANSWER
from polygraph.testing.prompt_reading import asked, blocks, fenced, last_turn, share
from polygraph.testing.scripts_agents import (
    scripted_graph_cot,
    scripted_route,
    scripted_rq_answer,
    scripted_rq_query,
)
from polygraph.testing.scripts_evaluate import (
    scripted_differences,
    scripted_gist,
    scripted_judge_list,
    scripted_judge_scores,
    scripted_judge_winner,
    scripted_lengthen,
    scripted_pose,
    scripted_users,
)
from polygraph.testing.scripts_question import (
    scripted_graph_keywords,
    scripted_keywords,
    scripted_question_entities,
)
from polygraph.testing.scripts_rograg import (
    scripted_answered,
    scripted_deduce,
    scripted_intent,
    scripted_keep_rows,
    scripted_plan,
    scripted_sub_answer,
    scripted_supports,
)
from polygraph.testing.scripts_summaries import (
    scripted_aspects,
    scripted_follow_up,
    scripted_hyde,
    scripted_primer,
    scripted_question_parts,
    scripted_rating,
    scripted_summary,
    scripted_word,
)
from polygraph.testing.scripts_walks import scripted_relevant_facts
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import STOP_WORDS, content_stems

_CAPITALISED = re.compile(r"\b[A-Z][\w’'-]{1,30}(?: [A-Z][\w’'-]{1,30}){0,3}")
_SENTENCE = re.compile(r"[^.!?\n]{1,600}[.!?]?")
_COMMON = frozenset(
    {
        *("the", "a", "an", "it", "he", "she", "they", "we", "in", "on", "at", "but", "and", "or", "as"),
        *("when", "this", "that", "there", "his", "her"),
    }
)
_SOURCED = re.compile(r"\[\d{1,6}(?:, ?\d{1,6}){0,50}\]$")
_PRONOUN = re.compile(r"\b(?:(he|she|it|they|him|them)|(his|her|hers|its|their|theirs))\b", re.IGNORECASE)
_MOST_SENTENCES = 2
_MOST_FINDINGS = 5
_MOST_POINTS = 12
_BROAD_SCORE = 10
"""Score of a point that shares no word with the question: enough to be kept, behind all that do."""


def scripted_chat(rules: Sequence[Rule] = (), *, name: str = "scripted") -> ScriptedChat:
    r"""Return a model that does every task of ours by plain rules.

    The same request always has the same reply. Put it behind a server with ``ScriptedServer(chat=...)``.

    Args:
        rules: what goes before the plain rules, as for `ScriptedChat`.
        name: what the model calls itself.

    >>> from polygraph.models.protocols import Message
    >>> evidence = "<evidence>\n[1] Mara Quill lit the lamp.\n</evidence>"
    >>> turns = (Message("system", "Task: answer"), Message("user", f"{evidence}\n\nQuestion: Who is Mara?"))
    >>> scripted_chat().chat(ChatRequest(messages=turns)).text
    'Mara Quill lit the lamp. [1]'
    """
    return ScriptedChat(rules, replies=REPLIES, name=name)


def scripted_extraction(request: ChatRequest) -> str:
    r"""Play an extractor: names are capitalised words, relations join neighbours in a sentence.

    Answers all three tasks of extraction in the format of our prompt: reading the text of the last
    ``<document>`` fence, gleaning (nothing was missed) and whether more is left (no).

    >>> from polygraph.models.protocols import Message
    >>> text = "<document>\nMara Quill sailed with Old Tobin.\n</document>"
    >>> print(scripted_extraction(ChatRequest(messages=(Message("user", text),))))
    entity | Mara Quill | concept | Mara Quill sailed with Old Tobin.
    entity | Old Tobin | concept | Mara Quill sailed with Old Tobin.
    relation | Mara Quill | Old Tobin | sailed with | text | 5 | Mara Quill sailed with Old Tobin.
    END
    """
    last = last_turn(request)
    if last.startswith("Task: more_left"):
        return "NO"
    if last.startswith("Task: glean"):
        return "NONE\nEND"
    document = fenced(last, "document") or last
    records: list[str] = []
    seen: set[str] = set()
    for found in _SENTENCE.finditer(document):
        sentence = " ".join(found.group().replace("|", " ").split())
        names = [m for m in _CAPITALISED.finditer(sentence) if m.group().casefold() not in _COMMON]
        for name in names:
            if name.group() not in seen:
                seen.add(name.group())
                records.append(f"entity | {name.group()} | concept | {sentence}")
        for left, right in pairwise(names):
            between = " ".join(re.findall(r"\w+", sentence[left.end() : right.start()].lower())[:4])
            if left.group() != right.group():
                ends = f"{left.group()} | {right.group()}"
                records.append(f"relation | {ends} | {between or 'with'} | text | 5 | {sentence}")
    return "\n".join([*records[:60], "END"]) if records else "NONE\nEND"


def scripted_report(request: ChatRequest) -> str:
    """Play a writer of reports: the first pieces of the material become findings, with their sources."""
    material = fenced(last_turn(request), "material")
    pieces = [line.lstrip("-* ") for line in material.splitlines() if _SOURCED.search(line)]
    if not pieces:
        return json.dumps({"title": "", "summary": material[:300] or "Nothing.", "rating": 1, "findings": []})
    return json.dumps(
        {
            "title": re.split(r"[:(—\[]", pieces[0])[0].strip()[:80],
            "summary": pieces[0],
            "rating": min(10, len(pieces)),
            "findings": [{"summary": piece, "explanation": ""} for piece in pieces[:_MOST_FINDINGS]],
        },
        ensure_ascii=False,
    )


def scripted_points(request: ChatRequest) -> str:
    """Play the map step: of each report the line that shares most words with the question, scored by them."""
    last = last_turn(request)
    wanted = set(content_stems(asked(last)))
    points = []
    for n, text in blocks(fenced(last, "reports")):
        lines = [line.lstrip("-# ").strip() for line in text.splitlines()[1:]]
        best = max((line for line in lines if line), key=lambda line: share(wanted, line), default="")
        if best:
            score = max(round(100 * share(wanted, best)), _BROAD_SCORE)
            points.append({"point": best, "score": score, "reports": [n]})
    points.sort(key=lambda point: (-int(str(point["score"])), str(point["reports"])))
    return json.dumps({"points": points[:_MOST_POINTS]}, ensure_ascii=False)


def scripted_answer(request: ChatRequest) -> str:
    """Play the answerer: the sentences of the evidence that share most words with the question, each cited.

    If no sentence shares a content word with the question, it says that there is no answer.
    """
    last = last_turn(request)
    question = asked(last)
    wanted = set(content_stems(question))
    found = [
        (share(wanted, text[start:end]), n, " ".join(text[start:end].split()))
        for n, text in blocks(fenced(last, "evidence"))
        for start, end in sentence_spans(text[:20_000])
    ]
    # Sorting is stable: among sentences that share as much, the earlier evidence comes first.
    best = sorted((item for item in found if item[0] > 0), key=lambda item: -item[0])
    chosen = list(dict.fromkeys((text, n) for _, n, text in best))[:_MOST_SENTENCES]
    if not chosen:
        return f"{NO_ANSWER} the evidence says nothing of {' and '.join(sorted(wanted)[:5]) or 'that'}."
    return " ".join(f"{text} [{n}]" for text, n in chosen)


def scripted_condense(request: ChatRequest) -> str:
    """Play the rewriter: the first pronoun becomes the last name that the conversation's questions hold."""
    last = last_turn(request)
    question = asked(last, "Last question: ")
    earlier = re.findall(r"^Question: (.*)$", fenced(last, "conversation"), re.MULTILINE)
    named = [_without_stop(match.group()) for text in earlier for match in _CAPITALISED.finditer(text)]
    name = next((name for name in reversed(named) if name), "")
    if not name:
        return question
    return _PRONOUN.sub(lambda match: name + ("'s" if match.group(2) else ""), question, count=1)


REPLIES: Mapping[str, Handler] = {
    "extract": scripted_extraction,
    "report": scripted_report,
    "points": scripted_points,
    "answer": scripted_answer,
    "condense": scripted_condense,
    "keywords": scripted_keywords,
    "pose": scripted_pose,
    "gist": scripted_gist,
    "users": scripted_users,
    "judge_scores": scripted_judge_scores,
    "judge_list": scripted_judge_list,
    "judge_winner": scripted_judge_winner,
    "differences": scripted_differences,
    "lengthen": scripted_lengthen,
    "graph_keywords": scripted_graph_keywords,
    "question_entities": scripted_question_entities,
    "relevant_facts": scripted_relevant_facts,
    "answer_word": scripted_word,
    "question_parts": scripted_question_parts,
    "aspects": scripted_aspects,
    "summarise": scripted_summary,
    "hyde": scripted_hyde,
    "primer": scripted_primer,
    "follow_up": scripted_follow_up,
    "rate": scripted_rating,
    "graph_cot": scripted_graph_cot,
    "route": scripted_route,
    "rq_query": scripted_rq_query,
    "rq_answer": scripted_rq_answer,
    "plan": scripted_plan,
    "sub_answer": scripted_sub_answer,
    "deduce": scripted_deduce,
    "supports": scripted_supports,
    "answered": scripted_answered,
    "intent": scripted_intent,
    "keep_rows": scripted_keep_rows,
}
"""What `scripted_chat` says, by the name of the task; also for `ScriptedChat(replies=...)`."""


def _without_stop(name: str) -> str:
    parts = name.split()
    while parts and parts[0].casefold() in STOP_WORDS:
        parts.pop(0)
    return " ".join(parts)
