"""sigal: a gallery of photographs. A photograph's page has a title and, of two in three, one sentence: little that the next one has not.

An album shows its photographs small; each has a page that leads to the one before and after it. Albums are grouped by years. The images
themselves are of a type that no crawl accepts. As sigal configures it, with its plug-in that gives each photograph a page.
"""

from __future__ import annotations

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_ALBUMS = 30
N_PHOTOGRAPHS = 14  # of an album
_SKIPPED = 80
_YEARS = 5
_MADE = """
import sys
from PIL import Image
for n, path in enumerate(sys.stdin.read().split()):
    Image.new("RGB", (64, 48), (n % 251, n * 7 % 241, n * 13 % 239)).save(path)
"""
_SETTINGS = """
title, source, destination, theme = "Photographs", "photographs", "root", "colorbox"
plugins, use_orig, img_size, thumb_size = ["sigal.plugins.media_page"], False, (64, 48), (32, 24)
"""
_SERVED = """
DocumentRoot {directory}/root
"""


def build(place: Place) -> str:
    """Draw the images and let sigal make the pages; return Apache's directives."""
    images = []
    words = [word for name in text.pages(_SKIPPED + N_ALBUMS)[_SKIPPED:] for block in text.blocks_of(name) for word in block.words.split()]
    for n in range(N_ALBUMS):
        album = place.directory / "photographs" / f"{2011 + n % _YEARS}" / f"album-{n}"
        album.mkdir(parents=True)
        (album / "index.md").write_text(f"Title: Album {n}\n\n{_taken(words, 30)}\n", "utf-8")
        for m in range(N_PHOTOGRAPHS):
            images.append(str(album / f"IMG_{n * 37 + m:04}.jpg"))
            about = f"Title: {_taken(words, 4)}\n\n" + (f"{_taken(words, 18)}\n" if m % 3 else "")
            (album / f"IMG_{n * 37 + m:04}.md").write_text(about, "utf-8")
    (place.directory / "sigal.conf.py").write_text(_SETTINGS)
    children.run(GALLERY.name, place.directory, {}, "-c", _MADE, words="\n".join(images))
    children.run(GALLERY.name, place.directory, {"COLUMNS": "80"}, "-m", "sigal", "build", "--quiet", "--ncpu", "1")
    return _SERVED.format(directory=place.directory)


def _taken(words: list[str], n: int) -> str:
    """Take the next words of the manual."""
    taken = " ".join(words[:n])
    del words[:n]
    return taken


def kind(url: str) -> str:
    """Return whether it is a photograph, an album or a year."""
    return "photograph" if ".jpg" in url else f"list {url.rstrip('/').count('/')}"


GALLERY = Site(
    name="gallery",
    about=f"sigal with {N_ALBUMS} albums of {N_PHOTOGRAPHS} photographs",
    address="127.0.8.18",
    hosts=("gallery.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("sigal",),
    build=build,
    kind=kind,
)
