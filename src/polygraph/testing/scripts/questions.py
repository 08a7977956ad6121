"""Scripted replies to the tasks that read a question: keywords, entities, relevant facts, route."""

import json

from polygraph.models.protocols import ChatRequest
from polygraph.tasks.questions.route import route_by_rules
from polygraph.testing.scripts.prompt_reading import asked, blocks, content_parts, fenced, last_turn, share
from polygraph.text.words import phrases


def scripted_keywords(request: ChatRequest) -> str:
    """Return the phrases that look like names as details, and the others as themes."""
    found = _phrases(request)
    details = [text for text, named in found if named]
    themes = [text for text, named in found if not named]
    return json.dumps({"themes": themes[:10], "details": details[:10]}, ensure_ascii=False)


def scripted_question_entities(request: ChatRequest) -> str:
    """Return the phrases that look like names as named entities, and the others as generic ones."""
    found = _phrases(request)
    named = [text for text, is_name in found if is_name]
    generic = [text for text, is_name in found if not is_name]
    return json.dumps({"named": named[:10], "generic": generic[:10]}, ensure_ascii=False)


def scripted_graph_keywords(request: ChatRequest) -> str:
    """Return the phrases that look like names, then the others."""
    found = sorted(_phrases(request), key=lambda phrase: not phrase[1])
    return json.dumps({"keywords": [text for text, _ in found][:10]}, ensure_ascii=False)


def scripted_relevant_facts(request: ChatRequest) -> str:
    """Return the facts that share a content word with the question."""
    last = last_turn(request)
    wanted = content_parts(asked(last))
    kept = [n for n, text in blocks(fenced(last, "facts")) if share(wanted, text) > 0]
    return json.dumps({"facts": kept})


def scripted_route(request: ChatRequest) -> str:
    """Route by rules, as without a model."""
    return route_by_rules(asked(last_turn(request))).kind


def _phrases(request: ChatRequest) -> list[tuple[str, bool]]:
    """Return the phrases of the question, cut so that ten of them fit into a short reply."""
    return [(text[:60], named) for text, named in phrases(asked(last_turn(request)))]
