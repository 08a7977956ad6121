"""Invariants of the unbiased protocol."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.errors import UnusableReply
from polygraph.evaluate.judging.judgements import Judgement, outcomes, verdicts_by_order
from polygraph.evaluate.judging.judges import ChatPairJudge
from polygraph.evaluate.judging.pairwise import AnswerPair, JudgingDesign, judge_pairs
from polygraph.evaluate.records import record_reader
from polygraph.evaluate.statistics.agreement import order_consistency
from polygraph.evaluate.statistics.win_rates import win_rates
from polygraph.tasks.evaluation.judge import ASPECTS, JudgeReply, parse_scores


class Judge:
    """Scores by the number in the answer, with a bonus for the first position."""

    name = "judge"

    def __init__(self, first=0, fails=lambda *_: False):
        self.first = first
        self.fails = fails
        self.asked = []

    def __call__(self, question, first, second, sample):
        self.asked.append((question, first, second, sample))
        if self.fails(first, second, sample):
            raise UnusableReply("prose", "no scores")
        scores = (min(5, int(first) + self.first), int(second))
        return JudgeReply(
            {aspect: tuple(map(float, scores)) for aspect in ASPECTS},
            dict.fromkeys(ASPECTS, f"{first} v. {second}"),
        )


def run(function, tasks):
    return map(function, tasks)


def pair(n, a, b):
    return AnswerPair(question=f"q{n}", text=f"Question {n}?", a="A", b="B", answers=(str(a), str(b)))


def test_each_pair_is_judged_in_both_orders_as_designed():
    judge = Judge()
    found = judge_pairs([pair(1, 3, 2)], judge, JudgingDesign(repeats=2, trials=3), run=run)
    assert len(found) == JudgingDesign(repeats=2, trials=3).n_calls(1) == 12
    assert sum(j.methods == ("A", "B") for j in found) == 6
    assert sorted({sample for *_, sample in judge.asked}) == list(range(6))
    assert len({j.key for j in found}) == 12


def test_a_preference_for_the_first_position_cancels_out():
    found = judge_pairs(
        [pair(1, 2, 2), pair(2, 2, 3)], Judge(first=2), JudgingDesign(repeats=2, trials=1), run=run
    )
    results = [o.verdict() for o in outcomes(found, "A", "B")]
    assert results == ["tie", "b"]
    assert order_consistency(*verdicts_by_order(found, "A", "B")).first_won_both == 4


def test_earlier_judgements_are_not_repeated_and_new_ones_are_reported_at_once():
    kept = []
    how = JudgingDesign(repeats=1, trials=2)
    first = judge_pairs([pair(1, 1, 2)], Judge(), replace(how, trials=1), run=run, on_judgement=kept.append)
    assert kept == first
    judge = Judge()
    more = judge_pairs([pair(1, 1, 2)], judge, how, run=run, done=first)
    assert [j.trial for j in more] == [1, 1]
    assert len(judge.asked) == 2


def test_an_unusable_judgement_is_left_out_with_its_counterpart():
    judge = Judge(fails=lambda first, _, sample: first == "3" and sample == 0)
    found = judge_pairs([pair(1, 3, 2)], judge, JudgingDesign(repeats=2, trials=1), run=run)
    assert sum(bool(j.problem) for j in found) == 1
    (outcome,) = outcomes(found, "A", "B")
    assert outcome.n_judgements == 2  # one in each order
    assert outcome.total == (3.0 * 2 * 4, 2.0 * 2 * 4)
    one_sided = [j for j in found if j.methods == ("A", "B")]
    assert outcomes(one_sided, "A", "B") == []


def test_a_judgement_survives_a_round_trip_through_json():
    (one, _) = judge_pairs([pair(1, 4, 2)], Judge(), JudgingDesign(repeats=1, trials=1), run=run)
    line = json.loads(json.dumps(asdict(one)))
    read = record_reader(Judgement)
    assert read(line) == one
    with pytest.raises(ValueError, match="one score for each of 2"):
        read({**line, "scores": {"directness": [1.0]}})
    with pytest.raises(ValueError, match=r"scores\.directness\.0: Give a number"):
        read({**line, "scores": {"directness": ["high", 1.0]}})


def test_equal_answers_tie_by_their_differences_without_a_call():
    nothing = object()  # has no method that could be called
    judge = ChatPairJudge(nothing, nothing, "differential")
    assert set(judge("Why?", "Because.", "Because.", 0).scores.values()) == {(0.5, 0.5)}


def test_the_same_method_twice_has_no_outcome():
    with pytest.raises(ValueError, match="both"):
        outcomes([], "A", "A")


qualities = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(qualities, st.integers(0, 3))
def test_swapping_the_names_negates_the_relative_win_rate(quality, first):
    pairs = [pair(n, a, b) for n, (a, b) in enumerate(quality)]
    found = judge_pairs(pairs, Judge(first=first), JudgingDesign(repeats=1, trials=1), run=run)
    forth = win_rates([o.verdict() for o in outcomes(found, "A", "B")])
    back = win_rates([o.verdict() for o in outcomes(found, "B", "A")])
    assert forth.relative == -back.relative
    assert -1 <= forth.relative <= 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(0, 5))
def test_a_method_against_itself_ties_whatever_the_position_bias(quality, first):
    pairs = [pair(n, a, a) for n, a in enumerate(quality)]
    found = judge_pairs(pairs, Judge(first=first), JudgingDesign(repeats=2, trials=2), run=run)
    assert {o.verdict() for o in outcomes(found, "A", "B")} == {"tie"}


def test_the_reason_of_a_judge_is_kept_next_to_its_score():
    found = judge_pairs([pair(1, 3, 2)], Judge(), JudgingDesign(repeats=1, trials=1), run=run)
    assert [j.reasons["relevance"] for j in found] == ["3 v. 2", "2 v. 3"]


def test_reasons_are_bounded_and_printable_and_a_judge_without_any_is_usable():
    long = parse_scores('{"x": {"reason": "%s", "scores": [1, 2]}}' % ("why \\n" * 999), ["x"], 2)
    assert long.scores == {"x": (1.0, 2.0)}
    assert len(long.reasons["x"]) == 400
    assert "\n" not in long.reasons["x"]
    odd = parse_scores('{"x": {"reason": "a\\ud800\\u0000b", "scores": [1, 2]}}', ["x"], 2)
    assert odd.reasons == {"x": "a\ufffdb"}
    assert parse_scores('{"x": [1, 2]}', ["x"], 2) == JudgeReply({"x": (1.0, 2.0)}, {})
    assert parse_scores('{"x": {"scores": [1, 2], "reason": 7}}', ["x"], 2).reasons == {}
    with pytest.raises(UnusableReply):
        parse_scores('{"x": {"reason": "good"}}', ["x"], 2)
