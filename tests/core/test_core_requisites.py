"""What pages and style sheets need to be shown, as browsers would request it."""

from __future__ import annotations

import pytest

from thresher.crawler.core.requisites import Needs, needs, of_css, of_html, srcset

SCRIPTED = ["https://h.test/e.js?v=1", "http://h.test/p.PNG#i"]


def of(html: str) -> list[str]:
    return [*dict.fromkeys(of_html(f"<link rel=icon href=//>{html}".encode())[1][1:])]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<img src=a.png srcset='b.png 1x, c.png 2x'>", ["a.png", "b.png", "c.png"]),
        ("<picture><source srcset='a.webp 100w'><img src=b></picture>", ["a.webp", "b"]),
        ("<img data-src=late.png data-srcset='l2.png 2x' src='data:,'>", ["data:,", "late.png", "l2.png"]),
        ("<video src=v poster=p><source src=s><track src=t></video><audio src=a></audio>", ["v", "p", "s", "t", "a"]),
        ("<script src=s></script><script>var u = 'no.js'</script>", ["s"]),
        (
            r"""<script>x = {"a":"https:\/\/h.test\/e.js?v=1","b":"https:\/\/h.test\/72x72\/","c":'http://h.test/p.PNG#i'}</script>""",
            SCRIPTED,
        ),
        ('<script type="application/ld+json">{"image": "https://h.test/no.png"}</script><p>"https://h.test/no.js"', []),
        (
            "<script>a = 'http://h.test/page.html', b = 'http://h.test/no .js', c = `http://h.test/no.js`, d = 'ftp://h.test/no.js'</script>",
            [],
        ),
        ("<link rel='StyleSheet alternate' href=a><link rel=next href=no><link rel=canonical href=no>", ["a"]),
        ("<link rel=preload as=image imagesrcset='a 1x' href=b><link rel=modulepreload href=m><link rel=manifest href=w>", "bamw"),
        ("<svg><image xlink:href=x /><use href='s.svg#y'/></svg>", ["x", "s.svg#y"]),
        ("<object data=o></object><embed src=e><input type=image src=i><input type=text src=no>", ["o", "e", "i"]),
        ("<body background=b><td style='background: url(c)'>", ["b"]),
        ("<p style='background: url(c)'>", ["c"]),
        ("<style>@import 'a'; p { background: url(b) }</style>", ["a", "b"]),
        ("<noscript><img src=n></noscript><template><img src=no></template><!-- <img src=no> -->", ["n"]),
        ("<a href=no>x</a><iframe src=no></iframe><form action=no></form>", []),
    ],
)
def test_html_names_what_it_needs(html: str, found: list[str] | str) -> None:
    """Elements, attributes, and styles in them; links, frames and comments do not count."""
    assert [each for each in of(html) if each] == [*found]


def test_a_page_without_an_icon_has_that_of_its_host() -> None:
    assert of_html(b"<p>x")[1] == ["/favicon.ico"]
    assert of_html(b"<base href=/b/><base href=/c/><link rel='shortcut icon' href=x>") == ("/b/", ["x"])


@pytest.mark.parametrize(
    ("css", "found"),
    [
        ("@import 'a'; @import url(b) screen; @IMPORT \"c\" layer(x);", "abc"),
        ("a { background: url( 'd e' ), URL(f), u\\72l(g) }", ["d e", "f", "g"]),
        ("@font-face { src: local('no'), url(f.woff2) format('woff2'), src('s') }", ["f.woff2", "s"]),
        ("a { background: image-set('x' 1x, url(y) type('image/png') 2x) } b { content: 'no' }", "xy"),
        ("@namespace svg url(no); @namespace 'no'; a { fill: url(yes) }", ["yes"]),
        ("@media print { @supports (a: b) { p { cursor: url(deep) } } }", ["deep"]),
        ("/* url(no) */ <!-- a { background: url(a --> b)", []),
        ("a { background: url('unclosed", ["unclosed"]),
        ("a[href='url(no)'] { color: red }", []),
        ("@charset 'utf-8'; @foo 'no'; a { b: attr(x url) }", []),
    ],
)
def test_css_names_what_it_needs(css: str, found: list[str] | str) -> None:
    """[CSS Syntax 3] tokens, [CSS Cascade 5] @import, [CSS Images 4] image-set(); names of namespaces are no URLs."""
    assert of_css(css) == [*found]


def test_a_srcset_is_read_as_the_standard_has_it() -> None:
    """[HTML, parse a srcset attribute]: commas within URLs, none between, descriptors in brackets."""
    read = srcset(" a,b.png 1x,c.png,  d.png 2x , ,e.png f(1, 2)x, g.png")
    assert read == ["a,b.png", "c.png", "d.png", "e.png", "g.png"]


def test_hostile_bodies_are_read_in_bounded_time_and_number() -> None:
    """Nested blocks cause no recursion; inline, empty or very long URLs are left out; those beyond the limit are counted."""
    assert of_css("{(" * 20_000 + "url(a)") == ["a"]
    long = b"<img src='" + b"x" * 70_000 + b"'>"
    body = b"<link rel=icon href=i>" + long + b"<img src=' data:x'><img src=JavaScript:x><img src='#a'><img src=''>" + b"<img src=a>" * 3
    assert needs(body + b"<img src=b><img src=c>", "", "text/html", 3) == Needs("", ["i", "a", "b"], 1)
    assert needs(b"\xff\xfea\0{\0b\0:\0u\0r\0l\0(\0z\0)\0}\0", "text/css", "text/css", 9).hrefs == ["z"]
    assert needs(b'@charset "iso-8859-1"; a { b: url(\xe9) }', "text/css", "text/css", 9).hrefs == ["\xe9"]
    assert needs(b"<img src=a>", "image/png", "image/png", 9) == Needs()
