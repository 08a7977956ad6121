"""Tokens of rows, with the tokens that are learned."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from polygraph.finetune.training.recipes import Learned
from polygraph.finetune.training.rows import ChatRow
from polygraph.tasks.answers.raft import ANSWER, BEGIN_QUOTE, END_QUOTE

_MARK = re.compile("|".join(map(re.escape, (BEGIN_QUOTE, END_QUOTE, ANSWER))))
TOO_LONG, HAS_CONTROL_TOKEN = "too long", "with a control token of the model in their text"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A row as token ids."""

    ids: tuple[int, ...]
    start: int
    """Index of the first learned token: of the completion, or of its answer; all that follow are learned."""
    marks: tuple[int, ...] = ()
    """Indices of the learned tokens that mark quotes and the answer; none in the form `graft`."""
    answer: int = 0
    """Index of the first token of the answer; all that follow belong to it."""

    @property
    def n_learned(self) -> int:
        """Learned tokens."""
        return len(self.ids) - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRows:
    """Rows as tokens, and those left out."""

    rows: tuple[TokenRow, ...]
    left_out: Counter[str]
    """Number of rows by reason."""
    longest: int
    """Tokens of the longest row, left out or not."""

    @property
    def n_tokens(self) -> int:
        """Tokens of all rows."""
        return sum(len(row.ids) for row in self.rows)

    @property
    def n_learned(self) -> int:
        """Learned tokens of all rows."""
        return sum(row.n_learned for row in self.rows)


def tokenize_rows(
    rows: Iterable[ChatRow], tokenizer: Any, max_tokens: int, learned: Learned = "reply"
) -> TokenRows:
    """Convert rows to tokens as the model sees them when it is used.

    Prompt and completion are converted apart, since the model writes after a complete prompt. Text that contains a
    control token, such as the end of a turn, could forge turns: such rows are left out.
    """
    kept: list[TokenRow] = []
    left_out: Counter[str] = Counter()
    longest = 0
    controls = control_tokens(tokenizer)
    for row in rows:
        if any(token in turn["content"] for turn in row.turns for token in controls):
            left_out[HAS_CONTROL_TOKEN] += 1
            continue
        prompt, completion = texts(row, tokenizer)
        before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        after = tokenizer(completion, add_special_tokens=False, return_offsets_mapping=True)
        ids = (*before, *after["input_ids"])
        spans = list(enumerate(after["offset_mapping"], len(before)))
        marks = [found.span() for found in _MARK.finditer(completion)]
        begin, end = next((m for m in reversed(marks) if completion.startswith(ANSWER, m[0])), (0, 0))
        start = _first(spans, begin) if learned == "answer" else len(before)
        row_marks = [i for i, (a, b) in spans if i >= start and any(a < e and b > s for s, e in marks)]
        longest = max(longest, len(ids))
        if len(ids) > max_tokens:
            left_out[TOO_LONG] += 1
        else:
            kept.append(TokenRow(ids=ids, start=start, marks=tuple(row_marks), answer=_first(spans, end)))
    return TokenRows(rows=tuple(kept), left_out=left_out, longest=longest)


def _first(spans: Sequence[tuple[int, tuple[int, int]]], place: int) -> int:
    """Return the index of the first token that begins at a place of the text or after it."""
    return next((i for i, (begin, _) in spans if begin >= place), spans[-1][0])


def control_tokens(tokenizer: Any) -> tuple[str, ...]:
    """Return the special tokens of a tokenizer, sorted."""
    added = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
    return tuple(sorted(token for token in added | set(tokenizer.all_special_tokens) if token))


def texts(row: ChatRow, tokenizer: Any) -> tuple[str, str]:
    """Return prompt and completion in the chat template of the model.

    The completion ends with the end token, after which the model stops.
    """
    *before, last = (dict(turn) for turn in row.turns)
    end = str(tokenizer.eos_token or "")
    prompt = str(tokenizer.apply_chat_template(before, tokenize=False, add_generation_prompt=True))
    whole = str(tokenizer.apply_chat_template([*before, last], tokenize=False))
    if not whole.startswith(prompt):
        # The template changes earlier turns; the model is used with `prompt`.
        return prompt, f"{last['content']}{end}"
    completion = whole[len(prompt) :].rstrip()
    return prompt, completion if completion.endswith(end) else f"{completion}{end}"
