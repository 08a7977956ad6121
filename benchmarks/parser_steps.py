"""CPU seconds of each step of the parser, as spaCy runs it and as Polygraph does.

    python benchmarks/parser_steps.py CORPUS [--documents N]

Reads every document in turn and prints the seconds of each step for N of them (default 350); as many others are read
first. Both ways run in one process, on the same texts, each with a model of its own, so that neither finds what the
other has remembered. CORPUS is a file of JSON lines with a field `text`, possibly packed with gzip.
"""

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polygraph.extract.nlp import dependency_trees
from polygraph.extract.nlp.paragraphs import split_paragraphs
from polygraph.extract.nlp.transitions import run_transitions
from polygraph.extract.nlp.word_attributes import WordAttributes

BATCH = 64


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=350)
    options = parser.parse_args()
    texts = list(paragraphs(options.corpus, 2 * options.documents))
    half = len(texts) // 2
    for name, run in (("spaCy", by_spacy), ("Polygraph", by_polygraph)):
        dependency_trees.release()
        pipeline = dependency_trees.load_pipeline()
        once = run(pipeline)
        seconds: dict[str, float] = {}
        once(texts[:half], seconds)
        n_words = once(texts[half:], seconds)
        steps = ", ".join(f"{step} {taken:.2f}" for step, taken in seconds.items())
        print(f"{name}, {n_words:,} words: {sum(seconds.values()):.2f} s ({steps})")


def paragraphs(corpus: Path, n_documents: int) -> Iterator[str]:
    """Yield the paragraphs of documents that are spread over the corpus."""
    with gzip.open(corpus, "rt") if corpus.suffix == ".gz" else corpus.open() as lines:
        documents = [json.loads(line)["text"] for line in lines]
    for text in documents[:: max(1, len(documents) // n_documents)][:n_documents]:
        yield from (paragraph.text for paragraph in split_paragraphs(text))


Run = Callable[[Sequence[str], dict[str, float]], int]
"""Reads texts, notes the seconds of each step, and returns the number of words."""


def by_spacy(pipeline: Any) -> Run:
    def run(texts: Sequence[str], seconds: dict[str, float]) -> int:
        docs = tokenized(pipeline, texts, seconds)
        for name in ("tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "ner"):
            with timed(seconds, name):
                piped(pipeline.get_pipe(name), docs)
        return sum(map(len, docs))

    return run


def by_polygraph(pipeline: Any) -> Run:
    attributes = WordAttributes(pipeline)

    def run(texts: Sequence[str], seconds: dict[str, float]) -> int:
        docs = tokenized(pipeline, texts, seconds)
        for name in ("tok2vec", "tagger"):
            with timed(seconds, name):
                piped(pipeline.get_pipe(name), docs)
        for name in ("parser", "ner"):
            with timed(seconds, name):
                for at in range(0, len(docs), BATCH):
                    run_transitions(pipeline.get_pipe(name), docs[at : at + BATCH])
        with timed(seconds, "attributes"):
            for doc in docs:
                attributes.of(doc)
        return sum(map(len, docs))

    return run


def tokenized(pipeline: Any, texts: Sequence[str], seconds: dict[str, float]) -> list[Any]:
    with timed(seconds, "tokenizer"):
        return list(map(pipeline.make_doc, texts))


def piped(component: Any, docs: Sequence[Any]) -> None:
    for _ in component.pipe(docs, batch_size=BATCH) if hasattr(component, "pipe") else map(component, docs):
        pass


@contextmanager
def timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    started = time.process_time()
    yield
    seconds[step] = time.process_time() - started


if __name__ == "__main__":
    main()
