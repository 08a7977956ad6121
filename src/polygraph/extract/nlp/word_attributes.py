"""Parts of speech and lemmas, by spaCy's rules, which look at each kind of word once."""

from typing import Any

_MAX_KNOWN = 100_000
"""Words that are remembered, some 300 bytes each."""


class WordAttributes:
    """What spaCy's `attribute_ruler` and `lemmatizer` say of the words of tagged texts, in a third of their time.

    All rules but eight depend on one word, its tag and the label of its arc, so what was found for one word is true
    of all that are equal. Texts in which one of the eight matches (``gonna``, ``there is``) are given to spaCy whole.

    Args:
        pipeline: of English (`spacy.language.Language`).
    """

    def __init__(self, pipeline: Any) -> None:
        from spacy.matcher import Matcher

        self._vocab = pipeline.vocab
        self._ruler = pipeline.get_pipe("attribute_ruler")
        self._lemmatizer = pipeline.get_pipe("lemmatizer")
        self._phrases = Matcher(self._vocab)
        patterns = [pattern for rule in self._ruler.patterns for pattern in rule["patterns"]]
        self._phrases.add("phrase", [pattern for pattern in patterns if len(pattern) > 1])
        self._known: dict[tuple[int, int, int], tuple[str, str]] = {}

    def of(self, doc: Any) -> list[tuple[str, str]]:
        """Return the universal part of speech and the lemma, in lower case, of each word of a text.

        Args:
            doc: tagged, and parsed if the labels of arcs are to count (`spacy.tokens.Doc`).

        Returns:
            For each word its part of speech and lemma.
        """
        from spacy.attrs import DEP, ORTH, TAG

        if not len(doc):
            return []
        if self._phrases(doc, allow_missing=True):
            return self._apply_rules(doc)
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        keys = list(map(tuple, doc.to_array([ORTH, TAG, DEP]).tolist()))
        self._learn({key: token for token, key in zip(doc, keys, strict=True) if key not in self._known})
        return [self._known[key] for key in keys]

    def _learn(self, tokens: dict[tuple[int, int, int], Any]) -> None:
        """Apply the rules to words that were not seen before."""
        from spacy.tokens import Doc

        def row(some: list[Any]) -> Any:
            return Doc(
                self._vocab,
                words=[token.text for token in some],
                tags=[token.tag_ for token in some],
                heads=list(range(len(some))),
                deps=[token.dep_ for token in some],
            )

        if not tokens:
            return
        docs = [row(list(tokens.values()))]
        if self._phrases(docs[0], allow_missing=True):
            # Words that do not stand together in the text must not match a rule together.
            docs = [row([token]) for token in tokens.values()]
        found = [attributes for doc in docs for attributes in self._apply_rules(doc)]
        self._known.update(zip(tokens, found, strict=True))

    def _apply_rules(self, doc: Any) -> list[tuple[str, str]]:
        self._lemmatizer(self._ruler(doc))
        return [(token.pos_, token.lemma_.lower()) for token in doc]
