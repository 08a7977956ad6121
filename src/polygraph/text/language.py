"""Language detection by script and function words, without a model.

Extraction only needs to know whether a text is English prose, which the parser can read.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_SAMPLE_CHARS = 6_000
_BEGINNING_CHARS = 1_000
_ONLY_ENGLISH = (" the ", " and ", " with ", " from ")
_PLAIN_ENGLISH = 300
"""Characters in which one of these words stands once, at least, if a text in ASCII is English; a third of others."""

_SCRIPTS = (
    ("ja", "[\u3040-\u30ff]"),
    ("ko", "[\u1100-\u11ff\uac00-\ud7af]"),
    ("zh", "[\u3400-\u9fff\uf900-\ufaff]"),
    ("ru", "[\u0400-\u04ff]"),
    ("el", "[\u0370-\u03ff]"),
    ("ar", "[\u0600-\u06ff]"),
    ("he", "[\u0590-\u05ff]"),
    ("hi", "[\u0900-\u097f]"),
    ("th", "[\u0e00-\u0e7f]"),
)
"""Patterns of the letters of other scripts; compiling them takes longer than most texts need."""
_BEYOND_LATIN = re.compile("[\u0370-\u1fff\u3040-\ud7a3\uf900-\ufaff]")
"""Characters among which are all letters of these scripts, and no punctuation of others."""
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_WORD = re.compile(r"[^\W\d_]+")
_WORD_ALONE = re.compile(r"(?<![\d_])(?<!\d[-/])[^\W\d_]+(?![\d_])")
"""Not the letters of a part number (`KX-210S`) or of a unit behind its number (`230V`)."""
_MIN_DISTINCT = 2
"""Function words of two letters or more that a text in another language than English has: single letters are units."""

_FUNCTION = {
    "en": "the of and to in a is was that for it with as his on be at by had are but from have or an they which "
    "you were her she he this not their has its been who will there i if would we do no my so what all when out "
    "up into than them then some can could our your these those did how about after over only also after before "
    "because while where more most other such any may should must very just am us me him nor yet",
    "de": "der die das und ist in den von zu mit des dem nicht ein eine sich auf für im als auch es an werden aus "
    "er sie nach bei um war wie einer einem eines einen wir ich hat haben sind oder aber noch nur über vor zum zur "
    "durch dass wenn ihr sein seine ihre kann wird wurde bis",
    "fr": "le la les de des du et est en un une que qui dans pour pas sur au aux par plus avec ce se il elle son sa "
    "ses ne sont été était ou mais nous vous ils cette ces leur être avait à où on d l qu s n je comme",
    "es": "el la los las de del y en que un una es se no por con para su al lo como más o pero sus le ha fue era "
    "este esta son entre cuando muy sin sobre también me hasta hay donde desde todo nos durante ya",
    "it": "il la le lo gli i di del della dei delle che e è in un una per non si con da al alla sono come più ma "
    "anche suo sua ha era nel nella dal o se questo questa loro l dell all",
    "pt": "o a os as de do da dos das e em que um uma é no na nos para com não por se mais ao foi seu sua ou como "
    "mas pelo pela ele ela são ser também até entre era à às",
    "nl": "de het een van en in is dat op te zijn voor met die niet aan er om ook als bij maar door naar hij ze uit "
    "werd wordt was over dan nog deze ik je haar heeft hebben tot",
    "sv": "och i att det som en på är av för med den till inte har de ett om var han hon men sig från så kan vid "
    "eller när efter också under hade vi jag",
    "da": "og i at det som en på er af for med den til ikke har de et om var han hun men sig fra så kan ved eller "
    "når efter også blev der vi jeg",
    "no": "og i at det som en på er av for med den til ikke har de et om var han hun men seg fra så kan ved eller "
    "når etter også ble vi jeg",
    "fi": "ja on ei se että oli hän mutta myös kun joka tai ovat kuin sen jos niin ole mitä vain ne hänen sekä jo "
    "mukaan jälkeen vuonna",
    "pl": "i w na z się nie do to że jest o jak po co ale za od przez dla są był była oraz przy jego jej ich który "
    "która które tym także może czy",
    "cs": "a v se na je že to s z do o i jako ale za po pro jsou byl byla ve který která které jeho nebo také při "
    "jen když až k od",
    "hu": "a az és hogy nem is egy ez volt de meg csak mint már ha el azt vagy még van aki ami amely után",
    "ro": "și în de la a cu pe nu un o din care este că mai pentru au fost sau dar prin ca lui sunt al ale într",
    "tr": "ve bir bu da de için ile çok daha olarak en kadar gibi ama o sonra olan ne her ya değil var",
    "id": "yang dan di ini itu dengan untuk dari tidak dalam pada adalah ke akan oleh juga karena sebagai mereka "
    "telah bisa atau",
    "vi": "và của là có trong được cho không với các một những này đã khi người để từ đến như",
}
FUNCTION_WORDS = {code: frozenset(words.split()) for code, words in _FUNCTION.items()}
"""Function words of the languages in Latin script that can be detected."""
_LANGUAGES_OF: dict[str, list[str]] = {}
for _code, _known in FUNCTION_WORDS.items():
    for _word in sorted(_known):
        _LANGUAGES_OF.setdefault(_word, []).append(_code)


_ASKING = {
    # "Cost per litre" is not Italian.
    "en": "who whom whose what when where why how which did does can could may should per",
    "de": "wer wem wen wessen was wann wo wohin woher warum wieso weshalb wie wieviel welche welcher welches welchen",
    "fr": "qui quand où comment pourquoi quel quelle quels quelles combien quoi",
    "es": "quién quiénes qué cuándo dónde cómo cuál cuáles cuánto cuántos cuánta cuántas",
    "it": "chi cosa quando dove come perché quale quali quanto quanti quanta quante",
    "pt": "quem quando onde como qual quais quanto quantos quantas",
    "nl": "wie wat wanneer waar hoe waarom welke hoeveel",
}
QUESTION_WORDS = {code: frozenset(words.split()) for code, words in _ASKING.items()}
"""Words that ask, of some of these languages."""
LANGUAGE_NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""English names of the languages that can be detected."""


def detect_question_language(question: str) -> str:
    """Detect the language of a question, which is often too short for `detect_language`.

    In Latin script, a language is returned if it alone has the most function and question words, at least two of them
    and a quarter of the words. Capitalized words after the first one are not counted, since titles have function words
    of other languages.

    Returns:
        An ISO 639-1 code, or ``""`` if there is too little evidence.

    >>> detect_question_language("Wie hoch ist die Miete?"), detect_question_language("Who wrote La vie en rose?")
    ('de', 'en')
    >>> detect_question_language("median cost per repair, in euros")
    ''
    """
    if by_script := _language_by_script(question):
        return by_script
    found = _WORD.findall(question)
    kept = [w.lower() for n, w in enumerate(found) if n == 0 or not w[0].isupper()]
    counts = {
        code: sum((w in known) + (w in QUESTION_WORDS.get(code, ())) for w in kept)
        for code, known in FUNCTION_WORDS.items()
    }
    (best, most), (_, second) = sorted(counts.items(), key=lambda pair: -pair[1])[:2]
    return best if most > second and most >= max(2, len(kept) / 4) else ""


def detect_language(text: str) -> str:
    """Detect the language of a text.

    Scripts other than Latin determine the language; in Latin script the share of function words does. Closely related
    languages (Danish and Norwegian) may be confused.

    Returns:
        An ISO 639-1 code, or ``""`` if there is too little evidence: a table, code, a list of names.

    >>> detect_language("Der Hafen war voller Schiffe, und niemand wusste, woher sie kamen.")
    'de'
    >>> detect_language("港の灯台は去年の嵐で壊れた。")
    'ja'
    >>> detect_language("rev 4; R12 10k; R13 4k7")
    ''
    """
    return _detect(text[:_SAMPLE_CHARS])


def prose_language(text: str) -> str:
    """Return what `detect_language` does, for most English prose in a hundredth of its time.

    >>> prose_language("The keeper of the light and the boat were lost in the storm.")
    'en'
    """
    sample = text[:_SAMPLE_CHARS]
    n = sum(map(sample.count, _ONLY_ENGLISH))
    is_plain = n > 0 and n * _PLAIN_ENGLISH >= len(sample) * (1 if sample.isascii() else 3)
    return "en" if is_plain else detect_language(sample)


def first_language(texts: Iterable[str]) -> str:
    """Return the `detect_language` of the first text whose beginning shows one; ``""`` if none does."""
    return next(filter(None, (_detect(text[:_BEGINNING_CHARS]) for text in texts)), "")


# The texts that claims cite are looked at for several claims, in several ways.
@lru_cache(maxsize=512)
def _detect(sample: str) -> str:
    by_script = _language_by_script(sample)
    if by_script:
        return by_script
    total = sum(1 for _ in _WORD.finditer(sample))
    if total == 0:
        return ""
    # A single capital is a unit, a size or an initial rather than a word at the beginning of a sentence.
    alone = (word for word in _WORD_ALONE.findall(sample) if len(word) > 1 or word.islower())
    words = Counter(word.lower() for word in alone)
    found = dict.fromkeys(FUNCTION_WORDS, 0)
    for word, n in words.items():
        for code in _LANGUAGES_OF.get(word, ()):
            found[code] += n
    scores = [(n, code) for code, n in found.items()]
    count, best = max(scores, key=lambda pair: (pair[0], pair[1] == "en", pair[1]))
    english = scores[0][0]
    # Names and loan words can look like function words of some language, so a few are not evidence.
    n_distinct = sum(1 for word in words if len(word) > 1 and word in FUNCTION_WORDS[best])
    is_foreign = best != "en" and count >= 1.3 * english + 2 and n_distinct >= _MIN_DISTINCT
    if count < max(3, 0.12 * total) or not (best == "en" or is_foreign):
        return "en" if english >= 3 and english >= 0.08 * total else ""
    return best


def _language_by_script(sample: str) -> str:
    if sample.isascii() or not _BEYOND_LATIN.search(sample):
        return ""
    latin = len(_LATIN.findall(sample))
    counts = {code: len(re.findall(pattern, sample)) for code, pattern in _SCRIPTS}
    # One Chinese character counts as two letters; kana among them means Japanese.
    if counts["ja"] * 10 > counts["zh"]:
        counts["ja"] += counts["zh"]
    counts["ja"], counts["zh"] = 2 * counts["ja"], 2 * counts["zh"]
    code = max(counts, key=lambda c: counts[c])
    if counts[code] <= latin or counts[code] < 4:
        return ""
    if code == "ru" and re.search("[іїєґ]", sample.lower()):
        return "uk"
    return code


def has_capitals(text: str) -> bool:
    """Return whether capitals mark names in a text: some words have one, but not nearly all.

    False for a text in lower case, a text in capitals, and scripts without case.

    >>> has_capitals("Anna saw the ship."), has_capitals("anna saw the ship"), has_capitals("ANNA SAW IT")
    (True, False, False)
    """
    words = _WORD.findall(text[:_SAMPLE_CHARS])
    if not words:
        return False
    n_capitalized = sum(word[0].isupper() for word in words)
    n_capitals_only = sum(word.isupper() and len(word) > 1 for word in words)
    return bool(
        n_capitalized > 0 and n_capitalized >= 0.005 * len(words) and n_capitals_only < 0.6 * len(words)
    )
