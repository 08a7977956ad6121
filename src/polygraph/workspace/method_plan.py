"""What an estimate knows of a retrieval method: its layers, calls and budget, as plain values."""

from dataclasses import fields

from polygraph.indexing.estimate.questions import MethodPlan
from polygraph.retrieve import UNLIMITED
from polygraph.retrieve import method as find_method


def method_plan(name: str) -> MethodPlan:
    """Describe a method; one without a budget of its own is estimated with that of its recommended variant.

    Raises:
        UnknownMethod: if there is none of this name.
    """
    chosen = find_method(name)
    has_budget = chosen.max_tokens < UNLIMITED
    default = chosen if has_budget else find_method(name.partition(":")[0])
    return MethodPlan(
        name=name,
        needs=chosen.needs,
        calls=chosen.calls,
        max_tokens=default.max_tokens,
        has_budget=has_budget,
        parameters={f.name: getattr(chosen, f.name) for f in fields(chosen)},  # type: ignore[arg-type]
    )
