"""A grammar of hostile pages: tags × text modes × comments × tables × formatting × foreign content × attributes, repeated.

A recipe is a few units, each a short sequence of pieces, with the share of the page that its repetitions take; a share of 0 means once. A
"%d" in a piece becomes the number of the repetition, so that names and attributes may differ. Recipes are drawn at random, changed, and
grown to any length; a recipe and a length give a page.
"""

from __future__ import annotations

import random
from typing import Final, NamedTuple

BLOCKS: Final = [
    "div",
    "p",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "h1",
    "h2",
    "section",
    "address",
    "blockquote",
    "pre",
    "center",
    "form",
    "fieldset",
    "details",
    "main",
]
TABLES: Final = ["table", "tbody", "thead", "tr", "td", "th", "caption", "colgroup", "col"]
FORMATS: Final = ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
INLINE: Final = ["span", "q", "ruby", "rt", "rp", "label", "sub", "x", "custom-element-with-a-long-name"]
SCOPES: Final = [
    "object",
    "applet",
    "marquee",
    "template",
    "button",
    "select",
    "option",
    "optgroup",
    "body",
    "html",
    "head",
    "frameset",
    "frame",
]
TEXT_MODES: Final = ["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext"]
FOREIGN: Final = ["svg", "math", "g", "path", "mi", "mo", "mtext", "annotation-xml", "foreignObject", "desc", "mglyph", "link", "input"]
VOID: Final = ["br", "img", "hr", "meta", "input", "link", "area", "wbr", "embed", "param", "source"]
NAMES: Final = (BLOCKS, BLOCKS, TABLES, FORMATS, FORMATS, INLINE, SCOPES, TEXT_MODES, FOREIGN, VOID)
MARKS: Final = (
    *("<!--", "-->", "<!-->", "<!-- x -->", "<!--<script>-->", "--!>", "<!x", "<?x>", "</ ", "</>", "<![CDATA[", "]]>", "<!doctype html>"),
    *("<title><script></title>", "<textarea><!--</textarea>", "<style><!--</style>-->", "<p a='", '<p a="', "'>", '">', "<a b=c"),
)
TEXTS: Final = ("x", " ", "some words ", "&amp;", "\0", "é", '"', "'", "=", ">", "<", "/>", "-", "\n")
ATTRIBUTES: Final = (
    *(" a=%d", " a%d", " a%d=1 b%d c%d", ' class="x y"', ' t="</div>"', " t='</p>'", ' t="', " t='", ' t=">"', "/", " /", " color=%d"),
    *(" encoding=text/html", " type=hidden", " href=%d", " x" * 40, " <b", " ='"),
    *(" a=x\"y c='\">'", " =\"y c='\">'"),
)
LINKS: Final = (
    *("<a href=%d>", "<a href=/%d/x>y</a>", "<a href='http://h%d.test/'>", "<base href=/b/>", "<iframe src=%d>", "<link rel=next href=%d>"),
    *("<meta name=robots content=%d>", "<meta http-equiv=refresh content='0;url=%d'>", "<area href=?%d>", "<a href=mailto:%d>"),
)


class Unit(NamedTuple):
    """Pieces that follow each other, and the share of the page that they are repeated for."""

    pieces: tuple[str, ...]
    share: int  # 0: once

    def grown(self, n_bytes: int) -> bytes:
        """Return repetitions of about so many bytes."""
        source = "".join(self.pieces)
        if not source:
            return b""
        if "%d" not in source:
            return (source * (max(1, n_bytes // len(source.encode())) if self.share else 1)).encode()
        parts = source.split("%d")
        n = max(1, n_bytes // len(source.replace("%d", "12345").encode())) if self.share else 1
        return "".join([str(number).join(parts) for number in range(n)]).encode()


Recipe = tuple[Unit, ...]


def page(recipe: Recipe, n_bytes: int) -> bytes:
    """Return the page of about so many bytes."""
    shares = sum(unit.share for unit in recipe) or 1
    return b"".join(unit.grown(n_bytes * unit.share // shares) for unit in recipe)


def drawn(rng: random.Random) -> Recipe:
    """Draw a recipe."""
    return tuple(_unit(rng) for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 5))))


def changed(recipe: Recipe, other: Recipe, rng: random.Random) -> Recipe:
    """Return the recipe with one or two things changed, sometimes by parts of another."""
    units = list(recipe)
    for _ in range(rng.choice((1, 1, 2, 3))):
        i = rng.randrange(len(units))
        pieces = list(units[i].pieces)
        match rng.randrange(7):
            case 0:
                units[i] = units[i]._replace(share=rng.choice((0, 1, 1, 2, 4, 8)))
            case 1:
                units.insert(i, rng.choice((rng.choice(other), _unit(rng))))
            case 2 if len(units) > 1:
                del units[i]
            case 3 if len(pieces) > 1:
                del pieces[rng.randrange(len(pieces))]
                units[i] = units[i]._replace(pieces=tuple(pieces))
            case 4:
                units[i] = units[i]._replace(pieces=units[i].pieces * rng.choice((2, 3, 8)))
            case _:
                pieces.insert(rng.randrange(len(pieces) + 1), _piece(rng, pieces))
                units[i] = units[i]._replace(pieces=tuple(pieces[:60]))
    return tuple(units[:8])


def _unit(rng: random.Random) -> Unit:
    pieces: list[str] = []
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 5, 6))):
        pieces.append(_piece(rng, pieces))
    if rng.random() < 0.15:
        pieces = [piece for piece in pieces for _ in range(rng.choice((1, 3, 9, 50)))][:60]
    return Unit(tuple(pieces), rng.choice((0, 0, 1, 1, 2, 4)))


def _piece(rng: random.Random, before: list[str]) -> str:
    draw = rng.random()
    if draw < 0.25 and (names := [piece[1:].split()[0].strip("<>/") for piece in before if piece.startswith("<") and piece[1:2].isalpha()]):
        return f"</{rng.choice(names)}>"
    if draw < 0.7:
        name = rng.choice(rng.choice(NAMES))
        attributes = "".join(rng.choice(ATTRIBUTES) for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 20))))
        return f"<{name if rng.random() < 0.95 else name.upper()}{attributes}>" if rng.random() < 0.9 else f"</{name}>"
    return rng.choice(rng.choice((MARKS, TEXTS, LINKS)))


def _once(*pieces: str) -> Unit:
    return Unit(pieces, 0)


def _many(*pieces: str, share: int = 1) -> Unit:
    return Unit(pieces, share)


_BLOCKED: Final = ("<div>" * 50, "<object>", "</div>" * 50, "</object>")
KNOWN: Final[tuple[Recipe, ...]] = (  # each was slow once, or is made to deceive a scan
    (_once("<!--<script>-->"), _many("<div>")),
    (_once("<title><script></title>"), _many("<div>")),
    (_many("<div>", "<!--</div>-->"),),
    (_many('<div t="</div>">'),),
    (_many("<div>", "<p t='", "</div>", "'>"),),
    (_many("<body a%d=1>"),),
    (_many("<html a%d=1 b%d>"),),
    (_many("<p a%d>"),),
    (_many("<p a%d b%d c%d d%d e%d f%d g%d>"),),
    (_once("<p "), _many("<a%d ")),
    (_once("<p "), _many("a%d='>' ")),
    (_many("<p a=b='>' ", " x%d y%d z%d" * 20, ">"),),
    (_once('<!--<x y="', " " * 700, "-->", "<a "), _many("a%d ")),
    (_once("<p a=x\"y c='\">' "), _many("a%d ")),
    (_once("<p =\"y c='\">' "), _many("a%d ")),
    (_many("<span>", "<div>", "</span>", "</div>"),),
    (_many("<span>", "<p>", "</span>", "</p>"),),
    (_many(*_BLOCKED),),
    (_many("<b a=%d>", "<div>" * 9, "</b>", "</div>" * 9),),
    (_once("<p><b ", " a b c d e f g h i j k l m n o p q" * 20, "></p>"), _many("<p>", "x")),
    (_once("<p>"), _many("<b a%d=1 b%d=2>"), _once("</p>"), _many("<p>", "x", share=4)),
    (_once("<p>"), _many("<a a%d=1 b%d=2>"), _once("</p>"), _many("<p>", "x")),
    (_once("<b ", " x%d" * 60, ">"), _many("<div>", "</b>", "<p>", "x", "</p>")),
    (_once("<svg>"), _many("<link>")),
    (_many("<path/>"), _many("</x>")),
    (_many("<svg>", "<path/>", "</svg>"),),
    (_many("<math>", "<mi>", "<b>", "</math>", "</mi>", "</b>"),),
    (_many("<template>"),),
    (_many("<span>", "<form>", "</span>", "</form>"),),
    (_many("<x%d></x%d>"),),
    (_many("<table>", "x", "<tr>"),),
    (_many("<a href=%d>x</a>"),),
    (_many("<a href=http://h%d.test/>"),),
    (_many("<br>"),),
    (_many("<a>", "<div>"),),
    (_many("<noscript>"),),
)
