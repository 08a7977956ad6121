"""spaCy's parser and recogniser of names, with the loop over their steps in Python.

`Parser.predict` runs all steps of a batch in compiled code that has released the interpreter's lock. For Python before
3.12 spaCy is built with hooks for profilers, and there each small function of that code acquires the lock and releases
it, some hundred times for each word. That takes longer than the model. Code that holds the lock passes the hooks at no
cost.
"""

from collections.abc import Sequence
from typing import Any


def run_transitions(component: Any, docs: Sequence[Any]) -> None:
    """Annotate texts by a transition-based component (`spacy.pipeline.transition_parser.Parser`).

    The same numbers as in `component.predict`, and so the same annotations.

    Args:
        component: the parser or the recogniser of names.
        docs: a batch of texts that the components before it annotated; they are changed in place. A batch takes as
            many steps as its longest text, and a step as long as some ten words.
    """
    states = component.moves.init_batch(docs)
    unfinished = [state for state in states if not state.is_final()]
    if unfinished:
        step = component.model.predict(docs)
        while unfinished:
            # As `step.predict` does, except for classes that were not seen in training, of which the model has none.
            hidden, _ = step.state2vec(step.get_token_ids(unfinished), False)
            unfinished = component.transition_states(unfinished, step.vec2scores.predict(hidden))
        step.clear_memory()  # it refers to itself
    component.set_annotations(docs, states)
