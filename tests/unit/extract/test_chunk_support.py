"""Which chunk of a window supports a statement, beside the same computed chunk by chunk with fractions."""

import random
from fractions import Fraction

from polygraph.extract.llm.chunk_support import ChunkSupport
from polygraph.records import Chunk, Window
from polygraph.text.words import content_stem_set

WORDS = [
    "Mara",
    "Quill",
    "harbour",
    "lamp",
    "tide",
    "keeper",
    "rope",
    "mill",
    "storm",
    "letter",
    "clerk",
    "pilot",
]


def window(*texts: str) -> Window:
    chunks, at = [], 0
    for n, text in enumerate(texts):
        chunks.append(
            Chunk(
                id=f"d:{n}",
                document="d",
                ordinal=n,
                start=at,
                end=at + len(text),
                text=text,
                n_tokens=len(text),
            )
        )
        at += len(text) + 1
    return Window(
        id="d@0",
        document="d",
        ordinal=0,
        title="",
        chunks=tuple(chunks),
        text="\n".join(c.text for c in chunks),
    )


def best_by_fractions(texts: list[str], statement: str, names: str, preferred: list[str]) -> str:
    words = [content_stem_set(text) for text in texts]

    def best(wanted: frozenset[str]) -> list[str]:
        scores = [sum(Fraction(1, sum(w in each for each in words)) for w in wanted & some) for some in words]
        return [f"d:{n}" for n, score in enumerate(scores) if score == max(scores) > 0]

    own = content_stem_set(names)
    for wanted in (content_stem_set(statement) - own, own):
        if equals := best(wanted):
            return next((i for i in equals if i in preferred), equals[0])
        if preferred:
            return preferred[0]
    return "d:0"


def test_words_of_few_chunks_decide() -> None:
    support = ChunkSupport(
        window("The tide and the rope.", "The tide and the rope again.", "The tide, a lamp.")
    )
    assert support.assign("The tide took the lamp.", frozenset(), ()) == {"d:2": "The tide took the lamp."}


def test_names_count_where_no_other_word_decides() -> None:
    support = ChunkSupport(window("Quill sailed at noon.", "The lamp of the keeper."))
    assert list(support.assign("Quill had a lamp.", content_stem_set("Quill"), ["d:0"])) == ["d:1"]
    assert list(support.assign("Quill slept.", content_stem_set("Quill"), ())) == ["d:0"]


def test_a_statement_without_known_words_stands_with_the_one_before() -> None:
    support = ChunkSupport(window("Quill sailed.", "A lamp burned."))
    found = support.assign("The lamp burned. Zebras graze. Quill sailed.", frozenset(), ())
    assert found == {"d:1": "The lamp burned. Zebras graze.", "d:0": "Quill sailed."}


def test_every_choice_is_that_of_exact_fractions() -> None:
    chance = random.Random(7)
    for _ in range(400):
        texts = [
            " ".join(chance.choices(WORDS, k=chance.randrange(1, 9))) for _ in range(chance.randrange(2, 8))
        ]
        support = ChunkSupport(window(*texts))
        for _ in range(4):
            statement = " ".join(chance.choices([*WORDS, "zebra", "the"], k=chance.randrange(1, 7)))
            names = " ".join(chance.choices(WORDS, k=chance.randrange(0, 3)))
            preferred = chance.sample([f"d:{n}" for n in range(len(texts))], chance.randrange(0, 2))
            found = support.assign(statement, content_stem_set(names), preferred)
            assert list(found) == [best_by_fractions(texts, statement, names, preferred)]
