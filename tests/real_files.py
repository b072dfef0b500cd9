"""Files of well-known formats, made by Python's own libraries or found in its installation."""

from __future__ import annotations

import gzip
import io
import struct
import wave
import zipfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path


def wav() -> Iterator[bytes]:
    """Sound in several widths."""
    for width in (1, 2, 4):
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as sound:
            sound.setnchannels(2)
            sound.setsampwidth(width)
            sound.setframerate(8000)
            sound.writeframes(bytes(range(64)) * width)
        yield buffer.getvalue()


def zipped() -> Iterator[bytes]:
    """Archives: stored, deflated, with a comment, empty."""
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            archive.writestr("one.txt", "one " * 50)
            archive.writestr(zipfile.ZipInfo("folder/two.bin", (2026, 11, 18, 20, 0, 2)), bytes(100))
            archive.comment = b"made by a test"
        yield buffer.getvalue()
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    yield buffer.getvalue()


def gzipped() -> Iterator[bytes]:
    """Compressed bytes, with a name and without."""
    yield gzip.compress(b"some text " * 30, mtime=1)
    buffer = io.BytesIO()
    with gzip.GzipFile("name.txt", "wb", fileobj=buffer, mtime=1_700_000_000) as file:
        file.write(b"more text")
    yield buffer.getvalue()


def gif() -> Iterator[bytes]:
    """The icons of IDLE, and a picture of one pixel."""
    yield bytes.fromhex("474946383961010001008000000000 00ffffff21f90401000000002c00000000010001000002 0144003b")
    yield from _installed("idlelib", "Icons", ".gif")


def ico() -> Iterator[bytes]:
    """The icon of IDLE."""
    yield from _installed("idlelib", "Icons", ".ico")


def bmp() -> Iterator[bytes]:
    """A picture of 2 x 2 pixels, and one with a palette."""
    pixels = bytes(range(16))
    head = struct.pack("<IiiHHIIiiII", 40, 2, 2, 1, 24, 0, len(pixels), 2835, 2835, 0, 0)
    yield struct.pack("<2sIHHI", b"BM", 54 + len(pixels), 0, 0, 54) + head + pixels
    head = struct.pack("<IiiHHIIiiII", 40, 4, 4, 1, 8, 0, 16, 2835, 2835, 2, 0)
    palette = bytes(8)
    yield struct.pack("<2sIHHI", b"BM", 62 + 16, 0, 0, 62) + head + palette + pixels


def exe() -> Iterator[bytes]:
    """The launchers that pip has for Windows."""
    yield from _installed("pip._vendor.distlib", "", "32.exe")


def mo() -> Iterator[bytes]:
    """Translations, as msgfmt writes them."""
    texts = [(b"", b"Content-Type: text/plain; charset=UTF-8\n"), (b"bear", b"B\xc3\xa4r"), (b"kite", b"Drachen")]
    originals, translated = 28, 28 + 8 * len(texts)
    at, tables, strings = 28 + 16 * len(texts), [b"", b""], b""
    for side in (0, 1):
        for pair in texts:
            tables[side] += struct.pack("<II", len(pair[side]), at + len(strings))
            strings += pair[side] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(texts), originals, translated, 0, at)
    yield head + tables[0] + tables[1] + strings


def _installed(package: str, folder: str, ending: str) -> Iterator[bytes]:
    if find_spec(package.partition(".")[0]) is None:
        return
    place = Path(str(files(package))) / folder
    for path in sorted(place.glob(f"*{ending}")):
        yield path.read_bytes()


MAKERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "image/gif": gif,
    "image/bmp": bmp,
    "image/ico": ico,
    "media/wav": wav,
    "archive/zip": zipped,
    "archive/gzip": gzipped,
    "executable/microsoft_pe": exe,
    "executable/dos_mz": exe,
    "database/gettext_mo": mo,
}
"""What makes files of each spec of Kaitai's gallery."""
