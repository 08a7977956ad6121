"""Closed word lists for extraction and resolution, mostly English."""

_MALE = "mr sir lord king prince father brother monsieur herr señor senor signor don duke baron emperor"
_FEMALE = "mrs miss ms madam madame lady dame queen princess mother sister mademoiselle frau señora senora"
_FEMALE_MORE = "signora donna duchess baroness countess empress aunt"
_OFFICES = (
    "dr doctor prof professor captain capt lieutenant lieut lt sergeant sgt corporal colonel col major maj "
    "general gen admiral adm commander cmdr commodore private judge justice president senator governor "
    "mayor chancellor minister ambassador inspector constable detective officer chief sheriff "
    "reverend rev pastor bishop archbishop cardinal pope rabbi imam saint brigadier marshal councillor "
    "alderman secretary"
)
_MALE_KIN = " uncle"
_MALE_ELSEWHERE = (
    " herrn hr graf freiherr señor don señorito senhor dom signore conte господин mister meneer "
    "mijnheer herra"
)
_FEMALE_ELSEWHERE = (
    "widow fru frk frøken fröken fräulein enken enkefru witwe gräfin señorita doña dona senhora signorina mme mlle "
    "veuve viuda "
    "vedova госпожа mevrouw juffrouw rouva neiti"
)
_OFFICES_ELSEWHERE = (
    " bürgermeister oberbürgermeister kapitän pfarrer doktor kapten kaptein kaptajn prest pastor ordfører rektor maire "
    "capitaine docteur professeur abbé capitán profesor profesora doctora alcalde capitano dottor dottore dottoressa "
    "professore professoressa sindaco capitão professora капитан доктор профессор superintendent deacon "
    "viscount marquis marquess"
)

MALE_TITLES = frozenset((_MALE + _MALE_KIN + _MALE_ELSEWHERE).split())
FEMALE_TITLES = frozenset(f"{_FEMALE} {_FEMALE_MORE} {_FEMALE_ELSEWHERE}".split())
UNMARRIED_TITLES = frozenset(
    ["miss", "fräulein", "señorita", "signorina", "mademoiselle", "mlle", "frøken", "fröken"]
)
"""Those of `FEMALE_TITLES` that a wife does not have."""
TITLES = MALE_TITLES | FEMALE_TITLES | frozenset((_OFFICES + _OFFICES_ELSEWHERE).split())
"""Titles before a person's name, without the full stop."""

_TITLES_OF_PEOPLE = """
count nurse chef coach agent comrade sheikh sultan emir mullah marquise vicomte comte comtesse baronne maître me
soeur sœur frère président présidente ministre commissaire juge colonel général commandant sergent richter richterin
präsident präsidentin minister ministerin kommissar kommissarin hofrat geheimrat oberst leutnant hauptmann baronin
prinz prinzessin fürst fürstin schwester bruder pater ärztin meister juez jueza presidente presidenta ministro
ministra comisario coronel sargento padre fray sor conde condesa príncipe princesa licenciado ingeniero giudice
conte contessa principe principessa suor fra avvocato ingegnere dronning konge kong statsminister statsråd prins
prinsesse д-р судья граф графиня князь княгиня княжна царь царица император королева король генерал полковник майор
академик министр президент поручик отец κ κα κος δρ κύριος κυρία καθηγητής καθηγήτρια υπουργός πρωθυπουργός δικαστής
στρατηγός bay bayan sayın doktor profesör başkan hakim paşa sultan şeyh الدكتور الدكتورة دكتور السيد السيدة الشيخ
الأمير الأميرة الملك الملكة الرئيس الوزير القاضي الأستاذ الشيف الحاج
vicomtesse duc duchesse herzog herzogin marqués marquesa duque duquesa marchese marchesa duca duchessa kapitein dokter
meester koning koningin prinses graaf gravin barones freule burgemeester rechter greve grevinna grevinne hertug hertig
hertiginna kapteeni tohtori tuomari kapitan kapitán pan pani paní hrabia hrabina капітан пан пані лікар суддя
"""
TITLES_OF_PEOPLE = TITLES | frozenset(_TITLES_OF_PEOPLE.split())
"""Also titles that are ordinary words or names elsewhere, so that they count only before the name of a person."""

_BEFORE_GIVEN_NAMES = """
sir dame king queen prince princess pope saint emperor empress tsar tsarina sultan brother sister uncle aunt don doña
dom fray sor suor könig königin prinz prinzessin schwester bruder reine roi frère sœur reina rey príncipe princesa
regina dronning kong царь царица принц принцесса король королева князь княгиня kraliçe sultan الملك الملكة
الأمير الأميرة الشيخ
"""
TITLES_BEFORE_GIVEN_NAMES = frozenset(_BEFORE_GIVEN_NAMES.split())
"""Titles that stand before a given name as well (``Sir Elton``)."""

_OF_WOMEN = """
comtesse vicomtesse baronne marquise duchesse princesse reine gräfin baronin fürstin herzogin prinzessin königin
condesa marquesa duquesa princesa reina contessa marchesa duchessa principessa regina suor sor sœur soeur schwester
dronning prinsesse grevinna grevinne hertiginna koningin prinses gravin barones freule jueza presidenta ministra
richterin präsidentin ministerin kommissarin ärztin présidente profesora professora doctora dottoressa professoressa
pani paní hrabina графиня княгиня княжна царица императрица королева пані κυρία bayan الدكتورة السيدة الأميرة الملكة
"""
_OF_MEN = """
comte vicomte marquis duc roi frère graf fürst herzog prinz könig bruder pater conde marqués duque príncipe rey marchese
duca principe fra fray konge kong prins greve hertug hertig koning graaf pan hrabia граф князь царь император король пан
κύριος bay السيد الأمير الملك الشيخ
"""
GENDER_OF_TITLE = {**dict.fromkeys(_OF_WOMEN.split(), "f"), **dict.fromkeys(_OF_MEN.split(), "m")}
"""Gender of titles that are more than polite."""

_ABBREVIATIONS = (
    "mr mrs ms dr prof capt lieut lt sgt col maj gen adm cmdr rev st jr sr mme mlle hon messrs mt ft no"
)
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
"""Abbreviations whose full stop does not end a name."""

_MONTHS = "january february march april may june july august september october november december"
MONTHS = tuple(_MONTHS.split())
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = frozenset(_DAYS.split())

_GENERIC = """
ability access account act action activity addition advance advantage age aim air amount answer appearance
approach area arm article aspect attempt attention audience back background balance base basis beginning being
belief benefit bit body bottom boundary box boy break breath bunch call capacity case category cause center
centre century chance change character characteristic choice circumstance class combination comment comparison
complexity component concept concern conclusion condition connection consequence consideration contact content
context contrast contribution control copy corner couple countenance course creature critical crowd danger
date day deal decade decision decline degree demand depth description detail development difference difficulty
direction discussion distance diversity door doubt edge effect effort element end energy environment era event
evening evidence example existence expectation experience explanation expression extent eye face fact factor
failure feature feeling feet fellow figure finding finger focus fold foot force form formation foundation
front function future gap girl goal ground group growth guide guy hair half hand head heap heart height help
history hold hope hour idea image impact implication importance improvement increase individual influence
information innovation input inside insight instance interest introduction issue item job journey key kid
kind knowledge lack leg length level life light limit line link lip list little look lot majority man manner
mark matter mean meaning means measure meeting member method middle million mind minute mode moment month
morning mouth movement name nature need neck night noise none nothing notion number object occasion one
operation opinion opportunity option order origin other outcome output pair part passage past path pattern
people percent percentage performance period person perspective phase phenomenon picture piece place plan
play plenty point portion position possibility potential power practice preparation presence present pressure
principle problem procedure process production progress property purpose quality quantity question range rank
rate reaction reason reduction reference regard relation relationship requirement resource respect response
responsibility rest result return right rise risk role round row rule run sake scale scene scope second
section sense sentence sequence series set setting shape share shot shoulder side sight sign significance
situation size sky skill smile solution somebody someone something sort sound source space spirit spot stage
standard start state statement status step stop strategy strength structure stuff style subject success sum
support surface surprise sut tear technique tendency term theme thing thousand threat throat time title today
tomorrow tone tongue tool top topic total touch trend trouble truth turn type understanding unit use user
value variety version view visit voice volume way week weekend weight while whole window wish woman word
work world year yesterday father mother son daughter wife husband brother sister uncle aunt nephew niece cousin
parent child kid baby lady gentleman sir madam friend dear euro dollar pound cent
"""
GENERIC_HEADS = frozenset(_GENERIC.split())
"""Nouns that are too generic to be an entity on their own."""

_COUNTING = """
no none one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million dozen half first second
third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last next
"""
COUNTING_WORDS = frozenset(_COUNTING.split())
"""Words that count or number things, which are no names although they begin sentences."""

_OF_LETTERS = """
yours thanks regards sincerely tel fax email mon tue tues wed thu thur thurs fri sat
"""
LETTER_WORDS = frozenset(_OF_LETTERS.split())
"""Words of letters, mail and their headers, which are no names although they begin lines."""

_ROLES = {
    "ship": "ship schooner steamer steamship brig brigantine barque bark vessel boat trawler lugger tug ferry "
    "yacht frigate sloop ketch cutter lifeboat submarine destroyer cruiser collier",
    "place": "hotel inn tavern village town city county province district island river lake mountain bay cape "
    "street road harbour harbor port castle church cathedral chapel house lighthouse observatory bridge region "
    "country station museum park",
    "organization": "company firm society association club committee council university college school agency "
    "institute bank newspaper party union corporation band orchestra board ministry department",
    "work": "film movie novel book song album poem play opera painting magazine journal symphony series",
    "event": "war battle festival storm strike flood election conference congress expedition treaty",
}
TYPE_OF_NOUN = {noun: kind for kind, nouns in _ROLES.items() for noun in nouns.split()}
"""Entity types of common nouns next to a name (``the schooner Halcyon``)."""

_OCCUPATIONS = """
accountant actor actress admiral adviser analyst anthropologist apprentice archaeologist architect artist
astronomer athlete attorney author baker banker barber barrister bassist biologist bishop blacksmith boatbuilder
bookkeeper bookseller botanist brewer bricklayer broker builder butcher butler captain carpenter cartographer
chairman chairwoman chandler chaplain chemist clergyman clerk coach coxswain composer conductor constable cook cooper
coroner councillor critic curate curator cyclist dancer dentist designer detective director doctor draper
dressmaker drummer economist editor engineer explorer farmer filmmaker fisherman fishmonger footballer
fisher gardener geologist glassmaker governess grocer guitarist gunner harbourmaster harbormaster harpooner
harpist historian housekeeper illustrator innkeeper inspector instructor inventor jeweller joiner journalist
judge keeper laundress lawyer lecturer librarian lighthouse-keeper lieutenant linguist locksmith machinist
magistrate manager mariner mason mathematician mayor mechanic merchant meteorologist midwife miller milliner
miner minister model musician naturalist navigator novelist nurse observer officer organist painter
pharmacist philanthropist philosopher photographer physician physicist pianist pilot playwright plumber poet
policeman politician porter postman postmaster postmistress potter preacher priest principal printer producer
professor programmer psychologist publican publisher purser rapper rector referee reporter researcher
rigger sailmaker sailor salesman saddler scholar schoolmaster schoolmistress schoolteacher scientist screenwriter
sculptor seaman seamstress secretary senator sergeant sexton shepherd sheriff shipbuilder shipowner shipwright
shoemaker shopkeeper singer smith smuggler solicitor soldier songwriter statesman statistician steward
stonemason student surgeon surveyor swimmer tailor teacher technician telegraphist theologian tinsmith trader
translator treasurer undertaker veterinarian vicar violinist watchmaker weaver whaler wheelwright widow
writer zoologist
"""
OCCUPATIONS = frozenset(_OCCUPATIONS.split())
"""Nouns of occupation, which distinguish people who share a name."""

_MORE_OCCUPATIONS = """
goalkeeper striker midfielder defender boxer golfer skater runner sprinter wrestler gymnast rower cricketer jockey skier
trainer astronaut cosmonaut aviator driver stationmaster chef confectioner restaurateur winemaker vintner beekeeper
winegrower rancher paediatrician pediatrician cardiologist psychiatrist pathologist radiologist neurologist virologist
epidemiologist astrophysicist neuroscientist geneticist ecologist entomologist sociologist philologist developer
hacker prosecutor notary advocate forger thief burglar murderer pirate robber swindler spy poacher nun monk missionary
diplomat ambassador comedian puppeteer magician clown columnist violist cellist trumpeter hairdresser glazier
cinematographer illustrator engraver etcher
"""
MORE_OCCUPATIONS = frozenset(_MORE_OCCUPATIONS.split())
"""Nouns of occupation that count only in a description that a model wrote."""

_FIELDS = {
    "medicine": "doctor physician surgeon nurse dentist midwife pharmacist veterinarian paediatrician pediatrician "
    "cardiologist psychiatrist pathologist radiologist neurologist virologist epidemiologist",
    "law": "lawyer attorney barrister solicitor judge magistrate prosecutor notary advocate",
    "letters": "author novelist writer poet playwright essayist screenwriter critic journalist reporter editor "
    "translator",
    "music": "musician composer singer pianist violinist guitarist conductor organist bassist drummer harpist "
    "songwriter "
    "rapper violist cellist trumpeter",
    "art": "artist painter sculptor illustrator designer photographer",
    "stage": "actor actress director filmmaker producer dancer screenwriter playwright model",
    "science": "psychologist scientist physicist chemist mathematician astronomer biologist geologist botanist "
    "zoologist statistician naturalist meteorologist anthropologist archaeologist inventor engineer "
    "astrophysicist neuroscientist geneticist ecologist entomologist virologist epidemiologist",
    "humanities": "historian linguist philosopher theologian economist scholar",
    "church": "priest vicar clergyman bishop preacher curate chaplain rector theologian pastor",
    "sea": "captain sailor seaman mariner navigator pilot fisherman fisher coxswain steward whaler harpooner",
    "teaching": "teacher schoolteacher schoolmaster schoolmistress lecturer governess professor",
    "army": "soldier officer lieutenant sergeant gunner captain",
    "sport": "athlete footballer cyclist swimmer coach referee goalkeeper striker midfielder defender "
    "boxer golfer skater runner sprinter wrestler gymnast rower cricketer jockey skier trainer",
    "food": "cook chef baker confectioner restaurateur winemaker vintner brewer winegrower",
    "crime": "forger thief burglar murderer pirate robber swindler smuggler spy poacher",
    "computing": "programmer developer hacker engineer",
    "politics": "politician statesman senator minister mayor councillor diplomat ambassador",
    "trade": "merchant trader shopkeeper salesman grocer broker banker draper",
}
FIELD_OF_OCCUPATION = {word: field for field, words in reversed(_FIELDS.items()) for word in words.split()}
"""Fields of work: people who change between occupations of one field are common."""

_FOREIGN = {
    "teacher": "lehrer lehrerin professeur institutrice maestro maestra profesora insegnante lærer lærerinde "
    "lärare учитель",
    "physician": "arzt ärztin médecin médico médica medico lege læge läkare врач",
    "painter": "maler malerin peintre pintor pintora pittore pittrice målare художник",
    "writer": "schriftsteller schriftstellerin écrivain écrivaine escritor escritora scrittore scrittrice forfatter "
    "forfatterinde författare писатель",
    "poet": "dichter dichterin poète poétesse poeta dikter digter поэт",
    "composer": "komponist compositeur compositor compositore композитор",
    "lawyer": "rechtsanwalt anwalt avocat avocate abogado abogada avvocato advogado advokat адвокат",
    "engineer": "ingenieur ingénieur ingeniero ingegnere engenheiro ingeniør ingenjör инженер",
    "fisherman": "fischer pêcheur pescador pescatore fiskare рыбак",
    "priest": "pfarrer prêtre curé cura sacerdote prete padre prest präst священник",
    "merchant": "kaufmann marchand comerciante mercante kjøpmann købmand köpman купец",
    "baker": "bäcker boulanger boulangère panadero fornaio baker пекарь",
    "footballer": "fußballer fußballspieler footballeur futbolista calciatore futebolista fotballspiller футболист",
    "physicist": "physiker physikerin physicien físico fisico fysiker физик",
    "chemist": "chemiker chimiste químico chimico kjemiker химик",
    "singer": "sänger sängerin chanteur chanteuse cantante cantor cantora sanger певец певица",
    "actor": "schauspieler acteur attore ator skuespiller актёр актер",
    "politician": "politiker politicien político politico политик",
    "mayor": "bürgermeister bürgermeisterin maire alcalde alcaldesa sindaco prefeito ordfører borgmester "
    "borgmästare мэр",
    "lighthouse-keeper": "leuchtturmwärter farero fyrvokter",
    "captain": "kapitän capitaine capitán capitano capitão kaptein kaptajn kapten капитан",
    "historian": "historiker historien historiador storico историк",
    "widow": "witwe veuve viuda vedova viúva enke änka вдова",
}
ENGLISH_OCCUPATION = {word: english for english, words in _FOREIGN.items() for word in words.split()}
"""English words for occupations in other languages."""

_IN_CLAUSES = {
    "mayor": "市长 市長",
    "cook": "厨师 廚師 料理人 طباخ",
    "teacher": "老师 老師 教师 教師 معلم öğretmen δάσκαλος",
    "professor": "教授 أستاذ καθηγητής",
    "physician": "医生 醫生 医師 طبيب γιατρός hekim",
    "lawyer": "律师 律師 弁護士 محام avukat δικηγόρος",
    "writer": "作家 كاتب yazar συγγραφέας",
    "poet": "诗人 詩人 شاعر şair ποιητής",
    "painter": "画家 رسام ressam ζωγράφος",
    "singer": "歌手 مطرب مغن şarkıcı τραγουδιστ",
    "actor": "演员 俳優 ممثل oyuncu ηθοποιός",
    "engineer": "工程师 技師 مهندس mühendis μηχανικός",
    "fisherman": "渔夫 漁師 漁民 صياد balıkçı ψαράς",
    "farmer": "农民 農民 農家 فلاح çiftçi αγρότης",
    "baker": "面包师 パン職人 خباز fırıncı φούρναρης",
    "composer": "作曲家 ملحن besteci συνθέτης",
    "chemist": "化学家 化学者 kimyager χημικός",
    "physicist": "物理学家 物理学者 fizikçi φυσικός",
    "historian": "历史学家 歴史家 مؤرخ tarihçi ιστορικός",
    "philosopher": "哲学家 哲学者 فيلسوف filozof φιλόσοφος",
    "journalist": "记者 記者 صحفي gazeteci δημοσιογράφος",
    "merchant": "商人 تاجر tüccar έμπορος",
    "soldier": "士兵 兵士 جندي asker στρατιώτης",
    "priest": "神父 司祭 كاهن ιερέας",
    "barber": "理发师 理髪師 حلاق berber κουρέας",
    "footballer": "足球运动员 サッカー選手 لاعب كرة futbolcu ποδοσφαιριστής",
    "judge": "法官 裁判官 قاض hakim δικαστής",
    "nurse": "护士 看護師 ممرض hemşire νοσοκόμα",
    "minister": "部长 大臣 وزير bakan υπουργός",
    "politician": "政治家 سياسي politikacı πολιτικός",
}
OCCUPATION_IN_CLAUSE = {word: english for english, words in _IN_CLAUSES.items() for word in words.split()}
"""English words for occupations in languages that write words together or inflect them."""

_OFFICE_NOUNS = """
chairman chairwoman director president mayor councillor alderman secretary treasurer magistrate coroner minister
senator principal governor officer student author writer scholar critic observer politician widow founder executor
"""
OFFICES = frozenset(_OFFICE_NOUNS.split())
"""Occupations that people hold beside a trade or in succession."""

_PERSON_VERBS = """
say tell ask answer reply cry whisper exclaim think believe know remember feel want wish hope love hate marry
laugh smile weep write teach study graduate born die sing act inquire observe return remark suppose declare sigh
speak talk walk
"""
PERSON_VERBS = frozenset(_PERSON_VERBS.split())
"""Lemmas whose subject is usually a person."""

_MEN = """
john william james george charles thomas henry robert joseph edward samuel david richard peter paul michael daniel
andrew alexander frank albert walter arthur fred frederick harry louis ernest alfred francis benjamin jacob stephen
philip martin patrick hugh simon mark matthew luke anthony edmund edwin ralph roger stanley harold herbert leonard
lewis lawrence ebenezer jack tom bob bill jim joe ben sam will tim nathaniel jonathan oliver oscar victor
karl carl otto hans johann friedrich wilhelm heinrich ludwig lars nils olaf olav erik eric sven knut pierre jean jacques
henri georges andre antoine juan jose carlos pedro luis miguel antonio giovanni giuseppe marco paolo ivan boris
dmitri nikolai vladimir mikhail sergei muhammad mohammed ahmed ali hassan omar abdul ibrahim kevin brian gary steven
jeffrey timothy jason ryan scott eliot elliot gregory dennis douglas kenneth ronald donald gerald raymond bruce
barry ian neil nigel graham trevor keith colin duncan alan allan allen
"""
_WOMEN = """
mary anna ann anne elizabeth margaret sarah jane emma alice florence annie edith ellen catherine katherine martha
emily charlotte louisa harriet helen clara ada eleanor maria isabella caroline lucy rose grace agnes ruth ethel
dorothy frances esther rachel rebecca hannah susan julia laura virginia victoria josephine amelia sophia sophie
olivia isabel belle fanny nora eliza matilda lydia rosa ida marie claire louise jeanne ingrid astrid sigrid karin
karen kirsten inger greta gretchen helga hilda hedda ursula elsa elena olga natasha tatiana irina svetlana lucia
carmen isabelle francesca giulia fatima aisha leila margot margery marjorie joan joanna jennifer jessica linda
barbara patricia nancy betty sandra deborah diana janet bette marian marion beatrice bertha winifred constance
judith miriam naomi abigail penelope phoebe rosalind sylvia theresa vera violet vivian
"""
MEN = frozenset(_MEN.split())
"""Given names of men."""
WOMEN = frozenset(_WOMEN.split())
"""Given names of women."""
_FURTHER_GIVEN_NAMES = """
aaron abdullah abraham adam adrian agnieszka aidan akiko akira alejandro aleksander alessandro alex alexandra alexei
alexis alfonso alfredo alicia alison alistair alyssa amanda amber amir amy ana anders andrea andrei angela angelina
angus anika anita anja annabel annette annika anton antonia antonio archie arjun armando arnold arturo ashley ashok
astrid audrey ava becky bella ben benedict bernadette bernard bernie beth bethany bettina bianca bill billy bjorn
blake bobby brad bradley brandon brenda brendan brent brett bridget britney brittany bryan bryce caitlin caleb calvin
cameron camilla camille candice carina carla carlo carlos carol carolyn carrie casey cassandra cathy cecilia cedric
chad charlene charlie chloe chris christa christian christina christine christoph christopher cindy claudia claudio
clement clinton clive cody connor conor corinne courtney craig cristina curtis cynthia cyrus damian damon dana
danielle danny daphne darren dave dawn debbie debra declan deepak deirdre denise derek diego dimitri dina dirk dmitry
dominic dominik donna doris doug doyle drew dwayne dylan eamonn eddie edgar eduard eduardo eileen elaine eli elias
elijah elise eliza elliott elon emilio emmanuel enrique erica erika ernst esteban ethan eugene eugenia eva evan evelyn
fabian felicity felipe felix ferdinand fernando filip finn fiona francesco francois freddie frederic frederik fritz
gabriel gabriela gabrielle gareth gavin gemma geoff geoffrey georgina gerard gerhard gianluca gina giorgio glen glenn
gloria gordon greg gunnar gustav gustavo guy gwen hamza hank hanna hannes haruki hassan hector heidi hendrik herman
hiroko hiroshi holly howard hugo humphrey hussein ida ignacio igor ingmar iris isaac ismail ivana ivy jacqueline jade
jaime jamal jamie jan jana janice jared jasmine javier jay jeanette jeff jen jenna jenny jeremy jerome jerry jess
jessie jill jimmy joachim joao joaquin jochen joel joey johan johannes johnny jon jonas jonathon jorge josef joseph
joshua juanita judy julian juliana julie julien juliet jurgen justin justine kai kamala kara kareem karim karina kate
katharina kathleen kathryn kathy katie katrin kayla keiko keira kelly kelsey ken kenji kerry kim kiran klaus konrad
konstantin kristen kristin kristina kurt kyle lara larry lauren laurent leah lee lena leo leon leonardo leroy leslie
lev liam lily lindsay lindsey lisa liz lorenzo loretta lorraine lottie luca lucas lucia luciano lucinda luisa lukas
luther lynn mackenzie madeleine magnus malcolm mandy manfred manuel manuela marcel marcello marco marcos marcus
margaux mariana marilyn marina mario marisa marius marlene marta martina marvin mathias matilde mats matt matteo
matthias maureen maurice mauricio max maxim maxime maximilian maya megan melanie melinda melissa mercedes mia michaela
michel michele michelle miguel mikael mike mikhail milan mildred miles milos mira miranda mitch mitchell moira molly
mona monica monika moritz morten muriel mustafa myra nadia naoko natalia natalie nathan neha nelly neville nicholas
nick nicola nicolas nicole nigella nikita nikolaus nina noah noel noelle novak octavia oleg olena oliver olivier omar
orlando oskar otis owen pablo paige pam pamela pat patricio patty paula pauline pavel payal pedro peggy percy pete
philipp philippe pia pierre piotr priya rachael rafael raj rajesh ramon randall randy raoul raphael raquel raul ravi
ray reginald reinhard rekha renata rene reza rhys ricardo riccardo rick ricky rita rob roberta roberto robin rocco rod
roderick rodrigo roland rolf roman romy ron ronan ronnie rory rosalie rosemary ross rowan roxanne roy ruben rudolf
rufus rupert ruslan russell ryder sabine sabrina sadie said salma salvatore samantha sami sandeep sandro sanjay
santiago sara sasha satya saul sean sebastian selma sergio seth shane shannon sharon shaun sheila shelley sherry
shirley sidney siegfried sigmund silvia simone sofia sonia sonja sophia spencer stacey stan stefan stefano stella sten
stephan stephanie steve stuart sue sundar sunita suresh susanne suzanne svend svetlana tamara tania tanya tara tariq
ted teresa terry tessa thabo thea theo theodor theodore thierry thorsten tiffany tilda tina tobias toby todd tomas
tommy toni tony tracey tracy travis trent trevor tristan troy tyler ulrich ulrike uma umberto ursula uwe vaclav
valentina valerie vanessa venkat vera veronica viktor vince vincent vincenzo vivek wade wanda wayne wendy werner
wesley willa willem wolfgang xavier yael yann yasmin yolanda yuki yuri yusuf yvette yvonne zach zachary zara zelda zoe
"""
GIVEN_NAMES = MEN | WOMEN | frozenset(_FURTHER_GIVEN_NAMES.split())
"""Given names of people, but for those that are better known as something else."""

_NICKNAMES = {
    "abigail": "abby gail", "alexander": "alex alec sandy sasha sascha", "alexandra": "alex sandra sasha",
    "alfred": "alf alfie", "andrew": "andy drew", "anthony": "tony", "arthur": "art", "barbara": "barb babs",
    "benjamin": "ben benny", "catherine": "kate cathy kitty", "katherine": "kate kathy kitty katie",
    "charles": "charlie chuck", "christopher": "chris kit", "christine": "chris tina", "daniel": "dan danny",
    "david": "dave", "deborah": "debbie", "dmitri": "dima", "dorothy": "dot dolly", "edward": "ed eddie ted ned",
    "eleanor": "nell nellie ellie nora", "elizabeth": "liz lizzie beth betty bess eliza lisa", "emily": "em",
    "florence": "flo florrie", "francisco": "paco pancho", "francis": "frank", "frederick": "fred freddie",
    "friedrich": "fritz", "gabriel": "gabe", "giuseppe": "beppe", "harold": "harry", "henry": "harry hank",
    "isabella": "bella", "jacob": "jake", "james": "jim jimmy jamie", "jennifer": "jen jenny", "jeremy": "jerry",
    "johannes": "hans", "john": "jack johnny jon", "jonathan": "jon jonny", "joseph": "joe joey", "josé": "pepe",
    "jose": "pepe", "judith": "judy", "kenneth": "ken kenny", "lawrence": "larry", "lillian": "lil lily lilly",
    "lilian": "lil lily lilly", "leonard": "len leo",
    "margaret": "maggie meg peggy greta", "martha": "patty", "mary": "polly molly", "matthew": "matt",
    "michael": "mike mick", "mikhail": "misha", "nicholas": "nick", "nikolai": "kolya", "patricia": "pat patty tricia",
    "patrick": "pat paddy", "peter": "pete", "philip": "phil", "rebecca": "becky", "richard": "dick rick richie",
    "robert": "bob rob robbie bobby bert", "ronald": "ron", "samuel": "sam", "sarah": "sally", "stephen": "steve",
    "steven": "steve", "susan": "sue susie", "theodore": "ted theo", "theresa": "tess", "thomas": "tom tommy",
    "timothy": "tim", "victoria": "vicky", "vladimir": "volodya vova", "walter": "walt", "wilhelm": "willi",
    "william": "bill will billy willy liam", "ivan": "vanya", "yevgeny": "zhenya", "manuel": "manolo", "luis": "lucho",
}  # fmt: skip
_ABBREVIATED_NAMES = {
    "alexr": "alexander", "chas": "charles", "danl": "daniel", "edwd": "edward", "fredk": "frederick", "jas": "james",
    "jno": "john", "nathl": "nathaniel", "richd": "richard", "robt": "robert", "saml": "samuel", "thos": "thomas",
    "wm": "william",
}  # fmt: skip
"""Given names as registers and minutes abbreviate them, other than by their beginning."""
FULL_NAMES: dict[str, tuple[str, ...]] = {
    short: tuple(sorted(full for full, others in _NICKNAMES.items() if short in others.split()))
    for short in {word for words in _NICKNAMES.values() for word in words.split()}
} | {short: (full,) for short, full in _ABBREVIATED_NAMES.items()}
"""Given names that a nickname or an abbreviation stands for."""

_FAMILIES = {
    "forces": "captain capt lieutenant lieut lt sergeant sgt corporal colonel col major maj general gen admiral adm "
    "commander cmdr commodore private brigadier marshal",
    "church": "reverend rev pastor bishop archbishop cardinal pope rabbi imam",
}
TITLE_FAMILY = {title: family for family, titles in _FAMILIES.items() for title in titles.split()}
"""Titles by profession; one person rarely has titles of two professions."""

_COMPANY = "inc ltd limited corp corporation co llc plc gmbh ag sa bv oy ab as"
_COMPANY_ELSEWHERE = (
    "incorporated llp pty pte bhd kg kgaa ohg ug ev sarl sas sasu eurl snc srl sapa slu vof ltda eireli aps oyj kk gk "
    "sro kft zrt nyrt doo eood ood ооо оао пао зао ао αε επε şti aş"
)
_COMPANY_DOTTED = "spa sl slne nv cv se sca eg asa lp dd cf fc oe lda"
_GROUPS = "messrs aldermen captains misses councillors brothers sisters"
GROUP_TITLES = frozenset(_GROUPS.split())
"""Words before the names of several people."""

COMPANY_FORMS = frozenset(_COMPANY.split())
"""Legal forms at the end of a company name."""
ALL_COMPANY_FORMS = COMPANY_FORMS | frozenset(_COMPANY_ELSEWHERE.split())
"""Also those of other countries; without full stops."""
DOTTED_COMPANY_FORMS = frozenset(_COMPANY_DOTTED.split())
"""Legal forms and forms of clubs that are words without their full stops (``S.p.A.``, ``C. F.``)."""
