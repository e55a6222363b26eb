"""mhonarc: the archive of a mailing list. Nothing in it exists twice, so every saved fetch is a loss: this site is the control."""

from __future__ import annotations

import random
import subprocess
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living import text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

MHONARC = Path("/usr/bin/mhonarc")
N_LETTERS = 400
_BEGAN = datetime(2015, 1, 5, 9, tzinfo=UTC)
_PEOPLE = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Tony", "Frances"]


def build(place: Place) -> str:
    """Write the letters into a mailbox and make the archive with mhonarc; return Apache's directives."""
    archive, mailbox = place.directory / "archive", place.directory / "list.mbox"
    archive.mkdir()
    mailbox.write_text(
        "".join(f"From list@example.org Mon Jan  5 09:00:00 2015\n{letter.as_string()}\n\n" for letter in letters()), "ascii"
    )
    options = ["-quiet", "-multipg", "-idxsize", "50", "-idxfname", "index.html", "-outdir", str(archive)]
    subprocess.run([str(MHONARC), *options, str(mailbox)], check=True, stdout=subprocess.DEVNULL)
    return f"DocumentRoot {archive}"


def letters() -> list[EmailMessage]:
    """Return letters, each of a few paragraphs of the manual; two of three answer an earlier one."""
    rng = random.Random(5)
    sources = text.pages(N_LETTERS)
    written: list[EmailMessage] = []
    for n, source in enumerate(sources):
        letter = EmailMessage()
        author = rng.choice(_PEOPLE)
        letter["From"] = f"{author} <{author.lower()}@example.org>"
        letter["Message-ID"] = f"<{n}@example.org>"
        letter["Date"] = format_datetime(_BEGAN + timedelta(hours=7 * n))
        blocks = [block.words for block in text.blocks_of(source) if block.tag in ("p", "h2", "pre")]
        subject = blocks[0][:60] if blocks else source
        body = "\n\n".join(blocks[:12])
        if written and n % 3:
            first = written[rng.randrange(max(0, len(written) - 12), len(written))]
            letter["In-Reply-To"] = first["Message-ID"]
            subject = f"Re: {first['Subject'].removeprefix('Re: ')}"
            body = "\n".join(f"> {line}" for line in first.get_content().splitlines()[:5]) + "\n\n" + body
        letter["Subject"] = " ".join(subject.encode("ascii", "replace").decode().split())
        letter.set_content(body.encode("ascii", "replace").decode())
        written.append(letter)
    return written


def kind(url: str) -> str:
    """Return whether a URL is a letter's or an index's."""
    name = urlsplit(url).path.rpartition("/")[2]
    return "letter" if name.startswith("msg") else "index"


LETTERS = Site(
    name="letters",
    about="mhonarc's archive of a mailing list, nothing there twice",
    address="127.0.8.4",
    hosts=("lists.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, MHONARC: "mhonarc", text.MANUAL: text.PACKAGE},
    build=build,
    kind=kind,
)
