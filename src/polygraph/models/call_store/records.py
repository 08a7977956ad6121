"""What is stored about calls: attempts, the ledger, questions, and requests in quarantine."""

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["ok", "failed", "repaired"]
Durability: TypeAlias = Literal["normal", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of a call, with its outcome."""

    stage: str
    """Purpose of the call: extract, answer, judge..."""
    method: str
    """The retrieval method that it was made for, or empty."""
    model: str
    outcome: Outcome
    """`repaired`: the repair round after an unusable reply."""
    problem: str = ""
    """Reason of a failure."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = 0.0
    """In US dollars; None when the price is not known."""
    unreported: bool = False
    """True if the server may have billed it without reporting tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """Usage of one model by one stage for one method."""

    stage: str
    method: str
    model: str
    ok: int
    """Attempts that were answered."""
    failed: int
    """Attempts that failed."""
    repaired: int
    """Answered attempts of repair rounds."""
    cached: int
    """Replies, or embedded texts, that came from the store."""
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    """Summed over concurrent calls."""
    cost: float | None
    """In US dollars; None if any price was not known."""
    unreported: int
    """Attempts that may have been billed without reported tokens: the gap to the provider's bill."""

    @property
    def attempts(self) -> int:
        """Number of attempts."""
        return self.ok + self.failed + self.repaired

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the row as plain values, in the order of its fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionUsage:
    """Usage of the questions that a method answered with a model, including repeated questions."""

    n: int
    calls: int
    """Calls of a language model, including those answered from the store."""
    tokens: int
    """Tokens of these calls, read and written, as if none had been cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A request whose reply could not be used even after the repair round."""

    key: str
    repair_key: str
    stage: str
    method: str
    model: str
    problem: str
    raw: str
    """The last reply as received."""
