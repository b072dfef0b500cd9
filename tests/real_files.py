"""Files of well-known formats, made by Python's own libraries or found in its installation."""

from __future__ import annotations

import gzip
import io
import pickle
import random
import shutil
import struct
import wave
import zipfile
import zlib
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


def png(counts: tuple[int, ...] = (1, 40)) -> Iterator[bytes]:
    """Pictures with a palette, texts, a time and so many small parts."""
    chance = random.Random(2)
    for parts in counts:
        chunks = [
            (b"IHDR", struct.pack(">IIBBBBB", 256, 256, 8, 3, 0, 0, 0)),
            (b"gAMA", struct.pack(">I", 45455)),
            (b"pHYs", struct.pack(">IIB", 2835, 2835, 1)),
            (b"PLTE", chance.randbytes(768)),
            (b"tEXt", b"Software\0a test"),
            (b"tIME", struct.pack(">HBBBBB", 2026, 11, 19, 6, 0, 0)),
            (b"zTXt", b"Comment\0\0" + zlib.compress(b"some words " * 20)),
            *((b"IDAT", chance.randbytes(chance.randint(10, 200))) for _ in range(parts)),
            (b"IEND", b""),
        ]
        framed = (
            struct.pack(">I", len(body)) + word + body + struct.pack(">I", zlib.crc32(word + body))
            for word, body in chunks
        )
        yield b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def pickles() -> Iterator[bytes]:
    """Objects, in all protocols."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.dumps({"one": [1, 2.5, None, True, 1 << 70], "two": (b"bytes", {3}), "text": "B\xe4r"}, protocol)


def dns() -> Iterator[bytes]:
    """A question, and an answer with a name that points back."""
    name = b"\7example\3com\0"
    yield struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + name + struct.pack(">HH", 1, 1)
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 300, 4) + bytes([93, 184, 216, 34])
    yield struct.pack(">6H", 7, 0x8180, 1, 1, 0, 0) + name + struct.pack(">HH", 1, 1) + record


def pcap(count: int = 30) -> Iterator[bytes]:
    """Packets of TCP and UDP, some tagged."""
    chance = random.Random(1)
    made = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for index in range(count):
        body = chance.randbytes(chance.randint(20, 200))
        is_udp = index % 3 == 0
        head = struct.pack(">HHIIHHHH", 1234, 443, index, index, 0x5018, 8192, 0, 0)
        body = (struct.pack(">HHHH", 53, 5353, 8 + len(body), 0) if is_udp else head) + body
        protocol = 17 if is_udp else 6
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(body), index & 0xFFFF, 0, 64, protocol, 0, 1, 2) + body
        kind = b"\x81\0\x20\5\x08\0" if index % 10 == 9 else b"\x08\0"
        frame = b"\1" * 6 + b"\2" * 6 + kind + ip
        made.append(struct.pack("<IIII", index, index, len(frame), len(frame)) + frame)
    yield b"".join(made)


def java_class(methods: int = 5) -> Iterator[bytes]:
    """A class with fields and methods, as a compiler lays it out."""
    words = [b"Code", b"LineNumberTable", b"SourceFile", b"Made.java", b"Made", b"java/lang/Object", b"()V", b"I"]
    words += [b"method%d" % index for index in range(methods)]
    pool = [struct.pack(">BH", 1, len(word)) + word for word in words]
    of = {word: index for index, word in enumerate(words, 1)}
    pool += [struct.pack(">BH", 7, of[b"Made"]), struct.pack(">BH", 7, of[b"java/lang/Object"])]
    this, above = len(pool) - 1, len(pool)
    pool += [struct.pack(">BHH", 12, of[b"method0"], of[b"()V"]), struct.pack(">BHH", 10, this, len(pool) + 1)]
    pool += [
        struct.pack(">Bq", 5, -7),
        struct.pack(">Bd", 6, 2.5),
        struct.pack(">Bi", 3, 42),
        struct.pack(">Bf", 4, 0.5),
    ]
    entries = len(pool) + 2  # two of them count twice
    lines = b"".join(struct.pack(">HH", 2 * line, line) for line in range(8))
    table = struct.pack(">HIH", of[b"LineNumberTable"], 2 + len(lines), 8) + lines
    code = (
        struct.pack(">HHI", 2, 1, 9) + bytes(9) + struct.pack(">HHHHH", 1, 0, 8, 8, this) + struct.pack(">H", 1) + table
    )
    fields = [struct.pack(">HHHH", 2, of[b"method%d" % index], of[b"I"], 0) for index in range(methods)]
    bodies = [
        struct.pack(">HHHHHI", 1, of[b"method%d" % index], of[b"()V"], 1, of[b"Code"], len(code)) + code
        for index in range(methods)
    ]
    yield b"".join((
        struct.pack(">IHHH", 0xCAFEBABE, 0, 61, entries + 1), *pool, struct.pack(">HHHH", 0x21, this, above, 0),
        struct.pack(">H", len(fields)), *fields, struct.pack(">H", len(bodies)), *bodies,
        struct.pack(">HHIH", 1, of[b"SourceFile"], 2, of[b"Made.java"]),
    ))  # fmt: skip


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
    "image/png": png,
    "serialization/python_pickle": pickles,
    "network/dns_packet": dns,
    "network/pcap": pcap,
    "executable/java_class": java_class,
}
"""What makes files of each spec of Kaitai's gallery."""

OUR_OWN = {"network/pcap": "pcap", "executable/java_class": "java_class"}
"""Specs of formats whose specs of the gallery are not among the vectors: ours, written from the formats' documents."""
EXIF = """\
meta: {id: exif, license: CC0-1.0, endian: le}
seq: [{id: order, type: u2}, {id: body, size-eos: true}]
"""
"""Stands for a spec that `image/png` imports, and that is not among the vectors either."""


def gallery_spec(gallery: Path, name: str, folder: Path) -> Path:
    """The spec of a format, with what it imports beside it or around it."""
    if name in OUR_OWN:
        return Path(__file__).parents[1] / "tools" / "bench" / "specs" / f"{OUR_OWN[name]}.ksy"
    if name != "image/png":
        return gallery / f"{name}.ksy"
    for part in ("png", "icc_4"):
        shutil.copyfile(gallery / "image" / f"{part}.ksy", folder / f"{part}.ksy")
    (folder / "exif.ksy").write_text(EXIF, encoding="utf-8")
    return folder / "png.ksy"
