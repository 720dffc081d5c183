import pytest
import snowballstemmer
import stopwordsiso

from cordwood.exceptions import CordwoodError
from cordwood.text.languages import LANGUAGES, check_language, detect_language, sample_texts

# "We do not know where they are, because nobody has seen them", with some variation.
SENTENCES = {
    "ar": "نحن لا نعرف أين هم الآن، لأن أحدا لم يرهم في هذا اليوم",
    "bg": "Ние не знаем къде са те, защото никой не ги е виждал днес",
    "cs": "Nevíme, kde jsou, protože je dnes ještě nikdo neviděl a nikdo o nich nic neví",
    "da": "Vi ved ikke, hvor de er nu, fordi ingen har set dem i dag, og det er ikke godt",
    "de": "Wir wissen nicht, wo sie sind, weil niemand sie heute gesehen hat",
    "el": "Δεν ξέρουμε πού είναι, γιατί κανείς δεν τους έχει δει σήμερα",
    "en": "We do not know where they are, because nobody has seen them today",
    "es": "No sabemos dónde están ahora, porque nadie los ha visto en todo el día",
    "fa": "ما نمی\u200cدانیم که آنها کجا هستند، چون هیچ کس امروز آنها را ندیده است",
    "fi": "Emme tiedä missä he ovat, koska kukaan ei ole nähnyt heitä tänään",
    "fr": "Nous ne savons pas où ils sont, parce que personne ne les a vus aujourd'hui",
    "he": "אנחנו לא יודעים איפה הם עכשיו, כי אף אחד לא ראה אותם היום",
    "hi": "हम नहीं जानते कि वे कहाँ हैं, क्योंकि आज किसी ने उन्हें नहीं देखा है",
    "hu": "Nem tudjuk, hogy hol vannak, mert ma még senki sem látta őket",
    "it": "Non sappiamo dove sono, perché oggi nessuno li ha visti da queste parti",
    "ja": "今日は誰も見ていないので、彼らがどこにいるのかわかりません",
    "ko": "오늘 아무도 보지 못했기 때문에 그들이 어디에 있는지 모릅니다",
    "nl": "Wij weten niet waar zij zijn, omdat niemand hen vandaag heeft gezien",
    "pl": "Nie wiemy, gdzie oni są, ponieważ nikt ich dzisiaj nie widział",
    "pt": "Nós não sabemos onde eles estão, porque ninguém os viu durante o dia",
    "ro": "Noi nu știm unde sunt ei acum, pentru că nimeni nu i-a văzut astăzi",
    "ru": "Мы не знаем, где они сейчас, потому что их сегодня никто не видел",
    "sv": "Vi vet inte var de är, eftersom ingen har sett dem under hela dagen",
    "ta": "அவர்கள் எங்கே இருக்கிறார்கள் என்று எங்களுக்குத் தெரியாது",
    "th": "เราไม่รู้ว่าพวกเขาอยู่ที่ไหน เพราะวันนี้ไม่มีใครเห็นพวกเขา",
    "tr": "Nerede olduklarını bilmiyoruz, çünkü bugün onları hiç kimse görmedi ve bu çok kötü",
    "uk": "Ми не знаємо, де вони зараз, тому що їх сьогодні ніхто не бачив",
    "vi": "Chúng tôi không biết họ đang ở đâu, vì hôm nay không ai nhìn thấy họ",
    "zh": "我们不知道他们现在在哪里，因为今天没有人见过他们",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_detection(code):
    assert detect_language([SENTENCES[code]]) == code


def test_mixed_languages_by_frequency():
    texts = [SENTENCES["fr"]] * 30 + [SENTENCES["de"]] * 50 + [SENTENCES["zh"]] * 20
    assert detect_language(texts) == "de+fr+zh"
    assert detect_language([*texts, *[SENTENCES["ru"]] * 10]) == "de+fr"


def test_no_language():
    assert detect_language([]) is None
    assert detect_language(["", "1234 5678", "xqzzy flurbl", "word word word"]) is None


def test_detection_examines_a_bounded_part_of_the_texts():
    assert detect_language([SENTENCES["de"] * 20 + SENTENCES["fr"] * 1_000] * 3) == "de"
    assert len(sample_texts(["x" * 2_000] * 12_345)) <= 200


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
