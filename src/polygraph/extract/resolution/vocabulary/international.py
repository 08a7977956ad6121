"""What languages call international bodies, with their acronyms: a small list of our own."""

_BODIES = """
world health organization | who | organización mundial de la salud | organisation mondiale de la santé | oms
  | organizzazione mondiale della sanità | weltgesundheitsorganisation | всемирная организация здравоохранения
  | 世界卫生组织 | 世界保健機関
united nations | un | uno | vereinte nationen | nations unies | onu | naciones unidas | nazioni unite
  | организация объединённых наций
  | united nations organization | organisation des nations unies | organización de las naciones unidas
  | 联合国 | 国際連合
european union | eu | europäische union | union européenne | unión europea | unione europea | ue
  | европейский союз
european commission | europäische kommission | commission européenne | comisión europea | commissione europea
european court of justice | europäischer gerichtshof | eugh | cour de justice de l union européenne | cjeu
  | cjue
north atlantic treaty organization | nato | otan | organización del tratado del atlántico norte | нато
international monetary fund | imf | fmi | internationaler währungsfonds | fonds monétaire international
  | fondo monetario internacional
  | fondo monetario internazionale | мвф
world bank | weltbank | banque mondiale | banco mundial | banca mondiale | всемирный банк | 世界银行
world trade organization | wto | welthandelsorganisation | organisation mondiale du commerce
  | organización mundial del comercio
  | organizzazione mondiale del commercio
international committee of the red cross | icrc | ikrk | cicr | comité international de la croix-rouge
  | internationales komitee vom roten kreuz | comité internacional de la cruz roja
international labour organization | ilo | internationale arbeitsorganisation
  | organisation internationale du travail
  | organización internacional del trabajo
international olympic committee | ioc | comité international olympique | comité olímpico internacional
  | internationales olympisches komitee
league of nations | völkerbund | société des nations | sociedad de las naciones | società delle nazioni
european central bank | ecb | ezb | europäische zentralbank | banque centrale européenne | bce
  | banco central europeo
  | banca centrale europea
"""
_ENGLISH = {
    name.strip(): names[0].strip()
    for line in _BODIES.replace("\n  |", " |").strip().splitlines()
    if (names := line.split("|"))
    for name in names
}
_ACRONYM = 4
"""Letters of an acronym at most."""


def body_in_english(name: str) -> str:
    """Return the English name of an international body, or an empty string.

    >>> body_in_english("organisation mondiale de la santé"), body_in_english("nationalbank")
    ('world health organization', '')
    """
    return _ENGLISH.get(name, "")


def is_acronym_of_body(name: str) -> bool:
    """Return whether a name of a body is an acronym, which other things may have, too.

    >>> is_acronym_of_body("oms"), is_acronym_of_body("world bank")
    (True, False)
    """
    return name in _ENGLISH and len(name) <= _ACRONYM
