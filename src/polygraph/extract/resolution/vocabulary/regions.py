"""Countries and their parts: which places cannot lie in one another."""

import unicodedata
from collections.abc import Iterable, Mapping

_COUNTRIES = """
 afghanistan albania algeria angola argentina armenia australia austria azerbaijan bangladesh belarus belgium
bolivia bosnia botswana brazil bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus denmark
ecuador egypt estonia ethiopia finland france germany ghana greece guatemala haiti honduras hungary iceland india
indonesia iran iraq ireland israel italy jamaica japan kazakhstan kenya kuwait laos latvia lebanon libya lithuania
luxembourg malaysia mali malta mexico mongolia morocco mozambique myanmar namibia nepal netherlands nicaragua niger
nigeria norway pakistan panama paraguay peru philippines poland portugal qatar romania russia rwanda senegal serbia
singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand tunisia turkey
uganda ukraine uruguay uzbekistan venezuela vietnam yemen zambia zimbabwe fiji samoa tonga bahrain oman eritrea gabon
gambia guinea liberia madagascar malawi mauritania mauritius burundi chad djibouti lesotho eswatini togo benin bhutan
brunei maldives kyrgyzstan tajikistan turkmenistan moldova montenegro macedonia kosovo andorra liechtenstein barbados
bahamas belize trinidad guyana suriname seychelles vanuatu
"""
_PARTS = {
    "united states": "alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho "
    "illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi "
    "missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia "
    "wisconsin wyoming",
    "united kingdom": "england scotland wales",
    "england": "yorkshire kent cornwall devon essex sussex norfolk suffolk surrey lancashire cumbria dorset somerset "
    "hampshire wiltshire shropshire northumberland",
    "canada": "ontario quebec alberta manitoba saskatchewan newfoundland yukon",
    "australia": "queensland tasmania",
    "germany": "bavaria saxony hesse brandenburg thuringia saarland westphalia holstein hessen bayern sachsen",
    "spain": "catalonia andalusia galicia aragon asturias extremadura murcia navarre",
    "italy": "tuscany lombardy sicily sardinia piedmont veneto liguria umbria calabria puglia campania",
    "france": "normandy brittany provence alsace burgundy aquitaine corsica",
    "india": "kerala punjab gujarat bihar assam rajasthan karnataka maharashtra bengal",
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
    "czech republic,burkina faso,sierra leone,ivory coast,el salvador,dominican republic,papua new guinea,san marino,"
    "solomon islands"
)
_NAMES = {
    "united states": "usa us u.s u.s.a сша ηπα أمريكا الولايات_المتحدة 美国 アメリカ",
    "united kingdom": "uk u.k britain великобритания βρετανία بريطانيا 英国 großbritannien",
    "germany": "deutschland allemagne alemania germania tyskland alemanha "
    "германия γερμανία ألمانيا 德国 ドイツ almanya",
    "france": "frankreich francia frankrike frança франция γαλλία فرنسا 法国 フランス fransa",
    "spain": "spanien espagne españa spagna spania espanha испания ισπανία إسبانيا 西班牙 スペイン ispanya",
    "italy": "italien italie italia италия ιταλία إيطاليا 意大利 イタリア italya",
    "england": "angleterre inglaterra inghilterra",
    "scotland": "schottland écosse escocia scozia skottland",
    "norway": "norwegen norvège noruega norge norvegia норвегия νορβηγία النرويج 挪威",
    "sweden": "schweden suède suecia sverige svezia швеция σουηδία السويد 瑞典",
    "denmark": "dänemark danemark dinamarca danmark danimarca дания δανία الدنمارك 丹麦",
    "russia": "russland russie rusia россия ρωσία روسيا 俄罗斯 ロシア rusya rússia",
    "japan": "japon japón giappone 日本 япония ιαπωνία اليابان japonya",
    "china": "chine cina kina 中国 китай κίνα الصين 中國 çin",
    "brazil": "brasil brasilien brésil бразилия βραζιλία البرازيل 巴西 ブラジル",
    "greece": "griechenland grèce grecia ελλάδα греция اليونان 希腊 ギリシャ yunanistan",
    "switzerland": "schweiz suisse suiza svizzera швейцария ελβετία سويسرا 瑞士 スイス isviçre suíça",
    "austria": "österreich autriche австрия αυστρία النمسا 奥地利",
    "poland": "polen pologne polonia polska польша πολωνία بولندا 波兰 polonya",
    "netherlands": "niederlande nederland holland нидерланды ολλανδία هولندا 荷兰 hollanda",
    "mexico": "méxico mexique mexiko мексика المكسيك 墨西哥",
    "turkey": "türkiye türkei turquie turquía турция τουρκία تركيا 土耳其 トルコ",
    "egypt": "ägypten égypte egipto egitto египет αίγυπτος مصر 埃及 エジプト mısır",
    "libya": "libyen libye libia ливия λιβύη ليبيا 利比亚",
    "lebanon": "libanon liban líbano ливан λίβανος لبنان 黎巴嫩 lübnan",
    "syria": "syrien syrie siria сирия συρία سوريا 叙利亚 suriye",
    "iraq": "irak ирак العراق 伊拉克",
    "iran": "иран إيران 伊朗",
    "india": "indien inde индия ινδία الهند 印度 インド hindistan",
    "ukraine": "украина україна ουκρανία أوكرانيا 乌克兰 ukrayna",
    "canada": "kanada канада كندا 加拿大 カナダ",
    "australia": "australien australie австралия αυστραλία أستراليا 澳大利亚",
    "saudi arabia": "السعودية саудовская_аравия saudi-arabien",
    "morocco": "marokko maroc marruecos марокко المغرب",
    "kazakhstan": "казахстан kasachstan",
    "south korea": "südkorea 韩国 韓国 한국",
    "cyprus": "κύπρος zypern chypre chipre kıbrıs",
    "belgium": "belgien belgique bélgica бельгия",
    "hungary": "ungarn hongrie hungría венгрия",
    "romania": "rumänien roumanie rumania румыния",
    "tunisia": "tunesien tunisie",
    "algeria": "algerien algérie argelia алжир",
    "kenya": "kenia",
    "colombia": "kolumbien colombie",
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
    "kenya": "kenyan",
    "uganda": "ugandan",
    "nigeria": "nigerian",
    "ghana": "ghanaian",
    "ethiopia": "ethiopian",
    "tanzania": "tanzanian",
    "zambia": "zambian",
    "zimbabwe": "zimbabwean",
    "senegal": "senegalese",
    "morocco": "moroccan",
    "algeria": "algerian",
    "tunisia": "tunisian",
    "libya": "libyan",
    "sudan": "sudanese",
    "israel": "israeli",
    "lebanon": "lebanese",
    "syria": "syrian",
    "jordan": "jordanian",
    "iraq": "iraqi",
    "iran": "iranian",
    "saudi arabia": "saudi",
    "yemen": "yemeni",
    "afghanistan": "afghan",
    "pakistan": "pakistani",
    "bangladesh": "bangladeshi",
    "nepal": "nepalese",
    "thailand": "thai",
    "vietnam": "vietnamese",
    "indonesia": "indonesian",
    "malaysia": "malaysian",
    "philippines": "philippine",
    "south korea": "korean",
    "mongolia": "mongolian",
    "kazakhstan": "kazakh",
    "romania": "romanian",
    "bulgaria": "bulgarian",
    "serbia": "serbian",
    "croatia": "croatian",
    "slovenia": "slovenian",
    "slovakia": "slovak",
    "czech republic": "czech",
    "estonia": "estonian",
    "latvia": "latvian",
    "lithuania": "lithuanian",
    "albania": "albanian",
    "cuba": "cuban",
    "chile": "chilean",
    "peru": "peruvian",
    "bolivia": "bolivian",
    "colombia": "colombian",
    "venezuela": "venezuelan",
    "ecuador": "ecuadorian",
    "uruguay": "uruguayan",
    "paraguay": "paraguayan",
}
_EXONYMS = """
munich münchen monaco_di_baviera| cologne köln colonia| vienna wien vienne viena| rome roma rom| florence firenze
florenz florencia| venice venezia venedig venise venecia| naples napoli neapel| milan milano mailand milán| turin
torino| genoa genova genua gênes| lisbon lisboa lissabon lisbonne lisbona| prague praha prag praga| warsaw warszawa
warschau varsovie varsovia| antwerp antwerpen anvers| moscow moskau moskva moscou moscú mosca| copenhagen københavn
kopenhagen copenhague| athens athen athènes atenas atene| london londres londra| brussels bruxelles brüssel brussel
bruselas| geneva genève genf ginebra ginevra| nuremberg nürnberg| hanover hannover| seville sevilla| gothenburg
göteborg| bucharest bucurești bukarest| belgrade beograd belgrad| cairo kairo le_caire| beijing peking pékin pekín
pechino| tokyo tokio| krakow cracow kraków krakau cracovie| rhine rhein rhin rin reno| danube donau dunav| vistula
wisła weichsel| tiber tevere| gdansk gdańsk danzig| wroclaw wrocław breslau| bratislava pressburg| ljubljana
laibach| zagreb agram| lviv lemberg lwów| istanbul constantinople| mumbai bombay| kolkata calcutta| chennai madras|
yangon rangoon| edinburgh édimbourg edimburgo| sicily sicilia sizilien| tuscany toscana toskana| bavaria bayern
bavière| saxony sachsen| crete kreta kríti| basel basle bâle| lake_constance bodensee| lucerne luzern| hague
den_haag la_haye| paris париж παρίσι باريس 巴黎 パリ parigi parís| london лондон λονδίνο لندن 伦敦 倫敦 ロンドン|
berlin берлин βερολίνο برلين 柏林 ベルリン berlín berlino| madrid мадрид μαδρίτη مدريد 马德里 マドリード| rome рим
ρώμη روما 罗马 羅馬 ローマ| athens афины αθήνα αθήναι أثينا 雅典 アテネ atina| moscow москва μόσχα موسكو 莫斯科
モスクワ moskova| vienna вена βιέννη فيينا 维也纳 ウィーン viyana| munich мюнхен μόναχο ميونخ 慕尼黑 ミュンヘン|
istanbul стамбул κωνσταντινούπολη إسطنبول 伊斯坦布尔 イスタンブール konstantinopel| cairo каир κάιρο القاهرة 开罗
カイロ kahire| beijing peking pékin pekín pechino
пекин πεκίνο بكين 北京 北京市| shanghai шанхай σαγκάη شنغهاي 上海 上海市| tokyo токио τόκιο
طوكيو 东京 東京 東京都| osaka осака 大阪 大阪市| kyoto киото 京都 京都市| nagoya 名古屋 名古屋市| yokohama 横浜
横浜市| sapporo 札幌 札幌市| hiroshima хиросима 広島 広島市| nagasaki 長崎 長崎市| fukuoka 福岡 福岡市| kobe 神戸
神戸市| sendai 仙台 仙台市| hokkaido 北海道| okinawa 沖縄| nara 奈良| kanazawa 金沢| hong_kong гонконг هونغ_كونغ
香港 ホンコン| macau macao 澳门 マカオ| damascus дамаск δαμασκός دمشق 大马士革 damaskus damas damasco şam| baghdad
багдад βαγδάτη بغداد 巴格达 bagdad bağdat| beirut бейрут βηρυτός بيروت 贝鲁特 beyrouth beyrut| riyadh эр-рияд الرياض
利雅得 riad riyad| mecca мекка مكة mekka la_mecque mekke| tripoli триполи τρίπολη طرابلس tripolis trípoli trablus|
tunis тунис túnez| jerusalem иерусалим ιερουσαλήμ القدس 耶路撒冷 kudüs| tehran тегеран τεχεράνη طهران 德黑兰 teheran
téhéran tahran| ankara анкара άγκυρα أنقرة 安卡拉| seoul сеул سيول 首尔 ソウル 서울| saint_petersburg
санкт-петербург st_petersburg sankt_petersburg saint-pétersbourg san_petersburgo pietroburgo 圣彼得堡| warsaw
варшава βαρσοβία وارسو 华沙 ワルシャワ| prague прага πράγα براغ 布拉格 プラハ| budapest будапешт βουδαπέστη بودابست|
copenhagen копенгаген κοπεγχάγη كوبنهاغن kopenhag| stockholm стокгольм στοκχόλμη estocolmo stoccolma| oslo осло
όσλο| helsinki хельсинки ελσίνκι helsingfors| brussels брюссель βρυξέλλες بروكسل 布鲁塞尔 ブリュッセル brüksel|
geneva женева γενεύη جنيف 日内瓦 ジュネーブ cenevre| zurich zürich цюрих ζυρίχη 苏黎世 チューリッヒ zurigo| kyiv
kiev киев київ κίεβο كييف 基辅 kiew| thessaloniki salonica салоники θεσσαλονίκη selanik saloniki| alexandria
александрия αλεξάνδρεια الإسكندرية iskenderiye alexandrie alejandría| izmir smyrna σμύρνη измир smyrne| nicosia
λευκωσία lefkoşa никосия| los_angeles лос-анджелес 洛杉矶 ロサンゼルス| new_york нью-йорк νέα_υόρκη نيويورك 纽约
ニューヨーク| lisbon лиссабон λισαβόνα لشبونة 里斯本 リスボン| venice венеция βενετία البندقية 威尼斯 venedik| milan
милан μιλάνο ميلانو 米兰| naples неаполь νάπολη نابولي 那不勒斯 napoli nápoles| chios χίος hios sakız| crete κρήτη
крит girit| rhodes ρόδος родос rodos| corfu κέρκυρα kerkyra корфу| piraeus πειραιάς pireas пирей| neva нева| aleppo
حلب халеб halep alep χαλέπι 阿勒颇| amman عمان амман 安曼| basra البصرة басра| mosul الموصل мосул| homs حمص хомс|
gaza غزة газа| medina المدينة медина| sanaa صنعاء сана| khartoum الخرطوم хартум| casablanca الدار_البيضاء| marrakesh
مراكش marrakech marrakesch| fez فاس fès| tangier طنجة tanger| algiers الجزائر_العاصمة alger argel algier| nanjing
南京 nanking нанкин 南京市| guangzhou 广州 廣州 canton гуанчжоу 广州市| tianjin 天津 тяньцзинь| wuhan 武汉 武漢
ухань| hangzhou 杭州 ханчжоу| chengdu 成都 чэнду| shenzhen 深圳 шэньчжэнь| xian 西安 сиань| taipei 台北 臺北 тайбэй|
busan 부산 pusan 釜山 пусан| incheon 인천 仁川| daegu 대구 大邱| gwangju 광주 光州| volga волга wolga| bosphorus
bosporus boğaziçi босфор| patras πάτρα πάτραι патры patrasso
| heraklion ηράκλειο iraklio ираклион| chania χανιά canea| volos βόλος| larissa λάρισα
| constance konstanz costanza| jeddah جدة djeddah| doha الدوحة доха| kuwait_city مدينة_الكويت
"""
_INSTITUTIONS = {
    "大学": "university", "大學": "university", "대학교": "university", "银行": "bank", "銀行": "bank",
    "은행": "bank", "医院": "hospital", "病院": "hospital", "병원": "hospital", "博物馆": "museum",
    "博物館": "museum", "박물관": "museum", "图书馆": "library", "図書館": "library", "도서관": "library",
}  # fmt: skip
"""Nouns at the end of the names of institutions."""
_PARENT: dict[str, str] = {part: country for country, parts in _PARTS.items() for part in parts.split()} | {
    part: country for country, parts in _PARTS_OF_TWO_WORDS.items() for part in parts.split(",")
}
_KNOWN = frozenset(_COUNTRIES.split()) | frozenset(_OTHER_COUNTRIES.split(",")) | frozenset(_PARENT)


def _with_folded(names: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping with keys also without accents."""
    folded = {
        "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)): english
        for name, english in names.items()
    }
    return {**folded, **names}


_CANONICAL = {
    name.replace("_", " "): country for country, names in _NAMES.items() for name in names.casefold().split()
} | {
    "united states of america": "united states",
    "great britain": "united kingdom",
}
COUNTRY_OF_ADJECTIVE = {word: country for country, words in _ADJECTIVES.items() for word in words.split()}
"""Countries of English adjectives (``american``)."""
_EXONYM = {
    name.replace("_", " "): group.split()[0].replace("_", " ")
    for group in _EXONYMS.casefold().split("|")
    for name in group.split()
}
_EXONYM = _with_folded(_EXONYM)
_CANONICAL = _with_folded(_CANONICAL)


def place_in_english(name: str) -> str:
    """Return the English name of a city, river or country that languages name differently, or the name.

    >>> place_in_english("münchen"), place_in_english("deutschland"), place_in_english("kelso")
    ('munich', 'germany', 'kelso')
    """
    return region(name) or _EXONYM.get(name, name)


def institution_in_english(name: str) -> str:
    """Return the English name of an institution that is named after a city in Chinese, Japanese or Korean.

    Empty if it is none of a known city.

    >>> institution_in_english("南京大学"), institution_in_english("university of tokyo")
    ('nanjing university', 'tokyo university')
    """
    if name.isascii():
        place, _, noun = name.rpartition(" ")
        if noun in _INSTITUTIONS.values() and place in _EXONYM:
            return f"{_EXONYM[place]} {noun}"
        noun, of, place = name.partition(" of ")
        return f"{place} {noun}" if of and noun in _INSTITUTIONS.values() and place in _EXONYM else ""
    for ending, noun in _INSTITUTIONS.items():
        place = name.removesuffix(ending).strip()
        if place != name and place in _EXONYM:
            return f"{_EXONYM[place]} {noun}"
    return ""


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
            if x == y or _lies_in(x, y) or _lies_in(y, x):
                return None
    return min(first[0], second[0]), max(first[0], second[0])


def _lies_in(part: str, whole: str) -> bool:
    """Return whether a region is a part of another, or of one of its parts."""
    while part in _PARENT:
        part = _PARENT[part]
        if part == whole:
            return True
    return False


def one_may_lie_in_other(a: Iterable[str], b: Iterable[str]) -> bool:
    """Return whether two lists of places share one, or a known region of one list holds one of the other.

    >>> one_may_lie_in_other(["bavaria"], ["germany"]), one_may_lie_in_other(["kelsby"], ["orrin"])
    (True, False)
    """
    first, second = set(map(place_in_english, a)), set(map(place_in_english, b))
    return any(x == y or _lies_in(x, y) or _lies_in(y, x) for x in first for y in second)
