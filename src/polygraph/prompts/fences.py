"""Fences around text from outside, and its neutralization: it cannot be taken for the structure of a prompt.

Structure is: a tag of a fence, the number of a block at the start of a line, a label such as ``Question:``, a heading
of the packed context, a record or the end of records, and a marker of a chat template. Detection looks through case,
compatibility forms, look-alike letters and brackets, invisible characters, combining marks and all line breaks.
One character is replaced by an inert one where, and only where, the text imitates structure: ``</evidence>`` becomes
``(/evidence)``, ``[2]`` at the start of a line ``(2)``, ``Question:`` ``Question;``.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

FENCES: Mapping[str, tuple[str, ...]] = {
    "answer": ("Question", "Words to append"),
    "claims": ("Question",),
    "conversation": ("Question", "Answer", "Last question"),
    "description": (),
    "document": (),
    "draft": ("Question",),
    "evidence": ("Question", "Larger question", "Way", "Searched for so far", "Found so far"),
    "facts": ("Question",),
    "first_answer": ("Question",),
    "material": ("Question", "Kind", "Statements", "Passages"),
    "names": (),
    "notes": ("Question", "Subject", "Points to cover"),
    "pairs": ("First", "Second"),
    "passages": ("Question",),
    "queries": ("Question", "Way", "Searched for so far", "Found so far"),
    "report": ("Question",),
    "reports": ("Question",),
    "rows": ("Condition",),
    "second_answer": ("Question",),
    "sources": ("Level",),
    "structure": ("Level",),
    "text": (),
    "transcript": ("Question", "Step", "Thought", "Action", "Observation"),
}
"""The tags of fences, each with the labels beside it or inside it. ``answer_1`` and so on are like ``answer``."""


class PromptText(str):
    """Text that may stand in a prompt as it is: its parts from outside are neutralized."""

    __slots__ = ()


def as_data(text: str, tag: str = "document", *, keep_numbers: bool = False) -> PromptText:
    """Put text from outside between tags, neutralized unless it is a `PromptText`.

    Args:
        text: of documents, users or replies.
        tag: one of `FENCES`, or ``answer_n``.
        keep_numbers: keep ``[n]`` at the start of a line, for contexts whose items were neutralized one by one.

    Raises:
        ValueError: if the tag is not in `FENCES`.

    >>> print(as_data("see </DOCUMENT> and [2019]"))
    <document>
    see (/DOCUMENT) and [2019]
    </document>
    """
    labels = FENCES.get(re.sub(r"_\d+$", "", tag))
    if labels is None:
        raise ValueError(f"{tag!r} is not the tag of a fence; list it in FENCES")
    if not isinstance(text, PromptText):
        # Of a transcript, the labels are our own; its parts from outside were neutralized one by one.
        labels = labels[:1] if tag == "transcript" else labels
        text = neutralize(text, labels, keep_numbers=keep_numbers, records=tag == "document")
    return PromptText(f"<{tag}>\n{text}\n</{tag}>")


def numbered(
    items: Sequence[str], tag: str, *, separator: str = "\n\n", heads: Sequence[str] = ()
) -> PromptText:
    r"""Number texts from outside from 1; numbers in brackets inside them are no longer those of items.

    Args:
        items: in the order of their numbers.
        tag: of the fence that they will stand in.
        separator: between items.
        heads: our own text between each number and its item; empty for none.

    >>> numbered(["a [2] b\n[7] c", "d [2019]"], "notes", separator="\n")
    '[1] a (2) b\n(7) c\n[2] d [2019]'
    """
    shown = [neutralize(item, FENCES[tag], n_items=len(items)) for item in items]
    return PromptText(
        separator.join(
            f"[{n}] {head}{item}"
            for n, (item, head) in enumerate(zip(shown, heads or [""] * len(items), strict=True), 1)
        )
    )


def neutralize(
    text: str,
    labels: Sequence[str] = (),
    *,
    n_items: int = 0,
    headings: Sequence[str] = (),
    keep_numbers: bool = False,
    records: bool = False,
) -> PromptText:
    r"""Return a text that imitates no structure; it is unchanged if it imitates none, and as long or little longer.

    Args:
        text: from outside.
        labels: of the prompt, without colon.
        n_items: citations of items from 1 to this number are rewritten anywhere, not only at the start of a line.
        headings: lines that divide the prompt.
        keep_numbers: keep ``[n]`` at the start of a line, if it is written exactly so.
        records: rewrite records of an extraction and their end marker, too.

    >>> neutralize("Who?\n\u2028 \uff3b2\uff3d x\nQUESTION: y <|im_start|>", ["Question"])
    'Who?\n\u2028 (2) x\nQUESTION; y (|im_start|)'
    """
    if _is_plain(text) and not (records or "Step" in labels or (headings and "#" in text)):
        return PromptText(text)
    folded = _folded(text)
    found: list[re.Match[str]] = []
    for parts, pattern in _structure(tuple(labels), tuple(headings), records):
        for part in parts:
            if part in folded:
                found += _matches(pattern, folded)
                break
    if n_items and "[" in folded:
        found += [m for m in _CITATION.finditer(folded) if _cites(m, n_items)]
    return PromptText(_rewritten(text, found, keep_numbers))


def without_chat_markers(text: str) -> str:
    """Return an earlier reply, quoted as a turn of its own, without markers of chat templates.

    >>> without_chat_markers("END<|im_end|>")
    'END(|im_end|)'
    """
    folded = _folded(text)
    return _rewritten(text, [m for pattern in _CHAT for m in pattern.finditer(folded)], False)


def one_line(text: str) -> str:
    """Return a text with every run of white space and line breaks replaced by one space."""
    return " ".join(text.split())


# --- detection ------------------------------------------------------------------------------------------

_KEPT = re.compile(r"\[\d+\] ")
_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_LOOK_ALIKES = {
    "<": "<‹〈⟨❬❮❰⧼˂ᐸ≺⋖⪻〈",
    ">": ">›〉⟩❭❯❱⧽˃ᐳ≻⋗⪼〉",
    "[": "[［【〔〖〘〚⟦❲⁅⦋⦍⦏⎡⎢⎣⟬",
    "]": "]］】〕〗〙〛⟧❳⁆⦌⦎⦐⎤⎥⎦⟭",
    "/": "/⁄∕╱⧸⟋⼃〳ノ᜵",
    "\\": "\\∖⧵⧹╲",
    "|": "|ǀ∣│┃❘❙❚¦ⵏ╎╏",
    ":": ":꞉∶˸։׃ः፡᛬⁝ꓽ",
    "#": "#♯⌗",
    "_": "_‿⁀",
    "-": "-‐‑‒–—―−⁃",
    "a": "аαɑᴀ⍺ꭺᎪ𐊠", "b": "вβьʙᏴᛒƄ", "c": "сϲᴄᏟⲥꮯ", "d": "ԁᴅᎠꓒɖ", "e": "еεєᴇᎬҽⲉ", "f": "ғꜰϝꞙſẝ", "g": "ɡցɢᏀԍ",
    "h": "һнηհʜᎻհ", "i": "іιıɪᎥӏⅼ", "j": "јϳᴊᎫ", "k": "кκᴋᏦⲕ", "l": "ⅼʟᏞℓ", "m": "мμᴍᎷⲙ",
    "n": "пνոɴռ", "o": "оοօσᴏⲟ൦၀ӧ",
    "p": "рρᴘᏢⲣ", "q": "ԛզգ", "r": "гʀᎡꭇꮁⲅ", "s": "ѕꜱᏚʂ", "t": "тτᴛᎢⲧ", "u": "υսᴜцʋ", "v": "ѵᴠᏙѴ", "w": "ԝωᴡᎳѡшա",
    "x": "хχⲭ᙮", "y": "уγʏүყᎩ", "z": "ᴢᏃʐ",
}  # fmt: skip
_BLANK_LETTERS = "\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5"
"""Letters and signs without ink."""
_ALIKE = {ord(char): plain for plain, chars in _LOOK_ALIKES.items() for char in chars}
_LETTER_BLOCKS = ((0x1F130, 26), (0x1F150, 26), (0x1F170, 26), (0x1F1E6, 26))
"""Squared, circled and regional letters, without compatibility forms."""


class _Folded(dict[int, str]):
    """The plain form of each character: one character, none for invisible ones, or several for ligatures."""

    def __missing__(self, code: int) -> str:
        self[code] = plain = _fold(chr(code))
        return plain


def _fold(char: str) -> str:
    if char in _LINE_BREAKS:
        return "\n"
    if char == "\t":
        return " "
    if char in _BLANK_LETTERS:
        return ""
    code = ord(char)
    if code in _ALIKE:
        return _ALIKE[code]
    for first, n in _LETTER_BLOCKS:
        if first <= code < first + n:
            return chr(ord("a") + code - first)
    plain = []
    for part in unicodedata.normalize("NFKD", char):
        category = unicodedata.category(part)
        if category in ("Mn", "Me", "Cf", "Cc", "Cs", "Cn", "Co") and ord(part) not in _ALIKE:
            continue
        digit = unicodedata.digit(part, None)
        if category[0] == "Z":
            plain.append(" ")
        elif digit is not None:
            plain.append(str(digit))
        else:
            plain += [_ALIKE.get(ord(low), low) for low in part.casefold()]
    return "".join(plain)


_FOLDED = _Folded()
_PRINTED = bytes([ord("\n"), *range(ord(" "), ord("~") + 1)])
_FEW = 32
"""Different characters that are replaced one after the other: for more, to look up every letter takes less time."""


def _folded(text: str) -> str:
    """Return a text with the plain form of each character."""
    encoded = text.encode("utf-8", "surrogatepass")
    # Of what is printed in ASCII, only capitals have another plain form.
    lower = encoded.lower().decode("utf-8", "surrogatepass")
    plain = {char: _FOLDED[ord(char)] for char in _unprinted(encoded)}
    others = {char: folded for char, folded in plain.items() if folded != char}
    # A plain form that is no ASCII might be replaced in its turn.
    if len(others) > _FEW or not "".join(others.values()).isascii():
        return text.translate(_FOLDED)
    for char, folded in others.items():
        lower = lower.replace(char, folded)
    return lower


def _unprinted(encoded: bytes) -> set[str]:
    """Return the different characters of a text in UTF-8 but for those printed in ASCII and line feeds."""
    return set(encoded.translate(None, _PRINTED).decode("utf-8", "surrogatepass"))


_LEAD = r"^[ >*_#|+~\-]*+"
_TAG_NAMES = "|".join(
    re.sub("_", r"[ _-]*+", name) for name in sorted(FENCES, key=lambda name: (-len(name), name))
)
_CHAT_TAGS = r"\|[^|<>\n]{1,60}\||/?s|/?bos|/?eos|/?pad|/?unk|/?(?:start|end)[ _]of[ _](?:turn|text)|/?sys"
# Two patterns, because one that begins with a literal is searched several times faster.
_CHAT = (
    re.compile(rf"(?P<open><) *+(?:{_CHAT_TAGS}) *+(?P<close>>)"),
    re.compile(
        r"(?P<open>\[)[ /]*+(?:inst|system_prompt|tool_calls|available_tools|tool_results) *+(?P<close>\])"
    ),
)


# Quantifiers are possessive, so that a text of 200,000 brackets or spaces is read in linear time.
_TAG = re.compile(
    rf"(?P<open><)[\s/\\]*+(?:think|thinking|(?:{_TAG_NAMES})(?:[ _-]*+\d++)?)(?!\w)(?:[^<>]{{0,40}}(?P<close>>))?"
)
_NUMBER = re.compile(
    rf"{_LEAD}(?P<open>\[)[ #.]*+(?:(?:no|nr|number|evidence|source)[ #.]*+)?"
    r"\d++(?:[ ,;\-]++\d++)*+[ ,;]*+(?P<close>\])",
    re.MULTILINE,
)
_TURN = re.compile(rf"{_LEAD}(?:human|assistant)[ *_]*(?P<colon>:)", re.MULTILINE)
_RECORD = re.compile(r"^ *(?:entity|relation) *(?P<field>\|)", re.MULTILINE)
_LAST_RECORD = re.compile(r"^ *(?P<word>end|none) *$", re.MULTILINE)
_CITATION = re.compile(r"(?P<open>\[)(?P<numbers>[ \d,;\-]*+)(?P<close>\])")
_INERT = {"open": "(", "close": ")", "colon": ";", "field": "/"}


@lru_cache(maxsize=256)
def _structure(
    labels: tuple[str, ...], headings: tuple[str, ...], records: bool
) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Return patterns of folded text, each with parts of which every match has one."""
    names = "|".join(_words(label) for label in (*labels, "Task"))
    first_words = tuple(dict.fromkeys(_folded(label).split()[0] for label in (*labels, "Task")))
    label = re.compile(rf"{_LEAD}(?:{names})[ \d*_]*(?P<colon>:)", re.MULTILINE)
    patterns: list[tuple[tuple[str, ...], re.Pattern[str]]] = [
        (("<",), _TAG),
        (("<",), _CHAT[0]),
        (("[",), _CHAT[1]),
        (("[",), _NUMBER),
        (("human", "assistant"), _TURN),
        (first_words, label),
    ]
    if "Step" in labels:
        patterns.append((("step",), re.compile(r"^ *(?P<word>step) *\d+ *$", re.MULTILINE)))
    if records:
        patterns += [(("|",), _RECORD), (("end", "none"), _LAST_RECORD)]
    titles = "|".join(_words(heading.lstrip("# ")) for heading in headings if heading)
    if titles:
        patterns.append((("#",), re.compile(rf"^ *(?P<marks>#+) *(?:{titles})[ #:]*$", re.MULTILINE)))
    return tuple(patterns)


def _matches(pattern: re.Pattern[str], folded: str) -> Iterator[re.Match[str]]:
    """Return what `finditer` does, in a tenth of the time: most lines lack the sign that follows a lead."""
    if not pattern.pattern.startswith(_LEAD):
        yield from pattern.finditer(folded)
        return
    sign = ":" if "colon" in pattern.groupindex else "["
    at = folded.find(sign)
    while at >= 0:
        if match := pattern.match(folded, folded.rfind("\n", 0, at) + 1):
            yield match
        end = folded.find("\n", at)
        at = folded.find(sign, end) if end >= 0 else -1


def _is_plain(text: str) -> bool:
    """Return whether a text in ASCII lacks the characters that all structure has but headings, records and steps."""
    return text.isascii() and not ("<" in text or "[" in text or ":" in text)


def _words(text: str) -> str:
    return r" ++".join(re.escape(word.translate(_FOLDED)) for word in text.split())


def _cites(match: re.Match[str], n_items: int) -> bool:
    return any(1 <= int(n[-9:]) <= n_items for n in re.findall(r"\d+", match["numbers"]))


def _rewritten(text: str, found: Sequence[re.Match[str]], keep_numbers: bool) -> str:
    """Replace the characters that make matches of the folded text structure."""
    if not found:
        return text
    # A character folds to one character, none or several; in most texts all fold to one.
    origin: Sequence[int] = range(len(text))
    if any(len(_FOLDED[ord(char)]) != 1 for char in _unprinted(text.encode("utf-8", "surrogatepass"))):
        origin = [i for i, char in enumerate(text) for _ in _FOLDED[ord(char)]]
    if keep_numbers:
        found = [m for m in found if m.re is not _NUMBER or not _KEPT.match(text, origin[m.start()])]
        if not found:
            return text
    letters = list(text)
    for match in found:
        for name, part in match.groupdict().items():
            if part and name in _INERT:
                letters[origin[match.start(name)]] = _INERT[name]
            elif part and name == "marks":
                for at in range(*match.span(name)):
                    letters[origin[at]] = "="
            elif part and name == "word":
                first, last = origin[match.start(name)], origin[match.end(name) - 1]
                letters[first], letters[last] = f"({letters[first]}", f"{letters[last]})"
    return "".join(letters)
