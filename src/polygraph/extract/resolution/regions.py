"""Countries and their parts: which places cannot lie in one another."""

from collections.abc import Iterable

_COUNTRIES = """
 afghanistan albania algeria angola argentina armenia australia austria azerbaijan bangladesh belarus belgium
bolivia bosnia botswana brazil bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus denmark
ecuador egypt estonia ethiopia finland france germany ghana greece guatemala haiti honduras hungary iceland india
indonesia iran iraq ireland israel italy jamaica japan kazakhstan kenya kuwait laos latvia lebanon libya lithuania
luxembourg malaysia mali malta mexico mongolia morocco mozambique myanmar namibia nepal netherlands nicaragua niger
nigeria norway pakistan panama paraguay peru philippines poland portugal qatar romania russia rwanda senegal serbia
singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand tunisia turkey
uganda ukraine uruguay uzbekistan venezuela vietnam yemen zambia zimbabwe
"""
_PARTS = {
    "united states": "alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho "
    "illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi "
    "missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia "
    "wisconsin wyoming",
    "united kingdom": "england scotland wales",
    "canada": "ontario quebec alberta manitoba saskatchewan",
    "australia": "queensland tasmania",
    "germany": "bavaria saxony hesse brandenburg thuringia saarland",
    "spain": "catalonia andalusia galicia",
    "italy": "tuscany lombardy sicily sardinia piedmont",
}
_PARTS_OF_TWO_WORDS = {
    "united states": "new york,new jersey,new mexico,new hampshire,north carolina,south carolina,north dakota,"
    "south dakota,rhode island,west virginia",
    "united kingdom": "northern ireland",
    "canada": "nova scotia,british columbia,new brunswick",
    "australia": "new south wales,south australia,western australia",
}
_OTHER_COUNTRIES = (
    "united states,united kingdom,new zealand,south africa,south korea,north korea,sri lanka,saudi arabia,costa rica,"
    "czech republic"
)
_NAMES = {
    "united states": "usa us u.s u.s.a",
    "united kingdom": "uk u.k britain",
    "germany": "deutschland allemagne alemania germania tyskland alemanha",
    "france": "frankreich francia frankrike frança",
    "spain": "spanien espagne españa spagna spania espanha",
    "italy": "italien italie italia",
    "england": "angleterre inglaterra inghilterra",
    "scotland": "schottland écosse escocia scozia skottland",
    "norway": "norwegen norvège noruega norge norvegia",
    "sweden": "schweden suède suecia sverige svezia",
    "denmark": "dänemark danemark dinamarca danmark danimarca",
    "russia": "russland russie rusia россия",
    "japan": "japon japón giappone 日本",
    "china": "chine cina kina 中国",
    "brazil": "brasil brasilien brésil",
    "greece": "griechenland grèce grecia ελλάδα",
    "switzerland": "schweiz suisse suiza svizzera",
    "austria": "österreich autriche",
    "poland": "polen pologne polonia polska",
    "netherlands": "niederlande nederland holland",
    "mexico": "méxico mexique mexiko",
}
_ADJECTIVES = {
    "united states": "american",
    "united kingdom": "british",
    "england": "english",
    "scotland": "scottish scots",
    "wales": "welsh",
    "ireland": "irish",
    "germany": "german",
    "france": "french",
    "spain": "spanish",
    "italy": "italian",
    "portugal": "portuguese",
    "brazil": "brazilian",
    "russia": "russian",
    "poland": "polish",
    "norway": "norwegian",
    "sweden": "swedish",
    "denmark": "danish",
    "finland": "finnish",
    "netherlands": "dutch",
    "belgium": "belgian",
    "austria": "austrian",
    "switzerland": "swiss",
    "greece": "greek",
    "turkey": "turkish",
    "japan": "japanese",
    "china": "chinese",
    "india": "indian",
    "canada": "canadian",
    "australia": "australian",
    "mexico": "mexican",
    "argentina": "argentine argentinian",
    "egypt": "egyptian",
    "ukraine": "ukrainian",
    "hungary": "hungarian",
    "iceland": "icelandic",
}
_EXONYMS = """
munich münchen monaco di baviera|cologne köln colonia|vienna wien vienne viena|rome roma rom
florence firenze florenz florencia|venice venezia venedig venise venecia|naples napoli neapel
milan milano mailand milán|turin torino|genoa genova genua gênes|lisbon lisboa lissabon lisbonne lisbona
prague praha prag praga|warsaw warszawa warschau varsovie varsovia|antwerp antwerpen anvers
moscow moskau moskva moscou moscú mosca|copenhagen københavn kopenhagen copenhague
athens athen athènes atenas atene|london londres londra|brussels bruxelles brüssel brussel bruselas
geneva genève genf ginebra ginevra|nuremberg nürnberg|hanover hannover|seville sevilla
gothenburg göteborg|bucharest bucurești bukarest|belgrade beograd belgrad|cairo kairo le caire
beijing peking pékin pekín pechino|tokyo tokio|krakow cracow kraków krakau cracovie|rhine rhein rhin rin reno
danube donau dunav|vistula wisła weichsel|tiber tevere|gdansk gdańsk danzig|wroclaw wrocław breslau
bratislava pressburg|ljubljana laibach|zagreb agram|lviv lemberg lwów|istanbul constantinople|mumbai bombay
kolkata calcutta|chennai madras|yangon rangoon|edinburgh édimbourg edimburgo|sicily sicilia sizilien
tuscany toscana toskana|bavaria bayern bavière|saxony sachsen|crete kreta kríti|basel basle bâle
lake constance bodensee|lucerne luzern|the hague den haag la haye
"""
_PARENT: dict[str, str] = {part: country for country, parts in _PARTS.items() for part in parts.split()} | {
    part: country for country, parts in _PARTS_OF_TWO_WORDS.items() for part in parts.split(",")
}
_KNOWN = frozenset(_COUNTRIES.split()) | frozenset(_OTHER_COUNTRIES.split(",")) | frozenset(_PARENT)
_CANONICAL = {name: country for country, names in _NAMES.items() for name in names.split()} | {
    "united states of america": "united states",
    "great britain": "united kingdom",
}
COUNTRY_OF_ADJECTIVE = {word: country for country, words in _ADJECTIVES.items() for word in words.split()}
"""Countries of English adjectives (``american``)."""


_OF_SEVERAL_WORDS = "di baviera monaco le caire lake constance the hague den haag la haye"
_PARTS_OF_NAMES = frozenset(_OF_SEVERAL_WORDS.split())
_EXONYM = {
    name: group.split()[0]
    for group in _EXONYMS.replace("\n", "|").split("|")
    for name in group.split()
    if len(group.split()) == len(set(group.split())) and name not in _PARTS_OF_NAMES
}


def place_in_english(name: str) -> str:
    """Return the English name of a city, river or country that languages name differently, or the name.

    >>> place_in_english("münchen"), place_in_english("deutschland"), place_in_english("kelso")
    ('munich', 'germany', 'kelso')
    """
    return region(name) or _EXONYM.get(name, name)


def region(name: str) -> str:
    """Return the English name of a known country or part of one, or an empty string.

    >>> region("deutschland"), region("illinois"), region("narnia")
    ('germany', 'illinois', '')
    """
    name = _CANONICAL.get(name, name)
    return name if name in _KNOWN else ""


def regions_apart(a: Iterable[str], b: Iterable[str]) -> tuple[str, str] | None:
    """Return two known regions of which neither holds the other, if this is so for every pair of the two lists.

    >>> regions_apart(["illinois"], ["massachusetts"]), regions_apart(["illinois"], ["united states"])
    (('illinois', 'massachusetts'), None)
    """
    first, second = sorted(filter(None, map(region, a))), sorted(filter(None, map(region, b)))
    if not first or not second:
        return None
    for x in first:
        for y in second:
            if x == y or _PARENT.get(x) == y or _PARENT.get(y) == x:
                return None
    return min(first[0], second[0]), max(first[0], second[0])
