"""Questions about the whole collection."""

import pytest

from polygraph.tasks.offline.question_scope import is_global_question


@pytest.mark.parametrize(
    ("question", "is_global"),
    [
        ("What are the main themes of these documents?", True),
        ("Summarise the collection.", True),
        ("Who built the light?", False),
        ("What are the main duties of Mara Quill?", False),
        ("", False),
    ],
)
def test_global_questions_name_nothing_and_ask_for_the_whole(question, is_global):
    assert is_global_question(question) is is_global
