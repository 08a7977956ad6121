"""A scripted chat model that replies to every task, always in the same way."""

from collections.abc import Mapping, Sequence

from polygraph.models.providers.scripted import Handler, Rule, ScriptedChat
from polygraph.testing.scripts.agents import (
    scripted_graph_cot,
    scripted_rq_answer,
    scripted_rq_query,
)
from polygraph.testing.scripts.answering import (
    scripted_answer,
    scripted_check,
    scripted_condense,
    scripted_points,
    scripted_raft,
    scripted_word,
    scripted_word_alone,
)
from polygraph.testing.scripts.evaluation import (
    scripted_differences,
    scripted_gist,
    scripted_judge_list,
    scripted_judge_scores,
    scripted_judge_winner,
    scripted_lengthen,
    scripted_pose,
    scripted_user_questions,
    scripted_users,
)
from polygraph.testing.scripts.indexing import (
    scripted_descriptions,
    scripted_extraction,
    scripted_report,
    scripted_same,
    scripted_suggestions,
)
from polygraph.testing.scripts.questions import (
    scripted_graph_keywords,
    scripted_keywords,
    scripted_question_entities,
    scripted_relevant_facts,
    scripted_route,
)
from polygraph.testing.scripts.rograg import (
    scripted_answered,
    scripted_deduce,
    scripted_intent,
    scripted_keep_rows,
    scripted_plan,
    scripted_sub_answer,
    scripted_supports,
)
from polygraph.testing.scripts.summaries import (
    scripted_aspects,
    scripted_follow_up,
    scripted_hyde,
    scripted_primer,
    scripted_question_parts,
    scripted_rating,
    scripted_summary,
)


def scripted_chat(rules: Sequence[Rule] = (), *, name: str = "scripted") -> ScriptedChat:
    r"""Return a chat model that replies to every task by plain rules.

    The same request always has the same reply. Put it behind a server with ``ScriptedServer(chat=...)``.

    Args:
        rules: take precedence over the plain rules, as for `ScriptedChat`.
        name: of the model.

    >>> from polygraph.models.protocols import ChatRequest, Message
    >>> evidence = "<evidence>\n[1] Mara Quill lit the lamp.\n</evidence>"
    >>> turns = (Message("system", "Task: answer"), Message("user", f"{evidence}\n\nQuestion: Who is Mara?"))
    >>> scripted_chat().chat(ChatRequest(messages=turns)).text
    'Mara Quill lit the lamp. [1]'
    """
    return ScriptedChat(rules, replies=REPLIES, name=name)


REPLIES: Mapping[str, Handler] = {
    "extract": scripted_extraction,
    "describe": scripted_descriptions,
    "report": scripted_report,
    "same": scripted_same,
    "suggest_same": scripted_suggestions,
    "points": scripted_points,
    "answer": scripted_answer,
    "check_citations": scripted_check,
    "condense": scripted_condense,
    "keywords": scripted_keywords,
    "pose": scripted_pose,
    "gist": scripted_gist,
    "users": scripted_users,
    "user_questions": scripted_user_questions,
    "judge_scores": scripted_judge_scores,
    "judge_list": scripted_judge_list,
    "judge_winner": scripted_judge_winner,
    "differences": scripted_differences,
    "lengthen": scripted_lengthen,
    "graph_keywords": scripted_graph_keywords,
    "question_entities": scripted_question_entities,
    "relevant_facts": scripted_relevant_facts,
    "answer_overview": scripted_answer,
    "answer_word": scripted_word,
    "graft": scripted_word_alone,
    "raft": scripted_raft,
    "reason": scripted_raft,
    "question_parts": scripted_question_parts,
    "aspects": scripted_aspects,
    "summarise": scripted_summary,
    "hyde": scripted_hyde,
    "primer": scripted_primer,
    "follow_up": scripted_follow_up,
    "rate": scripted_rating,
    "graph_cot": scripted_graph_cot,
    "route": scripted_route,
    "rq_query": scripted_rq_query,
    "rq_answer": scripted_rq_answer,
    "plan": scripted_plan,
    "sub_answer": scripted_sub_answer,
    "deduce": scripted_deduce,
    "supports": scripted_supports,
    "answered": scripted_answered,
    "intent": scripted_intent,
    "keep_rows": scripted_keep_rows,
}
"""The reply of `scripted_chat` to each task, by name; also for `ScriptedChat(replies=...)`."""
