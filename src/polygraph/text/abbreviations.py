"""Abbreviations of languages other than English behind which no sentence ends, though the library `sentencex` ends one.

English has its own rules in `sentences`.
"""

import re

# Before a name or a noun. Not what may end a sentence as well, such as "etc." or "usw.".
_ABBREVIATIONS = {
    "de": "abt dipl einschl exkl fa fam frl gebr gem hr hrn ing inkl tsd vorm zzgl",
    "fr": "av bd boul cie dr drs env ets m me mgr mlle mlles mm mme mmes pr prs réf st ste sté vve",
    "es": "cía cnel ctra d dn dña dr dra dras dres edif fdo fr hnos ilma ilmo mons plza sr sra sras sres sta sto urb "
    "vda",
    "it": "gent gent.mo on spett",
    "nl": "excl fam incl mevr mw",
    "pt": "arq av cia d dr dra eng esq ltda pça pe prof profa sr sra sta sto",
}
_BEFORE_WORD = {
    code: re.compile(
        rf"(?<![\w.'’])(?:[dl]['’])?(?:{'|'.join(map(re.escape, words.split()))})\.$", re.IGNORECASE
    )
    for code, words in _ABBREVIATIONS.items()
}
_NUMBERED = """
abb abs afb approx aprox art arts bd blz ca cap chap déc dic ed éd ene env feb févr fax fig figg figs hfst jan janv juil
kap lfd máx max mín min nr nrs núm núms oct pág pag pagg págs pos pp réf ref sept tab tel tél tfno tlf vol
"""
_BEFORE_NUMBER = re.compile(rf"(?<!\w)(?:(?<!\d )[a-z]|{'|'.join(_NUMBERED.split())})\.$", re.IGNORECASE)
_LETTER = re.compile(r"(?<![\w])(?<!\d )[^\W\d_a-z]\.$")
"""The initial of a name."""
_DOTTED = re.compile(r"(?<!\w)[^\W\d_](?:\.[ -]?\w{1,3})*\.$")
"""One letter, or several with points: *p.*, *d.w.z.*, *S.p.A.*"""
_LONGEST = 16
"""Characters before the end of a sentence that are looked at."""


def ends_abbreviated(text: str, start: int, end: int, language: str) -> bool:
    """Return whether a part of a text that is not English ends with an abbreviation that belongs to what follows it.

    Args:
        text: with something behind the part.
        start: of the part.
        end: of the part, with or without white space behind its last point.
        language: ISO 639-1 code.

    >>> ends_abbreviated("Elle remplace M. Roux.", 0, 17, "fr"), ends_abbreviated("Elle dort. Il lit.", 0, 11, "fr")
    (True, False)
    """
    part = text[start:end].rstrip()[-_LONGEST:]
    if not part.endswith("."):
        return False
    following = text[end : end + _LONGEST].lstrip()[:1]
    if following in ("ª", "º", "-"):  # D.ª, n.º, Dipl.-Ing.
        return True
    if following.isdigit():
        return _BEFORE_NUMBER.search(part) is not None
    listed = _BEFORE_WORD.get(language)
    if listed is not None and listed.search(part):
        return following.isalpha()
    return bool((_DOTTED if following.islower() else _LETTER).search(part)) and following.isalpha()
