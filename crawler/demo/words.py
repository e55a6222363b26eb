"""Words of the demo web: names of sites, and vocabularies of pages."""

from __future__ import annotations

from dataclasses import dataclass


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SITE_HEADS = _words(
    "oak elm ash birch maple cedar river lake stone hill moor glen marsh wind sun moon star silver golden iron amber "
    "north south east west high low long deep green blue red white grey clear bright still old new kings"
)
SITE_TAILS = _words("field ford ton brook wood bridge gate view ridge dale port mill haven side crest land vale water well cross")
HOST_LABELS = _words("docs blog shop news wiki forum help media archive lab store events people jobs status")

COMMON = _words(
    "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all "
    "her she there would their we him been has when who will no more if out so up said what its about than into them can only other time "
    "new some could these two may first then do any like my now over such our man me even most made after also did many off before must "
    "well back through years where much your way down should because long each just state those people too mr how little good world make "
    "very year still see own work men day get here old life both between being under three never know same last another while us might "
    "great go come since against right came take used himself few house use place during high without again home around small however found"
)


@dataclass(frozen=True, slots=True)
class DemoVocabulary:
    """A subject in one language: its words, and the charsets that pages in it are written in."""

    words: tuple[str, ...]
    common: tuple[str, ...]
    charsets: tuple[str, ...] = ("utf-8",)
    lang: str = "en"


def _subject(words: str) -> DemoVocabulary:
    return DemoVocabulary(_words(words), COMMON)


def _foreign(lang: str, words: str, common: str, *charsets: str) -> DemoVocabulary:
    return DemoVocabulary(_words(words), _words(common), charsets, lang)


SUBJECTS = (
    _subject(
        "garden soil seed compost tomato pruning harvest perennial greenhouse mulch shrub orchard blossom irrigation fertiliser nursery "
        "frost lavender hedge lawn root bulb cutting trellis weed pollinator rose cabbage bean squash"
    ),
    _subject(
        "server network packet latency kernel compiler thread cache database query schema index protocol socket process memory driver "
        "release patch module interface library package version deployment cluster storage backup monitor test"
    ),
    _subject(
        "recipe butter flour oven sauce garlic onion pepper roast simmer dough yeast bread pastry cream sugar vanilla lemon basil stew "
        "broth grill marinade knife skillet breakfast dessert flavour kitchen serving"
    ),
    _subject(
        "council budget election committee mayor district policy housing transport hospital school planning vote resident minister "
        "parliament reform tax law court hearing report inquiry statement campaign candidate borough survey grant authority"
    ),
    _subject(
        "match season league goal keeper coach transfer stadium referee training injury captain defender tournament final penalty squad "
        "champion fixture draw victory score midfield supporter club manager contract medal race record"
    ),
    _subject(
        "mountain trail summit valley hostel ferry harbour museum castle cathedral island beach itinerary passport railway ticket luggage "
        "village market guide tour coast lighthouse viewpoint campsite hike map cabin journey season"
    ),
    _subject(
        "painting sculpture gallery exhibition canvas portrait artist curator collection archive manuscript poem novel author publisher "
        "theatre orchestra concert symphony opera stage actor premiere festival critic essay chapter edition library review"
    ),
    _subject(
        "galaxy telescope orbit planet comet spectrum particle energy experiment laboratory hypothesis measurement theory molecule enzyme "
        "protein cell genome species habitat climate glacier sediment fossil isotope crystal reaction sample survey journal"
    ),
    _subject(
        "bicycle engine brake gear wheel tyre battery charger motor chassis workshop mechanic repair torque bearing chain saddle frame "
        "suspension exhaust fuel mileage garage warranty model dealer test pedal helmet route"
    ),
    _subject(
        "loan interest mortgage pension saving account dividend portfolio share bond inflation currency insurance premium broker fee "
        "invoice audit revenue profit margin budget quarter forecast asset liability tax credit fund trust"
    ),
)
FOREIGN_VOCABULARIES = (
    _foreign(
        "fr",
        "forêt rivière château église théâtre musée lumière été hiver février août élève école fenêtre bibliothèque goût crème pâte "
        "légume marché village hôtel trésor siècle frère mère étoile île côte façade",
        "le la les de des du un une et à en que qui dans pour pas sur avec plus par ce mais où très être après aussi même été déjà sans",
        "iso-8859-1",
        "utf-8",
    ),
    _foreign(
        "de",
        "Straße Brücke Schloß Käse Bäckerei Küche Gemüse Frühling Müller Fluß Wälder Höhe Größe Zürich Länder Bücher Künstler Gärten "
        "Öffnung Übung Ärzte Möbel Prüfung Verkäufer Geschäft Rathäuser Bahnhöfe Dörfer Städte Vögel",
        "der die das und in zu den ist von mit für auf nicht ein eine als auch es an werden aus er hat daß sie nach bei über wäre können",
        "utf-8",
        "iso-8859-1",
    ),
    _foreign(
        "ru",
        "город река улица школа музей театр книга автор история народ земля погода ветер снег лето осень зима весна дорога поезд "
        "вокзал рынок хлеб молоко дом окно сад лес поле озеро",
        "и в не на что он я с как это по но они мы все она так его от из за бы о же для до при уже когда только если или",
        "windows-1251",
        "utf-8",
    ),
    _foreign(
        "ja",
        "東京 大阪 京都 神社 図書館 学校 電車 新聞 料理 天気 季節 桜 紅葉 温泉 旅行 歴史 文化 音楽 映画 小説 市場 漁港 山道 "
        "海岸 公園 博物館 美術館 駅前 商店街 祭り",
        "これは それは とても 私たちの その この ここで そして また もっと 今日は 昨日 明日 です ました でした ながら ために について",
        "shift_jis",
        "utf-8",
    ),
)
