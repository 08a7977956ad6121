"""Rows that fill the budget of a table."""

from polygraph.retrieve.dual_level import fit_rows

ROWS = [f"row {n}" for n in range(1_000)]


def written(log):
    def write(rows):
        log.extend(rows)
        return [f"{row}: one two three" for row in rows]

    return write


def test_rows_are_written_until_the_budget_is_full_and_the_tokens_of_the_others_reckoned():
    log = []
    kept, (cut,) = fit_rows(ROWS, written(log), 500, "entity")
    every, () = fit_rows(ROWS, written([]), 10**6, "entity")
    assert list(every) == ROWS
    assert list(kept) == ROWS[: len(kept)]
    assert 30 < len(kept) < 100
    assert log == ROWS[: len(log)]
    # Rows that nobody sees are not written, but for a few that are counted.
    assert len(log) <= len(kept) + 10
    assert (cut.kind, cut.n_items, cut.budget) == ("entity", 1_000 - len(kept), 500)
    # Numbers of one to three digits are one token each, so that the mean of some rows is that of all.
    (_, (counted,)) = fit_rows(ROWS[:200], written([]), 500, "entity")
    assert cut.n_tokens / cut.n_items == counted.n_tokens / counted.n_items


def test_rows_that_are_as_long_as_rows_can_be_are_not_written_beyond_the_budget():
    log = []

    def write(rows):
        log.extend(rows)
        return [" ".join(["one"] * 160)] * len(rows)

    kept, (cut,) = fit_rows(ROWS, write, 8_000, "relation")
    assert len(kept) == (8_000 - 8) // 164
    assert len(log) == len(kept) + 10
    assert cut.n_tokens == 160 * (1_000 - len(kept))


def test_the_first_row_stays_even_if_it_is_longer_than_the_budget():
    kept, (cut,) = fit_rows(ROWS[:3], written([]), 1, "relation")
    assert (list(kept), cut.n_items) == (ROWS[:1], 2)
