"""Sentences that are not understood without the one before them, by the words that they begin with."""

import re

_ENGLISH = (
    "he|she|it|they|him|her|them|his|its|their|this|that|these|those|such|there|here|then|so|but|and|or|yet|"
    "both|neither|either|the (?:former|latter|same|other)|one|another|which|who|"
    "therefore|thus|hence|consequently|accordingly|as a result|for (?:this|that|these) reasons?|"
    # "In winter it is closed", "Until 2024 this was Ana Ruiz"
    r"(?:in|on|at|by|from|until|since|before|after|during|with|without|for|under) [^\s,.;:?!]+(?: [^\s,.;:?!]+){0,4},? "
    r"(?:he|she|it|they|this|these) (?:is|are|was|were|has|have|had|will|would|can|could|may|must|shall|should)"
)
_BEGINNINGS = {
    "en": _ENGLISH,
    # "Sie" before these verbs addresses the reader.
    "de": r"er|sie(?! (?:bitte|brauchen|dürfen|erhalten|finden|haben|können|möchten|müssen|sollten|wollen)\b)"
    r"|es (?:hat|ist|kann|war|wird|wurde)|ih[mnr]|ihnen|seine?[mnrs]?|ihre?[mnrs]?|diese[mnrs]?"
    r"|das (?:gilt|hat|ist|kann|sind|war|wird)|dort|hier|dann|so|aber|und|oder|auch|beide|deshalb|daher|darum|deswegen"
    r"|somit|jedoch|außerdem|allerdings|da(?:bei|durch|für|mit|nach|r?an|r?auf|r?in|r?über|von|zu)",
    "fr": r"il(?! (?:est (?:interdit|nécessaire|obligatoire|permis|possible)|faut|y a)\b)|elles?|ils|cela"
    r"|celui-ci|celle-ci|ceux-ci|celles-ci|ceci|c['’]\w+|cet(?:te)?|ces?|son|sa|ses|leurs?|lui|là|ici|ainsi|alors|puis|ensuite|mais"
    r"|et|ou|donc|car|aussi|cependant|toutefois|pourtant|en (?:conséquence|effet|outre|revanche)|(?:les|tous) deux",
    "es": r"él|ell[ao]s?|est[aeo]s?|es[aeo]s?|aquel\w*|sus?|les?|lo|allí|ahí|aquí|así|entonces|luego|después|pero|y|e|o"
    r"|además|también|sin embargo|por (?:ello|eso|(?:lo )?tanto)|amb[ao]s",
    "it": r"egli|ell[ae]|ess[aeio]|lui|lei|loro|quest[aeio]|quell[aeio]|quel|suoi|su[aeo]|lì|là|qui|così|allora|poi|ma"
    r"|e|o|però|inoltre|tuttavia|perciò|quindi|entramb[ei]",
    "pt": r"el[ae]s?|is[st]o|aquilo|es[st][ae]s?|aquel[ae]s?|seus?|suas?|lá|ali|aqui|assim|então|depois|mas|e|ou|porém"
    r"|contudo|além disso|também|por (?:isso|isto)|amb[ao]s",
    "nl": r"hij|ze|zij|het (?:heeft|is|kan|was|werd|wordt)|hem|haar|hun|zijn|dit|dat|deze|die|daar|hier|dan|toen|zo"
    r"|maar|en|of|ook|dus|daar(?:door|om|voor)|beide|echter",
}
_PATTERNS = {
    code: re.compile(rf"[\"'“‘«„(*]*(?:{words})\b", re.IGNORECASE) for code, words in _BEGINNINGS.items()
}


def is_dependent(text: str, language: str = "en") -> bool:
    """Return whether a sentence refers to the one before it, by its beginning; other languages are read as English.

    >>> is_dependent("He refused."), is_dependent("Elle a refusé.", "fr"), is_dependent("Il faut payer.", "fr")
    (True, True, False)
    """
    return _PATTERNS.get(language, _PATTERNS["en"]).match(text) is not None
