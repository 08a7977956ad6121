"""Classify what a user wrote: a question for the documents, a greeting, a question about the system, or none of these.

ROGRAG, arXiv:2503.06474, figure 2; the classes are those of HuixiangDou, arXiv:2401.08772, with which ROGRAG shares
code. Asks for one word. A reply that is still none of the words after the repair round counts as `question`, which
costs a search at most.
"""

import re
from typing import Literal, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import as_data, prompt
from polygraph.tasks.parsing.short_replies import without_thinking
from polygraph.text.words import words

Intent: TypeAlias = Literal["question", "greeting", "identity", "undefined"]
INTENTS: tuple[Intent, ...] = ("question", "greeting", "identity", "undefined")
_CHARACTERS = 2_000
_REPLY_TOKENS = 100
_GREETING_WORDS = """hi hello hey hiya greetings morning afternoon evening bye goodbye thanks thank thx cheers welcome
    hallo tag danke tschüss bonjour salut merci hola gracias ciao grazie 你好 您好 谢谢 再见"""
"""A greeting contains one of these."""
_ACCOMPANYING_WORDS = """good day night please ok okay you there everyone all again so much very nice to meet how are
    doing guten morgen abend buenos días buenas tardes"""
"""Other words that a greeting may contain."""
_GREETING = frozenset(_GREETING_WORDS.split())
_IN_GREETING = _GREETING | frozenset(_ACCOMPANYING_WORDS.split())
_IDENTITY = re.compile(
    r"\W*(?:(?:who|what) (?:exactly )?are you|what(?:'s|’s| is) your name|who (?:made|built|created) you|"
    r"what can you do|are you (?:a|an) (?:robot|bot|ai|machine|human|person|language model)|你是谁)\W*",
    re.IGNORECASE,
)


def classify_intent(text: str, models: Models, *, method: str) -> Intent:
    """Return the intent of a text: one call with a model, `intent_by_rules` without."""
    if models.chat is None:
        return intent_by_rules(text)
    system, user = prompt("intent").fill({"text": as_data(text[:_CHARACTERS], "text")})
    request = ChatRequest(messages=opening(system, user), max_output_tokens=_REPLY_TOKENS)
    try:
        return models.calls.ask(models.chat, request, parse_intent, stage="intent", method=method)
    except UnusableReply:
        return "question"


def parse_intent(text: str) -> Intent:
    """Parse the intent that a reply begins with.

    Raises:
        UnusableReply: if its first word is none.

    >>> parse_intent("GREETING.")
    'greeting'
    """
    first = next(iter(words(without_thinking(text)[:200])), "")
    for intent in INTENTS:
        if first == intent:
            return intent
    listed = ", ".join(i.upper() for i in INTENTS)
    raise UnusableReply(f"it begins with none of the words {listed}: reply with one of them", text)


def intent_by_rules(text: str) -> Intent:
    """Classify by words alone; the default is a question.

    >>> [intent_by_rules(t) for t in ("Good morning!", "Who are you?", "Who lit the lamp?", "?!")]
    ['greeting', 'identity', 'question', 'undefined']
    """
    found = words(text[:_CHARACTERS])
    if not found:
        return "undefined"
    if len(found) <= 8 and set(found) <= _IN_GREETING and not _GREETING.isdisjoint(found):
        return "greeting"
    return "identity" if len(text) < 100 and _IDENTITY.fullmatch(text) else "question"
