"""Names of one thing in several forms, languages and scripts, and namesakes that are two, on rows of a model."""

import pytest

from tests.unit.extract.resolution.resolved_rows import resolved, same


def are_one(first: str, second: str, type_: str, shared: str = "") -> bool:
    """Return whether two names of two documents merge, with a name beside both or without."""
    rows = [("a", first, type_, "Is named."), ("b", second, type_, "Was seen.")]
    rows += [(d, shared, "place", "Lies there.") for d in "ab" if shared]
    return same(resolved(rows), ("a", first), ("b", second))


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("Gerätebau Nolte GmbH & Co. KG", "Gerätebau Nolte", "organization"),
        ("Aceros Vidal, S. L.", "Aceros Vidal", "organization"),
        ("株式会社ミナト", "ミナト", "organization"),
        ("Турбина ООО", "Турбина", "organization"),
        ("Maître Odile Brun", "Odile Brun", "person"),
        ("Д-р Ольга Белова", "Ольга Белова", "person"),
        ("Νίκος Μαυρίδης", "Nikos Mavridis", "person"),
        ("الرياض", "Riyadh", "place"),
        ("Αθήνα", "Athens", "place"),
        ("東京", "Tokyo", "place"),
        ("Ливия", "ليبيا", "place"),
        ("سمير منصور", "Samir Mansour", "person"),
        ("Beyşehir", "Beyshehir", "place"),
        ("Пётр Лебедев", "Peter Lebedev", "person"),
        ("Apollo V", "Apollo 5", "vehicle"),
        ("Grand Regatta of 1931", "1931 Grand Regatta", "event"),
        ("Quartett Nr. 2", "2. Quartett", "work"),
    ],
)
def test_forms_that_leave_no_doubt_merge_without_a_common_name(first, second, type_):
    assert are_one(first, second, type_)


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("Lake Orrin", "Orrin", "place"),
        ("Hotel Mirador", "Mirador", "place"),
        ("Vesper Microsystems", "Vesper", "organization"),
        ("Atlético Robledo", "Robledo", "organization"),
        ("Ministry of Fisheries", "Fisheries Ministry", "organization"),
        ("Ada Bloom Space Telescope", "Bloom Telescope", "object"),
        ("Institut für Botanik", "Institute for Botany", "organization"),
        ("Khalid Darwish", "Khaled Darwish", "person"),
        ("Jakob Aebersold", "James Aebersold", "person"),
        ("Wil Tarrant", "Wilbur Tarrant", "person"),
        ("Rolf Maier", "Rolf Mayer", "person"),
    ],
)
def test_forms_that_leave_doubt_merge_with_a_common_name_only(first, second, type_):
    assert are_one(first, second, type_, shared="Kelsby")
    assert not are_one(first, second, type_)


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("London Zoo", "London", "organization"),
        ("Single LP", "Single", "work"),
        ("11 January", "1 January", "event"),
        ("Samuel Taylor Coleridge", "Samuel Coleridge Taylor", ""),
        ("fever type A", "fever type B", "disease"),
        ("Tomato", "Tomato Inc.", ""),
        ("Ministry of Trade and War", "Ministry of War", "organization"),
    ],
)
def test_names_that_only_look_like_forms_of_one_do_not_merge(first, second, type_):
    if first == "Tomato":
        rows = [("a", first, "food", "Red."), ("b", second, "organization", "Sells telephones.")]
        assert not same(resolved(rows), ("a", first), ("b", second))
    else:
        assert not are_one(first, second, type_)


@pytest.mark.parametrize(
    ("name", "type_", "first", "second"),
    [
        ("Rangers", "organization", "Football club.", "Ice hockey team."),
        ("Nightfall", "work", "Song of four minutes.", "Album with nine tracks."),
        ("Ceres", "", "", ""),
        ("HMS Petrel", "ship", "Sloop sunk off Crete in 1941.", "Warship sunk in the Channel in 1917."),
        ("Petrel", "ship", "Schooner from Deal.", "Submarine with a crew of forty."),
        ("Union Works", "organization", "Founded in 1871.", "Founded in 1960."),
        ("Meridian", "organization", "Bank that lends to farms.", "Airline with nine aircraft."),
        ("Aurora", "place", "Hall that seats nine hundred.", "Temple on a hill."),
        ("Battle of Lune", "event", "Battle of 1461.", "Battle won by the Scots in 1714."),
        ("Ministry of Health", "organization", "Ministry of Fiji.", "Ministry of Kenya."),
        ("Karim Said", "person", "Goalkeeper of the national team.", "Chef with two restaurants."),
        ("李明", "person", "医生,在医院工作。", "画家。"),
        ("Ash", "person", "", ""),
    ],
)
def test_descriptions_part_namesakes_of_different_contexts(name, type_, first, second):
    rows = [("a", name, type_, first), ("b", name, type_, second)]
    if name == "Ash":
        rows = [("a", "Dr. Ash", type_, "Examined the body."), ("b", "Mr. Ash", type_, "Took room nine.")]
    if name == "Ceres":
        rows = [("a", name, "planet", "Small."), ("b", name, "language", "Spoken by few.")]
    if name == "Ministry of Health":
        rows += [("a", "Fiji", "place", "Islands."), ("b", "Kenya", "place", "A country.")]
    found = resolved(rows)
    assert not same(found, rows[0][:2], rows[1][:2])


def test_a_general_class_does_not_part_from_a_finer_one():
    rows = [
        ("a", "Meridian", "organization", "Bank that lends to farms."),
        ("b", "Meridian", "organization", "Company that paid no dividend."),
    ]
    assert same(resolved(rows), ("a", "Meridian"), ("b", "Meridian"))


def test_an_office_alone_does_not_make_a_surname_that_of_a_stranger():
    rows = [
        ("a", "Captain Cook", "person", "Brought seeds to Tasmania."),
        ("b", "Tim Cook", "person", "Spoke for the computer maker."),
        ("c", "Cook", "person", "Chief of the computer maker."),
    ]
    found = resolved(rows)
    assert not same(found, ("a", "Captain Cook"), ("b", "Tim Cook"))
    assert same(found, ("c", "Cook"), ("b", "Tim Cook"))


def test_a_place_and_the_region_that_holds_it_do_not_part():
    rows = [("a", "Kelsby", "place", "Town in Bavaria."), ("b", "Kelsby", "place", "Town in Germany.")]
    assert same(resolved(rows), ("a", "Kelsby"), ("b", "Kelsby"))


@pytest.mark.parametrize(
    ("short", "long", "other"),
    [
        ("Sir Rollo", "Rollo Hart", "Edna Rollo"),
        ("Princess Ida", "Ida Hart", "Tom Ida"),
        ("Robledo", "Inés Robledo Cano", "Ana Cano"),
        ("王先生", "王建国", "李建国"),
    ],
)
def test_a_single_name_is_a_given_name_or_a_surname_as_its_form_says(short, long, other):
    rows = [
        ("a", long, "person", "Lived in Kelsby."),
        ("b", short, "person", "Left Kelsby."),
        ("c", other, "person", "Was elsewhere."),
        *((d, "Kelsby", "place", "A town.") for d in "ab"),
    ]
    found = resolved(rows)
    assert same(found, ("b", short), ("a", long))
    assert not same(found, ("b", short), ("c", other))


def test_a_second_surname_may_be_left_out_where_both_have_something_in_common():
    assert are_one("Inés Robledo", "Inés Robledo Cano", "person", shared="Kelsby")
    assert not are_one("Inés Robledo", "Inés Robledo Cano", "person")


def test_the_sister_of_an_inspector_is_not_the_inspector():
    rows = [
        ("a", "Inspector Wray", "person", "Saw through it."),
        ("b", "Julia Wray", "person", "Sister of the inspector, kept bees."),
    ]
    assert not same(resolved(rows), ("a", "Inspector Wray"), ("b", "Julia Wray"))


def test_names_that_came_together_are_evidence_for_others():
    rows = [
        ("a", "Tarnwick Parish Council", "organization", "Closed the baths."),
        ("a", "Irene Duff", "person", "Abstained."),
        ("b", "Parish Council", "organization", "Has no money."),
        ("b", "Tarnwick", "place", "A town."),
        ("b", "Mayor Duff", "person", "Gave her salary."),
        ("c", "Joan Duff", "person", "Cut the ribbon."),
    ]
    found = resolved(rows)
    assert same(found, ("b", "Mayor Duff"), ("a", "Irene Duff"))


def test_a_place_before_a_name_chooses_among_several():
    rows = [
        ("a", "Tarnwick Parish Council", "organization", "Closed the baths."),
        ("b", "Parish Council", "organization", "Has no money."),
        ("b", "Tarnwick", "place", "A town."),
        ("c", "Ashby Parish Council", "organization", "Mended a bridge."),
    ]
    found = resolved(rows)
    assert same(found, ("b", "Parish Council"), ("a", "Tarnwick Parish Council"))
    assert not same(found, ("b", "Parish Council"), ("c", "Ashby Parish Council"))


def test_entities_that_share_a_name_are_not_merged_by_a_third_name():
    rows = [
        ("a", "Ministry of Health", "organization", "Ministry of Kenya."),
        ("a", "Kenya", "place", "A country."),
        ("b", "Ministry of Health", "organization", "Ministry of Fiji."),
        ("b", "Fiji", "place", "Islands."),
        ("c", "Health Ministry", "organization", "Ministry in Kenya."),
        ("c", "Kenya", "place", "A country."),
    ]
    found = resolved(rows)
    assert same(found, ("c", "Health Ministry"), ("a", "Ministry of Health"))
    assert not same(found, ("a", "Ministry of Health"), ("b", "Ministry of Health"))


def test_numbers_after_a_name_are_the_elder_and_the_younger():
    rows = [
        ("a", "Josef Rahn I", "person", "Wrote a march."),
        ("a", "Josef Rahn II", "person", "Wrote a waltz."),
        ("b", "Josef Rahn the Younger", "person", "Was applauded."),
        ("c", "elder Rahn", "person", "Died."),
    ]
    found = resolved(rows)
    assert same(found, ("b", "Josef Rahn the Younger"), ("a", "Josef Rahn II"))
    assert same(found, ("c", "elder Rahn"), ("a", "Josef Rahn I"))
    assert not same(found, ("a", "Josef Rahn I"), ("a", "Josef Rahn II"))


def test_makers_under_a_short_and_a_long_name_do_not_part_their_work():
    rows = [
        ("a", "Tern March", "work", "A march."),
        ("a", "Josef Rahn", "person", "Composer."),
        ("b", "Tern March", "work", "Was played."),
        ("b", "Rahn", "person", "Wrote it."),
    ]
    relations = [("a", "Josef Rahn", "wrote", "Tern March"), ("b", "Rahn", "wrote", "Tern March")]
    assert same(resolved(rows, *relations), ("a", "Tern March"), ("b", "Tern March"))


@pytest.mark.parametrize(
    ("predicate", "equates"),
    [
        ("is known in China as", True),
        ("is sold as", True),
        ("is marketed in America as", True),
        ("performed as", False),
        ("known for work as", False),
    ],
)
def test_predicates_that_name_a_country_equate(predicate, equates):
    rows = [("a", "Sertral", "product", "A drug."), ("a", "Moodex", "product", "A drug.")]
    assert (
        same(resolved(rows, ("a", "Sertral", predicate, "Moodex")), ("a", "Sertral"), ("a", "Moodex"))
        == equates
    )


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("Oberlandesgericht Celle", "OLG Celle", "organization"),
        ("Mica 3", "Mica 3.0", "software"),
        ("J.-B. Mercier", "Jean-Baptiste Mercier", "person"),
        ("박지훈", "Park Ji-hoon", "person"),
        ("Ναύπλιο", "Nafplio", "place"),
        ("北京大学", "Peking University", "organization"),
        ("Weltgesundheitsorganisation", "World Health Organization", "organization"),
    ],
)
def test_abbreviated_words_and_forms_of_other_languages_merge(first, second, type_):
    assert are_one(first, second, type_)


def test_a_word_abbreviated_by_its_number_of_letters_needs_a_common_name():
    assert are_one("Kubernetes", "k8s", "software", "Harbourmaster")
    assert not are_one("Kubernetes", "k8s", "software")
    assert not are_one("Kubernetes", "k9s", "software", "Harbourmaster")


@pytest.mark.parametrize(
    ("short", "long", "type_"),
    [
        ("Bloom Railway", "Friends of the Bloom Railway", "organization"),
        ("upper station", "shed of the upper station", "place"),
    ],
)
def test_what_is_named_after_a_thing_is_another_thing(short, long, type_):
    assert not are_one(short, long, type_, shared="Kelsby")
