"""Which rows fulfil a condition, as a model says."""

import pytest

from polygraph.models.providers.scripted import ScriptedChat
from polygraph.tasks.evidence.verify import filter_rows
from polygraph.testing import hashed_models


@pytest.mark.parametrize("reply", ['{"keep": [2, 1]}', '{"keep": ["1", "2", 2, 9, true]}', '["2", 1]'])
def test_numbers_of_rows_are_read_also_as_texts(reply):
    models = hashed_models(ScriptedChat(replies={"keep_rows": lambda _: reply}))
    assert filter_rows(["a", "b", "c"], "is early", models, method="") == ([0, 1], 1)
