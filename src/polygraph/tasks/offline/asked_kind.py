"""The kind of thing that a question asks for, a date, a number or a person, and the sentences that hold one."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from polygraph.text.quantities import FOREIGN_NUMBER_WORDS
from polygraph.text.words import content_stems, words

_QUANTITY_GAIN = 2.0
"""In logits, of a sentence that holds the date or number asked for."""
_PERMISSION_GAIN = 1.5
"""In logits, of a sentence that allows or forbids, where it is asked what one may do: the penalty comes behind it."""
_Kind: TypeAlias = tuple[re.Pattern[str], re.Pattern[str], float]
_ENGLISH: Sequence[_Kind] = (
    # The question's wording, what an answering sentence then usually holds, and the gain in logits.
    (
        re.compile(
            r"^\W*(?:on |at |from |since |in )?(?:what|which) (?:year|date|day|month)|^\W*when\b", re.I
        ),
        re.compile(
            r"\b\d{4}\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|"
            r"December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
        ),
        _QUANTITY_GAIN,
    ),
    (
        re.compile(
            r"^\W*how (?:many|much|long|old|far|big|high|deep|wide|heavy|hot|cold|fast)\b"
            r"|^\W*(?:what|which) (?:[\w-]+ ){0,3}?(?:numbers?|versions?|codes?|extension)\b"
            r"|\b(?:price|salary|cost|sum|rate)\b",
            re.I,
        ),
        re.compile(
            r"\d|[£$€]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|"
            r"fifty|hundred|thousand)\b",
            re.I,
        ),
        _QUANTITY_GAIN,
    ),
    (
        re.compile(r"^\W*who(?:se|m)?\b", re.I),
        re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z]|\b(?:Mr|Mrs|Miss|Dr)\b"),
        1.0,
    ),
    (
        re.compile(
            r"^\W*(?:may|can|could|must|should|am|is it|are we|do)\b.{0,40}?\b(?:i|we|you|one|allowed|permitted)\b",
            re.I,
        ),
        re.compile(
            r"\b(?:(?:may|must|shall|should|can) (?:not|only)|cannot|(?:not|never|only|is|are|be) "
            r"(?:allowed|permitted)|forbidden|prohibited|banned|do not|no \w+ (?:is|are|may))\b|n['’]t\b",
            re.I,
        ),
        _PERMISSION_GAIN,
    ),
)
_DAYS = """
januar jänner februar märz april mai juni juli august september oktober november dezember montag dienstag mittwoch
donnerstag freitag samstag sonntag janvier février mars avril juin juillet août septembre octobre novembre décembre
lundi mardi mercredi jeudi vendredi samedi dimanche enero febrero marzo abril mayo junio julio agosto septiembre
octubre noviembre diciembre lunes martes miércoles jueves viernes sábado domingo gennaio febbraio aprile maggio giugno
luglio settembre ottobre dicembre lunedì martedì mercoledì giovedì venerdì sabato domenica janeiro fevereiro março
maio junho julho setembro outubro novembro dezembro januari februari maart mei augustus oktober december maandag
dinsdag woensdag donderdag vrijdag zaterdag zondag
"""
_MORE_NUMBERS = """
acht elf hälfte drittel six neuf moitié tiers dos once ciento mitad tercio otto metà dois duas três quatro sete oito dez
doze vinte trinta metade twee drie vijf zes zeven negen tien twaalf twintig dertig honderd duizend helft
"""
"""Beside `FOREIGN_NUMBER_WORDS`: Portuguese, Dutch, parts, and words that mean something else elsewhere."""
_OTHERS: Sequence[_Kind] = (
    # The same in German, French, Spanish, Italian, Portuguese and Dutch.
    (
        re.compile(
            r"^\W*(?:(?:ab|bis|seit|depuis|dès|jusqu['’]à|desde|hasta|da|até|sinds|tot|vanaf) )?"
            r"(?:wann|quand|cuándo|quando|wanneer)\b"
            r"|^\W*(?:(?:an|in|en|à|in|em|op) )?(?:welche[mnrs]?|quel(?:le)?s?|qué|che|quale|que|welke?) "
            r"(?:jahr|tag|monat|datum|année|an|jour|mois|date|año|día|mes|fecha|anno|giorno|mese|data|ano|dia|mês|jaar|dag"
            r"|maand)\b",
            re.I,
        ),
        re.compile(rf"\b\d{{4}}\b|\b(?:{'|'.join(_DAYS.split())})\b", re.I),
        _QUANTITY_GAIN,
    ),
    (
        re.compile(
            r"^\W*(?:\w{1,7} )?(?:wie ?viele?[mnr]?|wie (?:lange?|hoch|alt|weit|groß|oft|schwer|teuer)|combien"
            r"|cuánt[oa]s?|quant[ieo]|quant[oa]s|hoeveel|hoe (?:lang|hoog|oud|ver|groot|vaak|zwaar|duur))\b"
            r"|^\W*(?:was (?:kostet|kosten|hat)|welche[nrs]? (?:betrag|nummer|preis|summe)|wat kost|wat is de prijs"
            r"|quel(?:le)?s? (?:(?:est|sont) )?(?:les? |la |l['’])?"
            r"(?:charge|coût|durée|montant|nombre|prix|tarif|taux|valeur)"
            r"|(?:cuál|qué) (?:es |tiene )?(?:el |la )?"
            r"(?:coste|costo|duración|importe|número|plazo|precio|tarifa|valor)"
            r"|qual è (?:il |la |l['’])?(?:costo|durata|importo|numero|prezzo|valore)"
            r"|qual é (?:o |a )?(?:custo|duração|número|preço|valor))\b",
            re.I,
        ),
        re.compile(rf"\d|[£$€]|\b(?:{'|'.join((*FOREIGN_NUMBER_WORDS, *_MORE_NUMBERS.split()))})\b", re.I),
        _QUANTITY_GAIN,
    ),
    (
        re.compile(
            r"^\W*(?:(?:à|a|avec|con|de|mit|par|por|pour|von) )?"
            r"(?:we(?:r|m|n|ssen)|qui|quién(?:es)?|chi(?! sq)|quem|wie (?:is|zijn|was|waren|heeft|hebben|wordt))\b",
            re.I,
        ),
        # A name of two words, or one behind a title: nouns alone have capitals in German, too.
        re.compile(
            r"\b(?:Herrn?|Frau|Mme|Mlle|MM?\.|Sra?\.|D\.ª?|Dña\.|Sig\.(?:ra)?|Dott\.|Dr\.?|Prof\.|Dhr\.|[Mm]evr\.) ?"
            r"[^\W\d_a-z]|(?<=[a-zß-ÿ,;] )[^\W\d_a-z][^\W\d_A-Z]+ [^\W\d_a-z][^\W\d_A-Z]+"
        ),
        1.0,
    ),
    (
        re.compile(
            r"^\W*(?:darf|dürfen|kann (?:ich|man)|können wir|muss (?:ich|man)|puis-je|peut-on|doit-on|dois-je|faut-il"
            r"|est-il|est-ce qu|puedo|podemos|se puede|se permite|está permitid[oa]|hay que|debo|posso|devo|si può"
            r"|pode-se|é permitid[oa]|mag (?:ik|je|men)|moet (?:ik|je|men))",
            re.I,
        ),
        re.compile(
            r"\b(?:verboten|untersagt|erlaubt|gestattet|zulässig|dürfen|darf|interdite?s?|permise?s?|autorisée?s?"
            r"|obligatoires?|admise?s?|acceptée?s?|prohibid[oa]s?|permitid[oa]s?|permiten?|admiten?|obligatori[oaie]s?"
            r"|vietat[oaie]|consentit[oaie]|ammess[oaie]|proibid[oa]s?|verplicht|toegestaan|verboden)\b",
            re.I,
        ),
        _PERMISSION_GAIN,
    ),
)
_KINDS = (*_ENGLISH, *_OTHERS)


def kind_gain(question: str, sentence: str) -> float:
    """Return the gain of a sentence that holds the kind of thing asked for: a date, a number, a person."""
    return sum(gain for asks, holds, gain in _KINDS if asks.search(question) and holds.search(sentence))


def asked_kind(question: str) -> Callable[[str], bool] | None:
    """Return a test for a text with the kind of thing asked for that the question does not hold; None for others."""
    found = [holds for asks, holds, gain in _KINDS if gain != _PERMISSION_GAIN and asks.match(question)]
    if not found:
        return None
    asked = set(words(question))

    def holds_more(text: str) -> bool:
        return any(not asked.issuperset(words(match[0])) for match in found[0].finditer(text))

    return holds_more


def holds_quantity(question: str, heading: str) -> bool:
    """Return whether a heading holds the date or number that is asked for, as those of a list of versions do."""
    if set(content_stems(question)).isdisjoint(content_stems(heading)):
        return False
    return any(
        asks.search(question) and holds.search(heading)
        for asks, holds, gain in _KINDS
        if gain == _QUANTITY_GAIN
    )
