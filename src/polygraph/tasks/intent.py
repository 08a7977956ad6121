"""What a user wants: an answer from the documents, or something that needs no look into them.

ROGRAG, arXiv:2503.06474, figure 2; the slots are those of HuixiangDou, arXiv:2401.08772, with which it shares its code.
"""

import re
from typing import Literal, TypeAlias

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import as_data, prompt
from polygraph.tasks.output_parsing import without_thinking
from polygraph.text.words import words

Intent: TypeAlias = Literal["question", "greeting", "identity", "undefined"]
INTENTS: tuple[Intent, ...] = ("question", "greeting", "identity", "undefined")
_CHARACTERS = 2_000
_REPLY_TOKENS = 100
_SALUTES = """hi hello hey hiya greetings morning afternoon evening bye goodbye thanks thank thx cheers welcome
    hallo tag danke tschüss bonjour salut merci hola gracias ciao grazie 你好 您好 谢谢 再见"""
"""One of these stands in every greeting."""
_AROUND = """good day night please ok okay you there everyone all again so much very nice to meet how are doing guten
    morgen abend buenos días buenas tardes"""
"""What may stand beside it."""
_CORE = frozenset(_SALUTES.split())
_GREETINGS = _CORE | frozenset(_AROUND.split())
_IDENTITY = re.compile(
    r"\W*(?:(?:who|what) (?:exactly )?are you|what(?:'s|’s| is) your name|who (?:made|built|created) you|"
    r"what can you do|are you (?:a|an) (?:robot|bot|ai|machine|human|person|language model)|你是谁)\W*",
    re.IGNORECASE,
)


def question_intent(text: str, models: Models, *, method: str) -> Intent:
    """Sort what a user wrote: one call with a model, rules without.

    A reply that is none of the words counts as a question, which costs a search at most.
    """
    if models.chat is None:
        return intent_by_rules(text)
    system, user = prompt("intent").fill({"text": as_data(text[:_CHARACTERS], "text")})
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_output_tokens=_REPLY_TOKENS
    )
    try:
        return models.calls.ask(models.chat, request, read_intent, stage="intent", method=method)
    except UnusableReply:
        return "question"


def read_intent(text: str) -> Intent:
    """Read an intent from the first word of a reply.

    Raises:
        UnusableReply: if it is none.

    >>> read_intent("GREETING.")
    'greeting'
    """
    first = next(iter(words(without_thinking(text)[:200])), "")
    for intent in INTENTS:
        if first == intent:
            return intent
    listed = ", ".join(i.upper() for i in INTENTS)
    raise UnusableReply(f"it begins with none of the words {listed}: reply with one of them", text)


def intent_by_rules(text: str) -> Intent:
    """Sort by words alone; what is not plainly something else is a question.

    >>> [intent_by_rules(t) for t in ("Good morning!", "Who are you?", "Who lit the lamp?", "?!")]
    ['greeting', 'identity', 'question', 'undefined']
    """
    said = words(text[:_CHARACTERS])
    if not said:
        return "undefined"
    if len(said) <= 8 and set(said) <= _GREETINGS and not _CORE.isdisjoint(said):
        return "greeting"
    return "identity" if len(text) < 100 and _IDENTITY.fullmatch(text) else "question"
