"""Random markup, made from a seed: for tests that two ways of reading a page agree."""

from __future__ import annotations

import random
from typing import Final

NAMES: Final = (
    *(
        "a",
        "b",
        "i",
        "p",
        "div",
        "span",
        "ul",
        "ol",
        "li",
        "dl",
        "dd",
        "dt",
        "pre",
        "h1",
        "h2",
        "font",
        "nobr",
        "em",
        "form",
        "button",
        "hr",
    ),
    *(
        "table",
        "tr",
        "td",
        "th",
        "tbody",
        "thead",
        "caption",
        "col",
        "colgroup",
        "html",
        "head",
        "body",
        "base",
        "link",
        "meta",
        "br",
        "img",
    ),
    *(
        "svg",
        "math",
        "foreignObject",
        "desc",
        "mi",
        "mo",
        "g",
        "path",
        "x-y",
        "title",
        "script",
        "style",
        "noscript",
        "noframes",
        "noembed",
    ),
    *(
        "template",
        "select",
        "option",
        "optgroup",
        "textarea",
        "iframe",
        "xmp",
        "plaintext",
        "object",
        "applet",
        "marquee",
        "input",
        "image",
    ),
    *("ruby", "rt", "rp", "rb", "rtc", "area", "frame", "section", "address", "center", "embed", "details", "summary", "label", "article"),
)
_ATTRIBUTES: Final = (
    *(" href=u{}", ' href="v{}&amp;x"', " rel=NoFollow href=w{}", " src='s{}'", " name=robots content=nofollow", " rel=canonical href=c{}"),
    *(
        ' rel="next" href=n{}',
        "/",
        " href",
        " HREF=x{} href=y",
        " http-equiv=refresh content='0;url=r{}'",
        " href='\r\n z{}\r'",
        " =x href=t{}",
    ),
)
_TEXTS: Final = (
    "t",
    "w ",
    "é",
    "&amp;",
    "&copy",
    "&#65;",
    "&#x80;",
    "  ",
    " q",
    "<",
    "]]>",
    "-->",
    "中文",
    "&notit;",
    "\n",
    "ก",
    "\r",
    "𝒳",
)
_REST: Final = ("<!--c-->", "<!x>", "<?x>", "</>", "<![CDATA[d]]>", "<!doctype html>", "<!--", "</ x>", "<!-->", "<!--a--!>", "<a", "</a ")
_DOCTYPES: Final = ("", "<!doctype html>", "<!DOCTYPE HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>", " <!-- c --> <!DOCTYPE html>")


def wild_page(rng: random.Random, n_pieces: int) -> bytes:
    """Return up to `n_pieces` tags, texts and other markup; some elements more often than others, most closed where they were opened."""
    pieces, opened, names = [rng.choice(_DOCTYPES)], [""], rng.sample(NAMES, rng.randrange(3, 12))
    for i in range(rng.randrange(1, n_pieces)):
        kind = rng.random()
        if kind < 0.38:
            opened.append(rng.choice(names))
            has_attributes = rng.random() < 0.35 or opened[-1] == "a"
            pieces.append(f"<{opened[-1]}{rng.choice(_ATTRIBUTES).format(i) if has_attributes else ''}>")
        elif kind < 0.6:
            pieces.append(f"</{opened.pop() if len(opened) > 1 and rng.random() < 0.8 else rng.choice(names)}>")
        elif kind < 0.95:
            pieces.append(rng.choice(_TEXTS) + (str(i) if rng.random() < 0.5 else ""))
        else:
            pieces.append(rng.choice(_REST))
    return "".join(pieces).encode()


def mutated(page: bytes, rng: random.Random) -> bytes:
    """Return a page with pieces put in, left out or doubled, in whole characters."""
    text = page.decode("utf-8", "replace")
    for _ in range(rng.randrange(1, 12)):
        at, deed = rng.randrange(len(text) + 1), rng.random()
        if deed < 0.5:
            text = text[:at] + wild_page(rng, 4).decode() + text[at:]
        elif deed < 0.8:
            text = text[:at] + text[at + rng.randrange(1, 100) :]
        else:
            text = text[:at] + text[(begin := rng.randrange(len(text) + 1)) : begin + rng.randrange(300)] + text[at:]
    return text.encode()
