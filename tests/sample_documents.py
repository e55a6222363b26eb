"""Small documents, built byte by byte: no program that writes them is needed."""

from __future__ import annotations

import io
import zipfile
import zlib

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODT = "application/vnd.oasis.opendocument.text"
PDF = "application/pdf"
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_HYPERLINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"


def pdf(*pages: str, links: tuple[str, ...] = (), title: str = "A paper", packed: bool = False) -> bytes:
    """Return a PDF with a text on each page and the links on the first."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    annotations = [add(f"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI({link})>>>>".encode()) for link in links]
    font = add(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    kids = []
    for number, text in enumerate(pages):
        lines = "".join(f"({line}) Tj 0 -14 Td " for line in text.split("\n"))
        stream = f"BT /F1 12 Tf 50 700 Td {lines}ET".encode()
        packing = b""
        if packed:
            stream, packing = zlib.compress(stream), b"/Filter/FlateDecode"
        content = add(b"<</Length %d%s>>stream\n%s\nendstream" % (len(stream), packing, stream))
        annots = " ".join(f"{one} 0 R" for one in annotations) if not number else ""
        page = f"<</Type/Page/Parent 9999 0 R/Contents {content} 0 R/Resources<</Font<</F1 {font} 0 R>>>>/Annots[{annots}]>>"
        kids.append(add(page.encode()))
    tree = add(f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(f'{kid} 0 R' for kid in kids)}]>>".encode())
    objects = [body.replace(b"9999 0 R", b"%d 0 R" % tree) for body in objects]
    catalog = add(b"<</Type/Catalog/Pages %d 0 R>>" % tree)
    info = add(f"<</Title({title})>>".encode())
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj" % number + body + b"endobj\n"
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(out + b"trailer<</Size %d/Root %d 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, catalog, info, xref))


def zipped(parts: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def relations(*links: str) -> str:
    items = "".join(f'<Relationship Id="r{i}" Type="{_HYPERLINK}" Target="{link}" TargetMode="External"/>' for i, link in enumerate(links))
    return f"<Relationships>{items}</Relationships>"


def core(title: str) -> str:
    return f'<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></p>'


def docx(*paragraphs: str, links: tuple[str, ...] = (), title: str = "A letter") -> bytes:
    text = "".join(f"<w:p><w:r><w:t>{one}</w:t></w:r></w:p>" for one in paragraphs)
    return zipped(
        {
            "word/document.xml": f"<w:document {_W}><w:body>{text}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(*links),
            "docProps/core.xml": core(title),
        }
    )


def pptx(*slides: str) -> bytes:
    parts: dict[str, str | bytes] = {
        f"ppt/slides/slide{n}.xml": f"<s {_A}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></s>" for n, text in enumerate(slides, 1)
    }
    return zipped(parts)


def xlsx(*cells: str) -> bytes:
    return zipped({"xl/sharedStrings.xml": "<sst>" + "".join(f"<si><t>{cell}</t></si>" for cell in cells) + "</sst>"})


def odt(*paragraphs: str, links: tuple[str, ...] = (), title: str = "A note") -> bytes:
    space = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
    named = "".join(f'<text:p><text:a xlink:href="{link}">there</text:a></text:p>' for link in links)
    text = "".join(f"<text:p>{one}</text:p>" for one in paragraphs)
    return zipped({"content.xml": f"<o {space}><text:h>Head</text:h>{text}{named}</o>", "meta.xml": core(title)})
