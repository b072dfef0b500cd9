"""What a blob's slots hold in the modes that can be read without a key: the meta map and the chunk itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgpack

from thawline import codecs
from thawline.errors import CodecError
from thawline.formats.borg.findings import BAD_DATA, BAD_ID, BAD_META, BAD_SLOT, BAD_TAG
from thawline.formats.borg.header import LARGEST_META, MAGIC
from thawline.formats.borg.modes import UNKNOWN, Mode, mode_of
from thawline.model import Code
from thawline.wording import counted, grouped, printable

LARGEST_PLAINTEXT = 32 << 20
"""Borg makes no chunk of more than 20 MiB; what decompresses to more than this was not made by it."""
LONGEST_TYPE = 16
"""Letters of a type; borg's have one."""
CODECS = {0: "none", 1: "lz4_block", 2: "lzma", 3: "zstd", 5: "zlib"}
"""Codecs by `ctype`. 4, obfuscation, wraps one of these and is not stored any more; 8 is zlib in borg 1."""
MANIFEST_ID = bytes(32)
"""The manifest is stored under this id, which is no hash of it."""
LARGEST_NUMBER = 1 << 31
SLOWNESS = {"lzma": 3, "zlib": 3}
"""How much longer it takes to decompress a byte than with the other codecs."""
EASY_RATIO = 300
"""A blob may decompress to so many times its size, by the slowness of its codec less, and nobody minds."""
MOST_EXCESS = 192 << 20
"""What all blobs of a pack may decompress to beyond that."""
TOO_MUCH = "with the blobs before it that is more than is decompressed of one pack, so it was not looked into"


class Allowance:
    """How much more the blobs of a pack may decompress to: a megabyte of zeros packed by zlib is a gigabyte of work.

    Whatever is left out of a pack, the blobs that had room in it have room in what remains.
    """

    def __init__(self) -> None:
        self.left = MOST_EXCESS

    def room(self, codec: str, stored: int) -> int:
        """What a blob may decompress to."""
        return (self.left + EASY_RATIO * stored) // SLOWNESS.get(codec, 1)

    def take(self, codec: str, stored: int, plain: int) -> None:
        """Count what a blob has been, or will be, decompressed to."""
        self.left -= max(plain * SLOWNESS.get(codec, 1) - EASY_RATIO * stored, 0)


class Flaw(Exception):
    """A blob that is not what it should be: which kind of finding that is, and why."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


@dataclass(frozen=True, slots=True)
class Meta:
    """The meta map: what kind of object it is, and how its data slot is compressed."""

    type: str
    """M manifest, A archive, C list of chunk ids, S item stream, F file content."""
    ctype: int
    clevel: int
    csize: int
    """Bytes of the data slot's payload."""
    size: int | None
    """Bytes of the plaintext; missing after `--compression auto,…`."""
    psize: int | None
    """Bytes of the payload that count; the rest is what `obfuscate` has put behind them."""


@dataclass(frozen=True, slots=True)
class Slots:
    """A blob as far as its envelopes tell."""

    version: int
    chunk_id: bytes
    key_type: int
    meta_tag: bytes | None
    meta: bytes
    data_tag: bytes | None
    data: bytes


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of a blob that could be read."""

    meta: Meta
    plain_size: int
    verified_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """A blob that could be read: its meta map and plaintext, and what has been checked of them."""

    meta: Meta
    plaintext: bytes
    verified_by: tuple[str, ...]
    """`tag` and `chunk_id`, where they are hashes that anybody can compute."""


def read_meta(payload: bytes) -> Meta:
    """The meta map of a blob; `Flaw` if it is none."""
    if len(payload) > LARGEST_META:
        raise Flaw(BAD_META, f"the meta slot holds {counted(len(payload), 'byte')}; {grouped(LARGEST_META)} are most")
    try:
        found: object = msgpack.unpackb(payload)
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise Flaw(BAD_META, f"the meta slot holds no msgpack map: {printable(str(error))}") from None
    if not isinstance(found, dict):
        raise Flaw(BAD_META, "the meta slot holds no map")
    kind = found.get("type")
    if not isinstance(kind, str) or len(kind) > LONGEST_TYPE:
        raise Flaw(BAD_META, "the meta map has no type" if kind is None else f"its type is {_shown(kind)}")
    ctype, clevel, csize = (_number(found, key) for key in ("ctype", "clevel", "csize"))
    return Meta(kind, ctype, clevel, csize, _optional(found, "size"), _optional(found, "psize"))


def _optional(found: dict[object, object], key: str) -> int | None:
    return None if found.get(key) is None else _number(found, key)


def _number(found: dict[object, object], key: str) -> int:
    """A number of the meta map; a boolean is none, though Python takes it for one."""
    number = found.get(key)
    if type(number) is not int or not -LARGEST_NUMBER <= number < LARGEST_NUMBER:
        raise Flaw(BAD_META, f"the meta map has no {key}" if number is None else f"its {key} is {_shown(number)}")
    return number


def _shown(value: object) -> str:
    return printable(f"{value!r:.40}")


def known_mode(slots: Slots, repository_version: int | None) -> Mode:
    """The mode of a blob; `Flaw` if its key type names none."""
    mode = mode_of(slots.version, slots.key_type, repository_version)
    if mode is UNKNOWN:
        raise Flaw(BAD_SLOT, f"key type {slots.key_type:#04x} names no mode of object version {slots.version}")
    return mode


def check_size(meta: Meta, len_payload: int) -> None:
    """Raise `Flaw` unless the meta map and the data slot agree on its size: that pins both ends of both slots."""
    if meta.csize != len_payload:
        raise Flaw(
            BAD_META,
            f"the meta map says {counted(meta.csize, 'byte')} of data, the data slot holds {grouped(len_payload)}",
        )
    if meta.psize is not None and not 0 <= meta.psize <= meta.csize:
        raise Flaw(BAD_META, f"its psize is {grouped(meta.psize)}, of {counted(meta.csize, 'byte')}")


def read_content(slots: Slots, mode: Mode) -> Content:
    """What a blob holds, checked as far as its mode allows; `Flaw` says what is wrong."""
    meta, checked = _read_slots(slots, mode)
    plaintext = decompress(meta, slots.data)
    return Content(meta, plaintext, (*checked, *_check_id(slots, mode, meta, (plaintext,))))


def check_content(slots: Slots, mode: Mode, allowance: Allowance) -> Known:
    """The same without the plaintext, which is never held as a whole."""
    meta, checked = _read_slots(slots, mode)
    stored = payload_of(meta, slots.data)
    codec = CODECS[meta.ctype]
    room = allowance.room(codec, len(slots.data))
    if (meta.size or 0) > room:
        raise Flaw(BAD_DATA, f"it decompresses to {counted(meta.size or 0, 'byte')}; {TOO_MUCH}")
    counter = _Counter(_pieces(meta, stored, room))
    try:
        by_id = _check_id(slots, mode, meta, counter)
    finally:
        allowance.take(codec, len(slots.data), counter.size)
    return Known(meta, counter.size, (*checked, *by_id))


class _Counter:
    """Pieces of a plaintext on their way, and how many bytes they were."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.size = pieces, 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.size += len(piece)
            yield piece


def _read_slots(slots: Slots, mode: Mode) -> tuple[Meta, tuple[str, ...]]:
    """The meta map of a blob whose tags are right, as far as anybody can tell, and what told it."""
    if mode.tag_hash:
        _check_tag(slots, mode, b"M", slots.meta_tag, slots.meta)
        _check_tag(slots, mode, b"D", slots.data_tag, slots.data)
    meta = read_meta(slots.meta)
    check_size(meta, len(slots.data))
    return meta, ("tag",) if mode.tag_hash else ()


def _check_id(slots: Slots, mode: Mode, meta: Meta, pieces: Iterable[bytes]) -> tuple[str, ...]:
    """What was checked of a plaintext that is given in pieces; `Flaw` unless it has its size and hashes to its id."""
    made = mode.hashing() if mode.hashing and not (meta.type == "M" and slots.chunk_id == MANIFEST_ID) else None
    size = 0
    for piece in pieces:
        size += len(piece)
        if made:
            made.update(piece)
    _check_plain_size(meta, size)
    if made is None:
        return ()
    if made.digest() != slots.chunk_id:
        raise Flaw(BAD_ID, f"its content hashes to {made.hexdigest()}")
    return ("chunk_id",)


def payload_of(meta: Meta, payload: bytes) -> bytes:
    """What of a data slot's payload is to be decompressed; `Flaw` if nobody could."""
    if meta.ctype not in CODECS:
        raise Flaw(BAD_DATA, f"its ctype is {meta.ctype}, which names no compression")
    if meta.size is not None and not 0 <= meta.size <= LARGEST_PLAINTEXT:
        raise Flaw(BAD_DATA, f"its size is {meta.size}; {LARGEST_PLAINTEXT} is the largest that is read")
    return payload if meta.psize is None else payload[: meta.psize]


def decompress(meta: Meta, payload: bytes) -> bytes:
    """The plaintext of a data slot, never more than its meta map or this reader allows."""
    plaintext = b"".join(_pieces(meta, payload_of(meta, payload)))
    _check_plain_size(meta, len(plaintext))
    return plaintext


def _pieces(meta: Meta, stored: bytes, room: int = LARGEST_PLAINTEXT) -> Iterator[bytes]:
    most = min(LARGEST_PLAINTEXT, room) if meta.size is None else meta.size
    if meta.ctype == 0 and len(stored) <= most:
        yield stored
        return
    try:
        yield from codecs.decompress_chunks(CODECS[meta.ctype], stored, max_bytes=max(most, 1))
    except CodecError as error:
        raise Flaw(BAD_DATA, str(error)) from None


def _check_plain_size(meta: Meta, size: int) -> None:
    if meta.size is not None and size != meta.size:
        raise Flaw(BAD_DATA, f"it decompresses to {counted(size, 'byte')}, its meta map says {grouped(meta.size)}")


def _check_tag(slots: Slots, mode: Mode, slot: bytes, tag: bytes | None, payload: bytes) -> None:
    assert mode.tag_hash is not None  # noqa: S101 - the caller has asked
    if mode.tag_hash(tag_input(slots, slot) + payload) != tag:
        raise Flaw(BAD_TAG, f"the tag of the {'meta' if slot == b'M' else 'data'} slot does not fit its bytes")


def tag_input(slots: Slots, slot: bytes) -> bytes:
    """What stands before the payload in what a tag covers: the envelope's head, and the header but for its sizes."""
    covered = MAGIC + bytes([slots.version]) + slots.chunk_id + slot + slots.chunk_id
    return bytes([slots.key_type, 0]) + len(covered).to_bytes(2, "big") + covered
