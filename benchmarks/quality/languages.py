"""Which library detects languages best: `python -m benchmarks.quality.languages [--library py3langid] DIR [--pages 40]`.

DIR holds one manual in many languages: a folder for each language, named by its code, and the folder `en`. Debian packages GIMP's manual
like that (gimp-help-de, gimp-help-fr …, in /usr/share/gimp/2.0/help). Translations are often incomplete, so only translated paragraphs are
used: a paragraph is left out if the English page has it too, or if half of its words are in the English manual.

For texts of 60, 200, 1,000 and 2,000 characters the benchmark prints the share of pages whose language is right, µs of CPU for a text, and
the memory of the library. Libraries: py3langid (extra `text`), and lingua with all its languages, if `lingua-language-detector` is
installed. Each call measures one library, so that the memory is that library's. The kinds of Norwegian (nn, nb, no) count as one language.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from lxml import html

_LENGTHS = (60, 200, 1_000, 2_000)
_WORD = re.compile(r"[^\W\d_]{3,}")
_LEAST = 400  # least characters of a page
_NORWEGIAN = {"nn": "no", "nb": "no"}


def paragraphs(path: Path) -> list[str]:
    """Return the paragraphs of a page that are long enough to be text."""
    tree = html.fromstring(path.read_bytes())
    said = (" ".join(element.text_content().split()) for element in tree.iter("p", "li", "dd"))
    return [text for text in dict.fromkeys(said) if len(text) >= _LENGTHS[0]]


def code(language: str) -> str:
    """Return a language code without its country."""
    short = language.lower()[:2]
    return _NORWEGIAN.get(short, short)


def labelled(folder: Path, n_pages: int) -> list[tuple[str, str]]:
    """Return (language, text) of some pages of each language."""
    english = {path.name: set(paragraphs(path)) for path in sorted((folder / "en").rglob("*.html"))}
    words = {word.lower() for said in english.values() for text in said for word in _WORD.findall(text)}
    pages: list[tuple[str, str]] = []
    for language in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = sorted(language.rglob("*.html"))
        random.Random(1).shuffle(files)
        n = 0
        for path in files:
            is_english = language.name == "en"
            said = [text for text in paragraphs(path) if is_english or not _is_english(text, english.get(path.name, set()), words)]
            if sum(map(len, said)) >= _LEAST and n < n_pages:
                pages.append((code(language.name), "\n".join(said)))
                n += 1
    return pages


def _is_english(text: str, there: set[str], words: set[str]) -> bool:
    own = _WORD.findall(text.lower())
    return text in there or (bool(own) and 2 * sum(word in words for word in own) > len(own))


def teller(library: str) -> Callable[[str], str]:
    """Return the function that detects a language."""
    if library == "py3langid":
        from thresher.crawler.children.languages import language_of

        return lambda text: language_of(text)[0]
    from lingua import LanguageDetectorBuilder

    builder = LanguageDetectorBuilder.from_all_languages()
    detector = (builder.with_low_accuracy_mode() if library == "lingua-low" else builder).build()

    def tell(text: str) -> str:
        found = detector.detect_language_of(text)
        return found.iso_code_639_1.name if found is not None else ""

    return tell


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--library", choices=["py3langid", "lingua", "lingua-low"], default="py3langid")
    parser.add_argument("--pages", type=int, default=40, help="of each language at most")
    options = parser.parse_args()
    pages = labelled(options.folder, options.pages)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tell = teller(options.library)
    for _, text in pages[:50]:
        tell(text)  # the first call loads the library's data
    print(f"{options.library}: {len(pages)} pages in {len({language for language, _ in pages})} languages")
    for length in _LENGTHS:
        wrong: Counter[str] = Counter()
        began = time.process_time()
        for language, text in pages:
            if (told := code(tell(text[:length]))) != language:
                wrong[f"{language} as {told or 'none'}"] += 1
        spent_us = (time.process_time() - began) / len(pages) * 1e6
        right = 1 - wrong.total() / len(pages)
        said = ", ".join(f"{pair} {n}" for pair, n in wrong.most_common(4))
        print(f"{length:>6} characters: {right:.4f} right, {spent_us:>6,.0f} µs a text; {said}")
    print(f"memory: {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
