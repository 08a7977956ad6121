"""Descriptions that say of a name that it is another name of something: ``Abkürzung für das Institut``.

The words for names are those of the languages of Europe with most speakers, Turkish, Arabic, Hindi, Chinese, Japanese
and Korean. Which name is meant is found by its words, whatever their endings.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from polygraph.text.normalize import fold, normalize_name

_BEGINS = re.compile(
    r"(?:\w+ )?name (?:der|des|für|von|vom)\b|(?:the |an? |its |his |her |their )?(?:[\w-]+ ){0,3}"
    r"(?:name|nickname|abbreviation|acronym|initials|pseudonym|alias|spelling|form|translation)(?: in [\w-]+)?"
    r" (?:of|for|given to|used (?:by|for|in))\b",
    re.I,
)
"""How a description in English, or in German with the same word, says of what its name is another name."""
_ENGLISH = re.compile(r"\bnames?\b", re.I)
_WORDS = """
nickname by-name byname moniker sobriquet pseudonym alias acronym abbreviation username shorthand
kurzname spitzname beiname deckname künstlername kosename rufname kürzel abkürzung kurzform bezeichnung
schreibweise benutzername benutzerkonto nutzername
nom surnom prénom sigle abréviation acronyme pseudonyme appellation dénomination diminutif
nombre apodo sobrenombre mote seudónimo sigla siglas abreviatura acrónimo denominación diminutivo
nome soprannome pseudonimo abbreviazione acronimo denominazione nomignolo diminutivo
apelido alcunha cognome pseudónimo pseudônimo abreviação abreviatura designação denominação sobrenome sobrenom malnom
naam bijnaam afkorting benaming schuilnaam roepnaam koosnaam troetelnaam gebruikersnaam
navn kallenavn økenavn tilnavn kælenavn dæknavn kortnavn forkortelse betegnelse brukernavn
namn smeknamn öknamn tillnamn förkortning beteckning användarnamn nafn gælunafn viðurnefni skammstöfun
nimi nimitys lyhenne lempinimi lisänimi salanimi nimimerkki kutsumanimi lühend hüüdnimi
nazwa imię przydomek przezwisko pseudonim skrót skrótowiec ksywka zdrobnienie
název jméno přezdívka zkratka pseudonym názov meno prezývka skratka
név neve becenév beceneve álneve rövidítése gúnyneve nume numele poreclă porecla abreviere abrevierea prescurtare
ime naziv nadimak kratica skraćenica pseudonim vardas pavadinimas slapyvardis santrumpa vārds nosaukums saīsinājums
имя имени название наименование прозвище псевдоним сокращение сокращённое аббревиатура кличка прозвание ім'я назва
прізвисько скорочення абревіатура псевдонім ім’я обліковий назва прякор съкращение надимак скраћеница назив
όνομα ονομασία παρατσούκλι προσωνύμιο ψευδώνυμο συντομογραφία αρκτικόλεξο υποκοριστικό
adı ismi lakabı takma kısaltması kısaltma rumuzu kısaltılmış
اسم لقب اختصار كنية الاسم اللقب מונח שם כינוי קיצור שמו שמה नाम उपनाम संक्षिप्त नाम। სახელი მეტსახელი
nama julukan singkatan tên jina izen izena
"""
_NAME_WORDS = frozenset(fold(word) for word in _WORDS.split())
_IN_COMPOUNDS = re.compile(
    "简称|簡稱|别名|別名|又名|原名|旧名|舊名|旧称|舊稱|略称|略稱|本名|笔名|筆名|绰号|綽號|外号|外號|昵称|暱稱|缩写|縮寫|通称|通稱|愛称|小名|艺名|藝名|俗称"
    "|俗稱|芸名|ニックネーム|あだ名|呼び名|약칭|별명|별칭|본명|예명|필명|줄임말|이름|애칭|ชื่อ"
)
_N_BEGINNING = 5
"""Words of a description among which one that says name must stand."""
_MAX_CHARS = 160
"""Longer descriptions tell of the thing."""
_SHORT = 2
"""Letters of words that do not tell of which name a description speaks."""
_STEM = 4
_ENDING = 3
"""Letters by which two cases of a word may differ, of a long one by a third."""


# A sentence describes every name in it, and is looked at for more than one purpose.
@lru_cache(maxsize=256)
def says_name(text: str) -> bool:
    """Return whether a description begins by saying that its name is a name, a nickname or an abbreviation.

    >>> [says_name(text) for text in ("Abbreviation of the institute.", "Apodo de Osvaldo.", "华山医院的简称。")]
    [True, True, True]
    >>> says_name("Institute of which everybody in town knows the abbreviation.")
    False
    """
    if _BEGINS.match(text):
        return True
    if len(text) > _MAX_CHARS:
        return False
    return _has_name_word(" ".join(text.split()[:_N_BEGINNING])) or _has_compound(text)


def says_name_in(predicate: str) -> bool:
    """Return whether a predicate has a word for a name.

    >>> says_name_in("bijnaam van"), says_name_in("is the full name of"), says_name_in("named after")
    (True, True, False)
    """
    return _ENGLISH.search(predicate) is not None or _has_name_word(predicate)


@lru_cache(maxsize=4_096)
def _has_name_word(phrase: str) -> bool:
    return not _NAME_WORDS.isdisjoint(_words(phrase)) or _has_compound(phrase)


def _has_compound(text: str) -> bool:
    return not text.isascii() and _IN_COMPOUNDS.search(text) is not None


def names_said(text: str, names: Sequence[Sequence[str]]) -> list[int]:
    """Return which names a text speaks of: those that most of its words are of, whatever their endings.

    Args:
        text: a description.
        names: the words of each name.

    >>> names_said("Домашнее имя Александры Петровны", [["александра", "лугова"], ["москва"]])
    [0]
    >>> names_said("复旦大学附属华山医院的简称", [["复旦大学附属华山医院"], ["上海"]])
    [0]
    """
    said = _words(text)
    found = [sum(_is_said(fold(word), said, text) for word in words) for words in names]
    most = max(found, default=0.0)
    return [n for n, score in enumerate(found) if score == most] if most else []


def is_only_name(text: str, words: Sequence[str]) -> bool:
    """Return whether a short text has all words of a name, in some form, and hardly another one.

    >>> is_only_name("Літак «Мрія».", ["мрія"]), is_only_name("Third planet of the Sun.", ["sun"])
    (True, False)
    """
    said = _words(text)
    n_other = sum(len(word) > _SHORT for word in said) - len(words)
    return n_other <= 1 and all(_is_said(fold(word), said, text) for word in words)


def _is_said(word: str, said: Sequence[str], text: str) -> float:
    """Return how much of a word a text has in some form, from 0 to 1."""
    if len(word) > 1 and not word.isascii() and word in text:
        return 1.0  # of a script without spaces
    if len(word) <= _SHORT:
        return 0.0
    return max((_in_common(word, other) for other in said), default=0.0)


def _in_common(a: str, b: str) -> float:
    if a == b:
        return 1.0
    n = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    longest = max(len(a), len(b))
    return n / longest if n >= _STEM and longest - n <= max(_ENDING, n // 3) else 0.0


@lru_cache(maxsize=1_024)
def _words(text: str) -> tuple[str, ...]:
    return tuple(map(fold, normalize_name(text).split()))
