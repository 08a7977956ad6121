"""Words, stems, phrases and names of a question or a sentence, without a dictionary."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, KeysView, Sequence
from functools import lru_cache
from itertools import accumulate
from string import ascii_lowercase, digits

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
"""The same for a case-folded text in ASCII."""
_WITHOUT_MARKS = bytes(
    code if chr(code) in f"{ascii_lowercase}{digits}'" else ord(" ") for code in range(256)
)
"""Replaces what is no part of a word in such a text."""
_NAME = re.compile(r"[\"“]([^\"”]{2,80})[\"”]|\b(\d{3,4})\b|\b([^\W\d_][\w'’-]*)")

_PHRASE_WORD = re.compile(r"\w[\w'’.&/-]*(?<![.'’&/-])")


def is_word_character(character: str) -> bool:
    r"""Return whether a character is one that ``\w`` matches in a pattern; an empty string is not.

    >>> [is_word_character(each) for each in ("a", "_", "-", "")]
    [True, True, False, False]
    """
    return character.isalnum() or character == "_"


def word_set(text: str) -> frozenset[str]:
    """Return what stands between the white space of a text, for lists of words in the source."""
    return frozenset(text.split())


_STOP = """
    a about above after again against all also am an and any are as at be became because been before
    being below between both but by can come could did do does doing down during each either else ever
    every few for from further get give given had has have having he her here hers herself him himself
    his how i if in into is it its itself just know least less let like list made make many may me might
    more most much must my name named neither no nor not now of off on once one only or other our out
    over own please same say says she should since so some still such take tell than that the their them
    themselves then there these they this those through to told too under until up upon us used very was
    we were what when where whether which while who whom whose why will with within without would yes
    yet you your s t d ll m re ve
"""
STOP_WORDS = word_set(_STOP)
"""English words that say nothing about the content of a question."""
_CONTRACTED_WITH_S = word_set("he she it that this there here who what where when how why let")
"""Words with which ``is``, ``has`` or ``us`` is contracted; other words may be names: May's, Will's."""


def memory_of_words(function: Callable[[str], str], most: int) -> Callable[[str], str]:
    """Return a function that remembers what another one returns, faster than `lru_cache`.

    Args:
        function: of a word; returns a word.
        most: words that are remembered; then all are forgotten.

    >>> upper = memory_of_words(str.upper, 1)
    >>> [upper(word) for word in ("tide", "tide", "ebb")]
    ['TIDE', 'TIDE', 'EBB']
    """

    class Known(dict[str, str]):
        def __missing__(self, word: str) -> str:
            if len(self) >= most:
                self.clear()
            found = self[word] = function(word)
            return found

    return Known().__getitem__


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Strip English endings by Porter2, as the lexical index does, so that the forms of a word are equal.

    >>> [stem(w) for w in ("changes", "changed", "hire", "hired", "stopped", "parties", "was")]
    ['chang', 'chang', 'hire', 'hire', 'stop', 'parti', 'was']
    """
    found: list[str] = _stemmer()(word)
    return found[0] if found else word


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], list[str]]:
    import tantivy

    whole = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    return whole.filter(tantivy.Filter.stemmer("english")).build().analyze


def words(text: str) -> list[str]:
    """Return the case-folded words in order, without possessive endings.

    >>> words("Scrooge's mind")
    ['scrooge', 'mind']
    """
    return [_without_possessive(word) for word in _words_of(text)]


def _words_of(text: str) -> list[str]:
    """Return the case-folded words of a text as they stand."""
    folded = text.casefold()
    if not folded.isascii():
        return _WORD.findall(folded)
    # In a third of the time of the pattern.
    found = folded.encode().translate(_WITHOUT_MARKS).decode().split()
    if "'" not in folded:
        return found
    return [word for part in found for word in ((part,) if "'" not in part else _ASCII_WORD.findall(part))]


def find_text(wanted: str, text: str) -> tuple[int, int] | None:
    r"""Return the first place of a text in another one, as start and end, whatever the white space between words.

    >>> find_text("the lamp", "She lit the \n lamp.")
    (8, 18)
    """
    parts = wanted.split()
    if not parts:
        return None
    # The pattern has only literal words and runs of white space, so the search takes linear time except for repeats of
    # the first word.
    found = re.search(r"\s+".join(map(re.escape, parts)), text)
    return found.span() if found is not None else None


def _without_possessive(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "’s")) else word


def content_stems(text: str) -> list[str]:
    """Return the distinct stems of the words that are not stop words, in order.

    >>> content_stems("What changes Scrooge's mind?")
    ['chang', 'scroog', 'mind']
    """
    return list(_content_stems(text))


# A sentence describes several names, and every name is written many times.
@lru_cache(maxsize=4_096)
def content_stem_set(text: str) -> frozenset[str]:
    """Return the `content_stems` of a text without their order.

    >>> sorted(content_stem_set("What changes Scrooge's mind?"))
    ['chang', 'mind', 'scroog']
    """
    return frozenset(map(_content_stem, _words_of(text))) - _NO_STEM


_NO_STEM = frozenset([""])


def shared_stems(wanted: Collection[str], text: str) -> set[str]:
    """Return which of some stems are among the `content_stems` of a text.

    >>> shared_stems(["chang", "mind", "lamp"], "What changes Scrooge's mind?") == {"chang", "mind"}
    True
    """
    folded = text.casefold()
    found = set[str]()
    for stem in wanted:
        root = root_of(stem)
        at = folded.find(root)
        while at >= 0:
            if _begins_word(folded, at) and _content_stem(_WORD.match(folded, at)[0]) == stem:  # type: ignore[index]
                found.add(stem)
                break
            at = folded.find(root, at + 1)
    return found


def ascii_splitter(characters: str) -> Callable[[str], list[str]]:
    """Return a function that finds the runs of some characters in texts in ASCII, in a third of the time of a pattern.

    >>> ascii_splitter("abcdefghijklmnopqrstuvwxyz")("the tide of 1890, at half-ebb")
    ['the', 'tide', 'of', 'at', 'half', 'ebb']
    """
    table = bytes(code if chr(code) in characters else ord(" ") for code in range(256))
    return lambda text: text.encode("ascii").translate(table).decode("ascii").split()


class StemCounts:
    """Counts how many of some stems are among the `content_stems` of texts; each text is looked through once.

    Args:
        stems: that are looked for.

    >>> counts = StemCounts(["chang", "mind", "lamp"])
    >>> counts.of(["What changes Scrooge's mind?", "Nothing", "Lamps"]), counts.of(["Lamps"], without=["lamp"])
    ([2, 0, 1], [0])
    """

    def __init__(self, stems: Collection[str]) -> None:
        self._bits = {stem: 1 << n for n, stem in enumerate(dict.fromkeys(stems))}
        self._every = (1 << len(self._bits)) - 1
        self._found: dict[str, int] = {}
        """For each text the bits of the stems that it has, and above them those of the stems that were looked for."""

    @property
    def stems(self) -> KeysView[str]:
        """The stems that are looked for, each once."""
        return self._bits.keys()

    def of(self, texts: Sequence[str], *, without: Collection[str] = ()) -> list[int]:
        """Return for each of some texts how many of the stems it has, but for some of them."""
        found, wanted = self._found, self._every & ~self._mask(without)
        if not wanted:
            return [0] * len(texts)
        looked_for = wanted << len(self._bits)
        there = [found.get(text, 0) for text in texts]
        for some in there:
            if some & looked_for != looked_for:
                self._look_for(wanted, texts)
                there = [found[text] for text in texts]
                break
        return [(some & wanted).bit_count() for some in there]

    def look_through(self, texts: Iterable[tuple[Collection[str], Iterable[str]]]) -> None:
        """Look for the stems in texts that will be asked for; all at once is several times faster than a few.

        Args:
            texts: groups, each with the stems that will be left out of its counts. A name stands in most of what is
                said of it, and finding it there would take most of the time.
        """
        groups: dict[int, list[str]] = {}
        for without, some in texts:
            groups.setdefault(self._every & ~self._mask(without), []).extend(some)
        for wanted, group in groups.items():
            self._look_for(wanted, group)

    def _mask(self, stems: Collection[str]) -> int:
        mask, bits = 0, self._bits
        for stem in stems:
            mask |= bits.get(stem, 0)
        return mask

    def _look_for(self, wanted: int, texts: Iterable[str]) -> None:
        """Look for some stems, given by their bits, in texts in which they were not looked for."""
        found, n = self._found, len(self._bits)
        listed = dict.fromkeys(texts)
        # Most texts have not been looked through for any stem.
        if new_texts := [text for text in listed if text not in found]:
            mark = wanted << n
            bits = self._stems_in(new_texts, wanted)
            found.update(zip(new_texts, [mark | some for some in bits], strict=True))
        if len(new_texts) == len(listed):
            return
        groups: dict[int, list[str]] = {}
        for text in listed:
            if new := wanted & ~(found[text] >> n):
                groups.setdefault(new, []).append(text)
        for new, group in groups.items():
            for text, some in zip(group, self._stems_in(group, new), strict=True):
                found[text] |= new << n | some

    def _stems_in(self, texts: Sequence[str], wanted: int) -> list[int]:
        """Return for each of some texts the bits of those of some stems that it has."""
        bits = [0] * len(texts)
        # All texts are looked through at once, since most have none of the stems. No word goes beyond the end of its
        # line.
        joined = "\n".join(texts)
        folded: Sequence[str] = texts
        if joined.isascii():
            joined = joined.lower()
        else:
            folded = [text.casefold() for text in texts]
            joined = "\n".join(folded)
        ends = list(accumulate([len(text) + 1 for text in folded]))
        for stem, bit in self._bits.items():
            if not bit & wanted:
                continue
            root = root_of(stem)
            at = joined.find(root)
            while at >= 0:
                after = at + 1
                # Most words stand behind a space.
                begins_word = joined[at - 1 : at] == " " or _begins_word(joined, at)
                if begins_word and _content_stem(_WORD.match(joined, at)[0]) == stem:  # type: ignore[index]
                    n = bisect_right(ends, at)
                    bits[n] |= bit
                    after = ends[n]
                at = joined.find(root, after)
        return bits


def root_of(stem: str) -> str:
    """Return what all words of a stem begin with. Looking for it in a text is much faster than stemming the text.

    >>> root_of("hire"), root_of("parti"), root_of("die")
    ('hir', 'part', 'd')
    """
    # All but the last letter: hir-ing, parti-es. "dying", "lying" and the like have the stems "die" and "lie".
    return (stem[:-2] if stem.endswith("ie") else stem[:-1]) or stem


def _begins_word(text: str, at: int) -> bool:
    """Return whether a word can begin at a place of a text that has a letter or digit."""
    before = text[max(0, at - 2) : at]
    return not before[-1:].isalnum() and not (before[-1:] in ("'", "’") and before[:-1].isalnum())


# The same passages are looked at for many claims and many questions.
@lru_cache(maxsize=4_096)
def _content_stems(text: str) -> tuple[str, ...]:
    found = dict.fromkeys(map(_content_stem, _words_of(text)))
    found.pop("", None)
    return tuple(found)


def _stem_of_content(word: str) -> str:
    """Return the stem of a word in lower case, or an empty string for a stop word."""
    word = _without_possessive(word)
    return "" if word in STOP_WORDS else stem(word)


_content_stem = memory_of_words(_stem_of_content, 32_768)


def phrases(text: str) -> list[tuple[str, bool]]:
    """Return the distinct runs of words that are not stop words, as written, in order.

    A run ends at a stop word, at punctuation, and between words with and words without a capital or digit.

    Returns:
        Each run with True if it looks like a name: its words start with a capital or a digit. In a text without
        lower-case letters no run looks like a name.

    >>> phrases("Who refused to pay Mara Quill for the lamp of 1871?")
    [('refused', False), ('pay', False), ('Mara Quill', True), ('lamp', False), ('1871', True)]
    """
    all_capitals = text.upper() == text
    found: dict[str, bool] = {}
    run: list[str] = []
    run_is_name, end = False, 0
    for match in _PHRASE_WORD.finditer(text):
        word = re.sub(r"['’]s?$", "", match.group())
        is_name = not all_capitals and (word[0].isupper() or word[0].isdigit())
        stop = word.casefold() in STOP_WORDS
        if run and (stop or is_name != run_is_name or text[end : match.start()].strip(" -")):
            found.setdefault(" ".join(run), run_is_name)
            run = []
        if not stop:
            run.append(word)
            run_is_name = is_name
        end = match.start() + len(word)
    if run:
        found.setdefault(" ".join(run), run_is_name)
    return list(found.items())


def question_names(question: str) -> list[str]:
    """Return the names in a question: quoted phrases, years, and capitalised words that do not start a sentence.

    A question without lower-case letters has no names. Contractions such as ``I'm`` are none.

    >>> question_names("Who sold the “Grey Lady” to Tobias Wren in 1871?")
    ['Grey Lady', 'Tobias', 'Wren', '1871']
    """
    if question.upper() == question:
        return []
    found: list[str] = []
    for match in _NAME.finditer(question):
        quoted, number, word = match.groups()
        starts_sentence = (
            not question[: match.start()].rstrip(" \"'“‘(¿¡«„").strip()
            or question[: match.start()].rstrip()[-1:] in ".?!:"
        )
        if quoted or number:
            found.append(quoted or number)
        elif word[0].isupper() and not starts_sentence and not _is_function_word(word.casefold()):
            found.append(re.sub(r"['’]s?$", "", word))
    return list(dict.fromkeys(found))


def _is_function_word(word: str) -> bool:
    """Return whether a word in lower case is a stop word, or one that is contracted with another (``i'm``)."""
    first, apostrophe, rest = word.replace("’", "'").partition("'")
    if not apostrophe:
        return word in STOP_WORDS
    if rest == "s":
        return first in _CONTRACTED_WITH_S
    return (rest == "t" and first.endswith("n")) or (
        rest in ("m", "ve", "ll", "d", "re") and first in STOP_WORDS
    )
