"""Kinds of things: what types and nouns of several languages say about what an entity is.

Types of an extractor are words of any language (``person``, ``Schiff``, ``人物``). A *kind* is what cannot be two
things at once: a person is no ship. A *class* is finer (``film``, ``poem``): one thing may have two in different texts.
"""

from functools import lru_cache

from polygraph.extract.lexicon import OCCUPATIONS

_KINDS = {
    "deity": "deity god goddess",
    "person": "person people human man woman character figure individual persona personne personaje personnage "
    "pessoa persoon menneske människa henkilö osoba człowiek человек лицо персонаж personaggio mensch figur "
    "人物 人 人名 شخص 사람 인물 άτομο πρόσωπο kişi",
    "celestial": "planet star moon galaxy constellation comet asteroid",
    "language": "language dialect sprache langue idioma lingua språk язык 语言 語言 言語 لغة γλώσσα dil",
    "place": "place location hospital church museum airport bridge station port harbour harbor park castle district "
    "province municipality continent ocean sea desert forest valley cave volcano square venue stadium theatre theater "
    "restaurant pub territory landmark monument mine "
    "city town village country state region river lake mountain island building hotel street "
    "area ort stadt land gebäude lieu ville pays endroit lugar ciudad país luogo città paese cidade plaats stad "
    "sted by plats paikka miejsce место город страна 地点 地點 場所 地名 城市 都市 国 مكان مدينة 장소 도시 "
    "τόπος πόλη yer şehir facility gpe",
    "organization": "organization organisation company firm institution institute foundation association society "
    "committee council commission board federation league agency club team band group orchestra choir "
    "party union government university school corporation newspaper regiment family dynasty clan tribe ministry "
    "department court "
    "firma unternehmen verein behörde entreprise société association empresa "
    "compañía organización organização organizzazione azienda società organisatie bedrijf organisasjon selskap "
    "företag organisaatio yritys organizacja организация компания "
    "фирма предприятие общество фірма компанія організація společnost podnik vállalat "
    "组织 組織 会社 公司 機関 منظمة شركة 조직 회사 "
    "οργανισμός οργάνωση kurum şirket",
    "ship": "ship vehicle vessel boat aircraft airplane plane train car rocket spacecraft locomotive submarine schiff "
    "fahrzeug navire bateau véhicule barco buque vehículo nave veicolo navio veículo schip skip fartøy skepp laiva "
    "statek корабль судно 船 船舶 سفينة 배 πλοίο gemi",
    "work": "work book film movie novel poem play song album painting opera series show artwork publication werk buch "
    "roman gedicht œuvre oeuvre livre obra libro película opera libro boek bok verk elokuva dzieło произведение книга "
    "фильм 作品 書籍 书 电影 映画 عمل كتاب فيلم 책 영화 έργο βιβλίο eser kitap",
    "object": "object product brand award prize medal currency thing "
    "artifact item tool device instrument machine gegenstand objekt objet objeto oggetto "
    "voorwerp gjenstand föremål esine przedmiot предмет объект 物品 物体 物 شيء 물건 αντικείμενο nesne",
    "software": "software program programme application library framework language model database protocol "
    "operating_system algorithm website platform api logiciel programma ПО программа 软件 ソフトウェア",
    "disease": "disease illness condition syndrome disorder infection krankheit maladie enfermedad malattia doença "
    "sykdom болезнь 疾病 病気 مرض",
    "substance": "substance drug medication medicine chemical compound element material protein gene hormone "
    "medikament "
    "médicament medicamento farmaco вещество лекарство 药物 薬",
    "creature": "animal species bird fish plant tree organism bacterium virus microbe fungus insect "
    "tier animale djur dyr dier животное 动物 動物",
    "food": "food dish drink beverage ingredient cheese wine beer fruit vegetable meal recipe "
    "lebensmittel speise getränk aliment boisson comida bebida cibo bevanda "
    "alimento mat mad еда 食品 食物 料理 طعام φαγητό yemek",
    "law": "law act statute regulation treaty directive case lawsuit constitution gesetz verordnung loi "
    "décret ley legge lei lov lag закон 法律 قانون νόμος kanun yasa",
    "game": "game sport spiel jeu juego gioco jogo",
}
_KIND_OF_TYPE = {word: kind for kind, words in reversed(_KINDS.items()) for word in words.split()}
TYPE_WORDS = frozenset(_KIND_OF_TYPE)
"""Words of several languages that name a kind."""
_GENERAL_WORDS = """
concept event date quantity time number idea topic conceito concepto begriff ereignis événement evento concetto
понятие событие 概念 事件 出来事
"""
_GENERAL = frozenset(_GENERAL_WORDS.split())
"""Types that say too little to part two entities."""

_VAGUE = frozenset(["model", "version", "series", "class", "type", "brand"])
"""Words of a type that say less than the word before."""

_GROUP = {"organization": "place"}
"""Kinds that are one here: an observatory or a country is a place and an organization."""
_COMPATIBLE = frozenset(
    frozenset(pair.split())
    for pair in (
        "object ship",  # ships are objects where an extractor knows no ships
        "object software",
        "object substance",
        "object game",
        "object disease",
        "object creature",
        "substance creature",
        "disease creature",  # a virus and its infection
        "food object",
        "food substance",
        "food creature",
        "law work",
        "law object",
        "celestial object",
        "language software",
        "software work",
        "game work",
        "game software",
        "person creature",  # characters of tales
    )
)

_SHIPS = (
    "schooner brig barque brigantine sloop ketch cutter lugger clipper frigate destroyer submarine cruiser battleship "
    "corvette minesweeper yacht tanker trawler lifeboat tug"
)
_SPORTS = "baseball basketball cricket rugby handball volleyball rowing hockey"
_CLASSES = {
    "city": "city town village capital port municipality suburb hamlet settlement metropolis resort stadt dorf ort "
    "hauptstadt hafenstadt ville village ciudad pueblo città cidade stad by byen landsby город",
    "river": "river stream tributary creek fluss rivière río fiume elv река",
    "lake": "lake reservoir see lac lago sjø озеро",
    "mountain": "mountain peak hill volcano berg montagne montaña fjell гора",
    "agency": "agency authority ministry department bureau commission",
    "court": "court tribunal",
    "region": "state province region county parish territory district bundesland provincia estado",
    "hotel": "hotel inn tavern pub restaurant bar",
    "church": "church cathedral chapel monastery abbey kirche église iglesia chiesa kirke",
    "school": "school university college academy schule école escuela",
    "club": "club team squad verein klub",
    "football": "football soccer fußballverein fußballklub",
    **{sport: sport for sport in _SPORTS.split()},
    "company": "company firm maker manufacturer startup supplier producer firma "
    "unternehmen hersteller entreprise empresa",
    "bank": "bank banque banco lender sparkasse",
    "fund": "fund investor",
    "retailer": "retailer supermarket grocer",
    "insurer": "insurer insurance",
    "brewery": "brewery brewer distillery winery brauerei brasserie weingut",
    "airline": "airline carrier fluggesellschaft",
    "publisher": "publisher",
    "shipyard": "shipyard shipbuilder werft",
    "railway": "railway railroad eisenbahn",
    "broadcaster": "broadcaster",
    "mining": "mining",
    "oil": "oil petroleum",
    "shipping": "shipping reederei",
    "pharmaceutical": "pharmaceutical drugmaker pharma",
    "construction": "construction builder",
    "textile": "textile clothing",
    "steel": "steel steelmaker",
    "furniture": "furniture",
    "band": "band orchestra choir quartet trio",
    "newspaper": "newspaper magazine journal periodical daily weekly",
    "museum": "museum gallery",
    "station": "station terminus bahnhof gare estación stazione",
    "bridge": "bridge brücke pont puente ponte",
    "airport": "airport airfield flughafen aéroport aeropuerto",
    "venue": "hall theatre theater arena stadium cinema",
    "hospital": "hospital clinic sanatorium krankenhaus klinikum hôpital ospedale",
    "island": "island isle insel île isla isola",
    "ruin": "ruin site temple sanctuary",
    "film": "film movie documentary",
    "novel": "novel book novella memoir textbook treatise roman",
    "poem": "poem epic sonnet ballad gedicht",
    "play": "play tragedy comedy drama",
    "song": "song single track hymn ballad lied chanson canción",
    "album": "album",
    "music": "symphony sonata concerto sinfonie symphonie",
    "opera": "opera operetta musical",
    "painting": "painting portrait fresco",
    "series": "series sitcom programme",
    "ship": "ship vessel boat warship sailing-ship schiff navire barco",
    "steamer": "steamer steamship liner ferry dampfer vapeur vapor",
    **{noun: noun for noun in _SHIPS.split()},
    "rocket": "rocket spacecraft satellite probe missile",
    "aircraft": "aircraft airliner aeroplane airplane helicopter",
    "car": "car automobile motorcycle truck",
    "framework": "framework library toolkit package",
    "machine-learning": "transformer embedder classifier",
    "programming-language": "language",
    "database": "database datastore",
    "editor": "editor ide browser",
    "drug": "drug medication antibiotic painkiller",
    "disease": "disease disorder syndrome infection illness",
    "gene": "gene protein enzyme hormone",
    "element": "element metal mineral",
    "planet": "planet star asteroid moon comet constellation",
    "animal": "animal bird fish insect snake dog horse cat species",
    "plant": "plant tree flower",
    "game": "game puzzle",
    "goddess": "god goddess deity",
    "statue": "statue monument",
    "occurrence": "battle war siege election referendum earthquake fire flood storm hurricane strike riot "
    "wreck accident congress conference treaty match final regatta schlacht wahl bataille élection batalla elección",
}
_BUSINESSES = (
    "bank fund retailer insurer brewery airline publisher shipyard railway broadcaster mining oil shipping "
    "pharmaceutical construction textile steel furniture"
)
GENERAL_CLASSES = {
    **dict.fromkeys(_BUSINESSES.split(), "company"),
    **dict.fromkeys([*_SHIPS.split(), "steamer"], "ship"),
    **dict.fromkeys([*_SPORTS.split(), "football"], "club"),
}
"""Classes that include finer ones, by the finer one."""
CLASS_OF_NOUN = {noun: kind for kind, nouns in _CLASSES.items() for noun in nouns.split()}
"""Classes of common nouns that say what a thing is."""

_KIND_OF_CLASS = {
    **dict.fromkeys(
        [
            "agency",
            "court",
            "city",
            "river",
            "lake",
            "mountain",
            "region",
            "hotel",
            "church",
            "school",
            "club",
            *_SPORTS.split(),
            "football",
            "company",
            *_BUSINESSES.split(),
            "band",
            "museum",
            "station",
            "bridge",
            "airport",
            "venue",
            "hospital",
            "island",
            "ruin",
        ],
        "place",
    ),
    **dict.fromkeys(
        ["film", "novel", "poem", "play", "music", "song", "album", "opera", "painting", "series"], "work"
    ),
    **dict.fromkeys(["ship", "steamer", *_SHIPS.split(), "rocket", "aircraft", "car"], "ship"),
    **dict.fromkeys(
        ["framework", "programming-language", "database", "editor", "machine-learning"], "software"
    ),
    "disease": "disease",
    **dict.fromkeys(("drug", "gene", "element"), "substance"),
    "planet": "celestial",
    **dict.fromkeys(("animal", "plant"), "creature"),
    "game": "game",
}


@lru_cache(maxsize=4_096)
def kind_of_type(type_: str) -> str:
    """Return the kind of an extractor's type, or an empty string.

    >>> [kind_of_type(t) for t in ("Person", "personne", "company", "film", "concept", "")]
    ['person', 'person', 'organization', 'work', '', '']
    >>> [kind_of_type(t) for t in ("car model", "language model", "musician")]
    ['ship', 'software', 'person']
    """
    if is_uninformative(type_):
        return ""
    words = _words_of(type_)
    if words[-1] in _VAGUE and _KIND_OF_TYPE.get(words[0]) == "ship":
        return "ship"  # ``car model``
    for word in (" ".join(words), words[-1], words[0]):
        if word in _KIND_OF_TYPE:
            return _KIND_OF_TYPE[word]
    return "person" if words[-1] in OCCUPATIONS else ""


def is_uninformative(type_: str) -> bool:
    """Return whether a type says nothing about what a thing is, or is missing.

    >>> [is_uninformative(t) for t in ("historical event", "concept", "", "treaty")]
    [True, True, True, False]
    """
    words = _words_of(type_)
    return not words or not _GENERAL.isdisjoint(words)


def _words_of(type_: str) -> list[str]:
    return type_.casefold().replace("_", " ").replace("-", " ").split()


def kind_of_class(noun_class: str) -> str:
    """Return the kind of a class of `CLASS_OF_NOUN`, or an empty string."""
    return _KIND_OF_CLASS.get(noun_class, "")


def classes_conflict(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two sets of classes say different things, and none is only more general.

    >>> classes_conflict(frozenset({"bank"}), frozenset({"company"}))
    False
    >>> classes_conflict(frozenset({"bank"}), frozenset({"airline"}))
    True
    """
    wider = [some | {GENERAL_CLASSES[c] for c in some if c in GENERAL_CLASSES} for some in (a, b)]
    finest = [
        frozenset(c for c in some if c not in {GENERAL_CLASSES.get(d) for d in some}) for some in (a, b)
    ]
    return bool(a and b) and not (wider[0] & finest[1] or wider[1] & finest[0])


def kinds_conflict(a: str, b: str) -> bool:
    """Return whether one thing cannot be of two kinds.

    >>> kinds_conflict("person", "ship"), kinds_conflict("organization", "place"), kinds_conflict("", "work")
    (True, False, False)
    """
    a, b = _GROUP.get(a, a), _GROUP.get(b, b)
    return bool(a and b) and a != b and frozenset((a, b)) not in _COMPATIBLE


def may_be_person(type_: str) -> bool:
    """Return whether a type allows a person: it says so, or says nothing."""
    return not type_ or kind_of_type(type_) == "person"
