"""What the words of a question are to a table: columns, values, conditions, operators, its title; or nothing.

A table is asked only if every word of the question is one of these. A question that lacks one of its words in the table
is about something else.
"""

import re
from collections.abc import Collection
from dataclasses import replace

from polygraph.records import Table
from polygraph.tasks.answers.table_answer.conditions import MONTHS, find_conditions
from polygraph.tasks.answers.table_answer.question import (
    DETERMINERS,
    ColumnMention,
    Reading,
    ValueMention,
    is_beside,
    tokens,
)
from polygraph.tasks.answers.table_answer.units import header_unit
from polygraph.tasks.answers.table_answer.view import QUANTITY, TableView, plain_words
from polygraph.tasks.answers.table_answer.words import (
    ABSENCE,
    ADJECTIVES,
    BOUND_WORDS,
    COSTS,
    COUNTED,
    EACH,
    FILLERS,
    LESS,
    LIGHT,
    MORE,
    NEGATIONS,
    OPERATORS,
    PERSONS,
    PLAIN_ADJECTIVES,
    SPENT,
    SYNONYMS,
    UNIT_NAMES,
    VERBS,
    YES_NO,
)
from polygraph.text.words import STOP_WORDS, stem

MAX_QUESTION = 300
"""Characters of a question that a table answers."""
_MIN_PREFIX = 5
_MIN_VERB = 4
"""Letters of the stem of a verb that a column calls who does it by: who drives, driver."""
_ASKS_FOR_ROWS = (
    ("how", "many"),
    ("number", "of"),
    ("count", "of"),
    ("count",),
    ("which",),
    ("what",),
    ("list",),
)


def read_question(question: str, table: TableView) -> Reading | None:
    """Find the part of each word of a question; None if a word has none."""
    if len(question) > MAX_QUESTION:
        return None
    reading = Reading(question, tokens(question))
    find_conditions(reading, table)
    _find_values(reading, table, _counted_noun(reading, table))
    _find_columns(reading, table)
    _find_operators(reading)
    _find_partial_columns(reading, table)
    _find_partial_values(reading, table)
    _find_group(reading, table)
    _find_denials(reading, table)
    _find_row_nouns(reading, table)
    stated = {value.first for value in reading.values}
    for n, token in enumerate(reading.tokens):
        if (
            reading.free[n]
            and token.text not in LIGHT
            # "still open", but not "still have": a table does not say what is gone.
            and not (token.text == "still" and n + 1 in stated)
            and token.text not in LESS | MORE | FILLERS | {"both", "either", "same", "different"}
        ):
            return None
    return reading


def may_answer(question: str, table: Table, context: str) -> bool:
    """Return whether each word of a question might stand in a table, without reading its cells one by one."""
    text = " ".join([context, *table.columns, *(cell for row in table.rows for cell in row)]).casefold()
    passing = LIGHT | LESS | MORE | frozenset(ADJECTIVES) | {"both", "either", "same", "different", "than"}
    passing |= {"still"} | PERSONS | ABSENCE | EACH | FILLERS | SPENT | VERBS.keys() | UNIT_NAMES.keys()
    passing |= frozenset(word for phrase in OPERATORS for word in phrase.split())
    for token in tokens(question):
        word = token.text
        is_free = word in passing or word in BOUND_WORDS or word in MONTHS or word[0].isdigit()
        word = word if word.isalpha() else plain_words(word)[0]  # ZR-50 may be one of the ZR series
        if not is_free and word[: max(3, len(word) - 3)] not in text:
            return False
    return True


def _counted_noun(reading: Reading, table: TableView) -> int:
    """Return the position of the noun that says what rows are (how many people), which is no cell; -1 if none does."""
    words = [token.text for token in reading.tokens]
    start = next(
        (
            n + len(phrase)
            for n in range(len(words))
            for phrase in _ASKS_FOR_ROWS
            if words[n : n + len(phrase)] == list(phrase)
        ),
        -1,
    )
    while 0 <= start < len(words) and words[start] in DETERMINERS:
        start += 1
    if start < 0:
        return -1
    found = -1
    while start < len(words) and reading.free[start] and _is_row_noun(reading, table, start):
        found, start = start, start + 1
    if found >= 0 and words[found] in table.persons:
        reading.row_nouns.append(found)
        reading.free[found] = False
    return found


def _is_row_noun(reading: Reading, table: TableView, n: int) -> bool:
    token = reading.tokens[n]
    names = table.title_stems | set(table.name_words[table.key] if table.key >= 0 else ())
    return token.text in COUNTED or (token.text not in LIGHT and token.stem in names)


def _find_values(reading: Reading, table: TableView, counted: int) -> None:
    single: dict[str, set[tuple[int, str]]] = {}
    for c, column in enumerate(table.columns):
        if column.kind == "text":
            for cell in table.cells[c]:
                if cell.isalpha() and len(cell) > 2:
                    single.setdefault(stem(cell), set()).add((c, cell))
    for first, last in reading.grams():
        begin, end = reading.tokens[first].start, reading.tokens[last].end
        text = " ".join(reading.question[begin:end].casefold().split())
        if first == last and (text in LIGHT or text in STOP_WORDS or first == counted):
            continue
        if _goes_on_in_title(reading, table, last, text):
            continue
        found = set()
        for c, column in enumerate(table.columns):
            if text in COUNTED and not _is_name(reading, table, c, first):
                continue
            if (text in table.cells[c] or text in table.lists[c].rows) and (
                column.kind in ("text", "code") or _names_number(reading, table, c, first, last)
            ):
                found.add((c, text))
        # A column of that name is meant rather than another form of a value.
        is_column = any(reading.tokens[first].stem in words for words in table.name_words)
        if found and is_column and _is_verb(reading, first, last):
            continue
        if not found and first == last and text.isalpha() and text not in COUNTED and not is_column:
            found = single.get(stem(text), set())
        if found:
            reading.values.append(ValueMention(first, last, frozenset(found)))
            reading.take(first, last)
    reading.values.sort(key=lambda value: value.first)


def _goes_on_in_title(reading: Reading, table: TableView, last: int, text: str) -> bool:
    """Return whether words are part of a longer name in the title: the Ammel valley, beside a river Ammel."""
    if last + 1 >= len(reading.tokens) or reading.tokens[last + 1].text in LIGHT:
        return False
    longer = " ".join(plain_words(f"{text} {reading.tokens[last + 1].text}"))
    return f" {longer} " in f" {table.context} "


def _is_name(reading: Reading, table: TableView, column: int, n: int) -> bool:
    """Return whether a word for persons or things is a cell: the People department, but not people in Leeds."""
    beside = [token.stem for token in (*reading.tokens[max(0, n - 1) : n], *reading.tokens[n + 1 : n + 2])]
    is_capital = reading.question[reading.tokens[n].start].isupper()
    return (is_capital and n > 0) or bool(set(table.name_words[column]).intersection(beside))


def _is_verb(reading: Reading, first: int, last: int) -> bool:
    """Return whether a word is the verb of a question: "How many tickets did Corve open?" asks for no open ones."""
    before = {token.text for token in reading.tokens[:first]}
    return first == last == len(reading.tokens) - 1 and not before.isdisjoint(("do", "does", "did"))


def _names_number(reading: Reading, table: TableView, column: int, first: int, last: int) -> bool:
    """Return whether a number of the question stands behind the name of a column of numbers."""
    return first == last and any(
        is_beside(reading, end, first)
        and [token.stem for token in reading.tokens[max(0, end + 1 - len(words)) : end + 1]] == words
        for words in (table.name_words[column], table.full_words[column])
        for end in range(max(0, first - 3), first)
    )


def _find_columns(reading: Reading, table: TableView) -> None:
    for first, last in reading.grams():
        stems = [stem(SYNONYMS.get(token.text, token.text)) for token in reading.tokens[first : last + 1]]
        names = zip(table.name_words, table.full_words, strict=True)
        found = tuple(c for c, (name, full) in enumerate(names) if stems in (name, full))
        if not found:
            continue
        if all(token.text in STOP_WORDS for token in reading.tokens[first : last + 1]):
            # A column `from` is meant only directly before one of its values.
            after = [value for value in reading.values if value.first == last + 1]
            if not after or not any(c in found for c, _ in after[0].cells):
                continue
        reading.columns.append(ColumnMention(first, last, found))
        reading.take(first, last)


def _find_operators(reading: Reading) -> None:
    for first, last in reading.grams():
        phrase = " ".join(token.text for token in reading.tokens[first : last + 1])
        if phrase in OPERATORS:
            reading.operators.append((first, OPERATORS[phrase], phrase))
            if phrase in ADJECTIVES:
                reading.adjectives.append((first, phrase))
            elif (word := phrase.split()[-1]) in ADJECTIVES:
                reading.adjectives.append((first, word))
            reading.take(first, last)
    for n, token in enumerate(reading.tokens):
        is_asked = token.text not in PLAIN_ADJECTIVES or (n > 0 and reading.tokens[n - 1].text == "how")
        if reading.free[n] and token.text in ADJECTIVES and is_asked:
            reading.adjectives.append((n, token.text))
            reading.free[n] = False
    reading.operators.sort()


def _find_partial_columns(reading: Reading, table: TableView) -> None:
    for n, token in enumerate(reading.tokens):
        word = SYNONYMS.get(token.text, token.text)
        if not reading.free[n] or word in LIGHT or word in EACH or word in STOP_WORDS or not word.isalpha():
            continue
        if word in table.persons:
            continue  # the rows, rather than their employee_id
        forms = {stem(word), stem(word.removesuffix("ly"))}  # remotely, remote
        found = tuple(
            c
            for c, words in enumerate(table.name_words)
            if any(_alike(form, each) for form in forms for each in words)
        )
        found = (
            found
            or _of_verb(reading, table, word)
            or _of_spending(reading, table, n)
            or _of_unit(table, word)
        )
        if len(found) > 1 and token.stem in table.title_stems:
            continue  # the orders of a table of orders, with columns order_id and order_date
        if found:
            found = (table.key,) if table.key in found else found
            reading.columns.append(ColumnMention(n, n, found))
            reading.free[n] = False
    reading.columns.sort(key=lambda mention: mention.first)


def _of_verb(reading: Reading, table: TableView, word: str) -> tuple[int, ...]:
    """Return the column that a verb is about, if the question compares or asks for its numbers: who earns most."""
    asks_for_numbers = any(token.text in ("how", "when", "same") for token in reading.tokens)
    if not (asks_for_numbers or reading.conditions or reading.operators):
        return ()
    stems = set(map(stem, VERBS.get(word, "").split()))
    found = tuple(
        c
        for c, column in enumerate(table.columns)
        if column.kind in ("number", "date") and stems & set(table.name_words[c])
    )
    return found if len(found) == 1 else ()


def _of_spending(reading: Reading, table: TableView, n: int) -> tuple[int, ...]:
    """Return the column of costs that *how much was spent* is about, unless its numbers may be for one piece each."""
    words = [token.text for token in reading.tokens]
    if (
        words[n] not in SPENT
        or "much" not in words[:n]
        or any(QUANTITY & set(name) for name in table.name_words)
    ):
        return ()
    found = tuple(
        c
        for c, column in enumerate(table.columns)
        if column.kind == "number" and {*table.name_words[c]} <= COSTS
    )
    return found if len(found) == 1 else ()


def _of_unit(table: TableView, word: str) -> tuple[int, ...]:
    """Return the column whose numbers have a unit, if it is the only one: the most kilometres, mileage in km."""
    units = UNIT_NAMES.get(word, "").split()
    found = tuple(
        c
        for c, column in enumerate(table.columns)
        if column.kind == "number" and (column.unit or header_unit(column.name)).casefold() in units
    )
    return found if len(found) == 1 else ()


def _find_group(reading: Reading, table: TableView) -> None:
    """Find the column for each value of which the question wants a result: per office, by department."""
    if not reading.operators:
        return
    for mention in reading.columns:
        c, before = mention.columns[0], mention.first - 1
        while before > 0 and reading.free[before] and reading.tokens[before].stem in table.title_stems:
            before -= 1  # each rowing squad, in the table of the rowing club
        word = reading.tokens[before].text if before >= 0 and reading.free[before] else ""
        if (
            (word in EACH or word == "by")
            and len(mention.columns) == 1
            and table.columns[c].kind == "text"
            and c != table.key
            and not any(c == each for value in reading.values for each, _ in value.cells)
        ):
            reading.group = c
            reading.columns.remove(mention)
            reading.free[before] = False
            return


def _find_denials(reading: Reading, table: TableView) -> None:
    """Find what rows must have or lack, where the question asks for rows.

    The name of a column of *yes* and *no* stands for its *yes*, after a negation for its *no*: who works remotely. Of
    another column, a negation asks for rows without a value: who has no manager; of a value, for those with others.
    """
    words = [token.text for token in reading.tokens]
    asks_for_rows = not {"which", "who", "list"}.isdisjoint(words) or bool(reading.operators)
    is_yes_no = bool(YES_NO.match(reading.question))
    if not (asks_for_rows or is_yes_no):
        return
    for n, value in enumerate(reading.values):
        if not is_yes_no and (at := _denial_before(reading, value.first, NEGATIONS)) >= 0:
            reading.values[n] = replace(value, is_denied=True)
            reading.free[at] = False
    with_value = {c for value in reading.values for c, _ in value.cells}
    for mention in list(reading.columns):
        c = mention.columns[0]
        if len(mention.columns) > 1 or c in with_value:
            continue
        flag = table.flags.get(c)
        at = _denial_before(reading, mention.first, ABSENCE)
        if is_yes_no and (at >= 0 or flag is None):
            continue
        if at >= 0:
            reading.free[at] = False
        elif flag is None:
            continue
        # "paid the fee" names `Fee paid` twice.
        reading.columns = [other for other in reading.columns if other.columns != mention.columns]
        with_value.add(c)
        cell = flag[at >= 0] if flag else ""
        reading.values.append(ValueMention(mention.first, mention.last, frozenset({(c, cell)})))
    reading.values.sort(key=lambda value: value.first)


def _denial_before(reading: Reading, first: int, denials: Collection[str]) -> int:
    """Return the position of a negation before a word, with nothing but words without content between; -1 if none."""
    before = first - 1
    while before > 0 and reading.free[before] and reading.tokens[before].text in LIGHT:
        before -= 1
    return before if before >= 0 and reading.free[before] and reading.tokens[before].text in denials else -1


def _alike(one: str, other: str) -> bool:
    """Return whether two stems are forms of one word: manag, manager; driv, driver."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= _MIN_VERB and longer in (f"{shorter}er", f"{shorter}or"):
        return True
    return len(shorter) >= _MIN_PREFIX and longer.startswith(shorter) and len(longer) - len(shorter) <= 2


def _find_row_nouns(reading: Reading, table: TableView) -> None:
    key_words = set(table.name_words[table.key]) if table.key >= 0 else set()
    for n, token in enumerate(reading.tokens):
        parts = {stem(part) for part in plain_words(token.text)}
        is_title = bool(parts) and parts <= table.title_stems | key_words and token.text not in LIGHT
        if token.text in ("rows", "entries", "records"):
            reading.row_nouns.append(n)
        elif is_title or (reading.free[n] and token.text in table.persons):
            reading.row_nouns.append(n)
            reading.free[n] = False
        elif reading.free[n] and _is_of_series(reading, table, n):
            reading.models.append(token.text)
            reading.free[n] = False


def _is_of_series(reading: Reading, table: TableView, n: int) -> bool:
    """Return whether a word is a model of the one series that the title names: on the ZR-50, below *ZR series*."""
    before = n - 1
    while before >= 0 and (
        reading.tokens[before].text in ("the", "a", "an", "our", "my")
        or reading.tokens[before].stem in table.title_stems
    ):
        before -= 1
    parts = plain_words(reading.tokens[n].text)
    is_model = len(parts) > 1 and parts[0] in table.series and parts[1][0].isdigit()
    return is_model and before >= 0 and reading.tokens[before].text in ("on", "of", "for", "in", "with")


def _find_partial_values(reading: Reading, table: TableView) -> None:
    """Find values of which the question names a part of several words, if only one cell has it."""
    for first, last in reading.grams():
        if first == last:
            continue
        words = [token.text for token in reading.tokens[first : last + 1]]
        if words[0] in LIGHT or words[-1] in LIGHT:
            continue
        pattern = re.compile(rf"(?<!\w){re.escape(' '.join(words))}(?!\w)")
        found = {
            (c, cell)
            for c, column in enumerate(table.columns)
            if column.kind == "text"
            for cell in table.cells[c]
            if pattern.search(cell)
        }
        if len(found) == 1:
            reading.values.append(ValueMention(first, last, frozenset(found)))
            reading.take(first, last)
    reading.values.sort(key=lambda value: value.first)
