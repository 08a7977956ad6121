"""Scripted replies to the tasks of methods that walk over the graph."""

import json

from polygraph.models.protocols import ChatRequest
from polygraph.testing.prompt_reading import asked, blocks, fenced, last_turn, share
from polygraph.text.words import content_stems


def scripted_relevant_facts(request: ChatRequest) -> str:
    """Facts that share a content word with the question."""
    last = last_turn(request)
    wanted = set(content_stems(asked(last)))
    kept = [n for n, text in blocks(fenced(last, "facts")) if share(wanted, text) > 0]
    return json.dumps({"facts": kept})
