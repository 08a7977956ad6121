"""Whether a question is about the whole collection or about particular things, by its words."""

import re

from polygraph.text.language import FUNCTION_WORDS
from polygraph.text.words import STOP_WORDS, question_names, stem, words

_GLOBAL_WORDS = """
    main major overall recurring recur keep coming common theme themes topic topics trend pattern across
    throughout collection document documents paper papers source sources summarise summarize summary
    overview general kind kinds way ways run whole back important key corpus text texts archive thing
    things subject
    thema themen hauptthema hauptthemen dokument dokumente dokumenten unterlagen sammlung überblick übersicht
    diese dieser diesen wichtigste wichtigsten worum geht handeln insgesamt zusammenfassung fasse zusammen
    texte texten welche was wovon gib
    thème thèmes sujet sujets principal principaux principale principales grands aperçu résume résumé résumer résumez
    ensemble parlent textes quoi quels quelles quel
    tema temas documento documentos colección resumen resume resumir panorama conjunto textos asuntos tratan trata estos
    cuáles cuál qué
"""
_GLOBAL_STEMS = frozenset(stem(word) for word in _GLOBAL_WORDS.split())
_GLOBAL = {
    "en": r"themes?|trends?|overview|overall|recurring|recur|throughout|summari[sz]e|in general|keeps? coming|"
    r"(?:main|major|common|key|important|central|chief|principal|biggest|greatest) "
    r"(?:topics?|subjects?|points?|issues?|ideas?|events?|people|things|concerns?|problems?|worries|disputes?|"
    r"conflicts?|questions|developments?|findings?|challenges?|risks?)|"
    r"(?:the|these|this|those|all|whole) (?:papers|documents|collection|sources|corpus|archive|texts)",
    "de": r"themen|hauptthem(?:a|en)|überblick|übersicht|zusammenfassung|fasse\b.{0,80}\bzusammen|"
    r"(?:diese[nr]?|allen?|die|den|der) (?:ganzen? |gesamten? )?(?:dokumenten?|unterlagen|sammlung|texten?)",
    "fr": r"thèmes?|aperçu|résume[rz]?|un résumé|sujets principaux|"
    r"(?:principaux|principales|grands|grandes) (?:sujets?|points?|idées?|questions?)|"
    r"(?:ces|tous les|les|cette) (?:documents|textes|collection)",
    "es": r"temas?|panorama general|resumen|resumir|resume (?:el|la|los|las|est[aeo]s?)|asuntos principales|"
    r"(?:principales|grandes) (?:asuntos|puntos|ideas|cuestiones)|"
    r"(?:estos|todos los|los|esta) (?:documentos|textos|colección)",
}
_ABOUT_THIS = re.compile(
    r"what(?:(?: is|'s|’s)(?: all)? this(?: all| folder| archive| directory)?|"
    r"(?: are|'re|’re)(?: all)? these(?: \w+)?)(?: (?:mainly|mostly|all))? about\W*|"
    r"what(?: is|'s|’s) in (?:here|this folder|these (?:documents|files|papers))\W*|"
    r"what do these (?:documents|files|papers) (?:contain|cover)\W*|"
    r"what (?:(?:kinds?|sorts?|types?) of )?(?:documents|files|papers) are (?:these|there|here)\W*",
    re.IGNORECASE,
)
"""Asks what all of it is about, whatever it is: articles, letters, invoices."""
_SUMMARY = re.compile(
    r"\W*(?:please,? |(?:can|could) you (?:please )?)?(?:summari[sz]e|sum up|"
    r"(?:give (?:me |us )?)?(?:a |an )?(?:\w+ )?(?:summary|overview) of)\s+(?P<subject>.+)",
    re.IGNORECASE | re.DOTALL,
)
_AND_ASKS = re.compile(
    # It begins where a run of white space does, so that a long run is read once.
    r"(?:,|(?<!\s))\s++(?:and|und)\s++"
    r"(?=(?:what|who|whom|whose|when|where|which|why|how|was|wer|wo|wann|wie|welche[mnrs]?|warum)\b)",
    re.IGNORECASE,
)
_MIN_QUESTION = 3
"""Words of a part that is a question of its own."""
_REFERS = re.compile(r"\b(?:he|she|they|his|her|its|their|him|them|ihr|sein|seine|ihre)\b", re.IGNORECASE)
_FORMS = {code: re.compile(rf"\b(?:{form})\b", re.IGNORECASE) for code, form in _GLOBAL.items()}


def is_global_question(question: str) -> bool:
    """Return whether a question is about the whole collection: it names nothing and asks for themes or an overview.

    Questions are recognised in English, French, German and Spanish.

    >>> is_global_question("What are these papers about?"), is_global_question("Who was Scrooge's partner?")
    (True, False)
    >>> is_global_question("Was sind die wichtigsten Themen dieser Dokumente?")
    True
    """
    language = _language(question)
    names = question_names(question) if language else []
    if language == "de":
        names = [name for name in names if not _is_german_noun(name, question)]
    return bool(language) and not names


def split_questions(question: str) -> list[str]:
    """Return the parts of a question that asks for two or more things, each as a question; else the question alone.

    Questions are split in English and German.

    >>> split_questions("Who keeps the keys, and where is the office?")
    ['Who keeps the keys?', 'where is the office?']
    >>> split_questions("When and where did the ship sink?")
    ['When and where did the ship sink?']
    """
    parts = [part.strip(" ,?") for part in _AND_ASKS.split(question)]
    if any(len(words(part)) < _MIN_QUESTION for part in parts):
        return [question]
    return [f"{part}?" for part in parts] if len(parts) > 1 else [question]


def refers_back(question: str) -> bool:
    """Return whether a question speaks of something that it does not name ("What is his number?")."""
    return _REFERS.search(question) is not None


def subject_words(question: str) -> str:
    """Return the words of a global question that say what it is about; empty if it asks for the whole only.

    >>> subject_words("What disputes over money recur throughout these papers?")
    'disputes money'
    """
    if _ABOUT_THIS.fullmatch(question.strip()):
        return ""
    stop = STOP_WORDS | FUNCTION_WORDS.get(_language(question), frozenset())
    return " ".join(w for w in words(question) if w not in stop and stem(w) not in _GLOBAL_STEMS)


def summary_subject(question: str) -> str:
    """Return the words that say what a question wants summed up; empty if it is the whole, or no summary is wanted.

    >>> summary_subject("Summarise the dispute about the heating."), summary_subject("Summarise these documents.")
    ('dispute heating', '')
    """
    wanted = _SUMMARY.match(question)
    return subject_words(wanted["subject"]) if wanted else ""


def _language(question: str) -> str:
    """Return the language in which a question asks for the whole; empty if it does not."""
    if _ABOUT_THIS.fullmatch(question.strip()):
        return "en"
    return next((code for code, form in _FORMS.items() if form.search(question)), "")


def _is_german_noun(name: str, question: str) -> bool:
    """Return whether nothing but its capital makes a word a name; it does not follow a preposition of place."""
    if stem(name.casefold()) in _GLOBAL_STEMS:
        return True
    after_preposition = re.search(rf"\b(?:in|aus|nach|von|bei|über) {re.escape(name)}\b", question)
    return name.isalpha() and after_preposition is None
