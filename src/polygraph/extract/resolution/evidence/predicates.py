"""Predicates that bear on identity: that two names are one thing, that they are not, that one is part of the other.

The word lists hold the languages of Europe with most speakers, Turkish, Arabic, Chinese, Japanese and Korean.
"""

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from polygraph.text.normalize import normalize_name

PredicateKind: TypeAlias = Literal["equates", "becomes", "denies", "within", "creates", "other"]

_AUXILIARIES_WORDS = """
 is was are were be been being has had have later then now also once
le la el il lo das der die un une una sometimes officially usually simply often
commonly locally secretly generally originally today the a an by ist war wird wurde sind est était a été fut es fue
era ha sido é foi è stato stata fu er var ble blev is werd son été auch aussi también anche também ook også även
είναι ήταν это был была также является jest był była on olarak
"""
_AUXILIARIES = frozenset(_AUXILIARIES_WORDS.split())

_EQUATING = (
    # English
    r"same(?: \w+)? as|identical (?:to|with)|(?:known|called|referred to|abbreviated)(?: (?!for\b|as\b)\w+){0,3} as"
    r"|aka|a\.k\.a|alias(?: of| for)?"
    r"|(?:another|other|former|old|new|maiden|married|real|true|birth|pen|stage|full|short|german|french|english"
    r"|latin|local|user|code|brand|trade|common|scientific|generic|chemical|popular|official|original|later|earlier"
    r"|first|modern|ancient|native|legal|artistic|formal|informal|alternative|international|chinese|japanese|korean"
    r"|spanish|portuguese|italian|russian|arabic|hebrew|hindi|greek|turkish|dutch|polish|swedish|norwegian|danish"
    r"|finnish|welsh|irish) name"
    r"(?: of| for| is)?|username(?: of)?"
    r"|handle(?: of)?|(?:code|screen)[- ]named?(?: of)?"
    r"|pseudonym(?: of)?|pen-name(?: of)?|nickname(?:d|s)?(?: of| for)?"
    r"|former(?:ly)?(?: known as| called| named| of)?|previously(?: known as| called| named)?"
    r"|n[ée]e|born as|renamed(?: to| as| from)?|rename of|rebranded(?: as| to| from)?"
    r"|changed (?:his|her|its|their)? ?name (?:to|from)|took the name(?: of)?|became known as|goes by|went by"
    r"|abbreviat(?:ed|ion)(?: as| to| of| for)?|short(?:ened)? (?:for|to|form of)|acronym (?:of|for)|stands for"
    r"|spelled|spelt|transliterat(?:ed|ion)(?: as| of)?|translated as|in fact|really|actually|revealed (?:to be|as)"
    r"|true identity of|secret identity of|in disguise|disguised as|equals|synonym(?: of| for|ous with)"
    r"|doing business as"
    r"|trad(?:es|ing) as"
    # German
    r"|identisch mit|(?:dasselbe|derselbe|dieselbe) wie|genannt|bekannt (?:als|unter)|heißt(?: auch| heute| jetzt)?"
    r"|hieß(?: früher| zuvor| einst)?|früher(?: genannt)?|vormals|ehemals|geborene|geb|umbenannt(?: in| zu)?"
    r"|spitzname(?: von)?|künstlername(?: von)?|abkürzung (?:für|von)|kurz(?:form)? (?:für|von)|steht für"
    # French
    r"|même(?: \w+)? que|appelée?|surnommée?|dite?|connue? (?:comme|sous)(?: le nom de)?|anciennement|autrefois"
    r"|(?:re)?baptisée?|renommée?|abréviation de|sigle de|autre nom de|ancien nom de|pseudonyme de|s'appelle"
    # Spanish, Portuguese, Italian
    r"|(?:el |la |o |a )?mism[oa] que|mesm[oa] que|stess[oa] di|llamad[oa]|se llama|chamad[oa]|chama-se|chiamat[oa]"
    r"|si chiama|dett[oa]|apodad[oa]|apelidad[oa]|soprannominat[oa]|(?:conocid[oa]|conhecid[oa]) (?:como|por)"
    r"|(?:not[oa]|conosciut[oa]) come|anteriormente|antiguamente|antigamente|antes|precedentemente|già"
    r"|(?:re)?nombrad[oa]|renombrad[oa]|rebautizad[oa]|renomead[oa]|rebatizad[oa]|rinominat[oa]|ribattezzat[oa]"
    r"|cambió su nombre a|mudou de nome para|(?:abreviatura|siglas?|sigla|abreviação|abbreviazione) (?:de|di)"
    # Dutch, Scandinavian languages
    r"|dezelfde als|genoemd|genaamd|bekend als|heette(?: vroeger)?|voorheen|hernoemd(?: tot| naar)?|bijnaam van"
    r"|afkorting van|samme som|samma som|kalt|kaldet|kalla[ds]s?|kalles|kaldes|kjent som|kendt som|känd som|heter"
    r"|hed(?:te)?(?: tidligere)?|tidligere(?: kalt| kaldet)?|tidigare(?: kallad)?|omdøpt(?: til)?|omdøbt(?: til)?"
    r"|omdöpt(?: till)?|tilnavn(?:et)?|fork(?:ort|ört)(?:else|ning) (?:for|för|av)"
    # Russian, Polish, Greek, Turkish
    r"|он(?:а)? же|извест\w+ как|также извест\w+|прозв\w+|по прозвищу|называ\w+|переименован\w*(?: в)?|бывш\w+"
    r"|ранее|урожд[её]нн\w+|то же(?: самое)?(?: что)?|сокращени\w+|zwan[ya]|znan[ya] jako|przemianowan\w+(?: na)?"
    r"|dawniej|z domu|γνωστ\w+ ως|μετονομάστηκε(?: σε)?|αλλιώς|πρώην|ονομάζεται|λεγόταν|λέγεται|eski adı|diğer adı"
    r"|bilinen|lakaplı"
)
# Case folding writes ß as ss, and ς as σ.
_EQUATES = re.compile(
    rf"(?:{_EQUATING.casefold()})(?: (?:in|im|en|as|als|como|come|til|to|auf|på|zu|of|for)\b(?: \w+){{0,2}}|"
    r" \d{4}|(?: \w+)? (?:name|namen|nom|nombre|nome|navn))?"
)
_BE = frozenset(["is", "are", "was", "were", "been"])
"""With which ``named`` does not mean that the source named the target."""
_IS = frozenset(["is", "was", "ist", "war", "est", "es", "era", "è", "é", "er"])
_INDEFINITE = frozenset(["a", "an", "un", "une", "una"])
"""Articles before a kind of thing: ``is a`` says what something is, not who."""
_BECOMES = re.compile(r"(?:sold|marketed|traded|branded)(?: (?!for\b|as\b)\w+){0,3} as")
_EQUATES_ANYWHERE = re.compile(
    "又名|又称|又稱|亦称|亦稱|原名|本名|别名|別名|改名|更名|改称|改稱|也叫|简称|簡稱|曾用名|旧称|舊稱|旧名|旧姓|笔名|筆名|同一人|"
    "通称|略称|と呼ばれ|라고도|본명|개명|옛 이름|별명|약칭|"
    "المعروف|يعرف باسم|تعرف باسم|سابقا|الملقب|يسمى|تسمى|أعيدت تسمي"
)
_NEGATIONS_WORDS = """
not no never nor neither without nicht kein keine nie ne pas jamais no nunca não jamais non mai niet geen ikke inte ej
aldri aldrig не ни нет nie δεν δε ούτε değil unrelated mistaken confused distinct different
"""
_NEGATIONS = frozenset(_NEGATIONS_WORDS.split())
_NEGATED_ANYWHERE = re.compile("不是|并非|並非|没有|沒有|ではない|でない|ない$|아니|ليس|ليست|لم ")
_CONTRACTED = re.compile(r"n[’']t\b")
_WITHIN = re.compile(
    r"(?:part of )?(?:the )?(?:government|administration|authorities) of|(?:an? )?"
    r"(?:part|capital|district|suburb|quarter|county|province|state|region|city|town|village|municipality|member|branch"
    r"|division|department|committee|chapter|article|section|subsidiary|unit|organ|body|seat"
    r"|agency|ministry|court|tribunal|parliament) of"
    r"|(?:(?:located|situated|based|lies|stands|headquartered|set) )?(?:in|within)|belongs to|contained in"
    r"|(?:teil|hauptstadt|stadtteil|abteilung|ausschuss|mitglied|behörde|ministerium|gericht) (?:von|der|des)"
    r"|liegt in|gehört zu|befindet sich in"
    r"|(?:partie|capitale|commune|ville|quartier|ministère|tribunal|organe) (?:de|du)"
    r"|(?:situé|située|se trouve|basé|basée) (?:à|en|dans|au)"
    r"|(?:parte|capital|ciudad|barrio|cidade|capitale|città|tribunal|ministerio|órgano) (?:de|do|da|di|del|della)"
    r"|(?:está|fica|si trova|situad[oa]|ubicad[oa]) (?:en|em|in|a)|ligger i|del av|hovedstad i|находится в"
    r"|часть|столица"
    r"|位于|位於|属于|屬於|にある|の一部|.*首都"
)
_CREATES = re.compile(
    r"(?:wrote|composed|directed|painted|created|made|designed|authored|published|sculpted|developed|released|invented|"
    r"recorded|founded|schrieb|komponierte|malte|gründete|écrivit|composa|peignit|fonda|escribió|compuso|pintó|fundó|"
    r"scrisse|compose|dipinse|escreveu|compôs|skrev|malte|grunnla|написал\w*|создал\w*|書いた|写了|"
    r"(?:was |is )?(?:author|creator|composer|director|designer|founder) of)"
)


@lru_cache(maxsize=8_192)
def kind_of_predicate(predicate: str) -> PredicateKind:
    """Return what a predicate says about the identity of its two names.

    `equates`: they are one thing. `becomes`: they may be, if both are names and not offices. `denies`: they are not, or
    anything else with a negation. `within`: the source is a part of the target or lies in it. `creates`: the source
    made the target. `other`: they are two things that have something to do with each other.

    >>> [kind_of_predicate(p) for p in ("was renamed", "is not", "is capital of", "wrote", "is father of")]
    ['equates', 'denies', 'within', 'creates', 'other']
    >>> [kind_of_predicate(p) for p in ("named after", "is also known as", "früher genannt", "is called in German")]
    ['other', 'equates', 'equates', 'equates']
    >>> [kind_of_predicate(p) for p in ("had named", "was later named", "is common name of")]
    ['other', 'becomes', 'equates']
    >>> [kind_of_predicate(p) for p in ("is", "is a", "was the")]
    ['becomes', 'other', 'becomes']
    >>> [kind_of_predicate(p) for p in ("heißt heute", "γνωστός ως", "Previously Known As")]
    ['equates', 'equates', 'equates']
    """
    text = normalize_name(predicate)
    if not text:
        return "other"
    words = text.split()
    if _NEGATIONS.intersection(words) or _NEGATED_ANYWHERE.search(text) or _CONTRACTED.search(predicate):
        return "denies"
    if _EQUATES_ANYWHERE.search(text):
        return "equates"
    passive = False
    core = list(words)
    while core and core[0] in _AUXILIARIES:
        passive = True
        del core[0]
    phrase = " ".join(core)
    if not phrase:
        # ``is`` alone: the text says that one is the other.
        states_identity = words[0] in _IS and words[-1] not in _INDEFINITE
        return "becomes" if states_identity else "other"
    if _EQUATES.fullmatch(phrase) or (phrase.startswith(("called", "named in")) and passive):
        return "equates"
    if (
        _BECOMES.fullmatch(phrase)
        or (phrase == "named" and _BE.intersection(words))
        or phrase
        in (
            "became",
            "becomes",
            "wurde zu",
            "devint",
            "devient",
            "diventa",
            "divenne",
            "blev",
            "ble",
        )
    ):
        return "becomes"
    if _WITHIN.fullmatch(phrase) or _WITHIN.fullmatch(text):
        return "within"
    return "creates" if _CREATES.fullmatch(phrase) or _CREATES.fullmatch(text) else "other"
