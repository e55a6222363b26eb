"""Plain text of labelled webs, in ten languages: paragraphs of plausible words; each page has rare words that no other has.

Most words are drawn by Zipf's law from the common words of the language and those of the subject. The others are sixteen invented words
that a page repeats, as real pages repeat their names. So two pages of one subject share words but no sentences, and sketches can tell them
apart.

Memory: 40 KB per language and subject. Time: 25 µs per 100 words.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from thresher.crawler.demo.seeded_random import SeededRandom, Word
from thresher.crawler.demo.words import COMMON, FOREIGN_VOCABULARIES, SUBJECTS, DemoVocabulary

_N_TABLE = 4096
_OWN_SHARE = 0.3  # share of a page's words that are invented
_N_OWN = 16  # invented words of a page
_N_COINED = 60_000
_SENTENCE = (7, 16)  # words
_PARAGRAPH = 60  # about so many words
_UNSPACED = ("ja", "zh")


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_MORE = (
    DemoVocabulary(
        _split("casa río montaña escuela mercado camino noche ciudad pan vino verano invierno libro puerto isla torre huerta señal"),
        _split("el la los de que y a en un ser se no haber por con su para como estar tener lo todo pero más hacer o poder este ya muy"),
        lang="es",
    ),
    DemoVocabulary(
        _split("城市 河流 学校 图书馆 市场 火车 天气 历史 音乐 电影 海岸 公园 博物馆 新闻 旅行 山路 渔港 村庄 花园 桥梁"),
        _split("的 了 在 是 我们 他们 这个 那个 有 和 人 不 也 就 都 说 要 去 可以 因为 所以 但是 没有 很多 自己 今天 明天 昨天"),
        lang="zh",
    ),
    DemoVocabulary(
        _split("도시 강 학교 도서관 시장 기차 날씨 역사 음악 영화 해안 공원 박물관 뉴스 여행 산길 항구 마을 정원 다리"),
        _split("그리고 그러나 우리는 그들은 이것은 저것은 있는 하는 없는 많은 오늘은 내일은 어제는 함께 다시 매우 조금 모든 또는 그래서"),
        lang="ko",
    ),
    DemoVocabulary(
        _split("مدينة نهر مدرسة مكتبة سوق قطار طقس تاريخ موسيقى فيلم ساحل حديقة متحف أخبار رحلة طريق ميناء قرية جسر كتاب"),
        _split("في من على إلى عن مع هذا هذه ذلك التي الذي كان كانت قد لم لن ثم أو بعد قبل بين كل غير عند حتى إذا لكن أيضا"),
        lang="ar",
    ),
    DemoVocabulary(
        _split("cidade rio escola biblioteca mercado trem tempo história música praia parque museu viagem porto aldeia jardim ponte"),
        _split("o a os de que e em um para com não uma por mais como mas ao ele das à seu sua ou quando muito nos já eu também só pelo"),
        lang="pt",
    ),
)
_FOREIGN = {vocabulary.lang: vocabulary for vocabulary in (*FOREIGN_VOCABULARIES, *_MORE)}
LANGUAGES = ("en", *_FOREIGN)

_SYLLABLES = {
    "latin": _split(
        "ba be bi bo da de di do fa fe ga go ka ke ko la le li lo ma me mi mo na ne ni no pa pe ra re ri ro sa se ta te to va ve zo"
    ),
    "ru": _split("ба бе би бо да де ди до га го ка ке ки ко ла ле ли ло ма ме ми мо на не ни но па пе ра ре ри ро са се та те то ва зо"),
    "ja": _split("カ キ ク ケ コ サ シ ス セ ソ タ チ ツ テ ト ナ ニ ネ ノ ハ ヒ フ ホ マ ミ ム メ モ ラ リ ル レ ロ ワ"),
    "zh": _split("阿 巴 卡 达 尔 法 加 哈 基 拉 马 纳 帕 里 萨 塔 维 亚 扎 米 洛 诺 波 科 德 托 弗 伦 丹 图"),
    "ko": _split("가 나 다 라 마 바 사 아 자 카 타 파 하 고 노 도 로 모 보 소 오 조 코 토 포 호 기 니 디 리"),
    "ar": _split("با بي بو دا دي دو را ري رو سا سي سو كا كي كو لا لي لو ما مي مو نا ني نو تا تي تو فا في فو"),
}


class DemoText:
    """Text in one language on one subject."""

    def __init__(self, rng: SeededRandom, lang: str, subject: int = 0) -> None:
        """Create the text.

        Args:
            lang: One of LANGUAGES.
            subject: Any number; English has ten, the other languages one.
        """
        vocabulary = SUBJECTS[subject % len(SUBJECTS)] if lang == "en" else _FOREIGN[lang]
        self.lang = lang
        self._rng, self._name = rng, f"{lang}{subject}"
        self._table = _zipf_table(vocabulary.words, COMMON if lang == "en" else vocabulary.common)
        self._space = "" if lang in _UNSPACED else " "
        self._stop = "。" if lang in _UNSPACED else "."

    def words(self, n: int, *page: Word) -> list[str]:
        """Return the first n words of a page, n ≤ 65,536."""
        own = [coined(self.lang, number) for number in self._rng.indexes(_N_OWN, _N_COINED, "coined", self._name, *page)]
        n_options = int(_N_TABLE / (1 - _OWN_SHARE))
        table = self._table
        return [
            table[number] if number < _N_TABLE else own[number % _N_OWN]
            for number in self._rng.indexes(n, n_options, "words", self._name, *page)
        ]

    def title(self, *page: Word) -> str:
        """Return three words of a page, the first and last coined."""
        numbers = self._rng.indexes(3, _N_COINED, "title", self._name, *page)
        middle = self._table[numbers[1] % _N_TABLE]
        return self._space.join((coined(self.lang, numbers[0]).capitalize(), middle, coined(self.lang, numbers[2])))

    def set(self, words: list[str]) -> list[str]:
        """Return words as paragraphs of sentences; the lengths depend only on the number of words."""
        paragraphs, sentences, at, n = [], [], 0, 0
        low, high = _SENTENCE
        while at < len(words):
            length = low + (at * 7 + 3) % (high - low + 1)
            sentence = words[at : at + length]
            sentences.append(self._space.join((sentence[0].capitalize(), *sentence[1:])) + self._stop)
            at, n = at + length, n + length
            if n >= _PARAGRAPH or at >= len(words):
                paragraphs.append(self._space.join(sentences))
                sentences, n = [], 0
        return paragraphs

    def paragraphs(self, n_words: int, *page: Word) -> list[str]:
        """Return the text of a page."""
        return self.set(self.words(n_words, *page))


@lru_cache(maxsize=1 << 16)
def coined(lang: str, number: int) -> str:
    """Return an invented word of a language: two to four syllables; numbers below 60,000 give different words."""
    syllables = _SYLLABLES.get(lang, _SYLLABLES["latin"])
    word = ""
    number += len(syllables)
    while number:
        number, digit = divmod(number, len(syllables))
        word += syllables[digit]
    return word


def _zipf_table(words: tuple[str, ...], common: tuple[str, ...]) -> list[str]:
    """Return 4,096 words, each as often as its rank by Zipf's law requires; common words and words of the subject alternate in rank."""
    order: list[str] = []
    for i in range(max(len(common), len(words))):
        order += [*common[i : i + 1], *words[i : i + 1]]
    weights = 1.0 / (np.arange(len(order)) + 3.0)
    edges = np.cumsum(weights / weights.sum())
    ranks = np.searchsorted(edges, (np.arange(_N_TABLE) + 0.5) / _N_TABLE)
    return [order[rank] for rank in np.minimum(ranks, len(order) - 1).tolist()]
