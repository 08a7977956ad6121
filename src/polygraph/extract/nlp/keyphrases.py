"""Key phrases of a text in any language, without a model.

Scripts with spaces: runs of words between stop words and punctuation, scored by the degree of their words divided by
their frequency (RAKE; Rose et al., 2010). Scripts without spaces (Chinese, Japanese, Thai): runs of one script, and
recurring character n-grams that are not part of an equally frequent longer one.
"""

import re
import unicodedata
from collections import Counter, defaultdict

from polygraph.text.language import FUNCTION_WORDS
from polygraph.text.words import word_set

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々ー"
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(r"[\w\u0300-\u036f\u0900-\u0dff]+(?:[’'-][\w\u0300-\u036f\u0900-\u0dff]+)*")
_SCRIPT_RUN = re.compile("[\u3400-\u9fff々]{2,8}|[\u30a0-\u30ffー]{2,}")
_FUNCTION_CHARS = "的了是在和有不人我他她它这那们也就都而及与或着之于以把被让给从到对为上下中里个一之乎者"
_CHARS = frozenset(_FUNCTION_CHARS)
_VERBS = {
    "en": """
        say says said saying asked told saw seen went gone came took taken gave given got made knew known found
        kept became began begun brought held stood sent heard felt seemed wanted wrote written paid met ran fell
        happened called replied answered
    """,
    "nl": """
        zei zeiden gezegd vroeg vroegen ging gingen kwam kwamen nam namen gaf gaven maakte maakten zag zagen
        stond stonden liet lieten hield hielden vond vonden gevonden bracht brachten schreef schreven antwoordde
    """,
}
_NO_PHRASE = {language: word_set(words) for language, words in _VERBS.items()}
"""Common verbs of narration, which recur in most texts and are about nothing. Forms that are nouns as well are kept."""
_MAX_WORDS = 3
_MAX_GRAM = 6
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_HAN_PIECE = re.compile(f"(?:(?![{_FUNCTION_CHARS}])[\u3400-\u9fff])+")


def keyphrases(text: str, *, language: str = "") -> list[tuple[int, int]]:
    """Return the spans of the key phrases of a text.

    Args:
        text: at least a paragraph; little recurs in shorter texts.
        language: for the stop words; short frequent words are stop words in any language.

    Returns:
        Spans in order, without overlaps. The number of distinct phrases is about a twelfth of the number of words.

    >>> text = "der große turm am hafen. der große turm ist alt. am hafen war es still."
    >>> [text[a:b] for a, b in keyphrases(text, language="de")]
    ['große turm', 'hafen', 'große turm', 'alt', 'hafen', 'still']
    >>> text = "the pilot said that the buoy was lost, and the clerk said that he paid for the buoy."
    >>> [text[a:b] for a, b in keyphrases(text, language="en")]
    ['pilot', 'buoy', 'lost', 'clerk', 'buoy']
    """
    return sorted(_spaced(text, language) + _unspaced(text))


def _spaced(text: str, language: str) -> list[tuple[int, int]]:
    words = [m.span() for m in _WORD.finditer(text) if not _RUN.match(m.group())]
    forms = [text[a:b].lower() for a, b in words]
    stop = _stop_words(forms, language)
    candidates: list[list[int]] = []
    current: list[int] = []
    for i, form in enumerate(forms):
        fits = form not in stop and not form.isdigit() and len(form) > 2
        separated = bool(current) and text[words[i - 1][1] : words[i][0]].strip() != ""
        if current and (not fits or separated or len(current) == _MAX_WORDS):
            candidates.append(current)
            current = []
        if fits:
            current.append(i)
    if current:
        candidates.append(current)
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    spans: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for run in candidates:
        phrase = tuple(forms[i] for i in run)
        spans[phrase].append((words[run[0]][0], words[run[-1]][1]))
        for form in phrase:
            frequency[form] += 1
            degree[form] += len(phrase)
    score = {
        phrase: len(found) * sum(degree[w] / frequency[w] for w in phrase) for phrase, found in spans.items()
    }
    n_kept = 3 + len(words) // 12
    best = sorted(score, key=lambda phrase: (-score[phrase], phrase))[:n_kept]
    return [span for phrase in best for span in spans[phrase]]


def _stop_words(forms: list[str], language: str) -> frozenset[str]:
    counts = Counter(forms)
    min_count = max(4, len(forms) // 60)
    frequent = {form for form, n in counts.items() if n >= min_count and len(form) <= 4}
    return FUNCTION_WORDS.get(language, frozenset()) | _NO_PHRASE.get(language, frozenset()) | frequent


def _unspaced(text: str) -> list[tuple[int, int]]:
    runs = [m.span() for m in _RUN.finditer(text)]
    if not runs:
        return []
    counts: Counter[str] = Counter()
    # A word has at least two characters in Chinese and Japanese, more in an alphabet.
    sizes = range(2, _MAX_GRAM + 1) if _HAN.search(text) else range(4, 2 * _MAX_GRAM + 1)
    for a, b in runs:
        for size in sizes:
            counts.update(text[i : i + size] for i in range(a, b - size + 1))
    kept = {gram for gram, n in counts.items() if n >= 2 and _may_be_word(gram)}
    for gram in sorted(kept, key=len, reverse=True):
        for part in (gram[1:], gram[:-1]):
            if part in kept and counts[part] <= counts[gram]:
                kept.discard(part)
    if _KANA.search(text):
        kept |= {
            m.group() for a, b in runs for m in _SCRIPT_RUN.finditer(text, a, b) if _may_be_word(m.group())
        }
    else:
        # A short run between particles is a word.
        pieces = [m.group() for a, b in runs for m in _HAN_PIECE.finditer(text, a, b)]
        kept |= {
            p for p in pieces if 2 <= len(p) <= 4 and not any(p[i : i + 2] in kept for i in range(len(p)))
        }
    found: list[tuple[int, int]] = []
    for a, b in runs:
        i = a
        while i < b:
            size = next((n for n in range(min(2 * _MAX_GRAM, b - i), 1, -1) if text[i : i + n] in kept), 0)
            if size:
                found.append((i, i + size))
            i += size or 1
    n_chars = sum(b - a for a, b in runs)
    frequency = Counter(text[a:b] for a, b in found)
    best = sorted(frequency, key=lambda gram: (-frequency[gram] * len(gram), gram))[: 3 + n_chars // 20]
    chosen = frozenset(best)
    return [(a, b) for a, b in found if text[a:b] in chosen]


def _may_be_word(gram: str) -> bool:
    """Return whether an n-gram may be a word: no particle at its edges and not only hiragana."""
    if gram[0] in _CHARS or gram[-1] in _CHARS or unicodedata.category(gram[0]).startswith("M"):
        return False
    return not all("\u3040" <= c <= "\u309f" for c in gram)
