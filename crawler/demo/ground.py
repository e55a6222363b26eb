"""What every part of a labelled web stands on: its dice, its names, its texts, and what a part is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from crawler.demo.dice import Dice, Word
from crawler.demo.labels import Trap
from crawler.demo.sheets import Anchor, Sheet, Skin
from crawler.demo.texts import Text
from crawler.demo.words import SITE_HEADS, SITE_TAILS


class Ground:
    """Dice, origins and texts of one part. Names and texts of two parts never meet: the part's name is in every throw."""

    def __init__(self, part: str, dice: Dice, origin: Callable[[str], str], *, n_sites: int = 0, n_pages: int = 0) -> None:
        """n_sites, n_pages: as asked for; 0: the part's own number."""
        self.part, self.dice, self.origin = part, dice, origin
        self.n_sites, self.n_pages = n_sites, n_pages
        self._texts: dict[tuple[str, int], Text] = {}

    def text(self, lang: str = "en", subject: int = 0) -> Text:
        key = lang, subject % 10
        if (text := self._texts.get(key)) is None:
            text = self._texts[key] = Text(self.dice, lang, subject)
        return text

    def throw(self, *question: Word) -> int:
        return self.dice.throw(self.part, *question)

    def unit(self, *question: Word) -> float:
        return self.dice.unit(self.part, *question)

    def domain(self, number: int) -> str:
        """Return the registrable domain of a part's site; numbers give different names."""
        head = self.dice.pick(SITE_HEADS, self.part, "head", number)
        tail = self.dice.pick(SITE_TAILS, self.part, "tail", number)
        return f"{head}{tail}-{self.part}{number}.example"

    def skin(self, host: str, lang: str = "en", *, subject: int = 0, menu: tuple[Anchor, ...] = (), n_aside: int = 40) -> Skin:
        """Return a host's template, `n_aside` words beside its menu and brand."""
        text = self.text(lang, subject)
        aside = tuple(text.paragraphs(n_aside, self.part, "aside", host)) if n_aside else ()
        return Skin(lang, text.title(self.part, "brand", host), menu, aside, f"© {host}")


class Part(Protocol):
    """One labelled part of a web: hosts of its own, and a sheet for every URL of them."""

    def hosts(self) -> list[str]: ...
    def seeds(self) -> list[str]: ...
    def traps(self) -> tuple[Trap, ...]: ...

    def find(self, host: str, path: str) -> Sheet:
        """Return what stands under a path (with query) of one of the part's hosts."""
        ...
