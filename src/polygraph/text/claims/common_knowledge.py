"""Names that a reader knows without the text: countries and their people, ages, and words for institutions."""

from collections.abc import Set

_COUNTRIES = """
    africa african africans; america american americans us usa states; argentina argentine argentinian; asia
    asian asians; australia australian australians; austria austrian austrians osterreich osterreichisch
    autriche autrichien; belgium belgian belgians belgien belgique belge; brazil brazilian brazilians brasil;
    britain british briton britons uk england english scotland scottish scots wales welsh grossbritannien
    britisch angleterre anglais inglaterra ingles inghilterra inglese kingdom; bulgaria bulgarian; canada
    canadian canadians; chile chilean; china chinese; colombia colombian; croatia croatian croat; cuba cuban;
    czech czechs czechia; denmark danish dane danes danemark danisch; egypt egyptian egyptians; estonia
    estonian; europe european europeans eu europa europaisch europeen europeo; finland finnish finn finns;
    france french frenchman frenchmen frankreich franzosisch francais francaise francia francese frances;
    germany german germans deutschland deutsch allemagne allemand alemania aleman germania tedesco; greece greek
    greeks; hungary hungarian hungarians; iceland icelandic icelander; india indian indians; indonesia
    indonesian; iran iranian persian persia; iraq iraqi; ireland irish irishman; israel israeli; italy italian
    italians italien italienisch italie italia italiano; japan japanese; kenya kenyan; korea korean koreans;
    latvia latvian; lithuania lithuanian; mexico mexican mexicans; morocco moroccan; netherlands dutch dutchman
    holland niederlande niederlandisch; nigeria nigerian; norway norwegian norwegians norwegen norwegisch;
    pakistan pakistani; peru peruvian; poland polish pole poles polen polnisch pologne polonais; portugal
    portuguese; romania romanian; rome roman romans; russia russian russians soviet; serbia serbian serb;
    slovakia slovak; slovenia slovenian slovene; spain spanish spaniard spaniards spanien spanisch espagne
    espagnol espana espanol; sweden swedish swede swedes schweden schwedisch; switzerland swiss schweiz suisse;
    turkey turkish turk turks ottoman; ukraine ukrainian ukrainians; vietnam vietnamese
"""
_AGES = """
    victorian edwardian georgian elizabethan tudor stuart regency renaissance baroque gothic romanesque romantic
    medieval neolithic palaeolithic mesolithic antiquity enlightenment reformation
    settecento ottocento novecento cinquecento quattrocento trecento seicento duecento
    mittelalter neuzeit kaiserzeit moyen age siecle siglo secolo antiguo regimen risorgimento
"""
_INSTITUTIONS = """
    president minister professor doctor justice governor mayor king queen prince princess duke count countess saint
    chancellor secretary director chairman chairwoman chair sergeant lieutenant major commander superintendent reverend
    council court company committee commission parliament government state church university college school institute
    society museum library city town village river lake mount street road board ministry department office bank union
    act bill treaty appendix chapter section clause article table figure annex part
    celsius fahrenheit christian catholic protestant jewish muslim islamic latin internet web
    christmas easter god bible
    conseil cour tribunal mairie ministre presidente president commission gouvernement eglise musee
    consiglio corte comune ministro presidente governo chiesa museo ministra
    ayuntamiento gobierno alcalde alcaldesa junta iglesia
"""
_GROUP_OF = {
    word: n for n, group in enumerate(_COUNTRIES.replace("\n", " ").split(";")) for word in group.split()
}
_AGES_AND_INSTITUTIONS = frozenset((_AGES + _INSTITUTIONS).split())


def is_common_knowledge(name: str, there: Set[str]) -> bool:
    """Return whether a name may be added to what a text says, in any words, without contradicting it.

    Ages of history and words for institutions always may; a country or people may if the text names it in another form,
    or names no country at all.

    Args:
        name: one word in lower case, without accents.
        there: the words of the text, likewise.
    """
    if name in _AGES_AND_INSTITUTIONS:
        return True
    if name not in _GROUP_OF:
        return False
    groups = {_GROUP_OF[word] for word in there if word in _GROUP_OF}
    return not groups or _GROUP_OF[name] in groups
