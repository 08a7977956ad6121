"""Length alignment, as in the unbiased protocol."""

from hypothesis import given
from hypothesis import strategies as st

from polygraph.evaluate.judging.length_alignment import TOLERANCE, align_lengths, count_words


def words(n):
    return " ".join(["word"] * n)


def never(*_):
    raise AssertionError("not to be called")


def test_words_are_separated_by_white_space_and_chinese_is_counted_by_character():
    assert count_words("one  two\nthree - 4") == 4
    assert count_words("谁建造了 the 灯塔") == 7
    assert count_words("") == 0


def test_answers_of_about_equal_length_are_not_rewritten():
    made = align_lengths("q", ("a", "b"), (words(100), words(110)), rewrite=never, append=never)
    assert (made.how, made.attempts, made.words) == ("free", 0, (100, 110))


def test_the_shorter_answer_is_rewritten_to_the_length_of_the_longer():
    asked = []

    def write(method, target, attempt):
        asked.append((method, target, attempt))
        return words(120 if attempt == 0 else 195)

    made = align_lengths("q", ("a", "b"), (words(80), words(200)), rewrite=write, append=never)
    assert asked == [("a", 200, 0), ("a", 200, 1)]
    assert (made.how, made.attempts, made.words) == ("regenerated", 2, (195, 200))
    assert made.texts[1] == words(200)


def test_after_three_attempts_the_missing_words_are_appended_to_the_closest_one():
    tried = iter([150, 170, 160])

    def append(method, text, missing):
        assert (method, count_words(text), missing) == ("b", 170, 30)
        return f"{text} {words(missing)}"

    made = align_lengths(
        "q", ("a", "b"), (words(200), words(50)), rewrite=lambda *_: words(next(tried)), append=append
    )
    assert (made.how, made.attempts, made.words) == ("forced", 3, (200, 200))


def test_if_an_attempt_overshoots_the_other_answer_is_lengthened():
    def append(method, text, missing):
        assert (method, missing) == ("a", 30)
        return f"{text} {words(missing)}"

    made = align_lengths(
        "q", ("a", "b"), (words(100), words(60)), rewrite=lambda *_: words(130), append=append
    )
    assert (made.how, made.words) == ("forced", (130, 130))


def test_a_pair_that_never_fits_is_discarded():
    made = align_lengths(
        "q", ("a", "b"), (words(100), words(20)), rewrite=lambda *_: "", append=lambda _, t, __: t
    )
    assert made.how == "discarded"


@given(
    st.integers(0, 300),
    st.integers(0, 300),
    st.lists(st.integers(0, 400), min_size=3, max_size=3),
    st.integers(-40, 40),
)
def test_every_pair_that_is_kept_differs_by_at_most_the_tolerance(a, b, lengths, slip):
    made = align_lengths(
        "q",
        ("a", "b"),
        (words(a), words(b)),
        rewrite=lambda _, __, attempt: words(lengths[attempt]),
        append=lambda _, text, missing: f"{text} {words(max(0, missing + slip))}".strip(),
    )
    if made.how != "discarded":
        assert abs(made.words[0] - made.words[1]) <= TOLERANCE
    assert made.words == (count_words(made.texts[0]), count_words(made.texts[1]))
