"""What is read of a sitemap, by sitemaps.org and by how sites write them; and of files that are built to hurt."""

from __future__ import annotations

import gzip
import zlib

import pytest

from thresher.crawler.core.sitemap import MAX_CHILDREN, SitemapEntry, SitemapLimits, SitemapReading, decode_chunk, read

LIMITS = SitemapLimits(max_bytes=1 << 20, max_urls=100, feeds=True)
SPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)


def entries(reading: SitemapReading) -> list[SitemapEntry]:
    return [entry for chunk in reading.chunks for entry in decode_chunk(chunk)]


def locs(reading: SitemapReading) -> list[str]:
    return [entry.loc for entry in entries(reading)]


def urlset(*urls: str, spaces: str = SPACES) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {spaces}>{"".join(f"<url>{url}</url>" for url in urls)}</urlset>'.encode()


ONE = "<loc>http://a.example/1</loc>"
HONEST = {
    "plain": (urlset(ONE), ["http://a.example/1"]),
    "white space and comments": (b" \n" + urlset("<!-- c -->\n <loc>\n http://a.example/1 \n</loc>"), ["http://a.example/1"]),
    "no namespace": (urlset(ONE, spaces=""), ["http://a.example/1"]),
    "a namespace of old": (urlset(ONE, spaces='xmlns="http://www.google.com/schemas/sitemap/0.84"'), ["http://a.example/1"]),
    "a prefix": (b'<s:urlset xmlns:s="x"><s:url><s:loc>http://a.example/1</s:loc></s:url></s:urlset>', ["http://a.example/1"]),
    "gzip": (gzip.compress(urlset(ONE)), ["http://a.example/1"]),
    "gzip in members": (gzip.compress(urlset(ONE)[:40]) + gzip.compress(urlset(ONE)[40:]), ["http://a.example/1"]),
    "UTF-8 with a mark": (b"\xef\xbb\xbf" + urlset(ONE), ["http://a.example/1"]),
    "UTF-16": ('<?xml version="1.0" encoding="utf-16"?><urlset><url><loc>http://a.example/é</loc></url></urlset>'.encode("utf-16"),
               ["http://a.example/é"]),
    "Latin-1": (b'<?xml version="1.0" encoding="iso-8859-1"?><urlset><url><loc>http://a.example/\xe9</loc></url></urlset>',
                ["http://a.example/é"]),
    "escaped": (urlset("<loc>http://a.example/?a=1&amp;b=2&#38;c=3</loc>"), ["http://a.example/?a=1&b=2&c=3"]),
    "CDATA": (urlset("<loc><![CDATA[http://a.example/?a=1&b=2]]></loc>"), ["http://a.example/?a=1&b=2"]),
    "bare ampersands": (urlset("<loc>http://a.example/?a=1&b=2</loc>", "<loc><![CDATA[http://a.example/?c=1&d=2]]></loc>"),
                        ["http://a.example/?a=1&b=2", "http://a.example/?c=1&d=2"]),
    "images and languages": (
        urlset(
            f"{ONE}<image:image><image:loc>http://a.example/i.png</image:loc><image:title>http://no/</image:title></image:image>"
            '<xhtml:link rel="alternate" hreflang="de" href="http://a.example/de"/>'
            '<xhtml:link rel="alternate" hreflang="en" href="http://a.example/1"/>'
        ),
        ["http://a.example/1", "http://a.example/i.png", "http://a.example/de"],
    ),
    "no URL": (urlset("<lastmod>2024-01-01</lastmod>", ""), []),
    "text": (b"\xef\xbb\xbfhttp://a.example/1\r\n\r\nHTTPS://a.example/2\n", ["http://a.example/1", "HTTPS://a.example/2"]),
    "RSS": (b"<rss><channel><link>http://a.example/</link><item><title>t</title><link> http://a.example/1 </link></item></channel></rss>",
            ["http://a.example/1"]),
    "RSS 1.0": (b'<r:RDF xmlns:r="r"><channel><link>/</link></channel><item><link>http://a.example/1</link></item></r:RDF>',
                ["http://a.example/1"]),
    "Atom": (b'<feed xmlns="Atom"><link href="/"/><entry><link rel="self" href="/s"/><link href="/1"/></entry></feed>',
             ["/1"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", HONEST)
def test_a_sitemap_is_read_as_its_author_meant_it(kind: str) -> None:
    body, expected = HONEST[kind]
    assert locs(read(body, LIMITS)) == expected


def test_what_a_sitemap_says_of_a_page_is_kept_where_it_is_sound() -> None:
    notes = "<lastmod>2024-05-01T12:00:00+02:00</lastmod><changefreq>Daily</changefreq><priority>0.8</priority>"
    wrong = "<lastmod>yesterday</lastmod><changefreq>often</changefreq><priority>7</priority>"
    news = "<news:news><news:publication_date>1970-01-02</news:publication_date></news:news>"
    assert entries(read(urlset(ONE + notes, ONE + wrong, ONE + news), LIMITS)) == [
        SitemapEntry("http://a.example/1", "page", 1714557600.0, "daily", 0.8),
        SitemapEntry("http://a.example/1", "page", 0.0, "", -1.0),
        SitemapEntry("http://a.example/1", "page", 86400.0, "", -1.0),
    ]


def test_an_index_names_sitemaps_and_no_pages() -> None:
    reading = read(
        b"<sitemapindex><sitemap><loc>http://a.example/1.xml</loc></sitemap><url><loc>http://no/</loc></url></sitemapindex>", LIMITS
    )
    assert (reading.kind, reading.children, reading.chunks) == ("index", ["http://a.example/1.xml"], [])


LAUGHS = b'<!DOCTYPE urlset [<!ENTITY a "ha"><!ENTITY b "' + b"&a;" * 1000 + b'">]>'
OUTSIDE = b'<!DOCTYPE urlset [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
HOSTILE = {
    "billion laughs": (b'<?xml version="1.0"?>' + LAUGHS + urlset("<loc>http://a.example/&b;</loc>")[39:], "it has a DTD"),
    "an entity from outside": (OUTSIDE + b"<urlset><url><loc>&a;</loc></url></urlset>", "it has a DTD"),
    "a DTD from outside": (b'<!DOCTYPE urlset SYSTEM "http://127.0.0.1:9/x.dtd"><urlset/>', "it has a DTD"),
    "parameter entities": (b'<!DOCTYPE r [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p">%p;]><r/>', "it has a DTD"),
    "an HTML page": (b"<!doctype html><html><body>Not found</body></html>", "an HTML page"),
    "XHTML": (b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://127.0.0.1:9/d"><html/>', "an HTML page"),
    "other XML": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "the root svg"),
    "binary": (bytes(range(256)) * 100, "neither XML nor a list"),
    "empty": (b"", "empty"),
    "deep": (b"<urlset>" + b"<url>" * 1_000_000, "in more than 32 others"),
    "endless text": (b"<urlset><url><loc>" + b"x" * (1 << 20), "larger than"),
    "endless attribute": (b"<urlset a='" + b"y" * (1 << 20), "larger than"),
    "endless line": (b"http://a.example/" + b"x" * (1 << 19), "lines that are no URLs"),
    "many URLs": (urlset(*[ONE] * 101), "more than 100 URLs"),
    "many images": (urlset(ONE + "<image:image><image:loc>http://a.example/i</image:loc></image:image>" * 101), "more than 100 images"),
    "many sitemaps": (b"<sitemapindex>" + b"<sitemap><loc>/</loc></sitemap>" * (MAX_CHILDREN + 1), f"of more than {MAX_CHILDREN:,}"),
    "a broken end": (urlset(ONE)[:-20], "not well-formed"),
    "a broken gzip": (gzip.compress(urlset(ONE))[:30] + b"xxxxxxxxxxx", "gzip"),
    "a feed that nobody wants": (b"<rss/>", "`feeds` is false"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_or_broken_file_ends_at_a_limit_that_is_told(kind: str) -> None:
    """S24: documents with entities and DTDs are refused where those are declared; nothing outside is asked for (T-0 would say so)."""
    body, word = HOSTILE[kind]
    reading = read(body, SitemapLimits(1 << 20, 100, feeds=False))
    assert word in " ".join(reading.notes)
    assert len(entries(reading)) <= 201
    assert not any("passwd" in loc or "ha" in loc for loc in locs(reading))


def test_what_came_before_a_fault_or_limit_is_taken() -> None:
    assert len(locs(read(urlset(*[ONE] * 101), LIMITS))) == 100
    assert locs(read(urlset(ONE, ONE)[:-20], LIMITS)) == ["http://a.example/1"]
    assert locs(read(urlset(ONE, "<loc>http://a.example/<b></loc>"), LIMITS)) == ["http://a.example/1"]


def test_gigabytes_in_a_gzip_are_not_unpacked() -> None:
    """F80: what 10 GB of a body unpack to is read up to the limit, a step at a time.

    Mutation: with a limit of 10 GB in place of 1 MiB this takes minutes.
    """
    pack = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    head, mebibyte = b"<urlset>", b" " * (1 << 20)
    body = pack.compress(head) + b"".join(pack.compress(mebibyte) for _ in range(8)) + pack.flush()
    reading = read(body, LIMITS)
    assert reading.notes[0] == "larger than 1,048,576 bytes; what came before was taken"
    zeros = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    assert read(zeros.compress(bytes(1 << 22)) + zeros.flush(), LIMITS).notes == ["no sitemap: neither XML nor a list of URLs"]
