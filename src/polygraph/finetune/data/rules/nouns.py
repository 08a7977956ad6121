"""The noun that asks for an entity: "which person", "which place"; decided by words, since parsers often err."""

import re

from polygraph.records import Entity

_TITLE_WORDS = """
    mr mrs ms miss dr sir lady lord captain capt professor prof alderman councillor rev reverend father judge
    lieutenant colonel general major sergeant admiral inspector senator president king queen prince princess aunt
    uncle madame monsieur herr frau don
"""
TITLES = frozenset(_TITLE_WORDS.split())
"""Words before the name of a person, in lower case, without a full stop."""
ANY_TITLE = "|".join(sorted(TITLES))
"""Pattern of a title."""
_GIVEN_WORDS = """
    adam agnes albert alexander alfred alice amelia amos amy andrea andrew angela anna anne anthony arthur barbara
    beatrice benjamin bernard betty brian bruce carl carol caroline catherine charles charlotte christina
    christopher claire clara daniel david deborah dennis diana donald dorothea dorothy edith edmund edward edwin
    eleanor elena elias elizabeth ellen emily emma eric ernest esther ethan eva evelyn florence frances francis
    frank frederick george gerald gordon grace graham hannah harold harriet harry helen henry howard hugh ian
    ignatius ingrid irene isaac isabel isabella jack jacob james jane janet jean jennifer jeremy jessica joan john
    jonas jonathan joseph joshua judith julia julian karen karl katherine keith kenneth kevin larry laura lawrence
    leonard leopold lewis lillian linda lionel lisa louis louise lucas lucy luke marcus margaret maria marie marion
    mark martha martin mary matthew matthias maurice michael mildred miriam nadia nancy nathan nicholas nora oliver
    oscar otto pamela patricia patrick paul peter philip rachel ralph raymond rebecca richard robert roger ronald
    rosa rose rupert ruth samuel sandra sarah sebastian sharon simon sophia stephen steven stewart susan sylvia
    teresa theodore theresa thomas timothy tobias tom victor victoria vincent virginia walter wendy wilhelm william
"""
_GIVEN = frozenset(_GIVEN_WORDS.split())
"""Given names in lower case."""
_PLACE_WORDS = """
    street lane road avenue square bay reef point hill quay yard harbour harbor farm inn bridge island islands river
    lake park castle mountain mount valley beach cape coast forest wharf pier church cathedral chapel airport
    station village town county city hall room tower gate palace
"""
_ORGANIZATION_WORDS = """
    board council committee society company trust corporation club university college school institute institution
    ministry department bank union association party foundry ltd inc gmbh agency bureau court church museum
    observatory group league commission parliament
"""
_SHIP_WORDS = "brig barque schooner brigantine lifeboat steamer tug dredger frigate sloop ketch trawler ferry"
_EVENT_WORDS = "conference festival war battle congress olympics election treaty"
_COMMON = {
    "place": _PLACE_WORDS,
    "organization": _ORGANIZATION_WORDS,
    "ship": _SHIP_WORDS,
    "event": _EVENT_WORDS,
}
_NOUN_OF = {word: noun for noun, words in reversed(_COMMON.items()) for word in words.split()}
"""By common noun; of a word with two meanings the first counts."""
_TRUSTED = {
    "person": "person",
    "place": "place",
    "location": "place",
    "city": "place",
    "country": "country",
    "organization": "organization",
    "organisation": "organization",
    "company": "company",
    "ship": "ship",
    "work": "work",
    "product": "product",
    "event": "event",
}
"""By the type that a model extracted."""
_OFFICE_WORDS = """
    clerk mayor alderman director chairman chairwoman chair harbour-master harbourmaster headmaster headmistress
    secretary treasurer councillor captain professor president minister editor keeper mate master pilot coxswain
    sexton doctor coroner judge witness deponent manager examiner instructor lieutenant librarian bishop dean vicar
    commissioner ambassador governor senator chancellor ceo cfo cto author king queen pope emperor executor
    executors examiner examiners trustees chief officer lord-lieutenant inspector superintendent
"""
OFFICES = frozenset(_OFFICE_WORDS.split())
"""Offices that one person holds after another, in lower case."""
ANY_OFFICE = "|".join(sorted(OFFICES, key=len, reverse=True))
"""Pattern of an office, the longest first."""
_TIME_WORDS = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter michaelmas midsummer lent advent whitsun whitsuntide
    candlemas lammas martinmas hallowmas halloween ramadan hanukkah passover pentecost thanksgiving spring summer
    autumn winter
"""
_TIMES = frozenset(_TIME_WORDS.split())
"""Days, months, seasons and feasts, in lower case."""
_QUALIFYING = "acting deputy vice assistant former late chief first second town senior junior"
_QUALIFIED = frozenset(_QUALIFYING.split())
_FEMALE_TITLES = "mrs ms miss lady queen princess aunt madame frau"
_MALE_TITLES = "mr sir lord king prince uncle monsieur herr don father"
FEMALE, MALE = frozenset(_FEMALE_TITLES.split()), frozenset(_MALE_TITLES.split())
"""Titles of women and of men, in lower case."""
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


def is_office(name: str) -> bool:
    """Return whether a name is an office instead of a person.

    >>> is_office("Town Clerk"), is_office("Captain Ames"), is_office("Harbour-Master")
    (True, False, True)
    """
    words = [word.casefold() for word in _WORD.findall(name)]
    return bool(words) and any(w in OFFICES for w in words) and all(w in OFFICES | _QUALIFIED for w in words)


def is_time(name: str) -> bool:
    """Return whether a name is a day, a month, a season or a feast, alone or with a number or "Day" beside it.

    >>> is_time("Lady Day"), is_time("Michaelmas"), is_time("June Carter")
    (True, True, False)
    """
    words = [word.casefold() for word in _WORD.findall(name)]
    if not words or words[-1] in ("day", "eve", "night", "week"):
        return True
    return all(word in _TIMES for word in words)


def noun_of(entity: Entity, spelling: str, *, trusted: bool) -> str:
    """Return the noun that asks for an entity; empty if nothing but a parser says what it is.

    A title, a given name or a common noun in the name decides. Otherwise the type counts if a model extracted it.

    Args:
        entity: that is asked for.
        spelling: as its sentence has it, with titles.
        trusted: whether a model extracted the type.
    """
    if is_office(spelling) or is_time(spelling):
        return ""
    words = [word.casefold() for word in _WORD.findall(spelling)]
    if not words:
        return ""
    # Of the last word first: "Harbour Board" is a board. "Jack Hill" may be a person or a hill.
    if len(words) > 1 and words[-1] in _NOUN_OF and words[0] not in TITLES:
        return _NOUN_OF[words[-1]] if words[0] not in _GIVEN else ""
    if len(words) > 1 and (words[0] in TITLES or words[0] in _GIVEN):
        return "person"
    titled = any(
        (found := [w.casefold() for w in _WORD.findall(name)])
        and found[0] in TITLES
        and found[-1] == words[-1]
        for name in (entity.name, *entity.aliases)
    )
    if titled and len(words) <= 3 and entity.type == "person":
        return "person"
    return _TRUSTED.get(entity.type.casefold(), "") if trusted else ""
