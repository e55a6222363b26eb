"""Documentation as Apache serves it: manuals in several languages, each under two paths and on two hosts, with sortable listings.

The handbook's folders of languages have no index page, so Apache lists them; its listings can be sorted by four columns in two orders. Old
paths of the handbook and of the reference still work (Alias), and a mirror host shows everything again. Pages that a translation lacks are
copies of the English ones with other headings.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

HANDBOOK = Path("/usr/share/doc/debian-handbook/html")
REFERENCE = Path("/usr/share/developers-reference")
LANGUAGES = ["en-US", "de-DE", "fr-FR", "da-DK", "hr-HR"]
_REFERENCE_LANGUAGES = ["de", "fr", "ja"]

_SERVED = """
DocumentRoot {directory}/root
Alias /doc/handbook {directory}/handbook
Alias /handbook {directory}/handbook
Alias /doc/manuals/developers-reference {reference}
Alias /reference {reference}
<Directory {directory}>
  Options +Indexes +FollowSymLinks +MultiViews
  IndexOptions FancyIndexing HTMLTable
</Directory>
AddLanguage en .en
AddLanguage de .de
LanguagePriority en de
ForceLanguagePriority Prefer
"""

_PORTAL = """<!DOCTYPE html><html lang="{lang}"><head><title>{title}</title></head><body><h1>{title}</h1>
<p>{words}</p><ul>
<li><a href="/handbook/">{handbook}</a> (<a href="/doc/handbook/">{old}</a>)</li>
<li><a href="/reference/index.html">{reference}</a>: {languages}</li>
<li><a href="/doc/manuals/developers-reference/">{reference}</a> ({old})</li>
</ul><p><a href="/index.en.html">English</a> <a href="/index.de.html">Deutsch</a> <a href="/">{home}</a></p>
<p>{mirrors}: {hosts}</p></body></html>
"""
_ENGLISH = {
    "lang": "en",
    "title": "Manuals",
    "words": "What every administrator and every developer of the distribution should have read at least once, in their languages.",
    "handbook": "The administrator's handbook",
    "reference": "The developer's reference",
    "old": "old address",
    "home": "Home",
    "mirrors": "Mirrors",
}
_GERMAN = {
    "lang": "de",
    "title": "Handbücher",
    "words": "Was alle, die diese Distribution verwalten oder an ihr mitarbeiten, einmal gelesen haben sollten, in ihren Sprachen.",
    "handbook": "Das Handbuch zur Verwaltung",
    "reference": "Die Referenz zur Entwicklung",
    "old": "alte Adresse",
    "home": "Anfang",
    "mirrors": "Spiegel",
}


def build(place: Place) -> str:
    """Write the portal in two languages, link the chosen languages of the handbook, return Apache's directives."""
    root, handbook = place.directory / "root", place.directory / "handbook"
    root.mkdir()
    handbook.mkdir()
    hosts = " ".join(f'<a href="{place.url(host)}">{host}</a>' for host in MANUALS.hosts)
    languages = " ".join(f'<a href="/reference/{language}/index.html">{language}</a>' for language in _REFERENCE_LANGUAGES)
    for words in (_ENGLISH, _GERMAN):
        (root / f"index.{words['lang']}.html").write_text(_PORTAL.format(**words, hosts=hosts, languages=languages), "utf-8")
    for language in LANGUAGES:
        (handbook / language).symlink_to(HANDBOOK / language)
    return _SERVED.format(directory=place.directory, reference=REFERENCE).replace("DocumentRoot", "DirectoryIndex index\nDocumentRoot")


def kind(url: str) -> str:
    """Return the host, the manual and whether it is a sorted listing."""
    parts = urlsplit(url)
    folders = parts.path.split("/")[1:-1]
    manual = "/".join(folders[:2] if folders[:1] == ["doc"] else folders[:1])
    listing = "?C=" if parts.query.startswith("C=") else ""
    return f"{(parts.hostname or '').partition('.')[0]} /{manual}{listing}"


MANUALS = Site(
    name="manuals",
    about="two manuals in five and four languages, each under two paths on two hosts, with sortable listings",
    address="127.0.8.2",
    hosts=("www.manuals.example", "mirror.manuals.example"),
    seed="/",
    needs={
        PROGRAM: PACKAGE,
        HANDBOOK / "en-US": "debian-handbook",
        REFERENCE / "index.html": "developers-reference",
        **{REFERENCE / language / "index.html": f"developers-reference-{language}" for language in _REFERENCE_LANGUAGES},
    },
    build=build,
    kind=kind,
    modules="autoindex",
    settings=("scope.type=domain",),
)
