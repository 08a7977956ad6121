"""Decide whether pieces of evidence support the claims that cite them.

Asks about several claims of one answer in a call, for the numbers of those that are supported and of those that are
not. A claim in neither list, or in both, stays undecided. Without a model nothing is asked: the rules of
`polygraph.text.claims` decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygraph.models import ChatModel
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, opening
from polygraph.prompts import as_data, numbered, one_line, prompt
from polygraph.tasks.parsing.verdict_lists import parse_verdicts, verdict_schema

CLAIMS_PER_CALL = 20
"""Claims in one request."""
STAGE = "check_citations"
"""Stage of the calls in the ledger and the estimate."""
_MAX_CLAIM = 1_000
"""Characters of a claim."""
_MAX_REPLY_TOKENS = 40 + 10 * CLAIMS_PER_CALL
_LISTS = ("supported", "unsupported")


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """A claim of an answer and the evidence that it cites."""

    text: str
    """Without its citations."""
    cited: tuple[int, ...]
    """Numbers of pieces of evidence, ascending."""


def check_request(question: str, claims: Sequence[CitedClaim], evidence: Mapping[int, str]) -> ChatRequest:
    """Return the request about some claims of an answer, at most `CLAIMS_PER_CALL`.

    Pieces of evidence are numbered from 1 in the request, in the order of their numbers.

    Args:
        question: that was answered.
        claims: in the order of the answer.
        evidence: the text of each piece that a claim cites, by number.
    """
    pieces = sorted({n for claim in claims for n in claim.cited})
    number = {n: shown for shown, n in enumerate(pieces, 1)}
    heads = [f"(cites {', '.join(str(number[n]) for n in claim.cited)}) " for claim in claims]
    system, user = prompt("check_citations").fill(
        {
            "passages": as_data(numbered([evidence[n] for n in pieces], "passages"), "passages"),
            "question": question,
            "claims": as_data(
                numbered(
                    [one_line(c.text)[:_MAX_CLAIM] for c in claims], "claims", separator="\n", heads=heads
                ),
                "claims",
            ),
        }
    )
    return ChatRequest(
        messages=opening(system, user),
        max_output_tokens=_MAX_REPLY_TOKENS,
        schema=verdict_schema(*_LISTS),
    )


def supported_claims(
    question: str,
    claims: Sequence[CitedClaim],
    evidence: Mapping[int, str],
    chat: ChatModel,
    calls: Calls,
    *,
    method: str,
) -> tuple[bool | None, ...]:
    """Decide for each claim whether the evidence that it cites supports it; one call.

    Args:
        question: that was answered.
        claims: at most `CLAIMS_PER_CALL`, in the order of the answer.
        evidence: the text of each piece that a claim cites, by number.
        chat: the model.
        calls: sends the request.
        method: for the ledger.

    Returns:
        For each claim True, False, or None if it stays undecided.

    Raises:
        UnusableReply: if the reply has neither list, also after the repair round.
    """
    request = check_request(question, claims, evidence)
    return calls.ask(
        chat,
        request,
        lambda text: parse_verdicts(text, *_LISTS, len(claims)),
        stage=STAGE,
        method=method,
    )
