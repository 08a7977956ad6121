"""Given names that are one name in several languages."""

from functools import lru_cache

from polygraph.extract.resolution.names.romanize import sounds

_GROUPS = """
adam adán adamo| alexander alexandre alejandro alessandro aleksandr aleksander александр αλέξανδρος iskender
alexandros alexei alexey alexis alexius alejo алексей| ambrose ambroise ambrosio| andrew andreas andré andrés andrea
andrei andrey андрей ανδρέας| anna anne ana ann анна άννα| anthony antonius antoine antonio anton антон αντώνης|
arthur arturo artur| augustine augustin agustín agostino| basil basilius basile vasily василий βασίλης vassilis
vasili| benedict benedikt benoît benito benedetto| bernard bernhard bernardo| catherine katharina catalina caterina
ekaterina yekaterina екатерина αικατερίνη katarina| charles karl carl carlos carlo karel karol карл κάρολος|
christopher christoph christophe cristóbal cristoforo christoffer| claude claudius claudio| constantine konstantin
constantin costantino константин κωνσταντίνος konstantinos| cyril kyrill cyrille кирилл| daniel daniele даниил
δανιήλ| david davide давид δαυίδ| dionysius denis dionisio| edward eduard édouard eduardo edoardo edvard эдуард|
elias elijah ilya élie elia илья ηλίας ilia| elizabeth elisabeth élisabeth isabel elisabetta yelizaveta елизавета
ελισάβετ| emil émile emilio эмиль| eugene eugen eugène eugenio yevgeny evgeny евгений ευγένιος| ferdinand fernando
ferdinando hernando| francis franz françois francisco francesco frans frantz франц φραγκίσκος| frederick friedrich
frédéric federico fredrik frederik fryderyk фридрих| george georg georges jorge giorgio yuri georgy georgi jerzy
jiří георгий юрий γιώργος γεώργιος giorgos georgios| gerard gerhard gérard gerardo gherardo| gregory gregor grégoire
gregorio grigory григорий γρηγόρης| gustav gustave gustavo| helen helena hélène elena yelena елена ελένη eleni|
henry heinrich henri enrique enrico hendrik henrik генрих ερρίκος| hugh hugo hugues ugo| ignatius ignaz ignace
ignacio ignazio| jacob james jakob jacques jaime giacomo jacobus iacobus яков ιάκωβος yakov santiago diego| jerome
hieronymus jérôme jerónimo girolamo| joachim joaquín gioacchino| john johann johannes jean juan giovanni ivan jan
johan joão ioannis ian hans jens иван ιωάννης γιάννης giannis| joseph josef josé giuseppe iosif józef иосиф ιωσήφ
yusuf يوسف yosef| julius jules julio giulio юлий| lawrence lorenz laurent lorenzo laurentius lars| leo lev léon león
leone lew лев λέων leon| leopold léopold leopoldo| louis ludwig luis luigi ludovico lodewijk людвиг λουδοβίκος
ludvig| lucas luke lukas luc luca лука λουκάς| margaret margarete marguerite margarita margherita маргарита
μαργαρίτα margarethe| mark marcus markus marc marcos marco марк μάρκος| martin martín martino мартин| mary maria
marie maría мария μαρία مريم maryam miriam meryem| matthew matthäus matthieu mateo matteo матвей ματθαίος matvey|
matthias mathias matías mattia| maurice moritz mauricio maurizio морис| max maximilian maximilien maximiliano
massimiliano| michael michel miguel michele mikhail michał mikael михаил μιχάλης μιχαήλ mihail| nicholas nikolaus
nicolas nicolás niccolò nikolai nikolay nicola klaus николай νίκος νικόλαος nikos nikolaos| oscar oskar óscar|
patrick patrice patricio| paul pablo paolo pavel paulus pawel pål paulo павел παύλος pavlos| peter petrus pierre
pedro pietro pyotr petr piotr пётр петр πέτρος petros pjotr butros بطرس| philip philipp philippe felipe filippo
филипп φίλιππος philippos| raphael rafael raphaël raffaele| raymond raimund ramón raimondo| robert roberto rupert|
rudolph rudolf rodolphe rodolfo| sebastian sébastien sebastián sebastiano| sergei sergey serge sergio sergius сергей
σέργιος| simon simón simone семён semyon| sophia sophie sofia sofía sofya софья σοφία| stephen stefan stephan
étienne esteban stefano stepan степан στέφανος stephanos| susan susanna suzanne| theodore theodor théodore teodoro
fyodor feodor фёдор федор θεόδωρος fedor| theresa therese thérèse teresa| thomas tomás tommaso tomas фома θωμάς|
timothy timotheus timothée timoteo timofey тимофей| vincent vinzenz vicente vincenzo| walter gautier gualterio
gualtiero| william wilhelm guillaume guillermo guglielmo willem vilhelm вильгельм| abraham ibrahim إبراهيم avraham
abram| solomon suleiman سليمان süleyman salomon salomón| moses musa موسى moisés| jesus isa| muhammad mohammed
mohamed mehmet محمد mahomet| ahmad ahmed ahmet أحمد| hasan hassan حسن| husayn hussein hüseyin حسين
"""
_GROUPS_OF: dict[str, frozenset[int]] = {}
for _number, _group in enumerate(_GROUPS.split("|")):
    for _name in _group.casefold().split():
        for _form in (_name, sounds(_name)):
            _GROUPS_OF[_form] = _GROUPS_OF.get(_form, frozenset()) | {_number}


@lru_cache(maxsize=8_192)
def are_translated(first: str, second: str) -> bool:
    """Return whether two given names in lower case are one name in two languages.

    >>> are_translated("leo", "лев"), are_translated("jakob", "james"), are_translated("leo", "lena")
    (True, True, False)
    """
    ours, theirs = (
        _GROUPS_OF.get(name) or _GROUPS_OF.get(sounds(name), frozenset()) for name in (first, second)
    )
    return first != second and bool(ours & theirs)
