"""Presets of the composition of rows: RAFT and GRAFT."""

from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias

from polygraph.errors import BadInput
from polygraph.records import Json, ReaderForm

WithoutOracle: TypeAlias = Literal["refuse", "answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """How rows are composed."""

    form: ReaderForm
    """Form of the completion."""
    oracle_share: float
    """Share of the rows that show the passages with the answer, in (0, 1] (RAFT: P)."""
    distractors: tuple[int, int]
    """Fewest and most passages without the answer in a row."""
    max_oracles: int = 2
    """Most passages that a question may rest on."""
    max_tokens: int | None = None
    """Most tokens of a row; None for no limit."""
    filled: bool = False
    """Whether further passages are added until no other one fits into `max_tokens`."""
    without_oracle: WithoutOracle = "refuse"
    """What a row without oracle teaches: to refuse, or to answer all the same (RAFT)."""


PRESETS = {
    # Zhang et al., RAFT (arXiv:2403.10131), section 3: one golden document or those of the question, four distractors,
    # P = 80%. The published rows have the answer where the oracle is missing; here they refuse unless asked otherwise.
    "raft": Preset(form="raft", oracle_share=0.8, distractors=(4, 4)),
    # Jin, Yu and Kokoromyti, GRAFT: one or two oracles, three or four distractors, filled to 2,048 tokens.
    "graft": Preset(form="graft", oracle_share=1.0, distractors=(3, 4), max_tokens=2_048, filled=True),
}


def preset_with(
    name: str,
    *,
    oracle_share: float | None = None,
    distractors: tuple[int, int] | None = None,
    max_tokens: int | None = None,
    without_oracle: WithoutOracle | None = None,
) -> Preset:
    """Return a preset with some values replaced.

    Raises:
        BadInput: if a value is out of its range.
    """
    if name not in PRESETS:
        raise BadInput(f"there is no preset {name!r}. Choose one of: {', '.join(PRESETS)}")
    preset = PRESETS[name]
    if oracle_share is not None:
        if not 0 < oracle_share <= 1:
            raise BadInput(
                f"--oracle-share {oracle_share:g} leaves no row with the passage that holds the answer, or is no "
                "share. Give more than 0 and at most 1, such as 0.8"
            )
        preset = replace(preset, oracle_share=oracle_share)
    if distractors is not None:
        low, high = distractors
        if not 1 <= low <= high:
            raise BadInput(
                f"--distractors {low}-{high} is no number of passages. Give at least 1, such as 4 or 1-4"
            )
        preset = replace(preset, distractors=distractors)
    if max_tokens is not None:
        if max_tokens < 1:
            raise BadInput(f"--max-tokens {max_tokens} leaves no room for passages. Give at least 500")
        preset = replace(preset, max_tokens=max_tokens)
    if without_oracle is not None:
        preset = replace(preset, without_oracle=without_oracle)
    return preset


def preset_as_json(preset: Preset) -> dict[str, Json]:
    """Return the values of a preset for the report."""
    return {**asdict(preset), "distractors": list(preset.distractors)}
