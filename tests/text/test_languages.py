import pytest
import snowballstemmer
import stopwordsiso

from cordwood.exceptions import CordwoodError
from cordwood.text.languages import LANGUAGES, check_language, detect_language

# Article 1 of the Universal Declaration of Human Rights.
ARTICLE = {
    "ar": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل "
    "بعضهم بعضا بروح الإخاء.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und "
    "Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with "
    "reason and conscience and should act towards one another in a spirit of brotherhood.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como "
    "están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
    "fi": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on "
    "annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués "
    "de raison et de conscience et doivent agir les uns envers les autres dans un esprit de "
    "fraternité.",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך "
    "חובה עליהם לנהוג איש ברעהו ברוח של אחווה.",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "hu": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel "
    "és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di "
    "ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd "
    "met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te "
    "gedragen.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni "
    "obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão "
    "e de consciência, devem agir uns para com os outros em espírito de fraternidade.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены "
    "разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    "sv": "Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med förnuft "
    "och samvete och bör handla gentemot varandra i en anda av gemenskap.",
    "th": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana "
    "sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом "
    "і совістю і повинні діяти у відношенні один до одного в дусі братерства.",
    "vi": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền.",
    "zh": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
}


@pytest.mark.parametrize("code", ARTICLE)
def test_detection(code):
    assert detect_language([ARTICLE[code]]) == code


def test_mixed_languages_by_frequency():
    texts = [ARTICLE["fr"]] * 30 + [ARTICLE["de"]] * 50 + [ARTICLE["zh"]] * 20
    assert detect_language(texts) == "de+fr+zh"
    assert detect_language([*texts, *[ARTICLE["ru"]] * 10]) == "de+fr"


def test_no_language():
    assert detect_language([]) is None
    assert detect_language(["", "1234 5678", "xqzzy flurbl", "word word word"]) is None


def test_detection_examines_a_bounded_part_of_the_texts():
    assert detect_language([ARTICLE["de"] + ARTICLE["fr"] * 10_000] * 3) == "de"
    assert detect_language([ARTICLE["de"], ARTICLE["fr"]] * 50_000) is not None


@pytest.mark.parametrize("value", ["", "xx", "de+", "de fr", "DE", 7, ["de"], True])
def test_invalid_language(value):
    with pytest.raises(CordwoodError, match=r"^language must be .*'de\+fr'; got "):
        check_language(value)


def test_name_instead_of_code():
    with pytest.raises(CordwoodError, match="the code of Finnish is 'fi'"):
        check_language("finnish")


def test_every_stemmer_exists():
    stemmers = [language.stemmer for language in LANGUAGES.values() if language.stemmer]
    assert len(stemmers) >= 25
    for stemmer in stemmers:
        assert snowballstemmer.stemmer(stemmer).stemWord("x")


def test_every_stop_word_list_has_a_language():
    assert stopwordsiso.langs() <= LANGUAGES.keys()
