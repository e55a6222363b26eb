"""README's picture of the live block shows what the block shows today."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.support.live_block import drawn_from, picture

PICTURE = Path(__file__).parents[2] / ".images/live.svg"


def test_the_pictures_status_drawn_again_has_the_same_words_and_loads_nothing() -> None:
    """Mutation: the live block writes "found" instead of "known". Draw it again: `python -m benchmarks.support.live_block`."""
    kept = PICTURE.read_text("utf-8")
    words = re.compile(r"<text[^>]*>([^<]*)</text>")
    assert len(words.findall(kept)) > 6
    assert words.findall(picture(drawn_from(kept))) == words.findall(kept)
    assert not re.search(r"url\((?!#)|href", kept)
