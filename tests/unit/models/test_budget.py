import threading

import pytest

from polygraph.errors import BudgetReached
from polygraph.models.budget import Budget


def test_a_refusal_states_what_the_calls_in_flight_have_spent_too():
    budget = Budget(max_tokens=100, max_cost=None)
    refusals = []

    def ask_for_too_much():
        with pytest.raises(BudgetReached) as refused, budget.reserve(200, 0.0):
            pass
        refusals.append(str(refused.value))

    other = threading.Thread(target=ask_for_too_much)
    with budget.reserve(60, 0.0):
        other.start()
        other.join(0.2)
        assert not refusals
        budget.spend(50, 0.0)
    other.join(10)
    assert len(refusals) == 1
    assert "50 tokens spent in 1 call" in refusals[0]
