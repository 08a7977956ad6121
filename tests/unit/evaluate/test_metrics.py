"""Expected values are computed by hand, by the definitions in the papers, or by another library, as noted."""

import collections
import re
import string
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.answer_match import (
    PRF,
    accuracy,
    answer_tokens,
    exact_match,
    fgrag_exact_match,
    mhrag_lenient,
    normalise_answer,
    sub_exact_match,
    token_prf,
)
from polygraph.evaluate.metrics.cross_table import cross_table
from polygraph.evaluate.metrics.oracle import confusion, oracle
from polygraph.evaluate.metrics.refusals import count_refusals

ASCII = st.text(st.sampled_from(string.ascii_letters + " .,'-aAthe"), max_size=30)


def squad_normal(text):
    """The steps of the official script of SQuAD: lower, punctuation, articles, white space."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad_f1(prediction, gold):
    one, other = squad_normal(prediction).split(), squad_normal(gold).split()
    if not one or not other:
        return float(one == other)
    same = sum((collections.Counter(one) & collections.Counter(other)).values())
    if not same:
        return 0.0
    p, r = same / len(one), same / len(other)
    return 2 * p * r / (p + r)


@given(ASCII)
def test_on_ascii_answers_are_normalised_as_squad_does(text):
    assert normalise_answer(text) == squad_normal(text)


@given(ASCII, st.lists(ASCII, min_size=1, max_size=3))
def test_f1_is_the_best_of_squads_over_the_gold_answers(prediction, golds):
    special = {"yes", "no", "noanswer"}
    if squad_normal(prediction) in special or special & set(map(squad_normal, golds)):
        return
    assert token_prf(prediction, golds).f1 == pytest.approx(max(squad_f1(prediction, g) for g in golds))
    assert exact_match(prediction, golds) == max(squad_normal(prediction) == squad_normal(g) for g in golds)


def test_chinese_is_compared_by_character():
    assert answer_tokens("“北京”市。") == ["北", "京", "市"]
    found = token_prf("北京市", ["北京"])
    assert (found.precision, found.recall) == (pytest.approx(2 / 3), 1.0)
    assert exact_match("北京。", ["北京"]) == 1
    assert sub_exact_match("首都是北京市", ["北京"]) == 1


def test_yes_scores_nothing_for_no_even_if_words_are_shared():
    assert token_prf("no", ["no"]).f1 == 1
    assert token_prf("yes", ["no"]).f1 == 0
    assert token_prf("yes it is", ["yes"]).f1 == 0  # HotpotQA: the whole answer must be yes
    assert token_prf("yes", ["yes it is"]).f1 == 0


def test_no_gold_and_empty_answers_score_nothing():
    assert token_prf("", ["cat"]).f1 == token_prf("cat", []).f1 == 0
    assert exact_match("", ["cat"]) == sub_exact_match("", ["cat"]) == accuracy("", ["cat"]) == 0
    assert sub_exact_match("anything", ["the"]) == 0


@pytest.mark.parametrize(
    ("prediction", "gold", "right"),
    [
        ("No. The Verge says otherwise, yes.", "no", 1),
        ("There is no doubt that both articles agree: yes", "yes", 1),
        ("There is no doubt that both articles agree: yes", "no", 0),
        ("No doubt, yes.", "yes", 1),
        ("There is no reason to disagree, so the answer is: Yes, as [1] says no other did.", "yes", 1),
        ("Both report no change, therefore no", "no", 1),
        ("Neither of the two gives no date. **Answer:** no", "no", 1),
        ("I cannot tell", "yes", 0),
        ("", "no", 0),
        ("B", "B", 1),
        ("B. Increase by 45 %", "B", 1),
        ("**(B)** Increase", "B", 1),
        ("A dog is one reason; the answer is B.", "B", 1),
        ("A dog", "A", 0),
        ("Insufficient information to answer.", "Insufficient information.", 1),
        ("Old Tobin", "Insufficient information.", 0),
        ("It was Old Tobin.", "Old Tobin", 1),
        ("Tobias", "Tobin", 0),
    ],
)
def test_accuracy_reads_the_answer_in_the_reply(prediction, gold, right):
    assert accuracy(prediction, [gold]) == right


def test_the_lenient_accuracy_of_multihop_rag_takes_any_shared_word():
    assert mhrag_lenient("It is the Daily Mail", ["The Verge"]) == 1
    assert mhrag_lenient("Yes.", ["Yes"]) == 0  # punctuation stays on
    assert mhrag_lenient("", ["Yes"]) == 0


def test_fg_rags_match_ignores_only_letter_case():
    assert fgrag_exact_match("PARIS ", ["Paris"]) == 1
    assert fgrag_exact_match("The Paris", ["Paris"]) == 0


# --- overlap and meaning --------------------------------------------------------------------------------


def test_rouge_is_the_overlap_of_ngrams_and_takes_the_best_reference():
    pytest.importorskip("rouge_score")
    from polygraph.evaluate.metrics.rouge_bleu import rouge

    found = rouge("the cat sat on the mat", ["a dog", "the cat lay on the mat"])
    # 5 of 6 words; bigrams the-cat, on-the, the-mat of 5; longest common subsequence 5 of 6.
    assert found["rouge1"].f1 == pytest.approx(5 / 6)
    assert found["rouge2"].f1 == pytest.approx(3 / 5)
    assert found["rougeL"].f1 == pytest.approx(5 / 6)
    assert rouge("x", [])["rouge1"].f1 == 0


def test_on_english_rouge_matches_the_library():
    scorers = pytest.importorskip("rouge_score.rouge_scorer")
    from polygraph.evaluate.metrics.rouge_bleu import rouge

    prediction, reference = (
        "It's the U.S. Navy's 3rd ship -- sunk!",
        "The 3rd ship of the US navy, it's sunk.",
    )
    theirs = scorers.RougeScorer(["rouge1", "rouge2", "rougeL"]).score(reference, prediction)
    ours = rouge(prediction, [reference])
    assert {k: ours[k].f1 for k in ours} == pytest.approx({k: theirs[k].fmeasure for k in theirs})


def test_rouge_sees_chinese():
    pytest.importorskip("rouge_score")
    from polygraph.evaluate.metrics.rouge_bleu import rouge

    assert rouge("北京市", ["北京"])["rouge1"].recall == 1


def test_bleu_is_sacrebleus_with_its_signature():
    pytest.importorskip("sacrebleu")
    from polygraph.evaluate.metrics.rouge_bleu import bleu

    found = bleu(["the cat sat on the mat", "no"], [["the cat sat on the mat"], ["no", "nay"]])
    assert found.corpus == pytest.approx(1.0)
    assert found.sentences == pytest.approx((1.0, 1.0))
    for part in ("tok:13a", "smooth:exp", "version:"):
        assert part in found.signature
    # By hand: 3 of 4 words, 1 of 3 pairs, no triples or fours (smoothed to 1/4 of 1/2 and 1/8 of 1).
    single = bleu(["a b c d"], [["a b x d"]]).sentences[0]
    assert single == pytest.approx((3 / 4 * 1 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** 0.25, rel=0.01)
    with pytest.raises(ValueError, match="references"):
        bleu(["a"], [[]])


def test_similarity_uses_the_configured_embedder(tmp_path):
    from polygraph.config import Settings
    from polygraph.evaluate.metrics.semantic_similarity import semantic_similarity
    from polygraph.models.open import open_models

    settings = Settings(embedder="hash", name_embedder="hash", reranker="none")
    models = open_models(settings, None)
    found = semantic_similarity(
        ["the harbour light", "xyz", "x"], [["quite other", "the harbour light"], ["the light"], []], models
    )
    assert found[0] == pytest.approx(1.0, abs=1e-5)
    assert found[1] < 0.5
    assert found[2] == 0.0
    models.calls.close()


def test_bertscore_without_its_model_says_how_to_get_it(monkeypatch):
    from polygraph.evaluate.metrics import semantic_similarity as semantics

    class Offline:
        @staticmethod
        def score(*_, **__):
            raise OSError("We couldn't connect to the hub\nand found no files")

    monkeypatch.setitem(sys.modules, "bert_score", Offline)
    monkeypatch.setattr(semantics, "require_bert_score", lambda: None)
    with pytest.raises(BadInput, match=r"roberta-large of BERTScore is not on this machine .*HF_HOME"):
        semantics.bert_score(["a"], [["a"]])


def test_several_correct_options_are_compared_by_letter():
    # SQuAD's normalisation takes "A" for an article.
    assert token_prf("A, C", ["A, C"]).f1 == 1
    assert token_prf("C, A.", ["A, C"]).f1 == 1
    assert token_prf("A, B, C", ["A, C"]) == PRF(2 / 3, 1.0, 0.8)
    assert token_prf("A, D", ["D"]).precision == 0.5
    assert token_prf("(B) and (D)\nBecause it rains.", ["B, D"]).f1 == 1
    # Anything else is compared by words.
    assert token_prf("A mutant grows", ["A"]).f1 == 0
    assert token_prf("vitamin C", ["C"]).f1 == pytest.approx(2 / 3)


def test_bertscore_says_what_it_needs():
    from polygraph.evaluate.metrics.semantic_similarity import bert_score

    pytest.importorskip("polygraph")
    try:
        import bert_score as installed  # noqa: F401
    except ImportError:
        with pytest.raises(BadInput, match="pip install bert-score"):
            bert_score(["a"], [["a"]])


# --- what outcomes add up to ----------------------------------------------------------------------------


def test_the_confusion_of_two_methods_counts_every_shared_question_once():
    found = confusion({"1": 1.0, "2": 0.6, "3": 0.0, "4": 0.1, "x": 1.0}, {"1": 1, "2": 0, "3": 1, "4": 0.4})
    assert (found.both, found.a_only, found.b_only, found.neither, found.n) == (1, 1, 1, 1, 4)


def test_no_router_can_beat_the_oracle():
    scores = {"a": {"1": 1.0, "2": 0.0, "3": 0.5}, "b": {"1": 0.0, "2": 0.8, "3": 0.5}}
    found = oracle(scores)
    assert found.mean == pytest.approx((1 + 0.8 + 0.5) / 3)
    assert (found.best, found.best_mean) == ("a", pytest.approx(0.5))
    assert found.gain == pytest.approx(0.8 / 3)
    assert found.shares == {"a": pytest.approx(0.5), "b": pytest.approx(0.5)}
    assert oracle({"a": scores["a"]}).gain == 0
    with pytest.raises(ValueError, match="no question"):
        oracle({"a": {"1": 1.0}, "b": {"2": 1.0}})


def test_refusals_are_calibrated_on_null_and_answerable_questions():
    found = count_refusals([True] * 4 + [False] * 6, [True, True, True, False] + [True] + [False] * 5)
    assert (found.precision, found.recall) == (0.75, 0.75)
    never = count_refusals([False, False], [False, False])
    assert (never.precision, never.recall) == (None, None)


def test_a_table_has_margins_over_questions_not_over_cells():
    found = cross_table([1, 1, 0, 1], ["mh", "mh", "mh", "sh"], ["plot", "plot", "times", "plot"])
    assert list(found) == ["mh", "sh", "avg"]
    assert list(found["mh"]) == ["plot", "times", "avg"]
    assert found["mh"]["avg"].mean == pytest.approx(2 / 3)
    assert found["avg"]["avg"].mean == pytest.approx(3 / 4)
    assert "times" not in found["sh"]
