"""Texts to rows: the part of extraction that runs in each process."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from polygraph.extract.nlp.capitalized_names import name_in
from polygraph.extract.nlp.dependency_trees import installed, parse
from polygraph.extract.nlp.english import read_block
from polygraph.extract.nlp.keyword_extractor import read_plain
from polygraph.extract.nlp.paragraphs import blocks
from polygraph.extract.nlp.row_builder import Draft
from polygraph.extract.nlp.workers import Outcome, Task

MIN_ENTITIES = 30
WORDS_PER_ENTITY = 4
"""A window keeps at most `MIN_ENTITIES` and one more per so many words."""

_MARK = re.compile(r"[.?!:;]")


def read(tasks: Sequence[Task]) -> list[Outcome]:
    """Read texts; English ones with the parser if it is installed, the others without.

    Args:
        tasks: text, language code and title of the document.

    Returns:
        Per text its entities, its relations, and what went wrong, if anything did.
    """
    parsed = installed()
    drafts = [Draft() for _ in tasks]
    problems = [""] * len(tasks)
    jobs = []
    for i, (text, language, title) in enumerate(tasks):
        if language == "en" and parsed:
            jobs += [(i, block) for block in blocks(text)]
        else:
            _guard(problems, i, partial(read_plain, drafts[i], text, language, title))
    if jobs:
        texts = (_calm(block.text, tasks[i][2]) for i, block in jobs)
        for (i, block), sentences in zip(jobs, parse(texts), strict=True):
            _guard(problems, i, partial(read_block, drafts[i], block, sentences, tasks[i][2]))
    outcomes: list[Outcome] = []
    for (text, _, _), draft, problem in zip(tasks, drafts, problems, strict=True):
        n_words = text.count(" ") + text.count("\n") + len(text) // 40
        entities, relations = draft.rows(MIN_ENTITIES + n_words // WORDS_PER_ENTITY)
        outcomes.append([entities, relations, problem])
    return outcomes


def _calm(text: str, title: str) -> str:
    """Text as the parser should see it, letter for letter as long.

    Text in capitals throughout is read in lower case, which the parser knows better; marks inside the
    document's title do not end a sentence (``What Will You Do When You Catch Me?``).
    """
    if text.isupper() and len(text) > 20:
        lower = text.lower()
        text = lower if len(lower) == len(text) else text
    name = name_in(title)
    if _MARK.search(name) and name in text:
        text = text.replace(name, _MARK.sub("x", name))
    return text


def _guard(problems: list[str], i: int, work: Callable[[], None]) -> None:
    """Run one piece; what goes wrong is recorded for its text and does not stop the others."""
    try:
        work()
    except Exception as error:  # the edge of a process: one odd text must not end the build
        problems[i] = f"{type(error).__name__}: {error}"[:300]
