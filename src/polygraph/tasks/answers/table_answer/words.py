"""The words of questions that a table answers: operators, and words that say nothing about its content."""

import re
from collections.abc import Mapping

from polygraph.text.words import stem, word_set


def _inverted(listed: Mapping[str, str], separator: str | None = None) -> Mapping[str, str]:
    """Return the key of each of the words, or of the phrases between separators, that a table lists for its keys."""
    return {each: key for key, several in listed.items() for each in several.split(separator)}


OPERATORS = _inverted(
    {
        "count": "how many|number of|count of|count",
        "times": "how many times|how often",
        "sum": "total of|sum of|sum|total|in total|altogether|combined",
        "mean": "average of|mean of|average|mean|on average",
        "median": "median of|median",
        "max": "highest|largest|biggest|greatest|maximum|most|longest|tallest|heaviest|most expensive|latest|newest|"
        "most recent|last|fastest|loudest|oldest|warmest|hottest|strongest|deepest",
        "min": "lowest|smallest|least|minimum|fewest|shortest|lightest|cheapest|least expensive|earliest|first|slowest|"
        "quietest|youngest|coldest|weakest",
    },
    "|",
)
"""Operator by the phrase that asks for it."""

ADJECTIVES = _inverted(
    {
        "weight mass": "heavy heavier heaviest light lighter lightest weigh weighs",
        "length duration time": "long longer longest short shorter shortest",
        "height": "tall taller tallest high",
        "area size surface": "big bigger biggest large larger largest small smaller smallest",
        "price cost amount fee fare rent": "expensive cheap cheaper cheapest cost costs",
        "speed": "fast faster fastest slow slower slowest",
        "noise sound": "loud louder loudest quiet quieter quietest",
        "temperature": "hot hotter hottest warm warmer warmest cold colder coldest",
        "age": "old older oldest young younger youngest",
        "power": "strong stronger strongest powerful weak weaker weakest",
        "depth": "deep deeper deepest",
        "date": "late later latest early earlier earliest new newer newest recent",
    }
)
"""Words of the columns that an adjective is about."""

VERBS = _inverted(
    {
        "salary wage pay income earnings": "earn earns earned",
        "start hire joining entry": "join joins joined started",
    }
)
"""Words of the columns that a verb is about."""

SPENT = word_set("spend spent")
"""Behind *how much*, these ask for the sum of a column of costs."""

COSTS = frozenset(map(stem, ("total", "cost", "expense", "expenditure", "spending")))
"""Stems of the names of such columns; `unit cost` is none."""

UNIT_NAMES = _inverted(
    {
        "km": "kilometres kilometers",
        "m": "metres meters",
        "kg": "kilograms kilos",
        "l": "litres liters",
        "h hours": "hours",
        "min minutes": "minutes",
        "days": "days",
        "€ eur": "euros",
        "$ usd": "dollars",
        "£ gbp": "pounds",
        "°c °f": "degrees",
        "% percent": "percent",
    }
)
"""Units of the columns that the name of a unit is about."""

OF_TIME = frozenset(("latest", "newest", "earliest", "most recent", "first", "last"))
"""Operators that compare dates only."""

LESS = word_set(
    "less fewer lower smaller shorter lighter cheaper earlier slower quieter colder younger weaker"
)
MORE = word_set(
    "more higher larger bigger greater longer heavier later newer faster louder taller hotter warmer stronger deeper "
    "expensive powerful"
)
"""Comparatives, beside `LESS`."""

PLAIN_ADJECTIVES = frozenset(
    word
    for word in ADJECTIVES.keys() - LESS - MORE
    if not word.endswith("est") and word not in ("weigh", "weighs", "cost", "costs")
)
"""Adjectives that compare nothing: a table can say how old something is, but not whether it is old."""

LIGHT = word_set("""
    a about all an and are as at be been being belong belongs by can contain contains did do does exactly
    exist exists find for from get give gives given had has have having hold holds how i in into is it its list listed
    made make makes many me much name named of on one or our out place placed please record recorded
    records row rows say shown show shows stand stands table tables tell that the their them there these they this
    those to use used uses value values was we were what what's when where which who whom whose will with work works
    entry entries s than run runs currently now altogether overall got us yet go goes going went come comes came done
    his her
    """)
"""Words that need not stand in the table."""

FILLERS = word_set("mark marks score scores result results reading readings figure figures")
"""Words for a number, whatever it says: they need not stand in the table, but may."""

SYNONYMS: Mapping[str, str] = {
    "max": "maximum", "min": "minimum", "avg": "average", "qty": "quantity", "temp": "temperature", "nr": "number",
    "amt": "amount", "dept": "department", "tel": "telephone",
}  # fmt: skip
"""Abbreviations in names of columns, with the words of questions."""

YES = word_set("yes y true ja oui sí si")
NO = word_set("no n false nein non")
"""Cells of a column that says of each row whether something holds."""

NEGATIONS = frozenset(
    word
    for verb in ("do", "does", "did", "is", "are", "was", "were", "has", "have")
    for word in ("not", f"{verb}n't", f"{verb}n’t")
)
"""Words that deny what such a column says, or a value."""

ABSENCE = NEGATIONS | word_set("no without")
"""Words before the name of a column that ask for rows without a value in it."""

EACH = word_set("each every per")
"""Words before the name of a column that ask for one result for each of its values."""

UNIT_WORDS = word_set("eur usd gbp chf kg g km m cm mm gb mb tb pct percent h s min kw mw hz db")
"""Last words of the name of a column that give its unit, as in ``price_eur``."""

SNAKE_UNITS = word_set("days hours weeks months years minutes seconds pieces pcs")
"""Units only at the end of a name with underscores, as in ``lead_time_days``: `Weekly hours` is a name as it stands."""

PEOPLE = word_set("people person persons")
"""Words for the rows of any table of persons."""

PERSONS = PEOPLE | word_set("employee employees staff colleague colleagues worker workers")
"""Words for the rows of a table of employees."""

MEMBERS = word_set("""
    member members pupil pupils student students volunteer volunteers participant participants guest guests visitor
    visitors runner runners player players patient patients teacher teachers applicant applicants
    """)
"""Words of a title or of a key column that say that rows are persons."""

FIRST_NAMES = word_set("firstname forename vorname prénom prenom nombre")
LAST_NAMES = word_set("lastname surname nachname apellido")
"""Columns with the two parts of a name, without spaces."""

COUNTED = PERSONS | word_set("parts items things products articles units pieces entries records rows")
"""Words behind *how many* that say what is counted, and name no cell."""

PERSON_COLUMNS = word_set(
    "job reports surname lastname firstname employee birthday birthdate born hired salary gender supervisor"
)
"""Words of the names of columns that tables of persons have."""

BOUND_WORDS = word_set(
    "over above exceed exceeds exceeding below under up before after since until during between than start beginning"
)
"""Words of conditions."""

TOTALS = word_set("total totals sum subtotal gesamt summe gesamtsumme somme suma overall")
"""First words of a row that sums up the others."""

YES_NO = re.compile(r"\W*(?:is|are|was|were|do|does|did|has|have|had|can)\b", re.IGNORECASE)
TOKEN = re.compile(r"[^\W_]+(?:[-'’./][^\W_]+)*", re.UNICODE)


def singular(word: str) -> str:
    """Return a noun without the ending of its plural.

    >>> [singular(word) for word in ("orders", "entries", "boxes", "status", "engineering")]
    ['order', 'entry', 'box', 'status', 'engineering']
    """
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
