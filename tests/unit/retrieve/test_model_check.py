"""Citations that a chat model checks: what is asked, what its verdicts do, and what happens without them."""

import json
from dataclasses import replace

import pytest

from polygraph.models.providers.scripted import ScriptedChat
from polygraph.retrieve.answer import answer
from polygraph.retrieve.model_check import check_by_model
from polygraph.tasks.evidence.check_citations import CLAIMS_PER_CALL, CitedClaim, check_request
from polygraph.testing import hashed_models, scripted_chat
from polygraph.testing.scripts.prompt_reading import blocks, fenced, last_turn
from tests.unit.retrieve.conftest import QUESTION, TEXTS

REPLY = "Mara Quill built the light [1]. Tobias Wren got rid of the fog horn [2]."


def answered(retrieval, index, verdicts, *, reply=REPLY):
    chat = ScriptedChat(replies={"answer": lambda _: reply, "check_citations": lambda _: verdicts})
    models = replace(hashed_models(chat), citation_check="model")
    return answer(QUESTION, retrieval, index, models), chat


def test_a_claim_that_the_model_calls_unsupported_loses_its_citation(retrieval, index):
    found, chat = answered(retrieval, index, '{"supported": [1], "unsupported": [2]}')
    assert found.text == "Mara Quill built the light [1]. Tobias Wren got rid of the fog horn."
    assert [c.document for c in found.citations] == ["a.txt"]
    assert "by the check of a model, its passage does not say “Tobias Wren got rid" in found.notes[0]
    assert found.usage.calls == len(chat.requests) == 2


def test_the_model_sees_each_claim_with_the_pieces_that_it_cites_and_no_other(retrieval, index):
    _, chat = answered(
        retrieval, index, '{"supported": [1]}', reply="The horn was bought by Tobias Wren [2] in a gale [2]."
    )
    turn = last_turn(chat.requests[-1])
    assert [text for _, text in blocks(fenced(turn, "passages"))] == [f"b\n{TEXTS['b.txt']}"]
    claims = [text for _, text in blocks(fenced(turn, "claims"))]
    assert claims[0] == "(cites 1) The horn was bought by Tobias Wren"
    assert len(claims) == 2
    assert f"Question: {QUESTION}" in turn


def test_the_model_may_keep_what_the_rules_would_remove_but_not_a_number_without_evidence(retrieval, index):
    reply = "Seventy-one years after 1800 Mara Quinn built the light [1]. It shines [9]."
    rules, _ = answered(retrieval, index, "{}", reply=reply)
    assert not rules.citations
    found, _ = answered(retrieval, index, '{"supported": [1, 2], "unsupported": []}', reply=reply)
    assert [c.n for c in found.citations] == [1]
    assert found.text.endswith("It shines.")
    assert "there is no such evidence" in found.notes[0]


def test_a_clause_of_few_words_is_asked_about_with_its_sentence(retrieval, index):
    reply = "Mara Quill built the light [1], in 1871 [1]."
    _, chat = answered(retrieval, index, '{"supported": [1, 2]}', reply=reply)
    claims = [text for _, text in blocks(fenced(last_turn(chat.requests[-1]), "claims"))]
    assert claims[1] == "(cites 1) in 1871 (in: Mara Quill built the light, in 1871)"


@pytest.mark.parametrize(
    "verdicts",
    ["no idea", '{"supported": [], "unsupported": []}', '{"supported": [1, 2], "unsupported": [1, 2]}'],
)
def test_rules_decide_what_the_model_leaves_undecided(retrieval, index, verdicts):
    reply = "Mara Quill built the light [1]. The fog horn was bought by Tobias Quill [2]."
    found, _ = answered(retrieval, index, verdicts, reply=reply)
    assert [c.n for c in found.citations] == [1]
    assert "does not support" in found.notes[0]
    assert "model" not in found.notes[0]


def test_no_call_is_made_by_default_without_citations_or_for_a_refusal(retrieval, index):
    chat = ScriptedChat(replies={"answer": lambda _: REPLY})
    answer(QUESTION, retrieval, index, hashed_models(chat))
    assert len(chat.requests) == 1
    for reply in ("Mara Quill built it.", "NO ANSWER: nothing is said [1]."):
        _, chat = answered(retrieval, index, "{}", reply=reply)
        assert len(chat.requests) == 1


def test_a_long_answer_takes_several_calls_in_its_order():
    chat = ScriptedChat(
        replies={
            "check_citations": lambda request: json.dumps(
                {"supported": [n for n, _ in blocks(fenced(last_turn(request), "claims"))], "unsupported": []}
            )
        }
    )
    claims = [CitedClaim(f"Claim {n}.", (n % 3 + 1,)) for n in range(2 * CLAIMS_PER_CALL + 1)]
    shown = [("One.",), ("Two.",), ("Three.",)]
    models = hashed_models(chat)
    assert check_by_model(QUESTION, claims, shown, models, method="naive") == [True] * len(claims)
    assert len(chat.requests) == 3
    # Long pieces of evidence end a call, too, and each is cut.
    long = [("x" * 50_000,)] * 30
    chat.requests.clear()
    check_by_model(
        QUESTION, [CitedClaim(f"Claim {n}.", (n,)) for n in range(1, 14)], long, models, method="naive"
    )
    assert [len(list(blocks(fenced(last_turn(r), "claims")))) for r in chat.requests] == [6, 6, 1]
    assert all(len(last_turn(r)) < 30_000 for r in chat.requests)


def test_passages_behind_a_piece_follow_what_the_model_saw_the_nearest_first():
    chat = scripted_chat()
    models = hashed_models(chat)
    seen: list[str] = []
    chat_of = replace(
        models, chat=ScriptedChat([(lambda request: bool(seen.append(last_turn(request)) or True), "{}")])
    )
    shown = [("Horn: bought.", "Bees hum.", "Horn: bought.", "Tobias Wren bought the horn.")]
    with pytest.raises(ValueError, match="there is none"):
        check_by_model(QUESTION, [], shown, replace(models, chat=None), method="naive")
    assert check_by_model(
        QUESTION, [CitedClaim("Tobias Wren bought it.", (1,))], shown, chat_of, method="naive"
    ) == [None]
    assert fenced(seen[0], "passages") == "[1] Horn: bought.\nTobias Wren bought the horn.\nBees hum."


def test_the_scripted_model_finds_claims_whose_words_are_not_in_their_pieces():
    request = check_request(
        QUESTION,
        [CitedClaim("Mara Quill built the light.", (2,)), CitedClaim("Bees hum loudly.", (2, 5))],
        {2: TEXTS["a.txt"], 5: TEXTS["b.txt"]},
    )
    assert json.loads(scripted_chat().chat(request).text) == {"supported": [1], "unsupported": [2]}
